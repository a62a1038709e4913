// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle knowledge learn`: what a recorded run accessed.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use ioracle_knowledge::{KnowledgeGraph, RepositoryPlace, RunFiles, VisitCollector, contribute};
use ioracle_trace::{ReadOptions, Trace};
use serde::Serialize;

use super::files::FilesOfTrace;
use super::{PATIENCE, Place};
use crate::shared::failure::open_trace;
use crate::shared::numbers::counted;
use crate::shared::output;
use crate::shared::progress::Progress;
use crate::shared::text::without_control_characters;

/// Stands for the working directory of a recorded run.
const DIRECTORY: &str = "/working-directory";
/// Events between two moves of the progress bar.
const PROGRESS_STEP: u64 = 4096;

#[derive(clap::Args)]
pub struct KnowledgeLearnArguments {
    /// Directory of a recorded trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Name of the application (default: that of the trace)
    #[arg(long, value_name = "APP")]
    name: Option<String>,
    /// Keep hashes instead of the names of files and variables
    #[arg(long)]
    anonymise: bool,
    /// Skip bad rows instead of stopping there
    #[arg(long)]
    lenient: bool,
}

#[derive(Serialize)]
struct Learned<'a> {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    knowledge: &'a PathBuf,
    application: &'a str,
    runs: u32,
    vertices: usize,
    edges: usize,
    visits: usize,
}

pub fn run(arguments: &KnowledgeLearnArguments, place: &Place) -> Result<()> {
    let trace = open_trace(&arguments.trace, ReadOptions { lenient: arguments.lenient })?;
    let application = application_of(&trace, arguments.name.as_deref());
    let collector = collect(&trace)?;
    let n_visits = collector.n_visits();
    if n_visits == 0 {
        bail!(
            "the trace '{}' has no read or write of a file that could be learned from; record the \
             program's own files",
            trace.name()
        );
    }
    let mut graph = collector.finish();
    if arguments.anonymise {
        graph = graph.anonymised();
    }
    let at = RepositoryPlace::of(&place.file);
    let (_, merged) = contribute(&place.file, at, (&application, None), &graph, PATIENCE)?;
    let merged = merged.unwrap_or(graph);
    let learned = Learned {
        knowledge: &place.file,
        application: &application,
        runs: merged.runs(),
        vertices: merged.vertices().len(),
        edges: merged.edges().len(),
        visits: n_visits,
    };
    if place.json {
        return output::print_json(&learned);
    }
    output::print_text(&format!(
        "learned {} of {}: {}, {} in {}\n",
        counted(n_visits as u64, "access"),
        without_control_characters(&application),
        counted(learned.vertices as u64, "data object"),
        counted(learned.edges as u64, "edge"),
        counted(u64::from(learned.runs), "run"),
    ))
}

fn collect(trace: &Trace) -> Result<VisitCollector> {
    let mut collector = collector_for(trace, &KnowledgeGraph::default());
    let progress = Progress::new();
    progress.expect(trace.meta().events.unwrap_or(0));
    for (n, event) in (1..).zip(trace.events(None)?) {
        collector.observe(&event?);
        if n % PROGRESS_STEP == 0 {
            progress.advance(PROGRESS_STEP);
        }
    }
    progress.finish();
    Ok(collector)
}

/// Nothing seen yet of the run that a trace has recorded; `known` is what earlier runs did.
pub fn collector_for(trace: &Trace, known: &KnowledgeGraph) -> VisitCollector {
    let command: Vec<String> = trace.meta().command.split_whitespace().map(str::to_owned).collect();
    let absolute = |path: &str| match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{DIRECTORY}/{path}"),
    };
    let paths = trace.files().iter().map(|(_, path)| absolute(&ioracle_events::plain(path)));
    let system = Arc::new(FilesOfTrace(paths.collect()));
    let files = RunFiles::new(&command, DIRECTORY, known.outputs(), system);
    let mut collector = VisitCollector::new(files);
    trace.files().iter().for_each(|(id, path)| {
        collector.define_file(id, path);
        if let Some(bytes) = trace.provenance().file_place(id).size_at_open {
            collector.define_size(id, bytes);
        }
    });
    trace.contexts().iter().for_each(|(id, frames)| collector.define_context(id, frames));
    collector
}

/// The path of a file of a recorded run, as its trace has it.
pub fn path_in_trace(path: &str) -> &str {
    path.strip_prefix(DIRECTORY).and_then(|path| path.strip_prefix('/')).unwrap_or(path)
}

/// What a recorded run is called in the repository, unless the user says so.
pub fn application_of(trace: &Trace, name: Option<&str>) -> String {
    match (name, trace.meta().application.as_str()) {
        (Some(name), _) => name.to_owned(),
        (None, "") => trace.name().to_owned(),
        (None, name) => name.to_owned(),
    }
}
