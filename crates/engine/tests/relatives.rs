// SPDX-License-Identifier: MIT OR Apache-2.0

//! A routine that is called from another line is predicted by what is known of it.

use ioracle_engine::{Config, Engine, Score};
use ioracle_events::{ContextId, Event, FileId, Function, StreamId};

const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

/// Writes of a program that calls one routine from several lines.
struct Program {
    engine: Engine,
    sequence: u64,
    end: u64,
}

impl Program {
    fn new(config: Config) -> Program {
        let mut engine = Engine::new(config);
        for line in 0..4 {
            for call in 0..CALLS {
                let frames = format!("libc+0x1;app+{:#x};app+{:#x};libc+0x9", 16 + call, 99 + line);
                engine.define_context(context(line, call), &frames);
            }
        }
        engine.define_file(FileId(1), "dump");
        Program { engine, sequence: 0, end: 0 }
    }

    fn write(&mut self, context: ContextId, size: u64) {
        self.sequence += 1;
        self.engine.observe(&Event {
            stream: STREAM,
            sequence: self.sequence,
            function: Function::all().find(|it| it.name() == "pwrite").unwrap(),
            context,
            file: FileId(1),
            handle: 3,
            offset: Some(self.end),
            requested: size,
            result: size as i64,
            start_ns: self.sequence * 1000,
            end_ns: self.sequence * 1000 + 10,
            depth: 0,
            detail: "".into(),
        });
        self.end += size;
    }

    /// The routine, called from a line: many writes of different sizes.
    fn dump(&mut self, line: u32) {
        for call in 0..CALLS {
            self.write(context(line, call), 100 + u64::from(call));
        }
    }

    /// How well the operations of a part of the run were predicted, by a measure.
    fn predicted(&mut self, measure: fn(&Score) -> f64, run: impl FnOnce(&mut Program)) -> f64 {
        let before = self.engine.score();
        run(self);
        let after = self.engine.score();
        let sum = |score: &Score| measure(score) * score.operations as f64;
        (sum(&after) - sum(&before)) / (after.operations - before.operations) as f64
    }
}

const CALLS: u32 = 50;

fn context(line: u32, call: u32) -> ContextId {
    ContextId(1 + line * CALLS + call)
}

fn without_relatives() -> Config {
    let mut config = Config::default();
    config.oracle.improvements.relatives = false;
    config
}

#[test]
fn a_dump_from_another_line_is_predicted() {
    let accuracy = |config| {
        let mut program = Program::new(config);
        (0..5).for_each(|_| program.dump(0));
        program.predicted(Score::context_accuracy, |program| program.dump(1))
    };
    let (with, without) = (accuracy(Config::default()), accuracy(without_relatives()));
    assert!(with > 90.0, "{with}");
    assert!(without < 1e-6, "every call stack is new: {without}");
}

#[test]
fn what_behaves_differently_becomes_a_symbol_of_its_own() {
    let mut program = Program::new(Config::default());
    (0..5).for_each(|_| program.dump(0));
    // From the other line the calls come in another order.
    let reversed = |program: &mut Program| {
        (0..CALLS).rev().for_each(|call| program.write(context(1, call), 100 + u64::from(call)));
    };
    (0..5).for_each(|_| {
        reversed(&mut program);
        program.dump(0);
    });
    let hit = program.predicted(Score::hit_ratio, |program| {
        reversed(program);
        program.dump(0);
    });
    assert!(hit > 95.0, "{hit}");
}
