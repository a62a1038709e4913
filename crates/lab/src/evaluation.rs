// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `ioracle eval --json` prints for one trace and rank.

use serde::Serialize;

use crate::baselines::BaselineResults;

/// The numbers of one rank of one trace.
///
/// Shares are percentages where the field's description says so. A number is
/// `null` where nothing was there to measure: the hit ratio of a rank that
/// accessed no data, the interarrival time of a single operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Name of the trace.
    pub trace: String,
    /// The rank.
    pub rank: u32,
    /// Operations of all its streams.
    pub operations: u64,
    /// Distinct context symbols, summed over its streams.
    pub symbols: u64,
    /// Mean weight given to the symbol that came, in percent.
    pub context_accuracy: Option<f64>,
    /// The same over the second half of each stream.
    pub context_accuracy_stationary: Option<f64>,
    /// Percent of operations whose highest-weight prediction was right.
    pub context_top1: Option<f64>,
    /// Brier score of the predicted distribution, 0 to 2.
    pub context_brier: Option<f64>,
    /// Expected calibration error over 10 bins of the top probability, 0 to 1.
    pub calibration_error: Option<f64>,
    /// The same of the probability of operation, file and place together.
    pub place_calibration_error: Option<f64>,
    /// What that would be by chance alone if each statement held as often as it says.
    pub place_calibration_by_chance: Option<f64>,
    /// Symbols right in a row, relative to the operations left (at most 1000),
    /// 0 to 1, at 1000 positions of the second half.
    pub horizon_share: Option<f64>,
    /// Symbols in all rule bodies at the end.
    pub grammar_size: u64,
    /// The same for plain Sequitur on the same stream.
    pub sequitur_grammar_size: u64,
    /// Percent of symbols that always had one size.
    pub one_size_symbols: Option<f64>,
    /// Relative error of predicted sizes, each cut at 5; empty accesses skipped.
    pub size_error_mean: Option<f64>,
    /// Percent of data accesses whose size was exact.
    pub size_exact: Option<f64>,
    /// Percent of data accesses whose file and offset were predicted.
    pub offset_accuracy: Option<f64>,
    /// The same by the contiguous assumption.
    pub contiguous_accuracy: Option<f64>,
    /// Percent of operations whose file was predicted, new ones by name.
    pub file_accuracy: Option<f64>,
    /// Mean hit ratio (equation 3 of the report) of data accesses, in percent.
    pub hit_ratio: Option<f64>,
    /// The same over the second half of each stream.
    pub hit_ratio_stationary: Option<f64>,
    /// Mean absolute error of the interarrival time, in seconds.
    pub time_error_s: Option<f64>,
    /// The same for 'immediately'.
    pub immediate_error_s: Option<f64>,
    /// Mean cost of learning one operation.
    pub observe_ns_mean: Option<f64>,
    /// What 99 of 100 operations do not exceed.
    pub observe_ns_p99: Option<f64>,
    /// Memory of the models of all streams.
    pub model_bytes: u64,
    /// The baselines, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baselines: Option<BaselineResults>,
}
