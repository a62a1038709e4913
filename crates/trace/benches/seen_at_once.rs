// SPDX-License-Identifier: MIT OR Apache-2.0

//! How soon is a call seen by one who acts on its stream?
//!
//! Runs small programs under capture on processor 0, and acts on them as `ioracle run
//! --prefetch` does. Prints Markdown. The library must have been built: `cargo build
//! --release --package ioracle-capture`.
//!
//! ```text
//! cargo bench --package ioracle-trace --bench seen_at_once
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ioracle_events::{ContextId, Event, FileId, Layer, StreamId};
use ioracle_spool::settings::SPOOL;
use ioracle_trace::{Follower, JobProcess, JobSettings, Observer, ProcessNumber};

fn main() {
    let scratch = scratch();
    let program = compile(scratch.path(), "benches/programs/pauses.c", &[]).expect("a C compiler");
    println!(
        "| calls | seen | median µs | 99 % below µs | seen before the call around them ended |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    for pause_us in [20, 500, 5000] {
        let n_calls = (2_000_000_u64 / pause_us).clamp(400, 20_000);
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(&program);
        command.args([n_calls.to_string(), pause_us.to_string()]);
        let planner = plan_for(scratch.path(), command, "");
        planner.print(&format!("a write every {pause_us} µs"), |event| event.requested == 100);
    }
    let Some((command, slow)) = long_variable(scratch.path()) else { return };
    let planner = plan_for(scratch.path(), command, &slow);
    planner.print("reads of 10 ms inside one `nc_get_var`", |event| {
        event.function.layer() == Layer::Posix && event.depth > 0 && event.result >= 4096
    });
}

/// A directory in memory where there is one.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(base).expect("a directory to work in")
}

/// Compiles a program of this tree; none if it cannot be.
fn compile(scratch: &Path, source: &str, options: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
    let made = scratch.join(source.file_stem()?);
    let mut command = Command::new("cc");
    command.args(["-O2", "-o"]).arg(&made).arg(source).args(options);
    command.stderr(Stdio::null()).status().ok()?.success().then_some(made)
}

/// The capture library of the same build: benches are in 'deps' of its directory.
fn library() -> PathBuf {
    let bench = std::env::current_exe().expect("this program");
    let built = bench.parent().and_then(Path::parent).expect("a directory");
    let library = built.join("libioracle_capture.so");
    assert!(
        library.exists(),
        "there is no {}; run 'cargo build --release --package ioracle-capture'",
        library.display()
    );
    library
}

/// Acts on all streams of a program, and notes how late it sees their calls.
#[derive(Default)]
struct Planner {
    to_act_on: Vec<StreamId>,
    start_ns: u64,
    /// Calls, how late they were seen, and whether the call around them was under way.
    seen: Vec<(Event, u64, bool)>,
}

impl Planner {
    fn see(&mut self, event: &Event, is_nested: bool) {
        let lag_ns = now_ns().saturating_sub(self.start_ns + event.end_ns);
        self.seen.push((event.clone(), lag_ns, is_nested));
    }

    fn print(&self, name: &str, counts: impl Fn(&Event) -> bool) {
        // A call inside another one is seen a second time when its turn has come.
        let nested = |sequence| {
            self.seen.iter().any(|(event, _, is_nested)| *is_nested && event.sequence == sequence)
        };
        let is_first = |(event, _, is_nested): &&(Event, u64, bool)| {
            counts(event) && (*is_nested || event.depth == 0 || !nested(event.sequence))
        };
        let first: Vec<_> = self.seen.iter().filter(is_first).collect();
        let mut lags: Vec<u64> = first.iter().map(|(_, lag_ns, _)| *lag_ns).collect();
        lags.sort_unstable();
        let at =
            |part: usize| lags.get(lags.len() * part / 100).map_or(f64::NAN, |ns| *ns as f64 / 1e3);
        let n_before = first.iter().filter(|(_, _, is_nested)| *is_nested).count();
        println!("| {name} | {} | {:.1} | {:.1} | {n_before} |", lags.len(), at(50), at(99));
    }
}

impl Observer for Planner {
    fn process(&mut self, _: ProcessNumber, process: &JobProcess) {
        self.start_ns = process.start_ns;
    }

    fn stream_began(&mut self, id: StreamId, _: u32) {
        self.to_act_on.push(id);
    }

    fn context(&mut self, _: ContextId, _: &str) {}

    fn file(&mut self, _: FileId, _: &str) {}

    fn event(&mut self, _: ProcessNumber, event: &Event) {
        self.see(event, false);
    }

    fn nested_event(&mut self, event: &Event) {
        self.see(event, true);
    }

    fn stream_ended(&mut self, _: StreamId) {}
}

/// Runs a program under capture and acts on it, on a processor of its own: looks, and
/// sleeps until a record wakes it, as `ioracle run --prefetch` does.
fn plan_for(scratch: &Path, mut command: Command, preloaded: &str) -> Planner {
    let settings = JobSettings { limit_bytes: 64 << 20, wait_ms: 0 };
    let mut follower = Follower::create(scratch, settings).expect("a job");
    let mut child = command
        .current_dir(scratch)
        .env("LD_PRELOAD", format!("{preloaded} {}", library().display()))
        .env(SPOOL, follower.directory())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut planner = Planner::default();
    while child.try_wait().expect("it can be waited for").is_none() {
        let n_records = follower.poll(&mut planner).expect("the job is there");
        for stream in planner.to_act_on.drain(..) {
            follower.act_on(stream);
        }
        if n_records == 0 {
            follower.wait(Duration::from_millis(20));
        }
    }
    follower.close();
    follower.finish(&mut planner).expect("all of it can be read");
    follower.remove().expect("the job can be removed");
    planner
}

/// The program that reads a variable by one long call, and what makes its reads slow.
fn long_variable(scratch: &Path) -> Option<(Command, String)> {
    let program = compile(scratch, "tests/programs/long_variable.c", &["-lnetcdf"])?;
    let slow = compile(scratch, "tests/programs/slow_reads_part.c", &["-shared", "-fPIC"])?;
    let made = Command::new(&program).arg("make").current_dir(scratch).status();
    assert!(made.is_ok_and(|status| status.success()), "the variable is written");
    Some((Command::new(program), slow.display().to_string()))
}

/// The clock of the records.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
