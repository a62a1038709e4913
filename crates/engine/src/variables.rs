// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a source says of variables: what their numbers stand for. Each stream
//! that accesses any has a learner for them, above the one of its bytes.

use ioracle_events::{Event, FileId, Operation, SEPARATOR};
use ioracle_oracle::{Config, Model, Naming};

use crate::names::{Meaning, Names};
use crate::score::ScoreBySource;

/// Names kept at hand; they are made again when they are needed.
const MAX_NAMES: usize = 1 << 16;

/// The variables of all streams.
#[derive(Clone, Debug)]
pub(crate) struct VariableSource {
    pub(crate) config: Config,
    pub(crate) known: ioracle_events::Variables,
    pub(crate) names: Names,
    pub(crate) first_score: ScoreBySource,
    /// What new streams start from.
    pub(crate) model: Model,
}

impl VariableSource {
    /// Knows none yet.
    pub(crate) fn new(config: &Config) -> VariableSource {
        VariableSource {
            config: Config { naming: Naming::All, ..config.clone() },
            known: ioracle_events::Variables::default(),
            names: Names::default(),
            first_score: ScoreBySource::default(),
            model: Model::default(),
        }
    }

    /// The access to a variable that an event is, if it is one. `all` is what the
    /// source defined for all streams.
    pub(crate) fn access(&mut self, event: &Event, all: &Names) -> Option<Operation> {
        let access = self.known.access(event)?;
        self.define_names(&access, all);
        Some(access)
    }

    /// The name of a variable by its number.
    pub(crate) fn name(&self, number: FileId, all: &Names) -> Option<String> {
        let (file, name) = self.known.get(number)?;
        let path = all.files.get(&file).map_or("", |path| path);
        Some(format!("{path}{SEPARATOR}{name}"))
    }

    /// Defines what the numbers of an access mean, if they are new.
    fn define_names(&mut self, access: &Operation, all: &Names) {
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
