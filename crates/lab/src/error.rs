// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a trace could not be evaluated or drawn.

/// What ends an evaluation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] ioracle_trace::Error),
    /// There are events but none of them is an operation.
    #[error(
        "the trace '{trace}' holds no operations (only seeks, failed calls or definitions); there is nothing to predict"
    )]
    NoOperations {
        /// Name of the trace.
        trace: String,
    },
    /// A figure could not be drawn.
    #[error("could not draw '{figure}': {reason}")]
    Figure {
        /// Name of the figure.
        figure: String,
        /// What the plotting library said.
        reason: String,
    },
}
