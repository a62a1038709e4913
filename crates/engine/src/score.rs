// SPDX-License-Identifier: MIT OR Apache-2.0

//! How good the predictions were, by the definitions of `ioracle eval`.

/// Running means over the operations and data accesses of all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Operations scored.
    pub operations: u64,
    /// Data accesses among them.
    pub data_accesses: u64,
    /// Sum of the weights given to the symbol that came.
    pub context: f64,
    /// Sum of hit ratios (equation 3 of the report), each between 0 and 1.
    pub hit: f64,
    /// Sum of the weights given to the right file and offset.
    pub offset: f64,
    /// Data accesses whose size the first prediction had exactly.
    pub size_exact: u64,
    /// Operations whose file the first prediction had.
    pub file: u64,
    /// Sum of absolute errors of the interarrival time.
    pub time_error_ns: f64,
}
