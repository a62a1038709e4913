// SPDX-License-Identifier: MIT OR Apache-2.0

//! An engine for a recorded trace: what `ioracle run` tells its engine as names
//! appear is known here from the beginning. The engine itself tells an oracle a
//! name only when an operation has used it.

use ioracle_engine::{Config, Engine};
use ioracle_oracle::Model;
use ioracle_trace::Trace;

/// An engine that knows the names of a trace, and begins with what a model knows.
pub fn engine_for(trace: &Trace, config: Config, model: Model) -> Engine {
    // The trace holds them all in memory already.
    let mut engine = Engine::with_model(Config { max_definitions: usize::MAX, ..config }, model);
    trace.contexts().iter().for_each(|(id, frames)| engine.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| engine.define_file(id, path));
    engine
}
