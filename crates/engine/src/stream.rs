// SPDX-License-Identifier: MIT OR Apache-2.0

//! One stream as it is learned. Whatever the source, an operation goes through
//! [`StreamLearner::observe`]: it is compared with what was predicted, then
//! learned.

use ioracle_events::{
    Clue, Event, FastMap, Layer, Level, MpiInternals, Operation, OperationFilter, StreamId,
};
use ioracle_oracle::{Behaviour, Config, LearnedStream, Model, Oracle, Role};

use crate::names::{Meaning, Names, Settled};
use crate::path::PathAhead;
use crate::resemblance::Resemblances;
use crate::score::{ObservedOperation, Score, ScoreBySource};

/// Operations of a stream in which it has had no time to learn much itself.
pub const FIRST_OPERATIONS: u64 = 100;

/// Sees every operation of a stream beside the oracle that predicts it.
pub trait Watcher {
    /// Whether it looks at the operations of a level.
    fn watches(&self, _level: Level) -> bool {
        true
    }

    /// Whether an operation should be scored and learned at all.
    fn admits(&mut self, _operation: &Operation) -> bool {
        true
    }

    /// An operation has come that the oracle has not learned yet.
    fn before(&mut self, _oracle: &Oracle, _came: &ObservedOperation<'_>) {}

    /// The oracle has learned it.
    fn after(&mut self, _oracle: &Oracle, _came: &ObservedOperation<'_>) {}
}

/// Watches nothing.
impl Watcher for () {}

/// The oracle of one stream, and the score of its predictions.
#[derive(Clone, Debug)]
pub struct StreamLearner {
    /// What predicts the stream. Callers that pass operations directly define their
    /// contexts and files here, before [`observe`](Self::observe).
    pub oracle: Oracle,
    /// Operations that its oracle knew before the stream began.
    n_known: u64,
    behaviour: Behaviour,
    last_end_ns: Option<u64>,
    score: ScoreBySource,
    resemblances: Resemblances,
    /// Kept for callers that act on it.
    pub(crate) path: Option<Box<PathAhead>>,
}

impl StreamLearner {
    /// A stream of which nothing is known.
    pub fn new(config: &Config) -> StreamLearner {
        StreamLearner::resume(Oracle::new(config.clone()))
    }

    /// A stream that begins a new run with what this oracle knows.
    pub fn begin(known: &Oracle) -> StreamLearner {
        let mut oracle = known.clone();
        oracle.begin_run();
        StreamLearner::resume(oracle)
    }

    /// A stream that continues where this oracle left off.
    pub fn resume(oracle: Oracle) -> StreamLearner {
        let n_known = oracle.operations();
        StreamLearner {
            oracle,
            n_known,
            behaviour: Behaviour::default(),
            last_end_ns: None,
            score: ScoreBySource::default(),
            resemblances: Resemblances::default(),
            path: None,
        }
    }

    /// When its last operation ended, on the clock of its operations.
    pub fn last_end_ns(&self) -> Option<u64> {
        self.last_end_ns
    }

    /// Compares an operation with what was predicted, then learns it. `path` is
    /// that of its file, as far as the source gave it.
    pub fn observe(&mut self, operation: &Operation, path: Option<&str>) {
        self.forget_clues_before(operation);
        let came = self.observed(operation, path);
        self.score.add(self.oracle.predict(), &came);
        self.learn(&came, &mut ());
    }

    /// What was called inside a call of a library came after its beginning.
    fn forget_clues_before(&mut self, operation: &Operation) {
        if !matches!(operation.function.layer(), Layer::Posix | Layer::Stdio) {
            self.oracle.forget_clues();
        }
    }

    /// A new run of the program begins; what was learned stays.
    pub fn begin_run(&mut self) {
        self.oracle.begin_run();
        self.resemblances = Resemblances::default();
        self.last_end_ns = None;
    }

    /// Operations of this run.
    pub fn n_operations(&self) -> u64 {
        self.oracle.operations() - self.n_known
    }

    /// How good the predictions of this run have been so far.
    pub fn score(&self) -> Score {
        self.score.all()
    }

    /// The same by where the predictions came from.
    pub fn score_by_source(&self) -> &ScoreBySource {
        &self.score
    }

    /// The next operations, if they are kept.
    pub fn path_ahead(&self) -> Option<&PathAhead> {
        self.path.as_deref()
    }

    /// For a model in which the role of the stream has this many operations. The stream
    /// may have begun with what another role has learned, and those operations are
    /// counted there.
    pub(crate) fn into_learned(mut self, n_before: u64) -> LearnedStream {
        let n_operations = n_before.saturating_add(self.n_operations());
        self.oracle.count_operations(n_operations);
        LearnedStream { oracle: self.oracle, behaviour: self.behaviour }
    }

    fn observed<'a>(
        &self,
        operation: &'a Operation,
        path: Option<&'a str>,
    ) -> ObservedOperation<'a> {
        // A call that encloses others may have begun before the last one ended.
        let interarrival_ns =
            self.last_end_ns.map(|end_ns| operation.start_ns.saturating_sub(end_ns));
        let symbol = self.oracle.symbol_of(operation);
        ObservedOperation { operation, symbol, path, interarrival_ns }
    }

    /// Learns an operation that has been scored.
    fn learn(&mut self, came: &ObservedOperation<'_>, watcher: &mut impl Watcher) {
        let ObservedOperation { operation, path, .. } = *came;
        watcher.before(&self.oracle, came);
        if !self.oracle.knows_file(operation.file)
            && let Some(path) = path
        {
            self.oracle.define_file(operation.file, path);
        }
        self.oracle.observe(operation);
        watcher.after(&self.oracle, came);
        self.behaviour.observe(&self.oracle, operation, path);
        self.last_end_ns = Some(operation.end_ns);
    }
}

/// Probability below which a first operation was a surprise.
const SURPRISING: f64 = 0.5;

/// A stream, and what the engine knows around it.
pub(crate) struct StreamIntake<'a, W> {
    pub(crate) learner: &'a mut StreamLearner,
    /// Where its role is found, if it has one; looked up only when needed.
    pub(crate) role: Option<(StreamId, &'a FastMap<StreamId, Role>)>,
    pub(crate) model: &'a Model,
    pub(crate) names: &'a mut Names,
    /// Over the first operations of every stream.
    pub(crate) first_score: &'a mut ScoreBySource,
    pub(crate) watcher: &'a mut W,
}

impl<W: Watcher> StreamIntake<'_, W> {
    /// The next event of the stream.
    pub(crate) fn push(
        &mut self,
        filter: &mut OperationFilter,
        event: &Event,
        mpi: &mut MpiInternals,
    ) {
        if let Some(clue) = filter.push(event, mpi, |operation| self.observe(&operation)) {
            self.notice(&clue);
        }
    }

    /// A call of the stream that is no operation, and comes before the next one.
    fn notice(&mut self, clue: &Clue) {
        let path = self.names.files.get(&clue.file).map(|path| &**path);
        let stack = match self.names.contexts.get(&clue.context) {
            Some(&Meaning::Is(stack) | &Meaning::OneOf { new: stack, .. }) => Some(stack),
            None => None,
        };
        let StreamLearner { oracle, path: ahead, .. } = &mut *self.learner;
        if oracle.notice(clue, stack, path)
            && let Some(ahead) = ahead
        {
            ahead.reconsider(oracle, self.names);
        }
    }

    /// The next operation of the stream.
    pub(crate) fn observe(&mut self, operation: &Operation) {
        if !self.watcher.admits(operation) {
            return;
        }
        self.learner.forget_clues_before(operation);
        let settled = self.define_context(operation);
        let path = self.names.files.get(&operation.file).map(|path| &**path);
        let mut came = self.learner.observed(operation, path);
        // What is recognised because it was expected does not count as a correct
        // prediction.
        if settled == Settled::ByExpectation {
            came.symbol = None;
        }
        let predictions = self.learner.oracle.predict();
        self.learner.score.add(predictions, &came);
        if self.learner.n_operations() < FIRST_OPERATIONS {
            self.first_score.add(predictions, &came);
        }
        if let Some(better) = self.better_role(operation) {
            let (score, path) = (std::mem::take(&mut self.learner.score), self.learner.path.take());
            *self.learner = StreamLearner { score, path, ..better };
        }
        if !self.learner.oracle.knows_file(operation.file)
            && let Some(&bytes) = self.names.sizes.get(&operation.file)
        {
            self.learner.oracle.announce_size(operation.file, bytes);
        }
        self.learner.resemblances.judge(self.learner.oracle.predict(), &came);
        self.learner.learn(&came, self.watcher);
        self.learner.resemblances.advance(operation.context, &mut self.learner.oracle);
        let StreamLearner { oracle, path, .. } = &mut *self.learner;
        if let Some(path) = path {
            path.advance(operation, oracle.symbol_of(operation), oracle, self.names);
        }
    }

    fn define_context(&mut self, operation: &Operation) -> Settled {
        let context = operation.context;
        if self.learner.oracle.knows_context(context) {
            let StreamLearner { oracle, resemblances, .. } = &mut *self.learner;
            resemblances.check(operation, oracle);
            return Settled::ByItself;
        }
        let settled = self.names.settle(operation, &self.learner.oracle);
        let Some(&Meaning::Is(own)) = self.names.contexts.get(&context) else { return settled };
        let oracle = &mut self.learner.oracle;
        if self.learner.resemblances.has_room()
            && !oracle.knows_stack(own, operation.function)
            && let Some((relative, settled)) = self.names.relative(operation, oracle)
        {
            oracle.define_stack(context, relative);
            self.learner.resemblances.begin(context, own);
            return settled;
        }
        oracle.define_stack(context, own);
        settled
    }

    /// Processes that start at the same time do so in a different order in every run.
    /// When the first operation is a surprise, another role of the same program may be
    /// the right one: the one that expects it most.
    fn better_role(&self, operation: &Operation) -> Option<StreamLearner> {
        if self.learner.n_operations() > 0 {
            return None;
        }
        let (id, roles) = self.role?;
        let role = roles.get(&id)?;
        let Meaning::Is(stack) = self.names.contexts.get(&operation.context)? else { return None };
        let expects = |oracle: &Oracle| -> f64 {
            let right = oracle.predict().iter().filter(|next| {
                next.function == operation.function && oracle.stack_of(next.symbol) == Some(*stack)
            });
            right.map(|next| next.operation_probability).sum()
        };
        if expects(&self.learner.oracle) >= SURPRISING {
            return None;
        }
        let others = self.model.roles().filter(|view| view.role.program == role.program);
        let others = others.map(|view| (expects(view.oracle), view.oracle));
        let (expected, oracle) = others.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let mut better = (expected >= SURPRISING).then(|| StreamLearner::begin(oracle))?;
        better.oracle.define_stack(operation.context, *stack);
        Some(better)
    }
}
