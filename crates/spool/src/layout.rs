// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bytes of a spool. `docs/spool.md` draws them.
//!
//! A job directory holds the file [`JOB_FILE`], made by the reader, and one
//! file per thread, made by the application. All numbers are in the machine's
//! own byte order: a spool never leaves its machine. What one side writes while
//! the other looks is atomic; what is written before it is published is not.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// First bytes of a job file.
pub const JOB_MAGIC: u64 = u64::from_ne_bytes(*b"ioraJOB\0");
/// First bytes of a stream file.
pub const STREAM_MAGIC: u64 = u64::from_ne_bytes(*b"ioraSTRM");
/// Changes with every change of the layout; both sides must agree.
pub const VERSION: u32 = 8;

/// Name of the job file in its directory.
pub const JOB_FILE: &str = "job";
/// Name of the file in which `ioracle run` reports how the job is doing.
pub const STATUS_FILE: &str = "status";
/// Name of the file through which a process that has joined a job gets its requests.
pub const REQUESTS_FILE: &str = "requests";
/// How names of stream files end.
pub const STREAM_SUFFIX: &str = ".stream";
/// How names of streams end that were made in advance, for threads that cannot make one
/// when they need it: `<pid>-<n>-<ns>.spare`.
pub const SPARE_SUFFIX: &str = ".spare";
/// Bytes of such a file, all of them allocated.
pub const SPARE_BYTES: usize = 64 * 1024;

/// Bytes of a job file, of the header of a stream file, and the granularity of
/// segments.
pub const PAGE: usize = 4096;
/// Bytes that the first allocation of a stream takes: header, definitions, records.
pub const FIRST_BYTES: usize = 16 * 1024;
/// Segments of a stream, of both kinds.
pub const MAX_SEGMENTS: usize = 96;
/// Largest segment. How large those of a job get depends on its limit, so that the
/// table has room for all that the limit allows a single thread.
pub const MAX_SEGMENT_BYTES: usize = 64 * 1024 * 1024;

/// Longest payload of a definition.
pub const MAX_DEFINITION_BYTES: usize = 64 * 1024;

/// Why a call was not recorded; the place of its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum UnrecordedCause {
    /// No room on the file system, or a limit of the process forbids it.
    NoRoom,
    /// The job's space limit is reached and the reader is behind.
    Limit,
    /// The stream's file could not be made (directory gone, unwritable, no descriptor).
    NoFile,
    /// The call was made by a signal handler that interrupted the recorder.
    Interrupted,
    /// The call was made in a child that borrows its parent's memory (vfork).
    Borrowed,
    /// The process has entered a sandbox in which our system calls could end it.
    Sandboxed,
    /// Little of the stack was left where the thread made its first call.
    LittleStack,
}

impl UnrecordedCause {
    /// Number of causes.
    pub const COUNT: usize = 7;
    /// All causes, in the order of their counts.
    pub const ALL: [UnrecordedCause; UnrecordedCause::COUNT] = [
        UnrecordedCause::NoRoom,
        UnrecordedCause::Limit,
        UnrecordedCause::NoFile,
        UnrecordedCause::Interrupted,
        UnrecordedCause::Borrowed,
        UnrecordedCause::Sandboxed,
        UnrecordedCause::LittleStack,
    ];
}

/// What the processes of a job and its reader share.
#[repr(C, align(64))]
pub struct JobPage {
    /// [`JOB_MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// 1 while records are wanted, 0 once the reader has left.
    pub open: AtomicU32,
    /// Process that reads, 0 for none.
    pub reader_pid: AtomicU32,
    /// What a writer does at the limit: 0 counts and goes on; otherwise the longest
    /// wait for a living reader, in milliseconds.
    pub wait_ms: AtomicU32,
    /// Bytes that all streams together may take.
    pub limit_bytes: AtomicU64,
    /// Bytes that streams have taken so far.
    pub taken_bytes: AtomicU64,
    /// Bytes that finished streams have given back; stored by the reader.
    pub returned_bytes: AtomicU64,

    /// Futex. 1 while the reader sleeps; a writer that has filled a batch sets it to 0
    /// and wakes the reader. Alone in its cache line: every thread reads it once per
    /// batch.
    pub sleeping: Aligned<AtomicU32>,

    /// Images that loaded the library (an exec counts again).
    pub n_processes: AtomicU64,
    /// Streams begun; the reader looks into the directory when it changes.
    pub n_streams: AtomicU64,
    /// Calls not recorded, of threads that have no stream to count in.
    pub unrecorded: [AtomicU64; UnrecordedCause::COUNT],
    /// Requests given to io_uring; they are seen, not recorded.
    pub n_io_uring: AtomicU64,
    /// Stacks compared with `backtrace()`, when that was asked for.
    pub n_stacks_checked: AtomicU64,
    /// Stacks among them that differed.
    pub n_stacks_different: AtomicU64,
    /// Threads that have made a [slot](crate::slot), to learn what comes next;
    /// the reader looks into the directory when it changes.
    pub n_asking: AtomicU64,
    /// Threads that are not learned in their process any more, for want of room
    /// or after a fault.
    pub n_given_up: AtomicU64,
    /// Threads none of whose calls could be recorded.
    pub n_unrecorded_threads: AtomicU64,
    /// Processes that have such threads and no other.
    pub n_unrecorded_processes: AtomicU64,
    /// The names of the first of them. They are here because where there is no room for
    /// records there may be none for anything.
    pub unrecorded_processes: [UnrecordedProcessEntry; MAX_NAMED],
}

/// Processes whose names the job page has room for.
pub const MAX_NAMED: usize = 32;

/// A process of which no call could be recorded.
#[repr(C)]
pub struct UnrecordedProcessEntry {
    /// Its process number; 0: the row is free.
    pub pid: AtomicU32,
    /// Why, as a number of [`UnrecordedCause::ALL`].
    pub cause: AtomicU32,
    /// The name of its program, zeros behind it, cut off where it is longer.
    pub name: [AtomicU64; 3],
}

/// A value alone in its cache line.
#[repr(C, align(64))]
pub struct Aligned<T>(pub T);

/// The first page of a stream file.
#[repr(C, align(64))]
pub struct StreamHeader {
    /// [`STREAM_MAGIC`], stored last.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// 1 once the thread has ended in order.
    pub finished: AtomicU32,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Parent process.
    pub parent_pid: u32,
    /// Rank set by the launcher's environment, -1 for none.
    pub rank: i32,
    /// Ranks of the launcher's job, 0 if unknown.
    pub world_size: u32,
    /// Entries of `segments` in use.
    pub n_segments: AtomicU32,
    /// When the process image began, CLOCK_MONOTONIC.
    pub process_start_ns: u64,
    /// The same instant, CLOCK_REALTIME.
    pub process_start_realtime_ns: u64,
    /// Calls of this thread that were not recorded, by cause.
    pub unrecorded: [AtomicU64; UnrecordedCause::COUNT],
    /// Where the segments lie.
    pub segments: [SegmentEntry; MAX_SEGMENTS],
    /// Bytes of this stream in [`JobPage::taken_bytes`], which the reader gives
    /// back: more than the file has, if its process was killed while adding to it.
    pub charged_bytes: AtomicU64,
    /// When the stream began, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// The PID namespace of the process, as the number of its file in /proc; set where
    /// a stream is made in advance, 0 otherwise.
    pub pid_namespace: AtomicU64,
    /// Since when the thread is inside a recorded call, CLOCK_MONOTONIC; 0: it is not.
    /// For nested calls, the outermost. A call that was left by a jump seems to last
    /// until the next one begins.
    pub inside_since_ns: AtomicU64,
    /// 1: each record wakes the reader, because someone acts on this stream; stored by
    /// the reader.
    pub wakes_each: AtomicU32,
    /// When the thread ended in order, CLOCK_MONOTONIC; 0 before.
    pub end_ns: AtomicU64,
}

/// What a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SegmentKind {
    /// [`Record`]s; recycled once the reader has consumed them.
    Records = 1,
    /// Definitions; never recycled, so that a job can be recovered without the
    /// reader that had seen them.
    Definitions = 2,
}

/// A row of the segment table.
#[repr(C)]
pub struct SegmentEntry {
    /// Place in the file.
    pub offset: u64,
    /// Length.
    pub bytes: u32,
    /// A [`SegmentKind`].
    pub kind: u32,
    /// For records: number of the first record that lies here now. Recycling
    /// raises it.
    pub first: AtomicU64,
    /// For records: stored by the reader, the number after the last one it has
    /// consumed of this segment. The writer takes the segment again when it is
    /// the number after the segment's last.
    pub consumed: AtomicU64,
}

/// One finished call. Records of a stream are numbered from 0; the one with
/// number `n` is published by storing `n + 1` last.
#[repr(C)]
pub struct Record {
    /// Number of the record plus one; anything else: not (yet) published.
    pub published: AtomicU64,
    /// What is recorded.
    pub call: Call,
}

/// What a record says about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Call {
    /// Identity of the call stack, defined by a [`DefinitionKind::Context`]; 0 unknown.
    pub context: u64,
    /// Identity of the path, defined by a [`DefinitionKind::File`]; 0 unknown.
    pub file: u64,
    /// Identity of an object ([`DefinitionKind::Object`]); 0 none.
    pub object: u64,
    /// Byte position at which the access starts; -1 none or unknown. For seeks
    /// the position before.
    pub offset: i64,
    /// Bytes requested; the new length for truncations.
    pub requested: u64,
    /// Bytes moved, new position, descriptor, or below 0 for failure.
    pub result: i64,
    /// CLOCK_MONOTONIC before the real call.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC after it.
    pub end_ns: u64,
    /// Number of this call among those that the thread began; an enclosing call
    /// is recorded after the calls inside it, and has a smaller one.
    pub began: u64,
    /// Descriptor, -1 for none.
    pub handle: i32,
    /// Open flags; SEEK_SET, SEEK_CUR, SEEK_END; for stdio opens the first four
    /// characters of the mode; for mappings the protection and [`SHARED_MAPPING`].
    pub detail: u32,
    /// A [`crate::Function`], or [`CONTINUATION`](crate::selection::CONTINUATION).
    pub function: u16,
    /// Recorded calls of the thread that enclose this one.
    pub depth: u8,
    /// Room for later; 0.
    pub reserved: u8,
    /// Parts of the same call that were recorded before this one: 0 for a call of
    /// one record, and for the first of several.
    pub part: u32,
}

impl Call {
    /// Bytes of one.
    pub const N_BYTES: usize = size_of::<Call>();

    /// The numbers as they lie in memory.
    pub fn as_bytes(&self) -> &[u8; Call::N_BYTES] {
        // SAFETY: a call is numbers only, without room between them.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// The call that has these bytes.
    pub fn from_bytes(bytes: &[u8; Call::N_BYTES]) -> Call {
        // SAFETY: a call is numbers only, and that many bytes are there.
        unsafe { bytes.as_ptr().cast::<Call>().read_unaligned() }
    }
}

/// Added to the protection of a mapping: what is written to it goes to the file.
pub const SHARED_MAPPING: u32 = 1 << 8;

/// What a definition gives a name to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DefinitionKind {
    /// Payload: path of the executable, a zero byte, then the arguments, each
    /// ended by a zero byte (cut off at 1000 bytes). Identity 0.
    Process = 1,
    /// A module of the process: length of the build-id (one byte), the build-id, the
    /// path, a zero byte, where it is loaded (8 bytes).
    Module = 2,
    /// A call stack, innermost first: pairs of module identity and offset of
    /// the return address from the module's load address, 8 bytes each. Module
    /// 0: code outside any module.
    Context = 3,
    /// A path. Where the file was open: behind a zero byte its size and the number
    /// of its device, 8 bytes each.
    File = 4,
    /// Name of an object (a dataset, a variable) in its file; behind a zero byte,
    /// if there is one, what else is recorded when it is opened.
    Object = 5,
    /// Payload: rank of the process and number of ranks, 4 bytes each, as MPI
    /// itself reports them where the launcher's environment did not. Identity 0.
    Rank = 6,
    /// More of the arguments of the process; the identity is the place of its first
    /// byte among all of them.
    Arguments = 7,
    /// Variables of the environment that name the application, `NAME=value`, each
    /// ended by a zero byte. Identity 0.
    Application = 8,
}

impl TryFrom<u32> for DefinitionKind {
    type Error = u32;

    fn try_from(number: u32) -> Result<DefinitionKind, u32> {
        match number {
            1 => Ok(DefinitionKind::Process),
            2 => Ok(DefinitionKind::Module),
            3 => Ok(DefinitionKind::Context),
            4 => Ok(DefinitionKind::File),
            5 => Ok(DefinitionKind::Object),
            6 => Ok(DefinitionKind::Rank),
            7 => Ok(DefinitionKind::Arguments),
            8 => Ok(DefinitionKind::Application),
            _ => Err(number),
        }
    }
}

/// Stands before the payload of a definition; definitions begin at multiples of 8.
#[repr(C)]
pub struct DefinitionHeader {
    /// Bytes of the payload plus one, stored last; 0: not (yet) published.
    pub published: AtomicU32,
    /// A [`DefinitionKind`].
    pub kind: u32,
    /// Identity that records and other definitions use. The same thing has the
    /// same identity in every process and run, and may be defined many times.
    pub id: u64,
}

/// What `docs/spool.md` draws.
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<JobPage>() <= PAGE);
    assert!(offset_of!(JobPage, reader_pid) == 16);
    assert!(offset_of!(JobPage, limit_bytes) == 24);
    assert!(offset_of!(JobPage, returned_bytes) == 40);
    assert!(offset_of!(JobPage, sleeping) == 64);
    assert!(offset_of!(JobPage, n_processes) == 128);
    assert!(offset_of!(JobPage, unrecorded) == 144);
    assert!(offset_of!(JobPage, n_io_uring) == 200);
    assert!(offset_of!(JobPage, n_asking) == 224);
    assert!(offset_of!(JobPage, n_given_up) == 232);
    assert!(offset_of!(JobPage, n_unrecorded_threads) == 240);
    assert!(offset_of!(JobPage, unrecorded_processes) == 256);
    assert!(size_of::<UnrecordedProcessEntry>() == 32);
    assert!(offset_of!(StreamHeader, pid) == 16);
    assert!(offset_of!(StreamHeader, n_segments) == 36);
    assert!(offset_of!(StreamHeader, unrecorded) == 56);
    assert!(offset_of!(StreamHeader, segments) == 112);
    assert!(offset_of!(StreamHeader, charged_bytes) == 3184);
    assert!(offset_of!(StreamHeader, begin_ns) == 3192);
    assert!(offset_of!(StreamHeader, pid_namespace) == 3200);
    assert!(offset_of!(StreamHeader, inside_since_ns) == 3208);
    assert!(offset_of!(StreamHeader, wakes_each) == 3216);
    assert!(offset_of!(StreamHeader, end_ns) == 3224);
    assert!(size_of::<StreamHeader>() <= PAGE);
    assert!(size_of::<SegmentEntry>() == 32);
    assert!(size_of::<Record>() == 96);
    assert!(
        size_of::<Call>() == 9 * 8 + 4 + 4 + 2 + 1 + 1 + 4,
        "there is no room between its numbers"
    );
    assert!(offset_of!(Call, handle) == 72);
    assert!(offset_of!(Call, function) == 80);
    assert!(offset_of!(Call, part) == 84);
    assert!(size_of::<DefinitionHeader>() == 16);
};
