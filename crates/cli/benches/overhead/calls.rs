// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time added to one call, by kind, stack depth, call paths and threads.

use std::process::Command;

use crate::pairs::Pairs;
use crate::tools::Tools;

const CALLS: &str = "200000";
const ROUNDS: usize = 9;
const COMPARED_ROUNDS: usize = 15;

struct Row {
    call: &'static str,
    kind: &'static str,
    depth: &'static str,
    paths: &'static str,
    threads: &'static str,
}

const fn row(
    (call, kind): (&'static str, &'static str),
    depth: &'static str,
    paths: &'static str,
    threads: &'static str,
) -> Row {
    Row { call, kind, depth, paths, threads }
}

const PWRITE: (&str, &str) = ("pwrite of 4 KiB", "p");
const PREAD: (&str, &str) = ("pread of 4 KiB", "r");
const FWRITE: (&str, &str) = ("fwrite of 64 bytes", "f");
const LSEEK: (&str, &str) = ("lseek", "l");
const REOPEN: (&str, &str) = ("open and close of a file", "o");
const REOPEN_MANY: (&str, &str) = ("open and close, 500 files in turn", "m");
const STAT: (&str, &str) = ("stat", "s");

const ROWS: &[Row] = &[
    row(PWRITE, "5", "1", "1"),
    row(PWRITE, "20", "1", "1"),
    row(PWRITE, "60", "1", "1"),
    row(PWRITE, "20", "16", "1"),
    row(PWRITE, "20", "256", "1"),
    row(PREAD, "20", "1", "1"),
    row(FWRITE, "20", "1", "1"),
    row(LSEEK, "20", "1", "1"),
    row(REOPEN, "20", "1", "1"),
    row(REOPEN_MANY, "20", "1", "1"),
    row(STAT, "20", "1", "1"),
    row(PWRITE, "20", "1", "8"),
    row(FWRITE, "20", "1", "8"),
];

/// Prints the table.
pub fn report(tools: &Tools) {
    let program = tools.compile("calls");
    let program = program.to_string_lossy();
    let directory = tools.scratch.path().to_string_lossy();
    println!("## Time added to a call\n");
    println!(
        "Goals: at most 250 ns on average and 200 ns on warm paths, at depth 20, and 1 µs for an \
         open with its close. Medians of \
         {ROUNDS} pairs. Depth 5 does less work than depth 20, so where its row is slower, the \
         difference is noise. Eight threads share the processors with each other and with the \
         reader; there, a thread mostly waits for the others.\n"
    );
    println!("| call | depth | paths | threads | plain ns | captured ns | added ns |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for Row { call, kind, depth, paths, threads } in ROWS {
        let command = [&*program, kind, CALLS, depth, paths, threads, &*directory];
        let pairs = Pairs::measure(
            ROUNDS,
            || printed_number(tools.plain(&command)),
            || printed_number(tools.captured(&command)),
        );
        println!(
            "| {call} | {depth} | {paths} | {threads} | {:.0} | {:.0} | {:.0} |",
            pairs.plain(),
            pairs.captured(),
            pairs.added()
        );
    }
    println!();
}

/// Prints the rows of one thread for another build and for this one, in turn.
pub fn compare(tools: &Tools, other: &Tools) {
    let program = tools.compile("calls");
    let program = program.to_string_lossy();
    let directory = tools.scratch.path().to_string_lossy();
    println!("## Time added to a call by another build and by this one\n");
    println!("Medians of {COMPARED_ROUNDS} runs of each, and the least of them, in turn.\n");
    println!("| call | depth | paths | plain ns | other adds | this adds | least: other | this |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for Row { call, kind, depth, paths, threads } in ROWS.iter().filter(|row| row.threads == "1") {
        let command = [&*program, kind, CALLS, depth, paths, threads, &*directory];
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..COMPARED_ROUNDS {
            let commands =
                [tools.plain(&command), other.captured(&command), tools.captured(&command)];
            for (times, command) in times.iter_mut().zip(commands) {
                times.push(printed_number(command));
            }
        }
        let [plain, of_other, of_this] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            (times[times.len() / 2], times[0])
        });
        println!(
            "| {call} | {depth} | {paths} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
            plain.0,
            of_other.0 - plain.0,
            of_this.0 - plain.0,
            of_other.1 - plain.1,
            of_this.1 - plain.1,
        );
    }
    println!();
}

/// The number that a program prints.
pub fn printed_number(mut command: Command) -> f64 {
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("no number in '{text}' of {command:?}"))
}
