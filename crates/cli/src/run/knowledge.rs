// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a run takes from the knowledge repository and adds to it. Whatever is wrong
//! with the repository is said once, and the run goes on without it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ioracle_engine::GraphSource;
use ioracle_knowledge::{
    Contributed, IfMissing, KnowledgeGraph, Repository, RepositoryPlace, RunFiles, VisitCollector,
    contribute,
};

use crate::knowledge::DiskFiles;
use crate::shared::output::say;
use crate::shared::summary::KnowledgeUse;

/// How long is waited for others at the beginning, when the program waits too, and
/// at the end.
const PATIENCE_BEFORE: Duration = Duration::from_millis(500);
const PATIENCE_AFTER: Duration = Duration::from_secs(5);

/// The knowledge of a run.
pub struct RunKnowledge {
    file: PathBuf,
    application: String,
    build: Option<String>,
    anonymise: bool,
    /// Of many ranks, one contributes for all.
    contributes: bool,
    /// Why the repository is not used.
    refused: Option<String>,
}

impl RunKnowledge {
    /// Loads what is known of an application.
    pub fn open(
        file: PathBuf,
        application: String,
        build: Option<String>,
        anonymise: bool,
        contributes: bool,
    ) -> (RunKnowledge, KnowledgeGraph) {
        let mut knowledge =
            RunKnowledge { file, application, build, anonymise, contributes, refused: None };
        let graph = knowledge.load();
        (knowledge, graph)
    }

    fn load(&mut self) -> KnowledgeGraph {
        let place = RepositoryPlace::of(&self.file);
        let waiting = self.file.with_extension("db.waiting").is_dir();
        if !self.file.exists() && !waiting {
            return KnowledgeGraph::default();
        }
        let opened = Repository::open(&self.file, place, IfMissing::Create, PATIENCE_BEFORE);
        match opened.and_then(|repository| repository.load(&self.application)) {
            Ok(graph) => graph.unwrap_or_default(),
            Err(error) => {
                say(&error);
                self.refused = Some(error.to_string());
                KnowledgeGraph::default()
            }
        }
    }

    /// The source of predictions for a run of this command.
    pub fn source(command: &[String], graph: KnowledgeGraph) -> GraphSource {
        let directory = std::env::current_dir().unwrap_or_default();
        let directory = directory.to_string_lossy();
        let files = RunFiles::new(command, &directory, graph.outputs(), Arc::new(DiskFiles));
        GraphSource::new(Arc::new(graph), VisitCollector::new(files))
    }

    /// Adds the run to the repository.
    pub fn finish(self, source: GraphSource) -> KnowledgeUse {
        let counts = source.counts();
        let known = source.graph().runs();
        let has_visits = source.n_visits() > 0;
        let mut used = KnowledgeUse {
            file: self.file.clone(),
            application: self.application.clone(),
            runs: known,
            vertices: source.graph().vertices().len(),
            edges: source.graph().edges().len(),
            matched_percent: match counts.visits {
                0 => None,
                visits => Some(100.0 * counts.matched as f64 / visits as f64),
            },
            predicted_percent: match counts.visits {
                0 => None,
                visits => Some(100.0 * counts.predicted as f64 / visits as f64),
            },
            refused: self.refused.clone(),
        };
        if self.refused.is_some() || !self.contributes || !has_visits {
            return used;
        }
        let mut graph = source.finish();
        if self.anonymise {
            graph = graph.anonymised();
        }
        let by = (self.application.as_str(), self.build.as_deref());
        let place = RepositoryPlace::of(&self.file);
        match contribute(&self.file, place, by, &graph, PATIENCE_AFTER) {
            Ok((Contributed::Merged, Some(merged))) => {
                used.runs = merged.runs();
                used.vertices = merged.vertices().len();
                used.edges = merged.edges().len();
            }
            Ok(_) => used.runs += 1,
            Err(error) => {
                say(&error);
                used.refused = Some(error.to_string());
            }
        }
        used
    }
}

/// The name of the application that a command runs, where nobody gave one: the
/// script of an interpreter, the program below a launcher.
pub fn application_of(program: &Path, command: &[String]) -> String {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let name = base(&program.to_string_lossy());
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    const LAUNCHERS: [&str; 6] = ["mpirun", "mpiexec", "srun", "env", "time", "nice"];
    const INTERPRETERS: [&str; 10] =
        ["python", "pypy", "perl", "ruby", "Rscript", "julia", "sh", "bash", "dash", "zsh"];
    let words = command.get(1..).unwrap_or_default();
    if LAUNCHERS.contains(&name.split('.').next().unwrap_or_default()) {
        // What an option is and what its value is differs between launchers; the
        // first word that is a program on this machine counts.
        let is_program = |word: &&String| {
            !word.starts_with('-')
                && !word.contains('=')
                && word.parse::<f64>().is_err()
                && crate::shared::find::find(word.as_ref(), std::env::var_os("PATH").as_deref())
                    .is_ok()
        };
        if let Some(n) = words.iter().position(|word| is_program(&word)) {
            return application_of(Path::new(&words[n]), &words[n..]);
        }
    }
    if INTERPRETERS.contains(&stem) {
        if let Some(n) = words.iter().position(|word| word == "-m")
            && let Some(module) = words.get(n + 1)
            && stem == "python"
        {
            return module.clone();
        }
        if words.first().is_none_or(|word| word != "-c")
            && let Some(script) = words.iter().find(|word| !word.starts_with('-'))
        {
            return base(script);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_what_really_runs() {
        for (command, expected) in [
            ("ncra -O a.nc b.nc", "ncra"),
            ("/opt/bin/sim in", "sim"),
            ("python3 tools/a.py x", "a.py"),
            ("python3.11 -u b.py", "b.py"),
            ("python3 -m pkg x", "pkg"),
            ("python3 -c pass", "python3"),
            ("env A=1 sh run.sh", "run.sh"),
            ("mpirun -n 4 sh run.sh", "run.sh"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(application_of(Path::new(&words[0]), &words), expected, "{command}");
        }
    }
}
