// SPDX-License-Identifier: MIT OR Apache-2.0

//! Precision and recall under other constants (Table VI, Figures 1 and 2).

use ioracle_pattern::evaluation::{
    Algorithm, LabelledRun, MatchCounts, feed, largest_distance, shuffled,
};
use ioracle_pattern::{PatternConfig, RequestKind};

/// Precision and recall in percent, means over servers and orders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Accuracy {
    pub precision: f64,
    pub recall: f64,
}

/// The runs of one server, with the largest distance of each kind.
pub(super) struct Prepared {
    pub runs: Vec<LabelledRun>,
    largest: [f64; 2],
}

impl Prepared {
    pub(super) fn new(runs: Vec<LabelledRun>, radius: usize) -> Prepared {
        let largest = RequestKind::ALL.map(|kind| largest_distance(&runs, kind, radius));
        Prepared { runs, largest }
    }

    pub(super) fn largest(&self, kind: RequestKind) -> f64 {
        match kind {
            RequestKind::Read => self.largest[0],
            RequestKind::Write => self.largest[1],
        }
    }
}

/// Feeds all servers in random orders.
pub(super) fn accuracy(
    servers: &[Prepared],
    algorithm: Algorithm,
    config: PatternConfig,
    kind: RequestKind,
    n_orders: u64,
) -> Accuracy {
    let mut counts: Vec<MatchCounts> = Vec::new();
    for server in servers {
        for seed in 0..n_orders {
            let order = shuffled(server.runs.len(), seed + 1);
            let mut matcher = algorithm.matcher(config, kind, server.largest(kind));
            counts.push(feed(&mut *matcher, &server.runs, &order, kind).counts);
        }
    }
    let mean = |value: fn(&MatchCounts) -> Option<f64>| {
        let values: Vec<f64> = counts.iter().filter_map(value).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    Accuracy { precision: mean(MatchCounts::precision), recall: mean(MatchCounts::recall) }
}
