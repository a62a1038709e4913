// SPDX-License-Identifier: MIT OR Apache-2.0

//! The papers' metrics and baselines on recorded traces.
//!
//! [`Survey::of`] reads a trace once, to count the operations of each stream (so
//! that halves and evenly spaced positions are known). [`evaluate`] reads it
//! again and lets an oracle per stream predict every operation before it sees
//! it; [`measure_cost`] reads it a last time for what learning costs. What is
//! measured is one [`Evaluation`] per rank, with the fields that
//! `ioracle eval --json` prints.
//!
//! Memory does not grow with the trace, except for the tables of the Markov
//! baselines, which keep the whole history by their nature.

#![forbid(unsafe_code)]

mod ablation;
mod cost_run;
mod drive;
mod evaluate;
mod evaluation;
mod halves;
mod rank;
mod stream;
mod survey;

pub mod baselines;
pub mod document;
pub mod figures;
pub mod metrics;
pub mod server_patterns;

mod error;

pub use ablation::{Ablation, ablate};
pub use cost_run::measure_cost;
pub use drive::engine_for;
pub use error::Error;
pub use evaluate::{EvaluateOptions, EvaluationProgress, RankReport, evaluate};
pub use evaluation::Evaluation;
pub use halves::{Half, Halves};
pub use rank::EvaluationDetails;
pub use survey::Survey;
