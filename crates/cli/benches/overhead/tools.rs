// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command, the library, a C compiler and a place to work in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the measurements need.
pub struct Tools {
    ioracle: PathBuf,
    /// A directory in memory where there is one, so that the disk does not
    /// hide what capture costs.
    pub scratch: tempfile::TempDir,
}

impl Tools {
    /// Finds them.
    pub fn find() -> Tools {
        let ioracle = PathBuf::from(env!("CARGO_BIN_EXE_ioracle"));
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let scratch = tempfile::tempdir_in(base).expect("a directory to work in");
        let tools = Tools { ioracle, scratch };
        let library = tools.library();
        assert!(
            library.exists(),
            "there is no {}; run 'cargo build --release --package ioracle-capture'",
            library.display()
        );
        tools
    }

    /// The same with another build of `ioracle`, its library beside it.
    pub fn of_build(ioracle: &Path) -> Tools {
        Tools { ioracle: ioracle.to_owned(), ..Tools::find() }
    }

    /// Compiles a program of `benches/programs`.
    pub fn compile(&self, name: &str) -> PathBuf {
        self.compile_with("cc", &[], name).expect("a C compiler")
    }

    /// The same with another compiler; None if there is none.
    pub fn compile_with(&self, compiler: &str, more: &[&str], name: &str) -> Option<PathBuf> {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/programs");
        let program = self.scratch.path().join(name);
        let mut command = Command::new(compiler);
        command.args(["-O2", "-fomit-frame-pointer", "-pthread", "-o"]).arg(&program);
        // Some compilers leave objects where they work.
        command.arg(programs.join(name).with_extension("c")).current_dir(self.scratch.path());
        // Libraries come behind what needs them.
        command.args(more);
        let status = command.status().ok()?;
        assert!(status.success(), "{name} does not compile");
        Some(program)
    }

    /// `ioracle` itself.
    pub fn command(&self) -> Command {
        Command::new(&self.ioracle)
    }

    /// The capture library.
    pub fn library(&self) -> PathBuf {
        self.ioracle.with_file_name("libioracle_capture.so")
    }

    /// The command alone.
    pub fn plain(&self, command: &[&str]) -> Command {
        let mut plain = Command::new(command[0]);
        plain.args(&command[1..]).stderr(Stdio::null());
        plain
    }

    /// The command under capture, with a reader that learns.
    pub fn captured(&self, command: &[&str]) -> Command {
        let mut captured = Command::new(&self.ioracle);
        captured.args(["run", "--quiet", "--"]).args(command).stderr(Stdio::null());
        captured
    }

    /// The same, with its summary as a JSON document in a file.
    fn captured_with_summary(&self, options: &[&str], command: &[&str], summary: &Path) -> Command {
        let mut captured = Command::new(&self.ioracle);
        captured.args(["run", "--quiet", "--json", "--summary"]).arg(summary);
        captured.args(options).arg("--").args(command).stderr(Stdio::null());
        captured
    }
}

/// Runs a command under capture in a directory, for the summary of it.
pub fn summary_of(
    tools: &Tools,
    options: &[&str],
    command: &[&str],
    directory: &Path,
) -> serde_json::Value {
    let file = tools.scratch.path().join("summary.json");
    let mut captured = tools.captured_with_summary(options, command, &file);
    let status = captured.current_dir(directory).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{captured:?} failed");
    let text = std::fs::read_to_string(&file).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}
