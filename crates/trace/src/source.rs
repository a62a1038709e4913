// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the bytes of a table come from, and how they become lines.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, RowFault, excerpt};
use crate::lines::{Line, Lines, MAX_LINE_BYTES};

/// Whether tables are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The text itself.
    Plain,
    /// A zstd stream.
    Zstd,
}

/// A trace in memory: the content of its files.
#[derive(Clone, Debug)]
pub struct TraceFiles {
    /// How the tables are encoded.
    pub encoding: Encoding,
    /// The table of events.
    pub events: Vec<u8>,
    /// The table of call stacks.
    pub stacks: Vec<u8>,
    /// The table of files.
    pub files: Vec<u8>,
    /// The optional tables by name, as `processes`; see `docs/csv-traces.md`.
    pub optional: BTreeMap<String, Vec<u8>>,
    /// The description, never compressed.
    pub meta: Option<Vec<u8>>,
}

/// One table, which can be read any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    path: Arc<str>,
    encoding: Encoding,
    content: SourceContent,
}

#[derive(Clone, Debug)]
enum SourceContent {
    File(PathBuf),
    Bytes(Arc<[u8]>),
}

impl Source {
    /// Finds `<table>.csv.zst` or, failing that, `<table>.csv`.
    pub(crate) fn in_directory(directory: &Path, table: &'static str) -> Result<Source, Error> {
        if let Some(source) = Source::find_in_directory(directory, table)? {
            return Ok(source);
        }
        let names = traces_in(directory);
        let directory = directory.into();
        Err(match names {
            Some(names) => Error::SeveralTraces { directory, names },
            None => Error::MissingTable { directory, table },
        })
    }

    /// The same for a table that may be missing.
    pub(crate) fn find_in_directory(
        directory: &Path,
        table: &str,
    ) -> Result<Option<Source>, Error> {
        let candidates = [(".csv.zst", Encoding::Zstd), (".csv", Encoding::Plain)];
        for (extension, encoding) in candidates {
            let file = directory.join(format!("{table}{extension}"));
            let path = file.to_string_lossy().into();
            match fs::metadata(&file) {
                // Opening a pipe would wait for its writer.
                Ok(metadata) if !metadata.is_file() => return Err(Error::NotAFile { path }),
                Ok(_) => {
                    return Ok(Some(Source { path, encoding, content: SourceContent::File(file) }));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(Error::Unreadable { path, source }),
            }
        }
        Ok(None)
    }

    /// A table in memory; messages call it by the name it would have as a file.
    pub(crate) fn in_memory(table: &str, encoding: Encoding, bytes: Vec<u8>) -> Source {
        let extension = match encoding {
            Encoding::Plain => "csv",
            Encoding::Zstd => "csv.zst",
        };
        let path = format!("{table}.{extension}").into();
        Source { path, encoding, content: SourceContent::Bytes(bytes.into()) }
    }

    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Starts reading, past the header, which must be the `expected` one.
    pub(crate) fn open(&self, expected: &'static str) -> Result<Input, Error> {
        self.open_with_lines(expected, MAX_LINE_BYTES)
    }

    /// The same for a table with another limit for the length of lines.
    pub(crate) fn open_with_lines(
        &self,
        expected: &'static str,
        max_line_bytes: usize,
    ) -> Result<Input, Error> {
        let unreadable = |source| Error::Unreadable { path: self.path.clone(), source };
        let reader: Box<dyn BufRead + Send> = match &self.content {
            SourceContent::File(file) => {
                let file = File::open(file).map_err(unreadable)?;
                self.decode(BufReader::with_capacity(BUFFER_BYTES, file))?
            }
            SourceContent::Bytes(bytes) => self.decode(Cursor::new(bytes.clone()))?,
        };
        let mut input =
            Input { path: self.path.clone(), lines: Lines::new(reader, max_line_bytes) };
        input.check_header(expected)?;
        Ok(input)
    }

    fn decode(
        &self,
        mut reader: impl BufRead + Send + 'static,
    ) -> Result<Box<dyn BufRead + Send>, Error> {
        let unreadable = |source| Error::Unreadable { path: self.path.clone(), source };
        if self.encoding == Encoding::Plain {
            return Ok(Box::new(reader));
        }
        if !is_zstd(reader.fill_buf().map_err(unreadable)?) {
            return Err(Error::NotZstd { path: self.path.clone() });
        }
        let mut decoder = zstd::Decoder::with_buffer(reader).map_err(unreadable)?;
        decoder.window_log_max(MAX_WINDOW_LOG).map_err(unreadable)?;
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)))
    }
}

const BUFFER_BYTES: usize = 128 * 1024;

/// 128 MiB, the largest window that the levels of zstd use unless asked for
/// more: a hostile frame cannot demand gigabytes.
pub(crate) const MAX_WINDOW_LOG: u32 = 27;

/// Whether a frame of zstd begins here, of data or one to be skipped.
fn is_zstd(start: &[u8]) -> bool {
    matches!(start, [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..])
}

/// The lines of one table, with errors that say where.
pub(crate) struct Input {
    path: Arc<str>,
    lines: Lines<Box<dyn BufRead + Send>>,
}

impl Input {
    /// The next row; `None` at the end.
    pub(crate) fn next_row(&mut self) -> Result<Option<Result<&[u8], RowFault>>, Error> {
        let (last_line, limit) = (self.lines.number(), self.lines.max_bytes());
        match self.lines.next_line() {
            Ok(Some(Line::Text(line))) => Ok(Some(Ok(line))),
            Ok(Some(Line::TooLong)) => Ok(Some(Err(RowFault::LineTooLong { limit }))),
            Ok(None) => Ok(None),
            Err(error) => Err(stream_error(&self.path, last_line, error)),
        }
    }

    /// The error of the row that was last read.
    pub(crate) fn row_error(&self, fault: RowFault) -> Error {
        Error::Row { path: self.path.clone(), line: self.lines.number(), fault }
    }

    fn check_header(&mut self, expected: &'static str) -> Result<(), Error> {
        let found = match self.next_row()? {
            Some(Ok(line)) if line == expected.as_bytes() => return Ok(()),
            Some(Ok(line)) => excerpt(line),
            Some(Err(fault)) => return Err(self.row_error(fault)),
            None => "".into(),
        };
        Err(Error::Header { path: self.path.clone(), expected, found })
    }
}

fn stream_error(path: &Arc<str>, line: u64, error: io::Error) -> Error {
    let path = path.clone();
    if error.raw_os_error().is_some() {
        Error::Unreadable { path, source: error }
    } else if error.kind() == io::ErrorKind::UnexpectedEof {
        Error::CutOff { path, line }
    } else {
        Error::Damaged { path, line, reason: error.to_string().into() }
    }
}
/// Entries of a directory that are looked at for traces.
const MAX_ENTRIES: usize = 4096;

/// Names of traces that a message lists.
const MAX_NAMES: usize = 3;

/// The directories in this one that look like traces, in words: those of ranks
/// that were recorded each by its own `ioracle run`.
fn traces_in(directory: &Path) -> Option<String> {
    let is_trace = |path: &Path| {
        ["ioracle", "csv.zst", "csv"]
            .iter()
            .any(|form| path.join(format!("events.{form}")).is_file())
    };
    let entries = fs::read_dir(directory).ok()?.take(MAX_ENTRIES).flatten();
    let traces = entries.filter(|entry| is_trace(&entry.path()));
    let mut names: Vec<String> =
        traces.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    // So that rank-10 comes after rank-9.
    names.sort_by_key(|name| (name.len(), name.clone()));
    let listed: Vec<String> =
        names.iter().take(MAX_NAMES).map(|name| format!("'{name}'")).collect();
    let more = match names.len().checked_sub(MAX_NAMES) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    };
    (!listed.is_empty()).then(|| format!("{}{more}", listed.join(", ")))
}
