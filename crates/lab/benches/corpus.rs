// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does learning cost on real applications?
//!
//! For each trace: a symbol of the grammar with its predictions, the stream
//! replayed to 2 x 10^7 symbols, and a whole operation of the oracle, mean and
//! 99 % of the first reading, in the best of three rounds. The folder of traces
//! is `IORACLE_CORPUS`, relative to the workspace, or that of the tree.
//!
//! With the argument `observe` each trace is only learned, once, so that
//! `valgrind --tool=callgrind --toggle-collect='*Oracle::observe'` counts the
//! instructions of that and nothing else.

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ioracle_engine::OperationStreams;
use ioracle_events::{Level, Operation, StreamId};
use ioracle_grammar::{Config, StarSequitur};
use ioracle_oracle::Oracle;
use ioracle_trace::{ReadOptions, Trace};

const REPLAYED: usize = 20_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().any(|argument| argument == "observe") {
        return learn_all();
    }
    println!(
        "| trace | operations | grammar, ns a symbol | `observe`, mean ns | 99 %, ns | model, KiB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for directory in traces()? {
        let trace = Trace::open(&directory, ReadOptions::default())?;
        let operations = operations_of_rank_0(&trace)?;
        let symbol_ns = cost_of_a_symbol(&operations);
        let (mean, p99, memory) = cost_of_an_operation(&trace, &operations);
        println!(
            "| {} | {} | {symbol_ns:.0} | {mean:.0} | {p99} | {} |",
            trace.name(),
            operations.len(),
            memory / 1024
        );
    }
    Ok(())
}

fn learn_all() -> Result<(), Box<dyn Error>> {
    for directory in traces()? {
        let trace = Trace::open(&directory, ReadOptions::default())?;
        let operations = operations_of_rank_0(&trace)?;
        let mut oracle = fresh_oracle(&trace);
        for operation in &operations {
            oracle.observe(operation);
            black_box(oracle.predict());
        }
        println!("{}: {} operations", trace.name(), operations.len());
    }
    Ok(())
}

fn traces() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = std::env::var("IORACLE_CORPUS").unwrap_or_else(|_| "tests/traces".to_owned());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(workspace.join(folder))?.collect::<Result<Vec<_>, _>>()?;
    let mut traces: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    traces.retain(|path| path.is_dir());
    traces.sort();
    Ok(traces)
}

/// The operations of the busiest thread of rank 0.
fn operations_of_rank_0(trace: &Trace) -> Result<Vec<Operation>, Box<dyn Error>> {
    let mut picked = OperationStreams::new(Level::Bytes);
    trace.contexts().iter().for_each(|(id, frames)| picked.define_context(id, frames));
    let mut streams: HashMap<StreamId, Vec<Operation>> = HashMap::new();
    for event in trace.events(Some(0))? {
        let event = event?;
        let operations = streams.entry(event.stream).or_default();
        picked.push(&event, |operation| operations.push(operation));
    }
    picked.finish(|stream, operation| streams.entry(stream).or_default().push(operation));
    Ok(streams.into_values().max_by_key(Vec::len).unwrap_or_default())
}

fn cost_of_a_symbol(operations: &[Operation]) -> f64 {
    let mut symbols = HashMap::new();
    let mut symbol_of = |operation: &Operation| {
        let fresh = symbols.len() as u32;
        *symbols.entry((operation.context, operation.function)).or_insert(fresh)
    };
    let stream: Vec<u32> = operations.iter().map(&mut symbol_of).collect();
    let mut sequence = StarSequitur::new(Config::new());
    let start = Instant::now();
    for &symbol in stream.iter().cycle().take(REPLAYED) {
        sequence.push(symbol);
        black_box(sequence.next());
    }
    start.elapsed().as_nanos() as f64 / REPLAYED as f64
}

/// Mean and 99th percentile of `observe` in nanoseconds, and bytes of the model.
fn cost_of_an_operation(trace: &Trace, operations: &[Operation]) -> (f64, u64, usize) {
    let mut best = (f64::INFINITY, 0, 0);
    for _ in 0..3 {
        let mut oracle = fresh_oracle(trace);
        let mut costs: Vec<u64> = Vec::with_capacity(operations.len());
        for operation in operations {
            let start = Instant::now();
            oracle.observe(operation);
            costs.push(start.elapsed().as_nanos() as u64);
            black_box(oracle.predict());
        }
        let mean = costs.iter().sum::<u64>() as f64 / costs.len().max(1) as f64;
        costs.sort_unstable();
        let p99 = costs.get(costs.len() * 99 / 100).copied().unwrap_or(0);
        if mean < best.0 {
            best = (mean, p99, oracle.memory_bytes());
        }
    }
    best
}

fn fresh_oracle(trace: &Trace) -> Oracle {
    let mut oracle = Oracle::new(ioracle_oracle::Config::default());
    trace.contexts().iter().for_each(|(id, frames)| oracle.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| oracle.define_file(id, path));
    oracle
}
