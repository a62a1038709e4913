// SPDX-License-Identifier: MIT OR Apache-2.0

//! Iterators: the future, step by step, any distance ahead.

use std::sync::Arc;

use ioracle_events::Prediction;

use crate::barrier::guarded;
use crate::handle::HandleTable;
use crate::output;
use crate::prediction::ioracle_prediction;
use crate::result::ioracle_result;
use crate::session::{ORACLES, SessionModel, ioracle_oracle};

use ioracle_result::{IORACLE_NONE, IORACLE_OK};

/// Reads the future step by step; opaque.
pub struct ioracle_iterator {
    _private: [u8; 0],
}

static ITERATORS: HandleTable<Reading> = HandleTable::new(2, "iterator");

/// Makes an iterator that reads on from the `first`-th prediction (0 is the most
/// probable). It reads what was known when it was made: later observations do
/// not change it, nor does freeing the oracle. While one made since the last
/// observation is alive, the next observation copies the whole model, so free
/// iterators before observing where that matters.
///
/// IORACLE_NONE, and no iterator, if there is no such prediction.
///
/// # Safety
///
/// `iterator` is NULL or points to room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_iterate(
    oracle: *const ioracle_oracle,
    first: usize,
    iterator: *mut *mut ioracle_iterator,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(iterator, "iterator") }?;
        let model = ORACLES.with(oracle as u64, |session| Ok(session.model().clone()))?;
        if first >= model.oracle().predict().len() {
            room.write(std::ptr::null_mut());
            return Ok(IORACLE_NONE);
        }
        room.write(ITERATORS.insert(Reading::new(model, first))? as *mut ioracle_iterator);
        Ok(IORACLE_OK)
    })
}

/// Returns the operation that the iterator is at, and moves to the next. IORACLE_NONE
/// at the end: where only something never seen before could follow.
///
/// # Safety
///
/// `prediction` is NULL or points to room for a prediction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_step(
    iterator: *mut ioracle_iterator,
    prediction: *mut ioracle_prediction,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(prediction, "prediction") }?;
        ITERATORS.with(iterator as u64, |reading| {
            let Some(stated) = reading.next() else { return Ok(IORACLE_NONE) };
            room.write(reading.model.to_c(&stated));
            Ok(IORACLE_OK)
        })
    })
}

/// Makes another iterator at the same operation.
///
/// # Safety
///
/// `copy` is NULL or points to room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_iterator_copy(
    iterator: *const ioracle_iterator,
    copy: *mut *mut ioracle_iterator,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(copy, "copy") }?;
        let reading = ITERATORS.with(iterator as u64, |reading| Ok(reading.again()))?;
        room.write(ITERATORS.insert(reading)? as *mut ioracle_iterator);
        Ok(IORACLE_OK)
    })
}

/// Frees an iterator. NULL is fine; a handle that was freed before is detected and nothing
/// happens.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_iterator_free(iterator: *mut ioracle_iterator) -> ioracle_result {
    guarded(|| {
        if !iterator.is_null() {
            drop(ITERATORS.remove(iterator as u64)?);
        }
        Ok(IORACLE_OK)
    })
}

/// A place in the future of a model.
struct Reading {
    /// Reads from `model`; before it, so that it is dropped first.
    path: Box<dyn Iterator<Item = Prediction> + Send>,
    model: Arc<SessionModel>,
    first: usize,
    n_read: usize,
}

impl Reading {
    fn new(model: Arc<SessionModel>, first: usize) -> Reading {
        // SAFETY: the model stands behind an Arc that is kept beside the reference and
        // outlives it. It neither moves nor changes: other holders can change it only
        // through `Arc::make_mut`, which copies it as long as this Arc exists, and no
        // `Weak` is ever made.
        let shared: &'static SessionModel = unsafe { &*Arc::as_ptr(&model) };
        Reading { path: Box::new(shared.oracle().ahead(first)), model, first, n_read: 0 }
    }

    fn next(&mut self) -> Option<Prediction> {
        let stated = self.path.next();
        self.n_read += usize::from(stated.is_some());
        stated
    }

    /// Another one at the same operation: the path is read again up to there.
    fn again(&self) -> Reading {
        let mut again = Reading::new(self.model.clone(), self.first);
        for _ in 0..self.n_read {
            again.next();
        }
        again
    }
}
