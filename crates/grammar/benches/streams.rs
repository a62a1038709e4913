// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does a symbol cost, and how large does the grammar get?
//!
//! Each stream is learned with predictions after every symbol. The cost is the
//! smallest of several rounds, because the machine does other things, too. The
//! last columns are what others reach on such streams with appending alone
//! (PYTHIA, Recorder, Sequitur) or with predictions (the original Omnisc'IO),
//! as published beside our specification: other machines, so compare with care.
//!
//! Pass `growth` for the cost from 10^6 to 10^8 symbols in one process.

mod generate;

use std::hint::black_box;
use std::time::Instant;

use ioracle_grammar::{Config, StarSequitur};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "growth") {
        return growth();
    }
    table();
    worst_update();
    cost_of_asking();
}

/// A stream and the best published cost and grammar size for it.
struct Row {
    name: &'static str,
    stream: Vec<u32>,
    others_ns: f64,
    others_size: usize,
}

fn rows() -> Vec<Row> {
    let row = |name, stream, others_ns, others_size| Row { name, stream, others_ns, others_size };
    vec![
        row("(ab)^1e6", generate::alternating(1_000_000), 34.0, 3),
        row("checkpointing loop", generate::checkpoints(200, 16..=16, 0.0), 127.0, 201),
        row("inner loops of changing length", generate::checkpoints(200, 8..=24, 0.0), 123.0, 1202),
        row("1 % random substitutions", generate::checkpoints(200, 16..=16, 0.01), 130.0, 7108),
        row("random over 64 symbols, 1e6", generate::random(1_000_000, 64), 358.0, 516_662),
        row("particle code, 77 phases", generate::particles(77), 70.0, 165),
    ]
}

fn table() {
    println!("| stream | symbols | ns/symbol | best other, append only | size | best other size |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for row in rows() {
        let mut best_ns = f64::INFINITY;
        let mut size = 0;
        for _ in 0..5 {
            let mut sequence = StarSequitur::new(Config::new());
            let start = Instant::now();
            for &symbol in &row.stream {
                sequence.push(symbol);
                black_box(sequence.next());
            }
            best_ns = best_ns.min(start.elapsed().as_nanos() as f64 / row.stream.len() as f64);
            size = sequence.size();
        }
        println!(
            "| {} | {} | {best_ns:.0} | {:.0} | {size} | {} |",
            row.name,
            row.stream.len(),
            row.others_ns,
            row.others_size
        );
    }
}

/// The most expensive single symbol of each stream: the smallest over rounds of
/// the largest of a round, since the same push costs the same each time and
/// what the machine does in between does not.
fn worst_update() {
    println!("\n| stream | worst single update, µs | 99.9 % below, µs |\n| --- | ---: | ---: |");
    for row in rows() {
        let mut least: Vec<u32> = vec![u32::MAX; row.stream.len()];
        for _ in 0..5 {
            let mut sequence = StarSequitur::new(Config::new());
            for (at, &symbol) in row.stream.iter().enumerate() {
                let start = Instant::now();
                sequence.push(symbol);
                let ns = start.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32;
                least[at] = least[at].min(ns);
            }
        }
        least.sort_unstable();
        let worst = f64::from(least[least.len() - 1]) / 1000.0;
        let permille = f64::from(least[least.len() * 999 / 1000]) / 1000.0;
        println!("| {} | {worst:.1} | {permille:.1} |", row.name);
    }
}

fn cost_of_asking() {
    println!("\n| stream | asking, ns | asking 100 steps ahead, ns a step | memory, KiB |");
    println!("| --- | ---: | ---: | ---: |");
    for row in rows() {
        let mut sequence = StarSequitur::new(Config::new());
        row.stream.iter().for_each(|&symbol| sequence.push(symbol));
        const ROUNDS: u32 = 10_000;
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(black_box(&sequence).next().iter().map(|c| c.probability).sum::<f64>());
        }
        let asking = start.elapsed().as_nanos() as f64 / f64::from(ROUNDS);
        let start = Instant::now();
        for _ in 0..ROUNDS / 10 {
            black_box(sequence.ahead(0).take(100).map(|c| c.terminal).sum::<u32>());
        }
        let ahead = start.elapsed().as_nanos() as f64 / f64::from(ROUNDS / 10) / 100.0;
        let memory = sequence.memory_bytes() / 1024;
        println!("| {} | {asking:.0} | {ahead:.0} | {memory} |", row.name);
    }
}

/// One process, 10^8 symbols: the cost of a symbol and the memory must not grow.
fn growth() {
    println!("| stream | 1e6: ns, KiB | 1e7: ns, KiB | 1e8: ns, KiB | cost at 1e8 / at 1e6 |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    type Endless = Box<dyn FnMut() -> u32>;
    let streams: [(&str, Endless); 3] = [
        ("checkpointing loop", Box::new(generate::endless_checkpoints(16..=16, 0.0))),
        ("inner loops of changing length", Box::new(generate::endless_checkpoints(8..=24, 0.0))),
        ("1 % random substitutions", Box::new(generate::endless_checkpoints(16..=16, 0.01))),
    ];
    for (name, mut next) in streams {
        let mut sequence = StarSequitur::new(Config::new());
        let mut pushed = 0u64;
        let mut shown = Vec::new();
        for target in [1_000_000u64, 10_000_000, 100_000_000] {
            // The cost of the last million before each mark.
            while pushed < target - 900_000 {
                sequence.push(next());
                pushed += 1;
            }
            let start = Instant::now();
            let timed = target - pushed;
            while pushed < target {
                sequence.push(next());
                pushed += 1;
            }
            let ns = start.elapsed().as_nanos() as f64 / timed as f64;
            shown.push((ns, sequence.memory_bytes() / 1024));
        }
        let cell = |(ns, kib): (f64, usize)| format!("{ns:.0}, {kib}");
        println!(
            "| {name} | {} | {} | {} | {:.2} |",
            cell(shown[0]),
            cell(shown[1]),
            cell(shown[2]),
            shown[2].0 / shown[0].0
        );
    }
}
