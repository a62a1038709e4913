// SPDX-License-Identifier: MIT OR Apache-2.0

//! Requests while a plan is made: reads that follow each other grow into one.

use std::ops::Range;

use ioracle_events::PredictionSource;

use crate::planner::{ExpectedRead, FileKey, RequestId, StorageKey};

/// Requests in the making.
pub(crate) struct Draft {
    pub(crate) requests: Vec<Drafted>,
    pub(crate) slots: usize,
    pub(crate) next_id: RequestId,
    pub(crate) n_planned: usize,
    /// Whether the last read added to the last request, so that the one after it
    /// may, too.
    pub(crate) may_grow: bool,
}

/// One of them.
pub(crate) struct Drafted {
    pub(crate) id: RequestId,
    pub(crate) file: FileKey,
    pub(crate) storage: StorageKey,
    pub(crate) bytes: Range<u64>,
    pub(crate) in_ns: u64,
    pub(crate) source: PredictionSource,
    /// The step that it begins with.
    pub(crate) first_step: usize,
}

impl Draft {
    /// Begins a request with the next byte of a read that is missing.
    pub(crate) fn begin(&mut self, read: &ExpectedRead, start: u64) -> RequestId {
        let id = self.next_id;
        self.next_id.0 += 1;
        self.requests.push(Drafted {
            id,
            file: read.file,
            storage: read.storage,
            bytes: start..start,
            in_ns: read.in_ns,
            source: read.source,
            first_step: self.n_planned,
        });
        id
    }
}

impl Drafted {
    pub(crate) fn ends_at(&self, file: FileKey, offset: u64) -> bool {
        self.file == file && self.bytes.end == offset
    }

    pub(crate) fn room(&self, max_bytes: u64) -> u64 {
        max_bytes.saturating_sub(self.bytes.end - self.bytes.start)
    }
}
