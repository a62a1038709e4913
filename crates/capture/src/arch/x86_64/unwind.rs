// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the walk knows of x86-64 and of glibc there.

use core::arch::asm;
use core::ffi::c_void;

/// Numbers of registers in unwind tables.
pub(crate) mod dwarf {
    use gimli::Register;

    /// One that functions give back unchanged.
    pub(crate) const BX: Register = Register(3);
    pub(crate) const FP: Register = Register(6);
    pub(crate) const SP: Register = Register(7);
    /// The return address.
    pub(crate) const PC: Register = Register(16);
}

/// Address of the thread control block, which glibc puts on top of the stacks
/// that it makes for threads.
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the ABI keeps the thread pointer at fs:0.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, pure, readonly));
    }
    pointer
}

unsafe extern "C" {
    static __libc_stack_end: *mut c_void;
}

/// Where the stack of the first thread ends, as the dynamic linker saw it.
pub(crate) fn first_stack_end() -> usize {
    // SAFETY: written once before any of our code runs.
    unsafe { __libc_stack_end as usize }
}
