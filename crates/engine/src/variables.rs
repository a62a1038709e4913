// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is learned of variables: an oracle more for each stream that accesses
//! any, above the one of its bytes.

use ioracle_events::{Event, FileId, Operation, Prediction, SEPARATOR, StreamId};
use ioracle_oracle::{Config, Model, Naming};

use crate::engine::Map;
use crate::learner::{Learner, Meaning, Names, Taught};
use crate::score::Score;

/// Names kept at hand; they are made again when they are needed.
const MAX_NAMES: usize = 1 << 16;

/// Accesses to variables, learned and scored as operations are.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    config: Config,
    known: ioracle_events::Variables,
    streams: Map<StreamId, Taught>,
    names: Names,
    score: Score,
    first_score: Score,
    /// What earlier runs knew of variables is not kept, so this stays empty.
    model: Model,
}

impl Variables {
    /// Knows none yet.
    pub(crate) fn new(config: &Config) -> Variables {
        Variables {
            config: Config { naming: Naming::All, ..config.clone() },
            known: ioracle_events::Variables::default(),
            streams: Map::default(),
            names: Names::default(),
            score: Score::default(),
            first_score: Score::default(),
            model: Model::default(),
        }
    }

    /// Takes an event in, if it accesses a variable. `all` is what the source
    /// told of all streams; of more than `max_streams` nothing is learned.
    pub(crate) fn observe(&mut self, event: &Event, all: &Names, max_streams: usize) {
        let Some(access) = self.known.access(event) else { return };
        if self.streams.len() >= max_streams && !self.streams.contains_key(&event.stream) {
            return;
        }
        self.tell(&access, all);
        let Variables { config, streams, names, score, first_score, model, .. } = self;
        let taught = streams.entry(event.stream).or_insert_with(|| Taught::nothing(config));
        let scores = [score, first_score];
        Learner { taught, role: None, model, names, scores }.learn(&access);
    }

    /// The next accesses of a stream along the most probable path.
    pub(crate) fn predict(&self, stream: StreamId, horizon: usize) -> Vec<Prediction> {
        let taught = self.streams.get(&stream);
        taught.map(|it| it.oracle.ahead(0).take(horizon).collect()).unwrap_or_default()
    }

    /// The name of a variable by its number.
    pub(crate) fn name(&self, number: FileId, all: &Names) -> Option<String> {
        let (file, name) = self.known.get(number)?;
        let path = all.files.get(&file).map_or("", |path| path);
        Some(format!("{path}{SEPARATOR}{name}"))
    }

    /// How good the predictions have been so far.
    pub(crate) fn score(&self) -> Score {
        self.score
    }

    /// What stands behind the numbers of an access, where it is new.
    fn tell(&mut self, access: &Operation, all: &Names) {
        if !self.names.contexts.contains_key(&access.context)
            && let Some(place) = self.known.context(access.context)
            && let Some(Meaning::Is(stack) | Meaning::OneOf { new: stack, .. }) =
                all.contexts.get(&place.stack)
        {
            self.names.contexts.insert(access.context, Meaning::Is(stack.on(&place.mark())));
        }
        if !self.names.files.contains_key(&access.file)
            && let Some(name) = self.name(access.file, all)
        {
            // Variables that are forgotten leave their names here.
            if self.names.files.len() >= MAX_NAMES {
                self.names.files.clear();
            }
            self.names.files.insert(access.file, name.into());
        }
    }
}
