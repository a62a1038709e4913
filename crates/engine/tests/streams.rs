// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engine over several streams: what it keeps apart, and its score.

use ioracle_engine::{Config, Engine};
use ioracle_events::{ContextId, Event, FileId, Function, Layer, PredictedFile, StreamId};
use ioracle_oracle::{Model, Role};

fn stream(rank: u32, thread: u32) -> StreamId {
    StreamId { rank, thread }
}

/// The `n`-th write of a stream that writes 100 bytes at a time, every 10 ns.
fn write(stream: StreamId, n: u64) -> Event {
    Event {
        stream,
        sequence: n,
        function: Function::from_name(Layer::Posix, "write").expect("a function of the table"),
        context: ContextId(1),
        file: FileId(1 + stream.rank),
        handle: 3,
        offset: Some(n * 100),
        requested: 100,
        result: 100,
        start_ns: n * 20,
        end_ns: n * 20 + 10,
        depth: 0,
        detail: "".into(),
    }
}

fn engine_after(n_writes: u64, streams: &[StreamId]) -> Engine {
    let mut engine = Engine::new(Config::default());
    engine.define_context(ContextId(1), "app+0x10");
    engine.define_file(FileId(1), "out.0");
    engine.define_file(FileId(2), "out.1");
    for n in 0..n_writes {
        for &stream in streams {
            engine.observe(&write(stream, n));
        }
    }
    engine.finish();
    engine
}

#[test]
fn each_stream_is_predicted_by_its_own_oracle() {
    let streams = [stream(0, 0), stream(1, 0), stream(1, 3)];
    let engine = engine_after(20, &streams);
    assert!(engine.streams().eq(streams));
    for id in streams {
        let ahead = engine.predict(id, 3);
        let offsets: Vec<_> = ahead.iter().map(|prediction| prediction.offset).collect();
        assert_eq!(offsets, [Some(2000), Some(2100), Some(2200)]);
        assert_eq!(ahead[0].file, PredictedFile::Known(FileId(1 + id.rank)));
        assert_eq!(engine.oracle(id).map(|oracle| oracle.symbols()), Some(1));
    }
}

#[test]
fn a_stream_never_seen_has_no_predictions() {
    assert!(engine_after(3, &[stream(0, 0)]).predict(stream(7, 7), 3).is_empty());
}

#[test]
fn a_regular_stream_scores_high_and_its_first_operations_count() {
    let score = engine_after(100, &[stream(0, 0)]).score();
    assert_eq!(
        (score.operations, score.data_accesses(), score.place.time_error.count()),
        (100, 100, 99)
    );
    assert!(score.context_accuracy() > 95.0 && score.context_accuracy() < 100.0);
    assert!(score.hit_ratio() > 95.0 && score.hit_ratio() < 100.0, "{}", score.hit_ratio());
    assert!(score.size_exact_share() >= 99.0);
    assert!(score.time_error_s() < 1e-8);
}

#[test]
fn streams_beyond_the_ceiling_are_dropped_and_counted() {
    let mut engine = Engine::new(Config { max_streams: 2, ..Config::default() });
    for thread in 0..5 {
        engine.observe(&write(stream(0, thread), 0));
    }
    assert_eq!((engine.streams().count(), engine.dropped_events()), (2, 3));
}

/// Thousands of short processes once took the places of all later streams.
#[test]
fn streams_that_end_early_leave_room_for_others_and_keep_their_score() {
    let mut engine = Engine::new(Config { max_streams: 2, ..Config::default() });
    let long = stream(9, 0);
    (0..100).for_each(|n| engine.observe(&write(long, n)));
    engine.end_stream(long);
    for rank in 0..50 {
        (0..3).for_each(|n| engine.observe(&write(stream(rank, 1), n)));
        engine.end_stream(stream(rank, 1));
    }
    assert!(engine.streams().eq([long]));
    assert_eq!((engine.dropped_events(), engine.score().operations), (0, 250));
}

#[test]
fn failed_calls_and_seeks_are_not_operations() {
    let mut engine = Engine::new(Config::default());
    engine.observe(&Event { result: -1, ..write(stream(0, 0), 0) });
    let seek = Function::from_name(Layer::Posix, "lseek").expect("a function of the table");
    engine.observe(&Event { function: seek, ..write(stream(0, 0), 1) });
    assert_eq!(engine.score().operations, 0);
}

#[test]
fn a_run_that_starts_with_a_model_predicts_its_first_operation() {
    let first = engine_after(50, &[stream(0, 0)]);
    let model = first.oracle(stream(0, 0)).expect("the stream").clone();
    let mut second = Engine::with_model(Config::default(), model.into());
    // The second run numbers its contexts and files differently.
    second.define_context(ContextId(7), "app+0x10");
    second.define_file(FileId(9), "out.0");
    let first_write = Event { context: ContextId(7), file: FileId(9), ..write(stream(0, 0), 0) };
    second.observe(&first_write);
    assert!(second.score().context_accuracy() > 50.0, "{:?}", second.score());
}

/// One short process of a program after the other.
#[test]
fn what_a_stream_has_from_an_ended_one_is_counted_once() {
    const N_WRITES: u64 = 5;
    let run = |model: Model, n_processes: u32| {
        let mut engine = Engine::with_model(Config::default(), model);
        engine.define_context(ContextId(1), "app+0x10");
        for process in 0..n_processes {
            let id = stream(process, 0);
            let role = Role { program: "app".to_owned(), process, ..Role::default() };
            engine.define_role(id, role);
            engine.begin_stream(id);
            let n_known = engine.oracle(id).expect("it is followed").symbols();
            assert!(n_known == 1 || process == 0, "others show how it begins");
            (0..N_WRITES).for_each(|n| engine.observe(&write(id, n)));
            engine.end_stream(id);
        }
        engine.into_model()
    };
    let first = run(Model::new("app"), 4);
    assert_eq!(first.operations(), 4 * N_WRITES);
    // Two of the processes are new.
    let second = run(first, 6);
    assert_eq!(second.operations(), (4 + 6) * N_WRITES);
    let counts: Vec<u64> = second.roles().map(|view| view.oracle.operations()).collect();
    assert_eq!(counts, [10, 10, 10, 10, 5, 5]);
}
