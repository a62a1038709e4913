// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads stack words that are known to be mapped.
//!
//! The thread's own stack is read directly: from the lowest mapped address to
//! its known upper end, which is `__libc_stack_end` for the thread that began
//! the program and the thread control block for all others, because glibc puts
//! it on top of the stack. Only what lies between the stack pointer and there
//! is read: it stays mapped as long as the thread runs on this stack. Whether it
//! does is looked up once, and again when the stack has grown, by asking the kernel
//! to read from every page in between: below a thread's stack lies a page that
//! cannot be read, and far below the first one there is nothing. Where the first
//! thread's stack is deep, the list of mappings is read instead.
//!
//! Every other address (alternate signal stacks, coroutines, whatever a broken
//! frame pointer says) is read by the kernel into a window of ours, which fails
//! for memory that is not there instead of faulting. That costs about a
//! microsecond per page.

use super::maps;
use crate::arch::{first_stack_end, thread_pointer};
use crate::sys;

const PAGE: usize = 4096;
/// No stack of a thread is looked for further below its upper end.
const MAX_THREAD_STACK: usize = 64 << 20;
/// Bytes of the first thread's stack up to which its pages are probed: the list of
/// mappings takes some 30 microseconds to read, sixteen pages take one.
const MAX_PROBED: usize = 1 << 20;

/// What a thread knows about its memory; nothing when all zero.
pub(super) struct KnownMemory {
    /// The thread's own stack.
    low: usize,
    high: usize,
    /// A lower bound for the thread's own stack.
    floor: usize,
    /// The thread's own stack grows when it is used.
    grows: bool,
    /// The stack pointer, if it is on the own stack; else no word is read directly.
    from: usize,
    /// Whether the own stack has been looked for.
    is_located: bool,
    /// Part of a page that the kernel has copied.
    window_start: usize,
    window_bytes: usize,
    window: [u8; PAGE],
}

impl KnownMemory {
    /// Whether a stack pointer is on the thread's own stack. Words are aligned,
    /// and so are both ends of the stack.
    #[inline]
    pub(super) fn is_own(&self, sp: usize) -> bool {
        sp >= self.low && sp < self.high && sp.is_multiple_of(8)
    }

    /// Whether a word lies on the own stack, above the stack pointer that was
    /// located last.
    #[inline]
    pub(super) fn is_direct(&self, address: usize) -> bool {
        address >= self.from && address < self.high && address.is_multiple_of(8)
    }

    /// Learns about the stack that the thread is on now. To be called before a
    /// walk; what a former walk has seen elsewhere is forgotten.
    pub(super) fn locate(&mut self, sp: usize) {
        self.window_bytes = 0;
        let may_have_grown = (self.floor..self.low).contains(&sp);
        if !self.is_located || may_have_grown {
            self.is_located = true;
            self.locate_own(sp);
        }
        self.from = if self.is_own(sp) { sp } else { usize::MAX };
    }

    /// Whether this many bytes below a located stack pointer can be used: threads may
    /// have small stacks, and programs may give their signal handlers two kilobytes,
    /// most of which the kernel fills.
    pub(super) fn has_room(&mut self, sp: usize, bytes: usize) -> bool {
        if !self.is_own(sp) {
            return sys::has_room_below(sp, bytes);
        }
        let end = sp.saturating_sub(bytes);
        if self.grows || end >= self.low {
            return end >= self.floor;
        }
        let page = end & !(PAGE - 1);
        let is_there = sys::is_readable(page, self.low);
        if is_there {
            self.low = page;
        }
        is_there
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        (self.low, self.high, self.floor, self.from) = (0, 0, 0, usize::MAX);
        (self.is_located, self.window_bytes) = (false, 0);
    }

    fn locate_own(&mut self, sp: usize) {
        // A child forked by another thread runs on that thread's stack.
        if sys::thread_id() == sys::process_id() && self.locate_first(sp) {
            return;
        }
        let top = thread_pointer() & !7;
        if self.high != top {
            // None of it is known to be readable yet.
            (self.low, self.high, self.grows) = (top, top, false);
            self.floor = top.saturating_sub(MAX_THREAD_STACK);
        }
        let page = sp & !(PAGE - 1);
        // Asking for all mappings would cost more with every thread there is.
        if page >= self.floor && page < self.low && sys::is_readable(page, self.low) {
            self.low = page;
        }
    }

    /// The stack of the thread that began the program.
    fn locate_first(&mut self, sp: usize) -> bool {
        let top = first_stack_end() & !7;
        if top.checked_sub(sp).is_some_and(|bytes| bytes < MAX_PROBED) {
            let page = sp & !(PAGE - 1);
            // What is known about it already needs no second look.
            let known = if self.high == top { self.low } else { top };
            let is_there = page >= known || sys::is_readable(page, known);
            if is_there {
                (self.low, self.high) = (page.min(known), top);
                self.floor = top.saturating_sub(MAX_THREAD_STACK);
                self.grows = true;
                return true;
            }
        }
        let Some(first) = maps::below(top.wrapping_sub(8), &mut self.window) else { return false };
        let is_there = (first.low..top).contains(&sp);
        if is_there {
            (self.low, self.high, self.floor) = (first.low, top, first.floor);
            self.grows = true;
        }
        is_there
    }

    /// The word at an address, if there is one.
    #[inline]
    pub(super) fn read(&mut self, address: usize) -> Option<usize> {
        if self.is_direct(address) {
            // SAFETY: on the thread's own stack, which is mapped and readable.
            // Others may change it meanwhile; any value will do.
            return Some(unsafe { (address as *const usize).read_volatile() });
        }
        self.read_elsewhere(address)
    }

    #[cold]
    fn read_elsewhere(&mut self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(8) {
            return None;
        }
        let place = address.wrapping_sub(self.window_start);
        if place >= self.window_bytes.saturating_sub(7) {
            self.window_bytes = 0;
            let rest = self.window.get_mut(..PAGE - address % PAGE)?;
            self.window_bytes = sys::copy_memory(address, rest).ok()?;
            self.window_start = address;
        }
        let word = self.window.get(address - self.window_start..)?.get(..8)?;
        Some(usize::from_ne_bytes(word.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::zeroed;
    use super::*;

    fn here() -> Box<KnownMemory> {
        // SAFETY: all zero is the memory that knows nothing.
        let mut memory: Box<KnownMemory> = unsafe { zeroed() };
        let local = 0_usize;
        memory.locate(&raw const local as usize);
        memory
    }

    #[test]
    fn a_thread_finds_its_own_stack() {
        let local = 4711_usize;
        let address = &raw const local as usize;
        let mut memory = here();
        assert!(memory.is_own(address));
        assert_eq!(memory.read(address), Some(4711));
        assert!(!memory.is_own(memory.high));
    }

    #[test]
    fn words_elsewhere_are_read_too() {
        let words: Vec<usize> = (0..2000).collect();
        let mut memory = here();
        for (number, word) in words.iter().enumerate() {
            assert_eq!(memory.read(word as *const usize as usize), Some(number));
        }
        let mut next = here();
        assert_eq!(next.read(words.as_ptr() as usize + 800), Some(100));
        assert_eq!(next.read(words.as_ptr() as usize + 8), Some(1));
    }

    #[test]
    fn memory_that_is_not_there_is_no_word() {
        let mut memory = here();
        for address in [0, 8, 4095, usize::MAX, usize::MAX - 7, 1 << 47, 1 << 63] {
            assert_eq!(memory.read(address), None, "{address:#x}");
        }
        let readable = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, of which nobody uses the second page.
        let unreadable = unsafe {
            let pages = libc::mmap(core::ptr::null_mut(), 2 * PAGE, readable, flags, -1, 0);
            libc::mprotect(pages.byte_add(PAGE), PAGE, libc::PROT_NONE);
            pages as usize
        };
        assert_eq!(memory.read(unreadable + PAGE - 8), Some(0));
        assert_eq!(memory.read(unreadable + PAGE), None);
    }
}
