// SPDX-License-Identifier: MIT OR Apache-2.0

//! What capture adds to short processes: one that does nothing, and loads that
//! consist of little else (a build, a copy of many small files), on a quiet
//! machine and on one whose processors are all busy, where what the reader takes
//! is taken from the program.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::pairs::Pairs;
use crate::tools::{Tools, summary_of};

/// The argument with which this program runs inside a job.
pub const INSIDE: &str = "start-inside";

const ROUNDS: usize = 300;
const LOAD_ROUNDS: usize = 7;

/// Something that starts many processes.
struct Load {
    name: &'static str,
    n_processes: u32,
    /// Shell commands that make its input in the working directory.
    prepare: &'static str,
    command: &'static str,
}

const LOADS: &[Load] = &[
    Load {
        name: "200 times /bin/cat of a small file",
        n_processes: 200,
        prepare: "echo hello > file",
        command: "i=0; while [ $i -lt 200 ]; do /bin/cat file; i=$((i+1)); done",
    },
    Load {
        // The driver, the compiler, the assembler; and make itself.
        name: "make -j2 of 40 small C files",
        n_processes: 121,
        prepare: "for i in $(seq 40); do \
                      printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f%d(int x) { return printf(\"%%d\", x); }\\n' $i > f$i.c; \
                  done; \
                  printf 'objects = $(patsubst %%.c,%%.o,$(wildcard *.c))\\nall: $(objects)\\n' > Makefile",
        command: "rm -f *.o; make -s -j2",
    },
    Load {
        // What starts rsync, its sender, its receiver's two; and rm.
        name: "rsync of 2000 small files",
        n_processes: 5,
        prepare: "mkdir many; for i in $(seq 2000); do echo $i > many/$i; done",
        command: "rm -rf copy; rsync -a many/ copy/",
    },
    Load {
        // The shell, rm and mkdir; tar twice.
        name: "tar of 2000 small files, packed and unpacked",
        n_processes: 5,
        prepare: "mkdir many; for i in $(seq 2000); do echo $i > many/$i; done",
        command: "rm -rf copy; mkdir copy; tar cf - many | tar xf - -C copy",
    },
];

/// Prints the tables.
pub fn report(tools: &Tools) {
    let this = std::env::current_exe().expect("this program");
    let output = tools.captured(&[&this.to_string_lossy(), INSIDE]).output().expect("the job runs");
    println!("## Time added to a process\n");
    println!("Goal: at most 1 ms. Medians of {ROUNDS} pairs.\n");
    println!("| process | plain µs | captured µs | added µs |");
    println!("| --- | ---: | ---: | ---: |");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!("\n## Loads of short processes\n");
    println!(
        "Wall time of {LOAD_ROUNDS} pairs of runs, and per process the processor time that capture \
         adds to the program and that the reader takes. 'Busy' is beside one spinning process per \
         processor.\n"
    );
    println!(
        "| load | machine | plain s | captured s | ratio | added per process µs | reader per process µs |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for load in LOADS.iter().filter(|load| is_installed(load)) {
        for machine in [Machine::Quiet, Machine::Busy] {
            println!("{}", measure(tools, load, machine));
        }
    }
    println!();
}

/// Whether the program that a load is named after can be run.
fn is_installed(load: &Load) -> bool {
    let name = load.name.split(' ').find(|word| ["rsync", "make", "tar"].contains(word));
    name.is_none_or(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

/// Inside the job: the same process with and without the library.
pub fn inside() {
    for program in [["/bin/true", ""], ["/bin/cat", "/etc/hostname"]] {
        let run = |captured: bool| {
            let [name, argument] = program;
            let mut command = Command::new(name);
            command.args((!argument.is_empty()).then_some(argument)).stdout(Stdio::null());
            if !captured {
                command.env_remove("LD_PRELOAD");
            }
            let start = Instant::now();
            let status = command.status().expect("the program runs");
            assert!(status.success());
            start.elapsed().as_secs_f64() * 1e6
        };
        let pairs = Pairs::measure(ROUNDS, || run(false), || run(true));
        println!(
            "| {} | {:.0} | {:.0} | {:.0} |",
            program.join(" ").trim_end(),
            pairs.plain(),
            pairs.captured(),
            pairs.added()
        );
    }
}

/// What else the machine does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Machine {
    Quiet,
    Busy,
}

fn measure(tools: &Tools, load: &Load, machine: Machine) -> String {
    let directory = tools.scratch.path().join(load.name.replace(['/', ' '], "-"));
    if !directory.exists() {
        std::fs::create_dir(&directory).expect("a directory to work in");
        let mut prepare = Command::new("bash");
        let prepared = prepare.args(["-ec", load.prepare]).current_dir(&directory).status();
        assert!(prepared.is_ok_and(|status| status.success()), "{} is made", load.name);
    }
    let spinning = match machine {
        Machine::Quiet => Vec::new(),
        Machine::Busy => spin(),
    };
    let command = ["sh", "-c", load.command];
    let mut cpu_s = [Vec::new(), Vec::new()];
    let [plain_cpu_s, captured_cpu_s] = &mut cpu_s;
    let pairs = Pairs::measure(
        LOAD_ROUNDS,
        || run(tools.plain(&command), &directory, plain_cpu_s),
        || run(tools.captured(&command), &directory, captured_cpu_s),
    );
    let reader_s = summary_of(tools, &[], &command, &directory)["own_cpu_s"].as_f64();
    let reader_s = reader_s.unwrap_or(f64::NAN);
    drop(spinning);
    let [plain_s, captured_s] = cpu_s.map(|times| times.iter().sum::<f64>() / times.len() as f64);
    let per_process_us = 1e6 / f64::from(load.n_processes);
    format!(
        "| {} | {} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} |",
        load.name,
        if machine == Machine::Busy { "busy" } else { "quiet" },
        pairs.plain(),
        pairs.captured(),
        pairs.ratio().0,
        (captured_s - reader_s - plain_s) * per_process_us,
        reader_s * per_process_us,
    )
}

/// Runs a command; its wall time, and what processor time it and its children took.
fn run(mut command: Command, directory: &Path, cpu_s: &mut Vec<f64>) -> f64 {
    let before = children_cpu().expect("the time of children");
    let start = Instant::now();
    let status = command.current_dir(directory).stdout(Stdio::null()).status();
    let wall_s = start.elapsed().as_secs_f64();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
    cpu_s.push((children_cpu().expect("the time of children") - before).as_secs_f64());
    wall_s
}

/// Processor time of all children that have been waited for.
fn children_cpu() -> io::Result<Duration> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000)
    };
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// One process per processor that does nothing but run, ended with the value.
fn spin() -> Vec<Spinning> {
    let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
    let start = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
    (0..n_processors).map(|_| Spinning(start().expect("a shell"))).collect()
}

struct Spinning(Child);

impl Drop for Spinning {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
