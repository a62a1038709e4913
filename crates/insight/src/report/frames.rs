// SPDX-License-Identifier: MIT OR Apache-2.0

//! The frames of call stacks, and the functions and source lines behind them.

use std::collections::HashMap;

use ioracle_events::ContextId;
use serde::Serialize;

/// Call stacks that are kept; those beyond have no frames in the report.
const MAX_CONTEXTS: usize = 1 << 18;

/// The call stacks of a job.
#[derive(Debug, Default)]
pub struct Frames {
    contexts: HashMap<ContextId, Box<str>>,
    places: HashMap<Box<str>, FrameSource>,
}

/// Where in the source a frame is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameSource {
    /// The function, if it has a name.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

impl Frames {
    /// Tells the frames of a call stack, innermost first, separated by `;`.
    pub fn define(&mut self, id: ContextId, frames: &str) {
        if self.contexts.len() < MAX_CONTEXTS {
            self.contexts.insert(id, frames.into());
        }
    }

    /// Tells where a frame, as call stacks name it, is in the source.
    pub fn define_place(&mut self, frame: &str, place: FrameSource) {
        self.places.insert(frame.into(), place);
    }

    /// The frames of a call stack.
    pub fn outermost_first(&self, id: ContextId) -> impl Iterator<Item = &str> {
        let frames = self.contexts.get(&id).map_or("", |frames| &**frames);
        frames.rsplit(';').filter(|frame| !frame.is_empty() && *frame != "?")
    }

    /// The same the other way round.
    pub fn innermost_first(&self, id: ContextId) -> impl Iterator<Item = &str> + Clone {
        let frames = self.contexts.get(&id).map_or("", |frames| &**frames);
        frames.split(';').filter(|frame| !frame.is_empty() && *frame != "?")
    }

    /// What is known of a frame.
    pub fn place(&self, frame: &str) -> Option<&FrameSource> {
        self.places.get(frame)
    }

    /// A frame as people read it, and its source file and line.
    pub fn described(&self, frame: &str) -> (String, Option<String>) {
        let Some(place) = self.places.get(frame) else { return (frame.to_owned(), None) };
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        let source = place.file.as_ref().map(|file| format!("{file}{line}"));
        (place.function.clone().unwrap_or_else(|| frame.to_owned()), source)
    }
}
