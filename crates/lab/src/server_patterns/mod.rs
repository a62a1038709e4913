// SPDX-License-Identifier: MIT OR Apache-2.0

//! The evaluation of the 2019 paper on server-side patterns, on labelled runs.
//!
//! [`PatternDataSet`] holds the requests of a set of runs and the throughput of
//! its options; [`document`] makes the paper's tables and figures of two of them.

mod cost;
mod data;
mod decisions;
mod document;
mod goals;
mod pictures;
mod scores;
mod sweep;

pub use data::{OptionThroughput, PatternDataSet, RequestRun, ServerRuns};
pub use decisions::{ChoiceFor, DecisionTally, OptionRewards, alternating};
pub use document::{PatternDocument, document};
pub use goals::MeasuredElsewhere;
