// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs the command on traces that the tests write themselves.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod spool;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub const EVENTS_HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail";

/// What a run of the command left behind.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// One sentence on standard error that names `parts`, nothing else anywhere.
    pub fn fails_saying(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.err);
        assert_eq!(self.out, "");
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(self.err.starts_with("ioracle: "), "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "'{part}' is not in: {}", self.err);
        }
    }
}

pub fn ioracle<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Done {
    done(command().args(arguments).stdin(Stdio::null()).output().expect("the command runs"))
}

/// The command, which preloads the library of the same build. That is a
/// dependency of these tests, so cargo has built it before it runs them.
pub fn command() -> Command {
    let ioracle = Path::new(env!("CARGO_BIN_EXE_ioracle"));
    let library = ioracle.with_file_name("deps").join("libioracle_capture.so");
    assert!(library.exists(), "the capture library was not built at '{}'", library.display());
    // Apart from jobs that others have left behind, which a run mentions.
    let jobs = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jobs-{}", std::process::id()));
    std::fs::create_dir_all(&jobs).expect("a directory for jobs");
    let mut command = Command::new(ioracle);
    command.env("IORACLE_LIBRARY", library).env("IORACLE_DIR", jobs);
    // What the user knows over runs is no business of tests.
    command.env("IORACLE_KNOWLEDGE", "0");
    command
}

/// What a command that has ended left behind.
pub fn done(output: Output) -> Done {
    Done {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("output is text"),
        err: String::from_utf8(output.stderr).expect("messages are text"),
    }
}

/// A trace in a temporary directory.
pub struct Written {
    directory: TempDir,
}

impl Written {
    /// Compressed tables of these event rows (without the header).
    pub fn new(rows: &[String]) -> Written {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let written = Written { directory };
        let stacks: String = (1..=9).map(|id| format!("{id},app+0x{id}0;app+0x1\n")).collect();
        let files: String = (1..=9).map(|id| format!("{id},out/step_{id:04}.dat\n")).collect();
        written.table("events", &format!("{EVENTS_HEADER}\n{}\n", rows.join("\n")));
        written.table("stacks", &format!("id,frames\n{stacks}"));
        written.table("files", &format!("id,path\n{files}"));
        written
    }

    /// Replaces a table.
    pub fn table(&self, name: &str, text: &str) {
        let bytes = zstd::encode_all(text.as_bytes(), 1).expect("zstd works");
        fs::write(self.path().join(format!("{name}.csv.zst")), bytes)
            .expect("a writable directory");
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn name(&self) -> &str {
        self.path().to_str().expect("temporary paths are text")
    }
}

/// A program that opens a file, writes it in four pieces and closes it, again
/// and again, on this many ranks.
pub fn checkpoints(n_checkpoints: u64, n_ranks: u64) -> Vec<String> {
    let mut rows = Vec::new();
    for rank in 0..n_ranks {
        let mut sequence = 0;
        let mut now = 1000;
        let mut event = |op: &str, stack: u64, file: u64, offset: u64, size: u64, ret: u64| {
            let row = format!(
                "{rank},0,{sequence},posix,{op},{stack},{file},3,{offset},{size},{ret},{now},{},0,",
                now + 50
            );
            sequence += 1;
            now += 150;
            rows.push(row);
        };
        for checkpoint in 0..n_checkpoints {
            let file = checkpoint % 9 + 1;
            event("open", 1, file, 0, 0, 3);
            for piece in 0..4 {
                event("write", 2, file, piece * 100, 100, 100);
            }
            event("lseek", 3, file, 400, 0, 0);
            event("close", 4, file, 0, 0, 0);
        }
    }
    rows
}
