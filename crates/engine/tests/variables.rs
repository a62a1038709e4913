// SPDX-License-Identifier: MIT OR Apache-2.0

//! Accesses to variables have an oracle of their own.

use std::collections::HashMap;

use ioracle_engine::{Config, Engine};
use ioracle_events::{
    ContextId, Event, FileId, Function, Layer, PredictedFile, SEPARATOR, StreamId,
};
use ioracle_oracle::{Model, Role};

const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

/// A program that calls libraries.
struct Program {
    engine: Engine,
    files: HashMap<String, FileId>,
    n_events: u64,
}

impl Program {
    fn new() -> Program {
        Program::with(Engine::new(Config::default()))
    }

    fn with_model(model: Model) -> Program {
        Program::with(Engine::with_model(Config::default(), model))
    }

    fn with(mut engine: Engine) -> Program {
        engine.define_context(ContextId(1), "app+0x10");
        engine.define_context(ContextId(2), "library+0x20");
        Program { engine, files: HashMap::new(), n_events: 0 }
    }

    fn call(&mut self, name: &str, depth: u32, file: &str, detail: &str) {
        self.call_of(STREAM, name, depth, file, detail);
    }

    fn call_of(&mut self, stream: StreamId, name: &str, depth: u32, file: &str, detail: &str) {
        let number = FileId(self.files.len() as u32 + 1);
        let number = *self.files.entry(file.to_owned()).or_insert(number);
        self.engine.define_file(number, file);
        let layer = if name == "pwrite" { Layer::Posix } else { Layer::HighLevel };
        let is_bytes = layer == Layer::Posix;
        self.n_events += 1;
        self.engine.observe(&Event {
            stream,
            sequence: self.n_events,
            function: Function::from_name(layer, name).unwrap(),
            context: ContextId(1 + depth),
            file: number,
            handle: 3,
            offset: is_bytes.then_some(1000 * self.n_events),
            requested: 400,
            result: if is_bytes { 400 } else { 0 },
            start_ns: 1000 * self.n_events,
            end_ns: 1000 * self.n_events + 500,
            depth,
            detail: detail.into(),
        });
    }

    /// The next accesses, as file, variable and offset.
    fn next(&self, horizon: usize) -> Vec<(String, String, u64)> {
        self.next_of(STREAM, horizon)
    }

    fn next_of(&self, stream: StreamId, horizon: usize) -> Vec<(String, String, u64)> {
        let predictions = self.engine.predict_variables(stream, horizon);
        let described = predictions.iter().map(|next| {
            let name = match &next.file {
                PredictedFile::New(name) => name.clone(),
                PredictedFile::Known(number) => self.engine.variable_name(*number).unwrap(),
            };
            let (file, variable) = name.split_once(SEPARATOR).unwrap();
            (file.to_owned(), variable.to_owned(), next.offset.unwrap())
        });
        described.collect()
    }
}

fn access(file: &str, variable: &str, offset: u64) -> (String, String, u64) {
    (file.to_owned(), variable.to_owned(), offset)
}

#[test]
fn the_next_variable_and_its_part_are_expected() {
    let mut program = Program::new();
    for n in 0..300 {
        let selection = format!("{} start={}:0 count=1:100", ["T", "U", "V"][n % 3], n / 3);
        program.call("nc_put_vara", 0, "out.nc", &selection);
        program.call("pwrite", 1, "out.nc", "");
    }
    let expected = [("T", 40_000), ("U", 40_000), ("V", 40_000), ("T", 40_400)];
    assert_eq!(program.next(4), expected.map(|(name, offset)| access("out.nc", name, offset)));
    let score = program.engine.variable_score();
    assert_eq!(score.operations, 300);
    assert!(score.file_accuracy() > 95.0, "{score:?}");
    assert_eq!(program.engine.score().operations, 300);
}

/// With the same name for every access of a file it was once not seen when the
/// next file began: the last one was predicted for ever, beyond its end.
#[test]
fn a_dataset_in_blocks_goes_on_in_the_next_file() {
    for n_blocks in [1, 3, 8, 9, 50, 120] {
        let mut program = Program::new();
        for step in 0..20 {
            let file = format!("q_{step:03}.h5");
            program.call("H5Fcreate", 0, &file, "");
            for block in 0..n_blocks {
                let selection = format!("/q start={block}:0 count=1:50");
                program.call("H5Dwrite", 0, &file, &selection);
            }
            program.call("H5Fclose", 0, &file, "");
        }
        let blocks = |step: u32| (0..n_blocks).map(move |block| (step, block));
        let expected: Vec<_> = (20..23)
            .flat_map(blocks)
            .map(|(step, block)| access(&format!("q_{step:03}.h5"), "/q", 400 * block))
            .collect();
        assert_eq!(program.next(expected.len()), expected, "{n_blocks} blocks");
    }
}

/// Names with digits of their own: the counter of a file is not that of a
/// variable. With a hundred records a file, "as last time in the same file" is
/// wrong so rarely that it was once believed when the next file began.
#[test]
fn variables_of_some_records_go_on_in_the_next_file_together() {
    for n_records in [20, 120] {
        let mut program = Program::new();
        let variables = ["time", "T2", "U10", "V10"];
        let records = |step: u32| (0..n_records).map(move |record| (step, record));
        let file = |step: u32| format!("hist_{:04}.nc", 20 * step);
        for (step, record) in (0..8).flat_map(records) {
            if record == 0 {
                program.call("nc_create", 0, &file(step), "");
            }
            for variable in variables {
                let selection = format!("{variable} start={record}:0 count=1:100");
                program.call("nc_put_vara", 0, &file(step), &selection);
            }
        }
        let expected: Vec<_> = (8..10)
            .flat_map(records)
            .flat_map(|at| variables.map(|variable| (at, variable)))
            .map(|((step, record), variable)| access(&file(step), variable, 400 * record))
            .collect();
        assert_eq!(program.next(expected.len()), expected, "{n_records} records");
    }
}

/// In a file that is opened for every record, each access is the first.
#[test]
fn a_file_that_is_opened_again_goes_on_where_it_was() {
    let mut program = Program::new();
    for record in 0..30 {
        program.call("nc_open", 0, "series.nc", "");
        for variable in ["a", "b"] {
            let selection = format!("{variable} start={record}:0 count=1:100");
            program.call("nc_put_vara", 0, "series.nc", &selection);
        }
        program.call("nc_close", 0, "series.nc", "");
    }
    let expected = [("a", 12_000), ("b", 12_000), ("a", 12_400), ("b", 12_400)];
    assert_eq!(program.next(4), expected.map(|(name, at)| access("series.nc", name, at)));
}

/// Tiles of a plane: the second file has to know how wide it is.
#[test]
fn tiles_of_a_plane_are_at_their_place_in_every_file() {
    let mut program = Program::new();
    let tiles = || (0..4).flat_map(|column| (0..4).map(move |row| (10 * row, 10 * column)));
    for step in 0..12 {
        let file = format!("tiles.{step}");
        program.call("H5Fcreate", 0, &file, "");
        for (row, column) in tiles() {
            let selection = format!("/rho start={row}:{column} count=10:10");
            program.call("H5Dwrite", 0, &file, &selection);
        }
    }
    let expected: Vec<_> =
        tiles().map(|(row, column)| access("tiles.12", "/rho", 4 * (40 * row + column))).collect();
    assert_eq!(program.next(16), expected);
}

/// Each rank has its own blocks, and is not in step with the others: what one has
/// opened, the other may have closed.
#[test]
fn ranks_that_share_files_go_on_each_for_itself() {
    let mut program = Program::new();
    let ranks = [0, 1, 2].map(|rank| StreamId { rank, thread: 0 });
    let (n_steps, n_blocks) = (15_u64, 12_u64);
    let name = |step: u64| format!("shared_{step:02}.h5");
    let selection =
        |rank: u32, block: u64| format!("/q start={}:0 count=1:50", 3 * block + u64::from(rank));
    // A rank is as many calls ahead of the next one as half a file has.
    let calls = n_steps * (n_blocks + 1);
    for now in 0..calls + n_blocks {
        for (stream, late) in ranks.into_iter().zip([0, n_blocks / 2, n_blocks]) {
            let Some(call) = now.checked_sub(late).filter(|call| *call < calls) else { continue };
            let (step, block) = (call / (n_blocks + 1), call % (n_blocks + 1));
            match block.checked_sub(1) {
                None => program.call_of(stream, "H5Fcreate", 0, &name(step), ""),
                Some(block) => {
                    let selection = selection(stream.rank, block);
                    program.call_of(stream, "H5Dwrite", 0, &name(step), &selection);
                }
            }
        }
    }
    for stream in ranks {
        let offset = |block| 400 * (3 * block + u64::from(stream.rank));
        let expected: Vec<_> = (n_steps..n_steps + 2)
            .flat_map(|step| (0..n_blocks).map(move |block| (step, block)))
            .map(|(step, block)| access(&name(step), "/q", offset(block)))
            .collect();
        assert_eq!(program.next_of(stream, expected.len()), expected, "{stream:?}");
    }
}

#[test]
fn what_a_library_does_for_a_call_is_no_access_of_the_program() {
    let mut program = Program::new();
    for record in 0..40 {
        let selection = format!("start={record}:0 count=1:100");
        program.call("nc_put_vara", 0, "out.nc", &format!("T {selection}"));
        program.call("H5Dwrite", 1, "out.nc", &format!("/T {selection}"));
        program.call("H5Awrite", 0, "out.nc", "/T@units");
    }
    assert_eq!(program.engine.variable_score().operations, 40);
    assert_eq!(program.next(2), [access("out.nc", "T", 16_000), access("out.nc", "T", 16_400)]);
}

/// The second run of a program that reads every variable of many files.
#[test]
fn the_next_run_predicts_variables_from_its_first_access() {
    let role = Role { program: "app".to_owned(), ..Role::default() };
    let run = |mut program: Program| {
        program.engine.define_role(STREAM, role.clone());
        for file in 0..6 {
            let file = format!("in_{file}.nc");
            program.call("nc_open", 0, &file, "");
            for step in 0..2 {
                for variable in ["T", "u", "v"] {
                    let part = format!("{variable} start={step}:0 count=1:100");
                    program.call("nc_get_vara", 0, &file, &part);
                }
            }
            program.call("nc_close", 0, &file, "");
        }
        program.engine.finish();
        let score = program.engine.variable_score();
        (score.context_accuracy(), score.offset_accuracy(), program.engine.into_model())
    };
    let (context, offset, model) = run(Program::new());
    assert_eq!(model.variable_accesses(), 36);
    let model = Model::load(&model.save()).unwrap();
    let (context_again, offset_again, model) = run(Program::with_model(model));
    assert!(context_again > context + 10.0, "{context} {context_again}");
    assert!(offset_again > offset + 10.0 && offset_again > 95.0, "{offset} {offset_again}");
    assert_eq!(model.variable_accesses(), 72);
}
