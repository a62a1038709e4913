// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where answers go: memory of the caller, written only when the call succeeds.

use std::mem::MaybeUninit;

use crate::prediction::ioracle_prediction;
use crate::result::{ApiFailure, ioracle_result};

/// Nobody asks for more on purpose; a larger number is a mistake.
const MAX_CAPACITY: usize = 1 << 20;

/// Room for one answer.
///
/// # Safety
///
/// `room` is NULL or points to room for a value that nobody else uses.
pub(crate) unsafe fn single<'a, T>(
    room: *mut T,
    name: &str,
) -> Result<&'a mut MaybeUninit<T>, ApiFailure> {
    if room.is_null() || !room.is_aligned() {
        let message = format!("{name} is NULL or not aligned; it is where the answer goes");
        return Err(ApiFailure::invalid(message));
    }
    // SAFETY: the caller promises it; that it may hold anything is in the type.
    Ok(unsafe { &mut *room.cast::<MaybeUninit<T>>() })
}

/// Room for predictions and their number.
pub(crate) struct PredictionBuffer<'a> {
    predictions: &'a mut [MaybeUninit<ioracle_prediction>],
    n: &'a mut MaybeUninit<usize>,
}

impl<'a> PredictionBuffer<'a> {
    /// # Safety
    ///
    /// `predictions` is NULL or has room for `capacity`, `n` is NULL or has room
    /// for a number, and nobody else uses either.
    pub unsafe fn new(
        predictions: *mut ioracle_prediction,
        capacity: usize,
        n: *mut usize,
    ) -> Result<PredictionBuffer<'a>, ApiFailure> {
        if predictions.is_null() || !predictions.is_aligned() || capacity == 0 {
            return Err(ApiFailure::invalid("there is no room for predictions; give at least one"));
        }
        if capacity > MAX_CAPACITY {
            return Err(ApiFailure::invalid(format!(
                "the capacity is {capacity}; more than {MAX_CAPACITY} are never given"
            )));
        }
        // SAFETY: the caller promises it.
        let n = unsafe { single(n, "n") }?;
        // SAFETY: the caller promises it, and what is there may be anything.
        let predictions = unsafe { std::slice::from_raw_parts_mut(predictions.cast(), capacity) };
        Ok(PredictionBuffer { predictions, n })
    }

    /// Writes as many as there is room for.
    pub fn fill(self, predictions: impl Iterator<Item = ioracle_prediction>) -> ioracle_result {
        let mut n_written = 0;
        for (place, prediction) in self.predictions.iter_mut().zip(predictions) {
            place.write(prediction);
            n_written += 1;
        }
        self.n.write(n_written);
        if n_written == 0 { ioracle_result::IORACLE_NONE } else { ioracle_result::IORACLE_OK }
    }
}
