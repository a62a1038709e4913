// SPDX-License-Identifier: MIT OR Apache-2.0

//! One thread's walk: path cache, then rules, then unwind tables.

use core::sync::atomic::Ordering;

use super::super::defined_contexts::DefinedContexts;
use super::super::modules::{ModuleId, Modules, NoModule};
use super::super::object::{MAX_OWN_FRAMES, is_own};
use super::super::{Caller, ContextDefiner, GENERATION, MAX_FRAMES, UnwoundFrame, identify};
use super::cfi;
use super::cursor::Cursor;
use super::memory::KnownMemory;
use super::paths::{Paths, WalkedPath};
use super::rules::{Pc, UnwindRules};
use super::trail::Trail;

/// Finds the contexts of one thread's calls.
///
/// Large, and valid when all zero: it is meant to lie in fresh anonymous memory,
/// of which only the pages that are used get touched. Belongs to one thread for
/// good, because it remembers where that thread's stack is.
pub struct Walker {
    /// The value of [`GENERATION`] that all below holds for.
    generation: u32,
    /// Incremented when definitions have to be made again. What was defined in the age
    /// `n` notes `n + 1`, so that 0 stands for never.
    age: u32,
    n_walks: u64,
    memory: KnownMemory,
    paths: Paths,
    rules: UnwindRules,
    modules: Modules,
    seen: DefinedContexts,
    walk: Walk,
}

// A program may have thousands of threads.
const _: () = assert!(size_of::<Walker>() < 3 << 19);

/// The result of a walk.
struct Walk {
    addresses: [usize; MAX_FRAMES],
    modules: [ModuleId; MAX_FRAMES],
    frames: [UnwoundFrame; MAX_FRAMES],
    n_frames: usize,
    trail: Trail,
}

impl Walker {
    /// The identity of the caller's stack, if the way there is known and has
    /// been defined.
    #[inline]
    pub fn known_context(&self, caller: Caller) -> Option<u64> {
        if self.generation == GENERATION.load(Ordering::Relaxed) && self.memory.is_own(caller.sp) {
            // SAFETY: on the thread's own stack; a call has just pushed it.
            let return_address = unsafe { (caller.sp as *const usize).read_volatile() };
            // SAFETY: the same stack, whose upper end does not move.
            let found = unsafe { self.paths.find(caller, return_address) };
            if let Some((context, defined_in)) = found
                && defined_in == self.age + 1
            {
                return Some(context);
            }
        }
        None
    }

    /// The identity of the caller's stack, by walking it. What has not been
    /// defined yet is defined: the context, and before it the modules of its
    /// frames.
    #[cold]
    #[inline(never)]
    pub fn new_context(&mut self, caller: Caller, definitions: &mut impl ContextDefiner) -> u64 {
        self.n_walks += 1;
        let return_address = self.walk(caller);
        let context = identify(self.frames());
        let is_defined = self.define(context, definitions);
        if self.walk.trail.is_repeatable() {
            let defined_in = if is_defined { self.age + 1 } else { 0 };
            let trail = &self.walk.trail;
            self.paths.insert(WalkedPath { caller, return_address, trail, context, defined_in });
        }
        context
    }

    /// Whether this many bytes of the program's stack can be used below the caller.
    pub(crate) fn has_room(&mut self, caller: Caller, bytes: usize) -> bool {
        self.memory.locate(caller.sp);
        self.memory.has_room(caller.sp, bytes)
    }

    fn define(&mut self, context: u64, definitions: &mut impl ContextDefiner) -> bool {
        if self.seen.contains(context) {
            return true;
        }
        let modules = self.walk.modules.get(..self.walk.n_frames).unwrap_or_default();
        let mut is_defined = true;
        for &module in modules {
            is_defined &= self.modules.define(module, definitions);
        }
        if is_defined && definitions.context(context, self.frames()) {
            self.seen.insert(context);
            return true;
        }
        false
    }

    /// Sets the path of the program, if the caller knows it.
    pub(crate) fn set_program(&mut self, path: &[u8]) {
        self.modules.set_program(path);
    }

    /// Everything has to be defined again: the process was forked, or a new stream
    /// begun.
    pub fn forget_definitions(&mut self) {
        self.age = self.age.wrapping_add(1) % (u32::MAX - 1);
        self.seen.clear();
        self.modules.forget_definitions();
        // An old path must not appear defined when ages wrap around.
        if self.age == 0 {
            self.paths.clear();
        }
    }

    /// Starts over: a walk was abandoned, so the state may be inconsistent.
    pub fn forget_code(&mut self) {
        self.memory.forget();
        self.forget_modules();
    }

    /// Modules have changed, and with them the code.
    fn forget_modules(&mut self) {
        self.paths.clear();
        self.rules.clear();
        self.modules.clear();
    }

    /// How many contexts were not found among known paths.
    pub fn n_walks(&self) -> u64 {
        self.n_walks
    }

    /// The frames of the last walk, innermost first.
    fn frames(&self) -> &[UnwoundFrame] {
        self.walk.frames.get(..self.walk.n_frames).unwrap_or_default()
    }

    /// Walks the stack without looking at known paths; the identity of the
    /// context and its return addresses, innermost first.
    pub fn addresses(&mut self, caller: Caller) -> (u64, &[usize]) {
        self.walk(caller);
        let context = identify(self.frames());
        (context, self.walk.addresses.get(..self.walk.n_frames).unwrap_or_default())
    }

    /// Walks the stack into `self.walk`; the return address into the caller.
    fn walk(&mut self, caller: Caller) -> usize {
        let generation = GENERATION.load(Ordering::Relaxed);
        if self.generation != generation {
            self.forget_modules();
            self.generation = generation;
        }
        self.memory.locate(caller.sp);
        // SAFETY: a call has just pushed it there.
        let return_address = unsafe { (caller.sp as *const usize).read_unaligned() };
        if let Err(Stale) = self.walk_from(caller, return_address) {
            // With all modules new it cannot happen again.
            self.forget_modules();
            let _ = self.walk_from(caller, return_address);
        }
        return_address
    }

    fn walk_from(&mut self, caller: Caller, return_address: usize) -> Result<(), Stale> {
        self.walk.n_frames = 0;
        self.walk.trail.clear();
        if !self.memory.is_own(caller.sp) {
            self.walk.trail.unrepeatable();
        }
        let mut cursor = Cursor::new(caller, return_address);
        let mut n_own_frames = 0;
        while self.walk.n_frames < MAX_FRAMES && n_own_frames <= MAX_OWN_FRAMES {
            if self.rules.get(cursor.pc).is_none() && !self.learn(cursor.pc)? {
                self.walk.note(ModuleId::OUTSIDE, cursor.pc.address, UnwoundFrame::default());
                // A module may be loaded there the next time.
                self.walk.trail.unrepeatable();
                break;
            }
            let Some(known) = self.rules.get(cursor.pc) else { break };
            let address = cursor.pc.address;
            if is_own(address) {
                n_own_frames += 1;
            } else {
                self.walk.note(known.module, address, self.modules.frame(known.module, address));
            }
            let caller = known
                .rule
                .and_then(|rule| cursor.caller(rule, &mut self.memory, &mut self.walk.trail));
            let Some(caller) = caller else { break };
            cursor = caller;
        }
        Ok(())
    }

    /// Makes the rule of a program counter; false if it belongs to no module.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, pc: Pc) -> Result<bool, Stale> {
        match self.modules.find(pc.instruction()) {
            Ok((module, object)) => {
                self.rules.insert(pc, module, cfi::rule(&object, pc));
                Ok(true)
            }
            Err(NoModule::Stale) => Err(Stale),
            Err(NoModule::Outside) => Ok(false),
        }
    }
}

impl Walk {
    fn note(&mut self, module: ModuleId, address: usize, frame: UnwoundFrame) {
        let number = self.n_frames;
        if let (Some(address_place), Some(module_place), Some(frame_place)) = (
            self.addresses.get_mut(number),
            self.modules.get_mut(number),
            self.frames.get_mut(number),
        ) {
            (*address_place, *module_place, *frame_place) = (address, module, frame);
            self.n_frames += 1;
        }
    }
}

/// Discards everything known about code.
struct Stale;
