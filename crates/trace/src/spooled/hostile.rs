// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whatever a spool says, in whatever order: the trace that is written of it can
//! be read strictly and holds every event that was reported.

use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Function, Sink, StreamInfo, StreamNumber};
use proptest::prelude::*;

use crate::spooled::state::State;
use crate::{Description, ReadOptions, TimePrecision, Trace, TraceRecorder};

/// Something that a spool contains.
#[derive(Clone, Debug)]
enum News {
    Stream(u32, StreamInfo),
    Definition(u32, DefinitionKind, u64, Vec<u8>),
    Record(u32, Call),
    Ended(u32),
}

/// Numbers that something may depend on, or any.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..4_u64, Just(i64::MAX as u64), Just(u64::MAX), any::<u64>()]
}

prop_compose! {
    fn info()(
        pid in 0..3_u32,
        tid in 0..4_u32,
        rank in prop_oneof![Just(None), (0..3_u32).prop_map(Some), any::<u32>().prop_map(Some)],
        process_start_ns in number(),
    ) -> StreamInfo {
        StreamInfo {
            pid,
            tid,
            parent_pid: 1,
            rank,
            world_size: 0,
            process_start_ns,
            process_start_realtime_ns: 0,
            begin_ns: 0,
            name: String::new(),
        }
    }
}

prop_compose! {
    fn call()(
        words in prop::array::uniform8(number()),
        began in number(),
        handle in any::<i32>(),
        detail in any::<u32>(),
        function in 0..Function::ALL.len() as u16 + 1,
        depth in prop_oneof![Just(0), 0..3_u8, any::<u8>()],
    ) -> Call {
        let [context, file, object, offset, requested, result, start_ns, end_ns] = words;
        let (offset, result) = (offset as i64, result as i64);
        Call {
            context, file, object, offset, requested, result, start_ns, end_ns, began, handle,
            detail, function, depth, ..Call::default()
        }
    }
}

fn kind() -> impl Strategy<Value = DefinitionKind> {
    prop::sample::select(vec![
        DefinitionKind::Process,
        DefinitionKind::Module,
        DefinitionKind::Context,
        DefinitionKind::File,
        DefinitionKind::Object,
        DefinitionKind::Rank,
    ])
}

fn news() -> impl Strategy<Value = News> {
    let stream = 0..4_u32;
    let payload = prop::collection::vec(any::<u8>(), 0..80);
    prop_oneof![
        1 => (stream.clone(), info()).prop_map(|(stream, info)| News::Stream(stream, info)),
        2 => (stream.clone(), kind(), number(), payload)
            .prop_map(|(stream, kind, id, payload)| News::Definition(stream, kind, id, payload)),
        8 => (stream.clone(), call()).prop_map(|(stream, call)| News::Record(stream, call)),
        1 => stream.prop_map(News::Ended),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_a_spool_says_becomes_a_readable_trace(news in prop::collection::vec(news(), 0..60)) {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
        let mut state = State::new();
        for piece in &news {
            let mut sink = state.with(&mut writer);
            match piece {
                News::Stream(stream, info) => sink.stream(StreamNumber(*stream), info),
                News::Definition(stream, kind, id, payload) => {
                    sink.definition(StreamNumber(*stream), *kind, *id, payload);
                }
                News::Record(stream, call) => sink.record(StreamNumber(*stream), call),
                News::Ended(stream) => sink.ended(StreamNumber(*stream)),
            }
        }
        state.end_all(&mut writer);
        let written = writer.finish(&Description::default()).unwrap();
        let trace = Trace::open(directory.path(), ReadOptions::default()).unwrap();
        let events: Result<Vec<_>, _> = match written.n_events {
            0 => Ok(Vec::new()),
            _ => trace.events(None).unwrap().collect(),
        };
        prop_assert_eq!(events.unwrap().len() as u64, written.n_events);
        // A call that is reported twice is written once.
        prop_assert!(written.n_events <= state.known.n_events);
    }
}
