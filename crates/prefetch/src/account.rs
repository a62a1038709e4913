// SPDX-License-Identifier: MIT OR Apache-2.0

//! Accounts for every byte that was read ahead, and for the time it saved.
//!
//! How long a read would have taken without help is the mean of the reads of the
//! same call site that had none, which includes those that the kernel's own
//! read-ahead served. Where a site has too few of them, because everything was
//! there in time, it is what the requests themselves took per byte.

use crate::planner::{CACHED_NS, CACHED_NS_PER_BYTE};
use ioracle_events::{FastMap, PredictionSource};
use serde::{Deserialize, Serialize};

/// Call sites whose times are kept; reads of further ones share one entry.
const MAX_SITES: usize = 4096;
/// The fewest reads without help that a median is taken of.
const FEW: usize = 3;
/// A read that takes this part of the time is faster.
const FASTER: f64 = 0.7;

/// What prefetching did in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrefetchReport {
    /// Bytes that were read ahead.
    pub bytes: u64,
    /// Of these, bytes that the program read afterwards.
    pub used: u64,
    /// Bytes that it never read.
    pub wasted: u64,
    /// Bytes that it asked for while they were on their way.
    pub late: u64,
    /// Bytes that the program read in all, from files that could be helped.
    pub read: u64,
    /// Time in reads.
    pub waited_s: f64,
    /// Estimated time that reads did not have to wait.
    pub saved_s: f64,
    /// Estimated time of all reads without any help.
    pub possible_s: f64,
    /// Bytes used, by where the prediction came from.
    pub by_source: SourceBytes,
    /// Whether it gave up before the program's end.
    pub stopped: bool,
    /// Why it gave up, or why it did nothing.
    pub why: Option<String>,
}

/// Bytes by the source of the predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceBytes {
    /// The grammar of this run.
    pub grammar: u64,
    /// A saved model of earlier runs.
    pub model: u64,
    /// The knowledge graph over runs.
    pub graph: u64,
}

impl SourceBytes {
    /// Counts bytes of a source.
    pub fn add(&mut self, source: PredictionSource, bytes: u64) {
        match source {
            PredictionSource::ThisRun => self.grammar += bytes,
            PredictionSource::Model => self.model += bytes,
            PredictionSource::Graph => self.graph += bytes,
        }
    }

    /// Adds those of another.
    pub fn add_all(&mut self, other: SourceBytes) {
        self.grammar += other.grammar;
        self.model += other.model;
        self.graph += other.graph;
    }
}

/// Time of reads, with and without help.
#[derive(Debug, Default)]
pub struct ReadTimes {
    sites: FastMap<u32, SiteTimes>,
    compared: Compared,
    waited_ns: u64,
    saved_ns: f64,
}

#[derive(Debug, Default)]
struct SiteTimes {
    unhelped: RecentTimes,
}

/// How much of a read had been read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpExtent {
    /// Every byte that was not in the cache anyway.
    Whole,
    /// Some, or it came late.
    Part,
}

/// Reads of which every byte had been read ahead, at call sites that have to wait without
/// help. They are counted: in a sum, one that had to wait for a processor outweighs a
/// hundred that were helped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// How many.
    pub n: u64,
    /// Those that took much less than they would have without help.
    pub n_faster: u64,
}

/// The last times of some reads.
#[derive(Clone, Debug, Default)]
struct RecentTimes {
    /// The oldest is overwritten.
    ns: Vec<u64>,
    n: usize,
}

/// Times that a median is taken of.
const MAX_RECENT: usize = 15;

impl RecentTimes {
    fn add(&mut self, took_ns: u64) {
        match self.ns.get_mut(self.n % MAX_RECENT) {
            Some(oldest) => *oldest = took_ns,
            None => self.ns.push(took_ns),
        }
        self.n = self.n.wrapping_add(1);
    }

    /// The median, once there are a few: a mean would follow a single read that had to
    /// wait for a processor.
    fn median_ns(&self) -> Option<f64> {
        let mut times = self.ns.clone();
        times.sort_unstable();
        times.get(times.len() / 2).filter(|_| times.len() >= FEW).map(|&ns| ns as f64)
    }
}

impl ReadTimes {
    /// A read that no byte was read ahead for.
    pub fn add_unhelped(&mut self, site: u32, took_ns: u64) {
        self.waited_ns = self.waited_ns.saturating_add(took_ns);
        if self.sites.len() < MAX_SITES || self.sites.contains_key(&site) {
            self.sites.entry(site).or_default().unhelped.add(took_ns);
        }
    }

    /// A read that bytes had been read ahead for, all or some. `ns_per_byte` is what
    /// reading ahead took.
    pub fn add_helped(
        &mut self,
        site: u32,
        bytes: u64,
        took_ns: u64,
        (ns_per_byte, extent): (f64, HelpExtent),
    ) {
        self.waited_ns = self.waited_ns.saturating_add(took_ns);
        let unhelped_ns = self.sites.get(&site).and_then(|site| site.unhelped.median_ns());
        let without_ns = match unhelped_ns {
            Some(unhelped_ns) => {
                let from_cache_ns = CACHED_NS + CACHED_NS_PER_BYTE * bytes as f64;
                if extent == HelpExtent::Whole && unhelped_ns > from_cache_ns {
                    self.compared.n += 1;
                    let is_faster = (took_ns as f64) < FASTER * unhelped_ns;
                    self.compared.n_faster += u64::from(is_faster);
                }
                unhelped_ns
            }
            None => bytes as f64 * ns_per_byte,
        };
        self.saved_ns += (without_ns - took_ns as f64).max(0.0);
    }

    /// Reads with help beside what they would have taken without.
    pub fn compared(&self) -> Compared {
        self.compared
    }

    /// Time in reads.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Time that reads did not have to wait.
    pub fn saved_ns(&self) -> f64 {
        self.saved_ns
    }
}
