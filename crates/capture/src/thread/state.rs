// SPDX-License-Identifier: MIT OR Apache-2.0

//! The state of a thread that has recorded something: its stream and its walker.

//!
//! A [`ThreadState`] is shared by the thread and the signal handlers that interrupt
//! it, so references to it are never exclusive. What is in it is of three kinds:
//!
//! - single words, atomics: a handler finds the old or the new value;
//! - what is [`Guarded`]: exclusive to the code inside the reentrancy guard;
//! - the writer, whose methods tolerate interruptions and need only a shared reference,
//!   and the room for its paths: both are changed only with signals blocked, while the
//!   interrupted thread is not using them.

use core::cell::{Cell, UnsafeCell};
use core::ffi::c_void;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use ioracle_spool::layout::{DefinitionKind, JobPage, UnrecordedCause};
use ioracle_spool::{StreamIdentity, Writer};

use super::reentrancy_guard::is_void;
use super::{Begun, NestedLibrary, ThreadCell, cell, ending};
use crate::arch;
use crate::clock;
use crate::descriptors;
use crate::environment::{self, Text};
use crate::host::{Leaving, ProcessHost};
use crate::known_paths::{self, KnownPaths};
use crate::recorder::RECORDER;
use crate::spare_stack::{SpareStack, StackMemory};
use crate::stack::{self, Caller, Walker};
use crate::sys::{self, FileStatus};

/// Greatest depth of calls inside calls; deeper ones count as this deep.
const MAX_DEPTH: usize = 16;
/// Identities of files, and of objects, that this stream is known to have
/// defined; those beyond may be defined again.
const DEFINED: usize = 4096;
/// Bytes of the program's stack that are needed to record a thread's first call,
/// and to find a call's context, where most is done on the spare stack. The
/// program `stack_used` measures them.
const LEAST_ROOM: usize = if arch::SWITCHES_STACKS { 1408 } else { 5120 };
/// Bytes of it with which the spare stack is not needed to walk through new code.
const AMPLE_ROOM: usize = 4608;
/// Calls after which a stream that could not begin is tried again.
const RETRY_AFTER: u32 = 1024;

/// Bytes of the executable's path, and of its arguments, that are kept.
const MAX_EXECUTABLE: usize = 512;
const MAX_ARGUMENTS: usize = 1000;
/// Pieces of a longer command line: 128 KiB of it, if the system gives whole ones.
const MAX_COMMAND_PIECES: usize = 32;

/// What is mapped for a thread.
#[repr(C)]
pub(super) struct ThreadMemory {
    state: ThreadState,
    spare_stack: StackMemory,
}

/// Lives in zeroed memory of its own; only the writer and the spare stack are more
/// than plain data.
pub(crate) struct ThreadState {
    pub(super) generation: AtomicU32,
    writer: UnsafeCell<Option<Writer>>,
    /// Room for the path of a stream's file.
    host_path: UnsafeCell<Text>,
    /// Where the whole stream is mapped, if it was made in advance.
    spare: AtomicPtr<u8>,
    spare_stack: SpareStack,
    /// The thread's prediction slot, once it has asked.
    pub(super) slot: AtomicPtr<u8>,
    pub(super) has_asked: AtomicBool,
    /// What `libioracle.so` has learned about this thread, and the stack on which
    /// it does.
    pub(super) learned: AtomicPtr<c_void>,
    pub(super) own_stack: AtomicPtr<u8>,
    pub(super) is_on_own_stack: AtomicBool,
    pub(super) n_begun: AtomicU64,
    pub(super) n_rounds_of_destructors: AtomicU32,
    pub(super) depth: AtomicUsize,
    /// Stack pointer of the call that is being recorded; 0: none is.
    pub(super) recording_sp: AtomicUsize,
    /// Stack pointers of the outermost calls into libraries; 0: none is under way.
    outermost: [AtomicUsize; NestedLibrary::COUNT],
    guarded: UnsafeCell<Guarded>,
}

/// What is used only inside the reentrancy guard.
pub(crate) struct Guarded {
    /// Stack pointers of the calls under way, outermost first.
    under_way: [usize; MAX_DEPTH],
    defined_files: DefinedIds,
    /// Those that were defined with their size and device.
    defined_opened: DefinedIds,
    defined_objects: DefinedIds,
    pub(crate) known_paths: KnownPaths,
    /// Room for paths, which would be too much for an alternate signal stack.
    pub(crate) path: Text,
    pub(crate) resolved_path: Text,
    walker: Walker,
}

/// Identities that a stream is known to have defined: the last one of each place.
struct DefinedIds {
    /// Part of every word, so that changing it empties the table without touching it.
    epoch: u64,
    words: [u64; DEFINED],
}

impl DefinedIds {
    fn contains(&self, id: u64) -> bool {
        self.words.get(id as usize % DEFINED) == Some(&(id ^ self.epoch))
    }

    fn insert(&mut self, id: u64) {
        if let Some(word) = self.words.get_mut(id as usize % DEFINED) {
            *word = id ^ self.epoch;
        }
    }

    fn clear(&mut self) {
        self.epoch = stack::mix(self.epoch, 1);
    }
}

/// A thread's state inside the reentrancy guard.
pub(crate) struct GuardedState<'a> {
    state: &'a ThreadState,
    guarded: &'a mut Guarded,
}

impl Deref for GuardedState<'_> {
    type Target = Guarded;

    fn deref(&self) -> &Guarded {
        self.guarded
    }
}

impl DerefMut for GuardedState<'_> {
    fn deref_mut(&mut self) -> &mut Guarded {
        self.guarded
    }
}

impl ThreadState {
    /// Begins a call: finds its depth and its context.
    ///
    /// # Safety
    ///
    /// Inside the guard.
    #[inline]
    pub(super) unsafe fn begin(&self, caller: Caller, job: &JobPage) -> Begun {
        // SAFETY: the caller's promise, and nothing below comes here again.
        let guarded = unsafe { &mut *self.guarded.get() };
        let mut depth = self.depth.load(Relaxed);
        while let Some(last) = depth.checked_sub(1)
            && let Some(&sp) = guarded.under_way.get(last)
            && is_void(sp, caller.sp)
        {
            depth = last;
        }
        let recording_sp = self.recording_sp.load(Relaxed);
        if recording_sp != 0 && is_void(recording_sp, caller.sp) {
            self.recording_sp.store(0, Relaxed);
            self.repair_writer();
        }
        if let Some(place) = guarded.under_way.get_mut(depth) {
            *place = caller.sp;
            self.depth.store(depth + 1, Relaxed);
        }
        let began = Cell::new(self.next_begun());
        let walker = &mut guarded.walker;
        let context = match (walker.known_context(caller), self.writer()) {
            (Some(context), _) => context,
            (None, Some(writer)) => {
                new_context(walker, caller, &mut StreamDefiner { writer, host: self.host(), job })
            }
            (None, None) => 0,
        };
        if RECORDER.set_up().check_stacks {
            check_stack(walker, caller, context, job);
        }
        let (start_ns, part) = (Cell::new(0), Cell::new(0));
        let (state, generation) = (self.into(), self.generation.load(Relaxed));
        Begun { state, generation, sp: caller.sp, context, began, depth, start_ns, part }
    }

    /// Counts a call that begins; its number.
    #[inline]
    pub(super) fn next_begun(&self) -> u64 {
        let number = self.n_begun.load(Relaxed) + 1;
        self.n_begun.store(number, Relaxed);
        number
    }

    /// The thread's stream, if it has one.
    #[inline]
    pub(super) fn writer(&self) -> Option<&Writer> {
        // SAFETY: it is changed only where nobody holds such a reference, see the module.
        unsafe { &*self.writer.get() }.as_ref()
    }

    /// What the writer asks of the process.
    #[inline]
    pub(super) fn host(&self) -> ProcessHost {
        let path = NonNull::from(&self.host_path).cast();
        let spare = NonNull::from(&self.spare);
        ProcessHost { spare_stack: self.spare_stack, path, spare }
    }

    /// Where the outermost call of a library was made.
    #[inline]
    pub(super) fn outermost(&self, library: NestedLibrary) -> &AtomicUsize {
        let [mpi, hdf5, netcdf, pnetcdf] = &self.outermost;
        match library {
            NestedLibrary::Mpi => mpi,
            NestedLibrary::Hdf5 => hdf5,
            NestedLibrary::NetCdf => netcdf,
            NestedLibrary::PnetCdf => pnetcdf,
        }
    }

    /// The whole state.
    ///
    /// # Safety
    ///
    /// Inside the guard, and once there.
    pub(super) unsafe fn guarded(&self) -> GuardedState<'_> {
        // SAFETY: the caller's promise.
        GuardedState { state: self, guarded: unsafe { &mut *self.guarded.get() } }
    }

    /// The stream was left in the middle of something, by longjmp.
    ///
    /// # Safety
    ///
    /// Nobody is inside the guard any more.
    pub(super) unsafe fn recover(&self) {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.guarded.get() }.walker.forget_code();
        self.repair_writer();
    }

    fn repair_writer(&self) {
        if let Some(writer) = self.writer() {
            writer.repair();
        }
    }

    /// Ends the stream in order.
    pub(super) fn end_stream(&self) {
        self.release_slot();
        self.release_learned();
        if let Some(writer) = self.writer()
            && self.generation.load(Relaxed) == RECORDER.generation()
        {
            writer.note_end(clock::now_ns());
            writer.finish(&mut self.host());
        }
    }
}

impl GuardedState<'_> {
    /// Defines, once per stream, that `path` has this identity; true if the reader
    /// can know it. Once more when the file is open and was defined by its path alone.
    pub(crate) fn define_file(&mut self, id: u64, opened: Option<&FileStatus>) -> bool {
        let Guarded { defined_files, defined_opened, path, .. } = &mut *self.guarded;
        let opened = opened.filter(|_| !defined_opened.contains(id));
        if defined_files.contains(id) && opened.is_none() {
            return true;
        }
        let n_name = path.bytes().len();
        // After the path, in the same buffer, so that no stack is needed.
        if let Some(FileStatus { size, device, .. }) = opened {
            path.push(b"\0");
            path.push(&size.to_ne_bytes());
            path.push(&device.to_ne_bytes());
        }
        let is_defined = define(self.state, DefinitionKind::File, id, path.bytes(), n_name);
        if is_defined {
            defined_files.insert(id);
        }
        if is_defined && opened.is_some() {
            defined_opened.insert(id);
        }
        is_defined
    }

    /// The same for an object's text.
    pub(crate) fn define_object(&mut self, id: u64, text: &[u8]) {
        let defined = &mut self.guarded.defined_objects;
        if !defined.contains(id) && define(self.state, DefinitionKind::Object, id, text, text.len())
        {
            defined.insert(id);
        }
    }

    /// Does something on the thread's spare stack, with signals blocked. Not inlined,
    /// so that it takes no stack if the thread has no state.
    #[inline(never)]
    pub(crate) fn on_spare_stack<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let spare_stack = self.state.spare_stack;
        // SAFETY: inside the guard, on the thread that the stack belongs to, and nobody
        // looks into the stack's memory.
        unsafe { spare_stack.run(|| work(self)) }
    }

    /// Makes room while that is possible.
    pub(crate) fn reserve_room(&mut self) {
        if let (Some(writer), Some(job)) = (self.state.writer(), RECORDER.job()) {
            writer.reserve(&mut self.state.host(), job);
        }
    }

    /// Defines the rank of this process; false if there was no room for it.
    pub(crate) fn define_rank(&mut self, rank: u32, size: u32) -> bool {
        let (Some(writer), Some(job)) = (self.state.writer(), RECORDER.job()) else { return false };
        let payload: [&[u8]; 2] = [&rank.to_ne_bytes(), &size.to_ne_bytes()];
        writer.define(&mut self.state.host(), job, DefinitionKind::Rank, 0, &payload)
    }

    /// Begins the stream of this generation.
    ///
    /// # Safety
    ///
    /// With signals held back, and no call of the thread under way that uses the
    /// writer.
    unsafe fn begin_stream(&mut self, job: &JobPage) -> Result<(), UnrecordedCause> {
        let state = self.state;
        // SAFETY: the caller's promise.
        let place = unsafe { &mut *state.writer.get() };
        if let Some(writer) = place
            && state.generation.load(Relaxed) != RECORDER.generation()
        {
            // A forked child: the stream is the parent's.
            writer.release(&mut state.host());
        }
        let (process_start_ns, process_start_realtime_ns) = RECORDER.start_ns();
        let who = StreamIdentity {
            pid: sys::process_id(),
            tid: sys::thread_id(),
            parent_pid: sys::parent_id(),
            rank: RECORDER.set_up().rank,
            world_size: RECORDER.set_up().world_size,
            process_start_ns,
            process_start_realtime_ns,
            now_ns: clock::now_ns(),
        };
        // Fresh memory is zero, and is not written to before it is needed.
        let is_fresh = state.generation.swap(RECORDER.generation(), Relaxed) == 0;
        state.n_begun.store(0, Relaxed);
        state.depth.store(0, Relaxed);
        state.recording_sp.store(0, Relaxed);
        for outermost in &state.outermost {
            outermost.store(0, Relaxed);
        }
        if !is_fresh {
            self.guarded.defined_files.clear();
            self.guarded.defined_opened.clear();
            self.guarded.defined_objects.clear();
            known_paths::forget_all();
            self.guarded.walker.forget_definitions();
        }
        // A constant, so that it is copied to its place without a stop on the stack.
        *place = const { Some(Writer::idle()) };
        let Some(writer) = place else { return Ok(()) };
        let started = writer.start_in_place(&mut state.host(), job, &who);
        match started {
            Ok(()) => self.define_process(job),
            Err(_) => *place = None,
        }
        started
    }

    fn define_process(&mut self, job: &JobPage) {
        // Before the process itself, so that its name is known by then.
        let application = RECORDER.set_up().application.bytes();
        if let Some(writer) = self.state.writer()
            && !application.is_empty()
        {
            let host = &mut self.state.host();
            writer.define(host, job, DefinitionKind::Application, 0, &[application]);
        }
        // The path of a file is found out after this, so its room is free.
        let Guarded { path, walker, .. } = &mut *self.guarded;
        let mut is_cut = false;
        path.fill(|buffer| {
            let (executable, arguments) = buffer.split_at_mut(MAX_EXECUTABLE);
            let mut n_executable = sys::read_link(c"/proc/self/exe", executable)?.len();
            if n_executable < MAX_EXECUTABLE {
                walker.set_program(executable.get(..n_executable).unwrap_or_default());
            }
            let arguments = arguments.get_mut(..MAX_ARGUMENTS).unwrap_or_default();
            // Arguments are paths mostly.
            let hidden = RECORDER.set_up().anonymise;
            if hidden {
                let n_name = file_name(executable.get(..n_executable).unwrap_or_default()).len();
                executable.copy_within(n_executable - n_name..n_executable, 0);
                n_executable = n_name;
            }
            let n_arguments = if hidden { 0 } else { environment::command_line(arguments) };
            is_cut = n_arguments == MAX_ARGUMENTS;
            let end = MAX_EXECUTABLE + n_arguments;
            buffer.copy_within(MAX_EXECUTABLE..end, n_executable + 1);
            // A forked child has what its parent left in the room.
            if let Some(mark) = buffer.get_mut(n_executable) {
                *mark = 0;
            }
            Ok::<_, sys::Errno>(n_executable + 1 + n_arguments)
        });
        let Some(writer) = self.state.writer() else { return };
        let host = &mut self.state.host();
        writer.define(host, job, DefinitionKind::Process, 0, &[path.bytes()]);
        if is_cut && RECORDER.records_command() {
            let _ = sys::with_file(c"/proc/self/cmdline", libc::O_RDONLY, 0, |file| {
                define_arguments(file, path, |at, piece| {
                    writer.define(host, job, DefinitionKind::Arguments, at, &[piece])
                });
            });
        }
    }
}

/// Hands over the remaining arguments, piece by piece, each with its place among all of
/// them.
fn define_arguments(
    file: &sys::Descriptor,
    room: &mut Text,
    mut define: impl FnMut(u64, &[u8]) -> bool,
) {
    let mut at = 0;
    // A piece for each look, of about the room's length.
    for _ in 0..MAX_COMMAND_PIECES {
        room.fill(|buffer| sys::read(file, buffer));
        let piece = room.bytes();
        let known = MAX_ARGUMENTS.saturating_sub(at).min(piece.len());
        let news = piece.get(known..).unwrap_or_default();
        let is_told = news.is_empty() || define((at + known) as u64, news);
        at += piece.len();
        if piece.is_empty() || !is_told {
            return;
        }
    }
}

/// Defines a text, of which the first `n_name` bytes are the name that is hidden where
/// that is asked for. On the spare stack: a first open needs the most stack here, and
/// it happens only once per file and stream.
#[cold]
#[inline(never)]
fn define(state: &ThreadState, kind: DefinitionKind, id: u64, text: &[u8], n_name: usize) -> bool {
    let (Some(writer), Some(job)) = (state.writer(), RECORDER.job()) else { return false };
    let define = || {
        if RECORDER.set_up().anonymise {
            let name = Hexadecimal::of(id);
            let more = text.get(n_name..).unwrap_or_default();
            let payload: [&[u8]; 3] = [b"anonymous-", &name.0, more];
            return writer.define(&mut state.host(), job, kind, id, &payload);
        }
        writer.define(&mut state.host(), job, kind, id, &[text])
    };
    // SAFETY: inside the guard, on the thread that the stack belongs to, and nobody
    // looks into the stack's memory.
    unsafe { state.spare_stack.run(define) }
}

/// This thread's state, made if need be. Call it inside the guard.
#[inline]
pub(super) fn current_state<'a>(cell: &'a ThreadCell, job: &JobPage) -> Option<&'a ThreadState> {
    if let Some(state) = cell.state()
        && state.generation.load(Relaxed) == RECORDER.generation()
        && state.writer().is_some()
    {
        return Some(state);
    }
    begin_state(cell, job)
}

#[cold]
fn begin_state<'a>(cell: &'a ThreadCell, job: &JobPage) -> Option<&'a ThreadState> {
    // A forked child may begin only now, in the middle of a call that its parent began.
    if !RECORDER.is_on() {
        return None;
    }
    let patience = cell.patience.load(Relaxed);
    let told_in = cell.told_in.load(Relaxed);
    let was_reported = told_in != 0 && told_in == RECORDER.generation();
    // A forked child may succeed where its parent failed.
    if patience > 0 && was_reported {
        cell.patience.store(patience - 1, Relaxed);
        return None;
    }
    let here = 0_u8;
    let here = &raw const here as usize;
    if !sys::has_room_below(here, LEAST_ROOM) {
        cell.refused.store(UnrecordedCause::LittleStack as usize, Relaxed);
        return None;
    }
    let state = match cell.state() {
        Some(state) if !state.is_interrupted(here) => state,
        _ => match new_state() {
            Some(state) => {
                cell.state.store(state.as_ptr(), Relaxed);
                // SAFETY: just made, and it lives until the thread ends.
                unsafe { state.as_ref() }
            }
            None => return refuse(cell, job, UnrecordedCause::NoRoom),
        },
    };
    ending::watch(state.into());
    state.release_slot();
    state.release_learned();
    // SAFETY: inside the guard. The stack is this thread's own, and nobody looks into
    // its memory; signals are held back there, and no call uses the writer: none is
    // interrupted.
    match unsafe { state.spare_stack.run(|| state.guarded().begin_stream(job)) } {
        Ok(()) => {
            RECORDER.report_recorded(job, was_reported);
            cell.told_in.store(0, Relaxed);
            descriptors::forget_undefined();
            Some(state)
        }
        Err(cause) => refuse(cell, job, cause),
    }
}

fn new_state() -> Option<NonNull<ThreadState>> {
    ending::give_back_abandoned();
    let memory: NonNull<ThreadMemory> = sys::map_anonymous(size_of::<ThreadMemory>()).ok()?.cast();
    // The memory is zeroed: all is plain data but the writer and the stack.
    // SAFETY: fresh memory of the right size and alignment.
    unsafe {
        let memory = memory.as_ptr();
        let stack = NonNull::new_unchecked(&raw mut (*memory).spare_stack);
        (&raw mut (*memory).state.writer).write(UnsafeCell::new(None));
        (&raw mut (*memory).state.spare_stack).write(SpareStack::new(stack));
        NonNull::new(&raw mut (*memory).state)
    }
}

impl ThreadState {
    /// Whether a call is in the middle of writing a record, interrupted by the handler
    /// that has come here: the call must find the writer unchanged.
    fn is_interrupted(&self, sp: usize) -> bool {
        let recording_sp = self.recording_sp.load(Relaxed);
        recording_sp != 0 && !is_void(recording_sp, sp)
    }
}

/// In a child that libc has just forked. Where a handler forked in the middle of
/// writing a record, the parent writes it, and the child must not write it to the
/// parent's stream, where other records may be by then.
pub(crate) fn leave_stream_of_parent() {
    if let Some(state) = cell().state()
        && state.recording_sp.load(Relaxed) != 0
        && let Some(writer) = state.writer()
    {
        sys::without_signals(|| writer.release(&mut Leaving));
    }
}

/// Finds a context by a walk, on the spare stack where little is left of the
/// program's; 0 for unknown where next to nothing is.
#[cold]
#[inline(never)]
fn new_context(walker: &mut Walker, caller: Caller, definer: &mut StreamDefiner<'_>) -> u64 {
    if walker.has_room(caller, AMPLE_ROOM) {
        return walker.new_context(caller, definer);
    }
    if !arch::SWITCHES_STACKS || !walker.has_room(caller, LEAST_ROOM) {
        return 0;
    }
    let spare_stack = definer.host.spare_stack;
    // SAFETY: this thread's own, and nobody looks into the stack's memory.
    unsafe { spare_stack.run(|| walker.new_context(caller, definer)) }
}

/// Remembers for a while why there is no stream, and reports it to the reader once.
#[cold]
#[inline(never)]
fn refuse<'a>(cell: &ThreadCell, job: &JobPage, cause: UnrecordedCause) -> Option<&'a ThreadState> {
    cell.refused.store(cause as usize, Relaxed);
    cell.patience.store(RETRY_AFTER, Relaxed);
    let generation = RECORDER.generation();
    if cell.told_in.swap(generation, Relaxed) != generation {
        RECORDER.report_unrecorded(job, cause);
    }
    None
}

/// Digits of an identity.
struct Hexadecimal([u8; 16]);

impl Hexadecimal {
    fn of(number: u64) -> Hexadecimal {
        let mut digits = [0; 16];
        for (place, digit) in digits.iter_mut().rev().enumerate() {
            let value = (number >> (4 * place) & 15) as u8;
            *digit = if value < 10 { b'0' + value } else { b'a' - 10 + value };
        }
        Hexadecimal(digits)
    }
}

/// A path without its directories.
fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// Writes what the walker finds out into the stream.
struct StreamDefiner<'a> {
    writer: &'a Writer,
    host: ProcessHost,
    job: &'a JobPage,
}

impl stack::ContextDefiner for StreamDefiner<'_> {
    fn module(&mut self, id: u64, build_id: &[u8], path: &[u8], load_address: u64) -> bool {
        let build_id = build_id.get(..build_id.len().min(255)).unwrap_or_default();
        let address = load_address.to_ne_bytes();
        let path = if RECORDER.set_up().anonymise { file_name(path) } else { path };
        let payload = [&[build_id.len() as u8], build_id, path, b"\0", &address];
        self.writer.define(&mut self.host, self.job, DefinitionKind::Module, id, &payload)
    }

    fn context(&mut self, id: u64, frames: &[stack::UnwoundFrame]) -> bool {
        // SAFETY: frames are two numbers each, without padding.
        let payload = unsafe {
            core::slice::from_raw_parts(frames.as_ptr().cast::<u8>(), size_of_val(frames))
        };
        self.writer.define(&mut self.host, self.job, DefinitionKind::Context, id, &[payload])
    }
}

fn check_stack(walker: &mut Walker, caller: Caller, context: u64, job: &JobPage) {
    job.n_stacks_checked.fetch_add(1, Relaxed);
    if !stack::agrees_with_backtrace(walker, caller, context) {
        job.n_stacks_different.fetch_add(1, Relaxed);
    }
}
