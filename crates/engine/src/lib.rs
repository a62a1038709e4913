// SPDX-License-Identifier: MIT OR Apache-2.0

//! Feeds events to one oracle per stream and keeps the score of their
//! predictions.
//!
//! Live capture, a recorded trace and the C interface call the same
//! [`Engine::observe`]; so an offline replay is a test of the online tool.

#![forbid(unsafe_code)]

mod engine;
mod learner;
mod score;
mod variables;

pub use engine::{Config, Engine};
pub use learner::FIRST_OPERATIONS;
pub use score::{Came, Score};
