// SPDX-License-Identifier: MIT OR Apache-2.0

//! The constants of the paper, by where it found them.

/// How patterns are built and compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternConfig {
    /// Length of a slice.
    pub slice_ns: u64,
    /// Whether a slice ends early when another load begins in it. The paper's do
    /// not.
    pub splits_at_loads: bool,
    /// Distance between requests to different files, and the largest there is,
    /// in bytes. (Equation 1.)
    pub infinite: u64,
    /// Requests per value of a series where reads dominate; never 0.
    pub read_compression: u32,
    /// The same where writes dominate; never 0.
    pub write_compression: u32,
    /// Values per series at most. A longer series is halved by joining
    /// neighbours, as often as needed.
    pub max_values: usize,
    /// Patterns whose counts differ by this share or more are not compared.
    /// (Equation 2.)
    pub max_difference: f64,
    /// A match has a score above this.
    pub threshold: f64,
    /// How many rows FastDTW looks to each side of the path found in coarser
    /// series.
    pub radius: usize,
}

impl PatternConfig {
    /// What the paper found best at the data servers of a parallel file system.
    pub const fn server() -> PatternConfig {
        PatternConfig {
            slice_ns: 1_000_000_000,
            splits_at_loads: false,
            infinite: 10_000_000_000,
            read_compression: 100,
            write_compression: 100,
            max_values: 1 << 16,
            max_difference: 0.25,
            threshold: 0.95,
            radius: 23,
        }
    }

    /// What it found best at I/O forwarding nodes: of the thresholds 0.98 (two
    /// nodes) and 0.99 (one or four) the latter.
    pub const fn io_node() -> PatternConfig {
        PatternConfig {
            write_compression: 10,
            max_difference: 0.40,
            threshold: 0.99,
            ..PatternConfig::server()
        }
    }

    /// The preset of this name: `server` or `io-node`.
    pub fn preset(name: &str) -> Option<PatternConfig> {
        match name {
            "server" => Some(PatternConfig::server()),
            "io-node" => Some(PatternConfig::io_node()),
            _ => None,
        }
    }
}

impl Default for PatternConfig {
    fn default() -> PatternConfig {
        PatternConfig::server()
    }
}
