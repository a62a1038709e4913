// SPDX-License-Identifier: MIT OR Apache-2.0

//! Knowledge as text.

use ioracle_events::readable;
use ioracle_knowledge::{
    ApplicationRow, Content, FileProgression, KnowledgeGraph, PartMotion, Vertex, VertexId,
};

use crate::shared::numbers::{bytes, counted, grouped};
use crate::shared::text::wrap;

const WIDTH: usize = 96;
/// Data objects that are listed.
const MAX_LISTED: usize = 40;

/// A table of applications.
pub fn list(rows: &[ApplicationRow]) -> String {
    if rows.is_empty() {
        return "no application is known yet\n".to_owned();
    }
    let mut text = format!(
        "{:<32} {:>6} {:>9} {:>7} {:>8} {:>10}\n",
        "application", "runs", "objects", "edges", "builds", "size"
    );
    for row in rows {
        text.push_str(&format!(
            "{:<32} {:>6} {:>9} {:>7} {:>8} {:>10}\n",
            printable(&row.name),
            grouped(u64::from(row.runs)),
            grouped(row.vertices),
            grouped(row.edges),
            grouped(row.builds.len() as u64),
            bytes(row.bytes)
        ));
    }
    text
}

/// What a graph says.
pub fn show(application: &str, graph: &KnowledgeGraph) -> String {
    let described = graph.describe();
    let mut text = format!(
        "{}: {}, {}, {}\n",
        printable(application),
        counted(u64::from(graph.runs()), "run"),
        counted(graph.vertices().len() as u64, "data object"),
        counted(graph.edges().len() as u64, "edge"),
    );
    section(&mut text, "what it does", &described.behaviour);
    section(&mut text, "what could be done", &described.suggestions);
    text.push_str("\nits data objects, those with most bytes first\n");
    let mut ids: Vec<VertexId> = (0..graph.vertices().len() as u32).map(VertexId).collect();
    let moved = |vertex: &Vertex| vertex.reads.bytes.saturating_add(vertex.writes.bytes);
    ids.sort_by_key(|id| std::cmp::Reverse(moved(graph.vertex(*id))));
    for id in ids.iter().take(MAX_LISTED) {
        let vertex = graph.vertex(*id);
        let verb = match (vertex.reads.visits, vertex.writes.visits) {
            (_, 0) => "read",
            (0, _) => "written",
            _ => "read and written",
        };
        // The names of others tell the file.
        let file = match &vertex.object.content {
            Content::Variable(_) => vertex.object.role.in_words(),
            Content::Bytes | Content::Header => String::new(),
        };
        text.push_str(&format!(
            "  {:<28} {:<24} {verb} {} ×, {}; {}\n",
            printable(&vertex.object.name()),
            printable(&file),
            grouped(vertex.reads.visits.saturating_add(vertex.writes.visits)),
            bytes(moved(vertex)),
            rule(graph, *id)
        ));
    }
    if ids.len() > MAX_LISTED {
        text.push_str(&format!("  and {} others\n", grouped((ids.len() - MAX_LISTED) as u64)));
    }
    text
}

/// The rule by which most visits of a vertex move.
pub fn rule(graph: &KnowledgeGraph, id: VertexId) -> String {
    let Some((file, part, _)) = graph.motions(id).first().copied() else { return String::new() };
    let file = match file {
        FileProgression::Same | FileProgression::First => "",
        FileProgression::Step(1) => " of the next file",
        FileProgression::Step(_) => " of another file",
        FileProgression::Elsewhere => " of any file",
    };
    let n_dimensions = graph.vertex(id).shape.len();
    format!("{}{file}", part_in_words(part, n_dimensions))
}

/// How a part follows from the one before. Dimensions count from 1, as in the summary.
fn part_in_words(part: PartMotion, n_dimensions: usize) -> String {
    let along = |dimension: u8| match n_dimensions {
        1 => String::new(),
        _ => format!(" along dimension {}", u32::from(dimension) + 1),
    };
    match part {
        PartMotion::Whole => "all of it".to_owned(),
        PartMotion::First => "from its beginning".to_owned(),
        PartMotion::Again => "the same part again".to_owned(),
        PartMotion::Next(d) => format!("one part after the other{}", along(d)),
        PartMotion::Jump(d, by) => {
            let whither = if by < 0 { "back" } else { "further" };
            format!("{} {whither}{}", grouped(by.unsigned_abs()), along(d))
        }
        PartMotion::Carry(d) => {
            format!("one part after the other{}, from the beginning along the others", along(d))
        }
        PartMotion::Elsewhere => "somewhere else".to_owned(),
    }
}

fn section(text: &mut String, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for sentence in sentences {
        let lines = wrap(&printable(sentence), WIDTH);
        text.push_str(&format!("  - {}\n", lines.join("\n    ")));
    }
}

fn printable(text: &str) -> String {
    let safe: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    readable(&safe).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_count_from_one_and_are_named_where_there_are_several() {
        let check = |part, n_dimensions, expected: &str| {
            assert_eq!(part_in_words(part, n_dimensions), expected);
        };
        check(PartMotion::Next(0), 1, "one part after the other");
        check(PartMotion::Next(0), 3, "one part after the other along dimension 1");
        check(PartMotion::Jump(1, -4096), 2, "4,096 back along dimension 2");
    }
}
