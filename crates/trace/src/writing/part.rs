// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files that appear whole under their names, or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::source::Encoding;

/// A file that still has a temporary name, and is removed with this value unless it
/// gets its final name.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    target: PathBuf,
    part: PathBuf,
}

impl TemporaryFile {
    /// Creates `name` in `directory`, for now with `.part` appended. What a dead writer
    /// has left under that name is replaced.
    pub(crate) fn create(directory: &Path, name: &str) -> Result<(TemporaryFile, File), Error> {
        let part = directory.join(format!("{name}.part"));
        // What was written is read again, to be compared.
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&part);
        let file = file.map_err(|source| unwritable(&part, source))?;
        Ok((TemporaryFile { target: directory.join(name), part }, file))
    }

    /// A file that is already complete.
    pub(crate) fn of_bytes(
        directory: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<TemporaryFile, Error> {
        let (part, mut file) = TemporaryFile::create(directory, name)?;
        match file.write_all(bytes).and_then(|()| file.sync_all()) {
            Ok(()) => Ok(part),
            Err(source) => Err(part.unwritable(source)),
        }
    }

    /// Gives the file its name.
    pub(crate) fn appear(self) -> Result<(), Error> {
        fs::rename(&self.part, &self.target).map_err(|source| self.unwritable(source))
    }

    pub(crate) fn unwritable(&self, source: io::Error) -> Error {
        unwritable(&self.target, source)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After `appear` nothing has this name; other failures leave a file that is
        // replaced the next time.
        let _ = fs::remove_file(&self.part);
    }
}

/// On rows of digits the fastest level also gives smaller files than the
/// default one, by a seventh.
const LEVEL: i32 = 1;

/// A table being written.
pub(crate) struct TableWriter {
    part: TemporaryFile,
    out: Out,
    line: Vec<u8>,
}

enum Out {
    Plain(BufWriter<File>),
    Packed(zstd::Encoder<'static, BufWriter<File>>),
}

impl TableWriter {
    pub(crate) fn create(
        directory: &Path,
        name: &str,
        header: &str,
        encoding: Encoding,
    ) -> Result<TableWriter, Error> {
        let (part, out) = match encoding {
            Encoding::Plain => {
                let (part, file) = TemporaryFile::create(directory, &format!("{name}.csv"))?;
                (part, Out::Plain(BufWriter::new(file)))
            }
            Encoding::Zstd => {
                let (part, file) = TemporaryFile::create(directory, &format!("{name}.csv.zst"))?;
                let out = zstd::Encoder::new(BufWriter::new(file), LEVEL)
                    .map_err(|source| part.unwritable(source))?;
                (part, Out::Packed(out))
            }
        };
        let mut table = TableWriter { part, out, line: Vec::new() };
        table.push(format_args!("{header}"))?;
        Ok(table)
    }

    /// Adds a line.
    pub(crate) fn push(&mut self, line: std::fmt::Arguments<'_>) -> Result<(), Error> {
        // The encoder is not made for many small pieces.
        self.line.clear();
        let written = writeln!(self.line, "{line}").and_then(|()| match &mut self.out {
            Out::Plain(out) => out.write_all(&self.line),
            Out::Packed(out) => out.write_all(&self.line),
        });
        written.map_err(|source| self.part.unwritable(source))
    }

    /// The whole table, still under its temporary name.
    pub(crate) fn finish(self) -> Result<TemporaryFile, Error> {
        let TableWriter { part, out, .. } = self;
        let buffered = match out {
            Out::Plain(out) => Ok(out),
            Out::Packed(out) => out.finish(),
        };
        let finished = buffered
            .and_then(|buffered| buffered.into_inner().map_err(io::Error::from))
            .and_then(|file| file.sync_all());
        match finished {
            Ok(()) => Ok(part),
            Err(source) => Err(part.unwritable(source)),
        }
    }
}

pub(crate) fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Unwritable { path: path.to_string_lossy().into(), source }
}
