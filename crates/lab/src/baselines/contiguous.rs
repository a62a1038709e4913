// SPDX-License-Identifier: MIT OR Apache-2.0

//! The contiguous assumption: the file of the last operation, at its end.
//!
//! After an open that is the beginning of the file, or the end of the file if
//! it was opened for appending; after a sync or a truncation where the last
//! access to that file ended. The size is that of the last data access. Also
//! what the oracle itself falls back to, so no predictor should be below it.

use std::collections::HashMap;

use ioracle_events::{Access, FileId, Operation};

use crate::halves::{Half, Halves};
use ioracle_engine::score::{AccessedRange, PlaceScore};

/// Follows positions and sizes of files; keeps the score of the assumption.
#[derive(Clone, Debug, Default)]
pub struct Contiguous {
    files: HashMap<FileId, Known>,
    last_file: Option<FileId>,
    last_size: u64,
    score: Halves<PlaceScore>,
}

/// What the operations so far show about a file.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    position: u64,
    length: u64,
}

impl Contiguous {
    /// Compares the assumption with the operation that came, then follows it.
    pub fn observe(&mut self, operation: &Operation, half: Half) {
        let is_file = self.last_file == Some(operation.file);
        self.score.add(half, |score| score.add_file(is_file));
        if operation.access().is_data() {
            let came = AccessedRange { start: operation.offset, size: operation.size };
            let stated = self.segment_in(operation.file);
            let size = self.last_file.map(|_| self.last_size);
            self.score.add(half, |score| {
                score.add_data_access([(1.0, stated)].into_iter(), size, came);
            });
        }
        self.follow(operation);
    }

    /// The score so far.
    pub fn score(&self) -> &Halves<PlaceScore> {
        &self.score
    }

    fn segment_in(&self, file: FileId) -> Option<AccessedRange> {
        let last_file = self.last_file.filter(|last| *last == file)?;
        let position = self.files.get(&last_file).map_or(0, |known| known.position);
        Some(AccessedRange { start: Some(position), size: self.last_size })
    }

    fn follow(&mut self, operation: &Operation) {
        let known = self.files.entry(operation.file).or_default();
        if let Some(length) = operation.truncated_to {
            known.length = length;
        }
        match operation.access() {
            Access::Open => known.position = if operation.append { known.length } else { 0 },
            Access::Close => known.position = 0,
            Access::Read | Access::Write => {
                if let Some(end) = operation.end_offset() {
                    known.position = end;
                    known.length = known.length.max(end);
                }
                self.last_size = operation.size;
            }
            _ => {}
        }
        self.last_file = Some(operation.file);
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::{ContextId, Function, Layer};

    use super::*;

    fn operation(name: &str, file: u32, offset: u64, size: u64) -> Operation {
        let function = Function::from_name(Layer::Posix, name).unwrap();
        Operation {
            function,
            context: ContextId(0),
            file: FileId(file),
            handle: 3,
            offset: function.access().is_data().then_some(offset),
            size,
            requested: None,
            append: false,
            truncated_to: None,
            start_ns: 0,
            end_ns: 0,
        }
    }

    fn run(operations: &[Operation]) -> PlaceScore {
        let mut contiguous = Contiguous::default();
        for operation in operations {
            contiguous.observe(operation, Half::Second);
        }
        contiguous.score().whole.clone()
    }

    #[test]
    fn writes_in_a_row_are_contiguous_from_the_open_on() {
        let score = run(&[
            operation("open", 1, 0, 0),
            operation("write", 1, 0, 8),
            operation("write", 1, 8, 8),
            operation("write", 1, 100, 8),
        ]);
        assert_eq!(score.offset.value(), Some(2.0 / 3.0));
        assert_eq!(score.file.percent(), Some(75.0));
        // The first has the wrong size (0 predicted), the last the wrong place.
        assert_eq!(score.hit.value(), Some(1.0 / 3.0));
    }

    #[test]
    fn another_file_is_a_miss() {
        let score = run(&[operation("write", 1, 0, 8), operation("write", 2, 8, 8)]);
        assert_eq!(score.offset.percent(), Some(0.0));
    }

    #[test]
    fn an_open_for_appending_starts_at_the_end_of_the_file() {
        let append = Operation { append: true, ..operation("open", 1, 0, 0) };
        let score = run(&[
            operation("write", 1, 0, 8),
            operation("close", 1, 0, 0),
            append,
            operation("write", 1, 8, 8),
        ]);
        assert_eq!(score.offset.percent(), Some(50.0));
    }

    #[test]
    fn a_sync_leaves_the_position_and_a_truncation_the_end() {
        let truncate = Operation { truncated_to: Some(4), ..operation("ftruncate", 1, 0, 4) };
        let append = Operation { append: true, ..operation("open", 1, 0, 0) };
        let score = run(&[
            operation("write", 1, 0, 8),
            operation("fsync", 1, 0, 0),
            operation("write", 1, 8, 8),
            truncate,
            append,
            operation("write", 1, 4, 8),
        ]);
        assert_eq!(score.offset.value(), Some(2.0 / 3.0));
    }
}
