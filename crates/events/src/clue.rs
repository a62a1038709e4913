// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls between operations, as clues to the next one.

use crate::event::{ContextId, Event, FileId};
use ioracle_functions::{Function, Layer};

/// A call of the program that is no operation and has ended: `stat` before an open, a
/// seek before a read, an open that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clue {
    /// The function that was called.
    pub function: Function,
    /// The call stack.
    pub context: ContextId,
    /// The path it worked on.
    pub file: FileId,
    /// Whether it named the file by its path, not by a descriptor.
    pub by_path: bool,
    /// Whether it failed.
    pub failed: bool,
    /// Where a seek has left the position in the file.
    pub position: Option<u64>,
}

impl Clue {
    /// Whether calls of a function may be clues: only system calls and buffered streams,
    /// which enclose nothing. When such an event comes, its call has ended, and nothing
    /// that comes later began before.
    pub fn is_of(function: Function) -> bool {
        matches!(function.layer(), Layer::Posix | Layer::Stdio) && function != Function::LioListio
    }

    /// The clue that an event is which is no operation.
    pub(crate) fn of(event: &Event) -> Option<Clue> {
        Clue::is_of(event.function).then(|| Clue {
            function: event.function,
            context: event.context,
            file: event.file,
            by_path: event.handle < 0,
            failed: event.failed(),
            position: (event.function == Function::Lseek)
                .then(|| u64::try_from(event.result).ok())
                .flatten(),
        })
    }
}
