// SPDX-License-Identifier: MIT OR Apache-2.0

//! What learning costs, measured in a reading of its own.
//!
//! Between two operations of the evaluation the baselines walk through tables
//! of megabytes and iterators are read a thousand steps ahead; an `observe`
//! among them would mostly measure the caches they emptied. Here nothing runs
//! between two operations but the engine itself.

use std::collections::BTreeMap;
use std::time::Instant;

use ioracle_engine::{ObservedOperation, StreamLearner, Watcher};
use ioracle_events::StreamId;
use ioracle_oracle::{Config, Oracle};
use ioracle_trace::Trace;

use crate::drive::{Examiner, drive};
use crate::error::Error;
use crate::evaluate::RankReport;
use crate::metrics::cost::Cost;
use crate::survey::Survey;

/// A trace with fewer operations is learned several times, each time by a fresh
/// oracle: the first milliseconds of a process are spent on its memory.
const ENOUGH_OPERATIONS: u64 = 100_000;
const MAX_READINGS: u64 = 20;

/// Completes the reports of an evaluated trace by the cost of `observe`. Nothing
/// else should run meanwhile.
pub fn measure_cost(
    trace: &Trace,
    survey: &Survey,
    config: &Config,
    reports: &mut [RankReport],
) -> Result<(), Error> {
    let mut costs = Costs::default();
    let readings = ENOUGH_OPERATIONS.div_ceil(survey.operations().max(1)).min(MAX_READINGS);
    for _ in 0..readings {
        drive(trace, survey, config, &mut costs)?;
    }
    for report in reports {
        if let Some(cost) = costs.by_rank.get(&report.evaluation.rank) {
            report.evaluation.observe_ns_mean = cost.moments().mean();
            report.evaluation.observe_ns_p99 = cost.p99().map(|ns| ns as f64);
            report.details.observe = *cost.moments();
        }
    }
    Ok(())
}

#[derive(Default)]
struct Costs {
    by_rank: BTreeMap<u32, Cost>,
}

/// Runs while the oracle learns.
struct Stopwatch {
    started: Instant,
    cost: Cost,
}

impl Examiner for Costs {
    type Watch = Stopwatch;

    fn begin(&mut self, _stream: StreamId, _length: u64) -> Stopwatch {
        Stopwatch { started: Instant::now(), cost: Cost::default() }
    }

    fn end(&mut self, stream: StreamId, watch: Stopwatch, _learned: StreamLearner) {
        self.by_rank.entry(stream.rank).or_default().merge(&watch.cost);
    }
}

impl Watcher for Stopwatch {
    fn before(&mut self, _oracle: &Oracle, _came: &ObservedOperation<'_>) {
        self.started = Instant::now();
    }

    fn after(&mut self, _oracle: &Oracle, _came: &ObservedOperation<'_>) {
        let elapsed = self.started.elapsed();
        self.cost.add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    }
}
