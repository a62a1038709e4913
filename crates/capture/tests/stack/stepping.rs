// SPDX-License-Identifier: MIT OR Apache-2.0

//! A signal handler that runs after every single instruction, and looks at its
//! context there: so functions are interrupted in their first and last
//! instructions, in linkage tables and in the C library.

use std::mem::zeroed;
use std::ptr::null_mut;

use crate::journeys::probe;

/// Interrupts `work` after each of its instructions by a probe.
pub fn single_step(work: impl FnOnce()) {
    // SAFETY: the handler only calls the probe. The trap flag is set before the
    // work and cleared after it; the kernel clears it for the handler.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handle as *const () as usize;
        libc::sigaction(libc::SIGTRAP, &action, null_mut());
        std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        work();
        std::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
    }
}

extern "C" fn handle(_number: i32) {
    probe();
}
