// SPDX-License-Identifier: MIT OR Apache-2.0

//! A node whose processors are all busy: is everything kept, and how much slower is the
//! program?
//!
//! `BUSY_SECONDS` sets how long records are kept (60).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::pairs::Pairs;
use crate::tools::Tools;

/// Threads that want to run, those of the program included.
const LOAD: usize = 20;
const THREADS: usize = 4;
const PAIRS: usize = 15;
/// A write of each rank is two events, a call of MPI and one of POSIX inside it.
const EVENTS_PER_S: f64 = 50_000.0;
const STEPS: f64 = 50_000.0;

/// Prints both sections.
pub fn report(tools: &Tools) {
    keeping(tools);
    slowdown(tools);
}

/// Processes that take what processor time they get, until they are dropped.
struct Spinning(Vec<Child>);

impl Spinning {
    fn start(program: &Path, n: usize) -> Spinning {
        let start = |_| {
            let spinning = Command::new(program).args(["spin", "600"]).spawn();
            spinning.expect("the program starts")
        };
        Spinning((0..n).map(start).collect())
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn keeping(tools: &Tools) {
    let seconds = std::env::var("BUSY_SECONDS").unwrap_or_else(|_| "60".to_owned());
    let program = tools.compile("busy");
    // On a disk, where recordings are.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let (trace, summary) = (disk.path().join("trace"), disk.path().join("summary.json"));
    let spinning = Spinning::start(&program, LOAD - THREADS);
    let mut command = tools.command();
    command.args(["run", "--quiet", "--record"]).arg(&trace).arg("--summary").arg(&summary);
    command.arg("--").arg(&program).args([&THREADS.to_string(), &seconds]);
    command.arg(tools.scratch.path()).stderr(Stdio::inherit()).stdout(Stdio::piped());
    let child = command.spawn().expect("ioracle starts");
    let ended = AtomicBool::new(false);
    let (lags, output, end_ns) = thread::scope(|scope| {
        let watching = scope.spawn(|| behind(&trace.join("raw"), &ended));
        let output = child.wait_with_output().expect("it can be waited for");
        let end_ns = now_ns();
        ended.store(true, Ordering::Release);
        (watching.join().expect("no panic"), output, end_ns)
    });
    drop(spinning);
    assert!(output.status.success(), "the run failed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().expect("a number"));
    let (calls, program_end_ns) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let summary: Value =
        serde_json::from_slice(&fs::read(&summary).expect("a summary")).expect("JSON");
    let left_raw = summary["left_raw"].as_u64().unwrap_or(0);
    let shown = tools.command().arg("show").arg(&trace).arg("--json").output();
    let shown: Value =
        serde_json::from_slice(&shown.expect("ioracle starts").stdout).expect("JSON");
    // All calls of the program are operations.
    let recorded = shown["io"]["operations"].as_u64().expect("the operations of the trace");
    println!("## A busy node: what is recorded\n");
    println!(
        "{THREADS} threads write at full speed for {seconds} s beside {} others, on {} processors, \
         with `--record` on a disk. 'Behind' is the time until what the program did at an instant \
         was in the files of the trace, looked at four times a second. Goals: no call missing, at \
         most 1 s behind, end of the command at most 0.2 s after the program.\n",
        LOAD - THREADS,
        thread::available_parallelism().map_or(0, usize::from)
    );
    println!(
        "| calls | missing | behind, median s | at most s | end after the program s | left raw |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    let (median, most) = (lags.get(lags.len() / 2), lags.last());
    println!(
        "| {calls} | {} | {:.2} | {:.2} | {:.2} | {left_raw} |\n",
        calls as i64 - recorded as i64,
        median.copied().unwrap_or(f64::NAN),
        most.copied().unwrap_or(f64::NAN),
        end_ns.saturating_sub(program_end_ns) as f64 / 1e9,
    );
}

/// How long it takes until a call that ended at an instant or later is in the files,
/// again and again; sorted, in seconds.
fn behind(raw: &Path, ended: &AtomicBool) -> Vec<f64> {
    let mut files = RawFiles { directory: raw.into(), number: 1, at: 24, last_ns: 0 };
    let mut lags = Vec::new();
    while !ended.load(Ordering::Acquire) {
        let started_ns = now_ns();
        while files.last_ns < started_ns && !ended.load(Ordering::Acquire) {
            files.look();
            thread::sleep(Duration::from_millis(2));
        }
        if files.last_ns >= started_ns {
            lags.push((now_ns() - started_ns) as f64 / 1e9);
        }
        thread::sleep(Duration::from_millis(250));
    }
    // The first waits for the program to start.
    let mut lags: Vec<f64> = lags.into_iter().skip(1).collect();
    lags.sort_by(f64::total_cmp);
    lags
}

/// Follows raw files from frame to frame (docs/trace-format.md) for the latest end of a
/// call.
struct RawFiles {
    directory: PathBuf,
    number: u32,
    at: u64,
    last_ns: u64,
}

impl RawFiles {
    fn look(&mut self) {
        loop {
            let file = File::open(self.directory.join(format!("records-{:08}", self.number)));
            if let Ok(file) = &file {
                self.follow(file);
            }
            let next = self.directory.join(format!("records-{:08}", self.number + 1));
            if !next.exists() {
                return;
            }
            (self.number, self.at) = (self.number + 1, 24);
        }
    }

    fn follow(&mut self, file: &File) {
        let mut head = [0; 16];
        while file.read_exact_at(&mut head, self.at).is_ok() {
            let word = |at: usize| {
                u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            let (kind, length) = (word(0), u64::from(word(8)));
            // The end of a call is 56 bytes behind its beginning.
            let last = self.at + 16 + length.saturating_sub(88) + 56;
            let mut end_ns = [0; 8];
            if kind == 1 && file.read_exact_at(&mut end_ns, last).is_err() {
                return;
            }
            self.last_ns = self.last_ns.max(u64::from_ne_bytes(end_ns));
            self.at += 16 + length;
        }
    }
}

fn slowdown(tools: &Tools) {
    let Some(program) = tools.compile_with("mpicc.mpich", &[], "ranks") else {
        return eprintln!("overhead: mpicc.mpich is not installed; a busy node is left out");
    };
    let program = program.to_str().expect("a plain path");
    let ranks = thread::available_parallelism().map_or(1, usize::from);
    let rounds = tools.plain(&[program, "rounds"]).output().expect("the program starts");
    let per_us: f64 = String::from_utf8_lossy(&rounds.stdout).trim().parse().expect("a number");
    let between_us = 2e6 * ranks as f64 / EVENTS_PER_S;
    let (n, work) = (ranks.to_string(), ((between_us - 2.0) * per_us).to_string());
    let work = work.split('.').next().unwrap_or(&work).to_owned();
    let steps = (STEPS as u64).to_string();
    let file = tools.scratch.path().join("ranks.out");
    let file = file.to_str().expect("a plain path");
    let command = ["mpirun.mpich", "-n", &n, program, &steps, &work, file];
    let seconds = |mut command: Command| {
        let start = Instant::now();
        let status = command.stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
        start.elapsed().as_secs_f64()
    };
    let pairs = Pairs::measure(
        PAIRS,
        || seconds(tools.plain(&command)),
        || seconds(tools.captured(&command)),
    );
    let (ratio, upper) = pairs.ratio();
    let rate = 2.0 * ranks as f64 * STEPS / pairs.plain();
    println!("## A busy node: slowdown\n");
    println!(
        "An MPI code with as many ranks as processors, which computes and writes with MPI-IO; \
         {PAIRS} pairs of alternating runs. Goal: upper 95 % bound at most 1.05 at 50,000 events a \
         second.\n"
    );
    println!("| events a second | plain s | captured s | ratio | upper 95 % |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    println!(
        "| {rate:.0} | {:.2} | {:.2} | {ratio:.3} | {upper:.3} |\n",
        pairs.plain(),
        pairs.captured()
    );
    same_as_replayed(tools, &command);
}

/// Whether a run under load has learned what its trace teaches.
fn same_as_replayed(tools: &Tools, command: &[&str]) {
    let spinner = tools.compile("busy");
    let spinning = Spinning::start(&spinner, LOAD);
    let place = tools.scratch.path().join("replayed");
    fs::create_dir_all(&place).expect("a directory");
    let (trace, summary) = (place.join("trace"), place.join("summary.json"));
    let mut captured = tools.command();
    captured.args(["run", "--quiet", "--record"]).arg(&trace).arg("--summary").arg(&summary);
    // With a model, all is learned before the command ends.
    captured.arg("--model").arg(place.join("model")).arg("--").args(command);
    let status = captured.stdout(Stdio::null()).stderr(Stdio::inherit()).status();
    assert!(status.is_ok_and(|status| status.success()), "{captured:?} failed");
    drop(spinning);
    let live: Value =
        serde_json::from_slice(&fs::read(&summary).expect("a summary")).expect("JSON");
    let shown = tools.command().arg("show").arg(&trace).arg("--json").output();
    let shown: Value =
        serde_json::from_slice(&shown.expect("ioracle starts").stdout).expect("JSON");
    let is_same = ["io", "predicted", "loops"].iter().all(|field| live[field] == shown[field]);
    println!(
        "Beside {LOAD} other threads, the score, the loops and the totals of the same code are {} \
         those of its trace replayed ({} operations learned, {} not).\n",
        if is_same { "equal to" } else { "**different from**" },
        live["predicted"]["operations"],
        live["unrecorded"]["not_learned"],
    );
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
