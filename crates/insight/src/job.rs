// SPDX-License-Identifier: MIT OR Apache-2.0

//! The analysis of a recorded job: counts, learns and finds bursts, as a live run
//! does.

use std::collections::HashMap;

use ioracle_engine::{Config, Engine, Watcher};
use ioracle_events::{ContextId, Event, FileId, Function, StreamId};

use crate::bursts::BurstTally;
use crate::file_groups::FileGroups;
use crate::frames::{FrameSource, Frames};
use crate::insight::Insight;
use crate::summarise::{Surroundings, group_names};
use crate::summary::Summary;
use crate::tally::CallsHash;

/// Takes all events of a job and gives its summary.
pub struct JobAnalysis {
    insight: Insight,
    engine: Engine,
    bursts: BurstTally,
    /// Threads of the current process.
    streams: Vec<StreamId>,
}

impl Default for JobAnalysis {
    fn default() -> JobAnalysis {
        JobAnalysis::new()
    }
}

impl JobAnalysis {
    /// Nothing seen yet.
    pub fn new() -> JobAnalysis {
        JobAnalysis {
            insight: Insight::default(),
            engine: Engine::new(Config::default()),
            bursts: BurstTally::default(),
            streams: Vec::new(),
        }
    }

    /// Defines the frames of a call stack before the first event that names it.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        self.insight.define_context(id, frames);
        self.engine.define_context(id, frames);
    }

    /// Defines where a frame, as call stacks name it, is in the source.
    pub fn define_source(&mut self, frame: &str, source: FrameSource) {
        self.insight.define_source(frame, source);
    }

    /// Defines the path of a file before the first event that names it.
    pub fn define_file(&mut self, id: FileId, path: &str) {
        self.insight.define_file(id, path);
        self.engine.define_file(id, path);
    }

    /// Bytes of a file when it was first opened.
    pub fn define_size(&mut self, id: FileId, bytes: u64) {
        self.engine.define_size(id, bytes);
    }

    /// Takes the next event of its stream in.
    pub fn observe(&mut self, event: &Event) {
        self.observe_with(event, &mut ());
    }

    /// The same; `watcher` sees what was predicted.
    pub(crate) fn observe_with(&mut self, event: &Event, watcher: &mut impl Watcher) {
        self.insight.observe(event);
        let n_before = self.engine.operations(event.stream);
        self.engine.observe_with(event, watcher);
        let n_operations = self.engine.operations(event.stream);
        if n_operations > n_before {
            self.bursts.add(event);
        }
        if n_before == 0 && !self.streams.contains(&event.stream) {
            self.streams.push(event.stream);
        }
    }

    /// The process whose events came has no more. What its short threads have
    /// learned is there for those that follow.
    pub fn end_process(&mut self) {
        for stream in std::mem::take(&mut self.streams) {
            self.insight.end_stream(stream);
            self.engine.end_stream(stream);
            if self.engine.oracle(stream).is_none() {
                self.bursts.forget(stream);
            }
        }
    }

    /// Ends the analysis: the summary of a job that took `wall_s` seconds, with the
    /// rank of each process that has one.
    pub fn finish(mut self, ranks: &HashMap<u32, u32>, wall_s: f64) -> Summary {
        self.end();
        self.summary(ranks, wall_s)
    }

    /// There are no more events.
    pub(crate) fn end(&mut self) {
        self.end_process();
        self.insight.finish();
        self.engine.finish();
    }

    /// The summary, after the end.
    pub(crate) fn summary(&self, ranks: &HashMap<u32, u32>, wall_s: f64) -> Summary {
        let (engine, bursts) = (&self.engine, &self.bursts);
        self.insight.summarise(&Surroundings { engine, bursts, ranks, wall_s, is_whole: true })
    }

    /// The call stacks.
    pub(crate) fn frames(&self) -> &Frames {
        self.insight.frames()
    }

    /// What was learned.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The files, in groups of those that are treated alike.
    pub(crate) fn file_groups(&self) -> FileGroups {
        self.insight.file_groups()
    }

    /// What a thread does, in one number.
    pub(crate) fn behaviour(&self, stream: StreamId) -> CallsHash {
        self.insight.tally().streams.get(&stream).map(|it| it.behaviour).unwrap_or_default()
    }

    /// The groups of files that a call works on; not all if there are many.
    pub(crate) fn files_of_call(
        &self,
        context: ContextId,
        function: Function,
        groups: &FileGroups,
    ) -> Vec<String> {
        let files = self.insight.tally().files_by_call.of(context, function);
        group_names(files.iter().copied(), groups)
    }
}
