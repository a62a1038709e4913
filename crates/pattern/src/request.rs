// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a server is asked for.

/// Whether a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

impl RequestKind {
    /// Both of them, in the order of reports.
    pub const ALL: [RequestKind; 2] = [RequestKind::Read, RequestKind::Write];

    /// `read` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// One request as it reaches the server. Any values are allowed: a size of 0,
/// an offset near 2^64 (ends are capped there), times that run backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it came, on any clock.
    pub time_ns: u64,
    /// Which file; only whether two are the same matters.
    pub file: u64,
    /// Whether it reads or writes.
    pub kind: RequestKind,
    /// Its first byte.
    pub offset: u64,
    /// How many bytes.
    pub size: u64,
}

impl Request {
    /// The byte behind its last one.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}
