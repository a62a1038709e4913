// SPDX-License-Identifier: MIT OR Apache-2.0

//! The walk where neither registers nor stack layout are known: `backtrace()`
//! for every call. Slow (microseconds), and as safe as `backtrace()` is. Without
//! that function every context is unknown.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use super::defined_contexts::DefinedContexts;
use super::modules::{ModuleId, Modules, NoModule};
use super::object::{MAX_OWN_FRAMES, is_own};
use super::{Caller, ContextDefiner, GENERATION, MAX_FRAMES, UnwoundFrame, check, identify};

/// Finds the contexts of one thread's calls. Valid when all zero.
pub struct Walker {
    generation: u32,
    modules: Modules,
    seen: DefinedContexts,
    /// What `backtrace()` has found; then without our frames.
    found: [usize; MAX_FRAMES + MAX_OWN_FRAMES],
    n_frames: usize,
    frames: [UnwoundFrame; MAX_FRAMES],
    frame_modules: [ModuleId; MAX_FRAMES],
}

impl Walker {
    /// The way to a call is never known here.
    pub fn known_context(&self, _caller: Caller) -> Option<u64> {
        None
    }

    /// Unknown; `backtrace()` does not check either.
    pub(crate) fn has_room(&mut self, _caller: Caller, _bytes: usize) -> bool {
        true
    }

    /// The identity of the caller's stack. What has not been defined yet is
    /// defined: the context, and before it the modules of its frames.
    pub fn new_context(&mut self, caller: Caller, definitions: &mut impl ContextDefiner) -> u64 {
        let context = self.addresses(caller).0;
        if context != 0 && !self.seen.contains(context) {
            let mut is_defined = true;
            for &module in self.frame_modules.iter().take(self.n_frames) {
                is_defined &= self.modules.define(module, definitions);
            }
            let frames = self.frames.get(..self.n_frames).unwrap_or_default();
            if is_defined && definitions.context(context, frames) {
                self.seen.insert(context);
            }
        }
        context
    }

    /// The identity of the context and its return addresses, innermost first.
    pub fn addresses(&mut self, _caller: Caller) -> (u64, &[usize]) {
        let generation = GENERATION.load(Ordering::Relaxed);
        if self.generation != generation {
            self.forget_code();
            self.generation = generation;
        }
        self.n_frames = 0;
        let Some(backtrace) = check::backtrace() else { return (0, &[]) };
        let room = self.found.as_mut_ptr().cast::<*mut c_void>();
        // SAFETY: the length is that of the array.
        let n_found = unsafe { backtrace(room, self.found.len() as c_int) } as usize;
        let n_kept = self.leave_out_own(n_found);
        self.name_frames(n_kept);
        let addresses = self.found.get(..self.n_frames);
        let frames = self.frames.get(..self.n_frames).unwrap_or_default();
        (identify(frames), addresses.unwrap_or_default())
    }

    /// Removes the frames of this library; returns how many are left.
    fn leave_out_own(&mut self, n_found: usize) -> usize {
        let mut n_kept = 0;
        for number in 0..n_found {
            let address = self.found.get(number).copied().unwrap_or(0);
            if !is_own(address)
                && let Some(place) = self.found.get_mut(n_kept)
            {
                *place = address;
                n_kept += 1;
            }
        }
        n_kept
    }

    fn name_frames(&mut self, n_found: usize) {
        for number in 0..n_found.min(MAX_FRAMES) {
            let Some(&address) = self.found.get(number) else { return };
            let mut module = self.modules.find(address);
            if let Err(NoModule::Stale) = module {
                // Frames numbered by the old table lose their definition, and get it
                // again with the next context.
                self.modules.clear();
                module = self.modules.find(address);
            }
            let module = module.map_or(ModuleId::OUTSIDE, |(module, _)| module);
            let frame = self.modules.frame(module, address);
            if let Some(place) = self.frames.get_mut(self.n_frames) {
                *place = frame;
            }
            if let Some(place) = self.frame_modules.get_mut(self.n_frames) {
                *place = module;
            }
            self.n_frames += 1;
            if module == ModuleId::OUTSIDE {
                return;
            }
        }
    }

    /// Sets the path of the program, if the caller knows it.
    pub(crate) fn set_program(&mut self, path: &[u8]) {
        self.modules.set_program(path);
    }

    /// Everything has to be defined again: the process was forked, or a new stream
    /// begun.
    pub fn forget_definitions(&mut self) {
        self.seen.clear();
        self.modules.forget_definitions();
    }

    /// Starts over: modules have changed.
    pub fn forget_code(&mut self) {
        self.modules.clear();
    }
}
