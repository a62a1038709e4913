// SPDX-License-Identifier: MIT OR Apache-2.0

//! A stack of our own, for what needs more stack than programs leave us.
//!
//! Threads may have 16 KiB of stack, and signal handlers what the kernel's frame leaves
//! them of 8. So a stream is begun, segments and definitions are made, and where little
//! is left the call stack is walked, on this one. Signals are held back meanwhile: no
//! handler of the program runs on a stack that it does not know, and none can jump away
//! from it. On unknown processors ([`arch::SWITCHES_STACKS`]) the work is done on the
//! current stack.

use core::ffi::c_void;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use crate::arch;
use crate::sys;

/// Bytes of the stack: several times what is used, since nothing guards its end.
const BYTES: usize = 16 * 1024;

/// Where the stack lies. Part of the memory of its thread.
#[repr(C, align(16))]
pub(crate) struct StackMemory([u8; BYTES]);

/// A thread's spare stack, by its lower end.
#[derive(Clone, Copy)]
pub(crate) struct SpareStack(NonNull<StackMemory>);

impl SpareStack {
    /// The stack of the thread that owns this memory.
    pub(crate) fn new(memory: NonNull<StackMemory>) -> SpareStack {
        SpareStack(memory)
    }

    /// Does something on the stack, with signals held back.
    ///
    /// # Safety
    ///
    /// On the thread that owns the memory. The work uses the memory only as its stack,
    /// and does not unwind.
    pub(crate) unsafe fn run<W: FnOnce() -> R, R>(self, work: W) -> R {
        let here = 0_u8;
        let low = self.0.as_ptr() as usize;
        // Work on the stack may call other work that needs the stack.
        if (low..low + BYTES).contains(&(&raw const here as usize)) {
            return work();
        }
        let mut errand = Errand { work: ManuallyDrop::new(work), result: MaybeUninit::uninit() };
        let data = (&raw mut errand).cast();
        sys::without_signals(|| {
            // SAFETY: with signals held back nobody else of this thread is on the
            // stack; the errand is carried out once.
            unsafe {
                if !arch::call_on_stack(low + BYTES, carry_out::<W, R>, data) {
                    carry_out::<W, R>(data);
                }
            }
        });
        // SAFETY: it was carried out.
        unsafe { errand.result.assume_init() }
    }
}

/// Something to do, and its result.
struct Errand<W, R> {
    work: ManuallyDrop<W>,
    result: MaybeUninit<R>,
}

/// # Safety
///
/// The data is an errand that nobody has carried out yet.
unsafe extern "C-unwind" fn carry_out<W: FnOnce() -> R, R>(data: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        let errand = &mut *data.cast::<Errand<W, R>>();
        let work = ManuallyDrop::take(&mut errand.work);
        errand.result.write(work());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address_of_local() -> usize {
        let local = 0_u8;
        &raw const local as usize
    }

    #[test]
    fn work_is_done_on_the_stack_and_its_result_comes_back() {
        let mut memory = Box::new(StackMemory([0; BYTES]));
        let stack = SpareStack::new(NonNull::from(&mut *memory));
        let low = stack.0.as_ptr() as usize;
        let text = String::from("moved there and back");
        // SAFETY: the memory is this thread's, and used for nothing else.
        let (text, outer, inner) = unsafe {
            stack.run(|| {
                let inner = stack.run(address_of_local);
                (text, address_of_local(), inner)
            })
        };
        assert_eq!(text, "moved there and back");
        for place in [outer, inner] {
            assert_eq!((low..low + BYTES).contains(&place), arch::SWITCHES_STACKS);
        }
    }
}
