// SPDX-License-Identifier: MIT OR Apache-2.0

//! What observing and asking cost through the C interface, beside the same in
//! Rust: `cargo bench --package ioracle-capi`.
//!
//! The C side is a program of its own, `cost.c`, built here and linked with the
//! shared library, as a middleware would be. Both observe the same stream: files of
//! sixteen blocks, opened, read in a scattered order, closed. Each figure is the
//! best of several rounds, as others use the machine too.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ::ioracle_oracle::{Config, Oracle};
use ioracle_events::{ContextId, FileId, Function, Layer, Operation};

/// Files used; `cost.c` has the same.
const N_FILES: u64 = 2_000;
const N_ROUNDS: usize = 9;
const N_BLOCKS: u64 = 16;
const N_OPERATIONS: u64 = N_FILES * (N_BLOCKS + 2);

fn main() {
    let mut oracle = Oracle::new(Config::default());
    let observe_ns = ns_per(N_OPERATIONS, || {
        oracle = Oracle::new(Config::default());
        observe_all(&mut oracle);
    });
    let predict_ns = ns_per(100_000, || {
        for _ in 0..100_000 {
            black_box(black_box(&oracle).predict());
        }
    });
    let ahead_ns = ns_per(10_000, || {
        for _ in 0..10_000 {
            black_box(black_box(&oracle).ahead(0).take(4).count());
        }
    });
    let copy_ns = ns_per(20, || {
        for _ in 0..20 {
            black_box(black_box(&oracle).clone());
        }
    });
    let through_c = measured_in_c();
    let in_c = |name: &str| {
        let line = through_c.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse::<f64>().ok()).unwrap_or(f64::NAN)
    };
    println!("| ns per call | Rust | C |");
    println!("| --- | ---: | ---: |");
    println!("| observe, file by handle | {observe_ns:.0} | {:.0} |", in_c("observe"));
    println!("| observe, file by path each time | | {:.0} |", in_c("by-path"));
    println!("| predict, 1 place | {predict_ns:.0} | {:.0} |", in_c("predict"));
    println!("| ahead, 4 steps | {ahead_ns:.0} | {:.0} |", in_c("ahead"));
    println!("| iterator made, 4 steps, freed | | {:.0} |", in_c("iterate"));
    println!(
        "| observe while an iterator lives (copies) | {copy_ns:.0} | {:.0} |",
        in_c("copying")
    );
}

fn ns_per(n: u64, mut body: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        body();
        start.elapsed().as_nanos() as f64 / n as f64
    };
    (0..N_ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn observe_all(oracle: &mut Oracle) {
    let function = |name| Function::from_name(Layer::Posix, name).expect("it is in the table");
    let [open, read, close] = ["open", "pread", "close"].map(function);
    oracle.define_context(ContextId(1), "id:0x1");
    oracle.define_context(ContextId(2), "id:0x2");
    let mut now_ns = 0;
    for number in 1..=N_FILES {
        let file = FileId(number as u32);
        oracle.define_file(file, &format!("field_{number:06}.bin"));
        let mut call = |function, context, offset, size| {
            now_ns += 10_000;
            oracle.observe(&Operation {
                function,
                context: ContextId(context),
                file,
                handle: 3,
                offset,
                size,
                requested: None,
                append: false,
                truncated_to: None,
                start_ns: now_ns,
                end_ns: now_ns + 1_000,
            });
        };
        call(open, 1, None, 0);
        for block in 0..N_BLOCKS {
            call(read, 2, Some(block * 5 % N_BLOCKS * 65_536), 65_536);
        }
        call(close, 1, None, 0);
    }
}

fn measured_in_c() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bench = std::env::current_exe().expect("a bench is a file");
    let libraries = bench.parent().expect("it is in a directory");
    let program = libraries.join("cost_through_c-in-c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-std=c11", "-o"]).arg(&program);
    compiler.arg(here.join("benches/cost_through_c/cost.c")).arg("-I").arg(here.join("include"));
    compiler.arg("-L").arg(libraries).arg("-lioracle_capi");
    assert!(compiler.status().expect("a C compiler").success(), "cost.c does not build");
    // It asks for the library by the name it has when installed.
    let named = tempfile::tempdir().expect("a temporary directory");
    let installed = named.path().join("libioracle.so.0");
    std::os::unix::fs::symlink(libraries.join("libioracle_capi.so"), installed).expect("a link");
    let output = Command::new(program).env("LD_LIBRARY_PATH", named.path()).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints numbers")
}
