// SPDX-License-Identifier: MIT OR Apache-2.0

//! What following a job costs while the job does nothing.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::tools::Tools;

/// From which second to which: at first, and when the reader has got used to it.
const WINDOWS: [(u64, u64); 2] = [(2, 22), (30, 50)];

/// Prints the table.
pub fn report(tools: &Tools) {
    println!("## The reader of an idle job\n");
    println!(
        "Goal: at most 0.1 % of a core. The threads have written once and sleep; the columns are \
         the processor time of `ioracle run` in a part of the run.\n"
    );
    let [early, late] = WINDOWS.map(|(from, to)| format!("second {from} to {to}"));
    println!("| threads | {early} | {late} |");
    println!("| ---: | ---: | ---: |");
    for n_threads in ["1", "100", "1000"] {
        let [early, late] = shares_of_a_core(tools, n_threads).map(|share| 100.0 * share);
        println!("| {n_threads} | {early:.3} % | {late:.3} % |");
    }
    println!();
}

fn shares_of_a_core(tools: &Tools, n_threads: &str) -> [f64; 2] {
    let program = tools.compile("idle");
    let directory = tools.scratch.path().to_string_lossy();
    let seconds = (WINDOWS[1].1 + 1).to_string();
    let command = [&*program.to_string_lossy(), n_threads, &seconds, &*directory];
    let mut captured = tools.captured(&command);
    let started = Instant::now();
    let mut running = captured.stdout(Stdio::null()).spawn().expect("a run");
    let spent_at = |second: u64| {
        sleep(Duration::from_secs(second).saturating_sub(started.elapsed()));
        processor_ns(running.id())
    };
    let shares = WINDOWS.map(|(from, to)| {
        let before_ns = spent_at(from);
        (spent_at(to) - before_ns) as f64 / ((to - from) as f64 * 1e9)
    });
    assert!(running.wait().is_ok_and(|status| status.success()), "{captured:?} failed");
    shares
}

/// What the threads of a process have used so far.
fn processor_ns(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("a process that runs");
    let spent = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    threads.flatten().filter_map(spent).sum()
}
