// SPDX-License-Identifier: MIT OR Apache-2.0

//! Predictions in the words of a slot: numbers become the identities that the
//! application itself uses, so that it can check whether it did what was
//! predicted, and files have their whole paths.

use std::collections::HashMap;
use std::sync::Arc;

use ioracle_engine::Engine;
use ioracle_events::{ContextId, FileId, PredictedFile, Prediction, Spread};
use ioracle_spool::identity;
use ioracle_spool::slot::OutlookStep;
use ioracle_trace::Follower;

/// Stands for a context symbol that did not come in this run.
pub const NO_CONTEXT: ContextId = ContextId(0);

/// Files whose identity and path are kept at hand.
const MAX_FILES: usize = 4096;

/// Makes steps.
pub struct Steps {
    files: HashMap<FileId, NamedFile>,
}

struct NamedFile {
    identity: u64,
    path: Arc<[u8]>,
}

impl Steps {
    pub fn new() -> Steps {
        Steps { files: HashMap::new() }
    }

    /// A predicted operation and the path of its file.
    pub fn of(
        &mut self,
        prediction: &Prediction,
        contexts: &[ContextId],
        engine: &Engine,
        follower: &Follower,
    ) -> (OutlookStep, Arc<[u8]>) {
        let context = contexts.get(prediction.symbol.0 as usize).copied().unwrap_or(NO_CONTEXT);
        let step = OutlookStep {
            context: follower.context_identity(context),
            file: 0,
            offset: prediction.offset.map_or(-1, |offset| i64::try_from(offset).unwrap_or(-1)),
            size: prediction.size,
            from_now_ns: prediction.from_now_ns,
            interarrival_ns: prediction.interarrival_ns,
            io_time_ns: prediction.io_time_ns,
            probability: prediction.probability,
            operation_probability: prediction.operation_probability,
            size_spread: numbers(prediction.size_spread),
            offset_spread: numbers(prediction.offset_spread),
            interarrival_spread: numbers(prediction.interarrival_spread),
            io_time_spread: numbers(prediction.io_time_spread),
            symbol: prediction.symbol.0,
            function: prediction.function.into(),
            ..OutlookStep::default()
        };
        match &prediction.file {
            PredictedFile::Known(FileId::UNKNOWN) => (step, Arc::default()),
            PredictedFile::Known(file) => {
                let named = self.named(*file, engine, follower);
                (OutlookStep { file: named.identity, ..step }, Arc::clone(&named.path))
            }
            PredictedFile::New(path) => {
                let path = follower.path_in_application(path);
                let file = identity::of(&path);
                (OutlookStep { file, is_new_file: 1, ..step }, path.into())
            }
        }
    }

    fn named(&mut self, file: FileId, engine: &Engine, follower: &Follower) -> &NamedFile {
        if self.files.len() >= MAX_FILES {
            self.files.clear();
        }
        self.files.entry(file).or_insert_with(|| NamedFile {
            identity: follower.file_identity(file),
            path: engine
                .path(file)
                .map_or_else(Vec::new, |path| follower.path_in_application(path))
                .into(),
        })
    }
}

fn numbers(spread: Spread) -> [f64; 3] {
    [spread.min, spread.max, spread.deviation]
}
