// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls that are seen while the call around them is still under way are learned
//! as if they had been seen in their order.

use ioracle_engine::{Config, Engine};
use ioracle_events::{ContextId, Event, FileId, Function, StreamId};

const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

fn call(name: &str, depth: u32, sequence: u64, n: u64) -> Event {
    let function = Function::all().find(|function| function.name() == name).expect(name);
    Event {
        stream: STREAM,
        sequence,
        function,
        context: ContextId(u32::from(u16::from(function)) + 1),
        file: FileId(1),
        handle: 3,
        offset: Some(n * 100),
        requested: 100,
        result: 100,
        start_ns: sequence * 20,
        end_ns: sequence * 20 + 10,
        depth,
        detail: "x".into(),
    }
}

/// The calls of one step in the order in which they began.
fn step(n: u64) -> Vec<Event> {
    let first = n * 10;
    vec![
        call("nc_get_vara", 0, first, n),
        call("H5Dread", 1, first + 1, n),
        call("pread", 2, first + 2, 2 * n),
        call("lseek", 2, first + 3, n),
        call("pread", 2, first + 4, 2 * n + 1),
        call("H5Dread", 1, first + 5, n),
        // Answered from a cache.
        call("nc_get_vara", 0, first + 6, n),
        call("lseek", 1, first + 7, n),
        call("write", 0, first + 8, n),
    ]
}

fn engine() -> Engine {
    let mut engine = Engine::new(Config::default());
    for function in Function::all() {
        let context = u32::from(u16::from(function)) + 1;
        engine.define_context(ContextId(context), &format!("app+{context:#x}"));
    }
    engine
}

#[test]
fn what_is_seen_at_once_is_learned_once_and_in_the_same_order() {
    let (mut in_order, mut at_once) = (engine(), engine());
    for n in 0..100 {
        let calls = step(n);
        calls.iter().for_each(|event| in_order.observe(event));
        // As they end: the inner ones first.
        let n_before = at_once.operations(STREAM);
        for place in [2, 3, 4, 1, 5, 7] {
            at_once.observe_nested(&calls[place]);
        }
        assert!(at_once.operations(STREAM) >= n_before + 2, "both reads are known already");
        calls.iter().for_each(|event| at_once.observe(event));
    }
    in_order.finish();
    at_once.finish();
    // Two reads, a dataset and a variable from caches, a write.
    assert_eq!(in_order.operations(STREAM), 500);
    assert_eq!(at_once.operations(STREAM), 500);
    assert_eq!(in_order.predict(STREAM, 20), at_once.predict(STREAM, 20));
    let accuracy = |engine: &Engine| engine.score().context_accuracy();
    assert_eq!(accuracy(&in_order), accuracy(&at_once));
    let hit_ratio = |engine: &Engine| engine.score().hit_ratio();
    assert_eq!(hit_ratio(&in_order), hit_ratio(&at_once));
}
