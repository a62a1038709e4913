// SPDX-License-Identifier: MIT OR Apache-2.0

//! The only place that turns events into operations, drives oracles and scores
//! their predictions.
//!
//! Live capture, a recorded trace and the evaluation call the same [`Engine::observe`];
//! sources of operations instead of events, such as callers of the C interface, call
//! [`StreamLearner::observe`], which the engine calls too. So an offline replay is a
//! test of the online tool, and a number means the same wherever it is printed.

#![forbid(unsafe_code)]

mod access_record;
mod config;
mod engine;
mod graph_source;
mod names;
mod operations;
mod path;
mod resemblance;
pub mod score;
mod stream;
mod variables;

pub use config::{Config, Levels};
pub use engine::Engine;
pub use graph_source::GraphSource;
pub use operations::OperationStreams;
pub use path::{MAX_PATH_STEPS, PathAhead, PathStep};
pub use score::{ObservedOperation, Score, ScoreBySource};
pub use stream::{FIRST_OPERATIONS, StreamLearner, Watcher};
