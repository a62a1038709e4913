// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engine: many streams, one oracle each.

use hashbrown::HashMap;
use ioracle_events::{ContextId, Event, FileId, Operation, OperationFilter, Prediction, StreamId};
use ioracle_oracle::Oracle;

use crate::score::{Came, Score};

/// Ceilings of an engine, and the configuration of each oracle.
#[derive(Clone, Debug)]
pub struct Config {
    /// For each stream's oracle.
    pub oracle: ioracle_oracle::Config,
    /// Streams followed. Events of further ones are counted as dropped: each
    /// stream followed has its memory, and a prediction for every thousandth
    /// thread helps nobody.
    pub max_streams: usize,
    /// Frames and paths kept in memory. Further definitions are ignored, and
    /// what they would have named is known by its number only.
    pub max_definitions: usize,
    /// A stream that ends with fewer operations is forgotten: it has little to
    /// tell, and thousands of short processes and threads leave room for those
    /// that last.
    pub min_remembered: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            oracle: ioracle_oracle::Config::default(),
            max_streams: 1024,
            max_definitions: 1 << 18,
            min_remembered: 64,
        }
    }
}

/// Learns from the events of all streams and predicts each.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    streams: Map<StreamId, Stream>,
    /// Numbers streams in the order of their first event.
    n_begun: u64,
    names: Names,
    /// What new streams start from.
    model: Option<Box<Oracle>>,
    score: Score,
    n_dropped: u64,
}

type Map<K, V> = HashMap<K, V, std::hash::RandomState>;

/// What the source told of its numbers, for all streams.
#[derive(Clone, Debug, Default)]
struct Names {
    contexts: Map<ContextId, Box<str>>,
    files: Map<FileId, Box<str>>,
}

#[derive(Clone, Debug)]
struct Stream {
    number: u64,
    /// Operations that its oracle knew before the stream began.
    n_known: u64,
    filter: OperationFilter,
    oracle: Oracle,
    last_end_ns: Option<u64>,
}

impl Engine {
    /// An engine without streams.
    pub fn new(config: Config) -> Engine {
        Engine {
            config,
            streams: Map::default(),
            n_begun: 0,
            names: Names::default(),
            model: None,
            score: Score::default(),
            n_dropped: 0,
        }
    }

    /// An engine whose streams start from what an earlier run has learned, and
    /// so predict from their first operation.
    pub fn with_model(config: Config, mut model: Oracle) -> Engine {
        model.begin_run();
        Engine { model: Some(Box::new(model)), ..Engine::new(config) }
    }

    /// Tells the frames of a call stack before an event names it.
    pub fn define_context(&mut self, context: ContextId, frames: &str) {
        if self.names.contexts.len() < self.config.max_definitions {
            self.names.contexts.insert(context, frames.into());
        }
    }

    /// Tells the path of a file before an event names it.
    pub fn define_file(&mut self, file: FileId, path: &str) {
        if self.names.files.len() < self.config.max_definitions {
            self.names.files.insert(file, path.into());
        }
    }

    /// Takes the next event of its stream in: scores what was predicted, learns.
    pub fn observe(&mut self, event: &Event) {
        if !self.follow(event.stream) {
            self.n_dropped += 1;
            return;
        }
        let Engine { streams, names, score, .. } = self;
        let Some(Stream { filter, oracle, last_end_ns, .. }) = streams.get_mut(&event.stream)
        else {
            return;
        };
        filter.push(event, |operation| {
            learn(&operation, oracle, last_end_ns, names, score);
        });
    }

    /// Takes in what was held back at the end of a stream, and forgets the
    /// stream if it was short ([`Config::min_remembered`]). Its score stays.
    pub fn end_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.finish(&self.names, &mut self.score);
        let n_operations = stream.oracle.operations() - stream.n_known;
        if n_operations < self.config.min_remembered {
            self.streams.remove(&id);
        }
    }

    /// Takes in what was held back at the end of the streams.
    pub fn finish(&mut self) {
        for stream in self.streams.values_mut() {
            stream.finish(&self.names, &mut self.score);
        }
    }

    /// The next `horizon` operations of a stream along the most probable path.
    pub fn predict(&self, stream: StreamId, horizon: usize) -> Vec<Prediction> {
        self.oracle(stream)
            .map(|oracle| oracle.ahead(0).take(horizon).collect())
            .unwrap_or_default()
    }

    /// The oracle of a stream.
    pub fn oracle(&self, stream: StreamId) -> Option<&Oracle> {
        self.streams.get(&stream).map(|stream| &stream.oracle)
    }

    /// The streams followed, in the order of their first event.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        let mut ids: Vec<(u64, StreamId)> =
            self.streams.iter().map(|(id, stream)| (stream.number, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id)
    }

    /// How good the predictions have been so far.
    pub fn score(&self) -> Score {
        self.score
    }

    /// Events of streams beyond [`Config::max_streams`].
    pub fn dropped_events(&self) -> u64 {
        self.n_dropped
    }

    /// Whether there is room for the stream; makes room for its oracle.
    fn follow(&mut self, id: StreamId) -> bool {
        if self.streams.contains_key(&id) {
            return true;
        }
        if self.streams.len() >= self.config.max_streams {
            return false;
        }
        let oracle = match &self.model {
            Some(model) => Oracle::clone(model),
            None => Oracle::new(self.config.oracle.clone()),
        };
        let stream = Stream {
            number: self.n_begun,
            n_known: oracle.operations(),
            filter: OperationFilter::default(),
            oracle,
            last_end_ns: None,
        };
        self.n_begun += 1;
        self.streams.insert(id, stream);
        true
    }
}

impl Stream {
    fn finish(&mut self, names: &Names, score: &mut Score) {
        let Stream { filter, oracle, last_end_ns, .. } = self;
        filter.finish(|operation| learn(&operation, oracle, last_end_ns, names, score));
    }
}

fn learn(
    operation: &Operation,
    oracle: &mut Oracle,
    last_end_ns: &mut Option<u64>,
    names: &Names,
    score: &mut Score,
) {
    if !oracle.knows_context(operation.context)
        && let Some(frames) = names.contexts.get(&operation.context)
    {
        oracle.define_context(operation.context, frames);
    }
    let path = names.files.get(&operation.file).map(|path| &**path);
    score.add(
        oracle.predict(),
        &Came {
            operation,
            symbol: oracle.symbol_of(operation),
            path,
            interarrival_ns: last_end_ns.map(|end_ns| operation.start_ns.saturating_sub(end_ns)),
        },
    );
    if !oracle.knows_file(operation.file)
        && let Some(path) = path
    {
        oracle.define_file(operation.file, path);
    }
    oracle.observe(operation);
    *last_end_ns = Some(operation.end_ns);
}
