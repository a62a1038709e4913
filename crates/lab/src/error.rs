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
    /// There are events but none of them accesses a variable.
    #[error(
        "the trace '{trace}' contains no accesses to variables (calls of HDF5, netCDF or PnetCDF); leave out --variables"
    )]
    NoVariables {
        /// Name of the trace.
        trace: String,
    },
    /// The rank that was asked for accesses none, others do.
    #[error(
        "rank {rank} of the trace '{trace}' accesses no variables (by calls of HDF5, netCDF or PnetCDF); ask for a rank that does: {others}"
    )]
    NoVariablesOfRank {
        /// Name of the trace.
        trace: String,
        /// The rank that was asked for.
        rank: u32,
        /// Those that do, in words.
        others: String,
    },
    /// Each stream under way needs an oracle in memory.
    #[error(
        "more than {most} threads of the trace '{trace}' are under way at the same time; evaluate its ranks one by one with --rank, or a shorter part of it"
    )]
    TooManyStreams {
        /// Name of the trace.
        trace: String,
        /// How many there may be.
        most: usize,
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
