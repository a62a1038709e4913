// SPDX-License-Identifier: MIT OR Apache-2.0

//! The operations of a source, for callers that count or copy them without learning.

use std::collections::BTreeMap;

use ioracle_events::{
    Clue, ContextId, Event, Level, MpiInternals, Operation, OperationFilter, StreamId, Variables,
};

/// Turns the events of a source into the operations of its streams, as
/// [`Engine`](crate::Engine) does. Grows with the number of streams.
#[derive(Clone, Debug)]
pub struct OperationStreams {
    level: Level,
    mpi: MpiInternals,
    filters: BTreeMap<StreamId, OperationFilter>,
    variables: Variables,
}

impl OperationStreams {
    /// The operations at this level.
    pub fn new(level: Level) -> OperationStreams {
        OperationStreams {
            level,
            mpi: MpiInternals::default(),
            filters: BTreeMap::new(),
            variables: Variables::default(),
        }
    }

    /// Defines the frames of a call stack before an event names it.
    pub fn define_context(&mut self, context: ContextId, frames: &str) {
        self.mpi.define_context(context, frames);
    }

    /// Hands on the operations of the event's stream that are now known. Gives back what
    /// an event tells that is no operation.
    pub fn push(&mut self, event: &Event, emit: impl FnMut(Operation)) -> Option<Clue> {
        match self.level {
            Level::Bytes => {
                let filter = self.filters.entry(event.stream).or_default();
                filter.push(event, &mut self.mpi, emit)
            }
            Level::Variables => {
                self.variables.access(event).into_iter().for_each(emit);
                None
            }
        }
    }

    /// Hands on what was held back at the end of the streams.
    pub fn finish(self, mut emit: impl FnMut(StreamId, Operation)) {
        for (stream, mut filter) in self.filters {
            filter.finish(|operation| emit(stream, operation));
        }
    }
}
