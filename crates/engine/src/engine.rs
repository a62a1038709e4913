// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engine: many streams, one oracle each.

use std::collections::BTreeMap;

use ioracle_events::{ContextId, Event, FileId, OperationFilter, Prediction, StreamId};
use ioracle_oracle::Oracle;

use crate::score::Score;

/// Ceilings of an engine, and the configuration of each oracle.
#[derive(Clone, Debug)]
pub struct Config {
    /// For each stream's oracle.
    pub oracle: ioracle_oracle::Config,
    /// Streams followed; events of further ones are counted and dropped.
    pub max_streams: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { oracle: ioracle_oracle::Config::default(), max_streams: 1024 }
    }
}

#[derive(Clone, Debug)]
struct Stream {
    filter: OperationFilter,
    oracle: Oracle,
}

/// Learns from the events of all streams and predicts each.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    streams: BTreeMap<StreamId, Stream>,
    score: Score,
}

impl Engine {
    /// An engine without streams.
    pub fn new(config: Config) -> Engine {
        Engine { config, streams: BTreeMap::new(), score: Score::default() }
    }

    /// Tells the frames of a call stack before an event names it.
    pub fn define_context(&mut self, _context: ContextId, _frames: &str) {}

    /// Tells the path of a file before an event names it.
    pub fn define_file(&mut self, _file: FileId, _path: &str) {}

    /// Takes the next event of its stream in.
    pub fn observe(&mut self, event: &Event) {
        let config = &self.config;
        let stream = self.streams.entry(event.stream).or_insert_with(|| Stream {
            filter: OperationFilter::default(),
            oracle: Oracle::new(config.oracle.clone()),
        });
        let oracle = &mut stream.oracle;
        stream.filter.push(event, |operation| oracle.observe(&operation));
    }

    /// Takes in what was held back at the end of the streams.
    pub fn finish(&mut self) {
        for stream in self.streams.values_mut() {
            let oracle = &mut stream.oracle;
            stream.filter.finish(|operation| oracle.observe(&operation));
        }
    }

    /// The next `horizon` operations of a stream along the most probable way.
    pub fn predict(&self, stream: StreamId, horizon: usize) -> Vec<Prediction> {
        let oracle = self.streams.get(&stream).map(|stream| &stream.oracle);
        oracle.map(|oracle| oracle.ahead(0).take(horizon).collect()).unwrap_or_default()
    }

    /// The oracle of a stream.
    pub fn oracle(&self, stream: StreamId) -> Option<&Oracle> {
        self.streams.get(&stream).map(|stream| &stream.oracle)
    }

    /// The streams seen, in order.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.streams.keys().copied()
    }

    /// How good the predictions have been so far.
    pub fn score(&self) -> Score {
        self.score
    }
}
