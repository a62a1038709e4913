// SPDX-License-Identifier: MIT OR Apache-2.0

//! Moves records to the recording's directory, on a thread of its own with the priority
//! of the program: what was moved survives the spool and its limit, however far behind
//! the thread is that reads, learns and codes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_trace::RawKeeper;

/// Sleep after a pass that found some records, at least and at most: a pass over few of
/// them costs about as much as one over many, so passes take only a small part of the time.
const BUSY_SLEEP: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));
const SLEEP_PER_PASS: u32 = 30;
/// Sleep when nothing was found, at first and at last. Writers end it when a batch is
/// full.
const IDLE_SLEEP: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Records of a pass from which on there is no time to sleep.
const MANY_RECORDS: usize = 4096;

/// Moves records until the program has ended, or a thread asks what comes next: those
/// are best read where they are.
pub fn keep(mut keeper: RawKeeper, ended: &AtomicBool) -> Result<()> {
    let mut idle = IDLE_SLEEP.0;
    while !ended.load(Ordering::Acquire) {
        let begun = Instant::now();
        let n_records = keeper.keep().context(NOT_KEPT)?;
        if keeper.is_asked() {
            return keeper.leave().context(NOT_KEPT);
        }
        match n_records {
            0 => {
                keeper.wait(idle);
                idle = (idle * 2).min(IDLE_SLEEP.1);
            }
            1..MANY_RECORDS => {
                idle = IDLE_SLEEP.0;
                let sleep = begun.elapsed() * SLEEP_PER_PASS;
                // Ended early when the program ends.
                std::thread::park_timeout(sleep.clamp(BUSY_SLEEP.0, BUSY_SLEEP.1));
            }
            _ => idle = IDLE_SLEEP.0,
        }
    }
    keeper.finish().context(NOT_KEPT)
}

const NOT_KEPT: &str = "records could not be moved to the trace as they came; it may be more than \
                        a second behind the program";
