// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learns a stream of symbols while it runs and says what comes next.
#![forbid(unsafe_code)]

mod ahead;
mod arena;
mod calibration;
mod check;
mod config;
mod discover;
mod expand;
mod follow;
mod grammar;
mod loops;
mod predictor;
mod predictors;
mod recent;
mod saved;
mod star_sequitur;
mod symbol;
mod watch;

pub use ahead::Ahead;
pub use config::{Config, Mode};
pub use expand::RuleView;
pub use grammar::Grammar;
pub use predictors::Candidate;
pub use star_sequitur::StarSequitur;
pub use symbol::{Exponent, LoopId, RuleId, Symbol, Terminal};
