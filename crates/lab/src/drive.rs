// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads a surveyed trace through an engine, and lets each stream be watched
//! from its first operation to its last.
//!
//! What was learned about a stream is given away as soon as the stream is over, so
//! that a trace of many ranks needs the memory of those only that are under way
//! at the same time.

use std::collections::BTreeMap;

use ioracle_engine::{Config, Engine, Levels, ObservedOperation, StreamLearner, Watcher};
use ioracle_events::{Event, Level, StreamId};
use ioracle_oracle::{Model, Oracle};
use ioracle_trace::Trace;

use crate::error::Error;
use crate::survey::Survey;

/// Streams that may be under way at once; each has an oracle of some hundred
/// kilobytes.
const MAX_STREAMS: usize = 1024;
/// Events that are decoded before they are learned: decoding empties the caches
/// that learning needs.
const BATCH: usize = 512;

/// An engine that knows the names of a trace, and begins with what a model knows.
/// What `ioracle run` defines for its engine as names appear is known here from the
/// beginning; the engine itself gives an oracle a name only when an operation has
/// used it.
pub fn engine_for(trace: &Trace, config: Config, model: Model) -> Engine {
    // The trace holds them all in memory already.
    let mut engine = Engine::with_model(Config { max_definitions: usize::MAX, ..config }, model);
    trace.contexts().iter().for_each(|(id, frames)| engine.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| {
        engine.define_file(id, path);
        if let Some(bytes) = trace.provenance().file_place(id).size_at_open {
            engine.define_size(id, bytes);
        }
    });
    engine
}

/// What is done with the streams of a trace.
pub(crate) trait Examiner {
    /// What watches one stream.
    type Watch: Watcher;

    /// A stream of so many operations begins.
    fn begin(&mut self, stream: StreamId, length: u64) -> Self::Watch;

    /// It is over.
    fn end(&mut self, stream: StreamId, watch: Self::Watch, learned: StreamLearner);
}

/// Reads the trace once.
pub(crate) fn drive<E: Examiner>(
    trace: &Trace,
    survey: &Survey,
    oracle: &ioracle_oracle::Config,
    examiner: &mut E,
) -> Result<(), Error> {
    let config = Config {
        oracle: oracle.clone(),
        max_streams: MAX_STREAMS,
        levels: Levels::Only(Level::Bytes),
        ..Config::default()
    };
    let engine = engine_for(trace, config, Model::default());
    let mut drive = Drive { trace, survey, examiner, engine, rank: None, streams: BTreeMap::new() };
    let mut batch = Vec::with_capacity(BATCH);
    for event in trace.events(survey.rank)? {
        batch.push(event?);
        if batch.len() == BATCH {
            batch.drain(..).try_for_each(|event| drive.observe(&event))?;
        }
    }
    batch.drain(..).try_for_each(|event| drive.observe(&event))?;
    drive.finish();
    Ok(())
}

struct Drive<'a, E: Examiner> {
    trace: &'a Trace,
    survey: &'a Survey,
    examiner: &'a mut E,
    engine: Engine,
    rank: Option<u32>,
    /// Those of the present rank. `None` is one that is over: seeks may still
    /// follow its operations.
    streams: BTreeMap<StreamId, Option<Counted<E::Watch>>>,
}

impl<E: Examiner> Drive<'_, E> {
    fn observe(&mut self, event: &Event) -> Result<(), Error> {
        // Rows are grouped by rank: nothing more comes of the one before.
        if self.rank.replace(event.stream.rank).is_some_and(|rank| rank != event.stream.rank) {
            self.finish();
        }
        let stream = event.stream;
        let Some(&length) = self.survey.streams.get(&stream) else {
            self.engine.pass_over(event);
            return Ok(());
        };
        let begin = || Some(Counted { watch: self.examiner.begin(stream, length), left: length });
        let Some(watch) = self.streams.entry(stream).or_insert_with(begin) else {
            self.engine.pass_over(event);
            return Ok(());
        };
        self.engine.observe_with(event, watch);
        if self.engine.dropped_events() > 0 {
            let trace = self.trace.name().to_owned();
            return Err(Error::TooManyStreams { trace, most: MAX_STREAMS });
        }
        if watch.left == 0 {
            self.end(stream);
        }
        Ok(())
    }

    /// Ends the streams that are still under way.
    fn finish(&mut self) {
        let streams: Vec<StreamId> = self.streams.keys().copied().collect();
        for stream in streams {
            if let Some(Some(watch)) = self.streams.get_mut(&stream) {
                self.engine.finish_stream(stream, watch);
                self.end(stream);
            }
        }
        self.streams.clear();
    }

    fn end(&mut self, stream: StreamId) {
        let watch = self.streams.get_mut(&stream).and_then(Option::take);
        let learned = self.engine.take_stream(Level::Bytes, stream);
        if let (Some(Counted { watch, .. }), Some(learned)) = (watch, learned) {
            self.examiner.end(stream, watch, learned);
        }
    }
}

/// Knows when a stream is over.
struct Counted<W> {
    watch: W,
    left: u64,
}

impl<W: Watcher> Watcher for Counted<W> {
    fn before(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        self.watch.before(oracle, came);
    }

    fn after(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        self.watch.after(oracle, came);
        self.left = self.left.saturating_sub(1);
    }
}
