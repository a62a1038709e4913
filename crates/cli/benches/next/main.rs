// SPDX-License-Identifier: MIT OR Apache-2.0

//! What asking what comes next costs a program: `ioracle_next` itself, how far
//! what is published lags behind, and what `--in-process` adds to a call.
//!
//! Prints Markdown; `scripts/overhead` puts it into `docs/overhead.md`. The
//! libraries must have been built: `cargo build --release --package
//! ioracle-capture --package ioracle-capi`.
//!
//! ```text
//! cargo bench --package ioracle-cli --bench next
//! ```

#[allow(dead_code, reason = "the other bench uses the rest")]
#[path = "../overhead/tools.rs"]
mod tools;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tools::Tools;

fn main() {
    let bench = Bench::new();
    println!("## Asking what comes next\n");
    println!("| what | ns |");
    println!("| --- | ---: |");
    for n in ["1", "64"] {
        let cost = bench.published(["fresh", n, "0"]);
        println!("| `ioracle_next` of {n}, if all calls are taken into account | {} |", cost[0]);
    }
    for (pause, busy) in [("20000", false), ("500000", false), ("5000000", false), ("20000", true)]
    {
        let load = busy.then(Load::begin);
        let lag = bench.published(["lag", pause, if busy { "-1" } else { "0" }]);
        let share = bench.reader_share();
        drop(load);
        let node = if busy { "all processors busy" } else { "a processor free" };
        let pause_us = pause.parse::<u64>().expect("a number") / 1000;
        println!("| lag, a call every {pause_us} µs, {node}: median | {} |", lag[0]);
        println!("| the same: 99 % are below | {} |", lag[1]);
        println!("| the same: share of a processor that `ioracle run` took | {share:.0} % |");
    }
    let lag = bench.recorded(["lag", "500000", "0"]);
    println!(
        "| lag, a call every 500 µs, a processor free, with `--record`: median | {} |",
        lag[0]
    );
    println!("| the same: 99 % are below | {} |", lag[1]);
    let floor = bench.plainly(["wake", "5000000", "0"]);
    println!(
        "| waking up a process that has slept for 5 ms, without ioracle: median | {} |",
        floor[0]
    );
    println!("| the same: 99 % are below | {} |", floor[1]);
    let plain = bench.published(["calls", "0", "0"])[0];
    println!("| a captured write of 4 KiB | {plain} |");
    for n in ["0", "1", "64"] {
        let cost = bench.in_process(["calls", n, "0"])[0];
        let asked = if n == "0" { String::new() } else { format!(" and asked for {n}") };
        println!("| added by `--in-process`: learned{asked} | {} |", cost - plain);
    }
    println!();
}

/// The program, and where it finds the library that it is linked with.
struct Bench {
    tools: Tools,
    program: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let tools = Tools::find();
        let library = Path::new(env!("CARGO_BIN_EXE_ioracle")).with_file_name("libioracle_capi.so");
        assert!(library.exists(), "there is no {}; build ioracle-capi", library.display());
        let here = tools.scratch.path().to_owned();
        symlink(&library, here.join("libioracle.so.0")).expect("a link to the library");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = here.join("next");
        let status = Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(root.join("benches/programs/next.c"))
            .arg(format!("-I{}", root.join("crates/capi/include").display()))
            .arg(here.join("libioracle.so.0"))
            .arg(format!("-Wl,-rpath,{}", here.display()))
            .status()
            .expect("a C compiler");
        assert!(status.success(), "next does not compile");
        Bench { tools, program }
    }

    fn published(&self, arguments: [&str; 3]) -> Vec<i64> {
        self.run(&[], arguments)
    }

    fn in_process(&self, arguments: [&str; 3]) -> Vec<i64> {
        self.run(&["--in-process"], arguments)
    }

    fn recorded(&self, arguments: [&str; 3]) -> Vec<i64> {
        let trace = self.tools.scratch.path().join("trace");
        let numbers = self.run(&["--record", trace.to_str().expect("a plain path")], arguments);
        std::fs::remove_dir_all(trace).expect("a trace");
        numbers
    }

    /// Runs the program on processor 0, with `ioracle run` on the others.
    fn run(&self, options: &[&str], arguments: [&str; 3]) -> Vec<i64> {
        let pinned = arguments[2] != "-1" && processors() > 1;
        let mut command = Command::new(if pinned { "taskset" } else { "env" });
        if pinned {
            command.args(["-c", &format!("1-{}", processors() - 1)]);
        }
        command.arg(env!("CARGO_BIN_EXE_ioracle")).args(["run", "--quiet", "--summary", SUMMARY]);
        command.args(options).arg("--").arg(&self.program);
        self.numbers(command, arguments)
    }

    /// Runs the program alone.
    fn plainly(&self, arguments: [&str; 3]) -> Vec<i64> {
        self.numbers(Command::new(&self.program), arguments)
    }

    /// The part of a processor that `ioracle run` has taken in the last run, in
    /// percent.
    fn reader_share(&self) -> f64 {
        let text = std::fs::read(self.tools.scratch.path().join(SUMMARY)).expect("a summary");
        let summary: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let seconds = |name: &str| summary[name].as_f64().expect("a number");
        100.0 * seconds("own_cpu_s") / seconds("wall_s")
    }

    /// What a command prints.
    fn numbers(&self, mut command: Command, arguments: [&str; 3]) -> Vec<i64> {
        command.args(arguments).current_dir(self.tools.scratch.path());
        let output = command.stderr(Stdio::inherit()).output().expect("the command runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<i64> =
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(output.status.success() && !numbers.is_empty(), "{command:?}: {text}");
        numbers
    }
}

/// Where a run leaves its summary.
const SUMMARY: &str = "summary.json";

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// As many busy loops as there are processors.
struct Load(Vec<Child>);

impl Load {
    fn begin() -> Load {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Load((0..processors()).map(|_| busy().expect("a shell")).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            let _ = busy.kill();
            let _ = busy.wait();
        }
    }
}
