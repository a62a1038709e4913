// SPDX-License-Identifier: MIT OR Apache-2.0

//! What MPI does for itself: shared memory between its ranks, files of its session,
//! configuration. They are in every trace, but are not the program's data.
//!
//! Two rules. A call outside MPI-IO is MPI's own if its stack says that MPI made it:
//! from the call outwards there are only libraries that MPI uses until there is
//! MPI. So what MPI calls back, such as HDF5 when MPI ends, is not. And a call
//! inside one of MPI-IO is its own if that call moves no data and is about another
//! file: hints, locks, the pointer that ranks share. A file that MPI-IO was ever
//! used on is the program's, whoever writes it, and so are standard streams, which
//! launchers pass on.

use std::collections::HashSet;

use ioracle_events::{Access, ContextId, Event, FileId};

use super::libraries::{Around, Libraries, Library};
use super::{MAX_FILES, io_time_ns, is_counted};

/// Contexts that are known to be MPI's; calls of further ones are the program's.
const MAX_CONTEXTS: usize = 1 << 16;

/// How names of MPI's modules begin: MPICH and its kin, Open MPI, their launchers.
const MPI: [&str; 15] = [
    "hydra_",
    "libmca_",
    "libmpi.so",
    "libmpi_",
    "libmpich",
    "libmpicxx",
    "libmpifort",
    "libopen-pal",
    "libopen-rte",
    "libpmi",
    "libprrte",
    "mca_",
    "mpiexec.",
    "orterun",
    "prte",
];

/// How names of modules begin that MPI makes calls through: networks, the machine's
/// topology, events, the C library.
const HELPERS: [&str; 24] = [
    "hwloc_",
    "ld-linux",
    "libc.so",
    "libcxi",
    "libdl.so",
    "libefa",
    "libevent",
    "libfabric",
    "libhwloc",
    "libibverbs",
    "libltdl",
    "libmlx",
    "libnl-",
    "libnuma",
    "libpciaccess",
    "libpsm",
    "libpthread",
    "librdmacm",
    "libucm",
    "libucp",
    "libucs",
    "libuct",
    "libudev",
    "libz.so",
];

/// What MPI has done for itself so far.
#[derive(Debug, Default)]
pub struct MpiOwn {
    /// Operations, as [`is_counted`] says.
    pub operations: u64,
    pub failed: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub io_ns: u64,
    pub files: HashSet<FileId>,
    contexts: HashSet<ContextId>,
    of_mpi_io: HashSet<FileId>,
}

impl MpiOwn {
    /// A call stack, innermost frame first, `module+0xoffset;…`.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        if self.contexts.len() < MAX_CONTEXTS && is_of_mpi(frames) {
            self.contexts.insert(id);
        }
    }

    /// Counts an event if it is MPI's own; whether it is.
    pub fn take(&mut self, event: &Event, libraries: &Libraries) -> bool {
        if Library::of(event.function) == Some(Library::MpiIo) && self.of_mpi_io.len() < MAX_FILES {
            self.of_mpi_io.insert(event.file);
        }
        let is_own = self.is_own(event, libraries);
        if is_own {
            self.add(event);
        }
        is_own
    }

    fn is_own(&self, event: &Event, libraries: &Libraries) -> bool {
        let is_standard = (0..=2).contains(&event.handle);
        if Library::of(event.function).is_some()
            || is_standard
            || event.file == FileId::UNKNOWN
            || self.of_mpi_io.contains(&event.file)
        {
            return false;
        }
        match libraries.mpi_io_around(event) {
            Some(around) => around == Around::NoData,
            None => self.contexts.contains(&event.context),
        }
    }

    fn add(&mut self, event: &Event) {
        self.io_ns = self.io_ns.saturating_add(io_time_ns(event));
        self.failed += u64::from(event.failed());
        if !is_counted(event) {
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

fn is_of_mpi(frames: &str) -> bool {
    let begins_with = |frame: &str, names: &[&str]| names.iter().any(|it| frame.starts_with(it));
    let mut outer = frames.split(';').skip_while(|frame| begins_with(frame, &HELPERS));
    outer.next().is_some_and(|frame| begins_with(frame, &MPI))
}

#[cfg(test)]
mod tests {
    use super::super::Tally;
    use super::super::tests::event;
    use super::*;

    #[test]
    fn who_made_a_call_is_told_by_its_stack() {
        let check = |frames: &str, expected| assert_eq!(is_of_mpi(frames), expected, "{frames}");
        check("libuct.so.0+0x1;libucp.so.0+0x2;libmpich.so.12+0x3;app+0x4;libc.so.6+0x5", true);
        check("mca_shmem_mmap.so+0x1;libopen-pal.so.40+0x2;app+0x3", true);
        check("libz.so.1+0x1;libpciaccess.so.0+0x2;libhwloc.so.15+0x3;libmpi.so.40+0x4", true);
        // HDF5 closes its files when MPI ends.
        check("libhdf5.so.103+0x1;libmpi.so.40+0x2;app+0x3", false);
        check("app+0x1;libmpi.so.40+0x2;app+0x3", false);
        check("libhwloc.so.15+0x1;app+0x2", false);
        check("libc.so.6+0x1", false);
        check("?", false);
        check("", false);
    }

    #[test]
    fn what_mpi_does_for_itself_is_counted_apart() {
        let mut tally = Tally::default();
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
        // Written on behind the back of the program, but its file.
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
