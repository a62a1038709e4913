// SPDX-License-Identifier: MIT OR Apache-2.0

//! What MPI does for itself: shared memory between its ranks, files of its session,
//! configuration. Traces have these calls, but they are not the program's I/O, and
//! none of them is an operation.
//!
//! Two rules. A call outside MPI-IO is internal to MPI if its stack says that MPI made
//! it: from the call outwards there are only libraries that MPI uses until there is
//! MPI. So what MPI calls back, such as HDF5 when MPI ends, is not. And a call inside
//! one of MPI-IO is internal if that call moves no data and is about another file:
//! hints, locks, the pointer that ranks share. A file that a process has used MPI-IO on
//! belongs to the program, no matter what writes it, and so are standard streams, which
//! launchers pass on.
//!
//! Costs nothing without MPI, and two hash lookups an event with it.

use crate::event::{ContextId, Event, FileId, StreamId};
use crate::map::{FastMap, FastSet};
use ioracle_functions::Layer;

/// Contexts that are known to be MPI's; calls of further ones are the program's.
const MAX_CONTEXTS: usize = 1 << 16;
/// Files that MPI-IO was used on; further ones are not remembered.
const MAX_FILES: usize = 1 << 16;
/// Threads whose calls of MPI-IO are followed.
const MAX_STREAMS: usize = 1 << 16;

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

/// Distinguishes calls that MPI makes for itself from those of the program.
#[derive(Clone, Debug, Default)]
pub struct MpiInternals {
    contexts: FastSet<ContextId>,
    /// Files that a process has used MPI-IO on.
    files: FastSet<(u32, FileId)>,
    /// Calls of MPI-IO that may enclose the next event of a thread, outermost first.
    enclosing: FastMap<StreamId, Vec<MpiIoCall>>,
}

#[derive(Clone, Copy, Debug)]
struct MpiIoCall {
    depth: u32,
    moves_data: bool,
}

impl MpiInternals {
    /// A call stack, innermost frame first, `module+0xoffset;…`, before the first
    /// event that names it.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        if self.contexts.len() < MAX_CONTEXTS && is_of_mpi(frames) {
            self.contexts.insert(id);
        }
    }

    /// Takes the next event of its stream; returns whether MPI made the call for
    /// itself.
    pub fn observe(&mut self, event: &Event) -> bool {
        let layer = event.function.layer();
        if layer == Layer::MpiIo {
            self.enter(event);
            return false;
        }
        if self.contexts.is_empty() && self.enclosing.is_empty() {
            return false;
        }
        let around = self.enclosing_call(event);
        let is_standard_stream = (0..=2).contains(&event.handle);
        if layer == Layer::HighLevel
            || is_standard_stream
            || event.file == FileId::UNKNOWN
            || self.files.contains(&(event.stream.rank, event.file))
        {
            return false;
        }
        match around {
            Some(call) => !call.moves_data,
            None => self.contexts.contains(&event.context),
        }
    }

    fn enter(&mut self, event: &Event) {
        if self.files.len() < MAX_FILES {
            self.files.insert((event.stream.rank, event.file));
        }
        self.enclosing_call(event);
        let has_room =
            self.enclosing.len() < MAX_STREAMS || self.enclosing.contains_key(&event.stream);
        if has_room {
            let moves_data = event.function.access().is_data();
            let call = MpiIoCall { depth: event.depth, moves_data };
            self.enclosing.entry(event.stream).or_default().push(call);
        }
    }

    /// The innermost call of MPI-IO around an event. Those that do not enclose it
    /// are over.
    fn enclosing_call(&mut self, event: &Event) -> Option<MpiIoCall> {
        let calls = self.enclosing.get_mut(&event.stream)?;
        while calls.pop_if(|call| call.depth >= event.depth).is_some() {}
        calls.last().copied()
    }
}

fn is_of_mpi(frames: &str) -> bool {
    let begins_with = |frame: &str, names: &[&str]| names.iter().any(|it| frame.starts_with(it));
    let mut outer = frames.split(';').skip_while(|frame| begins_with(frame, &HELPERS));
    outer.next().is_some_and(|frame| begins_with(frame, &MPI))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioracle_functions::Function;

    #[test]
    fn who_made_a_call_is_reported_by_its_stack() {
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

    const OF_MPI: ContextId = ContextId(7);
    const OF_PROGRAM: ContextId = ContextId(1);

    fn internals() -> MpiInternals {
        let mut internals = MpiInternals::default();
        internals.define_context(OF_MPI, "libmpich.so.12+0x1;app+0x2");
        internals.define_context(OF_PROGRAM, "app+0x2");
        internals
    }

    fn event(name: &str, file: u32, depth: u32, context: ContextId) -> Event {
        let function = Function::all().find(|function| function.name() == name).unwrap();
        Event { file: FileId(file), depth, context, ..crate::event::tests::event(function) }
    }

    #[test]
    fn calls_of_mpi_on_files_of_its_own_are_internal() {
        let mut internals = internals();
        assert!(internals.observe(&event("write", 1, 0, OF_MPI)));
        assert!(!internals.observe(&event("write", 1, 0, OF_PROGRAM)));
        // What a launcher passes on.
        let passed_on = Event { handle: 1, ..event("write", 3, 0, OF_MPI) };
        assert!(!internals.observe(&passed_on));
    }

    #[test]
    fn what_mpi_io_does_to_the_files_of_the_program_is_not() {
        let mut internals = internals();
        assert!(!internals.observe(&event("mpi_open", 4, 0, OF_PROGRAM)));
        assert!(!internals.observe(&event("open", 4, 1, OF_MPI)));
        assert!(internals.observe(&event("open", 5, 1, OF_MPI)), "hints, or a lock");
        assert!(!internals.observe(&event("mpi_write_at", 4, 0, OF_PROGRAM)));
        assert!(!internals.observe(&event("pwrite", 4, 1, OF_MPI)));
        assert!(!internals.observe(&event("pwrite", 6, 1, OF_MPI)), "data of the program");
        // MPI keeps writing it without the program, but it is the program's file.
        assert!(!internals.observe(&event("pwrite", 4, 0, OF_MPI)));
        let mut by_another_process = event("pwrite", 4, 0, OF_MPI);
        by_another_process.stream.rank = 9;
        assert!(internals.observe(&by_another_process));
    }
}
