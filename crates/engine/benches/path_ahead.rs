// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does it cost to keep the path ahead? Learning the same events with and
//! without it, while predictions hold and where they do not. Prints Markdown.

use std::time::Instant;

use ioracle_engine::{Config, Engine};
use ioracle_events::{ContextId, Event, FileId, Function, StreamId};

/// The n-th event of a program.
type Events = fn(u64) -> Event;

const STREAM: StreamId = StreamId { rank: 0, thread: 0 };
const N_WARM: usize = 50_000;
const N_EVENTS: usize = 400_000;

fn main() {
    println!("| program | steps | ns per event | added by the path | derived again |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let programs: [(&str, Events); 3] = [
        ("one file, read in blocks, again and again", one_file),
        ("files of 64 blocks, one after the other", many_files),
        ("as the first, every thousandth read elsewhere", surprising),
    ];
    for (name, event) in programs {
        let plain_ns = measure(event, 0).0;
        for horizon in [64, 1024, 8192, 16_384] {
            let (ns, n_derived) = measure(event, horizon);
            println!("| {name} | {horizon} | {ns:.0} | {:.0} | {n_derived} |", ns - plain_ns);
        }
    }
}

/// Nanoseconds per event, and how often the path was derived while measured.
fn measure(event: Events, horizon: usize) -> (f64, u64) {
    let mut engine = Engine::new(Config::default());
    for context in 1..=3 {
        engine.define_context(ContextId(context), &format!("app+{context:#x}0"));
    }
    for file in 1..=16_384 {
        engine.define_file(FileId(file), &format!("data/{file:05}.dat"));
    }
    let events: Vec<Event> = (0..(N_WARM + N_EVENTS) as u64).map(event).collect();
    let (warm, measured) = events.split_at(N_WARM);
    warm.iter().for_each(|event| engine.observe(event));
    if horizon > 0 {
        engine.keep_path_ahead(STREAM, horizon);
        engine.extend_path_ahead(STREAM, horizon);
    }
    let n_derived = |engine: &Engine| engine.path_ahead(STREAM).map_or(0, |path| path.n_derived());
    let n_before = n_derived(&engine);
    let start = Instant::now();
    measured.iter().for_each(|event| engine.observe(event));
    let ns = start.elapsed().as_nanos() as f64 / measured.len() as f64;
    (ns, n_derived(&engine) - n_before)
}

fn call(n: u64, function: Function, file: u64, place: Option<u64>) -> Event {
    let size = place.map_or(0, |_| 8192);
    Event {
        stream: STREAM,
        sequence: n,
        function,
        context: ContextId(match function {
            Function::Open => 1,
            Function::Close => 3,
            _ => 2,
        }),
        file: FileId(file as u32 + 1),
        handle: 3,
        offset: place,
        requested: size,
        result: size as i64,
        start_ns: n * 10_000,
        end_ns: n * 10_000 + 2000,
        depth: 0,
        detail: "".into(),
    }
}

/// A file of 1,000 blocks.
fn one_file(n: u64) -> Event {
    call(n, Function::Read, 0, Some(n % 1000 * 8192))
}

fn many_files(n: u64) -> Event {
    let (file, place) = (n / 66, n % 66);
    match place {
        0 => call(n, Function::Open, file, None),
        65 => call(n, Function::Close, file, None),
        block => call(n, Function::Read, file, Some((block - 1) * 8192)),
    }
}

fn surprising(n: u64) -> Event {
    match n % 1000 {
        999 => call(n, Function::Pread, 1, Some(n * 7919 % 1_000_000)),
        _ => one_file(n - n / 1000),
    }
}
