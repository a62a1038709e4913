// SPDX-License-Identifier: MIT OR Apache-2.0

//! One operation of one stream: it is compared with what was predicted, then
//! learned.

use ioracle_events::{ContextId, ContextSymbol, FileId, Operation, StreamId};
use ioracle_oracle::{Behaviour, Candidates, Config, Learned, Model, Oracle, Role, StackId};

use crate::engine::Map;
use crate::score::{Came, Score};

/// Operations of a stream in which it has had no time to learn much itself.
pub const FIRST_OPERATIONS: u64 = 100;

/// What the source told of its numbers, for all streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) contexts: Map<ContextId, Meaning>,
    pub(crate) files: Map<FileId, Box<str>>,
    /// Known stacks that a new one was found to be.
    pub(crate) recognised: Map<StackId, StackId>,
}

/// Which call stack a context is.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Is(StackId),
    /// One of these, else a new one; settled when it is first used.
    OneOf {
        new: StackId,
        known: Candidates,
    },
}

/// Probability from which on what is expected says more than the order of calls,
/// which moves when one is inserted.
const STRONG: f64 = 0.8;

/// How it was found out which call stack a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    ByItself,
    /// There were several, and what was expected has decided.
    ByExpectation,
}

impl Names {
    /// Finds out which call stack an operation's context is, at its first use.
    fn settle(&mut self, operation: &Operation, oracle: &Oracle) -> Settled {
        let Some(Meaning::OneOf { new, known }) = self.contexts.get(&operation.context) else {
            return Settled::ByItself;
        };
        // Two call stacks of this build are not the same one of the last.
        let fits = |stack: &StackId| {
            !self.recognised.contains_key(stack) && oracle.knows_stack(*stack, operation.function)
        };
        let fitting: Vec<StackId> = known.near.iter().copied().filter(fits).collect();
        let equal = known.equal.filter(fits);
        let least = if equal.is_some() { STRONG } else { 0.0 };
        let likely = oracle.predict().iter().filter(|next| next.probability >= least);
        let mut expected = likely.filter_map(|next| oracle.stack_of(next.symbol));
        let expected = expected.find(|stack| fitting.contains(stack));
        let chosen = expected.or(equal).or(fitting.first().copied());
        let is_certain = chosen == equal || fitting.len() <= 1;
        let new = *new;
        if let Some(chosen) = chosen {
            self.recognised.insert(chosen, new);
        }
        self.contexts.insert(operation.context, Meaning::Is(chosen.unwrap_or(new)));
        if is_certain { Settled::ByItself } else { Settled::ByExpectation }
    }
}

/// What a stream has been taught, by itself and by earlier runs.
#[derive(Clone, Debug)]
pub(crate) struct Taught {
    pub(crate) oracle: Oracle,
    /// Operations that its oracle knew before the stream began.
    n_known: u64,
    behaviour: Behaviour,
    last_end_ns: Option<u64>,
}

impl Taught {
    /// Nothing yet.
    pub(crate) fn nothing(config: &Config) -> Taught {
        Taught::before(&Oracle::new(config.clone()))
    }

    /// What this oracle knows, by earlier runs.
    pub(crate) fn before(known: &Oracle) -> Taught {
        let mut oracle = known.clone();
        oracle.begin_run();
        let n_known = oracle.operations();
        Taught { oracle, n_known, behaviour: Behaviour::default(), last_end_ns: None }
    }

    /// Operations of this run.
    pub(crate) fn n_operations(&self) -> u64 {
        self.oracle.operations() - self.n_known
    }

    /// Compares what came with what was predicted.
    fn score(
        &self,
        operation: &Operation,
        path: Option<&str>,
        symbol: Option<ContextSymbol>,
        score: &mut Score,
        first_score: &mut Score,
    ) {
        let end_ns = self.last_end_ns;
        let interarrival_ns = end_ns.map(|end_ns| operation.start_ns.saturating_sub(end_ns));
        let came = Came { operation, symbol, path, interarrival_ns };
        score.add(self.oracle.predict(), &came);
        if self.n_operations() < FIRST_OPERATIONS {
            first_score.add(self.oracle.predict(), &came);
        }
    }

    /// For a model that others of this run begin with.
    pub(crate) fn ended(mut self) -> Taught {
        self.oracle.begin_run();
        self
    }

    /// For a model in which the role of the stream has so many operations. The
    /// stream may have begun with what another role has learned, and those
    /// operations are counted there.
    pub(crate) fn into_learned(mut self, n_before: u64) -> Learned {
        let n_operations = n_before.saturating_add(self.n_operations());
        self.oracle.count_operations(n_operations);
        Learned { oracle: self.oracle, behaviour: self.behaviour }
    }
}

/// Probability below which a first operation was a surprise.
const SURPRISING: f64 = 0.5;

/// A stream that takes operations in.
pub(crate) struct Learner<'a> {
    pub(crate) taught: &'a mut Taught,
    /// Where its role is found, if it has one; looked up only when needed.
    pub(crate) role: Option<(StreamId, &'a Map<StreamId, Role>)>,
    pub(crate) model: &'a Model,
    pub(crate) names: &'a mut Names,
    /// Over all operations, and over the first ones of each stream.
    pub(crate) scores: [&'a mut Score; 2],
}

impl Learner<'_> {
    pub(crate) fn learn(&mut self, operation: &Operation) {
        let settled = self.tell_context(operation);
        let path = self.names.files.get(&operation.file).map(|path| &**path);
        // What is recognised because it was expected is no success of the
        // expectation.
        let symbol = match settled {
            Settled::ByItself => self.taught.oracle.symbol_of(operation),
            Settled::ByExpectation => None,
        };
        let [score, first_score] = &mut self.scores;
        self.taught.score(operation, path, symbol, score, first_score);
        if let Some(better) = self.better_role(operation) {
            *self.taught = better;
        }
        let Taught { oracle, behaviour, last_end_ns, .. } = &mut *self.taught;
        if !oracle.knows_file(operation.file)
            && let Some(path) = path
        {
            oracle.define_file(operation.file, path);
        }
        oracle.observe(operation);
        behaviour.observe(oracle, operation, path);
        *last_end_ns = Some(operation.end_ns);
    }

    fn tell_context(&mut self, operation: &Operation) -> Settled {
        let context = operation.context;
        if self.taught.oracle.knows_context(context) {
            return Settled::ByItself;
        }
        let settled = self.names.settle(operation, &self.taught.oracle);
        if let Some(Meaning::Is(stack)) = self.names.contexts.get(&context) {
            self.taught.oracle.define_stack(context, *stack);
        }
        settled
    }

    /// Of processes that begin at once the order is not the same in every run.
    /// When the first operation is a surprise, another role of the same program
    /// may be the right one: the one that expects it most.
    fn better_role(&self, operation: &Operation) -> Option<Taught> {
        if self.taught.n_operations() > 0 {
            return None;
        }
        let (id, roles) = self.role?;
        let role = roles.get(&id)?;
        let Meaning::Is(stack) = self.names.contexts.get(&operation.context)? else { return None };
        let expects = |oracle: &Oracle| -> f64 {
            let right = oracle.predict().iter().filter(|next| {
                next.function == operation.function && oracle.stack_of(next.symbol) == Some(*stack)
            });
            right.map(|next| next.probability).sum()
        };
        if expects(&self.taught.oracle) >= SURPRISING {
            return None;
        }
        let others = self.model.roles().filter(|view| view.role.program == role.program);
        let others = others.map(|view| (expects(view.oracle), view.oracle));
        let (expected, oracle) = others.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let mut better = (expected >= SURPRISING).then(|| Taught::before(oracle))?;
        better.oracle.define_stack(operation.context, *stack);
        Some(better)
    }
}
