// SPDX-License-Identifier: MIT OR Apache-2.0

//! The limits of prefetching.

/// Pages are what a cache holds.
pub const PAGE_BYTES: u64 = 4096;

/// What a planner may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefetchSettings {
    /// Bytes that may lie in the cache, or be on their way there, unused. More
    /// than some 64 MiB brought nothing on storage that was tried, and competes
    /// with the program for memory.
    pub lead_bytes: u64,
    /// Files that may be ahead of the program at a time: thousands where they are small.
    /// The performer keeps fewer of them open.
    pub max_files_ahead: usize,
    /// Requests at a time, once predictions have proved right.
    pub max_in_flight: usize,
    /// Bytes a single request reads at most.
    pub max_request_bytes: u64,
    /// Bytes per second; none for no limit.
    pub rate_bytes_per_s: Option<u64>,
    /// Reads that are less likely to happen are not prefetched.
    pub min_probability: f64,
    /// The same for reads on a branch that is not the likeliest, which are made only
    /// where there is nothing else to do.
    pub min_branch_probability: f64,
    /// Nothing is done where reads take a smaller share of the time than this.
    pub min_gain: f64,
}

impl Default for PrefetchSettings {
    fn default() -> PrefetchSettings {
        PrefetchSettings {
            lead_bytes: 64 << 20,
            max_files_ahead: 4096,
            max_in_flight: 4,
            max_request_bytes: 1 << 20,
            rate_bytes_per_s: None,
            min_probability: 0.5,
            min_branch_probability: 0.2,
            min_gain: 0.05,
        }
    }
}
