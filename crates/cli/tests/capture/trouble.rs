// SPDX-License-Identifier: MIT OR Apache-2.0

//! What can happen to the spool and its reader: the program never notices.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ioracle_testing::SmallDisk;
use tempfile::TempDir;

use crate::agree::behaves_the_same;
use crate::compile::{c, c_with};
use crate::contexts::frames;
use crate::expected;
use crate::run::{Done, IORACLE, Program, library};

#[test]
fn a_spool_on_a_full_file_system_costs_records_and_nothing_else() {
    let Some(disk) = SmallDisk::mount("1m") else { return };
    for name in ["writer", "threads_at_once", "threads_in_turn", "fork_shares_position"] {
        let program = Program::new(c(name)).option("--dir").option(disk.path());
        every_call_is_recorded_or_counted(&behaves_the_same(&program));
    }
    // Full before it begins, but for the job's own page.
    fs::write(disk.path().join("ballast"), vec![0; 1000 << 10]).unwrap();
    let program = Program::new(c("threads_at_once")).option("--dir").option(disk.path());
    every_call_is_recorded_or_counted(&behaves_the_same(&program));
}

/// On a file system of 64 KiB, 648 operations by 1 process were once reported of 18,627
/// by 5, without a word of those that are missing, and with advice on a file that
/// nobody knew.
#[test]
fn where_there_is_room_for_few_the_others_are_counted_and_named() {
    let Some(disk) = SmallDisk::mount("64k") else { return };
    let program = Program::new(c("many_processes")).option("--dir").option(disk.path());
    let done = behaves_the_same(&program);
    let summary = done.summary();
    let n_expected: usize = done.expected().iter().map(Vec::len).sum();
    let unrecorded = &summary["unrecorded"];
    let causes = unrecorded["calls"].as_array().expect("a list of causes");
    let n_lost: u64 = causes.iter().filter_map(|cause| cause["calls"].as_u64()).sum();
    let n_recorded = unrecorded["recorded"].as_u64().expect("a number");
    assert_eq!(n_recorded + n_lost, n_expected as u64, "{}", done.err);
    assert!(n_recorded > 0 && n_lost > n_recorded, "{}", done.err);
    assert_eq!(summary["processes"]["seen"], 5, "{}", done.err);
    let threads = [&summary["processes"]["threads"], &unrecorded["threads"]];
    assert_eq!(threads.map(|it| it.as_u64().expect("a number")).iter().sum::<u64>(), 9);
    let programs = unrecorded["programs"].as_array().expect("a list of programs");
    assert_eq!(programs.len() as u64, unrecorded["processes"].as_u64().expect("a number"));
    assert!(programs.len() >= 2, "{}", done.err);
    assert!(programs.iter().all(|it| it["name"] == "many_processes"), "{programs:?}");
    let first = done.err.lines().next().expect("a first line");
    assert!(first.ends_with("calls not recorded"), "{first}");
    assert_eq!(summary["advice"], serde_json::json!([]), "{}", done.err);
}

#[test]
fn at_the_space_limit_calls_are_counted() {
    let program = Program::new(c("threads_at_once")).option("--limit").option("65536");
    every_call_is_recorded_or_counted(&behaves_the_same(&program));
}

#[test]
fn a_full_disk_is_the_programs_own_to_notice() {
    let Some(disk) = SmallDisk::mount("1m") else { return };
    let target = disk.path().join("file");
    let fill = Program::new("dd")
        .arg("if=/dev/zero")
        .arg(format!("of={}", target.display()))
        .arg("bs=4096")
        .arg("status=none")
        .ending(1);
    let done = behaves_the_same(&fill);
    assert_ne!(done.status(), 0);
    assert!(done.err.contains("No space left"), "{}", done.err);
}

#[test]
fn the_spool_may_vanish() {
    let mut job = Slow::start();
    for spool in fs::read_dir(job.place.path().join("spools")).unwrap() {
        fs::remove_dir_all(spool.unwrap().path()).unwrap();
    }
    assert_eq!(job.command.wait().unwrap().code(), Some(0));
    job.has_written_everything();
}

#[test]
fn the_reader_may_be_killed() {
    let mut job = Slow::start();
    job.command.kill().unwrap();
    job.command.wait().unwrap();
    job.has_written_everything();
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    for place in ["/proc", "/nonexistent/place"] {
        let done = Program::new(c("writer")).option("--dir").option(place).recorded();
        assert_eq!(done.code, Some(1));
        assert!(done.err.contains(place), "{}", done.err);
        assert!(!done.work().join("data").exists(), "the program was not started");
    }
}

#[test]
fn a_daemon_goes_on_after_the_program_that_started_it() {
    let done = behaves_the_same(&Program::new(c("daemon")));
    let deadline = Instant::now() + Duration::from_secs(20);
    while done.work().join("running").exists() && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
    let log = fs::read_to_string(done.work().join("log")).unwrap();
    assert_eq!(log, format!("start\n{}", "work\n".repeat(20)));
}

/// A call is in the trace, or in the count of those that are not.
pub fn every_call_is_recorded_or_counted(done: &Done) {
    let n_expected: usize = done.expected().iter().map(Vec::len).sum();
    let n_recorded: usize = done.recorded().iter().map(Vec::len).sum();
    let summary = done.summary();
    let causes = summary["unrecorded"]["calls"].as_array().expect("the summary lists causes");
    let n_unrecorded: u64 = causes.iter().filter_map(|cause| cause["calls"].as_u64()).sum();
    assert!(
        n_recorded + n_unrecorded as usize >= n_expected,
        "{n_expected} calls, {n_recorded} recorded, {n_unrecorded} counted: {summary}"
    );
}

/// A program that takes about a second, with records in a directory of its own.
struct Slow {
    command: Child,
    place: TempDir,
}

impl Slow {
    const N_RECORDS: u64 = 20_000;

    fn start() -> Slow {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("work")).unwrap();
        fs::create_dir(path("spools")).unwrap();
        let command = Command::new(IORACLE)
            .args(["run", "--quiet", "--dir"])
            .arg(path("spools"))
            .arg("--")
            .arg(c("writer"))
            .args([&Slow::N_RECORDS.to_string(), "slowly"])
            .env("IORACLE_LIBRARY", library())
            .env("EXPECTED_CALLS", path("expected"))
            .current_dir(path("work"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while expected::first_process(&path("expected")).is_none() && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(50));
        Slow { command, place }
    }

    /// Waits for the program, whose parent may be gone.
    fn has_written_everything(&self) {
        let data = self.place.path().join("work/data");
        let deadline = Instant::now() + Duration::from_secs(20);
        let length = || fs::metadata(&data).map_or(0, |about| about.len());
        while length() < Slow::N_RECORDS * 8 && Instant::now() < deadline {
            sleep(Duration::from_millis(5));
        }
        assert_eq!(length(), Slow::N_RECORDS * 8);
    }
}

/// Calls are passed on without a record where one would need more stack than
/// there is.
#[test]
fn calls_where_little_stack_is_left_are_left_alone() {
    let done = behaves_the_same(&Program::new(c_with("stack_left", &["-Wl,-z,now"])));
    assert_eq!(done.status(), 0, "{}", done.err);
    assert!(done.err.contains("too little stack left"), "{}", done.err);
}

/// Bytes of stack with which every call is recorded, as docs/capture.md promises.
pub const PROMISED_STACK: usize = 2048;

/// Signal stacks of 8 KiB were once too small on processors whose registers fill
/// half of them: a thread's first call took 4 KiB, and wanted 5.
#[test]
fn calls_take_as_little_stack_as_is_promised() {
    // What the library takes for enough to do without a stack of its own, and
    // for enough at all.
    const AMPLE: usize = 4608;
    const LEAST: usize = 1408;
    let program = c_with("stack_used", &["-Wl,-z,now"]);
    for (left, at_first, later) in
        [(65536, AMPLE, LEAST), (AMPLE - 512, LEAST, LEAST), (PROMISED_STACK, LEAST, LEAST)]
    {
        let done = Program::new(&program).arg(left.to_string()).recorded();
        assert_eq!(done.status(), 0, "{}", done.err);
        assert_eq!(done.out.lines().count(), 7, "{}", done.out);
        for line in done.out.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let bytes = |place: usize| words[place].parse::<usize>().expect("a number of bytes");
            assert!(bytes(1) <= at_first && bytes(2) <= later, "of {left}: {line}");
        }
        assert_eq!(done.summary()["unrecorded"]["calls"], serde_json::json!([]));
        assert!(!frames(&done).contains("?"), "of {left}: a context is unknown");
    }
}
