// SPDX-License-Identifier: MIT OR Apache-2.0

//! A stored knowledge graph with changes at some bytes, or arbitrary bytes: rejected,
//! or a graph that can be drawn, merged, followed and stored again.

#![no_main]

use std::sync::Arc;

use ioracle_knowledge::{
    Content, DataObject, FileRole, FileSystem, KnowledgeGraph, Navigator, Part, RunFiles, RunVisit,
    VisitCollector, VisitKind, draw,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|changes: &[u8]| {
    if let Some(graph) = KnowledgeGraph::from_bytes(changes) {
        use_graph(graph);
    }
    let mut bytes = good().to_bytes();
    for change in changes.chunks_exact(3) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[position] ^= change[2];
    }
    if let Some(graph) = KnowledgeGraph::from_bytes(&bytes) {
        use_graph(graph);
    }
});

/// Two variables of an input and one of an output, twice over.
fn good() -> KnowledgeGraph {
    let objects = [(FileRole::Input, "a"), (FileRole::Input, "b"), (FileRole::Input, "c")];
    let visit = |n: u64| {
        let (role, name) = objects[n as usize % 3].clone();
        RunVisit {
            object: DataObject { role, content: Content::Variable(name.into()) },
            kind: if n % 3 == 2 { VisitKind::Write } else { VisitKind::Read },
            index: (n / 3) as u32,
            is_last_file: n > 2,
            path_hash: n / 3,
            part: Part { starts: vec![n, 0], counts: vec![1, 10], strides: vec![] },
            shape: Some(vec![6, 10]),
            file_bytes: 1000,
            bytes: 80,
            extents: vec![80 * n..80 * n + 80],
            start_ns: 10 * n,
            end_ns: 10 * n + 5,
        }
    };
    KnowledgeGraph::of_run(&[(0..6).map(visit).collect()])
}

fn use_graph(mut graph: KnowledgeGraph) {
    draw("app", &graph);
    let command = ["app", "input.nc"].map(str::to_owned);
    let files = RunFiles::new(&command, "/", graph.outputs(), Arc::new(AnyInput));
    let mut run = VisitCollector::new(files);
    let mut navigator = Navigator::new(graph.record());
    navigator.extend(&graph, &mut run, 20);
    graph.merge(&good());
    graph.anonymised();
    KnowledgeGraph::from_bytes(&graph.to_bytes()).expect("what was stored can be loaded");
}

/// Every path that is asked for is a file.
struct AnyInput;

impl FileSystem for AnyInput {
    fn is_file(&self, _: &str) -> bool {
        true
    }

    fn is_directory(&self, _: &str) -> bool {
        false
    }

    fn names_in(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn short_text(&self, _: &str) -> Option<String> {
        None
    }
}
