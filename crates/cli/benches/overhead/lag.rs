// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long after its end a call is seen by a reader that acts on it, and what it costs to
//! report how a job is doing.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use ioracle_events::{Event, StreamId};
use ioracle_spool::settings::{DIR, SPOOL};
use ioracle_trace::{Follower, JobProcess, JobSettings, Observer, ProcessNumber};
use rustix::time::{ClockId, clock_gettime};

use crate::tools::Tools;

const SECONDS: &str = "5";
/// Until everything is warm.
const N_SKIPPED: usize = 100;
/// Between two looks at a job, as the live view does.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Prints the table of lags.
pub fn report(tools: &Tools) {
    println!("## Seen at once\n");
    println!(
        "Time from the end of a call until a reader that acts on its stream sees it. The program \
         computes between its calls, on a processor of its own; the reader has the others. Goals: \
         median at most 50 µs, 99 % at most 1 ms.\n"
    );
    println!("| a call every | calls | median µs | 99 % below µs | most µs |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for pause_us in [20_u64, 500, 5000] {
        let lags = lags(tools, pause_us * 1000);
        let at = |share: f64| lags[((lags.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
        println!(
            "| {pause_us} µs | {} | {:.1} | {:.1} | {:.1} |",
            lags.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    println!();
}

/// Prints what reporting the status costs.
pub fn status(tools: &Tools) {
    println!("## The status of a running job\n");
    println!(
        "Processor time of `ioracle run` of a program that writes 4 KiB every 500 µs, for \
         {SECONDS} s: if nobody looks, and if `ioracle jobs` looks every {} ms.\n",
        LOOK_EVERY.as_millis()
    );
    println!("| | share of a processor |");
    println!("| --- | ---: |");
    println!("| nobody looks | {:.2} % |", 100.0 * share_of_a_core(tools, false));
    println!("| someone looks | {:.2} % |", 100.0 * share_of_a_core(tools, true));
    println!();
}

fn share_of_a_core(tools: &Tools, is_looked_at: bool) -> f64 {
    let program = tools.compile("paced");
    let summary = tools.scratch.path().join("status.json");
    let jobs = tempfile::tempdir_in(tools.scratch.path()).expect("a directory");
    let mut command = tools.command();
    command.args(["run", "--quiet", "--summary"]).arg(&summary).arg("--").arg(&program);
    command.args(["500000", SECONDS, "-1"]).current_dir(tools.scratch.path());
    let mut running = command.env(DIR, jobs.path()).spawn().expect("ioracle starts");
    while running.try_wait().expect("it can be waited for").is_none() {
        sleep(LOOK_EVERY);
        if is_looked_at {
            let mut look = tools.command();
            look.args(["jobs", "--json"]).env(DIR, jobs.path()).stdout(Stdio::null());
            assert!(look.status().is_ok_and(|status| status.success()), "{look:?} failed");
        }
    }
    let text = std::fs::read(&summary).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let seconds = |name: &str| summary[name].as_f64().expect("a number");
    seconds("own_cpu_s") / seconds("wall_s")
}

/// Sorted, in nanoseconds.
fn lags(tools: &Tools, pause_ns: u64) -> Vec<u64> {
    let program = tools.compile("paced");
    let settings = JobSettings { limit_bytes: 64 << 20, wait_ms: 0 };
    let mut follower = Follower::create(tools.scratch.path(), settings).expect("a job");
    let processors = rustix::thread::sched_getaffinity(None).expect("processors");
    let has_several = processors.count() > 1 && processors.is_set(0);
    let mut child = Command::new(&program)
        .args([&*pause_ns.to_string(), SECONDS, if has_several { "0" } else { "-1" }])
        .current_dir(tools.scratch.path())
        .env("LD_PRELOAD", tools.library())
        .env(SPOOL, follower.directory())
        .spawn()
        .expect("the program starts");
    if has_several {
        let mut others = processors;
        others.unset(0);
        rustix::thread::sched_setaffinity(None, &others).expect("a processor");
    }
    let mut planner = Planner::default();
    loop {
        let n_records = follower.poll(&mut planner).expect("the job is there");
        for stream in planner.streams.drain(..) {
            follower.act_on(stream);
        }
        if n_records > 0 {
            continue;
        }
        if child.try_wait().expect("it can be waited for").is_some() {
            break;
        }
        follower.wait(Duration::from_millis(20));
    }
    follower.close();
    follower.remove().expect("the job can be removed");
    rustix::thread::sched_setaffinity(None, &processors).expect("all processors");
    let mut lags: Vec<u64> = planner.lags_ns.into_iter().skip(N_SKIPPED).collect();
    lags.sort_unstable();
    lags
}

/// Stands for who acts on what a program does.
#[derive(Default)]
struct Planner {
    streams: Vec<StreamId>,
    start_ns: u64,
    lags_ns: Vec<u64>,
}

impl Observer for Planner {
    fn process(&mut self, _: ProcessNumber, process: &JobProcess) {
        self.start_ns = process.start_ns;
    }

    fn stream_began(&mut self, id: StreamId, _: u32) {
        self.streams.push(id);
    }

    fn event(&mut self, _: ProcessNumber, event: &Event) {
        self.lags_ns.push(now_ns().saturating_sub(self.start_ns + event.end_ns));
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
