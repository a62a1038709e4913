// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes the events of a job in, one by one.

use ioracle_events::{ContextId, Event, FastMap, FileId, StreamId};

use crate::file_groups::FileGroups;
use crate::frames::{FrameSource, Frames};
use crate::summarise::{Surroundings, summarise};
use crate::summary::{Finding, Summary};
use crate::tally::JobTally;

/// Paths that are kept; files beyond them have no name in the summary.
const MAX_PATHS: usize = 1 << 18;

/// What is known about a job's I/O so far.
#[derive(Debug, Default)]
pub struct Insight {
    tally: JobTally,
    paths: FastMap<FileId, Box<str>>,
    frames: Frames,
}

impl Insight {
    /// Defines the frames of a call stack before the first event that names it.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        self.tally.define_context(id, frames);
        self.frames.define(id, frames);
    }

    /// Defines where a frame, as call stacks name it, is in the source.
    pub fn define_source(&mut self, frame: &str, source: FrameSource) {
        self.frames.define_source(frame, source);
    }

    /// Defines the path of a file.
    pub fn define_file(&mut self, id: FileId, path: &str) {
        if self.paths.len() < MAX_PATHS {
            self.paths.insert(id, path.into());
        }
    }

    /// Takes the next event of its stream in.
    pub fn observe(&mut self, event: &Event) {
        self.tally.add(event);
    }

    /// A stream has no more events.
    pub fn end_stream(&mut self, id: StreamId) {
        self.tally.end(id);
    }

    /// No stream has more events.
    pub fn finish(&mut self) {
        self.tally.finish();
    }

    /// Calls taken in so far, including those that are not operations.
    pub fn events(&self) -> u64 {
        self.tally.events
    }

    /// The call stacks.
    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> &JobTally {
        &self.tally
    }

    /// The files, in groups of those that are treated alike.
    pub(crate) fn file_groups(&self) -> FileGroups {
        FileGroups::new(&self.tally, &|file| self.paths.get(&file).map(|path| &**path))
    }

    /// Bytes read and written by their operations so far.
    pub fn bytes(&self) -> (u64, u64) {
        (self.tally.read.bytes, self.tally.written.bytes)
    }

    /// The summary of all events so far.
    pub fn summarise(&self, surroundings: &Surroundings) -> Summary {
        self.summarise_with(surroundings, |_| ())
    }

    /// The same; `advised` gets the advice as soon as there is any, to look up its places
    /// while the rest is put together. [`locate`](Insight::locate) adds them.
    pub fn summarise_with(
        &self,
        surroundings: &Surroundings,
        advised: impl FnOnce(&[Finding]),
    ) -> Summary {
        let path = |file: FileId| self.paths.get(&file).map(|path| &**path);
        summarise(&self.tally, &path, &self.frames, surroundings, advised)
    }

    /// Puts places that were defined after advice was given into it.
    pub fn locate(&self, advice: &mut [Finding]) {
        advice.iter_mut().for_each(|finding| finding.locate(&self.frames));
    }
}
