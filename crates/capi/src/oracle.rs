// SPDX-License-Identifier: MIT OR Apache-2.0

//! The explicit oracle: the caller reports what happened and asks what comes next.

use std::ffi::c_char;

use ::ioracle_oracle::{Config, Oracle};

use crate::barrier::guarded;
use crate::config::{self, ioracle_config};
use crate::observation::{Observed, ioracle_observation};
use crate::output::{self, PredictionBuffer};
use crate::prediction::ioracle_prediction;
use crate::result::{ApiFailure, ioracle_result};
use crate::session::{ORACLES, Session, SessionModel, ioracle_oracle};
use crate::text;

use ioracle_result::IORACLE_OK;

/// Makes an oracle that knows nothing yet. It may be used by any number of
/// threads, one after the other: each call holds the oracle's own lock. One
/// oracle per stream (thread, client, open file) predicts better than one for
/// all.
///
/// `config` may be NULL for the defaults.
///
/// # Safety
///
/// `config` is NULL or points to a configuration of the size that it says;
/// `oracle` is NULL or points to room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_new(
    config: *const ioracle_config,
    oracle: *mut *mut ioracle_oracle,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let config = match unsafe { config::read(config) }? {
            Some(given) => given.checked()?,
            None => Config::default(),
        };
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(oracle, "oracle") }?;
        room.write(keep(Oracle::new(config))?);
        Ok(IORACLE_OK)
    })
}

/// Frees an oracle, once no other thread is in a call with it. Its iterators
/// stay. NULL is fine; a handle that was freed before is detected and nothing happens.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_oracle_free(oracle: *mut ioracle_oracle) -> ioracle_result {
    guarded(|| {
        if !oracle.is_null() {
            drop(ORACLES.remove(oracle as u64)?);
        }
        Ok(IORACLE_OK)
    })
}

/// Learns one finished call. Pass calls in the order in which they ended;
/// one that began before the last one ended counts as following at once.
///
/// # Safety
///
/// `observation` is NULL or points to an observation of the size that it says,
/// whose texts end in NUL and whose stack has as many frames as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_observe(
    oracle: *mut ioracle_oracle,
    observation: *const ioracle_observation,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let observed = unsafe { Observed::read(observation) }?;
        ORACLES.with(oracle as u64, |session| {
            session.observe(&observed);
            Ok(IORACLE_OK)
        })
    })
}

/// What may come next, the most probable first: at most `capacity` predictions, and in
/// `n` how many. There is always one, even before anything was observed: then it has
/// `is_unseen` set.
///
/// # Safety
///
/// `predictions` has room for `capacity` predictions, `n` for a number, or they
/// are NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_predict(
    oracle: *const ioracle_oracle,
    predictions: *mut ioracle_prediction,
    capacity: usize,
    n: *mut usize,
) -> ioracle_result {
    // SAFETY: the caller promises it.
    let room = || unsafe { PredictionBuffer::new(predictions, capacity, n) };
    answered(oracle, room, |model, room| {
        room.fill(model.oracle().predict().iter().map(|stated| model.to_c(stated)))
    })
}

/// The next operations one after the other, beginning with the `first`-th
/// prediction (0 is the most probable): at most `capacity`, and in `n` how many.
/// IORACLE_NONE if there is no such prediction.
///
/// # Safety
///
/// As for ioracle_oracle_predict().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_ahead(
    oracle: *const ioracle_oracle,
    first: usize,
    predictions: *mut ioracle_prediction,
    capacity: usize,
    n: *mut usize,
) -> ioracle_result {
    // SAFETY: the caller promises it.
    let room = || unsafe { PredictionBuffer::new(predictions, capacity, n) };
    answered(oracle, room, |model, room| {
        room.fill(model.oracle().ahead(first).map(|stated| model.to_c(&stated)))
    })
}

/// Defines the path of a file that the caller identifies by a number (not 0), so that
/// the number can stand for it in observations and predictions.
///
/// # Safety
///
/// `path` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_define_file(
    oracle: *mut ioracle_oracle,
    file: u64,
    path: *const c_char,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let path = text::path(unsafe { text::required(path, "path", text::MAX_PATH_BYTES) }?)?;
        if file == 0 {
            return Err(ApiFailure::invalid(
                "file is 0, which stands for none; use another number",
            ));
        }
        ORACLES.with(oracle as u64, |session| {
            session.define_file(file, path);
            Ok(IORACLE_OK)
        })
    })
}

/// A new run of the program begins: nothing is open, ids of files may change their
/// meaning, the clock may start over. What was learned stays, and the run is expected
/// to begin like the last one.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_oracle_begin_run(oracle: *mut ioracle_oracle) -> ioracle_result {
    guarded(|| {
        ORACLES.with(oracle as u64, |session| {
            session.begin_run();
            Ok(IORACLE_OK)
        })
    })
}

/// Adds what another oracle has learned; the other one does not change. The merged one
/// begins a new run.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_oracle_merge(
    oracle: *mut ioracle_oracle,
    other: *const ioracle_oracle,
) -> ioracle_result {
    guarded(|| {
        // Never two locks at a time, so that their order does not matter.
        let other = ORACLES.with(other as u64, |session| Ok(session.model().clone()))?;
        ORACLES.with(oracle as u64, |session| {
            session.merge(&other);
            Ok(IORACLE_OK)
        })
    })
}

/// How much an oracle knows and holds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ioracle_info {
    /// Operations learned, in all runs.
    pub operations: u64,
    /// Contexts distinguished, each with its function.
    pub symbols: u64,
    /// Occurrences in all rules of the grammar.
    pub grammar_size: u64,
    /// Memory of the model.
    pub memory_bytes: u64,
    /// Reserved, 0.
    pub reserved: [u64; 4],
}

/// How much an oracle knows and holds.
///
/// # Safety
///
/// `info` is NULL or points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_info(
    oracle: *const ioracle_oracle,
    info: *mut ioracle_info,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(info, "info") }?;
        ORACLES.with(oracle as u64, |session| {
            let oracle = session.model().oracle();
            room.write(ioracle_info {
                operations: oracle.operations(),
                symbols: oracle.symbols() as u64,
                grammar_size: oracle.grammar().grammar().size() as u64,
                memory_bytes: oracle.memory_bytes() as u64,
                reserved: [0; 4],
            });
            Ok(IORACLE_OK)
        })
    })
}

/// How good the predictions were, each compared with the operation that followed
/// it. The same measures, by the same code, as those of 'ioracle eval'.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ioracle_score {
    /// Operations observed since the oracle was made or loaded.
    pub operations: u64,
    /// Data accesses among them.
    pub data_accesses: u64,
    /// Mean probability given to the operation that came, in percent.
    pub context_accuracy: f64,
    /// Operations whose file was predicted, in percent.
    pub file_accuracy: f64,
    /// Data accesses whose file and offset were predicted, in percent.
    pub offset_accuracy: f64,
    /// Overlap of the predicted and the accessed bytes, in percent.
    pub hit_ratio: f64,
    /// Data accesses whose size was predicted exactly, in percent.
    pub size_exact: f64,
    /// Mean absolute error of the interarrival time, in seconds.
    pub time_error_s: f64,
    /// How far `operation_probability` is off, between 0 and 1.
    pub calibration_error: f64,
    /// How far `probability` is off, between 0 and 1.
    pub place_calibration_error: f64,
    /// Reserved, 0.
    pub reserved: [u64; 6],
}

/// How good the predictions of an oracle have been since it was made or loaded.
/// Without operations all is 0.
///
/// # Safety
///
/// `score` is NULL or points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_score(
    oracle: *const ioracle_oracle,
    score: *mut ioracle_score,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(score, "score") }?;
        ORACLES.with(oracle as u64, |session| {
            let score = session.model().score();
            room.write(ioracle_score {
                operations: score.operations,
                data_accesses: score.data_accesses(),
                context_accuracy: score.context_accuracy(),
                file_accuracy: score.file_accuracy(),
                offset_accuracy: score.offset_accuracy(),
                hit_ratio: score.hit_ratio(),
                size_exact: score.size_exact_share(),
                time_error_s: score.time_error_s(),
                calibration_error: score.context.calibration().error().unwrap_or(0.0),
                place_calibration_error: score.place.calibration.error().unwrap_or(0.0),
                reserved: [0; 6],
            });
            Ok(IORACLE_OK)
        })
    })
}

/// Fills the output from what the oracle knows.
fn answered<'a>(
    oracle: *const ioracle_oracle,
    room: impl FnOnce() -> Result<PredictionBuffer<'a>, ApiFailure>,
    fill: impl FnOnce(&SessionModel, PredictionBuffer<'a>) -> ioracle_result,
) -> ioracle_result {
    guarded(|| {
        let room = room()?;
        ORACLES.with(oracle as u64, |session| Ok(fill(session.model(), room)))
    })
}

/// Stores an oracle under a new handle.
pub(crate) fn keep(oracle: Oracle) -> Result<*mut ioracle_oracle, ApiFailure> {
    ORACLES.insert(Session::new(oracle)).map(|handle| handle as *mut ioracle_oracle)
}
