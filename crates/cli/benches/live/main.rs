// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does it cost a job to be looked at, and to look?
//!
//! Prints Markdown. The library must have been built: `cargo build --release --package
//! ioracle-capture`.
//!
//! ```text
//! cargo bench --package ioracle-cli --bench live
//! ```

#[allow(dead_code, reason = "the other bench uses the rest")]
#[path = "../overhead/tools.rs"]
mod tools;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ioracle_spool::settings::DIR;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::time::{ClockId, clock_gettime};
use tools::Tools;

fn main() {
    let tools = Tools::find();
    let program = tools.compile("pauses");
    println!("| 64 processes, 100 calls a second each | percent of a processor |");
    println!("| --- | ---: |");
    for looks in [Looks::Nobody, Looks::StatusFile, Looks::LiveView] {
        let (name, share) = looked_at(&tools, &program, looks);
        println!("| {name} | {share:.2} |");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    Nobody,
    StatusFile,
    LiveView,
}

/// Processor time of `ioracle run` over that of the wall, in percent; of the view itself
/// if that looks.
fn looked_at(tools: &Tools, program: &Path, looks: Looks) -> (&'static str, f64) {
    let jobs = tempfile::tempdir_in(tools.scratch.path()).expect("a directory for the job");
    let script = format!("for i in $(seq 64); do '{}' 800 10000 & done; wait", program.display());
    let mut run = Command::new(env!("CARGO_BIN_EXE_ioracle"))
        .args(["run", "--quiet", "--", "sh", "-c", &script])
        .current_dir(tools.scratch.path())
        .env(DIR, jobs.path())
        .spawn()
        .expect("ioracle run starts");
    std::thread::sleep(Duration::from_secs(2));
    let job = std::fs::read_dir(jobs.path()).expect("a directory").flatten().next();
    let job = job.expect("a job").path();
    let (_terminal, view) = match looks {
        Looks::LiveView => {
            let (terminal, view) = live_view(jobs.path());
            (Some(terminal), Some(view))
        }
        _ => (None, None),
    };
    std::thread::sleep(Duration::from_millis(500));
    let measured = view.as_ref().map_or(run.id(), |view| view.id());
    let (before_s, started) = (processor_s(measured), Instant::now());
    while started.elapsed() < Duration::from_secs(4) {
        if looks == Looks::StatusFile {
            let file = File::options().write(true).open(job.join("status")).expect("a status");
            let until_ns = now_ns() + 3_000_000_000;
            file.write_all_at(&until_ns.to_ne_bytes(), 24).expect("it can be written");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let share = 100.0 * (processor_s(measured) - before_s) / started.elapsed().as_secs_f64();
    if let Some(mut view) = view {
        view.kill().expect("it can be ended");
        view.wait().expect("it can be waited for");
    }
    run.wait().expect("it can be waited for");
    let name = match looks {
        Looks::Nobody => "`ioracle run`, nobody looks",
        Looks::StatusFile => "`ioracle run`, somebody looks",
        Looks::LiveView => "`ioracle live`",
    };
    (name, share)
}

/// The view on a terminal of its own.
fn live_view(jobs: &Path) -> (File, std::process::Child) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
    let name = ptsname(&master, Vec::new()).expect("a terminal").into_string().expect("a name");
    let slave: OwnedFd =
        File::options().read(true).write(true).open(name).expect("it opens").into();
    let again = || Stdio::from(slave.try_clone().expect("it can be cloned"));
    let view = Command::new("setsid")
        .args(["--ctty", env!("CARGO_BIN_EXE_ioracle"), "live"])
        .env(DIR, jobs)
        .env("TERM", "xterm-256color")
        .stdin(again())
        .stdout(again())
        .stderr(again())
        .spawn()
        .expect("ioracle live starts");
    let mut screen = File::from(master);
    let reader = screen.try_clone().expect("it can be cloned");
    // A terminal that nobody reads from fills up.
    std::thread::spawn(move || std::io::copy(&mut screen, &mut std::io::sink()));
    (reader, view)
}

/// Processor time of a process so far.
fn processor_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let ns_of = |text: &str| text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    let all =
        tasks.into_iter().flatten().flatten().filter_map(|task| {
            ns_of(&std::fs::read_to_string(task.path().join("schedstat")).ok()?)
        });
    let sum: f64 = all.sum();
    if sum > 0.0 { sum / 1e9 } else { ns_of(&stat).unwrap_or(0.0) / 1e9 }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
