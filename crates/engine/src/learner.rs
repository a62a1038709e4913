// SPDX-License-Identifier: MIT OR Apache-2.0

//! One operation of one stream: it is compared with what was predicted, then
//! learned.

use ioracle_events::{ContextId, FileId, Operation};
use ioracle_oracle::{Behaviour, Config, Learned, Oracle};

use crate::engine::Map;
use crate::score::{Came, Score};

/// Operations of a stream in which it has had no time to learn much itself.
pub const FIRST_OPERATIONS: u64 = 100;

/// What the source told of its numbers, for all streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) contexts: Map<ContextId, Box<str>>,
    pub(crate) files: Map<FileId, Box<str>>,
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

    /// For a model.
    pub(crate) fn into_learned(self) -> Learned {
        Learned { oracle: self.oracle, behaviour: self.behaviour }
    }
}

/// A stream that takes operations in.
pub(crate) struct Learner<'a> {
    pub(crate) taught: &'a mut Taught,
    pub(crate) names: &'a Names,
    /// Over all operations, and over the first ones of each stream.
    pub(crate) scores: [&'a mut Score; 2],
}

impl Learner<'_> {
    pub(crate) fn learn(&mut self, operation: &Operation) {
        let path = self.names.files.get(&operation.file).map(|path| &**path);
        self.tell_context(operation.context);
        self.score(operation, path);
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

    fn tell_context(&mut self, context: ContextId) {
        if !self.taught.oracle.knows_context(context)
            && let Some(frames) = self.names.contexts.get(&context)
        {
            self.taught.oracle.define_context(context, frames);
        }
    }

    fn score(&mut self, operation: &Operation, path: Option<&str>) {
        let Taught { oracle, last_end_ns, .. } = &*self.taught;
        let end_ns = *last_end_ns;
        let came = Came {
            operation,
            symbol: oracle.symbol_of(operation),
            path,
            interarrival_ns: end_ns.map(|end_ns| operation.start_ns.saturating_sub(end_ns)),
        };
        let [score, first_score] = &mut self.scores;
        score.add(oracle.predict(), &came);
        if self.taught.n_operations() < FIRST_OPERATIONS {
            first_score.add(oracle.predict(), &came);
        }
    }
}
