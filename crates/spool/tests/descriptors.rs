// SPDX-License-Identifier: MIT OR Apache-2.0

//! A reader that may open few files. Alone in its program: the limit is the
//! process's.

mod support;

use support::{Memory, Thread, job, poll_until};

#[test]
fn more_streams_than_descriptors_are_followed() {
    let (_base, mut job) = job(1 << 30);
    let mut threads: Vec<Thread> =
        (0..400).map(|serial| Thread::start(job.directory(), serial)).collect();
    let limit = libc::rlimit { rlim_cur: 40, rlim_max: 40 };
    // SAFETY: the limit is read from a place of ours.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut sink = Memory::default();
    for round in 0..3 {
        threads.iter_mut().for_each(|thread| thread.append(round));
        poll_until(&mut job, &mut sink, |it| it.n_records() == 400 * (round as usize + 1));
    }
    assert_eq!(job.totals().n_damaged, 0, "{:?}", job.totals().damaged);
}
