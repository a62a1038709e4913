// SPDX-License-Identifier: MIT OR Apache-2.0

//! The third source of predictions: the knowledge graph of the application, which also
//! applies to inputs other than those it was learned from.
//!
//! The grammar and a saved model predict bytes; the graph predicts visits of data
//! objects, from before the first access of a run. Each stream has a
//! [`Navigator`] of its own; until a stream has visited something, what is ahead
//! of the start vertex is ahead of the run. How likely a step is includes how
//! predictions from this graph went so far, in earlier runs and in this one.

use std::collections::BTreeMap;
use std::sync::Arc;

use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_knowledge::{
    GraphRecord, GraphStep, KnowledgeGraph, KnownFileLayout, NavigationCounts, Navigator,
    VisitCollector,
};

/// Streams that are followed in the graph.
const MAX_STREAMS: usize = 256;

/// Follows a run in the graph of its application, and collects what it visits.
#[derive(Clone, Debug)]
pub struct GraphSource {
    graph: Arc<KnowledgeGraph>,
    run: VisitCollector,
    /// Ahead of the run before any stream has visited anything.
    start: Navigator,
    navigators: BTreeMap<StreamId, Navigator>,
    /// More is known about files than when the paths were derived.
    is_stale: bool,
}

impl GraphSource {
    /// At the start of a run, with the graph of earlier ones, which may be empty.
    pub fn new(graph: Arc<KnowledgeGraph>, mut run: VisitCollector) -> GraphSource {
        let mut start = Navigator::new(graph.record());
        if graph.runs() > 0 {
            start.derive(&graph, &mut run);
        }
        GraphSource { graph, run, start, navigators: BTreeMap::new(), is_stale: false }
    }

    /// The graph of earlier runs.
    pub fn graph(&self) -> &KnowledgeGraph {
        &self.graph
    }

    pub(crate) fn define_file(&mut self, file: FileId, path: &str) {
        self.run.define_file(file, path);
    }

    pub(crate) fn define_size(&mut self, file: FileId, bytes: u64) {
        self.is_stale |= self.run.define_size(file, bytes);
    }

    pub(crate) fn define_context(&mut self, context: ContextId, frames: &str) {
        self.run.define_context(context, frames);
    }

    pub(crate) fn observe(&mut self, event: &Event) {
        self.refresh();
        let Some(visit) = self.run.observe(event) else { return };
        self.is_stale |= self.run.take_learned();
        if self.graph.runs() == 0 {
            return;
        }
        if !self.navigators.contains_key(&event.stream) {
            if self.navigators.len() >= MAX_STREAMS {
                return;
            }
            self.navigators.insert(event.stream, self.start.clone());
        }
        if let Some(navigator) = self.navigators.get_mut(&event.stream) {
            navigator.observe(&visit, &self.graph, &mut self.run);
        }
    }

    pub(crate) fn end_stream(&mut self, stream: StreamId) {
        if let Some(navigator) = self.navigators.get_mut(&stream) {
            navigator.stop();
        }
    }

    /// What is ahead of each stream; before any has visited something, of the run.
    pub fn ahead(&self) -> impl Iterator<Item = (Option<StreamId>, &Navigator)> {
        let start = self.navigators.is_empty().then_some((None, &self.start));
        start.into_iter().chain(self.navigators.iter().map(|(id, it)| (Some(*id), it)))
    }

    /// Makes the path ahead of a stream longer.
    pub fn extend(&mut self, stream: Option<StreamId>, n_steps: usize) {
        let navigator = match stream {
            Some(stream) => self.navigators.get_mut(&stream),
            None => Some(&mut self.start),
        };
        if let Some(navigator) = navigator.filter(|_| self.graph.runs() > 0) {
            navigator.extend(&self.graph, &mut self.run, n_steps);
        }
    }

    /// How likely it is that a step of a path comes.
    pub fn probability(navigator: &Navigator, step: &GraphStep) -> f64 {
        navigator.record().trust() * navigator.probability(step)
    }

    /// Files on the paths whose layout is not known; each is named once.
    pub fn take_wanted(&mut self) -> Vec<String> {
        self.run.take_wanted()
    }

    /// Where things lie in a file. Paths are derived again by
    /// [`refresh`](GraphSource::refresh).
    pub fn define_layout(&mut self, path: &str, layout: KnownFileLayout) {
        self.run.define_layout(path, layout);
        self.is_stale = true;
    }

    /// Derives paths again if more is known about files.
    pub fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_stale) || self.graph.runs() == 0 {
            return;
        }
        if self.navigators.is_empty() {
            self.start.derive(&self.graph, &mut self.run);
        }
        for navigator in self.navigators.values_mut() {
            navigator.derive(&self.graph, &mut self.run);
        }
    }

    /// How the run and the graph agreed so far.
    pub fn counts(&self) -> NavigationCounts {
        let mut sum = NavigationCounts::default();
        for counts in self.navigators.values().map(Navigator::counts) {
            sum.visits += counts.visits;
            sum.matched += counts.matched;
            sum.predicted += counts.predicted;
        }
        sum
    }

    /// Visits of the run so far, known to the graph or not.
    pub fn n_visits(&self) -> usize {
        self.run.n_visits()
    }

    /// The graph of this run, with how predictions went in it.
    pub fn finish(self) -> KnowledgeGraph {
        let counts = self.counts();
        let mut graph = self.run.finish();
        graph.set_record(GraphRecord {
            predicted: counts.visits as f64,
            right: counts.predicted as f64,
        });
        graph
    }
}
