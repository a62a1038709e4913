// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log of a recording: entries in the order in which they were told.
//!
//! ```text
//! "ioracle recording 2\n"
//! generation (4 bytes, little-endian)
//! entry: length (4 bytes, little-endian), that many bytes of postcard
//! entry: …
//! ```
//!
//! Numbers take as few bytes as they need. A log whose writer was killed may end
//! in the middle of an entry; all before it is good.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use ioracle_events::{ContextId, Event, FileId, Function, StreamId};
use serde::{Deserialize, Serialize};

use crate::lines::MAX_LINE_BYTES;
use crate::native::Times;
use crate::spooled::MAX_TEXT_BYTES;

/// The first bytes of a log.
pub(crate) const MAGIC: &[u8] = b"ioracle recording 2\n";

/// The most bytes of an entry: a line of a table, and some numbers.
const MAX_ENTRY_BYTES: usize = 2 * MAX_LINE_BYTES;

/// The greatest number of a column of a trace.
const MOST: u64 = i64::MAX as u64;

/// Something that was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Entry {
    Event(Row),
    Context {
        id: u32,
        frames: Box<str>,
    },
    File {
        id: u32,
        path: Box<str>,
    },
    Process(Seen),
    Stream {
        process: u32,
        thread: u32,
        tid: u32,
    },
    /// Who writes what follows, and how exactly times are wanted.
    Writer {
        pid: u32,
        times: Times,
    },
    /// The name of a function, for whoever has another table of them.
    Function {
        number: u16,
        layer: Box<str>,
        name: Box<str>,
    },
}

/// A process, as far as a trace depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) number: u32,
    pub(crate) pid: u32,
    pub(crate) rank: Option<u32>,
    pub(crate) start_ns: u64,
    pub(crate) executable: Box<str>,
    pub(crate) command: Box<str>,
}

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) sequence: u64,
    pub(crate) function: Function,
    pub(crate) context: u32,
    pub(crate) file: u32,
    pub(crate) handle: i64,
    pub(crate) offset: Option<u64>,
    pub(crate) requested: u64,
    pub(crate) result: i64,
    pub(crate) start_ns: u64,
    pub(crate) io_time_ns: u64,
    pub(crate) depth: u32,
    pub(crate) detail: Box<str>,
}

impl Row {
    pub(crate) fn new(process: u32, thread: u32, event: &Event) -> Row {
        let (ContextId(context), FileId(file)) = (event.context, event.file);
        Row {
            process,
            thread,
            sequence: event.sequence,
            function: event.function,
            context,
            file,
            handle: event.handle.max(-i64::MAX),
            offset: event.offset.map(|offset| offset.min(MOST)),
            requested: event.requested.min(MOST),
            result: event.result.max(-i64::MAX),
            start_ns: event.start_ns.min(MOST),
            io_time_ns: event.end_ns.saturating_sub(event.start_ns),
            depth: event.depth,
            detail: line(&event.detail),
        }
    }
}

impl From<Row> for Event {
    fn from(row: Row) -> Event {
        Event {
            stream: StreamId { rank: row.process, thread: row.thread },
            sequence: row.sequence,
            function: row.function,
            context: ContextId(row.context),
            file: FileId(row.file),
            handle: row.handle,
            offset: row.offset,
            requested: row.requested,
            result: row.result,
            start_ns: row.start_ns,
            end_ns: row.start_ns.saturating_add(row.io_time_ns).min(MOST),
            depth: row.depth,
            detail: row.detail,
        }
    }
}

/// Text as a table can hold it: without line breaks, not too long. What a
/// follower tells is so already.
pub(crate) fn line(text: &str) -> Box<str> {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\n', " ").into()
}

/// Whether [`line`] would leave a text as it is.
pub(crate) fn is_line(text: &str) -> bool {
    text.len() <= MAX_TEXT_BYTES && !text.contains('\n')
}

/// Writes entries.
#[derive(Debug)]
pub(crate) struct LogWriter<W: Write = File> {
    out: BufWriter<W>,
    /// Holds the longest entry.
    scratch: Vec<u8>,
    /// Bytes written by this writer.
    n_bytes: u64,
}

impl<W: Write> LogWriter<W> {
    pub(crate) fn new(out: W) -> LogWriter<W> {
        let scratch = vec![0; MAX_ENTRY_BYTES];
        LogWriter { out: BufWriter::with_capacity(1 << 16, out), scratch, n_bytes: 0 }
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    pub(crate) fn push<T: Serialize>(&mut self, entry: &T) -> io::Result<()> {
        let bytes = postcard::to_slice(entry, &mut self.scratch).map_err(io::Error::other)?;
        let length = bytes.len() as u32;
        self.n_bytes += 4 + u64::from(length);
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(bytes)
    }

    /// Adds bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.n_bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// All that was written.
    pub(crate) fn finish(self) -> io::Result<W> {
        self.out.into_inner().map_err(io::Error::from)
    }
}

/// Reads entries.
pub(crate) struct LogReader<R> {
    input: R,
    scratch: Vec<u8>,
}

impl<R: Read> LogReader<R> {
    pub(crate) fn new(input: R) -> LogReader<R> {
        LogReader { input, scratch: Vec::new() }
    }

    /// Reads how the log begins; its generation, if it is one of ours.
    pub(crate) fn begin(&mut self) -> io::Result<Option<u32>> {
        let mut found = [0; MAGIC.len()];
        let mut generation = [0; 4];
        let is_whole = self.fill(&mut found)? && self.fill(&mut generation)?;
        Ok((is_whole && found == MAGIC).then(|| u32::from_le_bytes(generation)))
    }

    /// The next entry; `None` at the end, also if that lies within an entry or
    /// what follows is none.
    pub(crate) fn next<T: for<'a> Deserialize<'a>>(&mut self) -> io::Result<Option<T>> {
        let mut length = [0; 4];
        if !self.fill(&mut length)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(length);
        if length as usize > MAX_ENTRY_BYTES {
            return Ok(None);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(length as usize, 0);
        let is_whole = self.fill(&mut scratch)?;
        let entry = postcard::from_bytes(&scratch).ok().filter(|_| is_whole);
        self.scratch = scratch;
        Ok(entry)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match self.input.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let file = |id: u32| Entry::File { id, path: format!("out/{id}").into() };
        let context = Entry::Context { id: 1, frames: "a".repeat(MAX_TEXT_BYTES).into() };
        vec![file(1), context, Entry::Process(Seen::default()), file(u32::MAX)]
    }

    fn read(bytes: &[u8]) -> Vec<Entry> {
        let mut reader = LogReader::new(bytes);
        std::iter::from_fn(|| reader.next().unwrap()).collect()
    }

    #[test]
    fn what_was_written_is_read_up_to_wherever_the_log_was_cut() {
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        let mut writer = LogWriter::new(&mut bytes);
        for entry in entries() {
            writer.push(&entry).unwrap();
            ends.push(writer.n_bytes());
        }
        writer.finish().unwrap();
        assert_eq!(*ends.last().unwrap(), bytes.len() as u64);
        for cut in [0, 1, 2, 5, 100, 60_000, bytes.len() - 1, bytes.len()] {
            let n_whole = ends.iter().filter(|&&end| end <= cut as u64).count() - 1;
            assert_eq!(read(&bytes[..cut]), entries()[..n_whole]);
        }
    }

    #[test]
    fn damage_ends_the_log() {
        assert_eq!(read(&[1, 0, 0, 0, 0xff, 3, 0, 0, 0, 1, 1, 1]), []);
        assert_eq!(read(&[0xff; 200]), []);
    }

    #[test]
    fn text_becomes_one_short_line() {
        assert_eq!(&*line("a\nb"), "a b");
        assert_eq!(line(&"ä".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
    }
}
