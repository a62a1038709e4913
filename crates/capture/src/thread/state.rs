// SPDX-License-Identifier: MIT OR Apache-2.0

//! The state of a thread that has recorded something: its stream and its walker.

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use ioracle_spool::layout::{DefinitionKind, JobPage, Unrecorded};
use ioracle_spool::slot::Slot;
use ioracle_spool::{Identity, Writer};

use super::guard::is_void;
use super::{Begun, Library, ThreadCell, ending};
use crate::clock;
use crate::environment::Text;
use crate::host::ProcessHost;
use crate::recorder::RECORDER;
use crate::stack::{self, Caller, Walker};
use crate::sys;

/// Calls inside calls whose depth is told apart; deeper ones count as this deep.
const MAX_DEPTH: usize = 16;
/// Identities of files, and of objects, that this stream is known to have
/// defined; those beyond may be defined again.
const DEFINED: usize = 256;
/// Bytes of stack that the beginning of a stream takes, and some more.
const NEEDED_ROOM: usize = 5120;
/// Calls after which a stream that could not begin is tried again.
const RETRY_AFTER: u32 = 1024;

/// Bytes of the executable's path, and of its arguments, that are kept.
const MAX_EXECUTABLE: usize = 512;
const MAX_ARGUMENTS: usize = 1000;

/// Lives in zeroed memory of its own; only `writer` is more than plain data.
pub(crate) struct ThreadState {
    pub(super) generation: u32,
    pub(super) writer: Option<Writer>,
    /// Where the thread is told what comes next, once it has asked.
    pub(super) slot: Option<Slot>,
    pub(super) has_asked: bool,
    /// What `libioracle.so` has learned of this thread, and the stack on which
    /// it does.
    pub(super) learned: *mut core::ffi::c_void,
    pub(super) own_stack: Option<NonNull<u8>>,
    pub(super) is_apart: bool,
    pub(super) n_begun: u64,
    pub(super) n_rounds_of_destructors: u32,
    pub(super) depth: usize,
    /// Stack pointer of the call that is being recorded; 0: none is.
    pub(super) recording_sp: usize,
    /// Stack pointers of the calls under way, outermost first.
    under_way: [usize; MAX_DEPTH],
    defined_files: [u64; DEFINED],
    defined_objects: [u64; DEFINED],
    /// Stack pointers of the outermost calls into libraries; 0: none is under way.
    pub(super) inside: [usize; Library::COUNT],
    /// Room for paths, which would be too much for an alternate signal stack.
    pub(crate) path: Text,
    pub(super) host: ProcessHost,
    walker: Walker,
}

impl ThreadState {
    /// Begins a call: finds its depth and its context.
    #[inline]
    pub(super) fn begin(&mut self, caller: Caller, job: &JobPage) -> Begun {
        while let Some(last) = self.depth.checked_sub(1)
            && let Some(&sp) = self.under_way.get(last)
            && is_void(sp, caller.sp)
        {
            self.depth = last;
        }
        if self.recording_sp != 0 && is_void(self.recording_sp, caller.sp) {
            self.recording_sp = 0;
            self.repair_writer();
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
        let began = unsafe { state.as_ref() }.n_begun.into();
        let (start_ns, part) = (Cell::new(0), Cell::new(0));
        Begun { state, sp: caller.sp, context, began, depth, start_ns, part }
    }

    /// Tells the reader, once per stream, that `path` has this identity.
    pub(crate) fn define_file(&mut self, id: u64) {
        let ThreadState { defined_files, writer, host, path, .. } = self;
        define_once(defined_files, (writer, host), DefinitionKind::File, id, path.bytes());
    }

    /// The same for an object's text.
    pub(crate) fn define_object(&mut self, id: u64, text: &[u8]) {
        let ThreadState { defined_objects, writer, host, .. } = self;
        define_once(defined_objects, (writer, host), DefinitionKind::Object, id, text);
    }

    /// Tells the reader which rank this process is; whether it is told.
    pub(crate) fn define_rank(&mut self, rank: u32, size: u32) -> bool {
        let ThreadState { writer, host, .. } = self;
        let (Some(writer), Some(job)) = (writer, RECORDER.job()) else { return false };
        let payload: [&[u8]; 2] = [&rank.to_ne_bytes(), &size.to_ne_bytes()];
        writer.define(host, job, DefinitionKind::Rank, 0, &payload)
    }

    /// The stream was left in the middle of something, by longjmp.
    pub(super) fn recover(&mut self) {
        self.walker.forget_code();
        self.repair_writer();
    }

    fn repair_writer(&self) {
        if let Some(writer) = &self.writer {
            writer.repair();
        }
    }

    /// Ends the stream in order.
    pub(super) fn end_stream(&mut self) {
        self.release_slot();
        self.release_learned();
        if let (Some(writer), Some(job)) = (&mut self.writer, RECORDER.job())
            && self.generation == RECORDER.generation()
        {
            writer.finish(&mut self.host, job);
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
        self.inside = [0; Library::COUNT];
        self.defined_files = [0; DEFINED];
        self.defined_objects = [0; DEFINED];
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
            let read = sys::with_file(c"/proc/self/cmdline", libc::O_RDONLY, 0, |file| {
                sys::read(file, arguments).unwrap_or(0)
            });
            // Arguments are paths mostly.
            let hidden = RECORDER.set_up().anonymise;
            let n_arguments = read.ok().filter(|_| !hidden).unwrap_or(0);
            let end = MAX_EXECUTABLE + n_arguments;
            buffer.copy_within(MAX_EXECUTABLE..end, n_executable + 1);
            Ok::<_, sys::Errno>(n_executable + 1 + n_arguments)
        });
        if let Some(writer) = writer {
            writer.define(host, job, DefinitionKind::Process, 0, &[path.bytes()]);
        }
    }
}

fn define_once(
    defined: &mut [u64; DEFINED],
    (writer, host): (&Option<Writer>, &mut ProcessHost),
    kind: DefinitionKind,
    id: u64,
    text: &[u8],
) {
    let Some(slot) = defined.get_mut(id as usize % DEFINED) else { return };
    let (Some(writer), Some(job)) = (writer, RECORDER.job()) else { return };
    if *slot == id {
        return;
    }
    let name = Hexadecimal::of(id);
    let payload: &[&[u8]] =
        if RECORDER.set_up().anonymise { &[b"anonymous-", &name.0] } else { &[text] };
    if writer.define(host, job, kind, id, payload) {
        *slot = id;
    }
}

/// This thread's state, made if need be.
#[inline]
pub(super) fn current_state(cell: &mut ThreadCell, job: &JobPage) -> Option<*mut ThreadState> {
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
        return refuse(cell, cell.refused);
    }
    let here = 0_u8;
    if !sys::has_room_below(&raw const here as usize, NEEDED_ROOM) {
        return refuse(cell, Unrecorded::LittleStack as usize);
    }
    if cell.state.is_null() {
        let Ok(memory) = sys::map_anonymous(size_of::<ThreadState>()) else {
            cell.patience = RETRY_AFTER;
            return refuse(cell, Unrecorded::NoRoom as usize);
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
    state.release_slot();
    state.release_learned();
    state.writer = None;
    match sys::without_signals(|| state.begin_stream(job)) {
        Ok(()) => Some(cell.state),
        Err(cause) => {
            cell.patience = RETRY_AFTER;
            refuse(cell, cause as usize)
        }
    }
}

/// Counts a call for which there is no stream, and why.
fn refuse(cell: &mut ThreadCell, cause: usize) -> Option<*mut ThreadState> {
    cell.refused = cause;
    if let Some(cause) = Unrecorded::ALL.get(cause) {
        RECORDER.count(*cause);
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
