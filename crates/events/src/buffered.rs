// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which streams of the C library have output that a flush would write.
//!
//! Some callers flush before or after everything they do (libgfortran flushes standard
//! output before each `WRITE` to it, which it makes past the stream). A flush of a
//! stream that its thread has written nothing to since the last flush, seek, open or
//! close of it moves nothing, and is not an operation. That is decided thread by
//! thread, because only the order of one thread's events is the same in every source.
//! So neither is a flush of what another thread has written, or of output that no
//! recorded call made (inlined `putc_unlocked`).

use crate::event::{Event, FileId};
use ioracle_functions::{Access, Layer};

/// Streams with unwritten output that are remembered; when there are more, every
/// flush counts as one that may write something.
const MAX_STREAMS: usize = 256;

/// Streams of one thread that were written to since their last flush.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferedOutput {
    streams: Vec<(FileId, i64)>,
}

impl BufferedOutput {
    /// Takes in the next event of the thread, which succeeded; false for a flush
    /// that has nothing to write.
    pub(crate) fn observe(&mut self, event: &Event) -> bool {
        if event.function.layer() != Layer::Stdio {
            return true;
        }
        match event.function.access() {
            Access::Write if event.transferred() > 0 => self.add((event.file, event.handle)),
            Access::Write | Access::Read | Access::Define => {}
            Access::Sync if event.file == FileId::UNKNOWN => return self.flush_all(),
            Access::Sync => return self.flush((event.file, event.handle)),
            Access::Seek | Access::Truncate => {
                self.flush((event.file, event.handle));
            }
            // The descriptor no longer belongs to whatever file had it.
            Access::Open | Access::Close => {
                self.streams.retain(|(_, handle)| *handle != event.handle);
            }
        }
        true
    }

    fn add(&mut self, stream: (FileId, i64)) {
        if self.streams.len() < MAX_STREAMS && !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
    }

    /// Whether it may have written something.
    fn flush(&mut self, stream: (FileId, i64)) -> bool {
        let is_full = self.streams.len() >= MAX_STREAMS;
        let place = self.streams.iter().position(|other| *other == stream);
        place.map(|place| self.streams.swap_remove(place)).is_some() || is_full
    }

    /// `fflush(NULL)`.
    fn flush_all(&mut self) -> bool {
        let any = !self.streams.is_empty();
        self.streams.clear();
        any
    }
}
