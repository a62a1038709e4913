// SPDX-License-Identifier: MIT OR Apache-2.0

//! Accesses to variables have an oracle of their own.

use ioracle_engine::{Config, Engine};
use ioracle_events::{ContextId, Event, FileId, Function, Layer, PredictedFile, StreamId};

const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

/// A record of a variable is written, and inside it a block.
fn write(engine: &mut Engine, n: u64, variable: &str, step: u64) {
    let event = |layer, name: &str, depth, detail: String| Event {
        stream: STREAM,
        sequence: 2 * n + u64::from(depth),
        function: Function::from_name(layer, name).unwrap(),
        context: ContextId(1 + depth),
        file: FileId(1),
        handle: 3,
        offset: (depth > 0).then_some(1000 * n),
        requested: 400,
        result: if depth > 0 { 400 } else { 0 },
        start_ns: 1000 * n + u64::from(depth),
        end_ns: 1000 * n + 500,
        depth,
        detail: detail.into(),
    };
    let selection = format!("{variable} start={step}:0 count=1:100");
    engine.observe(&event(Layer::HighLevel, "nc_put_vara", 0, selection));
    engine.observe(&event(Layer::Posix, "pwrite", 1, String::new()));
}

#[test]
fn the_next_variable_and_its_part_are_expected() {
    let mut engine = Engine::new(Config::default());
    engine.define_context(ContextId(1), "app+0x10");
    engine.define_context(ContextId(2), "libnetcdf+0x20");
    engine.define_file(FileId(1), "out.nc");
    for n in 0..300 {
        write(&mut engine, n, ["T", "U", "V"][n as usize % 3], n / 3);
    }
    let next = engine.predict_variables(STREAM, 4);
    let told: Vec<_> =
        next.iter().map(|next| (next.file.clone(), next.offset, next.size)).collect();
    // Numbered in the order of their first access.
    let known = |number| PredictedFile::Known(FileId(number));
    let expected = [(1, 40_000), (2, 40_000), (3, 40_000), (1, 40_400)];
    assert_eq!(told, expected.map(|(number, offset)| (known(number), Some(offset), 400)));
    let score = engine.variable_score();
    assert_eq!(score.operations, 300);
    assert!(score.file_accuracy() > 95.0, "{score:?}");
    assert_eq!(engine.score().operations, 300);
}
