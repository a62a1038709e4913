// SPDX-License-Identifier: MIT OR Apache-2.0

//! What ioracle is measured against, in the same harness.
//!
//! | baseline | predicts |
//! | --- | --- |
//! | `contiguous` | the file of the last operation, at its end, the last size |
//! | `immediate` | the next operation follows at once |
//! | `last_time` | the interarrival time just seen comes again |
//! | `markov1` … `markov8` | what followed exactly these 1, 2, 4, 8 symbols, by count |
//! | `longest16` | what followed the longest seen context of up to 16 symbols, by count |
//! | `sequitur_equal` | the SC14 system: plain Sequitur, predictors of equal weight |

mod contiguous;
mod history;
mod omniscio;
mod sequitur;

use serde::Serialize;

pub use contiguous::Contiguous;
pub use history::{History, ORDERS};
pub use omniscio::OmniscioBaseline;

use ioracle_engine::score::{ContextScore, PlaceScore};

use crate::halves::Halves;

/// The accuracy fields that apply to a baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BaselineResult {
    /// See [`Evaluation::context_accuracy`](crate::Evaluation::context_accuracy).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_accuracy: Option<f64>,
    /// See [`Evaluation::context_accuracy_stationary`](crate::Evaluation::context_accuracy_stationary).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_accuracy_stationary: Option<f64>,
    /// See [`Evaluation::context_top1`](crate::Evaluation::context_top1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_top1: Option<f64>,
    /// See [`Evaluation::size_exact`](crate::Evaluation::size_exact).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_exact: Option<f64>,
    /// See [`Evaluation::offset_accuracy`](crate::Evaluation::offset_accuracy).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_accuracy: Option<f64>,
    /// See [`Evaluation::file_accuracy`](crate::Evaluation::file_accuracy).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_accuracy: Option<f64>,
    /// See [`Evaluation::hit_ratio`](crate::Evaluation::hit_ratio).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_ratio: Option<f64>,
    /// See [`Evaluation::hit_ratio_stationary`](crate::Evaluation::hit_ratio_stationary).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_ratio_stationary: Option<f64>,
    /// See [`Evaluation::time_error_s`](crate::Evaluation::time_error_s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_error_s: Option<f64>,
}

impl BaselineResult {
    pub(crate) fn of_context(score: &Halves<ContextScore>) -> BaselineResult {
        BaselineResult {
            context_accuracy: score.whole.accuracy(),
            context_accuracy_stationary: score.second.accuracy(),
            context_top1: score.whole.top1(),
            ..BaselineResult::default()
        }
    }

    pub(crate) fn with_place(self, score: &Halves<PlaceScore>) -> BaselineResult {
        let Halves { whole, second } = score;
        BaselineResult {
            size_exact: whole.size_exact.percent(),
            offset_accuracy: whole.offset.percent(),
            file_accuracy: whole.file.percent(),
            hit_ratio: whole.hit.percent(),
            hit_ratio_stationary: second.hit.percent(),
            ..self
        }
    }
}

/// The results of all baselines of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BaselineResults {
    /// The contiguous assumption.
    pub contiguous: BaselineResult,
    /// Immediate reaccess.
    pub immediate: BaselineResult,
    /// The SC14 system.
    pub sequitur_equal: BaselineResult,
    /// Order 1.
    pub markov1: BaselineResult,
    /// Order 2.
    pub markov2: BaselineResult,
    /// Order 4.
    pub markov4: BaselineResult,
    /// Order 8.
    pub markov8: BaselineResult,
    /// Longest matching context of up to 16.
    pub longest16: BaselineResult,
    /// Last value for time.
    pub last_time: BaselineResult,
}

impl BaselineResults {
    /// Each baseline with its name in the JSON document.
    pub fn named(&self) -> [(&'static str, &BaselineResult); 9] {
        [
            ("contiguous", &self.contiguous),
            ("immediate", &self.immediate),
            ("sequitur_equal", &self.sequitur_equal),
            ("markov1", &self.markov1),
            ("markov2", &self.markov2),
            ("markov4", &self.markov4),
            ("markov8", &self.markov8),
            ("longest16", &self.longest16),
            ("last_time", &self.last_time),
        ]
    }
}
