// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which waiting piece a server serves next.
//!
//! Written from the published descriptions, not from the code of AGIOS, where
//! most of these can be found under the same names. `docs/simulator.md` says
//! what was implemented and with which constants.

mod feedback;
mod file_queues;
mod native;
mod song;
mod time_order;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use crate::pieces::{Piece, PieceId, Pieces};

/// A request scheduler of the data servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SchedulingPolicy {
    /// The server's own: requests in service take turns buffer by buffer, over
    /// an elevator.
    Baseline,
    /// Time order: one queue, first come, first served.
    TimeOrder,
    /// Time order that joins what is contiguous in the queue.
    TimeOrderAggregating,
    /// A read and a write queue per file; the one with least waiting bytes first.
    ShortestJobFirst,
    /// Multilevel feedback: a queue per file, served once its quantum has grown
    /// to the size of the request.
    MultilevelFeedback,
    /// Multilevel feedback with quanta per file that waits for contiguous requests.
    Aioli,
    /// Song et al., 2011: within a time window all servers serve one application
    /// after the other, in the same order.
    Song,
    /// Requests go to the device as they come; its own queue finds the nearest.
    Noop,
}

impl SchedulingPolicy {
    /// All of them, the baseline first.
    pub const ALL: [SchedulingPolicy; 8] = [
        SchedulingPolicy::Baseline,
        SchedulingPolicy::TimeOrder,
        SchedulingPolicy::TimeOrderAggregating,
        SchedulingPolicy::ShortestJobFirst,
        SchedulingPolicy::MultilevelFeedback,
        SchedulingPolicy::Aioli,
        SchedulingPolicy::Song,
        SchedulingPolicy::Noop,
    ];

    /// Those that the paper selects from.
    pub const SELECTED: [SchedulingPolicy; 4] = [
        SchedulingPolicy::TimeOrder,
        SchedulingPolicy::TimeOrderAggregating,
        SchedulingPolicy::ShortestJobFirst,
        SchedulingPolicy::Song,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SchedulingPolicy::Baseline => "baseline",
            SchedulingPolicy::TimeOrder => "to",
            SchedulingPolicy::TimeOrderAggregating => "to-agg",
            SchedulingPolicy::ShortestJobFirst => "sjf",
            SchedulingPolicy::MultilevelFeedback => "mlf",
            SchedulingPolicy::Aioli => "aioli",
            SchedulingPolicy::Song => "song",
            SchedulingPolicy::Noop => "noop",
        }
    }

    pub(crate) fn scheduler(self) -> Box<dyn Scheduler> {
        match self {
            SchedulingPolicy::Baseline => Box::new(native::Elevator::default()),
            SchedulingPolicy::TimeOrder => Box::new(time_order::TimeOrder::default()),
            SchedulingPolicy::TimeOrderAggregating => Box::new(time_order::Aggregating::default()),
            SchedulingPolicy::ShortestJobFirst => Box::new(time_order::ShortestFirst::default()),
            SchedulingPolicy::MultilevelFeedback => Box::new(feedback::Feedback::default()),
            SchedulingPolicy::Aioli => Box::new(feedback::Aioli::default()),
            SchedulingPolicy::Song => Box::new(song::Song::default()),
            SchedulingPolicy::Noop => Box::new(native::Noop::default()),
        }
    }
}

impl fmt::Display for SchedulingPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SchedulingPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<SchedulingPolicy, String> {
        let known = |policy: &&SchedulingPolicy| policy.name().eq_ignore_ascii_case(text);
        SchedulingPolicy::ALL.iter().find(known).copied().ok_or_else(|| {
            let names: Vec<&str> =
                SchedulingPolicy::ALL.iter().map(|policy| policy.name()).collect();
            format!("a policy is one of {}", names.join(", "))
        })
    }
}

/// What a server does with its free device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Serve what is in the batch now, as one access whose buffers the server
    /// copies into one if there are several.
    Serve,
    /// The same without copying: the kernel merges neighbours in its queue.
    ServeMerged,
    /// Ask again then, or when something arrives.
    WaitUntil(u64),
    /// Nothing waits.
    Idle,
}

/// Holds the pieces that wait at one server.
pub(crate) trait Scheduler {
    /// A piece has arrived.
    fn add(&mut self, id: PieceId, piece: &Piece);

    /// Moves what is to be served now into `batch`, which is empty: pieces of
    /// one file and kind, one behind the other.
    fn next(
        &mut self,
        now_ns: u64,
        head: u64,
        pieces: &Pieces,
        batch: &mut Vec<PieceId>,
    ) -> Decision;
}
