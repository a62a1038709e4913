// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which variables a stream has accessed since it opened their files.

use crate::event::{FileId, StreamId};
use crate::map::{FastMap, FastSet};

/// Variables and names held; at the bound all are forgotten.
const MAX_ACCESSED: usize = 1 << 16;

/// What was accessed of the files that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFileVariables {
    accessed: FastMap<(StreamId, FileId), FastSet<FileId>>,
    n_accessed: usize,
    /// Names without digits of which a variable was accessed more than once.
    repeated: FastMap<StreamId, FastSet<Box<str>>>,
    n_repeated: usize,
}

impl OpenFileVariables {
    /// A stream has opened or closed a file.
    pub(super) fn begin(&mut self, stream: StreamId, file: FileId) {
        let before = self.accessed.remove(&(stream, file));
        self.n_accessed -= before.map_or(0, |before| before.len());
    }

    /// Whether an access to a variable of the file is the first since then, where
    /// several are expected, because one of its name was accessed again before.
    pub(super) fn is_first(
        &mut self,
        stream: StreamId,
        (file, variable): (FileId, FileId),
        name: &str,
    ) -> bool {
        if self.n_accessed.max(self.n_repeated) >= MAX_ACCESSED {
            *self = OpenFileVariables::default();
        }
        let is_new = self.accessed.entry((stream, file)).or_default().insert(variable);
        self.n_accessed += usize::from(is_new);
        let repeated = self.repeated.entry(stream).or_default();
        let is_repeated = repeated.contains(name);
        if !is_new && !is_repeated {
            repeated.insert(name.into());
            self.n_repeated += 1;
        }
        is_new && is_repeated
    }
}
