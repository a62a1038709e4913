// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the knowledge graph expects of a run, as reads.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::time::Instant;

use ioracle_engine::{Engine, GraphSource};
use ioracle_events::{PredictionSource, StreamId};
use ioracle_knowledge::{GraphStep, Navigator, VisitKind};
use ioracle_prefetch::{ExpectedRead, Planner, PrefetchRequest, Situation};

use super::driver::Files;

/// Steps that are kept beyond those that are planned.
const STEPS_IN_STOCK: usize = 64;
/// A large part is read piece by piece, and so each piece is due at its own time.
const PIECE_BYTES: u64 = 1 << 20;
/// Steps that the program may be in: libraries read a little ahead and behind.
const STEPS_AT_HAND: usize = 4;
/// Libraries read whole blocks, netCDF of this size. One of which a half is missing
/// takes as long as one of which all is.
const BLOCK_BYTES: u64 = 8192;

/// How far each stream is planned in the graph.
#[derive(Default)]
pub struct GraphPlans {
    streams: HashMap<Option<StreamId>, GraphPlan>,
}

struct GraphPlan {
    /// The number of the first step that is not planned yet.
    next_step: u64,
    n_derived: u64,
    n_visits: u64,
    /// When its last visit was seen.
    seen: Instant,
}

impl GraphPlans {
    /// Whether anything has changed since the last plan.
    pub fn has_news(&self, source: &GraphSource) -> bool {
        source.ahead().any(|(stream, navigator)| {
            let plan = self.streams.get(&stream);
            plan.is_none_or(|plan| {
                (plan.n_derived, plan.n_visits)
                    != (navigator.n_derived(), navigator.counts().visits)
            })
        })
    }

    /// How likely the nearest read is that is not planned yet.
    pub fn confidence(&self, source: &GraphSource) -> f64 {
        let of = |(stream, navigator): (Option<StreamId>, &Navigator)| {
            let next = self.streams.get(&stream).map_or(0, |plan| plan.next_step);
            let n_planned = next.saturating_sub(navigator.first_number()) as usize;
            let mut steps = navigator.path().skip(n_planned);
            let step = steps.find(|step| is_read(step))?;
            Some(GraphSource::probability(navigator, step))
        };
        source.ahead().filter_map(of).fold(0.0, f64::max)
    }

    /// Plans what is ahead of all streams: the next step of each, then the one after that
    /// of each. Within such a round, reads come in the order of their files, because what
    /// ranks read together lies side by side and becomes one request.
    pub fn plan(
        &mut self,
        engine: &mut Engine,
        planner: &mut Planner,
        files: &mut Files,
        (situation, now): (Situation, Instant),
    ) -> Vec<PrefetchRequest> {
        let Some(source) = engine.graph_mut() else { return Vec::new() };
        self.extend(source, now);
        let mut streams = Vec::new();
        for (stream, navigator) in source.ahead() {
            let Some(plan) = self.streams.get_mut(&stream) else { continue };
            let first = navigator.first_number();
            plan.next_step = plan.next_step.max(first);
            let n_planned = (plan.next_step - first) as usize;
            let steps = (plan.next_step..).zip(navigator.path().skip(n_planned));
            streams.push((stream, navigator, since_ns(stream, plan, now), steps));
        }
        // The stream and step of each read in the order in which the planner looks at them.
        let mut rounds: Vec<(usize, u64)> = Vec::new();
        let mut round: VecDeque<ExpectedRead> = VecDeque::new();
        let expected = std::iter::from_fn(|| {
            while round.is_empty() {
                let mut reads = Vec::new();
                let mut is_over = true;
                for (n, (_, navigator, since_ns, steps)) in streams.iter_mut().enumerate() {
                    let Some((number, step)) = steps.find(|(_, step)| is_read(step)) else {
                        continue;
                    };
                    is_over = false;
                    let file = step.path.as_deref().and_then(|path| files.key_of_path(path));
                    let Some(file) = file else { continue };
                    let probability = GraphSource::probability(navigator, step);
                    let storage = files.storage(file);
                    let in_ns = navigator.from_now_ns(step).saturating_sub(*since_ns);
                    reads.extend(
                        reads_of(step, in_ns, probability)
                            .map(|read| (n, number, ExpectedRead { file, storage, ..read })),
                    );
                }
                if is_over {
                    return None;
                }
                reads.sort_by_key(|(_, _, read)| (read.file, read.bytes.start));
                rounds.extend(reads.iter().map(|(n, number, _)| (*n, *number)));
                round.extend(reads.into_iter().map(|(_, _, read)| read));
            }
            round.pop_front()
        });
        let (requests, n_planned) = planner.plan(situation, expected);
        for (n, (stream, navigator, _, steps)) in streams.iter_mut().enumerate() {
            let Some(plan) = self.streams.get_mut(stream) else { continue };
            let left = rounds.iter().skip(n_planned).find(|(other, _)| *other == n);
            let end = navigator.first_number() + navigator.path().len() as u64;
            plan.next_step = match left {
                Some((_, number)) => *number,
                None => steps.next().map_or(end, |(number, _)| number),
            };
        }
        requests
    }

    /// Makes the paths long enough, and notes where each stream is.
    fn extend(&mut self, source: &mut GraphSource, now: Instant) {
        let short: Vec<Option<StreamId>> = source
            .ahead()
            .filter(|(stream, navigator)| {
                let visits = navigator.counts().visits;
                let plan = self.streams.entry(*stream).or_insert(GraphPlan {
                    next_step: 0,
                    n_derived: 0,
                    n_visits: visits,
                    seen: now,
                });
                if plan.n_visits != visits {
                    (plan.n_visits, plan.seen) = (visits, now);
                }
                if plan.n_derived != navigator.n_derived() {
                    plan.n_derived = navigator.n_derived();
                    plan.next_step = navigator.first_number();
                }
                let end = navigator.first_number() + navigator.path().len() as u64;
                end < plan.next_step + STEPS_IN_STOCK as u64
            })
            .map(|(stream, _)| stream)
            .collect();
        short.into_iter().for_each(|stream| source.extend(stream, STEPS_IN_STOCK));
    }
}

/// Whether the graph expects a read of these bytes about now.
pub fn is_expected(source: &GraphSource, path: &str, bytes: &Range<u64>) -> bool {
    source.ahead().any(|(_, navigator)| {
        let at_hand = navigator.passed().into_iter().chain(navigator.path().take(STEPS_AT_HAND));
        at_hand.filter(|step| step.path.as_deref() == Some(path)).any(|step| {
            let reach = |extent: &Range<u64>| extent.end.saturating_add(BLOCK_BYTES);
            let next = step.extents.partition_point(|extent| reach(extent) <= bytes.start);
            let next = step.extents.get(next);
            next.is_some_and(|extent| extent.start.saturating_sub(BLOCK_BYTES) < bytes.end)
        })
    })
}

fn is_read(step: &GraphStep) -> bool {
    step.kind == VisitKind::Read && step.path.is_some() && !step.extents.is_empty()
}

/// Since the last visit; before the first one, the program is about to begin.
fn since_ns(stream: Option<StreamId>, plan: &GraphPlan, now: Instant) -> u64 {
    stream.map_or(0, |_| now.duration_since(plan.seen).as_nanos() as u64)
}

/// The reads of a step, without their file. Within a step, bytes are due one after the
/// other.
fn reads_of(step: &GraphStep, in_ns: u64, probability: f64) -> impl Iterator<Item = ExpectedRead> {
    let extents: &[Range<u64>] = if is_read(step) { &step.extents } else { &[] };
    let total: u64 = extents.iter().map(|range| range.end - range.start).sum();
    let ns_per_byte = step.io_time_ns as f64 / total.max(1) as f64;
    let mut passed = 0;
    let pieces = extents.iter().flat_map(|range| {
        let start = range.start - range.start % BLOCK_BYTES;
        let end = range.end.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(range.end);
        let starts = (start..end).step_by(PIECE_BYTES as usize);
        starts.map(move |start| start..end.min(start.saturating_add(PIECE_BYTES)))
    });
    pieces.map(move |bytes| {
        let within_ns = (passed as f64 * ns_per_byte) as u64;
        passed += bytes.end - bytes.start;
        ExpectedRead {
            file: ioracle_prefetch::FileKey(0),
            storage: ioracle_prefetch::StorageKey::default(),
            bytes,
            in_ns: in_ns.saturating_add(within_ns),
            probability,
            source: PredictionSource::Graph,
        }
    })
}
