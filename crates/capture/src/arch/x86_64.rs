// SPDX-License-Identifier: MIT OR Apache-2.0

//! x86-64: exact caller state at no cost, system calls by instruction.

use core::arch::asm;
use core::ffi::c_void;

use crate::thread::ThreadCell;

/// `vfork` and `clone` announce that a child will share this memory.
pub(crate) const VFORK_IS_NOTICED: bool = true;

/// Work can be done on another stack.
pub(crate) const SWITCHES_STACKS: bool = true;

/// Makes a system call. The result is the kernel's: errors are -errno, and the
/// program's errno is left alone. It is not interposable and not a cancellation point.
///
/// # Safety
///
/// As for the system call.
#[inline]
pub(crate) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the caller vouches for the arguments; the kernel keeps all other
    // registers.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Calls a function on another stack.
///
/// # Safety
///
/// `top` is aligned to 16 bytes and the end of enough memory; the function does
/// not unwind.
pub(crate) unsafe fn call_on_stack(
    top: usize,
    work: unsafe extern "C-unwind" fn(*mut c_void),
    data: *mut c_void,
) -> bool {
    // SAFETY: the function keeps the register that the stack pointer is kept in,
    // and all registers that the convention lets it change are listed.
    unsafe {
        asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {work}",
            "mov rsp, r12",
            top = in(reg) top,
            work = in(reg) work,
            in("rdi") data,
            out("r12") _,
            clobber_abi("C"),
        );
    }
    true
}

/// This thread's cell, without a call of `__tls_get_addr`, which may allocate.
#[inline]
pub(crate) fn thread_cell() -> *mut ThreadCell {
    let cell;
    // SAFETY: reads the offset of a thread-local of ours that lies in static
    // TLS, and adds the thread pointer, which the ABI keeps at fs:0.
    unsafe {
        asm!(
            "mov {cell}, qword ptr [rip + ioracle_thread_cell@GOTTPOFF]",
            "add {cell}, qword ptr fs:[0]",
            cell = out(reg) cell,
            options(nostack, pure, readonly),
        );
    }
    cell
}

/// Where a call will return to, given the stack pointer at its entry.
///
/// # Safety
///
/// The entry's stack pointer of a call that is under way.
pub(crate) unsafe fn return_address_at(sp: usize) -> usize {
    // SAFETY: the call has put it there.
    unsafe { *(sp as *const usize) }
}

/// Defines an exported function that keeps the stack and frame pointers of its
/// caller in the thread's cell and goes on as `$hook`, with all arguments (and
/// `al`, which variadic functions look at) where the caller put them.
macro_rules! entry {
    ($function:ident = $symbol:expr, $hook:ident $($signature:tt)*) => {
        #[unsafe(naked)]
        #[unsafe(export_name = $symbol)]
        unsafe extern "C-unwind" fn $function() {
            core::arch::naked_asm!(
                "mov r11, qword ptr [rip + ioracle_thread_cell@GOTTPOFF]",
                "mov qword ptr fs:[r11], rsp",
                "mov qword ptr fs:[r11 + 8], rbp",
                "jmp {hook}",
                hook = sym $hook,
            )
        }
    };
}
pub(crate) use entry;

/// The same for a function that may turn out not to be ours: as long as the first
/// byte of `$foreign` is 0, `$target` says where the call goes on.
macro_rules! asking_entry {
    ($function:ident = $symbol:expr, $foreign:ident, $target:ident, $hook:ident $($signature:tt)*) => {
        #[unsafe(naked)]
        #[unsafe(export_name = $symbol)]
        unsafe extern "C-unwind" fn $function() {
            core::arch::naked_asm!(
                "mov r11, qword ptr [rip + ioracle_thread_cell@GOTTPOFF]",
                "mov qword ptr fs:[r11], rsp",
                "mov qword ptr fs:[r11 + 8], rbp",
                "cmp byte ptr [rip + {foreign}], 0",
                "je 2f",
                "jmp {hook}",
                "2:",
                "lea r11, [rip + {target}]",
                "jmp {ask}",
                foreign = sym $foreign,
                target = sym $target,
                hook = sym $hook,
                ask = sym $crate::arch::ask_and_go_on,
            )
        }
    };
}
pub(crate) use asking_entry;

/// Calls the function in `r11` and goes on where it says, with all registers that
/// arguments can be in as they were.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn ask_and_go_on() {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -16",
        "sub rsp, 192",
        "movaps xmmword ptr [rsp], xmm0",
        "movaps xmmword ptr [rsp + 16], xmm1",
        "movaps xmmword ptr [rsp + 32], xmm2",
        "movaps xmmword ptr [rsp + 48], xmm3",
        "movaps xmmword ptr [rsp + 64], xmm4",
        "movaps xmmword ptr [rsp + 80], xmm5",
        "movaps xmmword ptr [rsp + 96], xmm6",
        "movaps xmmword ptr [rsp + 112], xmm7",
        "mov qword ptr [rsp + 128], rdi",
        "mov qword ptr [rsp + 136], rsi",
        "mov qword ptr [rsp + 144], rdx",
        "mov qword ptr [rsp + 152], rcx",
        "mov qword ptr [rsp + 160], r8",
        "mov qword ptr [rsp + 168], r9",
        "mov qword ptr [rsp + 176], rax",
        "mov qword ptr [rsp + 184], r10",
        "call r11",
        "mov r11, rax",
        "movaps xmm0, xmmword ptr [rsp]",
        "movaps xmm1, xmmword ptr [rsp + 16]",
        "movaps xmm2, xmmword ptr [rsp + 32]",
        "movaps xmm3, xmmword ptr [rsp + 48]",
        "movaps xmm4, xmmword ptr [rsp + 64]",
        "movaps xmm5, xmmword ptr [rsp + 80]",
        "movaps xmm6, xmmword ptr [rsp + 96]",
        "movaps xmm7, xmmword ptr [rsp + 112]",
        "mov rdi, qword ptr [rsp + 128]",
        "mov rsi, qword ptr [rsp + 136]",
        "mov rdx, qword ptr [rsp + 144]",
        "mov rcx, qword ptr [rsp + 152]",
        "mov r8, qword ptr [rsp + 160]",
        "mov r9, qword ptr [rsp + 168]",
        "mov rax, qword ptr [rsp + 176]",
        "mov r10, qword ptr [rsp + 184]",
        "mov rsp, rbp",
        "pop rbp",
        "jmp r11",
    )
}

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
