// SPDX-License-Identifier: MIT OR Apache-2.0

//! The files that MPI has open, by their handles.
//!
//! Nothing is asked about a handle that is not here: it may be closed, null, or opened
//! where we did not see it. At [`FILES`] open files further ones are not here.

use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use super::helpers::Handle;

/// Maximum of open files that are tracked.
const FILES: usize = 1024;

static OPEN: [Slot; FILES] = [const { Slot::free() }; FILES];

struct Slot {
    /// The handle; 0: free.
    handle: AtomicUsize,
    file: AtomicU64,
    mode: AtomicI32,
}

impl Slot {
    const fn free() -> Slot {
        Slot { handle: AtomicUsize::new(0), file: AtomicU64::new(0), mode: AtomicI32::new(0) }
    }
}

/// MPI_MODE_SEQUENTIAL, in all MPIs: there are no positions to ask for.
const SEQUENTIAL: i32 = 256;
/// In our copy of the mode: a view was set, so offsets are no longer bytes.
const VIEWED: i32 = 1 << 30;
/// In our copy of the mode: the view may have no bytes to stand at.
const PERHAPS_EMPTY: i32 = 1 << 29;

/// An open file.
#[derive(Clone, Copy)]
pub(super) struct Open {
    /// The handle by which MPI knows it.
    pub(super) handle: Handle,
    /// Identity of its path.
    pub(super) file: u64,
    /// A small number for the handle.
    pub(super) number: i32,
    mode: i32,
}

impl Open {
    /// Whether MPI may be asked where in the file something is.
    pub(super) fn has_positions(&self) -> bool {
        self.mode & (SEQUENTIAL | PERHAPS_EMPTY) == 0
    }

    /// Whether offsets count something other than bytes from the beginning.
    pub(super) fn is_viewed(&self) -> bool {
        self.mode & VIEWED != 0
    }
}

/// A file was opened; its number.
pub(super) fn opened(handle: Handle, file: u64, mode: i32) -> i32 {
    for (number, slot) in from(handle) {
        let taken = Ordering::Relaxed;
        if slot.handle.compare_exchange(0, BEING_FILLED, taken, taken).is_ok() {
            slot.file.store(file, Ordering::Relaxed);
            slot.mode.store(mode & (PERHAPS_EMPTY - 1), Ordering::Relaxed);
            slot.handle.store(handle, Ordering::Release);
            return number;
        }
    }
    -1
}

/// The open file of a handle.
pub(super) fn find(handle: Handle) -> Option<Open> {
    slot_of(handle).map(|(number, slot)| slot.open(handle, number))
}

/// A file is about to be closed. Before the real call: after it another thread
/// may be given the same handle.
pub(super) fn forget(handle: Handle) -> Option<Open> {
    let (number, slot) = slot_of(handle)?;
    let open = slot.open(handle, number);
    slot.handle.store(0, Ordering::Release);
    Some(open)
}

/// A view was set; whether it surely has bytes.
pub(super) fn viewed(handle: Handle, has_bytes: bool) {
    let Some((_, slot)) = slot_of(handle) else { return };
    slot.mode.fetch_or(VIEWED | PERHAPS_EMPTY, Ordering::Relaxed);
    if has_bytes {
        slot.mode.fetch_and(!PERHAPS_EMPTY, Ordering::Relaxed);
    }
}

const BEING_FILLED: usize = usize::MAX;

impl Slot {
    fn open(&self, handle: Handle, number: i32) -> Open {
        Open {
            handle,
            number,
            file: self.file.load(Ordering::Relaxed),
            mode: self.mode.load(Ordering::Relaxed),
        }
    }
}

fn slot_of(handle: Handle) -> Option<(i32, &'static Slot)> {
    if handle == 0 || handle == BEING_FILLED {
        return None;
    }
    from(handle).find(|(_, slot)| slot.handle.load(Ordering::Acquire) == handle)
}

/// All slots, beginning where a handle would be put first.
fn from(handle: Handle) -> impl Iterator<Item = (i32, &'static Slot)> {
    let first = (handle >> 4).wrapping_mul(0x9e37_79b9) % FILES;
    // Skipping is free only on the plain slice of slots.
    let numbered = || OPEN.iter().enumerate();
    let all = numbered().skip(first).chain(numbered().take(first));
    all.map(|(number, slot)| (number as i32, slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_found_until_they_are_closed() {
        for n in 1..=20 {
            opened(n << 12, n as u64, if n == 7 { SEQUENTIAL } else { 9 });
        }
        let seven = find(7 << 12).unwrap();
        assert!((seven.file, seven.has_positions(), seven.is_viewed()) == (7, false, false));
        for has_bytes in [true, false, true] {
            viewed(8 << 12, has_bytes);
            let eight = find(8 << 12).unwrap();
            assert!(eight.is_viewed() && eight.has_positions() == has_bytes);
        }
        viewed(8 << 12, false);
        assert!(forget(8 << 12).is_some_and(|open| open.file == 8));
        assert!(find(8 << 12).is_none() && forget(8 << 12).is_none());
        assert!(find(0).is_none() && find(BEING_FILLED).is_none());
        // The handle may come again for another file.
        opened(8 << 12, 80, 9);
        assert!(
            find(8 << 12).is_some_and(|open| {
                open.file == 80 && !open.is_viewed() && open.has_positions()
            })
        );
        for n in 1..=20 {
            assert!(forget(n << 12).is_some());
        }
    }
}
