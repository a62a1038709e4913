// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts what a job does, event by event, for its summary.
//!
//! [`OperationFilter`] decides what is an operation, as everywhere. Calls of the POSIX
//! and stdio layers are counted at any depth, those of libraries above them separately;
//! time only for calls that no other recorded call encloses, so that nothing counts
//! twice, but each function's time on a file for all of them, so that they can be
//! compared. A call of several parts is one, but an access to each of its variables.
//! Everything is kept per file, and also per thread and process; each table has a
//! bound, beyond which only the totals continue.

mod behaviour;
mod call_places;
mod files;
mod libraries;
mod metadata;
mod mpi_own;
mod requests;
mod table;
mod variables;

use std::hash::Hash;

use ioracle_events::{
    Access, AccessExtents, ContextId, Event, FastMap, FileId, Function, Layer, MpiInternals,
    Operation, OperationFilter, StreamId,
};

pub use self::behaviour::CallsHash;
pub use self::call_places::{CallPlaces, FilesByCall, LOCKED_BYTES, OpenFiles, WrittenBlocks};
pub use self::files::{Accesses, FileTally, Independent, SMALL};
pub use self::libraries::{CountedLibrary, Libraries, LibraryTally};
pub use self::metadata::MetadataTally;
pub use self::mpi_own::MpiInternalTally;
use self::requests::{PendingRequests, RequestOutcome};
pub use self::table::RowTable;
pub use self::variables::{SelectionPattern, Touched, VariableTallies, VariableTally};

/// Files counted separately.
const MAX_FILES: usize = 1 << 16;
/// Threads counted separately, and processes.
const MAX_STREAMS: usize = 1 << 16;
/// Positions remembered to detect jumps; all are forgotten when there are more.
const MAX_PLACES: usize = 1 << 16;
/// Stands for all threads beyond the bound.
const OTHER_STREAMS: StreamId = StreamId { rank: u32::MAX, thread: u32::MAX };
/// What a job has done so far.
#[derive(Debug, Default)]
pub struct JobTally {
    /// Calls seen, including those that are not operations.
    pub events: u64,
    /// As [`OperationFilter`] says.
    pub operations: u64,
    pub failed: u64,
    /// In calls that no other call encloses, over all threads.
    pub io_ns: u64,
    /// In calls of libraries among them, including their own computation.
    pub library_ns: u64,
    /// In POSIX and stdio calls, including those that libraries make.
    pub file_system_ns: u64,
    pub read: TransferTally,
    pub written: TransferTally,
    pub libraries: Libraries,
    /// Not included in any other count except `events`.
    pub mpi_own: MpiInternalTally,
    /// Not included in any other count except `events` and the times.
    pub metadata: MetadataTally,
    pub variables: VariableTallies,
    extents: AccessExtents,
    /// By file; not all if there were more than the bound.
    pub files: RowTable<FileId, FileTally>,
    /// By thread.
    pub streams: RowTable<StreamId, StreamTally>,
    /// By process, by its number.
    pub processes: RowTable<u32, ProcessTally>,
    mpi: MpiInternals,
    filters: RowTable<StreamId, OperationFilter>,
    requests: PendingRequests,
    places: RowTable<(StreamId, FileId, Access), Option<u64>>,
    /// Files by the place of the call, to name those of a loop.
    pub files_by_call: FilesByCall,
    /// The places of the program that access files.
    pub call_places: CallPlaces,
    /// Which processes write which parts of files.
    pub written_blocks: WrittenBlocks,
    /// Files open at once.
    pub open_files: OpenFiles,
}

/// What a thread has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamTally {
    pub io_ns: u64,
    pub behaviour: CallsHash,
}

/// What a process has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessTally {
    pub operations: u64,
    pub read: TransferTally,
    pub written: TransferTally,
}

/// Data that went in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferTally {
    pub operations: u64,
    pub bytes: u64,
    pub io_ns: u64,
}

impl TransferTally {
    /// Bytes of an operation, rounded.
    pub fn mean_bytes(&self) -> u64 {
        let n = self.operations.max(1);
        self.bytes.saturating_add(n / 2) / n
    }

    /// Adds what went in the same direction elsewhere.
    pub fn join(&mut self, other: &TransferTally) {
        self.operations += other.operations;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.io_ns = self.io_ns.saturating_add(other.io_ns);
    }

    fn add(&mut self, bytes: u64, io_ns: u64) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.io_ns = self.io_ns.saturating_add(io_ns);
    }

    /// An operation did not happen after all; its time still counts.
    fn take_back(&mut self, bytes: u64) {
        self.operations = self.operations.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl JobTally {
    /// Counts an event.
    pub fn add(&mut self, event: &Event) {
        let io_ns = io_time_ns(event);
        let n_calls = u64::from(!event.is_further_part());
        self.events += n_calls;
        self.libraries.add(event);
        if self.mpi.observe(event) {
            self.mpi_own.add(event);
            return;
        }
        let own_ns = self.add_time(event, io_ns);
        let is_metadata = event.function.is_metadata();
        if let Some(stream) = self.streams.entry(event.stream, MAX_STREAMS) {
            stream.io_ns = stream.io_ns.saturating_add(io_ns);
            if !is_metadata {
                stream.behaviour.add(event);
            }
        }
        if is_metadata {
            self.metadata.add(event);
            self.call_places.add_on_any_file(event);
            return;
        }
        let variables = &mut self.variables;
        self.extents.push(event, |access| variables.add_extents(&access));
        let is_operation = self.add_operations(event);
        let outcome = self.requests.add(event);
        if let Some(RequestOutcome::GivenUp(submitted)) = outcome {
            self.libraries.give_up(submitted, event.requested);
        }
        self.variables.add(event, outcome);
        if event.failed() {
            self.failed += n_calls;
            return;
        }
        if n_calls > 0 {
            self.call_places.add(event);
        }
        if CountedLibrary::of(event.function).is_some()
            && let Some(file) = self.file(event.file)
        {
            file.add_outer(event, io_ns);
        }
        if !is_operation {
            self.add_other(event, io_ns);
            return;
        }
        let access = event.function.access();
        let bytes = event.transferred();
        let mut process = ProcessTally::default();
        match access {
            Access::Read => process.read.add(bytes, own_ns),
            Access::Write => process.written.add(bytes, own_ns),
            _ => {}
        }
        self.read.join(&process.read);
        self.written.join(&process.written);
        if let Some(sum) = self.processes.entry(event.stream.rank, MAX_STREAMS) {
            sum.join(&process);
        }
        match access {
            Access::Write => self.written_blocks.add(event, bytes, own_ns),
            Access::Open | Access::Close => self.open_files.add(event),
            _ => {}
        }
        let jumped = access.is_data() && self.jumped(event, bytes);
        if let Some(file) = self.file(event.file) {
            file.io_ns = file.io_ns.saturating_add(io_ns);
            file.add(event, bytes, own_ns, jumped);
        }
    }

    /// A call stack, before the first event that names it.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        self.mpi.define_context(id, frames);
    }

    /// A thread makes no more calls.
    pub fn end(&mut self, stream: StreamId) {
        if let Some(mut filter) = self.filters.remove(&stream) {
            filter.finish(|operation| self.count(stream, &operation));
        }
        let variables = &mut self.variables;
        self.extents.end_stream(stream, |access| variables.add_extents(&access));
        self.variables.end(stream);
    }

    /// No thread makes any more calls.
    pub fn finish(&mut self) {
        let streams: Vec<StreamId> = self.filters.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.end(stream));
        let variables = &mut self.variables;
        self.extents.finish(|access| variables.add_extents(&access));
    }

    /// Counts the operations that an event makes known; returns whether it is one
    /// itself, of the layers that move the data. Threads beyond the bound share a
    /// filter.
    fn add_operations(&mut self, event: &Event) -> bool {
        let JobTally { filters, operations, files_by_call, processes, files, .. } = self;
        let has_room = filters.entry(event.stream, MAX_STREAMS).is_some();
        let key = if has_room { event.stream } else { OTHER_STREAMS };
        let Some(filter) = filters.entry(key, MAX_STREAMS + 1) else { return false };
        let mut counts = OperationCounts { operations, files_by_call, processes, files };
        let mut is_one = false;
        // What MPI does for itself does not come here.
        filter.push_known(event, false, |operation| {
            counts.add(event.stream, &operation);
            is_one = matches!(operation.function.layer(), Layer::Posix | Layer::Stdio);
        });
        is_one
    }

    /// Counts an operation that was held back.
    fn count(&mut self, stream: StreamId, operation: &Operation) {
        let JobTally { operations, files_by_call, processes, files, .. } = self;
        OperationCounts { operations, files_by_call, processes, files }.add(stream, operation);
    }

    /// Adds the time of an event; returns the part that the file system took.
    fn add_time(&mut self, event: &Event, io_ns: u64) -> u64 {
        self.io_ns = self.io_ns.saturating_add(io_ns);
        let is_library = CountedLibrary::of(event.function).is_some();
        if is_library {
            self.library_ns = self.library_ns.saturating_add(io_ns);
        }
        if is_library || !self.libraries.is_outermost_below(event) {
            return 0;
        }
        let own_ns = duration_ns(event);
        self.file_system_ns = self.file_system_ns.saturating_add(own_ns);
        own_ns
    }

    /// Counts the time of a call that is not an operation with its file. The file of an
    /// unlink or rename need not have been used before.
    fn add_other(&mut self, event: &Event, io_ns: u64) {
        if CountedLibrary::of(event.function).is_some() {
            return;
        }
        let file = match event.function.name() {
            "unlink" | "rename" | "mmap" => self.file(event.file),
            _ => self.files.get_mut(&event.file),
        };
        if let Some(file) = file {
            file.mapped.add(event);
            file.io_ns = file.io_ns.saturating_add(io_ns);
            calls_of(&mut file.calls, event.function).add(0, duration_ns(event));
        }
    }

    fn file(&mut self, file: FileId) -> Option<&mut FileTally> {
        self.files.entry(file, MAX_FILES)
    }

    /// Time in I/O of the thread that spent most.
    pub fn busiest_thread_ns(&self) -> u64 {
        self.streams.values().map(|stream| stream.io_ns).max().unwrap_or(0)
    }

    /// Whether a data access neither continued where the same kind of access of the
    /// same thread had ended in the file, nor started over. Threads share files in ways
    /// that differ from run to run, so each is followed separately.
    fn jumped(&mut self, event: &Event, bytes: u64) -> bool {
        let Some(offset) = event.offset else { return false };
        if self.places.len() >= MAX_PLACES {
            self.places.clear();
        }
        let key = (event.stream, event.file, event.function.access());
        let Some(place) = self.places.entry(key, MAX_PLACES) else { return false };
        let left_off = place.replace(offset.saturating_add(bytes));
        offset > 0 && left_off.is_some_and(|left_off| left_off != offset)
    }
}

/// Where operations are counted, whatever they do.
struct OperationCounts<'a> {
    operations: &'a mut u64,
    files_by_call: &'a mut FilesByCall,
    processes: &'a mut RowTable<u32, ProcessTally>,
    files: &'a mut RowTable<FileId, FileTally>,
}

impl OperationCounts<'_> {
    fn add(&mut self, stream: StreamId, operation: &Operation) {
        *self.operations += 1;
        self.files_by_call.add(operation);
        if let Some(process) = self.processes.entry(stream.rank, MAX_STREAMS) {
            process.operations += 1;
        }
        if let Some(file) = self.files.entry(operation.file, MAX_FILES) {
            file.operations += 1;
        }
    }
}

impl ProcessTally {
    /// Adds what another process has done.
    pub fn join(&mut self, other: &ProcessTally) {
        self.operations += other.operations;
        self.read.join(&other.read);
        self.written.join(&other.written);
    }
}

/// A row of a table that has a bound; `None` if there is no room for a new one.
fn entry<K: Eq + Hash, T: Default>(
    table: &mut FastMap<K, T>,
    key: K,
    most: usize,
) -> Option<&mut T> {
    let has_room = table.len() < most || table.contains_key(&key);
    has_room.then(|| table.entry(key).or_default())
}

/// The calls of a function.
fn calls_of(calls: &mut Vec<(Function, TransferTally)>, function: Function) -> &mut TransferTally {
    let place = calls.iter().position(|(other, _)| *other == function).unwrap_or_else(|| {
        calls.push((function, TransferTally::default()));
        calls.len() - 1
    });
    &mut calls[place].1
}

/// The time that counts for a call: 0 for an enclosed one.
fn io_time_ns(event: &Event) -> u64 {
    if event.depth > 0 { 0 } else { duration_ns(event) }
}

fn duration_ns(event: &Event) -> u64 {
    event.end_ns.saturating_sub(event.start_ns)
}

#[cfg(test)]
pub mod tests {
    use ioracle_events::ContextId;

    use super::*;

    /// An event of 10 µs; `place` is offset and bytes.
    pub fn event(name: &str, file: u32, place: Option<(u64, u64)>) -> Event {
        let layers = [Layer::Posix, Layer::Stdio, Layer::MpiIo, Layer::HighLevel];
        let function = layers.into_iter().find_map(|layer| Function::from_name(layer, name));
        let (offset, bytes) = place.map_or((None, 0), |(offset, bytes)| (Some(offset), bytes));
        Event {
            stream: StreamId { rank: 0, thread: 0 },
            sequence: 0,
            function: function.unwrap(),
            context: ContextId(1),
            file: FileId(file),
            handle: 3,
            offset,
            requested: bytes,
            result: bytes as i64,
            start_ns: 1000,
            end_ns: 11_000,
            depth: 0,
            detail: "".into(),
        }
    }

    #[test]
    fn calls_are_counted_by_file_and_direction() {
        let mut tally = JobTally::default();
        tally.add(&event("open", 1, None));
        for n in 0..3 {
            tally.add(&event("write", 1, Some((n * 100, 100))));
        }
        tally.add(&event("read", 2, Some((0, 70_000))));
        tally.add(&event("lseek", 2, Some((0, 0))));
        tally.add(&Event { result: -1, ..event("read", 2, None) });
        assert_eq!((tally.events, tally.operations, tally.failed), (7, 5, 1));
        assert_eq!(tally.written, TransferTally { operations: 3, bytes: 300, io_ns: 30_000 });
        let file = &tally.files[&FileId(1)];
        assert_eq!((file.opens, file.written.small().operations), (1, 3));
        assert_eq!(file.metadata, TransferTally { operations: 1, bytes: 0, io_ns: 10_000 });
        assert_eq!(tally.files[&FileId(2)].read.small().operations, 0);
        assert_eq!(tally.busiest_thread_ns(), 70_000);
    }

    #[test]
    fn calls_of_mpi_are_counted_apart_and_their_time_once() {
        let mut tally = JobTally::default();
        tally.add(&Event { depth: 1, ..event("open", 1, None) });
        tally.add(&event("mpi_open", 1, None));
        tally.add(&event("mpi_write_at_all", 1, Some((0, 500))));
        tally.add(&Event { depth: 1, ..event("pwrite", 1, Some((0, 2000))) });
        tally.add(&event("mpi_read_at", 1, Some((0, 500))));
        let mpi = tally.libraries.of(CountedLibrary::MpiIo);
        assert_eq!((mpi.calls, mpi.collective, mpi.io_ns), (3, 2, 30_000));
        assert_eq!((mpi.written.bytes, mpi.read.bytes), (500, 500));
        assert_eq!((tally.operations, tally.written.bytes), (2, 2000));
        assert_eq!((tally.io_ns, tally.files[&FileId(1)].io_ns), (30_000, 30_000));
        let independent = &tally.files[&FileId(1)].independent_writes;
        assert_eq!((independent.moved.operations, independent.processes.n()), (0, 0));
    }

    /// The calls that took most time were once listed by their number where a library
    /// made them.
    #[test]
    fn calls_inside_a_library_have_their_own_time_and_the_file_that_of_the_library() {
        let mut tally = JobTally::default();
        tally.add(&Event { end_ns: 201_000, ..event("H5Dwrite", 1, Some((0, 500))) });
        tally.add(&Event { depth: 1, ..event("lseek", 1, None) });
        let end_ns = 151_000;
        tally.add(&Event { depth: 1, end_ns, ..event("pwrite", 1, Some((0, 500))) });
        tally.add(&Event { depth: 1, ..event("lseek", 1, None) });
        let file = &tally.files[&FileId(1)];
        let times = file.calls.iter().map(|(function, moved)| (function.name(), moved.io_ns));
        assert_eq!(times.collect::<Vec<_>>(), [("lseek", 20_000), ("pwrite", 150_000)]);
        assert_eq!((file.io_ns, file.file_system_ns), (200_000, 150_000));
        assert_eq!((file.written.moved.io_ns, tally.written.io_ns), (150_000, 150_000));
    }

    /// Compression by netCDF-4 took 9.42 s, of which POSIX calls took 0.62 s; all of
    /// it was time in I/O.
    #[test]
    fn time_in_libraries_is_separated_from_that_in_the_file_system() {
        let mut tally = JobTally::default();
        tally.add(&Event { end_ns: 201_000, ..event("nc_put_vara", 1, Some((0, 500))) });
        tally.add(&Event { depth: 1, end_ns: 151_000, ..event("H5Dwrite", 1, Some((0, 500))) });
        tally.add(&Event { depth: 2, ..event("pwrite", 1, Some((0, 500))) });
        tally.add(&event("copy_file_range", 2, Some((0, 50))));
        tally.add(&Event { depth: 1, ..event("copy_file_range_read", 1, Some((0, 50))) });
        assert_eq!(tally.io_ns, 210_000);
        assert_eq!((tally.library_ns, tally.file_system_ns), (200_000, 20_000));
    }

    /// 5,911 operations were once counted as 6,632 by `eval`.
    #[test]
    fn calls_that_a_library_answers_from_its_cache_are_operations() {
        let mut tally = JobTally::default();
        tally.add(&event("H5Dread", 1, Some((0, 500))));
        tally.add(&event("H5Dread", 2, Some((0, 500))));
        tally.add(&Event { depth: 1, ..event("pread", 2, Some((0, 500))) });
        tally.add(&event("H5Dread", 1, Some((0, 500))));
        tally.finish();
        let of_file = |file| tally.files[&FileId(file)].operations;
        assert_eq!((tally.operations, of_file(1), of_file(2)), (3, 2, 1));
        assert_eq!((tally.read.operations, tally.processes[&0].operations), (1, 3));
    }

    #[test]
    fn what_was_mapped_is_reported_by_file_and_purpose() {
        let mut tally = JobTally::default();
        let map = |file, offset, bytes, detail: &str| Event {
            result: 0,
            detail: detail.into(),
            ..event("mmap", file, Some((offset, bytes)))
        };
        tally.add(&map(1, 4096, 4096, "READ|PRIVATE"));
        tally.add(&map(1, 0, 4096, "READ|WRITE|PRIVATE"));
        tally.add(&map(1, 8192, 100, "READ|WRITE|SHARED"));
        tally.add(&Event { result: -1, ..map(2, 0, 100, "READ|WRITE|SHARED") });
        tally.add(&event("msync", 1, None));
        let mapped = tally.files[&FileId(1)].mapped;
        assert_eq!((mapped.for_reading(), mapped.for_writing()), (8192, 100));
        assert!(!tally.files.contains_key(&FileId(2)));
        assert_eq!((tally.operations, tally.files[&FileId(1)].syncs.operations), (1, 1));
    }

    #[test]
    fn writes_of_several_ranks_on_their_own_are_separated_from_collective_ones() {
        let mut tally = JobTally::default();
        for rank in [0, 0, 3] {
            let mut write = event("mpi_write_at", 1, Some((0, 500)));
            write.stream.rank = rank;
            tally.add(&write);
            tally.add(&event("mpi_write", 2, Some((0, 500))));
            tally.add(&event("mpi_write_all", 1, Some((0, 500))));
        }
        let independent = |file| &tally.files[&FileId(file)].independent_writes;
        assert_eq!((independent(1).moved.operations, independent(1).processes.n()), (3, 2));
        assert_eq!(independent(2).processes.n(), 1);
    }

    /// A program that opened and `fdopen`ed 50 files was once advised to make fewer
    /// than 100, and the time of `unlink` was counted nowhere.
    #[test]
    fn what_is_no_operation_counts_with_its_file_and_a_file_is_opened_once() {
        let mut tally = JobTally::default();
        for name in ["open", "fdopen", "fclose", "lseek", "unlink"] {
            tally.add(&event(name, 1, None));
        }
        tally.add(&event("unlink", 2, None));
        tally.add(&event("lseek", 3, None));
        let file = &tally.files[&FileId(1)];
        assert_eq!((file.opens, file.operations, file.io_ns), (1, 2, 50_000));
        assert!(file.calls.iter().any(|(function, _)| function.name() == "unlink"));
        assert_eq!(tally.files[&FileId(2)].io_ns, 10_000);
        assert!(!tally.files.contains_key(&FileId(3)), "it was neither used nor named");
    }

    #[test]
    fn accesses_that_go_on_are_separated_from_jumps() {
        let mut tally = JobTally::default();
        for offset in [0, 100, 200, 5000, 5100, 0] {
            tally.add(&event("pread", 1, Some((offset, 100))));
            // Another process in the same file does not make them jump.
            let mut other = event("pread", 1, Some((offset + 7, 93)));
            other.stream.rank = 1;
            tally.add(&other);
        }
        let read = &tally.files[&FileId(1)].read;
        assert_eq!(read.jumps.operations, 1 + 5);
        assert_eq!(read.extent.bytes(), 5200);
    }

    #[test]
    fn time_is_counted_once() {
        let mut tally = JobTally::default();
        tally.add(&event("copy_file_range", 2, Some((0, 50))));
        tally.add(&Event { depth: 1, ..event("copy_file_range_read", 1, Some((0, 50))) });
        assert_eq!(tally.io_ns, 10_000);
        assert_eq!((tally.read.bytes, tally.written.bytes), (50, 50));
    }
}
