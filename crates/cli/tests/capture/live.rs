// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is seen of a program while it runs: by one who acts on it, and by one who
//! asks how the job is doing.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ioracle_events::{Event, Layer, StreamId};
use ioracle_spool::settings::{DIR, SPOOL};
use ioracle_trace::{Follower, JobProcess, JobSettings, Observer, ProcessNumber};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use tempfile::TempDir;

use crate::compile::{has_header, other, shared};
use crate::run::{IORACLE, library};

/// Stands for who acts on what a program does.
#[derive(Default)]
struct Planner {
    streams: Vec<StreamId>,
    start_ns: u64,
    /// What was seen at once, and how long after its end.
    nested: Vec<(Event, u64)>,
    events: Vec<Event>,
}

impl Observer for Planner {
    fn process(&mut self, _: ProcessNumber, process: &JobProcess) {
        self.start_ns = process.start_ns;
    }

    fn stream_began(&mut self, id: StreamId, _: u32) {
        self.streams.push(id);
    }

    fn event(&mut self, _: ProcessNumber, event: &Event) {
        self.events.push(event.clone());
    }

    fn nested_event(&mut self, event: &Event) {
        let lag_ns = now_ns().saturating_sub(self.start_ns + event.end_ns);
        self.nested.push((event.clone(), lag_ns));
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn jobs() -> TempDir {
    let memory = Path::new("/dev/shm");
    let jobs = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    jobs.expect("a directory for jobs")
}

/// One `nc_get_var` that takes a second once hid all its reads until it returned.
#[test]
fn reads_inside_a_long_call_are_seen_as_they_end() {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    let flags = ["-O2", "-std=gnu11", "-lnetcdf"];
    let program = other("cc", "long_variable.c", &flags).expect("a C compiler");
    let slow = shared("slow_reads_part");
    let (place, jobs) = (tempfile::tempdir().expect("a directory"), jobs());
    let made = Command::new(&program).arg("make").current_dir(place.path()).status();
    assert!(made.is_ok_and(|status| status.success()));
    let settings = JobSettings { limit_bytes: 64 << 20, wait_ms: 0 };
    let mut follower = Follower::create(jobs.path(), settings).expect("a job");
    let preload = format!("{}:{}", slow.display(), library().display());
    let mut child = Command::new(&program)
        .current_dir(place.path())
        .env("LD_PRELOAD", preload)
        .env(SPOOL, follower.directory())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut planner = Planner::default();
    let mut n_inside = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        follower.poll_awake(&mut planner).expect("the job is there");
        if let Some(&stream) = planner.streams.first() {
            follower.act_on(stream);
            follower.poll_asking(&mut planner);
            n_inside += usize::from(follower.inside_since_ns(stream).is_some());
        }
        sleep(Duration::from_micros(200));
    }
    follower.close();
    follower.finish(&mut planner).expect("all of it can be read");
    follower.remove().expect("the job can be removed");
    let outer = planner.events.iter().find(|it| it.function.name() == "nc_get_var");
    let outer = outer.expect("the call around them");
    let took_ns = outer.end_ns - outer.start_ns;
    assert!(took_ns > 500_000_000, "it took {took_ns} ns only");
    let is_read = |event: &Event| event.function.layer() == Layer::Posix && event.result >= 4096;
    let seen: Vec<u64> = planner
        .nested
        .iter()
        .filter(|(event, _)| is_read(event) && event.start_ns >= outer.start_ns)
        .map(|(_, lag_ns)| *lag_ns)
        .collect();
    let inside = |it: &&Event| is_read(it) && it.depth > 0 && it.start_ns >= outer.start_ns;
    let n_reads = planner.events.iter().filter(inside).count();
    assert!(n_reads > 50, "{n_reads} reads");
    assert_eq!(seen.len(), n_reads, "each is seen once while the call lasts");
    let mut sorted = seen;
    sorted.sort_unstable();
    // Others may have the processor here; the benchmark measures how fast it is.
    assert!(sorted[n_reads / 2] < 100_000_000, "median lag {} ns", sorted[n_reads / 2]);
    assert!(n_inside > 50, "it was seen inside a call {n_inside} times");
}

/// A job that makes calls for as long as a test needs.
struct Running {
    jobs: TempDir,
    ioracle: Child,
    _place: TempDir,
}

impl Running {
    fn start() -> Running {
        let (place, jobs) = (tempfile::tempdir().expect("a directory"), jobs());
        // It ends by itself, should nobody end it.
        let script = "for i in $(seq 3000); do echo x >> out; sleep 0.01; done";
        let ioracle = Command::new(IORACLE)
            .args(["run", "--quiet", "--name", "writer", "--", "sh", "-c", script])
            .current_dir(place.path())
            .env("IORACLE_LIBRARY", library())
            .env(DIR, jobs.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("ioracle starts");
        let running = Running { jobs, ioracle, _place: place };
        let started = Instant::now();
        // There is a directory before there is a status in it.
        while running.listed().is_none_or(|job| job["status"].is_null()) {
            assert!(started.elapsed() < Duration::from_secs(30), "no job appears");
            sleep(Duration::from_millis(20));
        }
        running
    }

    /// What `ioracle jobs` says of it.
    fn listed(&self) -> Option<Value> {
        let mut command = Command::new(IORACLE);
        command.args(["jobs", "--json"]).env(DIR, self.jobs.path());
        listed_in(done_of(&mut command), self.jobs.path())
    }

    fn signal(&self, signal: &str) {
        let pid = self.ioracle.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What has ended already says so.
        let pid = self.ioracle.id().to_string();
        for signal in ["-CONT", "-TERM"] {
            let _ = Command::new("kill").args([signal, &pid]).stderr(Stdio::null()).status();
        }
        let _ = self.ioracle.wait();
    }
}

fn done_of(command: &mut Command) -> Value {
    let output = command.output().expect("ioracle jobs starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn listed_in(document: Value, jobs: &Path) -> Option<Value> {
    let all = document["jobs"].as_array().expect("a list").clone();
    let is_here = |job: &Value| {
        job["directory"].as_str().is_some_and(|directory| Path::new(directory).starts_with(jobs))
    };
    all.into_iter().find(is_here)
}

#[test]
fn a_running_job_says_how_it_is_doing() {
    let running = Running::start();
    let started = Instant::now();
    loop {
        let job = running.listed().expect("it runs");
        let status = &job["status"];
        if status["events"].as_u64().is_some_and(|events| events > 100) {
            assert_eq!(
                (&job["state"], &status["application"]),
                (&"running".into(), &"writer".into())
            );
            assert_eq!(job["pid"].as_u64(), Some(u64::from(running.ioracle.id())));
            assert!(status["bytes_written"].as_u64() > Some(0), "{job}");
            assert!(status["score"]["operations"].as_u64() > Some(0), "{job}");
            let next = &status["busiest"][0]["next"][0];
            assert!(next["function"].is_string() && next["in_s"].is_number(), "{job}");
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{job}");
    }
}

#[test]
fn a_job_that_does_not_answer_or_was_killed_is_listed_with_a_sentence() {
    let mut running = Running::start();
    running.signal("-STOP");
    let job = running.listed().expect("it is there");
    assert_eq!((&job["state"], &job["status"]), (&"running".into(), &Value::Null), "{job}");
    assert!(job["note"].as_str().is_some_and(|note| note.contains("does not answer")), "{job}");
    running.ioracle.kill().expect("it can be killed");
    running.ioracle.wait().expect("it can be waited for");
    let job = running.listed().expect("its directory is there");
    assert_eq!(job["state"], "left");
    assert!(job["note"].as_str().is_some_and(|note| note.contains("ioracle recover")), "{job}");
}

#[test]
fn a_job_that_has_ended_is_not_listed() {
    let mut running = Running::start();
    running.signal("-TERM");
    running.ioracle.wait().expect("it can be waited for");
    assert!(running.listed().is_none());
}
