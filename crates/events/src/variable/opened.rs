// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which variables a stream has accessed since it opened their files.

use std::collections::{HashMap, HashSet};

use crate::event::{FileId, StreamId};

/// Variables held; at the bound all are forgotten, and the next access to each
/// counts as its first.
const MAX_ACCESSED: usize = 1 << 16;

/// What was accessed of the files that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Opened {
    accessed: HashMap<(StreamId, FileId), HashSet<FileId>>,
    n_accessed: usize,
}

impl Opened {
    /// A stream has opened or closed a file.
    pub(super) fn begin(&mut self, stream: StreamId, file: FileId) {
        let before = self.accessed.remove(&(stream, file));
        self.n_accessed -= before.map_or(0, |before| before.len());
    }

    /// Whether an access to a variable of the file is the first since then.
    pub(super) fn is_first(&mut self, stream: StreamId, file: FileId, variable: FileId) -> bool {
        if self.n_accessed >= MAX_ACCESSED {
            *self = Opened::default();
        }
        let is_first = self.accessed.entry((stream, file)).or_default().insert(variable);
        self.n_accessed += usize::from(is_first);
        is_first
    }
}
