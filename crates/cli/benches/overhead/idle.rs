// SPDX-License-Identifier: MIT OR Apache-2.0

//! What following a job costs while the job does nothing.

use crate::tools::{Tools, summary_of};

const SECONDS: (u32, u32) = (2, 22);

/// Prints the table.
pub fn report(tools: &Tools) {
    let program = tools.compile("idle");
    println!("## The reader of an idle job\n");
    println!(
        "Bar: at most 0.1 % of a core. Threads that have written once and sleep; processor time \
         of `ioracle run` between second {} and second {}.\n",
        SECONDS.0, SECONDS.1
    );
    println!("| threads | share of a core |");
    println!("| ---: | ---: |");
    for n_threads in ["1", "100", "1000"] {
        let cpu_s = |seconds: u32| {
            let directory = tools.scratch.path().to_string_lossy();
            let seconds = seconds.to_string();
            let command = [&*program.to_string_lossy(), n_threads, &seconds, &*directory];
            summary_of(tools, &command, tools.scratch.path())["own_cpu_s"].as_f64()
        };
        let spent = cpu_s(SECONDS.1).zip(cpu_s(SECONDS.0)).map(|(long, short)| long - short);
        let share = spent.unwrap_or(f64::NAN) / f64::from(SECONDS.1 - SECONDS.0);
        println!("| {n_threads} | {:.3} % |", 100.0 * share);
    }
    println!();
}
