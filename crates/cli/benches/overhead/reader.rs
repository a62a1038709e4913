// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processor time that `ioracle run` takes for each event, from the spool to what is
//! learned and summarised. On a node whose processors are all busy, the program pays
//! it.

use std::path::Path;

use crate::tools::{Tools, summary_of};

const EVENTS: u64 = 1_000_000;
const ROUNDS: usize = 3;

/// Prints the table.
pub fn report(tools: &Tools) {
    println!("## The reader\n");
    println!(
        "Processor time of `ioracle run` per event, in microseconds: reading, learning and \
         summarising {EVENTS} events, its start and end included. 'Later' is `--learn \
         later`, where records wait until the program has ended. 'Behind' are events that were \
         not learned. The `pwrite` goes to one place from a thread that did not open the file, \
         so that all that can be learned of files and offsets is. Goal: 0.5 µs for plain calls, \
         1 µs for nested ones.\n"
    );
    println!("| program | threads | live | later | behind |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let calls = tools.compile("calls");
    let calls = calls.to_str().expect("a plain path");
    for (name, kind) in [("write, contiguous", "w"), ("pwrite, one place", "p")] {
        for threads in [1, 64, 1000] {
            let (each, n_threads) = ((EVENTS / threads).to_string(), threads.to_string());
            row(tools, name, threads, &[calls, kind, &each, "4", "1", &n_threads, "."]);
        }
    }
    for compiler in ["mpicc.mpich", "mpicc.openmpi"] {
        if let Some(program) = tools.compile_with(compiler, &[], "mpi") {
            let program = program.to_str().expect("a plain path");
            let name = format!("MPI_File_write_at, {compiler}");
            row(tools, &name, 1, &[program, "w", &(EVENTS / 2).to_string(), "."]);
        }
    }
    println!();
}

fn row(tools: &Tools, name: &str, threads: u64, command: &[&str]) {
    let mut behind = 0;
    let mut cost = |when: &str| {
        let mut costs: Vec<f64> = Vec::new();
        for _ in 0..ROUNDS {
            let options = ["--learn", when, "--limit", "2G"];
            let summary = summary_of(tools, &options, command, Path::new(tools.scratch.path()));
            let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
            costs.push(
                1e6 * number(&summary["own_cpu_s"]) / number(&summary["unrecorded"]["recorded"]),
            );
            behind += summary["unrecorded"]["not_learned"].as_u64().unwrap_or(0);
        }
        costs.sort_by(f64::total_cmp);
        costs[ROUNDS / 2]
    };
    let (live, later) = (cost("live"), cost("later"));
    println!("| {name} | {threads} | {live:.2} | {later:.2} | {behind} |");
}
