// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log of a recording: entries in the order in which they arrived.
//!
//! ```text
//! "ioracle recording 5\n"
//! generation, CRC of the generation (4 bytes each, little-endian)
//! entry: length, CRC of length and content (4 bytes each, little-endian), content
//! entry: …
//! ```
//!
//! The length is in the low 18 bits of its word; the others are the low bits of the CRC
//! of these, so that a wrong length is not taken for a log that was cut. The content is
//! postcard. A log whose writer was killed may end in the middle of an entry;
//! everything before it is valid. Reading ends at a damaged entry, because it is not
//! known where the next one begins.
//!
//! The second entry is a [`LossMark`]: space in which a writer can note that it cannot
//! write any more, even on a full disk. Logs of version 3 have none. Those of version 4
//! have no entries behind the eighth kind.
//!
//! Definitions in chunks of a trace are entries too. Chunks have a CRC of their
//! own, so these have none.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;

use ioracle_events::{ContextId, Event, FileId, Function, StreamId};
use serde::{Deserialize, Serialize};

use crate::lines::MAX_LINE_BYTES;
use crate::native::TimePrecision;
use crate::spooled::MAX_TEXT_BYTES;

/// The first bytes of a log.
const MAGIC: &[u8] = b"ioracle recording 5\n";
const OLDER: [&[u8]; 2] = [b"ioracle recording 4\n", b"ioracle recording 3\n"];

/// Bytes before the first entry.
pub(crate) const HEAD_BYTES: u64 = MAGIC.len() as u64 + 8;

/// The most bytes of an entry: a line of a table, and some numbers.
const MAX_ENTRY_BYTES: usize = 2 * MAX_LINE_BYTES;

/// The greatest number of a column of a trace.
pub(crate) const MOST: u64 = i64::MAX as u64;

/// An entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum LogEntry {
    Event(LoggedEvent),
    Context {
        id: u32,
        frames: Box<str>,
    },
    File {
        id: u32,
        path: Box<str>,
    },
    Process(LoggedProcess),
    Stream {
        process: u32,
        thread: u32,
        tid: u32,
    },
    /// Who writes what follows, and how exactly times are wanted.
    Writer {
        pid: u32,
        times: TimePrecision,
    },
    /// The name of a function, for readers with another table of functions.
    Function {
        number: u16,
        layer: Box<str>,
        name: Box<str>,
    },
    /// What could not be written.
    Loss(LossMark),
    /// More about a process that was defined before.
    Details(ProcessDetails),
    /// When a process ended, on the clock of its start.
    End {
        process: u32,
        end_ns: u64,
    },
    /// A piece of a command line; one at 0 replaces what is there.
    Command {
        process: u32,
        at: u32,
        text: Box<str>,
    },
    /// A module of a process.
    Module {
        process: u32,
        name: Box<str>,
        address: u64,
        build_id: Vec<u8>,
        path: Box<str>,
    },
    /// Where a frame is in the source code.
    Symbol {
        frame: Box<str>,
        inlined: u32,
        line: u32,
        source: Box<str>,
        function: Box<str>,
    },
    /// A mounted file system; they count from 1 on.
    Mount {
        kind: Box<str>,
        device: Box<str>,
        point: Box<str>,
    },
    /// The mount of a file, 0 if it is not known, and its size at its first open.
    FilePlace {
        file: u32,
        mount: u32,
        size_at_open: Option<u64>,
    },
    /// A process of an imported trace, whose ranks are not its processes.
    TraceProcess(ProcessRow),
    /// The process of a stream of an imported trace.
    Thread {
        rank: u32,
        thread: u32,
        process: u32,
    },
}

/// What traces of version 1 did not contain about a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProcessDetails {
    pub(crate) number: u32,
    pub(crate) parent_pid: u32,
    pub(crate) start_realtime_ns: u64,
    pub(crate) application: Box<str>,
}

/// A row of an imported table of processes; its command follows in pieces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProcessRow {
    pub(crate) pid: u32,
    pub(crate) parent_pid: u32,
    pub(crate) rank: Option<u32>,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: Option<u64>,
    pub(crate) start_realtime_ns: u64,
    pub(crate) application: Box<str>,
    pub(crate) executable: Box<str>,
}

/// How a recording ended too early. Always the same size, so that it can overwrite the
/// one that reports no loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LossMark {
    /// The system's number of the error; 0 if there was none.
    code: [u8; 4],
    /// Events that came after it.
    n_events: [u8; 8],
}

impl LossMark {
    /// What happened, in words; `None` if nothing did.
    pub(crate) fn sentence(self) -> Option<String> {
        let (code, n_events) = (i32::from_le_bytes(self.code), u64::from_le_bytes(self.n_events));
        let later = match n_events {
            0 => String::new(),
            1 => "; 1 later event is missing".to_owned(),
            n => format!("; {n} later events are missing"),
        };
        (code != 0).then(|| {
            format!(
                "could not be written to the end: {}{later}",
                io::Error::from_raw_os_error(code)
            )
        })
    }
}

/// Writes over the [`LossMark`] of a log.
#[derive(Debug)]
pub(crate) struct LossMarker {
    log: File,
    position: u64,
}

impl LossMarker {
    /// Marks the log. If that fails, nothing can be done.
    pub(crate) fn mark(&self, code: i32, n_events: u64) {
        let mark = LossMark { code: code.to_le_bytes(), n_events: n_events.to_le_bytes() };
        let mut bytes = Vec::new();
        let mut entry = LogWriter { checks: Checks::Each, ..LogWriter::unchecked(&mut bytes) };
        if entry.push(&LogEntry::Loss(mark)).and_then(|()| entry.flush()).is_ok() {
            drop(entry);
            let _ = self.log.write_all_at(&bytes, self.position);
        }
    }
}

/// A process, as far as a trace depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoggedProcess {
    pub(crate) number: u32,
    pub(crate) pid: u32,
    pub(crate) rank: Option<u32>,
    pub(crate) start_ns: u64,
    pub(crate) executable: Box<str>,
    pub(crate) command: Box<str>,
}

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoggedEvent {
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

impl LoggedEvent {
    pub(crate) fn new(process: u32, thread: u32, event: &Event) -> LoggedEvent {
        let (ContextId(context), FileId(file)) = (event.context, event.file);
        LoggedEvent {
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

impl From<LoggedEvent> for Event {
    fn from(row: LoggedEvent) -> Event {
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
/// follower reports is so already.
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

/// Whether a text can be a column of a table that is not its last.
pub(crate) fn is_cell(text: &str) -> bool {
    is_line(text) && !text.contains(',')
}

/// Text as such a column can hold it.
pub(crate) fn cell(text: &str) -> Box<str> {
    line(text).replace(',', "%2C").into()
}

/// The pieces of the command of a process.
pub(crate) fn commands(process: u32, text: &str) -> impl Iterator<Item = LogEntry> + '_ {
    const MAX_PIECE: usize = MAX_TEXT_BYTES / 2;
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let mut end = rest.len().min(MAX_PIECE);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let piece = LogEntry::Command { process, at: at as u32, text: rest[..end].into() };
        at += end;
        Some(piece)
    })
}

/// Writes entries.
#[derive(Debug)]
pub(crate) struct LogWriter<W: Write = File> {
    out: BufWriter<W>,
    /// Holds the longest entry.
    scratch: Vec<u8>,
    /// Bytes written by this writer.
    n_bytes: u64,
    checks: Checks,
}

/// Whether entries have a CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checks {
    Each,
    None,
}

const LENGTH_BITS: u32 = 18;

impl Checks {
    /// The word that stores a length.
    fn word(self, length: u32) -> u32 {
        match self {
            Checks::Each => length | crc32fast::hash(&length.to_le_bytes()) << LENGTH_BITS,
            Checks::None => length,
        }
    }

    /// The length that a word stores, if it is a valid word.
    fn length(self, word: u32) -> Option<u32> {
        let length = match self {
            Checks::Each => word & ((1 << LENGTH_BITS) - 1),
            Checks::None => word,
        };
        (length as usize <= MAX_ENTRY_BYTES && self.word(length) == word).then_some(length)
    }

    fn of(length: [u8; 4], content: &[u8]) -> [u8; 4] {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&length);
        crc.update(content);
        crc.finalize().to_le_bytes()
    }
}

impl<W: Write> LogWriter<W> {
    /// Begins a log.
    pub(crate) fn begin(out: W, generation: u32) -> io::Result<LogWriter<W>> {
        let mut log = LogWriter { checks: Checks::Each, ..LogWriter::unchecked(out) };
        let generation = generation.to_le_bytes();
        for part in [MAGIC, &generation, &crc32fast::hash(&generation).to_le_bytes()] {
            log.n_bytes += part.len() as u64;
            log.out.write_all(part)?;
        }
        Ok(log)
    }

    /// Writes entries that something else guards.
    pub(crate) fn unchecked(out: W) -> LogWriter<W> {
        let out = BufWriter::with_capacity(1 << 16, out);
        LogWriter { out, scratch: vec![0; MAX_ENTRY_BYTES], n_bytes: 0, checks: Checks::None }
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    pub(crate) fn push<T: Serialize>(&mut self, entry: &T) -> io::Result<()> {
        let bytes = postcard::to_slice(entry, &mut self.scratch).map_err(io::Error::other)?;
        let length = self.checks.word(bytes.len() as u32).to_le_bytes();
        self.n_bytes += (length.len() + bytes.len()) as u64;
        self.out.write_all(&length)?;
        if self.checks == Checks::Each {
            let crc = Checks::of(length, bytes);
            self.n_bytes += crc.len() as u64;
            self.out.write_all(&crc)?;
        }
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

impl LogWriter<File> {
    /// Leaves room for a mark, at the beginning of a log.
    pub(crate) fn reserve_mark(&mut self) -> io::Result<LossMarker> {
        let marker = LossMarker { log: self.out.get_ref().try_clone()?, position: self.n_bytes };
        self.push(&LogEntry::Loss(LossMark::default()))?;
        Ok(marker)
    }
}

/// Reads entries.
pub(crate) struct LogReader<R> {
    input: R,
    scratch: Vec<u8>,
    checks: Checks,
    /// Bytes of whole entries so far, and of what stands before them.
    n_bytes: u64,
    is_damaged: bool,
}

impl<R: Read> LogReader<R> {
    /// Reads how a log begins; the log and its generation, if it is one of ours.
    pub(crate) fn begin(input: R) -> io::Result<Option<(LogReader<R>, u32)>> {
        let mut log = LogReader { checks: Checks::Each, ..LogReader::unchecked(input) };
        let (mut found, mut generation, mut crc) = ([0; MAGIC.len()], [0; 4], [0; 4]);
        let is_whole = log.fill(&mut found)? && log.fill(&mut generation)? && log.fill(&mut crc)?;
        log.n_bytes = HEAD_BYTES;
        let is_ours = found == MAGIC || OLDER.contains(&&found[..]);
        let is_sound = is_ours && crc == crc32fast::hash(&generation).to_le_bytes();
        Ok((is_whole && is_sound).then(|| (log, u32::from_le_bytes(generation))))
    }

    /// Reads entries that something else guards.
    pub(crate) fn unchecked(input: R) -> LogReader<R> {
        let (checks, scratch) = (Checks::None, Vec::new());
        LogReader { input, scratch, checks, n_bytes: 0, is_damaged: false }
    }

    /// Where the entry begins that ended the reading, if it is there but damaged.
    pub(crate) fn damaged_at(&self) -> Option<u64> {
        self.is_damaged.then_some(self.n_bytes)
    }

    /// The next entry; `None` at the end, also if the log ends within an entry or what
    /// follows is not an entry.
    pub(crate) fn next<T: for<'a> Deserialize<'a>>(&mut self) -> io::Result<Option<T>> {
        let (mut length, mut crc) = ([0; 4], [0; 4]);
        if !self.fill(&mut length)? || (self.checks == Checks::Each && !self.fill(&mut crc)?) {
            return Ok(None);
        }
        let Some(n_bytes) = self.checks.length(u32::from_le_bytes(length)) else {
            self.is_damaged = true;
            return Ok(None);
        };
        let n_bytes = n_bytes as usize;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(n_bytes, 0);
        if !self.fill(&mut scratch)? {
            return Ok(None);
        }
        let is_sound = self.checks == Checks::None || crc == Checks::of(length, &scratch);
        let entry = postcard::from_bytes(&scratch).ok().filter(|_| is_sound);
        self.scratch = scratch;
        match entry {
            Some(_) => self.n_bytes += (length.len() + crc.len() + n_bytes) as u64,
            None => self.is_damaged = true,
        }
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

    fn entries() -> Vec<LogEntry> {
        let file = |id: u32| LogEntry::File { id, path: format!("out/{id}").into() };
        let context = LogEntry::Context { id: 1, frames: "a".repeat(MAX_TEXT_BYTES).into() };
        vec![file(1), context, LogEntry::Process(LoggedProcess::default()), file(u32::MAX)]
    }

    fn read(bytes: &[u8]) -> (Vec<LogEntry>, Option<u64>) {
        let Some((mut reader, generation)) = LogReader::begin(bytes).unwrap() else {
            return (Vec::new(), None);
        };
        assert_eq!(generation, 7);
        (std::iter::from_fn(|| reader.next().unwrap()).collect(), reader.damaged_at())
    }

    #[test]
    fn what_was_written_is_read_up_to_wherever_the_log_was_cut() {
        let mut bytes = Vec::new();
        let mut writer = LogWriter::begin(&mut bytes, 7).unwrap();
        let mut ends = vec![writer.n_bytes()];
        for entry in entries() {
            writer.push(&entry).unwrap();
            ends.push(writer.n_bytes());
        }
        writer.finish().unwrap();
        assert_eq!(*ends.last().unwrap(), bytes.len() as u64);
        for cut in [0, 1, 2, 5, 100, 60_000, bytes.len() - 1, bytes.len()] {
            let n_whole = ends.iter().filter(|&&end| end <= cut as u64).count().max(1) - 1;
            assert_eq!(read(&bytes[..cut]), (entries()[..n_whole].to_vec(), None));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_stretch_of_zeros_is_noticed() {
        let mut bytes = Vec::new();
        let mut writer = LogWriter::begin(&mut bytes, 7).unwrap();
        let head = writer.n_bytes() as usize;
        let entries: Vec<LogEntry> =
            (1..9).map(|id| LogEntry::File { id, path: format!("out/{id}").into() }).collect();
        entries.iter().for_each(|entry| writer.push(entry).unwrap());
        writer.finish().unwrap();
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << (place % 8);
            let (found, damaged_at) = read(&flipped);
            assert!(found.len() < entries.len() && entries.starts_with(&found), "byte {place}");
            assert!(place < head || damaged_at.is_some(), "byte {place}");
        }
        let mut wiped = bytes.clone();
        wiped[head + 40..].fill(0);
        assert!(matches!(read(&wiped), (found, Some(_)) if found.len() < entries.len()));
        assert_eq!(read(&[0xff; 200]), (Vec::new(), None));
    }

    #[test]
    fn text_becomes_one_short_line() {
        assert_eq!(&*line("a\nb"), "a b");
        assert_eq!(line(&"ä".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
    }
}
