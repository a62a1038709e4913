// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the knowledge graph of an application expects of a recorded run, beside what the
//! grammar of the run expects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use ioracle_engine::{Config, Engine, GraphSource};
use ioracle_events::StreamId;
use ioracle_knowledge::{Content, GraphStep, NavigationCounts, Part, VisitKind};
use ioracle_trace::Trace;
use serde::Serialize;

use crate::knowledge::{application_of, collector_for, graph_of, path_in_trace};
use crate::shared::numbers::{bytes, grouped, nanoseconds, none, noun_for};
use crate::shared::table::{Alignment, Cell, Colours, TextTable};
use crate::shared::text::{shorten_start, without_control_characters};

/// Columns of a file and a variable in it.
const WIDTH: usize = 44;

/// What the graph expects next.
#[derive(Serialize)]
pub struct GraphOutlook {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    knowledge: PathBuf,
    application: String,
    /// Runs that it has learned from.
    runs: u32,
    /// Accesses to data objects up to here.
    visits: u64,
    /// Those that the graph knew, and those that were the next step of its path.
    matched_percent: Option<f64>,
    predicted_percent: Option<f64>,
    ahead: Vec<ExpectedVisit>,
}

/// One step along the graph.
#[derive(Serialize)]
struct ExpectedVisit {
    access: &'static str,
    /// Null where it is not known, as for files that are written.
    file: Option<String>,
    /// Null for the bytes of a file, and for its header.
    variable: Option<String>,
    header: bool,
    start: Vec<u64>,
    count: Vec<u64>,
    /// The bytes of the file, `[from, to]`, as far as they are known.
    bytes: Vec<[u64; 2]>,
    from_now_s: f64,
    io_time_s: f64,
    probability: f64,
}

/// Follows a recorded run in the graph of its application, up to a time of one of its
/// streams, and looks this many steps ahead.
pub fn expect(
    trace: &Trace,
    (stream, until_ns): (StreamId, u64),
    (file, name): (&Path, Option<&str>),
    n_steps: usize,
) -> Result<GraphOutlook> {
    let application = application_of(trace, name);
    let graph = Arc::new(graph_of(file, &application)?);
    let collector = collector_for(trace, &graph);
    // It only passes events on to the graph.
    let mut engine = Engine::new(Config::default());
    engine.follow_graph(GraphSource::new(Arc::clone(&graph), collector));
    for event in trace.events(Some(stream.rank))? {
        let event = event?;
        if event.stream == stream && event.start_ns >= until_ns {
            break;
        }
        engine.pass_over(&event);
    }
    let mut source = engine.take_graph();
    let mut outlook = GraphOutlook {
        knowledge: file.to_owned(),
        application,
        runs: graph.runs(),
        visits: 0,
        matched_percent: None,
        predicted_percent: None,
        ahead: Vec::new(),
    };
    let Some(source) = &mut source else { return Ok(outlook) };
    let NavigationCounts { visits, matched, predicted } = source.counts();
    let percent = |n: u64| (visits > 0).then(|| 100.0 * n as f64 / visits as f64);
    outlook.visits = visits;
    (outlook.matched_percent, outlook.predicted_percent) = (percent(matched), percent(predicted));
    // Before its first access, what is ahead of a stream is what is ahead of the run.
    let key = source.ahead().map(|(id, _)| id).find(|id| id.is_none_or(|id| id == stream));
    let Some(key) = key else { return Ok(outlook) };
    source.extend(key, n_steps);
    let navigator = source.ahead().find(|(id, _)| *id == key).map(|(_, navigator)| navigator);
    for step in navigator.into_iter().flat_map(|it| it.path()).take(n_steps) {
        let probability = navigator.map_or(0.0, |it| GraphSource::probability(it, step));
        let content = &graph.vertex(step.vertex).object.content;
        let from_now_ns = navigator.map_or(0, |it| it.from_now_ns(step));
        outlook.ahead.push(ExpectedVisit::new(step, content, from_now_ns, probability));
    }
    Ok(outlook)
}

impl ExpectedVisit {
    fn new(
        step: &GraphStep,
        content: &Content,
        from_now_ns: u64,
        probability: f64,
    ) -> ExpectedVisit {
        let Part { starts, counts, .. } = step.part.clone();
        ExpectedVisit {
            access: match step.kind {
                VisitKind::Read => "read",
                VisitKind::Write => "write",
            },
            file: step.path.as_deref().map(|path| path_in_trace(path).to_owned()),
            variable: match content {
                Content::Variable(name) => Some(name.to_string()),
                Content::Bytes | Content::Header => None,
            },
            header: *content == Content::Header,
            start: starts,
            count: counts,
            bytes: step.extents.iter().map(|range| [range.start, range.end]).collect(),
            from_now_s: from_now_ns as f64 * 1e-9,
            io_time_s: step.io_time_ns as f64 * 1e-9,
            probability,
        }
    }

    fn object(&self) -> String {
        let file = self.file.as_deref().map_or_else(none, without_control_characters);
        let Some(variable) = &self.variable else {
            let header = if self.header { " (header)" } else { "" };
            return format!("{}{header}", shorten_start(&file, WIDTH - header.len()));
        };
        let variable = shorten_start(&without_control_characters(variable), WIDTH / 2);
        let room = WIDTH - variable.chars().count();
        format!("{}: {variable}", shorten_start(&file, room))
    }

    fn part(&self) -> String {
        if self.start.is_empty() {
            return if self.header { none() } else { "the whole".to_owned() };
        }
        let along = |(start, count): (&u64, &u64)| match count {
            1 => grouped(*start),
            _ => format!("{}:{}", grouped(*start), grouped(start.saturating_add(*count))),
        };
        let parts: Vec<String> = self.start.iter().zip(&self.count).map(along).collect();
        parts.join(", ")
    }

    fn bytes(&self) -> String {
        let total = self.bytes.iter().map(|[from, to]| to - from).sum();
        if total == 0 { none() } else { bytes(total) }
    }
}

/// The same for people.
pub fn render(outlook: &GraphOutlook, colours: Colours) -> String {
    let GraphOutlook { application, runs, visits, .. } = outlook;
    let application = without_control_characters(application);
    let so_far = match (outlook.matched_percent, outlook.predicted_percent) {
        (Some(matched), Some(predicted)) => format!(
            "; {matched:.0} % of {} {} so far were known, {predicted:.0} % predicted",
            grouped(*visits),
            noun_for(*visits, "access")
        ),
        _ => String::new(),
    };
    let title = format!(
        "\nWhat the knowledge graph of {application} expects ({} {}{so_far}):\n\n",
        grouped(u64::from(*runs)),
        noun_for(u64::from(*runs), "run"),
    );
    if outlook.ahead.is_empty() {
        return format!("{title}nothing: no run came by here\n");
    }
    let mut table = TextTable::new(&[
        ("step", Alignment::Right),
        ("access", Alignment::Left),
        ("file: variable", Alignment::Left),
        ("part", Alignment::Left),
        ("bytes of the file", Alignment::Right),
        ("from now", Alignment::Right),
        ("I/O time", Alignment::Right),
        ("probability", Alignment::Right),
    ]);
    for (step, visit) in outlook.ahead.iter().enumerate() {
        let ns = |seconds: f64| nanoseconds((seconds * 1e9) as u64);
        let row: Vec<Cell> = vec![
            (step + 1).to_string().into(),
            visit.access.into(),
            visit.object().into(),
            visit.part().into(),
            visit.bytes().into(),
            ns(visit.from_now_s).into(),
            ns(visit.io_time_s).into(),
            format!("{:.3}", visit.probability).into(),
        ];
        table.push(row);
    }
    format!("{title}{}", table.render(colours))
}
