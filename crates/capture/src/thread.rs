// SPDX-License-Identifier: MIT OR Apache-2.0

//! What belongs to one thread: its stream, its walker, its calls under way.
//!
//! Two kinds of interruption must be survived. A signal handler may make calls
//! while the recorder is at work on the same thread: what cannot be entered
//! twice is guarded by `busy_sp`, and the interrupting call does without it. And
//! a handler may leave with `longjmp`, so that what was begun never ends: guard
//! and calls under way remember the stack pointer they were made at, and are
//! void once the stack is shorter than that.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use ioracle_spool::layout::{Call, DefinitionKind, JobPage, Unrecorded};
use ioracle_spool::{Identity, Writer};

use crate::arch;
use crate::clock;
use crate::environment::Text;
use crate::host::ProcessHost;
use crate::recorder::RECORDER;
use crate::stack::{self, Caller, Walker};
use crate::sys;

/// The thread-local words of ours; `variadic.c` reserves them, entry code
/// stores the first two. All zero in a new thread.
#[repr(C)]
pub(crate) struct ThreadCell {
    /// Stack pointer at the entry of the intercepted function: where its
    /// return address lies.
    pub(crate) caller_sp: usize,
    /// Frame pointer there.
    caller_fp: usize,
    state: *mut ThreadState,
    /// Where the section that cannot be entered twice was entered; 0: it is free.
    busy_sp: usize,
    /// Thread that made a child which borrows this thread's memory (vfork);
    /// 0: none.
    lender: u32,
    /// The child and this thread go on side by side.
    lent_forever: bool,
    /// Calls to wait before the next attempt to begin a stream that could not begun.
    patience: u32,
}

/// Calls inside calls whose depth is told apart; deeper ones count as this deep.
const MAX_DEPTH: usize = 16;
/// Identities of files that this stream has defined.
const DEFINED_FILES: usize = 256;
/// Calls after which a stream that could not begin is tried again.
const RETRY_AFTER: u32 = 1024;

/// Bytes of the executable's path, and of its arguments, that are kept.
const MAX_EXECUTABLE: usize = 512;
const MAX_ARGUMENTS: usize = 1000;

/// Lives in zeroed memory of its own; only `writer` is more than plain data.
pub(crate) struct ThreadState {
    generation: u32,
    writer: Option<Writer>,
    n_begun: u64,
    n_rounds_of_destructors: u32,
    depth: usize,
    /// Stack pointer of the call that is being recorded; 0: none is.
    recording_sp: usize,
    /// Stack pointers of the calls under way, outermost first.
    under_way: [usize; MAX_DEPTH],
    defined_files: [u64; DEFINED_FILES],
    /// Room for paths, which would be too much for an alternate signal stack.
    pub(crate) path: Text,
    host: ProcessHost,
    walker: Walker,
}

/// A call that has begun.
pub(crate) struct Begun {
    state: NonNull<ThreadState>,
    sp: usize,
    context: u64,
    began: u64,
    depth: usize,
    start_ns: u64,
}

/// Begins a call on this thread; None if it cannot be recorded.
#[inline]
pub(crate) fn begin() -> Option<Begun> {
    // SAFETY: the cell is this thread's own, and no reference to it is held.
    let cell = unsafe { &mut *arch::thread_cell() };
    let caller = Caller { sp: cell.caller_sp, fp: cell.caller_fp };
    let job = RECORDER.job()?;
    if !is_caller_of_this(caller.sp) {
        return begin_interrupting(cell.state, caller);
    }
    let Some(guard) = Guard::enter(caller.sp) else {
        return begin_interrupting(cell.state, caller);
    };
    let mut state = NonNull::new(current_state(cell, job)?)?;
    // SAFETY: the guard keeps interrupting calls away from this thread's state.
    let begun = unsafe { state.as_mut() }.begin(caller, job);
    drop(guard);
    Some(Begun { start_ns: clock::now_ns(), ..begun })
}

/// Whether a stack pointer can be that of our caller's: a handler that
/// interrupts between the entry, which stores it, and here, stores its own.
#[inline(always)]
fn is_caller_of_this(sp: usize) -> bool {
    const MAX_HOOK_FRAME: usize = 16 * 1024;
    let here = 0_u8;
    sp.wrapping_sub(&raw const here as usize) < MAX_HOOK_FRAME
}

/// A call whose context cannot be told: of a signal handler that interrupted
/// the recorder, or one that a handler interrupted at its very beginning.
#[cold]
fn begin_interrupting(state: *mut ThreadState, caller: Caller) -> Option<Begun> {
    let state = NonNull::new(state)?;
    // SAFETY: only plain counters of the state are touched, which the
    // interrupted section leaves consistent at every instruction.
    let (generation, n_begun, depth) = unsafe {
        let state = state.as_ptr();
        (*state).n_begun += 1;
        ((*state).generation, (*state).n_begun, (*state).depth)
    };
    if generation != RECORDER.generation() {
        RECORDER.count(Unrecorded::Interrupted);
        return None;
    }
    let start_ns = clock::now_ns();
    Some(Begun { state, sp: caller.sp, context: 0, began: n_begun, depth, start_ns })
}

impl Begun {
    /// Ends the call: it becomes a record. What the call itself knows is in
    /// `call`, the rest is filled in here.
    #[inline]
    pub(crate) fn end(self, end_ns: u64, call: Call) {
        // SAFETY: the state is this thread's own and lives until the thread ends.
        unsafe { (*self.state.as_ptr()).depth = self.depth };
        self.append(self.began, self.depth, end_ns, call);
    }

    /// Ends the call without a record.
    pub(crate) fn forget(self) {
        // SAFETY: the state is this thread's own and lives until the thread ends.
        unsafe { (*self.state.as_ptr()).depth = self.depth };
    }

    /// Records another call that was made inside this one.
    pub(crate) fn append_within(&self, end_ns: u64, call: Call) {
        self.append(self.next_begun(), self.depth.saturating_add(1), end_ns, call);
    }

    /// Records a call that was made as a part of this one, in its place.
    pub(crate) fn append_beside(&self, end_ns: u64, call: Call) {
        self.append(self.next_begun(), self.depth, end_ns, call);
    }

    fn next_begun(&self) -> u64 {
        // SAFETY: the state is this thread's own and lives until the thread ends.
        unsafe {
            let state = self.state.as_ptr();
            (*state).n_begun += 1;
            (*state).n_begun
        }
    }

    #[inline]
    fn append(&self, began: u64, depth: usize, end_ns: u64, call: Call) {
        let Some(job) = RECORDER.job() else { return };
        let (context, start_ns) = (self.context, self.start_ns);
        let call = Call { context, began, start_ns, end_ns, depth: depth.min(255) as u8, ..call };
        let state = self.state.as_ptr();
        // SAFETY: the state is this thread's own and lives until the thread
        // ends; the writer and the host may be used by interrupting calls at
        // any instruction.
        unsafe {
            let outermost = (*state).recording_sp == 0;
            if outermost {
                (*state).recording_sp = self.sp;
            }
            if let Some(writer) = &(*state).writer {
                writer.append(&mut (*state).host, job, &call);
            }
            if outermost {
                (*state).recording_sp = 0;
            }
        }
    }
}

impl ThreadState {
    fn begin(&mut self, caller: Caller, job: &JobPage) -> Begun {
        while let Some(last) = self.depth.checked_sub(1)
            && let Some(&sp) = self.under_way.get(last)
            && is_void(sp, caller.sp)
        {
            self.depth = last;
        }
        if self.recording_sp != 0 && is_void(self.recording_sp, caller.sp) {
            self.recording_sp = 0;
            if let Some(writer) = &self.writer {
                writer.repair();
            }
        }
        let depth = self.depth;
        if let Some(place) = self.under_way.get_mut(depth) {
            *place = caller.sp;
            self.depth = depth + 1;
        }
        self.n_begun += 1;
        let ThreadState { walker, writer, host, .. } = self;
        let context = match writer {
            Some(writer) => walker.context(caller, &mut Definer { writer, host, job }),
            None => 0,
        };
        if RECORDER.set_up().check_stacks {
            check_stack(walker, caller, context, job);
        }
        let state = NonNull::from(self);
        // SAFETY: just made from a reference.
        let began = unsafe { state.as_ref() }.n_begun;
        Begun { state, sp: caller.sp, context, began, depth, start_ns: 0 }
    }

    /// Tells the reader, once per stream, that `path` has this identity.
    pub(crate) fn define_file(&mut self, id: u64) {
        let ThreadState { defined_files, writer, host, path, .. } = self;
        let Some(slot) = defined_files.get_mut(id as usize % DEFINED_FILES) else { return };
        let (Some(writer), Some(job)) = (writer, RECORDER.job()) else { return };
        if *slot == id {
            return;
        }
        let name = Hexadecimal::of(id);
        let payload: &[&[u8]] =
            if RECORDER.set_up().anonymise { &[b"anonymous-", &name.0] } else { &[path.bytes()] };
        if writer.define(host, job, DefinitionKind::File, id, payload) {
            *slot = id;
        }
    }

    fn begin_stream(&mut self, job: &JobPage) -> Result<(), Unrecorded> {
        let (process_start_ns, process_start_realtime_ns) = RECORDER.start_ns();
        let who = Identity {
            pid: sys::process_id(),
            tid: sys::thread_id(),
            parent_pid: sys::parent_id(),
            rank: RECORDER.set_up().rank,
            world_size: RECORDER.set_up().world_size,
            process_start_ns,
            process_start_realtime_ns,
            now_ns: clock::now_ns(),
        };
        self.generation = RECORDER.generation();
        self.n_begun = 0;
        self.depth = 0;
        self.defined_files = [0; DEFINED_FILES];
        self.walker.forget_definitions();
        // A constant, so that it is copied to its place without a stop on the stack.
        self.writer = const { Some(Writer::idle()) };
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let started = writer.start_in_place(&mut self.host, job, &who);
        match started {
            Ok(()) => self.define_process(job),
            Err(_) => self.writer = None,
        }
        started
    }

    fn define_process(&mut self, job: &JobPage) {
        // The path of a file is found out after this, so its room is free.
        let ThreadState { path, writer, host, .. } = self;
        path.fill(|buffer| {
            let (executable, arguments) = buffer.split_at_mut(MAX_EXECUTABLE);
            let n_executable = sys::read_link(c"/proc/self/exe", executable)?.len();
            let arguments = arguments.get_mut(..MAX_ARGUMENTS).unwrap_or_default();
            let n_arguments = sys::open(c"/proc/self/cmdline", libc::O_RDONLY, 0)
                .and_then(|file| sys::read(&file, arguments))
                .unwrap_or(0);
            let end = MAX_EXECUTABLE + n_arguments;
            buffer.copy_within(MAX_EXECUTABLE..end, n_executable + 1);
            Ok::<_, sys::Errno>(n_executable + 1 + n_arguments)
        });
        if let Some(writer) = writer {
            writer.define(host, job, DefinitionKind::Process, 0, &[path.bytes()]);
        }
    }
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

/// Writes what the walker finds out into the stream.
struct Definer<'a> {
    writer: &'a Writer,
    host: &'a mut ProcessHost,
    job: &'a JobPage,
}

impl stack::Definitions for Definer<'_> {
    fn module(&mut self, id: u64, build_id: &[u8], path: &[u8]) -> bool {
        let build_id = build_id.get(..build_id.len().min(255)).unwrap_or_default();
        let payload = [&[build_id.len() as u8], build_id, path];
        self.writer.define(self.host, self.job, DefinitionKind::Module, id, &payload)
    }

    fn context(&mut self, id: u64, frames: &[stack::Frame]) -> bool {
        // SAFETY: frames are two numbers each, without padding.
        let payload = unsafe {
            core::slice::from_raw_parts(frames.as_ptr().cast::<u8>(), size_of_val(frames))
        };
        self.writer.define(self.host, self.job, DefinitionKind::Context, id, &[payload])
    }
}

fn check_stack(walker: &mut Walker, caller: Caller, context: u64, job: &JobPage) {
    job.n_stacks_checked.fetch_add(1, Ordering::Relaxed);
    if !stack::agrees_with_backtrace(walker, caller, context) {
        job.n_stacks_different.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keeps calls of interrupting signal handlers out of a section.
pub(crate) struct Guard(());

impl Guard {
    /// Enters the section, from a hook whose caller's stack pointer is told.
    /// None: it is an interrupting call.
    #[inline]
    pub(crate) fn enter(sp: usize) -> Option<Guard> {
        // SAFETY: the cell is this thread's own.
        let cell = unsafe { &mut *arch::thread_cell() };
        if cell.busy_sp != 0 {
            if !is_void(cell.busy_sp, sp) {
                return None;
            }
            // SAFETY: the section was left by longjmp; nobody else is in it.
            if let Some(state) = unsafe { cell.state.as_mut() } {
                state.walker.forget_code();
                if let Some(writer) = &state.writer {
                    writer.repair();
                }
            }
        }
        cell.busy_sp = sp;
        Some(Guard(()))
    }

    /// Enters the section from wherever in the hook this is.
    pub(crate) fn enter_here() -> Option<Guard> {
        let here = 0_u8;
        Guard::enter(&raw const here as usize)
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        // SAFETY: the cell is this thread's own.
        unsafe { (*arch::thread_cell()).busy_sp = 0 };
    }
}

/// Whether what was begun at a stack pointer can no longer be under way, now
/// that a call is made at another.
#[inline]
fn is_void(begun_sp: usize, sp: usize) -> bool {
    begun_sp <= sp && !sys::on_alternate_stack()
}

/// This thread's state, made if need be.
#[inline]
fn current_state(cell: &mut ThreadCell, job: &JobPage) -> Option<*mut ThreadState> {
    // SAFETY: the state lives until the thread ends, and we are inside the guard.
    if let Some(state) = unsafe { cell.state.as_ref() }
        && state.generation == RECORDER.generation()
        && state.writer.is_some()
    {
        return Some(cell.state);
    }
    begin_state(cell, job)
}

#[cold]
fn begin_state(cell: &mut ThreadCell, job: &JobPage) -> Option<*mut ThreadState> {
    if cell.patience > 0 {
        cell.patience -= 1;
        RECORDER.count(Unrecorded::NoFile);
        return None;
    }
    if cell.state.is_null() {
        let Ok(memory) = sys::map_anonymous(size_of::<ThreadState>()) else {
            cell.patience = RETRY_AFTER;
            RECORDER.count(Unrecorded::NoRoom);
            return None;
        };
        // The memory is zeroed: all is plain data but the writer.
        let state: NonNull<ThreadState> = memory.cast();
        // SAFETY: fresh memory of the right size and alignment.
        unsafe { (&raw mut (*state.as_ptr()).writer).write(None) };
        cell.state = state.as_ptr();
        ending::watch(cell.state);
    }
    // SAFETY: just made, or this thread's own; we are inside the guard.
    let state = unsafe { &mut *cell.state };
    if let (Some(writer), true) = (&mut state.writer, state.generation != RECORDER.generation()) {
        // A forked child: the stream is the parent's.
        writer.release(&mut state.host);
    }
    state.writer = None;
    match sys::without_signals(|| state.begin_stream(job)) {
        Ok(()) => Some(cell.state),
        Err(cause) => {
            cell.patience = RETRY_AFTER;
            RECORDER.count(cause);
            None
        }
    }
}

/// How long memory is lent to a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it has executed another program or ended; the thread waits.
    ChildIsGone,
    /// Both go on, side by side.
    Forever,
}

/// Lends this thread's memory to a child (vfork, clone): from now on calls are
/// checked for who makes them.
pub(crate) fn lend_memory(until: Until) {
    if !RECORDER.is_on() {
        return;
    }
    RECORDER.spawns();
    // SAFETY: the cell is this thread's own.
    let cell = unsafe { &mut *arch::thread_cell() };
    if cell.lender == 0 {
        cell.lender = sys::thread_id();
    }
    cell.lent_forever |= until == Until::Forever;
}

/// Whether this is a child that only borrows the thread's memory.
#[inline]
pub(crate) fn is_borrowed() -> bool {
    if !arch::LENDING_IS_NOTICED {
        return sys::process_id() != RECORDER.process_id();
    }
    // SAFETY: the cell is this thread's own.
    let cell = unsafe { &mut *arch::thread_cell() };
    cell.lender != 0 && is_borrower(cell)
}

#[cold]
fn is_borrower(cell: &mut ThreadCell) -> bool {
    if sys::thread_id() != cell.lender {
        RECORDER.count(Unrecorded::Borrowed);
        return true;
    }
    if !cell.lent_forever {
        cell.lender = 0;
    }
    false
}

/// Uses this thread's state outside a call's beginning and end; None for
/// interrupting calls and threads without a stream.
pub(crate) fn with_state<R>(work: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    let job = RECORDER.job()?;
    let guard = Guard::enter_here()?;
    // SAFETY: cell and state are this thread's own, and the guard keeps others away.
    let state =
        unsafe { current_state(&mut *arch::thread_cell(), job).and_then(|state| state.as_mut()) };
    let result = state.map(work);
    drop(guard);
    result
}

pub(crate) mod ending {
    //! Notices that a thread ends, to give its memory back.

    use super::*;

    /// PTHREAD_DESTRUCTOR_ITERATIONS of glibc, counted from 0.
    const LAST_ROUND: u32 = 3;

    /// Key whose destructor is called, plus one; 0: there is none.
    static KEY: AtomicU32 = AtomicU32::new(0);

    /// Makes the key.
    pub(crate) fn set_up() {
        let mut key = 0;
        // SAFETY: the destructor takes what `watch` stores.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0 {
            KEY.store(key.wrapping_add(1), Ordering::Release);
        }
    }

    /// Wants to know when this thread ends.
    pub(super) fn watch(state: *mut ThreadState) {
        if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
            // SAFETY: the key is ours. It is among the first of the process, for
            // which glibc has room in the thread itself.
            unsafe { libc::pthread_setspecific(key, state.cast()) };
        }
    }

    unsafe extern "C" fn thread_ends(state: *mut libc::c_void) {
        // SAFETY: called on the thread that owns the cell.
        let cell = unsafe { &mut *arch::thread_cell() };
        if cell.state.is_null() || cell.state.cast() != state || !RECORDER.is_on() || is_borrowed()
        {
            return;
        }
        let Some(guard) = Guard::enter_here() else { return };
        // SAFETY: the state is this thread's own, and the guard keeps others away.
        let thread = unsafe { &mut *cell.state };
        // Destructors are called in rounds as long as there is something to
        // destroy: those of the program may do I/O, so ours waits for the last.
        if thread.n_rounds_of_destructors < LAST_ROUND {
            thread.n_rounds_of_destructors += 1;
            watch(cell.state);
            return;
        }
        if let (Some(writer), Some(job)) = (&mut thread.writer, RECORDER.job())
            && thread.generation == RECORDER.generation()
        {
            writer.finish(&mut thread.host, job);
        }
        let memory = NonNull::new(cell.state.cast());
        cell.state = core::ptr::null_mut();
        if let Some(memory) = memory {
            // SAFETY: nobody else knows the memory, and the cell has forgotten it.
            unsafe { sys::unmap(memory, size_of::<ThreadState>()) };
        }
        drop(guard);
    }
}
