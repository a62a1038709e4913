// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time added to a process that does nothing, inside a running job.

use std::process::Command;
use std::time::Instant;

use crate::pairs::Pairs;
use crate::tools::Tools;

/// Tells this program that it is run inside a job.
pub const INSIDE: &str = "start-inside";

const ROUNDS: usize = 300;

/// Prints the table.
pub fn report(tools: &Tools) {
    let this = std::env::current_exe().expect("this program");
    let output = tools.captured(&[&this.to_string_lossy(), INSIDE]).output().expect("the job runs");
    println!("## Time added to a process\n");
    println!("Bar: at most 1 ms. Medians of {ROUNDS} pairs.\n");
    println!("| process | plain µs | captured µs | added µs |");
    println!("| --- | ---: | ---: | ---: |");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!();
}

/// Inside the job: the same process with and without the library.
pub fn inside() {
    let run = |captured: bool| {
        let mut command = Command::new("/bin/true");
        if !captured {
            command.env_remove("LD_PRELOAD");
        }
        let start = Instant::now();
        let status = command.status().expect("/bin/true runs");
        assert!(status.success());
        start.elapsed().as_secs_f64() * 1e6
    };
    let pairs = Pairs::measure(ROUNDS, || run(false), || run(true));
    println!(
        "| /bin/true | {:.0} | {:.0} | {:.0} |",
        pairs.plain(),
        pairs.captured(),
        pairs.added()
    );
}
