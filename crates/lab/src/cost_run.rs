// SPDX-License-Identifier: MIT OR Apache-2.0

//! What learning costs, measured in a reading of its own.
//!
//! Between two operations of the evaluation the baselines walk through tables
//! of megabytes and iterators are read a thousand steps ahead; an `observe`
//! among them would mostly measure the caches they emptied. Here operations are
//! decoded in batches and then learned one after the other, nothing between.

use std::collections::BTreeMap;
use std::time::Instant;

use ioracle_events::{Operation, StreamId};
use ioracle_oracle::{Config, Oracle};
use ioracle_trace::Trace;

use crate::drive::{Follower, drive};
use crate::error::Error;
use crate::evaluate::RankReport;
use crate::metrics::cost::Cost;
use crate::names::{tell_context, tell_file};
use crate::survey::Survey;

/// Operations that are decoded before they are learned.
const BATCH: usize = 512;

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
    let mut stopwatch = Stopwatch { trace, config, costs: BTreeMap::new() };
    let readings = ENOUGH_OPERATIONS.div_ceil(survey.operations().max(1)).min(MAX_READINGS);
    for _ in 0..readings {
        drive(trace, survey, &mut stopwatch)?;
    }
    for report in reports {
        if let Some(cost) = stopwatch.costs.get(&report.evaluation.rank) {
            report.evaluation.observe_ns_mean = cost.moments().mean();
            report.evaluation.observe_ns_p99 = cost.p99().map(|ns| ns as f64);
            report.details.observe = *cost.moments();
        }
    }
    Ok(())
}

struct Stopwatch<'a> {
    trace: &'a Trace,
    config: &'a Config,
    costs: BTreeMap<u32, Cost>,
}

struct State {
    oracle: Oracle,
    batch: Vec<Operation>,
    cost: Cost,
}

impl Follower for Stopwatch<'_> {
    type State = State;

    fn begin(&mut self, _stream: StreamId, _length: u64) -> State {
        let oracle = Oracle::new(self.config.clone());
        State { oracle, batch: Vec::with_capacity(BATCH), cost: Cost::default() }
    }

    fn observe(&mut self, state: &mut State, operation: Operation) {
        state.batch.push(operation);
        if state.batch.len() == BATCH {
            state.learn(self.trace);
        }
    }

    fn end(&mut self, stream: StreamId, mut state: State) {
        state.learn(self.trace);
        self.costs.entry(stream.rank).or_default().merge(&state.cost);
    }
}

impl State {
    fn learn(&mut self, trace: &Trace) {
        for operation in self.batch.drain(..) {
            tell_context(&mut self.oracle, trace, &operation);
            tell_file(&mut self.oracle, trace, &operation);
            let start = Instant::now();
            self.oracle.observe(&operation);
            let elapsed = start.elapsed();
            self.cost.add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        }
    }
}
