// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory for what is learned inside a program, separate from the program's own.
//!
//! A call that is learned may come from a signal handler that has interrupted `malloc`.
//! So each thread that learns has one mapping of its own, of which only what is used
//! takes memory, and everything allocated while [`LearnerArena::enter`] runs comes from
//! there and goes back there. Sizes are powers of two with a list of free pieces each;
//! nothing is ever given back to the system before the end.
//!
//! An allocation that fails would end the program. So before each call is learned there
//! must be more room than that can need ([`LearnerArena::has_room`]): tables at most
//! double, and the rest takes a few kilobytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Address space of a thread's memory; less if that is not available.
const SIZES: [usize; 3] = [64 << 20, 16 << 20, 8 << 20];
/// Room that must be left, in addition to as much as is in use.
const RESERVE_BYTES: usize = 2 << 20;
/// Pieces of 16 bytes, 32, and so on.
const N_CLASSES: usize = 24;
const SMALLEST: usize = 16;

thread_local! {
    /// Where this thread's allocations go; null: to the system's allocator.
    static CURRENT: Cell<*mut LearnerArena> = const { Cell::new(ptr::null_mut()) };
}

/// Lies at the beginning of its own mapping.
pub(super) struct LearnerArena {
    /// Bytes of the mapping, and how many of them have been given out once.
    bytes: usize,
    used: usize,
    /// The first free piece of each size; each begins with the address of the next.
    free: [*mut u8; N_CLASSES],
    /// What the arena is for.
    pub(super) root: *mut c_void,
}

impl LearnerArena {
    /// A new arena; none if there is no memory for it.
    pub(super) fn new() -> Option<NonNull<LearnerArena>> {
        let (base, bytes) = SIZES.iter().find_map(|&bytes| Some((map(bytes)?, bytes)))?;
        let arena: NonNull<LearnerArena> = base.cast();
        let free = [ptr::null_mut(); N_CLASSES];
        // SAFETY: fresh memory, larger than the structure.
        unsafe {
            arena.write(LearnerArena {
                bytes,
                used: size_of::<LearnerArena>(),
                free,
                root: ptr::null_mut(),
            })
        };
        Some(arena)
    }

    /// Releases all memory.
    ///
    /// # Safety
    /// Nothing in it is used any more, and nobody is in `enter`.
    pub(super) unsafe fn release(arena: NonNull<LearnerArena>) {
        // SAFETY: mapped by `new`, and by the caller's promise not used.
        unsafe { libc::munmap(arena.as_ptr().cast(), arena.as_ref().bytes) };
    }

    /// Whether the next call can be learned without running out of room.
    ///
    /// # Safety
    /// The arena has not been released.
    pub(super) unsafe fn has_room(arena: NonNull<LearnerArena>) -> bool {
        // SAFETY: the caller's promise.
        let LearnerArena { bytes, used, .. } = unsafe { arena.as_ref() };
        bytes - used > used + RESERVE_BYTES
    }

    /// Does something whose allocations come from the arena. What it returns
    /// must hold none of them.
    ///
    /// # Safety
    /// The arena is this thread's own and has not been released. The work does
    /// not unwind, and frees nothing that was allocated outside.
    pub(super) unsafe fn enter<R>(arena: NonNull<LearnerArena>, work: impl FnOnce() -> R) -> R {
        let before = CURRENT.replace(arena.as_ptr());
        let result = work();
        CURRENT.set(before);
        result
    }

    fn allocate(&mut self, layout: Layout) -> *mut u8 {
        let Some(class) = class_of(layout) else { return ptr::null_mut() };
        if let Some(piece) = NonNull::new(self.free[class]) {
            // SAFETY: a free piece begins with the address of the next.
            self.free[class] = unsafe { piece.cast::<*mut u8>().read() };
            return piece.as_ptr();
        }
        let bytes = SMALLEST << class;
        let start = self.used.next_multiple_of(layout.align().max(SMALLEST));
        if start.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return ptr::null_mut();
        }
        self.used = start + bytes;
        // SAFETY: lies in the mapping that begins with this structure.
        unsafe { ptr::from_mut(self).cast::<u8>().add(start) }
    }

    fn free(&mut self, piece: *mut u8, layout: Layout) {
        if let Some(class) = class_of(layout) {
            // SAFETY: the piece was allocated here with room for an address.
            unsafe { piece.cast::<*mut u8>().write(self.free[class]) };
            self.free[class] = piece;
        }
    }
}

/// The list of pieces that a layout is served from. Alignments beyond the least
/// are part of the size, so that a free piece suits all of its list.
fn class_of(layout: Layout) -> Option<usize> {
    let align = layout.align();
    if align > 4096 {
        return None;
    }
    let extra = if align > SMALLEST { align } else { 0 };
    let bytes = layout.size().checked_add(extra)?.max(SMALLEST).checked_next_power_of_two()?;
    let class = (bytes / SMALLEST).trailing_zeros() as usize;
    (class < N_CLASSES).then_some(class)
}

fn map(bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping disturbs no other.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

/// The allocator of this library.
struct ArenaAllocator;

#[global_allocator]
static ALLOCATOR: ArenaAllocator = ArenaAllocator;

// SAFETY: an arena gives out pieces that do not overlap, as large and aligned as
// asked for; all else is the system's allocator. A piece is freed where it was
// allocated, by the promise made to `enter`.
unsafe impl GlobalAlloc for ArenaAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match NonNull::new(CURRENT.get()) {
            // SAFETY: this thread's own, and nothing else refers to it.
            Some(mut arena) => unsafe { arena.as_mut() }.allocate(layout),
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match NonNull::new(CURRENT.get()) {
            // SAFETY: this thread's own, and nothing else refers to it.
            Some(mut arena) => unsafe { arena.as_mut() }.free(piece, layout),
            // SAFETY: the caller's promise.
            None => unsafe { System.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if CURRENT.get().is_null() {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(piece, layout, bytes) };
        }
        // SAFETY: the caller promises that the size is allowed.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        if class_of(wanted) == class_of(layout) {
            return piece;
        }
        // SAFETY: the caller's promises; both pieces hold what is copied.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(piece, layout.size().min(bytes));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_inside_comes_from_the_arena() {
        let arena = LearnerArena::new().unwrap();
        let start = arena.as_ptr() as usize;
        // SAFETY: not released yet.
        let used = || unsafe { arena.as_ref() }.used;
        // SAFETY: all that is allocated inside is freed inside.
        unsafe {
            LearnerArena::enter(arena, || {
                let mut numbers: Vec<u64> = Vec::new();
                for number in 0..100_000 {
                    numbers.push(number);
                }
                assert!(numbers.iter().copied().eq(0..100_000));
                assert!((numbers.as_ptr() as usize).wrapping_sub(start) < SIZES[0]);
            });
            let after_first = used();
            for _ in 0..1000 {
                LearnerArena::enter(arena, || drop(vec![7_u8; 100_000]));
            }
            assert_eq!(used(), after_first, "free pieces are used again");
            let outside = Box::new(1);
            assert!((&raw const *outside as usize).wrapping_sub(start) >= SIZES[0]);
            LearnerArena::release(arena);
        }
    }

    #[test]
    fn pieces_are_aligned_and_do_not_overlap() {
        let mut arena = LearnerArena::new().unwrap();
        // SAFETY: nobody else refers to it.
        let arena_ref = unsafe { arena.as_mut() };
        let mut pieces = Vec::new();
        for size in [1, 7, 16, 17, 48, 1000, 4096, 70_000] {
            for align in [1, 8, 16, 64, 4096] {
                let layout = Layout::from_size_align(size, align).unwrap();
                let piece = arena_ref.allocate(layout) as usize;
                assert!(piece != 0 && piece.is_multiple_of(align), "{layout:?}");
                pieces.push((piece, piece + size));
            }
        }
        pieces.sort_unstable();
        assert!(pieces.is_sorted_by(|a, b| a.1 <= b.0));
        assert!(arena_ref.allocate(Layout::from_size_align(1 << 30, 8).unwrap()).is_null());
        // SAFETY: the pieces are not used any more.
        unsafe { LearnerArena::release(arena) };
    }

    #[test]
    fn a_lesson_needs_as_much_room_as_is_used() {
        let mut arena = LearnerArena::new().unwrap();
        // SAFETY: not released yet.
        assert!(unsafe { LearnerArena::has_room(arena) });
        // SAFETY: nobody else refers to it.
        let full = unsafe { arena.as_mut() };
        full.used = full.bytes / 2;
        // SAFETY: not released yet, then not used any more.
        unsafe {
            assert!(!LearnerArena::has_room(arena));
            LearnerArena::release(arena);
        }
    }
}
