// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engine: many streams, one oracle each.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use ioracle_events::{
    ContextId, Event, FastMap, FileId, Layer, Level, MpiInternals, OperationFilter, Prediction,
    StreamId,
};
use ioracle_oracle::{Candidates, Model, Oracle, Role, StackId};

use crate::config::{Config, Levels};
use crate::graph_source::GraphSource;
use crate::names::{Meaning, Names};
use crate::path::PathAhead;
use crate::score::{Score, ScoreBySource};
use crate::stream::{StreamIntake, StreamLearner, Watcher};
use crate::variables::VariableSource;

/// Learns from the events of all streams and predicts each of them.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    streams: FastMap<StreamId, Stream>,
    /// Numbers streams in the order of their first event.
    n_begun: u64,
    names: Names,
    variables: VariableSource,
    mpi: MpiInternals,
    roles: FastMap<StreamId, Role>,
    /// What new streams start from; short ones that had a role add to it.
    model: Model,
    /// Of streams that are gone: their bytes, and their variables.
    past_scores: [ScoreBySource; 2],
    /// Over the first operations of every stream.
    first_score: ScoreBySource,
    n_dropped: u64,
    /// What earlier runs with whatever inputs have taught, if that is used.
    graph: Option<Box<GraphSource>>,
}

#[derive(Clone, Debug)]
struct Stream {
    number: u64,
    intake: Intake,
    bytes: StreamLearner,
    /// Once it has accessed a variable.
    variables: Option<Box<StreamLearner>>,
}

/// What has been seen of a stream.
#[derive(Clone, Debug, Default)]
struct Intake {
    filter: OperationFilter,
    /// Of the events taken in, as the source numbers them.
    last_sequence: u64,
    /// When the first of them started.
    first_start_ns: Option<u64>,
    nested: NestedIntake,
}

/// Numbers of events that were taken in while an enclosing call was running, and that
/// come again: all, and those that access data.
#[derive(Clone, Debug, Default)]
struct NestedIntake {
    all: BTreeSet<u64>,
    data: BTreeSet<u64>,
}

/// Events inside a call that are taken in before it ends; those beyond wait.
const MAX_NESTED: usize = 1 << 14;

impl Intake {
    /// The next event of the stream.
    fn observe<W: Watcher>(
        &mut self,
        event: &Event,
        levels: Levels,
        mpi: &mut MpiInternals,
        learning: &mut StreamIntake<'_, W>,
    ) {
        self.last_sequence = self.last_sequence.max(event.sequence);
        self.first_start_ns.get_or_insert(event.start_ns);
        if !levels.includes(Level::Bytes) {
            return;
        }
        let nested = &mut self.nested;
        if nested.all.is_empty() {
            return learning.push(&mut self.filter, event, mpi);
        }
        if nested.all.remove(&event.sequence) {
            nested.data.remove(&event.sequence);
        } else if nested.is_around_data(event) {
            mpi.observe(event);
        } else {
            learning.push(&mut self.filter, event, mpi);
        }
    }
}

impl NestedIntake {
    /// Whether an event is a call around such a data access: then it is not an
    /// operation, which its filter cannot know.
    fn is_around_data(&self, event: &Event) -> bool {
        matches!(event.function.layer(), Layer::MpiIo | Layer::HighLevel)
            && event.function.access().is_data()
            && self.data.range(event.sequence + 1..).next().is_some()
    }
}

impl Engine {
    /// An engine without streams.
    pub fn new(config: Config) -> Engine {
        Engine {
            variables: VariableSource::new(&config.oracle),
            config,
            streams: FastMap::default(),
            n_begun: 0,
            names: Names::default(),
            mpi: MpiInternals::default(),
            roles: FastMap::default(),
            model: Model::default(),
            past_scores: Default::default(),
            first_score: ScoreBySource::default(),
            n_dropped: 0,
            graph: None,
        }
    }

    /// Follows the run in the knowledge graph of its application from now on, as a
    /// third source of predictions.
    pub fn follow_graph(&mut self, source: GraphSource) {
        self.graph = Some(Box::new(source));
    }

    /// The third source, if there is one.
    pub fn graph(&self) -> Option<&GraphSource> {
        self.graph.as_deref()
    }

    /// The same, to extend what it knows.
    pub fn graph_mut(&mut self) -> Option<&mut GraphSource> {
        self.graph.as_deref_mut()
    }

    /// Gives the third source away, at the end of a run.
    pub fn take_graph(&mut self) -> Option<GraphSource> {
        self.graph.take().map(|source| *source)
    }

    /// Bytes of a file when it was first opened. A stream knows them from its first use
    /// of the file on. Virtual files of the kernel have none.
    pub fn define_size(&mut self, file: FileId, bytes: u64) {
        if bytes > 0 && self.names.sizes.len() < self.config.max_definitions {
            self.names.sizes.insert(file, bytes);
        }
        if let Some(source) = &mut self.graph {
            source.define_size(file, bytes);
        }
    }

    /// An engine whose streams start from what earlier runs have learned, and
    /// so predict from their first operation.
    pub fn with_model(config: Config, mut model: Model) -> Engine {
        model.begin_run();
        let mut engine = Engine::new(config);
        engine.variables.model = model.take_variables();
        engine.model = model;
        engine
    }

    /// Defines the role of a stream before its first event. Without one it starts from
    /// what a model says of any stream, and what it learns is saved in no role.
    pub fn define_role(&mut self, stream: StreamId, role: Role) {
        if self.roles.len() < self.config.max_definitions {
            self.roles.insert(stream, role);
        }
    }

    /// Defines the frames of a call stack before an event names it.
    pub fn define_context(&mut self, context: ContextId, frames: &str) {
        self.define_frames(context, frames);
        self.define_stack(context, StackId::of(frames));
    }

    /// Defines the frames only to see who made the calls; which call stack it is, is
    /// defined separately.
    pub fn define_frames(&mut self, context: ContextId, frames: &str) {
        self.mpi.define_context(context, frames);
        if self.config.oracle.improvements.relatives {
            self.names.relatives.define(context, frames);
        }
        if let Some(source) = &mut self.graph {
            source.define_context(context, frames);
        }
    }

    /// The same, where it is known which call stack it is.
    pub fn define_stack(&mut self, context: ContextId, stack: StackId) {
        self.define(context, Meaning::Is(stack));
    }

    /// The same, where it may be one of several that are known, else `new`.
    pub fn define_one_of(&mut self, context: ContextId, new: StackId, known: Candidates) {
        self.define(context, Meaning::OneOf { new, known });
    }

    /// Defines the path of a file before an event names it.
    pub fn define_file(&mut self, file: FileId, path: &str) {
        if self.names.files.len() < self.config.max_definitions {
            self.names.files.insert(file, path.into());
        }
        if let Some(source) = &mut self.graph {
            source.define_file(file, path);
        }
    }

    /// The path of a file, if the source gave it.
    pub fn path(&self, file: FileId) -> Option<&str> {
        self.names.files.get(&file).map(|path| &**path)
    }

    /// A stream has begun, of which there may be no event yet; with a model it
    /// can be predicted already.
    pub fn begin_stream(&mut self, id: StreamId) {
        self.with_stream(id, &mut (), |_, _, _| ());
    }

    /// Takes the next event of its stream in: scores what was predicted, learns.
    pub fn observe(&mut self, event: &Event) {
        self.observe_with(event, &mut ());
    }

    /// The same, watched: `watcher` sees each operation that the event makes
    /// known, at the levels that are learned. Returns whether there was one among the
    /// [`operations`](Engine::operations) of the stream.
    pub fn observe_with(&mut self, event: &Event, watcher: &mut impl Watcher) -> bool {
        if let Some(source) = &mut self.graph {
            source.observe(event);
        }
        let levels = self.config.levels;
        let is_operation = self.with_stream(event.stream, watcher, |intake, mpi, learning| {
            let n_before = learning.learner.n_operations();
            intake.observe(event, levels, mpi, learning);
            learning.learner.n_operations() > n_before
        });
        let Some(is_operation) = is_operation else {
            self.n_dropped += 1;
            return false;
        };
        if levels.includes(Level::Variables) {
            match watcher.watches(Level::Variables) {
                true => self.observe_variable(event, watcher),
                false => self.observe_variable(event, &mut ()),
            }
        }
        is_operation
    }

    /// Takes an event in at once that ended inside a call which has not ended. It
    /// comes again, by [`observe`](Self::observe), in the order in which calls began,
    /// and is not learned again then. What is an operation, and in which order, is the
    /// same either way.
    pub fn observe_nested(&mut self, event: &Event) {
        if !self.config.levels.includes(Level::Bytes) {
            return;
        }
        self.with_stream(event.stream, &mut (), |intake, mpi, learning| {
            let Intake { filter, nested, last_sequence, .. } = intake;
            if nested.all.len() >= MAX_NESTED {
                return;
            }
            *last_sequence = (*last_sequence).max(event.sequence);
            // What is held back does not enclose this call: the enclosing one has not
            // come yet.
            filter.finish(|operation| learning.observe(&operation));
            if nested.is_around_data(event) {
                mpi.observe(event);
            } else {
                learning.push(filter, event, mpi);
            }
            nested.all.insert(event.sequence);
            if event.function.access().is_data() && !event.failed() {
                nested.data.insert(event.sequence);
            }
        });
    }

    /// Whether an event was taken in while the call around it was under way, and comes
    /// for the second time.
    pub fn has_observed(&self, event: &Event) -> bool {
        let stream = self.streams.get(&event.stream);
        stream.is_some_and(|stream| stream.intake.nested.all.contains(&event.sequence))
    }

    /// Takes in an event from which nothing is learned, but which may affect what
    /// events of other streams mean.
    pub fn pass_over(&mut self, event: &Event) {
        self.mpi.observe(event);
        if let Some(source) = &mut self.graph {
            source.observe(event);
        }
        if self.config.levels.includes(Level::Variables) {
            self.variables.known.access(event);
        }
    }

    /// Takes in what was held back at the end of a stream, and forgets the
    /// stream if it was short ([`Config::min_remembered`]). Its score stays.
    pub fn end_stream(&mut self, id: StreamId) {
        self.finish_stream(id, &mut ());
        if let Some(source) = &mut self.graph {
            source.end_stream(id);
        }
        if self.operations(id) >= self.config.min_remembered {
            return;
        }
        let Some(mut stream) = self.remove(id) else { return };
        if let Some(role) = self.roles.remove(&id) {
            // For the model that later streams of this run begin with.
            stream.bytes.begin_run();
            if let Some(variables) = &mut stream.variables {
                variables.begin_run();
            }
            self.keep(role, stream);
        }
    }

    /// Takes in what was held back at the end of a stream.
    pub fn finish_stream(&mut self, id: StreamId, watcher: &mut impl Watcher) {
        if self.streams.contains_key(&id) {
            self.with_stream(id, watcher, |intake, _, learning| {
                intake.filter.finish(|operation| learning.observe(&operation));
            });
        }
    }

    /// Returns what was learned about a stream at a level, and forgets it.
    pub fn take_stream(&mut self, level: Level, id: StreamId) -> Option<StreamLearner> {
        let stream = self.remove(id)?;
        match level {
            Level::Bytes => Some(stream.bytes),
            Level::Variables => stream.variables.map(|learner| *learner),
        }
    }

    /// Takes in what was held back at the end of the streams.
    pub fn finish(&mut self) {
        let streams: Vec<StreamId> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|id| self.finish_stream(id, &mut ()));
    }

    /// The model that the engine started from, plus what its streams have learned since
    /// in their roles.
    pub fn into_model(mut self) -> Model {
        let mut streams: Vec<(StreamId, Stream)> = self.streams.drain().collect();
        streams.sort_by_key(|(_, stream)| stream.number);
        for (id, stream) in streams {
            if let Some(role) = self.roles.remove(&id) {
                self.keep(role, stream);
            }
        }
        self.model.set_variables(self.variables.model);
        self.model
    }

    /// Keeps the next `horizon` operations of a stream from now on, for someone who
    /// acts on them: see [`PathAhead`]. A stream that has a longer path keeps it.
    pub fn keep_path_ahead(&mut self, id: StreamId, horizon: usize) {
        self.begin_stream(id);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let path = stream.bytes.path.get_or_insert_with(|| Box::new(PathAhead::new(horizon)));
        path.lengthen(horizon);
        path.derive(&mut stream.bytes.oracle);
    }

    /// Nobody acts on a stream any more.
    pub fn drop_path_ahead(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.bytes.path = None;
            stream.bytes.oracle.end_path();
        }
    }

    /// The next operations of a stream, if they are kept.
    pub fn path_ahead(&self, id: StreamId) -> Option<&PathAhead> {
        self.streams.get(&id)?.bytes.path_ahead()
    }

    /// Adds at most this many steps to the path of a stream, while there is nothing
    /// else to do; the path also grows as operations come.
    pub fn extend_path_ahead(&mut self, id: StreamId, n_steps: usize) {
        if let Some(stream) = self.streams.get_mut(&id)
            && let Some(path) = &mut stream.bytes.path
        {
            path.extend(&mut stream.bytes.oracle, n_steps);
        }
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
        self.learner(Level::Variables, stream)
            .map(|learner| learner.oracle.ahead(0).take(horizon).collect())
            .unwrap_or_default()
    }

    /// What the number means that such a prediction has instead of a file: the path of
    /// the file, a [`SEPARATOR`](ioracle_events::SEPARATOR) and the name of the
    /// variable.
    pub fn variable_name(&self, number: FileId) -> Option<String> {
        self.variables.name(number, &self.names)
    }

    /// The variables that such numbers stand for.
    pub fn variables(&self) -> &ioracle_events::Variables {
        &self.variables.known
    }

    /// The highest number of an event of the stream that was taken in; 0 if none
    /// was.
    pub fn last_sequence(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).map_or(0, |stream| stream.intake.last_sequence)
    }

    /// The oracle of a stream.
    pub fn oracle(&self, stream: StreamId) -> Option<&Oracle> {
        self.learner(Level::Bytes, stream).map(|learner| &learner.oracle)
    }

    /// When the last operation of a stream ended, on the clock of its events.
    pub fn last_end_ns(&self, stream: StreamId) -> Option<u64> {
        self.learner(Level::Bytes, stream)?.last_end_ns()
    }

    /// What is learned about a stream at a level.
    pub fn learner(&self, level: Level, stream: StreamId) -> Option<&StreamLearner> {
        let stream = self.streams.get(&stream)?;
        match level {
            Level::Bytes => Some(&stream.bytes),
            Level::Variables => stream.variables.as_deref(),
        }
    }

    /// When the first event of a stream started. Unlike a stream's number, which
    /// depends on when its source found it, this is the same live and from a trace.
    pub fn first_start_ns(&self, stream: StreamId) -> Option<u64> {
        self.streams.get(&stream)?.intake.first_start_ns
    }

    /// Operations of a stream in this run; its oracle may know earlier ones.
    pub fn operations(&self, stream: StreamId) -> u64 {
        self.learner(Level::Bytes, stream).map_or(0, StreamLearner::n_operations)
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

    /// How good the predictions of all streams have been so far.
    pub fn score(&self) -> Score {
        self.score_at(Level::Bytes).all()
    }

    /// The same by where the predictions came from.
    pub fn score_by_source(&self) -> ScoreBySource {
        self.score_at(Level::Bytes)
    }

    /// The same over the first [`FIRST_OPERATIONS`](crate::FIRST_OPERATIONS) of every stream, where only
    /// what earlier runs have taught helps.
    pub fn first_score(&self) -> ScoreBySource {
        self.first_score.clone()
    }

    /// How good the predictions of accesses to variables have been so far; without
    /// operations if there were none.
    pub fn variable_score(&self) -> Score {
        self.variable_score_by_source().all()
    }

    /// The same by where the predictions came from.
    pub fn variable_score_by_source(&self) -> ScoreBySource {
        self.score_at(Level::Variables)
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

    /// Sums up in the order of the streams, so that it is the same in every run.
    fn score_at(&self, level: Level) -> ScoreBySource {
        let mut score = self.past_scores[level as usize].clone();
        // Sums of floating-point numbers depend on their order, and streams are found
        // in a different order live than in a trace.
        let mut ids: Vec<StreamId> = self.streams().collect();
        ids.sort_by_key(|&id| (self.first_start_ns(id), id));
        for id in ids {
            if let Some(learner) = self.learner(level, id) {
                score.merge(learner.score_by_source());
            }
        }
        score
    }

    fn keep(&mut self, role: Role, stream: Stream) {
        if stream.bytes.n_operations() > 0 {
            let n_before = self.model.operations_of(&role);
            self.model.learn(role.clone(), stream.bytes.into_learned(n_before));
        }
        if let Some(learner) = stream.variables.filter(|learner| learner.n_operations() > 0) {
            let model = &mut self.variables.model;
            let n_before = model.operations_of(&role);
            model.learn(role, learner.into_learned(n_before));
        }
    }

    /// Forgets a stream, but not its scores.
    fn remove(&mut self, id: StreamId) -> Option<Stream> {
        let stream = self.streams.remove(&id)?;
        let [bytes, variables] = &mut self.past_scores;
        bytes.merge(stream.bytes.score_by_source());
        if let Some(learner) = &stream.variables {
            variables.merge(learner.score_by_source());
        }
        Some(stream)
    }

    /// Takes operations in, for a stream that begins if it is new; `None` if there
    /// is no room for it.
    fn with_stream<W: Watcher, R>(
        &mut self,
        id: StreamId,
        watcher: &mut W,
        take: impl FnOnce(&mut Intake, &mut MpiInternals, &mut StreamIntake<'_, W>) -> R,
    ) -> Option<R> {
        let is_full = self.streams.len() >= self.config.max_streams;
        let stream = match self.streams.entry(id) {
            Entry::Occupied(stream) => stream.into_mut(),
            Entry::Vacant(_) if is_full => return None,
            Entry::Vacant(place) => {
                let role = self.roles.get(&id).cloned().unwrap_or_default();
                let bytes = match self.model.find(&role) {
                    Some(known) => StreamLearner::begin(known.oracle),
                    None => StreamLearner::new(&self.config.oracle),
                };
                let number = self.n_begun;
                self.n_begun += 1;
                let intake = Intake::default();
                place.insert(Stream { number, intake, bytes, variables: None })
            }
        };
        let mut learning = StreamIntake {
            learner: &mut stream.bytes,
            role: Some((id, &self.roles)),
            model: &self.model,
            names: &mut self.names,
            first_score: &mut self.first_score,
            watcher,
        };
        Some(take(&mut stream.intake, &mut self.mpi, &mut learning))
    }

    fn observe_variable(&mut self, event: &Event, watcher: &mut impl Watcher) {
        let Engine { variables, names, streams, roles, .. } = self;
        let Some(access) = variables.access(event, names) else { return };
        let Some(stream) = streams.get_mut(&event.stream) else { return };
        let VariableSource { config, names, first_score, model, .. } = variables;
        let id = event.stream;
        let learner = stream.variables.get_or_insert_with(|| {
            let role = roles.get(&id).cloned().unwrap_or_default();
            Box::new(match model.find(&role) {
                Some(known) => StreamLearner::begin(known.oracle),
                None => StreamLearner::new(config),
            })
        });
        let role = Some((id, &*roles));
        StreamIntake { learner, role, model, names, first_score, watcher }.observe(&access);
    }
}
