// SPDX-License-Identifier: MIT OR Apache-2.0

//! The handshakes of `src/handshake.rs`, under every order of memory accesses
//! that a processor may choose (loom). They were once right on x86-64 alone.

mod atomics {
    pub use loom::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
}

#[path = "../src/handshake.rs"]
mod handshake;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use loom::thread;

use self::handshake::{before_sleeping, publish, published, takes_over_waking};

/// What a writer and the reader share.
struct Shared {
    published: AtomicU64,
    sleeping: AtomicU32,
    n_woken: AtomicU32,
}

/// One copy of the wake-up had no fence between the record and the look at the
/// flag: the reader slept on, with a record before it.
#[test]
fn a_reader_that_sleeps_has_seen_every_record_or_is_woken() {
    loom::model(|| {
        let shared = Arc::new(Shared {
            published: AtomicU64::new(0),
            sleeping: AtomicU32::new(0),
            n_woken: AtomicU32::new(0),
        });
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.published.store(1, Release);
                if takes_over_waking(&shared.sleeping) {
                    shared.n_woken.fetch_add(1, Relaxed);
                }
            })
        };
        before_sleeping(|| shared.sleeping.store(1, Relaxed));
        let has_seen = shared.published.load(Acquire) == 1;
        writer.join().unwrap();
        assert!(has_seen || shared.n_woken.load(Relaxed) == 1);
    });
}

/// Waking is a system call, and not to be made by every thread at once.
#[test]
fn of_two_writers_one_wakes() {
    loom::model(|| {
        let sleeping = Arc::new(AtomicU32::new(1));
        let other = Arc::clone(&sleeping);
        let other = thread::spawn(move || takes_over_waking(&other));
        let here = takes_over_waking(&sleeping);
        assert!(here != other.join().unwrap());
    });
}

/// A thread that another library had started before our constructor ran could
/// see that calls are recorded, and not yet where.
#[test]
fn who_sees_what_was_published_sees_what_was_written_before() {
    loom::model(|| {
        let set_up = Arc::new((UnsafeCell::new(0), AtomicPtr::new(std::ptr::null_mut())));
        let mut word = Box::new(AtomicBool::new(true));
        let address = &raw mut *word;
        let constructor = {
            let set_up = Arc::clone(&set_up);
            let address = address as usize;
            thread::spawn(move || {
                // SAFETY: nobody reads before it is published.
                set_up.0.with_mut(|value| unsafe { *value = 7 });
                publish(&set_up.1, address as *mut AtomicBool);
            })
        };
        if !published(&set_up.1).is_null() {
            // SAFETY: written before it was published.
            assert_eq!(set_up.0.with(|value| unsafe { *value }), 7);
        }
        constructor.join().unwrap();
    });
}
