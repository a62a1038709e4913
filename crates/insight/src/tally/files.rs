// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was done to a file, or to several that are treated as one.
//!
//! Counts decide what is reported about a file, so that the same program gets the same
//! findings in every run; times show how much they matter.

use ioracle_events::{Access, Event, Function, Layer, MappedFor};

use super::{CountedLibrary, TransferTally, calls_of, duration_ns};

/// Accesses below this are small: most of their cost is the call.
pub const SMALL: u64 = 32 * 1024;
/// The block that writes of several processes should begin at.
pub const BLOCK: u64 = 4096;
/// A call of stdio that takes less went to a buffer of the C library. One of an
/// unbuffered stream is a system call each: 4.2 µs against 0.5 to 0.8 µs, measured.
const SYSTEM_CALL_NS: u64 = 1500;
/// The buffer that the C library gives a stream.
const STDIO_BUFFER: u64 = 4096;
/// Processes that are distinguished for each file.
const MAX_PROCESSES: usize = 64;

/// What was done to one file.
#[derive(Clone, Debug, Default)]
pub struct FileTally {
    pub operations: u64,
    /// In calls that no other recorded call encloses.
    pub io_ns: u64,
    /// In POSIX and stdio calls, including those that libraries make.
    pub file_system_ns: u64,
    pub read: Accesses,
    pub written: Accesses,
    pub opens: u64,
    /// Opens, closes and truncations.
    pub metadata: TransferTally,
    pub syncs: TransferTally,
    /// By function; few on any one file. With the time that each took itself, also
    /// inside calls of libraries, whose time alone is in `io_ns`.
    pub calls: Vec<(Function, TransferTally)>,
    /// Calls of libraries that the program itself makes.
    pub library_calls: Vec<(Function, TransferTally)>,
    /// Accesses of MPI-IO that ranks make each on their own.
    pub independent_reads: Independent,
    pub independent_writes: Independent,
    /// Accesses of MPI-IO that ranks make together.
    pub collective_reads: TransferTally,
    pub collective_writes: TransferTally,
    /// What is read and written through mappings is in none of the counts above.
    pub mapped: MappedBytes,
}

/// Reads, or writes, of one file.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    pub moved: TransferTally,
    /// Those of stdio.
    pub stdio: TransferTally,
    /// Those that did not continue where the thread had left off in the file.
    pub jumps: TransferTally,
    /// Those that a library makes for the program.
    pub within_library: u64,
    /// Those of at least a [`BLOCK`] that do not begin at one.
    pub misaligned: u64,
    /// The processes that make them.
    pub processes: Shared,
    /// Bytes between the first and the last one accessed, of each file.
    pub extent: ByteExtent,
    /// Below [`SMALL`], by POSIX calls and by those of stdio.
    small_posix: TransferTally,
    small_stdio: TransferTally,
    /// Those of stdio that were long enough for a system call.
    n_slow_stdio: u64,
}

/// Bytes of one file, or the sum over several.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteExtent {
    range: Option<(u64, u64)>,
    others: u64,
}

/// The processes that share something, as far as they are distinguished.
#[derive(Clone, Debug, Default)]
pub struct Shared(Vec<u32>);

/// Accesses of MPI-IO to one file that are not collective.
#[derive(Clone, Debug, Default)]
pub struct Independent {
    pub moved: TransferTally,
    /// Those that another library makes for the program.
    pub within_library: u64,
    pub processes: Shared,
}

impl FileTally {
    /// Counts a call of a library, whose data the calls inside it move.
    pub fn add_outer(&mut self, event: &Event, io_ns: u64) {
        self.io_ns = self.io_ns.saturating_add(io_ns);
        if event.depth == 0 && !event.is_further_part() {
            calls_of(&mut self.library_calls, event.function).add(event.transferred(), io_ns);
        }
        if CountedLibrary::of(event.function) == Some(CountedLibrary::MpiIo) {
            let (independent, collective) = match event.function.access() {
                Access::Write => (&mut self.independent_writes, &mut self.collective_writes),
                Access::Read => (&mut self.independent_reads, &mut self.collective_reads),
                _ => return,
            };
            if event.function.is_collective() {
                collective.add(event.transferred(), duration_ns(event));
            } else {
                independent.add(event);
            }
        }
    }

    /// Counts an operation of POSIX or stdio that took this long in the file system.
    pub fn add(&mut self, event: &Event, bytes: u64, own_ns: u64, jumped: bool) {
        self.file_system_ns = self.file_system_ns.saturating_add(own_ns);
        calls_of(&mut self.calls, event.function).add(bytes, duration_ns(event));
        match event.function.access() {
            Access::Read => self.read.add(event, bytes, own_ns, jumped),
            Access::Write => self.written.add(event, bytes, own_ns, jumped),
            // It hands a buffer of the C library to the system, without waiting for a
            // disk.
            Access::Sync if event.function.layer() == Layer::Stdio => {}
            Access::Sync => self.syncs.add(0, own_ns),
            access => {
                self.opens += u64::from(access == Access::Open);
                self.metadata.add(0, own_ns);
            }
        }
    }

    /// Adds what was done to another file.
    pub fn join(&mut self, other: &FileTally) {
        self.operations += other.operations;
        self.io_ns = self.io_ns.saturating_add(other.io_ns);
        self.file_system_ns = self.file_system_ns.saturating_add(other.file_system_ns);
        self.read.join(&other.read);
        self.written.join(&other.written);
        self.opens += other.opens;
        self.metadata.join(&other.metadata);
        self.syncs.join(&other.syncs);
        for (function, moved) in &other.calls {
            calls_of(&mut self.calls, *function).join(moved);
        }
        for (function, moved) in &other.library_calls {
            calls_of(&mut self.library_calls, *function).join(moved);
        }
        self.independent_reads.join(&other.independent_reads);
        self.independent_writes.join(&other.independent_writes);
        self.collective_reads.join(&other.collective_reads);
        self.collective_writes.join(&other.collective_writes);
    }
}

impl Accesses {
    fn add(&mut self, event: &Event, bytes: u64, own_ns: u64, jumped: bool) {
        self.moved.add(bytes, own_ns);
        self.within_library += u64::from(event.depth > 0);
        self.processes.add(event.stream.rank);
        let is_stdio = event.function.layer() == Layer::Stdio;
        if is_stdio {
            self.stdio.add(bytes, own_ns);
        }
        if bytes < SMALL {
            let small = if is_stdio { &mut self.small_stdio } else { &mut self.small_posix };
            small.add(bytes, own_ns);
            self.n_slow_stdio += u64::from(is_stdio && duration_ns(event) >= SYSTEM_CALL_NS);
        }
        if jumped {
            self.jumps.add(bytes, own_ns);
        }
        if let Some(offset) = event.offset {
            self.misaligned += u64::from(bytes >= BLOCK && !offset.is_multiple_of(BLOCK));
            self.extent.add(offset, offset.saturating_add(bytes));
        }
    }

    fn join(&mut self, other: &Accesses) {
        self.moved.join(&other.moved);
        self.stdio.join(&other.stdio);
        self.jumps.join(&other.jumps);
        self.within_library += other.within_library;
        self.misaligned += other.misaligned;
        self.processes.join(&other.processes);
        self.extent.others = self.extent.others.saturating_add(other.extent.bytes());
        self.small_posix.join(&other.small_posix);
        self.small_stdio.join(&other.small_stdio);
        self.n_slow_stdio += other.n_slow_stdio;
    }

    /// Those below [`SMALL`] that no buffer has collected. Whether stdio is buffered
    /// follows from the majority of its calls: for one stream, nearly all are slow or
    /// nearly none.
    pub fn small(&self) -> TransferTally {
        let mut small = self.small_posix;
        if !self.is_buffered() {
            small.join(&self.small_stdio);
        }
        small
    }

    /// All accesses, with calls that a stdio buffer collects replaced by the system
    /// calls they turn into.
    pub fn system_calls(&self) -> TransferTally {
        let mut moved = self.moved;
        if self.is_buffered() {
            let n_buffers = self.small_stdio.bytes.div_ceil(STDIO_BUFFER);
            let collected = self.small_stdio.operations;
            moved.operations = moved.operations - collected + n_buffers.min(collected);
        }
        moved
    }

    fn is_buffered(&self) -> bool {
        self.n_slow_stdio * 2 <= self.small_stdio.operations
    }
}

impl ByteExtent {
    fn add(&mut self, start: u64, end: u64) {
        let (first, last) = self.range.unwrap_or((start, end));
        self.range = Some((first.min(start), last.max(end)));
    }

    /// Bytes between the first and the last one accessed.
    pub fn bytes(&self) -> u64 {
        self.range.map_or(0, |(first, end)| end - first).saturating_add(self.others)
    }
}

impl Shared {
    fn add(&mut self, process: u32) {
        if self.0.last() != Some(&process)
            && self.0.len() < MAX_PROCESSES
            && !self.0.contains(&process)
        {
            self.0.push(process);
        }
    }

    fn join(&mut self, other: &Shared) {
        other.0.iter().for_each(|process| self.add(*process));
    }

    /// How many they are.
    pub fn n(&self) -> usize {
        self.0.len()
    }
}

impl Independent {
    fn add(&mut self, event: &Event) {
        self.moved.add(event.transferred(), duration_ns(event));
        self.within_library += u64::from(event.depth > 0);
        self.processes.add(event.stream.rank);
    }

    fn join(&mut self, other: &Independent) {
        self.moved.join(&other.moved);
        self.within_library += other.within_library;
        self.processes.join(&other.processes);
    }
}

/// Bytes of a file that were mapped, between the first and the last. What a program then
/// reads and writes in memory is not seen, so this is only an upper bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct MappedBytes {
    reading: Option<(u64, u64)>,
    writing: Option<(u64, u64)>,
}

impl MappedBytes {
    /// Counts an event, if it is a mapping.
    pub fn add(&mut self, event: &Event) {
        let Some(mapped_for) = event.mapped_for() else { return };
        let start = event.offset.unwrap_or(0);
        let end = start.saturating_add(event.requested);
        let extent = match mapped_for {
            MappedFor::Reading => &mut self.reading,
            MappedFor::Writing => &mut self.writing,
        };
        let (first, last) = extent.unwrap_or((start, end));
        *extent = Some((first.min(start), last.max(end)));
    }

    /// Bytes that may have been read only.
    pub fn for_reading(&self) -> u64 {
        length(self.reading)
    }

    /// Bytes that may have been written.
    pub fn for_writing(&self) -> u64 {
        length(self.writing)
    }
}

fn length(extent: Option<(u64, u64)>) -> u64 {
    extent.map_or(0, |(first, end)| end - first)
}
