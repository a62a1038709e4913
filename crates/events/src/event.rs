// SPDX-License-Identifier: MIT OR Apache-2.0

//! One finished I/O call, as capture or a recorded trace gives it.

use serde::{Deserialize, Serialize};

use ioracle_functions::{Access, Function, Layer};

/// A thread of a process; each has a grammar and an oracle of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StreamId {
    /// MPI rank, 0 for a program without MPI.
    pub rank: u32,
    /// Number of the thread within its process.
    pub thread: u32,
}

/// Names a call stack in the tables of the source that the event came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContextId(pub u32);

/// Names a path (not an open instance of it) in the tables of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u32);

impl FileId {
    /// The file of a call whose file is not known.
    pub const UNKNOWN: FileId = FileId(0);
}

/// What a seek counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The beginning of the file.
    Start,
    /// The current position.
    Current,
    /// The end of the file.
    End,
}

/// What a file was mapped into memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedFor {
    /// Reading only; also private mappings, whose changes never reach the file.
    Reading,
    /// Writing, or a trace does not say what for.
    Writing,
}

/// One finished I/O call of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The thread that made the call.
    pub stream: StreamId,
    /// Order in which calls began within the process.
    pub sequence: u64,
    /// The function that was called.
    pub function: Function,
    /// The call stack.
    pub context: ContextId,
    /// The path it worked on.
    pub file: FileId,
    /// Descriptor or library handle; -1 for none. Reused after a close.
    pub handle: i64,
    /// Byte position at which the access starts, where there is one.
    pub offset: Option<u64>,
    /// Bytes requested; the new length for truncations.
    pub requested: u64,
    /// What the call returned, in the sense of its layer; below 0 is failure.
    pub result: i64,
    /// Start of the call, nanoseconds since the start of the process.
    pub start_ns: u64,
    /// End of the call, never before `start_ns`.
    pub end_ns: u64,
    /// How many recorded calls of the same thread enclose this one.
    pub depth: u32,
    /// Open flags, whence of a seek, protection of a mapping, or object name and
    /// selection; a request.
    pub detail: Box<str>,
}

impl Event {
    /// Whether the call failed; failed calls are events but not operations.
    pub fn failed(&self) -> bool {
        self.result < 0
    }

    /// Bytes that really moved; 0 for calls that move no data.
    pub fn transferred(&self) -> u64 {
        if !self.function.access().is_data() || self.failed() {
            return 0;
        }
        match self.function.layer() {
            Layer::Posix | Layer::Stdio => self.result.unsigned_abs(),
            Layer::MpiIo | Layer::HighLevel => self.requested,
        }
    }

    /// Whether an open positions every write at the end of the file.
    pub fn opens_for_append(&self) -> bool {
        self.function.access() == Access::Open
            && match self.function.layer() {
                Layer::Stdio => self.detail.starts_with('a'),
                _ => self.detail.split('|').any(|flag| flag == "APPEND"),
            }
    }

    /// Whether an open cuts the file to length 0.
    pub fn opens_truncated(&self) -> bool {
        self.function.access() == Access::Open
            && match self.function.layer() {
                Layer::Stdio => self.detail.starts_with('w'),
                _ => self.detail.split('|').any(|flag| flag == "TRUNC"),
            }
    }

    /// What a seek counted from, for seeks.
    pub fn whence(&self) -> Option<Whence> {
        if self.function.access() != Access::Seek {
            return None;
        }
        match &*self.detail {
            "SET" => Some(Whence::Start),
            "CUR" => Some(Whence::Current),
            "END" => Some(Whence::End),
            _ => None,
        }
    }

    /// What a file was mapped for, for mappings that succeeded.
    pub fn mapped_for(&self) -> Option<MappedFor> {
        if self.function.name() != "mmap" || self.failed() {
            return None;
        }
        let has = |flag: &str| self.detail.split('|').any(|other| other == flag);
        let may_write = self.detail.is_empty() || has("WRITE") && has("SHARED");
        Some(if may_write { MappedFor::Writing } else { MappedFor::Reading })
    }

    /// Whether it is a further part of the same call as the previous event at its
    /// depth: one wait for several requests, or one write to several datasets, becomes
    /// several events, of which only the first takes time.
    pub fn is_further_part(&self) -> bool {
        // Most do not end in a digit, so the last word need not be searched for.
        matches!(self.function.layer(), Layer::MpiIo | Layer::HighLevel)
            && self.detail.as_bytes().last().is_some_and(u8::is_ascii_digit)
            && self.detail.rsplit_once(' ').is_some_and(|(_, last)| last.starts_with("part="))
    }

    /// The request that a call has submitted, or completes, where traces have it: a
    /// number that is unique in the process.
    pub fn request(&self) -> Option<u32> {
        let mut last_words = self.detail.rsplit(' ').take(2);
        last_words.find_map(|word| word.strip_prefix("request="))?.parse().ok()
    }

    /// Name of the dataset or variable, for data calls of HDF5 and netCDF.
    pub fn object(&self) -> Option<&str> {
        let has_object = self.function.layer() == Layer::HighLevel && !self.detail.is_empty();
        has_object.then(|| self.detail.split(' ').next().unwrap_or(""))
    }

    /// The variable that the program itself reads or writes by this call of a
    /// library: not by one inside another, and no attribute.
    pub fn variable(&self) -> Option<&str> {
        let is_access = self.function.access().is_data()
            && self.depth == 0
            && !self.failed()
            && !self.function.name().starts_with("H5A");
        self.object().filter(|name| is_access && !matches!(*name, "" | "?"))
    }

    /// The selection of a netCDF call, `start=a:b count=a:b`, as it was recorded.
    pub fn selection(&self) -> Option<&str> {
        self.object()?;
        self.detail.split_once(' ').map(|(_, selection)| selection)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A successful call of the program itself that moves nothing.
    pub(crate) fn event(function: Function) -> Event {
        Event {
            stream: StreamId { rank: 0, thread: 0 },
            sequence: 0,
            function,
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: None,
            requested: 0,
            result: 0,
            start_ns: 0,
            end_ns: 0,
            depth: 0,
            detail: "".into(),
        }
    }
}
