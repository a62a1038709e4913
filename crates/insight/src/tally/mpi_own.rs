// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts what MPI does for itself ([`ioracle_events::MpiInternals`]), which is not
//! included in any other count.

use ioracle_events::{Access, Event, FastSet, FileId};

use super::{MAX_FILES, io_time_ns};

/// What MPI has done for itself so far.
#[derive(Debug, Default)]
pub struct MpiInternalTally {
    /// Calls that would be operations if the program had made them.
    pub operations: u64,
    pub failed: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub io_ns: u64,
    pub files: FastSet<FileId>,
}

impl MpiInternalTally {
    /// Counts a call.
    pub fn add(&mut self, event: &Event) {
        self.io_ns = self.io_ns.saturating_add(io_time_ns(event));
        self.failed += u64::from(event.failed());
        if event.failed() || !event.function.access().is_atomic() {
            return;
        }
        self.operations += 1;
        let moved = match event.function.access() {
            Access::Read => &mut self.bytes_read,
            Access::Write => &mut self.bytes_written,
            _ => &mut 0,
        };
        *moved = moved.saturating_add(event.transferred());
        if self.files.len() < MAX_FILES {
            self.files.insert(event.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::ContextId;

    use super::super::JobTally;
    use super::super::tests::event;
    use super::*;

    #[test]
    fn what_mpi_does_for_itself_is_counted_apart() {
        let mut tally = JobTally::default();
        let of_mpi = ContextId(7);
        tally.define_context(of_mpi, "libmpich.so.12+0x1;app+0x2");
        tally.define_context(ContextId(1), "app+0x2");
        let by_mpi = |event: Event| Event { context: of_mpi, ..event };
        let inside = |event: Event| Event { depth: 1, ..by_mpi(event) };
        tally.add(&by_mpi(event("write", 1, Some((0, 5000)))));
        tally.add(&by_mpi(Event { result: -1, ..event("open", 2, None) }));
        // What a launcher passes on.
        tally.add(&by_mpi(Event { handle: 1, ..event("write", 3, Some((0, 10))) }));
        tally.add(&event("mpi_open", 4, None));
        tally.add(&inside(event("open", 4, None)));
        tally.add(&inside(event("open", 5, None)));
        tally.add(&event("mpi_write_at", 4, Some((0, 100))));
        tally.add(&inside(event("pwrite", 4, Some((0, 100)))));
        tally.add(&inside(event("pwrite", 6, Some((0, 100)))));
        // MPI keeps writing it without the program, but it is the program's file.
        tally.add(&by_mpi(event("pwrite", 4, Some((100, 100)))));
        tally.add(&event("write", 1, Some((0, 1))));

        let own = &tally.mpi_own;
        assert_eq!((own.operations, own.failed, own.files.len()), (2, 1, 2));
        assert_eq!((own.bytes_written, own.bytes_read, own.io_ns), (5000, 0, 20_000));
        assert_eq!((tally.operations, tally.failed, tally.events), (6, 0, 11));
        assert_eq!(tally.written.bytes, 10 + 100 + 100 + 100 + 1);
        assert!(!tally.files.contains_key(&FileId(5)));
    }
}
