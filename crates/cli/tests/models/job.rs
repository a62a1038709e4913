// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs of small programs in a directory of their own, with a model in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Done, command, done};

/// A directory with programs, inputs and a model.
pub struct Place {
    directory: TempDir,
}

/// What a run left behind.
pub struct Ran {
    pub done: Done,
    /// The part of the summary on the model.
    pub model: Value,
    /// All operations that the summary counts.
    pub operations: u64,
}

impl Place {
    pub fn new() -> Place {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("input"), "a\nb\nc\n").expect("it can be written to");
        Place { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Builds a program of `tests/programs` under its name in this place.
    pub fn build(&self, source: &str, program: &str, flags: &[&str]) {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
        let output = Command::new("cc")
            .args(["-std=gnu11", "-pthread"])
            .args(flags)
            .arg("-o")
            .arg(self.path().join(program))
            .arg(sources.join(source))
            .output()
            .expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A place with the program that writes checkpoints.
    pub fn with_checkpoints() -> Place {
        let place = Place::new();
        place.build("checkpoints.c", "app", &["-O1"]);
        place
    }

    pub fn model(&self) -> PathBuf {
        self.path().join("app.model")
    }

    /// Runs a program with the model.
    pub fn run(&self, program: &[&str]) -> Ran {
        self.run_with(&[], program)
    }

    /// The same with more options.
    pub fn run_with(&self, options: &[&str], program: &[&str]) -> Ran {
        let output = self.command(options, program).output().expect("the command starts");
        let done = done(output);
        let summary = fs::read(self.path().join("summary.json")).expect("a summary");
        let summary: Value = serde_json::from_slice(&summary).expect("it is JSON");
        let operations = summary["io"]["operations"].as_u64().expect("a count");
        Ran { done, model: summary["model"].clone(), operations }
    }

    /// What [`run_with`](Place::run_with) starts.
    pub fn command(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = command();
        command.args(["run", "--model", "app.model", "--summary", "summary.json"]);
        command.args(options).arg("--").args(program);
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }
}

impl Ran {
    /// Percent of the first operations that were predicted.
    pub fn first(&self) -> f64 {
        self.model["first"]["context_accuracy"].as_f64().expect("operations were predicted")
    }

    /// Runs that the model knew before.
    pub fn known_runs(&self) -> Option<u64> {
        self.model["known"]["runs"].as_u64()
    }

    pub fn was_saved(&self) -> bool {
        self.model["saved"].is_object()
    }
}
