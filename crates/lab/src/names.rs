// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tells an oracle the names behind the ids of an operation, as a live source
//! would: when the operation has come, not before.

use ioracle_events::Operation;
use ioracle_oracle::Oracle;
use ioracle_trace::Trace;

/// Tells the frames of an operation's call stack, unless they are known.
pub fn tell_context(oracle: &mut Oracle, trace: &Trace, operation: &Operation) {
    if !oracle.knows_context(operation.context)
        && let Some(frames) = trace.contexts().get(operation.context)
    {
        oracle.define_context(operation.context, frames);
    }
}

/// Tells the path of an operation's file, unless it is known.
pub fn tell_file(oracle: &mut Oracle, trace: &Trace, operation: &Operation) {
    if !oracle.knows_file(operation.file)
        && let Some(path) = trace.files().get(operation.file)
    {
        oracle.define_file(operation.file, path);
    }
}
