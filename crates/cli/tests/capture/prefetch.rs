// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run --prefetch` on slow storage: a FUSE mount with a latency of two
//! milliseconds (`tests/storage`).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ioracle_testing::skip;
use serde_json::Value;
use tempfile::TempDir;

use crate::compile::c;
use crate::run::{IORACLE, library};

const FILES: usize = 6;
const FILE_BYTES: usize = 1 << 20;

/// Files on slow storage, which is unmounted when dropped, also by a test that
/// fails.
struct Slow {
    place: TempDir,
    server: Option<Child>,
}

impl Slow {
    fn new() -> Slow {
        let place = tempfile::tempdir().expect("a temporary directory");
        for name in ["data", "mount", "jobs"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        for n in 0..FILES {
            let bytes: Vec<u8> = (0..FILE_BYTES).map(|at| ((at * (n + 3)) >> 5) as u8).collect();
            fs::write(place.path().join(format!("data/file_{n}")), bytes).unwrap();
        }
        Slow { place, server: None }
    }

    /// Mounts anew, so that nothing is in the cache; false, with a message, where
    /// that is not possible.
    fn mount(&mut self, more: &[&str]) -> bool {
        self.unmount();
        let server = Path::new(IORACLE).with_file_name("slow-storage");
        let mut command = Command::new(server);
        command.arg(self.path("data")).arg(self.path("mount"));
        command.args(["--latency-us", "2000", "--seconds", "120"]).args(more);
        let Ok(mut server) = command.stdout(Stdio::piped()).spawn() else {
            skip("slow-storage was not built; 'cargo build -p ioracle-storage-kit' builds it");
            return false;
        };
        let mut line = String::new();
        let output = server.stdout.take().expect("it is piped");
        let mounted = BufReader::new(output).read_line(&mut line).is_ok() && line == "mounted\n";
        self.server = Some(server);
        if !mounted {
            skip("a FUSE file system cannot be mounted here");
        }
        mounted
    }

    fn unmount(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let pid = server.id().to_string();
        for signal in ["-CONT", "-TERM"] {
            let _ = Command::new("kill").args([signal, &pid]).status();
        }
        let _ = server.wait();
        // If it was killed instead.
        let _ = Command::new("umount").arg("-l").arg(self.path("mount")).output();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn files(&self) -> Vec<PathBuf> {
        (0..FILES).map(|n| self.path(&format!("mount/file_{n}"))).collect()
    }

    /// Runs `reads_files` with `--prefetch` and a model.
    fn run(&self, before: &[&str], files: &[PathBuf]) -> Output {
        let _ = fs::remove_file(self.path("summary.json"));
        let mut command = Command::new(IORACLE);
        command.args(["run", "--prefetch", "--model"]).arg(self.path("model"));
        command.arg("--summary").arg(self.path("summary.json")).arg("--");
        command.arg(c("reads_files")).args(before).args(files);
        command.env("IORACLE_LIBRARY", library()).env("IORACLE_DIR", self.path("jobs"));
        command.stdin(Stdio::null()).output().expect("ioracle starts")
    }

    fn summary(&self) -> Value {
        let text = fs::read_to_string(self.path("summary.json")).expect("a summary");
        serde_json::from_str(&text).expect("JSON")
    }

    fn report(&self) -> Value {
        self.summary()["prefetch"].clone()
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn plain(files: &[PathBuf]) -> String {
    let output = Command::new(c("reads_files")).args(files).output().expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn runs_find_bytes_in_the_cache_and_give_the_same_results() {
    let mut slow = Slow::new();
    for run in 0..3 {
        if !slow.mount(&["--keep-cache"]) {
            return;
        }
        let output = slow.run(&[], &slow.files());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = slow.report();
        // Every byte has one fate.
        let number = |name: &str| report[name].as_u64().expect("a number");
        assert_eq!(number("bytes"), number("used") + number("wasted") + number("late"), "{report}");
        assert!(number("used") > 0, "{report}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("prefetch"), "{said}");
        let expected = plain(&slow.files());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "run {run}");
    }
}

#[test]
fn where_nothing_is_cached_it_gives_up_and_the_results_are_the_same() {
    let mut slow = Slow::new();
    for _ in 0..2 {
        if !slow.mount(&["--direct-io"]) {
            return;
        }
        let output = slow.run(&[], &slow.files());
        assert_eq!(String::from_utf8_lossy(&output.stdout), plain(&slow.files()));
    }
    let report = slow.report();
    assert_eq!(report["stopped"], true, "{report}");
}

#[test]
fn names_that_are_no_regular_files_are_left_alone() {
    let mut slow = Slow::new();
    for _ in 0..2 {
        if !slow.mount(&["--keep-cache"]) {
            return;
        }
        assert!(slow.run(&[], &slow.files()).status.success());
    }
    // What the model expects to be read is something else by now: opening the FIFO
    // would wait for ever, and reading the directory fails.
    slow.unmount();
    fs::remove_file(slow.path("data/file_3")).unwrap();
    let made = Command::new("mkfifo").arg(slow.path("data/file_3")).status();
    assert!(made.is_ok_and(|status| status.success()));
    fs::remove_file(slow.path("data/file_4")).unwrap();
    fs::create_dir(slow.path("data/file_4")).unwrap();
    fs::remove_file(slow.path("data/file_5")).unwrap();
    std::os::unix::fs::symlink("file_5", slow.path("data/file_5")).unwrap();
    assert!(slow.mount(&["--keep-cache"]));
    let files = &slow.files()[..3];
    let output = slow.run(&[], files);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), plain(files));
}

#[test]
fn a_dead_mount_does_not_hold_the_run_up() {
    let mut slow = Slow::new();
    for _ in 0..2 {
        if !slow.mount(&["--keep-cache"]) {
            return;
        }
        assert!(slow.run(&[], &slow.files()).status.success());
    }
    assert!(slow.mount(&["--keep-cache"]));
    let server = slow.server.as_ref().unwrap().id().to_string();
    let started = Instant::now();
    // It stops its storage in the middle, while requests are on their way.
    let output = slow.run(&["-stop", &server, "40"], &slow.files());
    let took = started.elapsed();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(took < Duration::from_secs(20), "{took:?}");
    let wall_s = slow.summary()["wall_s"].as_f64().expect("seconds");
    let ran = Duration::from_secs_f64(wall_s);
    assert!(took < ran + Duration::from_secs(2), "the program ran for {ran:?}, all took {took:?}");
}
