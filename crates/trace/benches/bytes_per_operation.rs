// SPDX-License-Identifier: MIT OR Apache-2.0

//! How large is a trace, and how fast is it written and read? For each trace in
//! the directory named after `--` (or in the tree): bytes per operation in each
//! precision of times, beside the compressed CSV form, and events per second of
//! processor time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ioracle_events::{Event, OperationFilter};
use ioracle_trace::{
    Description, Encoding, JobProcess, Observer, ProcessNumber, ReadOptions, TimePrecision, Trace,
    TraceRecorder, export_csv, import,
};

fn main() {
    // cargo itself adds `--bench`.
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let in_tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces");
    let corpus = named.map_or(PathBuf::from(in_tree), PathBuf::from);
    let mut traces: Vec<PathBuf> =
        fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    traces.retain(|path| path.is_dir());
    traces.sort();
    println!(
        "| trace | events | operations | CSV, zstd | exact | 1us | 1% | 1us, per event | \
         written | read |\n| --- |{}",
        " ---: |".repeat(9)
    );
    for path in traces {
        println!("{}", row(&path));
    }
}

fn row(path: &Path) -> String {
    let trace = open(path);
    let events: Vec<Event> = trace.events(None).unwrap().map(Result::unwrap).collect();
    let n_operations = operations(&trace, &events);
    let directory = tempfile::tempdir().unwrap();
    let csv = directory.path().join("csv");
    export_csv(&trace, &csv, None, Encoding::Zstd, &mut |_| {}).unwrap();
    let per = |n_bytes: u64, n: u64| format!("{:.2}", n_bytes as f64 / n as f64);
    let mut columns = vec![
        trace.name().to_owned(),
        events.len().to_string(),
        n_operations.to_string(),
        per(n_bytes(&csv), n_operations),
    ];
    let mut per_event = String::new();
    for times in [TimePrecision::Exact, TimePrecision::Microsecond, TimePrecision::Percent] {
        let native = directory.path().join(times.to_string());
        import(&trace, &native, times, &mut |_| {}).unwrap();
        columns.push(per(n_bytes(&native), n_operations));
        if times == TimePrecision::Microsecond {
            per_event = per(n_bytes(&native), events.len() as u64);
        }
    }
    columns.push(per_event);
    let write = best(|n| record(&trace, &events, &directory.path().join(format!("pass-{n}"))));
    let exact = open(&directory.path().join("exact"));
    let read = best(|_| assert!(exact.events(None).unwrap().all(|event| event.is_ok())));
    // Processor time is counted in steps of 10 ms: a short trace may take none.
    let rate = |time: Duration| match time {
        Duration::ZERO => "–".to_owned(),
        time => format!("{:.2}", events.len() as f64 / time.as_secs_f64() / 1e6),
    };
    columns.extend([rate(write), rate(read)]);
    format!("| {} |", columns.join(" | "))
}

fn open(path: &Path) -> Trace {
    Trace::open(path, ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn operations(trace: &Trace, events: &[Event]) -> u64 {
    let mut n = 0;
    let mut mpi = trace.mpi_internals();
    let mut streams: std::collections::HashMap<_, OperationFilter> = Default::default();
    for event in events {
        streams.entry(event.stream).or_default().push(event, &mut mpi, |_| n += 1);
    }
    for (_, mut filter) in streams {
        filter.finish(|_| n += 1);
    }
    n
}

/// All files of a trace but its description, which says the same in each form.
fn n_bytes(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let files = files.filter(|file| file.file_name() != "meta.json");
    files.map(|file| file.metadata().unwrap().len()).sum()
}

/// Processor time of this thread, which others on the machine change little.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux with schedstat");
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number"))
}

/// The best of some passes.
fn best(mut pass: impl FnMut(usize)) -> Duration {
    const N_PASSES: usize = 5;
    let passes = (0..N_PASSES).map(|n| {
        let begin = processor_time();
        pass(n);
        processor_time() - begin
    });
    passes.min().unwrap_or_default()
}

/// Passes the events on as `ioracle run --record` does, each rank a process.
fn record(trace: &Trace, events: &[Event], target: &Path) {
    let mut recorder = TraceRecorder::create(target, TimePrecision::Exact).unwrap();
    trace.contexts().iter().for_each(|(id, frames)| recorder.context(id, frames));
    trace.files().iter().for_each(|(id, path)| recorder.file(id, path));
    let ranks: Vec<u32> = trace.ranks().unwrap();
    for (number, &rank) in (0..).zip(&ranks) {
        let process = JobProcess { pid: rank, rank: Some(rank), ..JobProcess::default() };
        recorder.process(ProcessNumber(number), &process);
    }
    for event in events {
        let number = ranks.binary_search(&event.stream.rank).unwrap();
        recorder.event(ProcessNumber(number as u32), event);
    }
    recorder.finish(&Description::default()).unwrap();
}
