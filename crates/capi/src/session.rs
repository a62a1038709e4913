// SPDX-License-Identifier: MIT OR Apache-2.0

//! The object behind the handle of an oracle.
//!
//! Iterators read a model that must not move under them, and callers want to
//! observe while they hold some. So both share the model until the oracle
//! changes: an observation while an iterator is alive copies the model once and
//! goes on with the copy. Without iterators nothing is copied.

use std::sync::Arc;

use ::ioracle_oracle::Oracle;
use ioracle_engine::{Score, StreamLearner};
use ioracle_events::{FileId, Prediction};

use crate::contexts::ContextNumbers;
use crate::files::FileNumbers;
use crate::handle::HandleTable;
use crate::observation::Observed;
use crate::prediction::ioracle_prediction;

/// An oracle of the caller; opaque.
pub struct ioracle_oracle {
    _private: [u8; 0],
}

/// Stands for a file that the oracle does not know.
const NO_FILE: FileId = FileId(u32::MAX);

/// All oracles that were made and not freed.
pub(crate) static ORACLES: HandleTable<Session> = HandleTable::new(1, "oracle");

/// One oracle, and its caller's names for things.
pub(crate) struct Session {
    model: Arc<SessionModel>,
    contexts: ContextNumbers,
}

/// What predictions are read from.
#[derive(Clone)]
pub(crate) struct SessionModel {
    learner: StreamLearner,
    files: FileNumbers,
}

impl Session {
    pub fn new(oracle: Oracle) -> Session {
        let files = FileNumbers::of(&oracle);
        let model = SessionModel { learner: StreamLearner::resume(oracle), files };
        Session { model: Arc::new(model), contexts: ContextNumbers::default() }
    }

    /// What is known now, unchanged by what is observed later.
    pub fn model(&self) -> &Arc<SessionModel> {
        &self.model
    }

    /// Learns a finished call.
    pub fn observe(&mut self, observed: &Observed<'_>) {
        let SessionModel { learner, files } = Arc::make_mut(&mut self.model);
        let context = self.contexts.number(observed.context(), &mut learner.oracle);
        if observed.is_operation() {
            let file = files.number(observed.file(), observed.access(), &mut learner.oracle);
            learner.observe(&observed.operation(context.number, file), files.name(file));
            return;
        }
        let (file, path) = files.find(observed.file());
        if let Some(clue) = observed.clue(context.number, file.unwrap_or(NO_FILE)) {
            learner.oracle.notice(&clue, Some(context.stack), path);
        }
    }

    /// Gives a file that has an id its path.
    pub fn define_file(&mut self, id: u64, path: &str) {
        let SessionModel { learner, files } = Arc::make_mut(&mut self.model);
        files.define(id, path, &mut learner.oracle);
    }

    /// A new run of the program; what was learned stays.
    pub fn begin_run(&mut self) {
        let SessionModel { learner, files } = Arc::make_mut(&mut self.model);
        learner.begin_run();
        files.clear();
        self.contexts.clear();
    }

    /// Adds what another has learned, and begins a run.
    pub fn merge(&mut self, other: &SessionModel) {
        Arc::make_mut(&mut self.model).learner.oracle.merge(other.oracle());
        self.begin_run();
    }
}

impl SessionModel {
    pub fn oracle(&self) -> &Oracle {
        &self.learner.oracle
    }

    /// How good the predictions have been so far.
    pub fn score(&self) -> Score {
        self.learner.score()
    }

    /// A prediction in the words of the caller.
    pub fn to_c(&self, stated: &Prediction) -> ioracle_prediction {
        ioracle_prediction::new(stated, self.files.called(&stated.file, self.oracle()))
    }
}
