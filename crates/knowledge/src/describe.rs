// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was learned, in words, and what could be done about it.

use crate::graph::{Content, KnowledgeGraph, Vertex, VertexId};
use crate::role::FileRole;

/// Names that are listed before the rest is counted.
const NAMED: usize = 6;
/// Phases that are described.
const MAX_PHASES: usize = 6;
/// Suggestions of each kind.
const MAX_SUGGESTIONS: usize = 4;
/// Moving so many times the bytes that were asked for is worth a word.
const AMPLIFIED: f64 = 2.0;
/// So many places for one visit are worth a word.
const SCATTERED: u32 = 8;

/// A graph in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphDescription {
    /// What the application does, one sentence each.
    pub behaviour: Vec<String>,
    /// What could be done about it.
    pub suggestions: Vec<String>,
}

impl KnowledgeGraph {
    /// What the graph says, in words.
    pub fn describe(&self) -> GraphDescription {
        let mut behaviour = Vec::new();
        for (phase, times) in self.phases().into_iter().take(MAX_PHASES) {
            let reads = self.objects(&phase.inputs);
            let writes = self.objects(&phase.outputs);
            let sentence = match (reads.is_empty(), writes.is_empty()) {
                (false, false) => format!("reads {reads}, then writes {writes}"),
                (false, true) => format!("reads {reads}"),
                _ => format!("writes {writes}"),
            };
            let per_run = times as f64 / f64::from(self.runs().max(1));
            let often = match () {
                () if per_run >= 1.5 => format!(" (about {per_run:.0} times a run)"),
                () if self.runs() > 1 && per_run <= 0.95 => {
                    format!(" (in {:.0} % of runs)", 100.0 * per_run)
                }
                () => String::new(),
            };
            behaviour.push(format!("{sentence}{often}"));
        }
        let others = self.phases().len().saturating_sub(MAX_PHASES);
        if others > 0 {
            behaviour.push(format!("and {others} other combinations of reads and writes"));
        }
        behaviour.extend(self.rare());
        let suggestions = [self.staging(), self.scattered(), self.amplified()].concat();
        GraphDescription { behaviour, suggestions }
    }

    /// Objects as '`a, b and c of each input`', by the files they are in.
    fn objects(&self, ids: &[VertexId]) -> String {
        let mut groups: Vec<(&FileRole, Vec<String>)> = Vec::new();
        for vertex in ids.iter().map(|id| self.vertex(*id)) {
            let name = match &vertex.object.content {
                Content::Variable(_) => vertex.object.name(),
                _ => String::new(),
            };
            match groups.iter_mut().find(|(role, _)| *role == &vertex.object.role) {
                Some((_, names)) => names.push(name),
                None => groups.push((&vertex.object.role, vec![name])),
            }
        }
        let of = |(role, names): &(&FileRole, Vec<String>)| {
            let file = match (role, role.is_series()) {
                (FileRole::Input, _) => "each input".to_owned(),
                (FileRole::Output { .. }, _) => format!("the {}", role.in_words()),
                (FileRole::Listed { .. }, _) => format!("each of the {}", role.in_words()),
                (_, true) => format!("each {}", role.in_words()),
                (_, false) => format!("'{}'", role.in_words()),
            };
            let names: Vec<String> = names.iter().filter(|it| !it.is_empty()).cloned().collect();
            if names.is_empty() { file } else { format!("{} of {file}", list(&names)) }
        };
        list(&groups.iter().map(of).collect::<Vec<_>>())
    }

    /// What only some runs do.
    fn rare(&self) -> Option<String> {
        let runs = self.runs();
        let share = |vertex: &Vertex| f64::from(vertex.reads.runs) / f64::from(runs.max(1));
        let is_rare = |vertex: &&Vertex| {
            vertex.reads.runs > 0 && vertex.reads.runs < runs && share(vertex) <= 0.5
        };
        let rare: Vec<&Vertex> = self.vertices().iter().filter(is_rare).collect();
        let most = rare.iter().map(|vertex| share(vertex)).fold(0.0, f64::max);
        let names: Vec<String> = rare.iter().map(|vertex| vertex.object.name()).collect();
        (!names.is_empty() && runs > 1)
            .then(|| format!("{:.0} % of runs also read {}", 100.0 * most, list(&names)))
    }

    /// Files that every run reads, the same bytes each time.
    fn staging(&self) -> Vec<String> {
        let is_same = |vertex: &&Vertex| {
            vertex.reads.runs >= 2
                && vertex.reads.runs >= self.runs()
                && vertex.reads.changed_runs == 0
                && vertex.writes.visits == 0
        };
        let mut files: Vec<String> = Vec::new();
        for vertex in self.vertices().iter().filter(is_same) {
            let name = vertex.object.role.in_words();
            if !files.contains(&name) {
                files.push(name);
            }
        }
        match files.is_empty() {
            true => Vec::new(),
            false => vec![format!(
                "every run reads the same data of {}: a candidate for staging to fast storage",
                list(&files)
            )],
        }
    }

    /// Variables that lie in many places.
    fn scattered(&self) -> Vec<String> {
        let is_variable = |vertex: &&Vertex| matches!(vertex.object.content, Content::Variable(_));
        let scattered: Vec<&Vertex> = (self.vertices().iter().filter(is_variable))
            .filter(|vertex| vertex.reads.n_ranges >= SCATTERED)
            .collect();
        let together = scattered.len() > 1;
        let names: Vec<String> = scattered.iter().map(|vertex| vertex.object.name()).collect();
        let most = scattered.iter().map(|vertex| vertex.reads.n_ranges).max().unwrap_or(0);
        match scattered.is_empty() {
            true => Vec::new(),
            false => vec![format!(
                "one read of {} takes up to {most} places of the file{}: a layout in which it is \
                 contiguous (no record dimension, or chunks of the shape that is read) would read \
                 it at once",
                list(&names),
                if together { ", and they are read together" } else { "" }
            )],
        }
    }

    /// Variables for which far more is read than was asked for.
    fn amplified(&self) -> Vec<String> {
        let factor =
            |vertex: &Vertex| vertex.reads.moved_bytes as f64 / vertex.reads.bytes.max(1) as f64;
        let is_amplified = |vertex: &&Vertex| {
            matches!(vertex.object.content, Content::Variable(_))
                && vertex.reads.bytes > 1 << 16
                && factor(vertex) >= AMPLIFIED
        };
        let found = self.vertices().iter().filter(is_amplified).take(MAX_SUGGESTIONS);
        found
            .map(|vertex| {
                format!(
                    "reading {} moves {:.1} times the bytes that are asked for: chunks of the \
                     shape of the parts that are read would avoid that",
                    vertex.object.name(),
                    factor(vertex)
                )
            })
            .collect()
    }
}

/// `a, b and c`; of many, the first ones and how many there are.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        _ if names.len() > NAMED + 1 => {
            format!("{} and {} others", names[..NAMED].join(", "), names.len() - NAMED)
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
