// SPDX-License-Identifier: MIT OR Apache-2.0

//! The application's side: appends the records of one thread to its stream.
//!
//! Nothing here allocates, locks, panics or calls the system on the common path, which
//! costs one addition and the copy of a record. Every method may be interrupted at any
//! instruction by a signal handler that calls methods of the same writer: numbers of
//! records are taken by one instruction, and what changes the set of segments is
//! guarded by a flag; a call that meets the flag is refused. A writer believes nothing
//! that it reads from shared memory beyond numbers: a job page or table with wrong
//! numbers costs records, but never faults.
//!
//! A writer belongs to the thread that it was started for. It has no `Drop`: at
//! the end of a thread [`finish`](Writer::finish) is called, and often nothing is.

mod asking;
mod definitions;
mod host;
mod room;
mod segment;

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};

pub use self::host::{Host, StreamIdentity, StreamName};

use self::definitions::DefinitionsEnd;
use self::room::Stall;
use self::segment::MappedSegment;
use crate::handshake::takes_over_waking;
use crate::layout::{
    Call, FIRST_BYTES, JobPage, MAX_SEGMENTS, PAGE, STREAM_MAGIC, SegmentKind, StreamHeader,
    UnrecordedCause, VERSION,
};

/// Records between two looks at whether the reader sleeps; a power of 2.
const BATCH: u64 = 64;

/// Appends to the stream of one thread.
pub struct Writer {
    name: StreamName,
    /// The first page of the file; null once the mappings are given up.
    header: AtomicPtr<StreamHeader>,
    /// Number of the next record.
    next: AtomicU64,
    /// The segment that records go to.
    current: AtomicUsize,
    /// The first `n_segments` are mapped; the same places as in the file's table.
    segments: [MappedSegment; MAX_SEGMENTS],
    n_segments: AtomicUsize,
    file_bytes: AtomicU64,
    /// Where the next definition goes.
    definitions: DefinitionsEnd,
    /// Set while segments are added or a definition is written.
    busy: AtomicBool,
    records_stall: Stall,
    definitions_stall: Stall,
    /// The reader is looked at after each record whose number ends in these bits.
    wake_mask: AtomicU64,
    /// Handlers on the same thread may come in between, other threads may not.
    not_shared: PhantomData<Cell<()>>,
}

impl Writer {
    /// A writer without a stream.
    pub const fn idle() -> Writer {
        Writer {
            name: StreamName::empty(),
            header: AtomicPtr::new(core::ptr::null_mut()),
            next: AtomicU64::new(0),
            current: AtomicUsize::new(0),
            segments: [const { MappedSegment::unmapped() }; MAX_SEGMENTS],
            n_segments: AtomicUsize::new(0),
            file_bytes: AtomicU64::new(0),
            definitions: DefinitionsEnd::new(),
            busy: AtomicBool::new(false),
            records_stall: Stall::new(),
            definitions_stall: Stall::new(),
            wake_mask: AtomicU64::new(BATCH - 1),
            not_shared: PhantomData,
        }
    }

    /// Begins a stream: makes its file, with room for some definitions and records.
    pub fn start(
        host: &mut impl Host,
        job: &JobPage,
        who: &StreamIdentity,
    ) -> Result<Writer, UnrecordedCause> {
        let mut writer = Writer::idle();
        writer.start_in_place(host, job, who)?;
        Ok(writer)
    }

    /// The same for an idle writer, whose 3 KiB are then never on the stack: a
    /// thread's first call may be made on a signal stack of 8 KiB.
    pub fn start_in_place(
        &mut self,
        host: &mut impl Host,
        job: &JobPage,
        who: &StreamIdentity,
    ) -> Result<(), UnrecordedCause> {
        let name = StreamName::new(who);
        room::charge(job, FIRST_BYTES).inspect_err(|_| self.wake(host, job))?;
        let base = match host.create(&name, FIRST_BYTES) {
            Ok(base) => base,
            Err(cause) => {
                room::give_back(job, FIRST_BYTES);
                self.wake(host, job);
                return Err(cause);
            }
        };
        let header = base.cast::<StreamHeader>().as_ptr();
        // SAFETY: the host has mapped FIRST_BYTES, more than a header, and nobody
        // else writes to them.
        unsafe {
            (&raw mut (*header).pid).write(who.pid);
            (&raw mut (*header).tid).write(who.tid);
            (&raw mut (*header).parent_pid).write(who.parent_pid);
            (&raw mut (*header).rank).write(who.rank);
            (&raw mut (*header).world_size).write(who.world_size);
            (&raw mut (*header).process_start_ns).write(who.process_start_ns);
            (&raw mut (*header).process_start_realtime_ns).write(who.process_start_realtime_ns);
            (&raw mut (*header).begin_ns).write(who.now_ns);
        }
        self.name = name;
        *self.header.get_mut() = header;
        *self.file_bytes.get_mut() = FIRST_BYTES as u64;
        self.note_charged(FIRST_BYTES);
        // SAFETY: both places lie in the FIRST_BYTES that the host has mapped.
        let (definitions, records) = unsafe { (base.add(PAGE), base.add(2 * PAGE)) };
        self.add_segment(SegmentKind::Definitions, definitions, PAGE as u64, PAGE, 0);
        let records_at = 2 * PAGE as u64;
        let records_bytes = FIRST_BYTES - 2 * PAGE;
        if let Some(place) =
            self.add_segment(SegmentKind::Records, records, records_at, records_bytes, 0)
        {
            self.current.store(place, Relaxed);
        }
        // SAFETY: as above; these are atomics, which the reader may be looking at.
        unsafe {
            (*header).version.store(VERSION, Relaxed);
            (*header).magic.store(STREAM_MAGIC, Release);
        }
        job.n_streams.fetch_add(1, Release);
        // The reader finds new streams on its own, many at a time: waking it for each
        // of a thousand short processes would cost more than all their records. It has
        // to hurry only when room gets short, to release those that have ended.
        if room::is_short(job) {
            self.wake(host, job);
        }
        Ok(())
    }

    /// Name of the stream's file.
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    /// Records a call, or counts why it could not be recorded.
    #[inline]
    pub fn append(&self, host: &mut impl Host, job: &JobPage, call: &Call) {
        let Some(segment) = self.segments.get(self.current.load(Relaxed)) else { return };
        // Nothing is reserved before there is room, so that a full spool does not
        // use numbers up.
        if !segment.holds(self.next.load(Relaxed)) {
            return self.append_elsewhere(host, job, call, None);
        }
        let number = self.take_number();
        if !segment.write(number, call) {
            return self.append_elsewhere(host, job, call, Some(number));
        }
        let mask = self.wake_mask.load(Relaxed);
        if number & mask == mask || self.is_acted_on() {
            self.wake(host, job);
        }
    }

    /// Takes the number of the next record. Only this thread and its signal handlers
    /// do, and handlers come between two instructions: on x86-64 one without `lock` is
    /// atomic enough, and does not wait for the stores before it.
    #[inline]
    fn take_number(&self) -> u64 {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let mut number = 1_u64;
            // SAFETY: adds to a word that lives as long as the writer.
            unsafe {
                core::arch::asm!(
                    "xadd qword ptr [{next}], {number}",
                    next = in(reg) self.next.as_ptr(),
                    number = inout(reg) number,
                    options(nostack),
                );
            }
            number
        }
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        self.next.fetch_add(1, Relaxed)
    }

    /// Whether each record wakes the reader.
    #[inline]
    fn is_acted_on(&self) -> bool {
        // SAFETY: the header is mapped as long as the pointer is not null.
        let header = unsafe { self.header.load(Relaxed).as_ref() };
        header.is_some_and(|header| header.wakes_each.load(Relaxed) == 1)
    }

    /// Appends to another segment than the current one. `reserved` is a number
    /// that was in it when looked at; handlers have filled it in between.
    #[cold]
    #[inline(never)]
    fn append_elsewhere(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        call: &Call,
        reserved: Option<u64>,
    ) {
        // Without room most calls end here, at no system call.
        if reserved.is_none()
            && let Some(cause) = self.still_no_room()
        {
            return self.count_unrecorded(cause);
        }
        let appended = host.uninterrupted(|host| self.append_to_next(host, job, call, reserved));
        let Err(cause) = appended else { return };
        // The wait is outside: it may be long, and signals are the application's.
        let again = matches!(cause, UnrecordedCause::Limit | UnrecordedCause::NoRoom)
            && self.wait_for_reader(host, job)
            && host.uninterrupted(|host| self.append_to_next(host, job, call, None)).is_ok();
        if !again {
            self.count_unrecorded(cause);
        }
    }

    /// Appends after finding room, or gives a reserved number back.
    fn append_to_next(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        call: &Call,
        reserved: Option<u64>,
    ) -> Result<(), UnrecordedCause> {
        let write = |number| self.segments.iter().any(|segment| segment.write(number, call));
        if reserved.is_some_and(write) {
            return Ok(());
        }
        let opened = self.guarded(|| self.open_records(host, job));
        let number = match (opened, reserved) {
            (Ok(()), None) => Some(self.take_number()),
            _ => reserved,
        };
        if opened.is_ok() && number.is_some_and(write) {
            self.wake(host, job);
            return Ok(());
        }
        if let Some(number) = number {
            // Else a handler has reserved the next one, and the reader meets a hole.
            let _ = self.next.compare_exchange(number.wrapping_add(1), number, Relaxed, Relaxed);
        }
        opened.and(Err(UnrecordedCause::Interrupted))
    }

    /// Counts a call that is not recorded.
    pub fn count_unrecorded(&self, cause: UnrecordedCause) {
        // SAFETY: the header is mapped as long as the pointer is not null.
        if let Some(header) = unsafe { self.header.load(Relaxed).as_ref() }
            && let Some(count) = header.unrecorded.get(cause as usize)
        {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Stores since when the thread is inside a call; 0: it is not. It is just a store;
    /// readers look when they want to know.
    #[inline]
    pub fn set_inside_since(&self, since_ns: u64) {
        // SAFETY: the header is mapped as long as the pointer is not null.
        if let Some(header) = unsafe { self.header.load(Relaxed).as_ref() } {
            header.inside_since_ns.store(since_ns, Relaxed);
        }
    }

    /// Stores when the thread ended, before [`finish`](Writer::finish).
    pub fn note_end(&self, now_ns: u64) {
        // SAFETY: the header is mapped as long as the pointer is not null.
        if let Some(header) = unsafe { self.header.load(Relaxed).as_ref() } {
            header.end_ns.store(now_ns, Relaxed);
        }
    }

    /// Ends the stream properly and releases its mappings.
    pub fn finish(&self, host: &mut impl Host) {
        // SAFETY: the header is mapped as long as the pointer is not null.
        if let Some(header) = unsafe { self.header.load(Relaxed).as_ref() } {
            header.finished.store(1, Release);
        }
        self.release(host);
    }

    /// Releases the mappings without ending the stream: for a child process that has
    /// inherited them. What is appended afterwards goes nowhere.
    pub fn release(&self, host: &mut impl Host) {
        self.busy.store(true, Relaxed);
        self.header.store(ptr::null_mut(), Relaxed);
        // The first two segments lie in the first mapping.
        let n_segments = self.n_segments.swap(0, Relaxed);
        for (place, segment) in self.segments.iter().enumerate().take(n_segments) {
            match (place, segment.release()) {
                (0, Some((definitions, _))) => {
                    // SAFETY: the header's page lies before the first definitions.
                    host.unmap(unsafe { definitions.sub(PAGE) }, FIRST_BYTES);
                }
                (2.., Some((base, bytes))) => host.unmap(base, bytes),
                _ => {}
            }
        }
    }

    /// Makes the writer whole again after a signal handler has left by a jump from the
    /// middle of one of its methods. Call it only when none is running.
    pub fn repair(&self) {
        if !self.header.load(Relaxed).is_null() && self.busy.load(Relaxed) {
            self.find_ends();
            self.busy.store(false, Relaxed);
        }
    }

    /// Runs what must not run inside itself.
    fn guarded(
        &self,
        change: impl FnOnce() -> Result<(), UnrecordedCause>,
    ) -> Result<(), UnrecordedCause> {
        if self.busy.swap(true, Relaxed) {
            return Err(UnrecordedCause::Interrupted);
        }
        let changed = change();
        self.busy.store(false, Relaxed);
        changed
    }

    /// Wakes the reader if it sleeps.
    pub fn wake(&self, host: &mut impl Host, job: &JobPage) {
        if takes_over_waking(&job.sleeping.0) {
            host.wake(&job.sleeping.0);
        }
    }
}

#[cfg(test)]
mod tests;
