// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nonblocking reads and writes that are under way, by their requests.
//!
//! A call that waits for requests first marks those of its own that are here. After the
//! real call, the caller says which of them are complete. With nothing under way a wait
//! costs one load. At [`REQUESTS`] under way, the completion of further ones is not
//! recorded.

use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Maximum of pending requests that are tracked.
const REQUESTS: usize = 1024;

/// What names a request: a library's handle, or more than that where handles
/// alone are not enough.
type Handle = usize;

/// The requests of a library.
pub(super) struct RequestTable {
    slots: [Slot; REQUESTS],
    n_under_way: AtomicUsize,
}

struct Slot {
    /// The request; 0: free.
    request: AtomicUsize,
    /// The wait that has marked it, and its index in that wait's list.
    waiter: AtomicUsize,
    place: AtomicUsize,
    file: AtomicU64,
    object: AtomicU64,
    number: AtomicI32,
    offset: AtomicI64,
    bytes: AtomicU64,
    id: AtomicU32,
}

impl Slot {
    const fn free() -> Slot {
        Slot {
            request: AtomicUsize::new(0),
            waiter: AtomicUsize::new(0),
            place: AtomicUsize::new(0),
            file: AtomicU64::new(0),
            object: AtomicU64::new(0),
            number: AtomicI32::new(0),
            offset: AtomicI64::new(0),
            bytes: AtomicU64::new(0),
            id: AtomicU32::new(0),
        }
    }

    /// Marks the request of a handle for a waiter, if it is here and nobody else has.
    fn mark(&self, handle: Handle, waiter: usize) -> bool {
        let is_here = || self.request.load(Ordering::SeqCst) == handle;
        let change = |from, to| {
            self.waiter.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        if !is_here() || !change(0, waiter) {
            return false;
        }
        // It may have been an older request of another thread, forgotten since we
        // looked.
        let is_here = is_here();
        if !is_here {
            change(waiter, 0);
        }
        is_here
    }
}

/// What a request moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingRequest {
    /// Identity of the file.
    pub(super) file: u64,
    /// Identity of the object in it, 0 for none.
    pub(super) object: u64,
    /// Number of the open file.
    pub(super) number: i32,
    /// Where it starts, -1 if that is not known.
    pub(super) offset: i64,
    /// Bytes.
    pub(super) bytes: u64,
    /// Stands in the records of its submission and its completion.
    pub(super) id: u32,
}

/// A number for a request: they are counted from 1 in every process.
pub(super) fn next_id() -> u32 {
    static N_REQUESTS: AtomicU32 = AtomicU32::new(0);
    N_REQUESTS.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

const BEING_FILLED: usize = usize::MAX;

impl RequestTable {
    pub(super) const fn none() -> RequestTable {
        RequestTable { slots: [const { Slot::free() }; REQUESTS], n_under_way: AtomicUsize::new(0) }
    }

    /// Whether anything is under way.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.n_under_way.load(Ordering::Relaxed) != 0
    }

    /// A request was submitted. An older one with the same handle was completed where
    /// we did not see it, unless a wait has marked it.
    pub(super) fn submitted(&self, handle: Handle, request: PendingRequest) {
        if self.any() {
            self.forget(|it| it == handle);
        }
        for slot in self.from(handle) {
            let taken = Ordering::Relaxed;
            if handle != 0 && slot.request.compare_exchange(0, BEING_FILLED, taken, taken).is_ok() {
                slot.waiter.store(0, Ordering::Relaxed);
                slot.file.store(request.file, Ordering::Relaxed);
                slot.object.store(request.object, Ordering::Relaxed);
                slot.number.store(request.number, Ordering::Relaxed);
                slot.offset.store(request.offset, Ordering::Relaxed);
                slot.bytes.store(request.bytes, Ordering::Relaxed);
                slot.id.store(request.id, Ordering::Relaxed);
                slot.request.store(handle, Ordering::Release);
                self.n_under_way.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Marks a request as the one at `place` of what `waiter` waits for; whether it is
    /// known. If another wait has marked it, it is complete though not yet forgotten,
    /// and MPI has reused its handle.
    pub(super) fn mark(&self, handle: Handle, waiter: usize, place: usize) -> bool {
        if handle == 0 || handle == BEING_FILLED {
            return false;
        }
        let slot = self.from(handle).find(|slot| slot.mark(handle, waiter));
        if let Some(slot) = slot {
            slot.place.store(place, Ordering::Relaxed);
        }
        slot.is_some()
    }

    /// Marks all requests for which the predicate holds.
    pub(super) fn mark_all(&self, is_wanted: impl Fn(Handle) -> bool, waiter: usize) {
        self.mark_slots(|handle, _| is_wanted(handle), waiter);
    }

    fn mark_slots(&self, is_wanted: impl Fn(Handle, &Slot) -> bool, waiter: usize) -> usize {
        let is_marked = |slot: &&Slot| {
            let handle = slot.request.load(Ordering::Acquire);
            let is_there = handle != 0 && handle != BEING_FILLED;
            is_there && is_wanted(handle, slot) && slot.mark(handle, waiter)
        };
        self.slots.iter().filter(is_marked).count()
    }

    /// Forgets all requests for which the predicate holds.
    pub(super) fn forget(&self, is_over: impl Fn(Handle) -> bool) {
        self.forget_slots(|handle, _| is_over(handle));
    }

    /// Forgets the requests of an open file, by its number.
    pub(super) fn forget_file(&self, number: i32) {
        self.forget_slots(|_, slot| slot.number.load(Ordering::Relaxed) == number);
    }

    fn forget_slots(&self, is_over: impl Fn(Handle, &Slot) -> bool) {
        let here = 0_u8;
        let waiter = &raw const here as usize;
        if self.mark_slots(is_over, waiter) > 0 {
            self.completed(waiter, |_, _| true, |_, _| {});
        }
    }

    /// Goes over what a waiter has marked: requests for which `is_complete` holds are
    /// reported with their positions and forgotten; the others stay.
    pub(super) fn completed(
        &self,
        waiter: usize,
        is_complete: impl Fn(usize, Handle) -> bool,
        mut report: impl FnMut(usize, PendingRequest),
    ) {
        for slot in &self.slots {
            if slot.waiter.load(Ordering::Relaxed) != waiter {
                continue;
            }
            let handle = slot.request.load(Ordering::Acquire);
            let place = slot.place.load(Ordering::Relaxed);
            if !is_complete(place, handle) {
                slot.waiter.store(0, Ordering::Relaxed);
                continue;
            }
            let request = PendingRequest {
                file: slot.file.load(Ordering::Relaxed),
                object: slot.object.load(Ordering::Relaxed),
                number: slot.number.load(Ordering::Relaxed),
                offset: slot.offset.load(Ordering::Relaxed),
                bytes: slot.bytes.load(Ordering::Relaxed),
                id: slot.id.load(Ordering::Relaxed),
            };
            // No thread may find it unmarked, or take it while it is marked.
            slot.request.store(BEING_FILLED, Ordering::SeqCst);
            slot.waiter.store(0, Ordering::SeqCst);
            slot.request.store(0, Ordering::Release);
            self.n_under_way.fetch_sub(1, Ordering::Relaxed);
            report(place, request);
        }
    }

    /// All slots, beginning where a handle would be put first.
    fn from(&self, handle: Handle) -> impl Iterator<Item = &Slot> {
        let first = (handle ^ handle >> 7).wrapping_mul(0x9e37_79b9) % REQUESTS;
        self.slots.iter().skip(first).chain(self.slots.iter().take(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_wait_has_completed_is_told_once() {
        static REQUESTS: RequestTable = RequestTable::none();
        let request =
            |n: u64| PendingRequest { file: n, object: n, number: 0, offset: 8, bytes: n, id: 1 };
        assert!(!REQUESTS.any());
        for n in 1..=3 {
            REQUESTS.submitted(n as usize * 64, request(n));
        }
        assert!(REQUESTS.any() && REQUESTS.mark(64, 7, 0));
        assert!(REQUESTS.mark(128, 7, 1) && !REQUESTS.mark(999, 7, 2));
        let reported = |waiter, complete: usize| {
            let mut reported = Vec::new();
            REQUESTS.completed(
                waiter,
                |place, _| place == complete,
                |_, request| reported.push(request),
            );
            reported
        };
        assert_eq!(reported(8, 0), []);
        assert_eq!(reported(7, 1), [request(2)]);
        assert_eq!(reported(7, 0), []);
        assert!(!REQUESTS.mark(128, 9, 0) && REQUESTS.mark(64, 9, 0) && REQUESTS.mark(192, 9, 0));
        // MPI reuses a handle before the wait for it has returned.
        REQUESTS.submitted(64, request(4));
        assert!(REQUESTS.mark(64, 10, 0) && !REQUESTS.mark(64, 11, 0));
        assert_eq!(reported(9, 0).len(), 2);
        assert_eq!(reported(10, 0), [request(4)]);
        assert!(!REQUESTS.any());
        // All of a kind.
        (1..=4).for_each(|n| REQUESTS.submitted(n as usize, request(n)));
        REQUESTS.mark_all(|handle| handle % 2 == 0, 12);
        assert_eq!(reported(12, 0).len(), 2);
        assert!(REQUESTS.mark(1, 13, 0) && !REQUESTS.mark(2, 13, 0));
        REQUESTS.forget(|handle| handle == 3);
        assert!(REQUESTS.any() && !REQUESTS.mark(3, 14, 0));
    }

    #[test]
    fn what_was_completed_out_of_sight_goes_with_its_handle_or_its_file() {
        static KNOWN: RequestTable = RequestTable::none();
        let of = |number: i32, id: u32| PendingRequest {
            file: 1,
            object: 0,
            number,
            offset: 0,
            bytes: 8,
            id,
        };
        let reported = |waiter| {
            let mut reported = Vec::new();
            KNOWN.completed(waiter, |_, _| true, |_, request| reported.push(request.id));
            reported
        };
        // More than there is room for.
        for id in 1..=2 * super::REQUESTS as u32 {
            KNOWN.submitted(64, of(5, id));
        }
        assert!(KNOWN.mark(64, 7, 0) && !KNOWN.mark(64, 8, 0));
        // A wait is about to report the marked one.
        KNOWN.submitted(64, of(5, 3));
        KNOWN.submitted(128, of(6, 4));
        KNOWN.forget_file(5);
        assert_eq!(reported(7), [2 * super::REQUESTS as u32]);
        assert!(!KNOWN.mark(64, 9, 0) && KNOWN.mark(128, 9, 0));
        assert_eq!(reported(9), [4]);
        assert!(!KNOWN.any());
    }
}
