// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a run takes from the knowledge repository and adds to it. Any problem with the
//! repository is reported once, and the run continues without it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ioracle_engine::{Engine, GraphSource};
use ioracle_knowledge::{
    IfMissing, KnowledgeGraph, Repository, RepositoryPlace, RunFiles, VisitCollector,
    leave_contribution,
};

use crate::knowledge::FileInquiry;
use crate::shared::failure::sentence;
use crate::shared::output::say;
use crate::shared::summary::KnowledgeUse;

/// How long to wait for others at the beginning, while the program is already running.
const PATIENCE_BEFORE: Duration = Duration::from_millis(500);
/// How long its file system may take to answer before it is left alone.
const PATIENCE_WITH_STORAGE: Duration = Duration::from_secs(2);

/// What a run is in the repository.
pub struct KnowledgeRun {
    /// The repository.
    pub file: PathBuf,
    pub application: String,
    pub command: Vec<String>,
    pub anonymise: bool,
    /// One of many ranks contributes for all.
    pub contributes: bool,
}

/// The knowledge of a run.
pub struct RunKnowledge {
    run: KnowledgeRun,
    /// Looks at the files of the run; none if that was not possible.
    inquiry: Option<Arc<FileInquiry>>,
    /// Why the repository is not used.
    refused: Option<String>,
    /// Why the run is not added to it.
    not_updated: Option<String>,
}

impl RunKnowledge {
    /// Loads what is known about the application, and lets the engine follow it. `ended`
    /// is set when the program has ended.
    pub fn begin(run: KnowledgeRun, engine: &mut Engine, ended: &Arc<AtomicBool>) -> RunKnowledge {
        let mut knowledge = RunKnowledge { run, inquiry: None, refused: None, not_updated: None };
        let inquiry = match FileInquiry::start(Arc::clone(ended)) {
            Ok(inquiry) => Arc::new(inquiry),
            Err(error) => {
                knowledge.refuse(sentence(&error));
                return knowledge;
            }
        };
        // A process that opens a file on a mount that does not answer cannot be ended.
        if !inquiry.answers(&knowledge.run.file, PATIENCE_WITH_STORAGE) {
            let file = knowledge.run.file.display();
            knowledge.refuse(format!(
                "the file system of the knowledge repository '{file}' does not answer; the run \
                 goes on without it"
            ));
            return knowledge;
        }
        let graph = knowledge.load();
        let directory = std::env::current_dir().unwrap_or_default();
        let directory = directory.to_string_lossy();
        let outputs = graph.outputs();
        let files = RunFiles::new(&knowledge.run.command, &directory, outputs, inquiry.clone());
        engine.follow_graph(GraphSource::new(Arc::new(graph), VisitCollector::new(files)));
        knowledge.inquiry = Some(inquiry);
        knowledge
    }

    /// Asks where things lie in the files that are ahead, and takes in what is known
    /// by now.
    pub fn look_into_files(&self, engine: &mut Engine) {
        let (Some(source), Some(inquiry)) = (engine.graph_mut(), &self.inquiry) else { return };
        for path in source.take_wanted() {
            inquiry.ask_layout(&path);
        }
        let layouts = inquiry.take_layouts();
        if !layouts.is_empty() {
            for (path, layout) in layouts {
                source.define_layout(&path, layout);
            }
            source.refresh();
        }
    }

    fn load(&mut self) -> KnowledgeGraph {
        let file = &self.run.file;
        let opened = match Repository::is_there(file) {
            false => return KnowledgeGraph::default(),
            true => {
                let place = RepositoryPlace::of(file);
                Repository::open(file, place, IfMissing::Create, PATIENCE_BEFORE)
            }
        };
        match opened.and_then(|repository| repository.load(&self.run.application)) {
            Ok(graph) => graph.unwrap_or_default(),
            Err(error) => {
                self.refuse(error.to_string());
                KnowledgeGraph::default()
            }
        }
    }

    /// Says once why the repository is not used.
    fn refuse(&mut self, why: String) {
        if self.refused.is_none() {
            say(&why);
            self.refused = Some(why);
        }
    }

    /// Says once why nothing is added to it.
    fn leave_as_it_is(&mut self, why: String) {
        if self.refused.is_none() {
            say(&why);
            self.not_updated = Some(why);
        }
    }

    /// Adds the run to the repository. `build` identifies the build of the program.
    pub fn finish(mut self, source: Option<GraphSource>, build: Option<&str>) -> KnowledgeUse {
        if self.inquiry.as_ref().is_some_and(|inquiry| inquiry.is_lost()) {
            self.leave_as_it_is(
                "the files of the program could not be looked at in time, so that nothing is \
                 added to the knowledge repository"
                    .to_owned(),
            );
        }
        let KnowledgeRun { file, application, .. } = &self.run;
        let mut used = KnowledgeUse {
            file: file.clone(),
            application: application.clone(),
            runs: 0,
            vertices: 0,
            edges: 0,
            matched_percent: None,
            predicted_percent: None,
            refused: None,
            not_updated: None,
        };
        if let Some(source) = source {
            let counts = source.counts();
            let percent =
                |n: u64| (counts.visits > 0).then(|| 100.0 * n as f64 / counts.visits as f64);
            used.runs = source.graph().runs();
            used.vertices = source.graph().vertices().len();
            used.edges = source.graph().edges().len();
            used.matched_percent = percent(counts.matched);
            used.predicted_percent = percent(counts.predicted);
            let is_usable = self.refused.is_none() && self.not_updated.is_none();
            if is_usable && self.run.contributes && source.n_visits() > 0 {
                let known = source.graph().clone();
                self.contribute(known, &source.finish(), build, &mut used);
            }
        }
        used.refused = self.refused;
        used.not_updated = self.not_updated;
        used
    }

    /// Leaves the run beside the repository, to be merged when nobody is waiting any
    /// more: a transaction waits for the disk three times.
    fn contribute(
        &mut self,
        mut known: KnowledgeGraph,
        graph: &KnowledgeGraph,
        build: Option<&str>,
        used: &mut KnowledgeUse,
    ) {
        let KnowledgeRun { file, application, anonymise, .. } = &self.run;
        let hashed;
        let graph = match anonymise {
            true => {
                hashed = graph.anonymised();
                &hashed
            }
            false => graph,
        };
        let answers = |inquiry: &&Arc<FileInquiry>| inquiry.answers(file, PATIENCE_WITH_STORAGE);
        let Some(inquiry) = self.inquiry.as_ref().filter(answers) else {
            let file = file.display();
            return self.leave_as_it_is(format!(
                "the file system of the knowledge repository '{file}' does not answer, so that \
                 nothing is added to it"
            ));
        };
        match leave_contribution(file, (application, build), graph) {
            Ok(()) => inquiry.merge_later(file),
            Err(error) => return self.leave_as_it_is(error.to_string()),
        }
        known.merge(graph);
        used.runs = known.runs();
        used.vertices = known.vertices().len();
        used.edges = known.edges().len();
    }
}

/// Identifies the build of a program, by the modules of a run.
pub fn build_of(program: &Path, modules: &BTreeMap<PathBuf, Vec<u8>>) -> Option<String> {
    let build = modules.get(&program.canonicalize().ok()?).filter(|build| !build.is_empty())?;
    Some(build.iter().map(|byte| format!("{byte:02x}")).collect())
}
