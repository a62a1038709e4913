// SPDX-License-Identifier: MIT OR Apache-2.0

//! The call stacks of the I/O as a tree, outermost frame first, weighted by time
//! and by bytes: a flame graph.
//!
//! Time is what a call took itself, without the recorded calls inside it, which
//! have stacks of their own further up. Bytes are those of operations.

use std::collections::HashMap;

use ioracle_events::{ContextId, Event, FastMap, Function, Operation, StreamId};
use serde::Serialize;

use crate::frames::Frames;

/// Calls that are counted separately.
const MAX_CALLS: usize = 1 << 16;
/// Threads whose enclosing calls are followed.
const MAX_STREAMS: usize = 1 << 16;
/// Nodes of the tree that are shown; the smallest ones are left out.
const MAX_NODES: usize = 6000;

/// A call, by its call stack and function.
type Call = (ContextId, Function);

/// Takes events and operations in.
#[derive(Debug, Default)]
pub struct StackTally {
    calls: FastMap<Call, CallWeight>,
    /// The calls that each thread is inside of.
    enclosing: FastMap<StreamId, Vec<Call>>,
}

/// What a call weighs.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallWeight {
    /// Its own time; calls inside may have been longer than their sum, by the clock.
    pub own_ns: i64,
    pub calls: u64,
    pub bytes: u64,
}

/// A tree of frames; a node comes after the one it is called from.
#[derive(Debug, Default, Serialize)]
pub struct FlameTree {
    /// The names of frames.
    pub names: Vec<String>,
    /// The source file and line of each name, where known.
    pub places: Vec<Option<String>>,
    /// Name, place of the caller (0 for the root itself), nanoseconds, bytes and
    /// calls of the node and all above it.
    pub nodes: Vec<(usize, usize, u64, u64, u64)>,
    /// Nodes that were left out.
    pub left_out: usize,
}

impl StackTally {
    /// Takes an event in.
    pub fn add_event(&mut self, event: &Event) {
        if event.is_further_part() {
            return;
        }
        let call = (event.context, event.function);
        let ns = i64::try_from(event.end_ns - event.start_ns).unwrap_or(i64::MAX);
        if let Some(weight) = self.weight(call) {
            weight.own_ns = weight.own_ns.saturating_add(ns);
            weight.calls += 1;
        }
        if self.enclosing.len() >= MAX_STREAMS && !self.enclosing.contains_key(&event.stream) {
            return;
        }
        let enclosing = self.enclosing.entry(event.stream).or_default();
        enclosing.truncate(event.depth as usize);
        let outer = enclosing.last().copied();
        enclosing.push(call);
        if let Some(weight) = outer.and_then(|outer| self.calls.get_mut(&outer)) {
            weight.own_ns = weight.own_ns.saturating_sub(ns);
        }
    }

    /// Takes an operation in.
    pub fn add_operation(&mut self, operation: &Operation) {
        if let Some(weight) = self.weight((operation.context, operation.function)) {
            weight.bytes = weight.bytes.saturating_add(operation.size);
        }
    }

    fn weight(&mut self, call: Call) -> Option<&mut CallWeight> {
        let has_room = self.calls.len() < MAX_CALLS || self.calls.contains_key(&call);
        has_room.then(|| self.calls.entry(call).or_default())
    }

    /// The tree.
    pub fn finish(&self, frames: &Frames) -> FlameTree {
        let mut tree = Tree::default();
        let mut calls: Vec<(&Call, &CallWeight)> = self.calls.iter().collect();
        calls.sort_by_key(|(call, _)| **call);
        for (&(context, function), weight) in calls {
            tree.add(frames, context, function, weight);
        }
        tree.pruned()
    }
}

/// All nodes, before small ones are left out.
#[derive(Default)]
struct Tree {
    names: Vec<String>,
    places: Vec<Option<String>>,
    by_name: HashMap<String, usize>,
    nodes: Vec<Node>,
    children: HashMap<(usize, usize), usize>,
}

#[derive(Clone, Copy)]
struct Node {
    name: usize,
    parent: usize,
    ns: u64,
    bytes: u64,
    calls: u64,
}

impl Tree {
    fn add(&mut self, frames: &Frames, context: ContextId, function: Function, of: &CallWeight) {
        if self.nodes.is_empty() {
            let name = self.name("all I/O", None);
            self.nodes.push(Node { name, parent: 0, ns: 0, bytes: 0, calls: 0 });
        }
        let mut at = 0;
        self.weigh(at, of);
        for frame in frames.outermost_first(context) {
            let (name, place) = frames.described(frame);
            let name = self.name(&name, place);
            at = self.child(at, name);
            self.weigh(at, of);
        }
        let name = self.name(function.name(), None);
        at = self.child(at, name);
        self.weigh(at, of);
    }

    fn weigh(&mut self, at: usize, of: &CallWeight) {
        let node = &mut self.nodes[at];
        node.ns = node.ns.saturating_add(of.own_ns.max(0).unsigned_abs());
        node.bytes = node.bytes.saturating_add(of.bytes);
        node.calls += of.calls;
    }

    fn name(&mut self, name: &str, place: Option<String>) -> usize {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        self.names.push(name.to_owned());
        self.places.push(place);
        self.by_name.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn child(&mut self, parent: usize, name: usize) -> usize {
        let n_nodes = self.nodes.len();
        let child = *self.children.entry((parent, name)).or_insert(n_nodes);
        if child == n_nodes {
            self.nodes.push(Node { name, parent, ns: 0, bytes: 0, calls: 0 });
        }
        child
    }

    /// Leaves out the nodes that weigh least by each of time, bytes and calls.
    fn pruned(self) -> FlameTree {
        let Some(root) = self.nodes.first().copied() else { return FlameTree::default() };
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let weight = |node: &Node| {
            share(node.ns, root.ns)
                .max(share(node.bytes, root.bytes))
                .max(share(node.calls, root.calls))
        };
        let mut weights: Vec<f64> = self.nodes.iter().map(weight).collect();
        weights.sort_by(|a, b| b.total_cmp(a));
        let least = weights.get(MAX_NODES).copied().unwrap_or(0.0);
        // A caller weighs at least as much as what it calls, so none is left out
        // below one that is shown.
        let mut places: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut nodes = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let parent = if at == 0 { Some(0) } else { places[node.parent] };
            let Some(parent) = parent.filter(|_| least == 0.0 || weight(node) > least) else {
                continue;
            };
            places[at] = Some(nodes.len());
            nodes.push((node.name, parent, node.ns, node.bytes, node.calls));
        }
        let left_out = self.nodes.len() - nodes.len();
        FlameTree { names: self.names, places: self.places, nodes, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::event;

    #[test]
    fn the_time_of_inner_calls_is_not_counted_twice() {
        let mut tally = StackTally::default();
        let mut frames = Frames::default();
        frames.define(ContextId(1), "app+0x10;libc.so.6+0x1");
        frames.define(ContextId(2), "libhdf5.so+0x99;app+0x10;libc.so.6+0x1");
        let outer = Event { end_ns: 101_000, ..event("H5Dwrite", 1, Some((0, 500))) };
        let context = ContextId(2);
        let inner = Event { depth: 1, context, ..event("pwrite", 1, Some((0, 500))) };
        tally.add_event(&outer);
        tally.add_event(&inner);
        tally.add_event(&inner);
        tally.add_operation(&Operation::from(&inner));
        let tree = tally.finish(&frames);
        let named = |name: &str| {
            let name = tree.names.iter().position(|it| it == name).unwrap();
            *tree.nodes.iter().find(|node| node.0 == name).unwrap()
        };
        assert_eq!((named("all I/O").2, named("all I/O").3), (100_000, 500));
        assert_eq!((named("H5Dwrite").2, named("pwrite").2), (80_000, 20_000));
        assert_eq!(named("libhdf5.so+0x99").2, 20_000);
        assert_eq!((named("app+0x10").2, named("app+0x10").4), (100_000, 3));
    }

    #[test]
    fn a_job_without_calls_has_no_tree() {
        assert!(StackTally::default().finish(&Frames::default()).nodes.is_empty());
    }
}
