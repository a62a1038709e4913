// SPDX-License-Identifier: MIT OR Apache-2.0

//! The near future as a whole: bursts, and what falls into a span of time.

use crate::barrier::guarded;
use crate::output;
use crate::result::ioracle_result;
use crate::session::{ORACLES, ioracle_oracle};

use ioracle_result::{IORACLE_NONE, IORACLE_OK};

/// A group of operations close together in time, between two quiet spells.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ioracle_burst {
    /// From now to the start of its first operation; 0 inside a burst.
    pub starts_in_ns: u64,
    /// From now to the end of its last operation.
    pub ends_in_ns: u64,
    /// Operations in it (still to come, inside a burst). The look-ahead is 65536
    /// operations: at that number, there may be more.
    pub operations: u64,
    /// Bytes they move.
    pub bytes: u64,
    /// Probability that the operations come as predicted.
    pub confidence: f64,
    /// Reserved, 0.
    pub reserved: [u64; 3],
}

/// The next burst; inside one, what is left of it. IORACLE_NONE as long as waits cannot
/// be separated into short and long ones, or nothing is expected.
///
/// # Safety
///
/// `burst` is NULL or points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_burst(
    oracle: *const ioracle_oracle,
    burst: *mut ioracle_burst,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(burst, "burst") }?;
        ORACLES.with(oracle as u64, |session| {
            let Some(next) = session.model().oracle().next_burst() else { return Ok(IORACLE_NONE) };
            room.write(ioracle_burst {
                starts_in_ns: next.starts_in_ns,
                ends_in_ns: next.ends_in_ns,
                operations: next.operations,
                bytes: next.bytes,
                confidence: next.confidence,
                reserved: [0; 3],
            });
            Ok(IORACLE_OK)
        })
    })
}

/// What is expected to start within a span of time from now, as a burst that
/// starts at once and ends with the span.
///
/// # Safety
///
/// `within` is NULL or points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_within(
    oracle: *const ioracle_oracle,
    span_ns: u64,
    within: *mut ioracle_burst,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(within, "within") }?;
        ORACLES.with(oracle as u64, |session| {
            let expected = session.model().oracle().within(span_ns);
            room.write(ioracle_burst {
                starts_in_ns: 0,
                ends_in_ns: span_ns,
                operations: expected.operations,
                bytes: expected.bytes,
                confidence: expected.confidence,
                reserved: [0; 3],
            });
            Ok(IORACLE_OK)
        })
    })
}
