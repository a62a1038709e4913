// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which events enter the symbol stream.
//!
//! The atomic requests do: POSIX and stdio opens, closes, data accesses, syncs
//! and truncations, at whatever depth; but not a flush that has nothing to write,
//! nor what MPI does for itself. An MPI-IO or high-level data call is an
//! operation only if no data operation happened inside it, which is known when
//! it has ended: an enclosing call precedes the nested ones in the order of
//! events, so [`OperationFilter`] holds it back until an event comes that it
//! does not enclose. The parts of one call are operations if the first is: what
//! happened inside the call happened for all of them.

use crate::buffered::BufferedOutput;
use crate::clue::Clue;
use crate::event::{ContextId, Event, FileId};
use crate::mpi::MpiInternals;
use ioracle_functions::{Access, Function, Layer};

/// Which events of a stream are its operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The atomic requests: bytes of files.
    #[default]
    Bytes,
    /// Data calls of HDF5, netCDF and PnetCDF: parts of variables.
    Variables,
}

/// An event that enters the symbol stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The function that was called.
    pub function: Function,
    /// The call stack.
    pub context: ContextId,
    /// The path it worked on.
    pub file: FileId,
    /// Descriptor or library handle; -1 for none.
    pub handle: i64,
    /// Byte position at which a data access starts.
    pub offset: Option<u64>,
    /// Bytes that really moved; 0 for operations that move none.
    pub size: u64,
    /// Bytes requested, where the source has them: a read that moved fewer has reached
    /// the end of its file.
    pub requested: Option<u64>,
    /// For opens: every write goes to the end of the file.
    pub append: bool,
    /// For opens: the file was cut to length 0. For truncations: always.
    pub truncated_to: Option<u64>,
    /// Start of the call, nanoseconds since the start of the process.
    pub start_ns: u64,
    /// End of the call.
    pub end_ns: u64,
}

impl Operation {
    /// What the call did.
    pub fn access(&self) -> Access {
        self.function.access()
    }

    /// The byte after the last one accessed, for data accesses with a position.
    pub fn end_offset(&self) -> Option<u64> {
        self.offset.map(|offset| offset.saturating_add(self.size))
    }
}

impl From<&Event> for Operation {
    fn from(event: &Event) -> Operation {
        let truncated_to = match event.function.access() {
            Access::Open if event.opens_truncated() => Some(0),
            Access::Truncate => Some(event.requested),
            _ => None,
        };
        Operation {
            function: event.function,
            context: event.context,
            file: event.file,
            handle: event.handle,
            offset: event.offset.filter(|_| event.function.access().is_data()),
            size: event.transferred(),
            requested: event.function.access().is_data().then_some(event.requested),
            append: event.opens_for_append(),
            truncated_to,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
        }
    }
}

/// Picks the operations out of the events of one stream, in order.
///
/// Only the innermost enclosing data call is held back: a data call inside another one
/// already shows that the outer one is not an operation.
#[derive(Clone, Debug, Default)]
pub struct OperationFilter {
    held: Option<Held>,
    buffered: BufferedOutput,
}

/// An enclosing data call that becomes an operation if nothing inside it does.
#[derive(Clone, Debug)]
struct Held {
    depth: u32,
    operation: Operation,
}

impl OperationFilter {
    /// Takes the next event of the stream and hands each operation that is now
    /// known to `emit`. `mpi` is what all streams of the source share. Gives back what
    /// an event tells that is no operation.
    pub fn push(
        &mut self,
        event: &Event,
        mpi: &mut MpiInternals,
        emit: impl FnMut(Operation),
    ) -> Option<Clue> {
        let is_internal = mpi.observe(event);
        self.push_known(event, is_internal, emit)
    }

    /// The same, where it is known whether MPI made the call for itself.
    pub fn push_known(
        &mut self,
        event: &Event,
        is_internal: bool,
        mut emit: impl FnMut(Operation),
    ) -> Option<Clue> {
        let mut is_operation = !event.is_further_part();
        if let Some(held) = self.held.take_if(|held| held.depth >= event.depth) {
            is_operation |= held.depth == event.depth;
            emit(held.operation);
        }
        if is_internal {
            return None;
        }
        // The descriptor that `fdopen` is given has been opened before.
        let is_nothing =
            event.failed() || !self.buffered.observe(event) || event.function == Function::Fdopen;
        if is_nothing {
            return Clue::of(event);
        }
        let access = event.function.access();
        match event.function.layer() {
            Layer::Posix | Layer::Stdio if access.is_atomic() => {
                if access.is_data() {
                    self.held = None;
                }
                emit(Operation::from(event));
            }
            Layer::MpiIo | Layer::HighLevel if access.is_data() && is_operation => {
                let operation = Operation::from(event);
                self.held = Some(Held { depth: event.depth, operation });
            }
            _ => return Clue::of(event),
        }
        None
    }

    /// Hands over what is still held back at the end of the stream.
    pub fn finish(&mut self, emit: impl FnOnce(Operation)) {
        if let Some(held) = self.held.take() {
            emit(held.operation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;

    fn function(name: &str) -> Function {
        Function::all().find(|function| function.name() == name).expect(name)
    }

    /// The names of the operations among events.
    fn operations(events: impl IntoIterator<Item = Event>) -> String {
        let (mut filter, mut mpi) = (OperationFilter::default(), MpiInternals::default());
        mpi.define_context(ContextId(2), "libmpi.so.40+0x1;app+0x2");
        let mut names = Vec::new();
        let mut emit = |operation: Operation| names.push(operation.function.name());
        for event in events {
            filter.push(&event, &mut mpi, &mut emit);
        }
        filter.finish(emit);
        names.join(" ")
    }

    /// A descriptor that `fdopen` made a stream of was once counted as opened twice.
    #[test]
    fn a_stream_over_an_open_descriptor_is_no_second_open() {
        check("open fdopen fread fclose", "open fread fclose");
    }

    /// Names with a point per enclosing call before them and `+` behind those of
    /// further parts become the names of operations.
    fn check(calls: &str, expected: &str) {
        let events = calls.split(' ').map(|call| Event {
            depth: call.chars().take_while(|&c| c == '.').count() as u32,
            requested: 8,
            detail: if call.ends_with('+') { "x part=2" } else { "x" }.into(),
            ..event(function(call.trim_start_matches('.').trim_end_matches('+')))
        });
        assert_eq!(operations(events), expected, "{calls}");
    }

    #[test]
    fn a_call_of_a_library_is_an_operation_if_nothing_inside_it_is() {
        check("H5Dwrite .mpi_write_at ..pwrite H5Dwrite H5Dread", "pwrite H5Dwrite H5Dread");
        check("H5Dwrite .mpi_write_at H5Dwrite", "mpi_write_at H5Dwrite");
    }

    #[test]
    fn parts_of_a_call_are_operations_if_the_first_is() {
        check("H5Dwrite .pwrite H5Dwrite+ H5Dwrite+ close", "pwrite close");
        check("H5Dwrite .mpi_write_at H5Dwrite+ H5Dwrite+", "mpi_write_at");
        check("H5Dwrite H5Dwrite+ H5Dwrite+ close", "H5Dwrite H5Dwrite H5Dwrite close");
        check("H5Dwrite .pwrite H5Dwrite+ H5Dwrite", "pwrite H5Dwrite");
    }

    /// A call that encloses others comes before it has ended, so it is no clue.
    #[test]
    fn what_is_no_operation_is_a_clue_if_it_has_ended() {
        let (mut filter, mut mpi) = (OperationFilter::default(), MpiInternals::default());
        mpi.define_context(ContextId(2), "libmpi.so.40+0x1;app+0x2");
        let mut clue = |event: Event| filter.push(&event, &mut mpi, |_| ());
        let of = |name| event(function(name));
        let seek = clue(Event { result: 70, ..of("lseek") });
        assert_eq!(seek.map(|clue| (clue.position, clue.by_path)), Some((Some(70), false)));
        let failed = clue(Event { result: -1, handle: -1, ..of("open") });
        assert_eq!(failed.map(|clue| (clue.failed, clue.by_path)), Some((true, true)));
        assert!(clue(of("stat")).is_some() && clue(of("fflush")).is_some());
        for name in ["open", "read", "H5Dread", "H5Dopen", "nc_enddef", "mpi_wait", "lio_listio"] {
            assert_eq!(clue(of(name)), None, "{name}");
        }
        let by_mpi = Event { context: ContextId(2), ..of("open") };
        assert_eq!(clue(by_mpi), None, "MPI's own");
    }

    /// Names with the digit of their file behind them; writes move 8 bytes.
    fn check_flushes(calls: &str, expected: &str) {
        let events = calls.split(' ').map(|call| {
            let (name, file) = call.split_at(call.len() - 1);
            let file = FileId(file.parse().expect(call));
            let handle = if file == FileId::UNKNOWN { -1 } else { 3 + i64::from(file.0) };
            let is_write = function(name).access() == Access::Write;
            let result = if is_write { 8 } else { 0 };
            Event { file, handle, result, ..event(function(name)) }
        });
        assert_eq!(operations(events), expected, "{calls}");
    }

    /// 4,741 of 7,018 operations of a climate code were flushes by libgfortran of a
    /// standard output that nothing was ever buffered for.
    #[test]
    fn a_flush_is_an_operation_if_there_is_something_to_write() {
        check_flushes("fflush1 write1 fflush1 write1", "write write");
        check_flushes("fprintf1 fflush1 fflush1 fputs1 fflush1", "fprintf fflush fputs fflush");
        check_flushes("fwrite1 fflush2 fflush1", "fwrite fflush");
        check_flushes("fwrite1 fread1 fseek1 fflush1", "fwrite fread");
        check_flushes("fwrite1 fclose1 fopen1 fflush1", "fwrite fclose fopen");
        // Of all streams at once.
        check_flushes("fflush0 fwrite1 fwrite2 fflush0 fflush1 fflush0", "fwrite fwrite fflush");
    }

    #[test]
    fn a_stream_that_is_opened_anew_has_nothing_to_write() {
        let on = |name, file, result| Event { file, result, ..event(function(name)) };
        let reused =
            [on("fwrite", FileId(1), 8), on("freopen", FileId(2), 3), on("fflush", FileId(1), 0)];
        assert_eq!(operations(reused), "fwrite freopen");
        let nothing = [on("fwrite", FileId(1), 0), on("fflush", FileId(1), 0)];
        assert_eq!(operations(nothing), "fwrite");
    }

    #[test]
    fn past_the_bound_every_flush_counts() {
        let on = |name, n| Event { file: FileId(n), handle: i64::from(n), ..event(function(name)) };
        let written = (1..=1000).map(|n| Event { result: 8, ..on("fwrite", n) });
        let flushed = operations(written.chain([on("fflush", 1000)]));
        assert!(flushed.ends_with("fwrite fflush"), "{flushed}");
    }

    /// One program was predicted to 17 % under Open MPI and to 77 % under MPICH.
    #[test]
    fn what_mpi_does_for_itself_is_no_operation() {
        let by_mpi = |name| Event { context: ContextId(2), ..event(function(name)) };
        let inside = Event { depth: 1, file: FileId(2), ..by_mpi("pwrite") };
        let standard = Event { handle: 1, ..by_mpi("write") };
        let program = || event(function("write"));
        assert_eq!(operations([by_mpi("open"), program(), by_mpi("close")]), "write");
        assert_eq!(operations([standard]), "write");
        // An access of the program inside a call of MPI-IO, and none inside another.
        let data = [event(function("mpi_write_at")), inside.clone()];
        assert_eq!(operations(data), "pwrite");
        let other = [event(function("mpi_set_size")), inside];
        assert_eq!(operations(other), "");
    }
}
