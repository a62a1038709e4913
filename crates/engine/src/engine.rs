// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engine: many streams, one oracle each.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use ioracle_events::{ContextId, Event, FileId, OperationFilter, Prediction, StreamId};
use ioracle_oracle::{Candidates, Model, Oracle, Role, StackId};

use crate::learner::{Learner, Meaning, Names, Taught};
use crate::score::Score;
use crate::variables::Variables;

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
    variables: Variables,
    roles: Map<StreamId, Role>,
    /// What new streams start from; short ones that had a role add to it.
    model: Model,
    score: Score,
    /// The same over the first operations of every stream.
    first_score: Score,
    n_dropped: u64,
}

pub(crate) type Map<K, V> = HashMap<K, V, std::hash::RandomState>;

#[derive(Clone, Debug)]
struct Stream {
    number: u64,
    intake: Intake,
    taught: Taught,
}

/// What has come of a stream.
#[derive(Clone, Debug, Default)]
struct Intake {
    filter: OperationFilter,
    /// Of the events taken in, as the source numbers them.
    last_sequence: u64,
}

impl Engine {
    /// An engine without streams.
    pub fn new(config: Config) -> Engine {
        Engine {
            variables: Variables::new(&config.oracle),
            config,
            streams: Map::default(),
            n_begun: 0,
            names: Names::default(),
            roles: Map::default(),
            model: Model::default(),
            score: Score::default(),
            first_score: Score::default(),
            n_dropped: 0,
        }
    }

    /// An engine whose streams start from what earlier runs have learned, and
    /// so predict from their first operation.
    pub fn with_model(config: Config, mut model: Model) -> Engine {
        model.begin_run();
        Engine { model, ..Engine::new(config) }
    }

    /// Tells the role of a stream before its first event. Without one it starts
    /// from what a model says of any stream, and its memory goes into none.
    pub fn define_role(&mut self, stream: StreamId, role: Role) {
        if self.roles.len() < self.config.max_definitions {
            self.roles.insert(stream, role);
        }
    }

    /// Tells the frames of a call stack before an event names it.
    pub fn define_context(&mut self, context: ContextId, frames: &str) {
        self.define_stack(context, StackId::of(frames));
    }

    /// The same, where it is known which call stack it is.
    pub fn define_stack(&mut self, context: ContextId, stack: StackId) {
        self.define(context, Meaning::Is(stack));
    }

    /// The same, where it may be one of several that are known, else `new`.
    pub fn define_one_of(&mut self, context: ContextId, new: StackId, known: Candidates) {
        self.define(context, Meaning::OneOf { new, known });
    }

    /// Tells the path of a file before an event names it.
    pub fn define_file(&mut self, file: FileId, path: &str) {
        if self.names.files.len() < self.config.max_definitions {
            self.names.files.insert(file, path.into());
        }
    }

    /// The path that was told of a file.
    pub fn path(&self, file: FileId) -> Option<&str> {
        self.names.files.get(&file).map(|path| &**path)
    }

    /// A stream has begun, of which there may be no event yet; with a model it
    /// can be predicted already.
    pub fn begin_stream(&mut self, id: StreamId) {
        self.with(id, |_, _| ());
    }

    /// Takes the next event of its stream in: scores what was predicted, learns.
    pub fn observe(&mut self, event: &Event) {
        let is_followed = self.with(event.stream, |intake, learner| {
            intake.last_sequence = intake.last_sequence.max(event.sequence);
            intake.filter.push(event, |operation| learner.learn(&operation));
        });
        if !is_followed {
            self.n_dropped += 1;
            return;
        }
        self.variables.observe(event, &self.names, self.config.max_streams);
    }

    /// Takes in what was held back at the end of a stream, and forgets the
    /// stream if it was short ([`Config::min_remembered`]). Its score stays.
    pub fn end_stream(&mut self, id: StreamId) {
        self.finish_stream(id);
        if self.operations(id) >= self.config.min_remembered {
            return;
        }
        if let (Some(mut stream), Some(role)) = (self.streams.remove(&id), self.roles.remove(&id)) {
            stream.taught = stream.taught.ended();
            self.keep(role, stream);
        }
    }

    /// Takes in what was held back at the end of the streams.
    pub fn finish(&mut self) {
        let streams: Vec<StreamId> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|id| self.finish_stream(id));
    }

    /// The model that the engine began with, and what its streams have learned
    /// since in their roles.
    pub fn into_model(mut self) -> Model {
        let mut streams: Vec<(StreamId, Stream)> = self.streams.drain().collect();
        streams.sort_by_key(|(_, stream)| stream.number);
        for (id, stream) in streams {
            if let Some(role) = self.roles.remove(&id) {
                self.keep(role, stream);
            }
        }
        self.model
    }

    /// The next `horizon` operations of a stream along the most probable path.
    pub fn predict(&self, stream: StreamId, horizon: usize) -> Vec<Prediction> {
        self.oracle(stream)
            .map(|oracle| oracle.ahead(0).take(horizon).collect())
            .unwrap_or_default()
    }

    /// The next `horizon` accesses to variables of a stream along the most
    /// probable path: see [`ioracle_events::Variables`].
    pub fn predict_variables(&self, stream: StreamId, horizon: usize) -> Vec<Prediction> {
        self.variables.predict(stream, horizon)
    }

    /// What a number stands for that such a prediction has in the place of a file:
    /// the path of the file, a [`SEPARATOR`](ioracle_events::SEPARATOR) and the
    /// name of the variable.
    pub fn variable_name(&self, number: FileId) -> Option<String> {
        self.variables.name(number, &self.names)
    }

    /// The highest number of an event of the stream that was taken in; 0 if none
    /// was.
    pub fn last_sequence(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).map_or(0, |stream| stream.intake.last_sequence)
    }

    /// The oracle of a stream.
    pub fn oracle(&self, stream: StreamId) -> Option<&Oracle> {
        self.streams.get(&stream).map(|stream| &stream.taught.oracle)
    }

    /// Operations of a stream in this run; its oracle may know earlier ones.
    pub fn operations(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).map_or(0, |stream| stream.taught.n_operations())
    }

    /// The streams followed, in the order of their first event.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        let mut ids: Vec<(u64, StreamId)> =
            self.streams.iter().map(|(id, stream)| (stream.number, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id)
    }

    /// Call stacks that were [one of several](Engine::define_one_of): what each
    /// was known as, and what it is now.
    pub fn recognised(&self) -> impl Iterator<Item = (StackId, StackId)> + '_ {
        self.names.recognised.iter().map(|(known, new)| (*known, *new))
    }

    /// How good the predictions have been so far.
    pub fn score(&self) -> Score {
        self.score
    }

    /// The same over the first [`FIRST_OPERATIONS`](crate::FIRST_OPERATIONS) of every stream, where only
    /// what earlier runs have taught helps.
    pub fn first_score(&self) -> Score {
        self.first_score
    }

    /// How good the predictions of accesses to variables have been so far; without
    /// operations if there were none.
    pub fn variable_score(&self) -> Score {
        self.variables.score()
    }

    /// Events of streams beyond [`Config::max_streams`].
    pub fn dropped_events(&self) -> u64 {
        self.n_dropped
    }

    fn define(&mut self, context: ContextId, meaning: Meaning) {
        if self.names.contexts.len() < self.config.max_definitions {
            self.names.contexts.insert(context, meaning);
        }
    }

    fn keep(&mut self, role: Role, stream: Stream) {
        if stream.taught.n_operations() > 0 {
            let n_before = self.model.operations_of(&role);
            self.model.learn(role, stream.taught.into_learned(n_before));
        }
    }

    fn finish_stream(&mut self, id: StreamId) {
        if self.streams.contains_key(&id) {
            self.with(id, |intake, learner| {
                intake.filter.finish(|operation| learner.learn(&operation));
            });
        }
    }

    /// Lets a stream learn, and begins it if it is new; false if there is no
    /// room for it.
    fn with(&mut self, id: StreamId, learn: impl FnOnce(&mut Intake, &mut Learner)) -> bool {
        let is_full = self.streams.len() >= self.config.max_streams;
        let stream = match self.streams.entry(id) {
            Entry::Occupied(stream) => stream.into_mut(),
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(place) => {
                let role = self.roles.get(&id).cloned().unwrap_or_default();
                let taught = match self.model.find(&role) {
                    Some(known) => Taught::before(known.oracle),
                    None => Taught::nothing(&self.config.oracle),
                };
                let number = self.n_begun;
                self.n_begun += 1;
                place.insert(Stream { number, intake: Intake::default(), taught })
            }
        };
        let mut learner = Learner {
            taught: &mut stream.taught,
            role: Some((id, &self.roles)),
            model: &self.model,
            names: &mut self.names,
            scores: [&mut self.score, &mut self.first_score],
        };
        learn(&mut stream.intake, &mut learner);
        true
    }
}
