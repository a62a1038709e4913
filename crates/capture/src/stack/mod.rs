// SPDX-License-Identifier: MIT OR Apache-2.0

//! The context of a call: its call stack, found fast and safely inside other
//! people's processes.
//!
//! A [`Walker`] belongs to one thread. It first checks whether it has seen the stack
//! before: `paths` keeps, for each way that led to a call, the stack words that its
//! unwinding depended on, and a hit compares them all. Otherwise the stack is walked by
//! `rules` that say how to get from a frame to its caller; a rule that is not known yet
//! is read from the module's unwind tables (`cfi`). All this reads only `memory` that
//! is known to be there.
//!
//! What is promised: no allocation, no lock of ours, no panic, no recursion,
//! no call of a function that can be intercepted; about 50 bytes of stack for a
//! known path, 4 KiB for new code. A stack that cannot be walked
//! to its end is a context too: the frames that were found. At most
//! [`MAX_FRAMES`] innermost frames count; the outer ones of a deeper stack are
//! left out. Code outside any module (made at run time) ends the stack with the
//! frame `{ module: 0, offset: 0 }`. Frames of this library are left out.
//!
//! Frames are recorded as module and offset from its load address, and identities
//! are hashes of what they stand for, so that they are the same in all
//! processes and runs, wherever modules are loaded.

use core::sync::atomic::{AtomicU32, Ordering};

mod check;
mod defined_contexts;
mod modules;
mod object;

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod fast;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub use fast::Walker;

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
mod portable;
#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
pub use portable::Walker;

pub use check::agrees_with_backtrace;

impl Walker {
    /// The identity of the caller's stack, however it is found; see
    /// [`Walker::new_context`].
    #[inline]
    pub fn context(&mut self, caller: Caller, definitions: &mut impl ContextDefiner) -> u64 {
        let known = self.known_context(caller);
        known.unwrap_or_else(|| self.new_context(caller, definitions))
    }
}

/// Frames that count; deeper stacks are cut off at their outer end.
pub const MAX_FRAMES: usize = 96;

/// The registers of the caller at the first instruction of an intercepted
/// function.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Stack pointer: where the return address into the caller lies. Not looked
    /// at where `backtrace()` walks the stack.
    pub sp: usize,
    /// Frame pointer, which may hold anything.
    pub fp: usize,
}

/// A return address, wherever its module is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UnwoundFrame {
    /// Identity of the module; 0 for code outside any.
    pub module: u64,
    /// From the module's load address; 0 outside modules.
    pub offset: u64,
}

/// Receives what identities stand for. False means that it could not be stored: it will
/// be defined again.
pub trait ContextDefiner {
    /// A module that frames refer to.
    fn module(&mut self, id: u64, build_id: &[u8], path: &[u8], load_address: u64) -> bool;
    /// A context, innermost frame first. Its modules have been defined before.
    fn context(&mut self, id: u64, frames: &[UnwoundFrame]) -> bool;
}

/// What is known about code holds for one value of this. Never 0, so that a walker
/// in zeroed memory knows nothing.
static GENERATION: AtomicU32 = AtomicU32::new(1);

/// Tells all walkers that code may have changed or disappeared; call it after a module
/// was unloaded.
pub fn modules_changed() {
    if GENERATION.fetch_add(1, Ordering::Relaxed) == u32::MAX {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
}

/// Changes when a module was unloaded; never 0.
pub(crate) fn modules_generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// First address of the module that an address belongs to, and the one after its last.
pub(crate) fn module_around(address: usize) -> Option<(usize, usize)> {
    object::containing(address).map(|object| (object.low, object.high))
}

/// Looks up what only the dynamic linker knows. Call it once while the library starts,
/// since it may allocate; walkers that run before do so themselves.
pub fn prepare() {
    object::prepare();
}

/// Mixes two words into one; all bits of the result depend on all bits of both.
#[inline]
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ 0x9e37_79b9_7f4a_7c15) as u128 * (b ^ 0xd6e8_feb8_6659_fd93) as u128;
    (product >> 64) as u64 ^ product as u64
}

/// Identity of a context. Never 0, which stands for an unknown one.
fn identify(frames: &[UnwoundFrame]) -> u64 {
    let start = mix(frames.len() as u64, 0x5bd1_e995_27d4_eb2f);
    let id = frames.iter().fold(start, |id, frame| mix(id, mix(frame.module, frame.offset)));
    if id == 0 { 1 } else { id }
}

#[cfg(test)]
mod tests {
    use std::alloc::{Layout, alloc_zeroed};

    /// A value in zeroed memory, made there because it may be too large to move.
    ///
    /// # Safety
    ///
    /// All zero is a value of the type.
    pub(super) unsafe fn zeroed<T>() -> Box<T> {
        // SAFETY: fresh memory of the type's layout, and the caller's promise.
        unsafe { Box::from_raw(alloc_zeroed(Layout::new::<T>()).cast()) }
    }
}
