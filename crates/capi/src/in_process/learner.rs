// SPDX-License-Identifier: MIT OR Apache-2.0

//! The oracle of one thread that learns in its own process. It reads the
//! thread's stream as a reader would: definitions first, then records, up to the
//! first that is not published yet.

use ioracle_engine::{Config, Engine, Levels};
use ioracle_events::{ContextId, Event, FileId, Level, PredictedFile, Prediction, StreamId};
use ioracle_spool::identity;
use ioracle_spool::in_process::{CaptureFunctions, Definition, KEPT_RECORDS, StreamStatus};
use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_trace::{Observer, OpenedFile, OwnStream, ProcessNumber};

use crate::prediction::{PredictedName, ioracle_prediction, set_path};
use crate::prediction_slot::ioracle_basis;

/// After this many later records, a missing one is given up: it was begun by a signal
/// handler that jumped away.
const PATIENCE: u64 = 16;

/// The thread, as [`OwnStream`] numbers it.
const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

/// See the module.
pub(super) struct InProcessLearner {
    stream: OwnStream,
    events: EngineObserver,
    /// Where the next definition lies.
    place: u64,
    /// Number of the next record.
    next: u64,
}

/// Passes the events and definitions of a stream on to an engine.
struct EngineObserver {
    engine: Engine,
}

impl InProcessLearner {
    pub(super) fn new() -> InProcessLearner {
        // Memory is limited here, and only bytes can be asked for.
        let levels = Levels::Only(Level::Bytes);
        let mut engine = Engine::new(Config { max_streams: 1, levels, ..Config::default() });
        engine.begin_stream(STREAM);
        let events = EngineObserver { engine };
        InProcessLearner { stream: OwnStream::new(), events, place: 0, next: 0 }
    }

    /// Learns what the thread did since the last time.
    pub(super) fn learn(&mut self, inside: &CaptureFunctions) {
        self.take_definitions(inside);
        let mut standing = StreamStatus::default();
        // SAFETY: fills a structure of ours.
        if unsafe { (inside.stand)(&raw mut standing) } != 0 {
            return;
        }
        let end = standing.n_records;
        // Older ones may have been written over.
        self.next = self.next.max(end.saturating_sub(KEPT_RECORDS)).min(end);
        while self.next < end {
            let mut call = Call::default();
            // SAFETY: fills a structure of ours.
            if unsafe { (inside.record)(self.next, &raw mut call) } {
                self.stream.record(&call, &mut self.events);
            } else if end - self.next <= PATIENCE {
                return;
            }
            self.next += 1;
        }
    }

    /// Says what comes next.
    ///
    /// # Safety
    /// There is room for that many predictions.
    pub(super) unsafe fn answer(&self, to: *mut ioracle_prediction, room: usize) -> ioracle_basis {
        let Some(oracle) = self.events.engine.oracle(STREAM) else {
            return ioracle_basis::default();
        };
        let mut n_predictions = 0;
        for prediction in oracle.ahead(0).take(room) {
            // SAFETY: the caller's promise.
            unsafe { to.add(n_predictions as usize).write(self.put(&prediction)) };
            n_predictions += 1;
        }
        let n_operations = oracle.operations();
        ioracle_basis { n_predictions, n_operations, ..ioracle_basis::default() }
    }

    fn put(&self, prediction: &Prediction) -> ioracle_prediction {
        let path = match &prediction.file {
            PredictedFile::Known(file) => self.events.engine.path(*file).unwrap_or_default(),
            PredictedFile::New(path) => path,
        };
        let path = self.stream.path_in_application(path);
        let (id, is_new) = match &prediction.file {
            PredictedFile::Known(file) => (self.stream.file_identity(*file), false),
            PredictedFile::New(_) => (identity::of(&path), true),
        };
        let name = PredictedName { id, path: "", is_new };
        let mut converted = ioracle_prediction::new(prediction, name);
        set_path(&mut converted, &path);
        converted
    }

    fn take_definitions(&mut self, inside: &CaptureFunctions) {
        let mut found = Definition { kind: 0, bytes: 0, id: 0, payload: std::ptr::null() };
        // SAFETY: moves a number and fills a structure of ours.
        while unsafe { (inside.definition)(&raw mut self.place, &raw mut found) } {
            let Ok(kind) = DefinitionKind::try_from(found.kind) else { continue };
            // SAFETY: that many bytes of the thread's own mapping, which stays.
            let payload =
                unsafe { std::slice::from_raw_parts(found.payload, found.bytes as usize) };
            self.stream.define(kind, found.id, payload, &mut self.events);
        }
    }
}

impl Observer for EngineObserver {
    fn context(&mut self, id: ContextId, frames: &str) {
        self.engine.define_context(id, frames);
    }

    fn file(&mut self, id: FileId, path: &str) {
        self.engine.define_file(id, path);
    }

    fn file_opened(&mut self, id: FileId, file: &OpenedFile<'_>) {
        self.engine.define_size(id, file.size);
    }

    fn event(&mut self, _: ProcessNumber, event: &Event) {
        self.engine.observe(event);
    }
}
