// SPDX-License-Identifier: MIT OR Apache-2.0

//! Knowledge as JSON. The names of the fields are a contract; docs/knowledge.md
//! explains them.

use std::path::Path;

use ioracle_knowledge::{
    AccessStats, ApplicationRow, Content, Edge, KnowledgeGraph, TimeStats, Vertex, VertexId,
    VisitKind,
};
use serde::Serialize;

use super::text;

#[derive(Serialize)]
pub struct List<'a> {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    knowledge: &'a Path,
    applications: Vec<ListRow<'a>>,
}

#[derive(Serialize)]
struct ListRow<'a> {
    application: &'a str,
    runs: u32,
    vertices: u64,
    edges: u64,
    bytes: u64,
    builds: Vec<BuildRow<'a>>,
}

#[derive(Serialize)]
struct BuildRow<'a> {
    build: &'a str,
    runs: u32,
}

pub fn list<'a>(knowledge: &'a Path, rows: &'a [ApplicationRow]) -> List<'a> {
    let build = |(build, runs): &'a (String, u32)| BuildRow { build, runs: *runs };
    let row = |row: &'a ApplicationRow| ListRow {
        application: &row.name,
        runs: row.runs,
        vertices: row.vertices,
        edges: row.edges,
        bytes: row.bytes,
        builds: row.builds.iter().map(build).collect(),
    };
    List { knowledge, applications: rows.iter().map(row).collect() }
}

#[derive(Serialize)]
pub struct ShownApplication<'a> {
    application: &'a str,
    runs: u32,
    vertices: usize,
    edges: usize,
    behaviour: Vec<String>,
    suggestions: Vec<String>,
    phases: Vec<PhaseRow>,
}

#[derive(Serialize)]
struct PhaseRow {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    times: u64,
}

pub fn shown<'a>(application: &'a str, graph: &KnowledgeGraph) -> ShownApplication<'a> {
    let described = graph.describe();
    ShownApplication {
        application,
        runs: graph.runs(),
        vertices: graph.vertices().len(),
        edges: graph.edges().len(),
        behaviour: described.behaviour,
        suggestions: described.suggestions,
        phases: phases(graph),
    }
}

#[derive(Serialize)]
pub struct Exported<'a> {
    application: &'a str,
    runs: u32,
    vertices: Vec<VertexRow>,
    edges: Vec<EdgeRow>,
    phases: Vec<PhaseRow>,
}

#[derive(Serialize)]
struct VertexRow {
    id: u32,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    header: bool,
    reads: AccessRow,
    writes: AccessRow,
    shape: Vec<u64>,
    rule: String,
}

#[derive(Serialize)]
struct AccessRow {
    visits: u64,
    bytes: u64,
    moved_bytes: u64,
    runs: u32,
    changed_runs: u32,
    io_time: TimeRow,
}

#[derive(Serialize)]
struct TimeRow {
    mean_ms: f64,
    deviation_ms: f64,
    last_ms: f64,
}

#[derive(Serialize)]
struct EdgeRow {
    /// None for the start.
    from: Option<u32>,
    from_kind: Option<&'static str>,
    to: u32,
    to_kind: &'static str,
    visits: u64,
    wait: TimeRow,
    /// As in Figure 3 of the paper, once there were two runs.
    class: Option<String>,
}

pub fn exported<'a>(application: &'a str, graph: &KnowledgeGraph) -> Exported<'a> {
    let vertex = |(n, vertex): (usize, &Vertex)| {
        let id = VertexId(n as u32);
        VertexRow {
            id: id.0,
            file: vertex.object.role.in_words(),
            variable: match &vertex.object.content {
                Content::Variable(_) => Some(vertex.object.name()),
                _ => None,
            },
            header: vertex.object.content == Content::Header,
            reads: access(&vertex.reads),
            writes: access(&vertex.writes),
            shape: vertex.shape.clone(),
            rule: text::rule(graph, id),
        }
    };
    let edge = |edge: &Edge| EdgeRow {
        from: edge.from.map(|(id, _)| id.0),
        from_kind: edge.from.map(|(_, it)| kind(it)),
        to: edge.to.0.0,
        to_kind: kind(edge.to.1),
        visits: edge.visits,
        wait: time(&edge.wait),
        class: graph.class(edge),
    };
    Exported {
        application,
        runs: graph.runs(),
        vertices: graph.vertices().iter().enumerate().map(vertex).collect(),
        edges: graph.edges().iter().map(edge).collect(),
        phases: phases(graph),
    }
}

fn phases(graph: &KnowledgeGraph) -> Vec<PhaseRow> {
    let ids = |ids: &[VertexId]| ids.iter().map(|id| id.0).collect();
    let phases = graph.phases().into_iter();
    phases
        .map(|(phase, times)| PhaseRow {
            inputs: ids(&phase.inputs),
            outputs: ids(&phase.outputs),
            times,
        })
        .collect()
}

fn access(stats: &AccessStats) -> AccessRow {
    AccessRow {
        visits: stats.visits,
        bytes: stats.bytes,
        moved_bytes: stats.moved_bytes,
        runs: stats.runs,
        changed_runs: stats.changed_runs,
        io_time: time(&stats.io_time),
    }
}

fn time(stats: &TimeStats) -> TimeRow {
    TimeRow {
        mean_ms: stats.mean_ns * 1e-6,
        deviation_ms: stats.deviation_ns() * 1e-6,
        last_ms: stats.last_ns as f64 * 1e-6,
    }
}

fn kind(kind: VisitKind) -> &'static str {
    match kind {
        VisitKind::Read => "read",
        VisitKind::Write => "write",
    }
}
