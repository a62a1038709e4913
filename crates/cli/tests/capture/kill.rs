// SPDX-License-Identifier: MIT OR Apache-2.0

//! `kill -9` at random moments: every call that had returned is in the trace.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::compile::c;
use crate::expected::{self, ANY, Call};
use crate::run::{IORACLE, library, read_trace};

/// Rounds of each test.
fn n_rounds() -> u64 {
    std::env::var("KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

#[test]
fn every_call_that_returned_before_the_program_was_killed_is_recorded() {
    let mut n_calls = 0;
    for round in 0..n_rounds() {
        let mut job = Job::start(round);
        kill(job.program());
        let status = job.command.wait().expect("the command ends");
        assert_eq!(status.signal(), Some(9), "round {round}: the same signal ends the command");
        n_calls += compare(round, &job.expected(), &read_trace(&job.path("trace")));
    }
    eprintln!("{} rounds, {n_calls} calls that had returned, all recorded", n_rounds());
}

/// What the reader had taken it has written, and what it had not is in the
/// spool. What was on its way is in both.
#[test]
fn a_job_killed_with_its_reader_is_recovered_to_the_last_call() {
    for round in 0..n_rounds().min(100) {
        let mut job = Job::start(round);
        let program = job.program();
        kill(job.command.id());
        // The program goes on without a reader for a moment.
        sleep(Duration::from_micros(random(round + 77) % 20_000));
        kill(program);
        job.command.wait().expect("the command ends");
        wait_until_gone(program);

        let expected = job.expected().concat();
        let left = recover(&job, &[job.spool().as_os_str(), "--output".as_ref()], "left");
        let n_left = compare_ends(round, &expected, &left);
        let recorded = recover(&job, &[], "trace");
        assert!(
            recorded.len() + n_left >= expected.len(),
            "round {round}: {} calls had returned, {} are recorded and {n_left} were left",
            expected.len(),
            recorded.len(),
        );
        for (place, (expected, recorded)) in expected.iter().zip(&recorded).enumerate().skip(1) {
            assert_eq!(expected.offset, recorded.offset, "round {round}, call {place}");
        }
    }
}

/// The calls that `ioracle recover` finds; the trace is then in `name`.
fn recover(job: &Job, arguments: &[&OsStr], name: &str) -> Vec<Call> {
    let trace = job.path(name);
    if arguments.is_empty() && !trace.join("recording.part").exists() {
        return Vec::new();
    }
    let done = Command::new(IORACLE)
        .arg("recover")
        .args(arguments)
        .arg(&trace)
        .current_dir(job.path("work"))
        .output()
        .expect("the command runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    read_trace(&trace).concat()
}

/// Demands that `left` ends with the last of the expected calls, and at most
/// the one more that had not returned yet; how many there are without a gap.
/// What stands before a gap lies in segments that the reader had consumed and
/// the program had not yet used again.
fn compare_ends(round: u64, expected: &[Call], left: &[Call]) -> usize {
    let last = expected.last().map_or(ANY, |call| call.offset);
    let places: Vec<i64> = left.iter().rev().take(2).map(|call| call.offset).collect();
    assert!(
        places.contains(&last),
        "round {round}: the last call was at {last}, not in {places:?}"
    );
    let follows =
        |pair: &&[Call]| pair[0].function != "write" || pair[1].offset == pair[0].offset + 8;
    left.windows(2).rev().take_while(follows).count() + usize::from(!left.is_empty())
}

/// Demands that the recorded calls are those expected, and at most the one more
/// that had not returned to the program yet.
fn compare(round: u64, expected: &[Vec<Call>], recorded: &[Vec<Call>]) -> usize {
    let expected = expected.first().expect("the program had begun");
    assert_eq!(recorded.len(), 1, "round {round}: one thread");
    let recorded = &recorded[0];
    let extra = recorded.len().checked_sub(expected.len());
    assert!(
        matches!(extra, Some(0 | 1)),
        "round {round}: {} calls had returned, {} are recorded",
        expected.len(),
        recorded.len()
    );
    for (place, (expected, recorded)) in expected.iter().zip(recorded).enumerate().skip(1) {
        assert_eq!(expected.offset.max(-1), recorded.offset.max(-1), "round {round}, call {place}");
    }
    expected.len()
}

/// A writing program under capture, some way through its work.
struct Job {
    command: Child,
    place: TempDir,
}

impl Job {
    fn start(round: u64) -> Job {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| place.path().join(name);
        std::fs::create_dir(path("work")).unwrap();
        std::fs::create_dir(path("spools")).unwrap();
        let command = Command::new(IORACLE)
            .args(["run", "--quiet", "--dir"])
            .arg(path("spools"))
            .arg("--record")
            .arg(path("trace"))
            .arg("--")
            .arg(c("writer"))
            // It stays when it is done, which on a busy machine it may be before
            // this process runs again and kills it.
            .args(["130000", "stay"])
            .env("IORACLE_LIBRARY", library())
            .env("EXPECTED_CALLS", path("expected"))
            .current_dir(path("work"))
            .stdin(Stdio::null())
            .spawn()
            .expect("the command starts");
        let job = Job { command, place };
        job.program();
        sleep(Duration::from_micros(random(round) % 150_000));
        job
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    fn expected(&self) -> Vec<Vec<Call>> {
        expected::read(&self.path("expected"))
    }

    fn spool(&self) -> std::path::PathBuf {
        let mut spools = std::fs::read_dir(self.path("spools")).unwrap();
        spools.next().expect("the job's directory is left").unwrap().path()
    }

    /// The program's process, once it has made its first call.
    fn program(&self) -> u32 {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            match expected::first_process(&self.path("expected")) {
                Some(process) => return process,
                None => sleep(Duration::from_millis(1)),
            }
        }
        panic!("the program did not start");
    }
}

fn kill(process: u32) {
    let killed = Command::new("kill").args(["-9", &process.to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()), "process {process} is gone already");
}

fn wait_until_gone(process: u32) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Path::new(&format!("/proc/{process}/exe")).exists() && Instant::now() < deadline {
        sleep(Duration::from_millis(1));
    }
}

/// A number that differs from round to round and from run to run.
fn random(round: u64) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(round)
}
