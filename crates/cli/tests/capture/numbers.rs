// SPDX-License-Identifier: MIT OR Apache-2.0

//! A run, the evaluation of its trace, a prediction after all of it, a model of
//! it and the C interface given the same operations come to the same
//! numbers.
//!
//! They did not: `ncra` had a hit ratio of 88.4 % in the run and of 99.4 % in the
//! evaluation of its trace, and 5,911 operations in one and 6,632 in the other.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;
use std::process::Command;

use ioracle_capi as capi;
use ioracle_engine::OperationStreams;
use ioracle_events::{Clue, Level, Operation, StreamId};
use ioracle_trace::{ReadOptions, Trace};
use serde_json::Value;

use crate::compile::{c, has_header, other};
use crate::parallel::installed;
use crate::run::{Done, IORACLE, Program};

/// Fields that all of them have, and that need no weights to be compared.
const MEASURES: [&str; 5] =
    ["context_accuracy", "file_accuracy", "offset_accuracy", "hit_ratio", "time_error_s"];
/// Further ones that only those have that look at one stream.
const OF_A_STREAM: [&str; 3] = ["size_exact", "calibration_error", "place_calibration_error"];

/// Streams that a model holds apart; of more, those that did least are left out.
const MAX_ORACLES: usize = 64;

fn json(arguments: &[&str], trace: &Path) -> Value {
    let output = Command::new(IORACLE).args(arguments).arg(trace).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn same(what: &str, field: &str, one: &Value, other: &Value) {
    let [a, b] = [one, other].map(|value| value.as_f64().unwrap_or(0.0));
    assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{field} is {a} in the run, {b} {what}");
}

/// Records a program and compares.
fn check(program: &Program) -> Done {
    let done = program.recorded();
    assert_eq!(done.code, Some(0), "{}", done.err);
    let trace = done.beside().join("trace");
    let summary = done.summary();
    let predicted = &summary["predicted"];
    let evaluated = json(&["eval", "--json"], &trace);
    let ranks = evaluated.as_array().expect("a row per rank");
    let total: u64 = ranks.iter().map(|rank| rank["operations"].as_u64().unwrap()).sum();
    assert_eq!(summary["io"]["operations"], total, "operations of the summary");
    assert_eq!(predicted["operations"], total, "operations predicted");
    let streams = streams_of(&trace);
    let is_operation = |reported: &&Reported| matches!(reported, Reported::Operation(_));
    assert_eq!(streams.values().flatten().filter(is_operation).count() as u64, total);
    if streams.len() <= MAX_ORACLES {
        check_model(&done, total);
    }
    if let ([rank], 1) = (ranks.as_slice(), streams.len()) {
        check_one_stream(predicted, rank, &trace, &streams);
    } else {
        // Means over operations add up; those over data accesses have other weights.
        for field in ["context_accuracy", "file_accuracy"] {
            let weighted =
                |rank: &Value| rank[field].as_f64().unwrap() * rank["operations"].as_f64().unwrap();
            let mean = ranks.iter().map(weighted).sum::<f64>() / total as f64;
            same("in eval", field, &predicted[field], &Value::from(mean));
        }
    }
    done
}

fn check_one_stream(
    predicted: &Value,
    evaluated: &Value,
    trace: &Path,
    streams: &BTreeMap<StreamId, Vec<Reported>>,
) {
    for field in MEASURES {
        same("in eval", field, &predicted[field], &evaluated[field]);
    }
    let after = json(&["predict", "--after", "all", "--json"], trace);
    assert_eq!(after["after"], evaluated["operations"], "operations of predict");
    let from_c = score_from_c(trace, streams);
    assert_eq!(evaluated["operations"], from_c.operations, "operations of the C interface");
    for field in MEASURES.iter().chain(&OF_A_STREAM) {
        same("in predict", field, &evaluated[*field], &after["predicted"][*field]);
        let through_c = match *field {
            "context_accuracy" => from_c.context_accuracy,
            "file_accuracy" => from_c.file_accuracy,
            "offset_accuracy" => from_c.offset_accuracy,
            "hit_ratio" => from_c.hit_ratio,
            "time_error_s" => from_c.time_error_s,
            "size_exact" => from_c.size_exact,
            "calibration_error" => from_c.calibration_error,
            _ => from_c.place_calibration_error,
        };
        same("through C", field, &evaluated[*field], &Value::from(through_c));
    }
}

fn check_model(done: &Done, operations: u64) {
    let model = done.beside().join("learned.model");
    let save = ["model", "save", "--json", "-o", model.to_str().unwrap()];
    let saved = json(&save, &done.beside().join("trace"));
    assert_eq!(saved["operations"], operations, "operations of the model");
}

/// What a caller of the C interface would report of a stream.
enum Reported {
    Operation(Operation),
    /// A call that is no operation.
    Clue(Clue),
}

/// The calls of a trace, as its streams made them.
fn streams_of(trace: &Path) -> BTreeMap<StreamId, Vec<Reported>> {
    let trace = Trace::open(trace, ReadOptions::default()).expect("a trace");
    let mut operations = OperationStreams::new(Level::Bytes);
    trace.contexts().iter().for_each(|(id, frames)| operations.define_context(id, frames));
    let mut streams: BTreeMap<StreamId, Vec<Reported>> = BTreeMap::new();
    for event in trace.events(None).expect("events") {
        let event = event.expect("an event");
        let stream = streams.entry(event.stream).or_default();
        let clue = operations.push(&event, |it| stream.push(Reported::Operation(it)));
        stream.extend(clue.map(Reported::Clue));
    }
    operations.finish(|stream, operation| {
        streams.entry(stream).or_default().push(Reported::Operation(operation));
    });
    streams
}

/// The score of an oracle that is given the operations of a stream.
fn score_from_c(trace: &Path, streams: &BTreeMap<StreamId, Vec<Reported>>) -> capi::ioracle_score {
    let trace = Trace::open(trace, ReadOptions::default()).expect("a trace");
    let mut oracle = std::ptr::null_mut();
    let mut score = capi::ioracle_score::default();
    let ok = capi::ioracle_result::IORACLE_OK;
    // SAFETY: what is passed points to values of this function, and texts end in NUL.
    unsafe {
        assert_eq!(capi::ioracle_oracle_new(std::ptr::null(), &raw mut oracle), ok);
        for reported in streams.values().flatten() {
            let (context, file, function) = match reported {
                Reported::Operation(it) => (it.context, it.file, it.function),
                Reported::Clue(it) => (it.context, it.file, it.function),
            };
            let text = |text: Option<&str>| text.map(|text| CString::new(text).expect("no NUL"));
            let path = text(trace.files().get(file));
            let frames = text(trace.contexts().get(context));
            let name = CString::new(function.name()).expect("no NUL");
            let pointer = |text: &Option<CString>| {
                text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
            };
            let observation = capi::ioracle_observation {
                function: capi::ioracle_function(name.as_ptr()),
                path: pointer(&path),
                context_text: pointer(&frames),
                ..match reported {
                    Reported::Operation(operation) => observation_of(operation),
                    Reported::Clue(clue) => observation_of_clue(clue),
                }
            };
            assert_eq!(capi::ioracle_oracle_observe(oracle, &raw const observation), ok);
        }
        assert_eq!(capi::ioracle_oracle_score(oracle, &raw mut score), ok);
    }
    assert_eq!(capi::ioracle_oracle_free(oracle), ok);
    score
}

/// What was called, on what and from where comes later.
fn observation_of(operation: &Operation) -> capi::ioracle_observation {
    let access = operation.access().name();
    let empties = access == "open" && operation.truncated_to == Some(0);
    let flags = u32::from(operation.append) * capi::IORACLE_APPENDS
        + u32::from(empties) * capi::IORACLE_EMPTIES
        + u32::from(operation.requested.is_some()) * capi::IORACLE_REQUESTS;
    capi::ioracle_observation {
        flags,
        offset: operation.offset.map_or(-1, |offset| offset as i64),
        size: match operation.truncated_to {
            Some(length) if access == "truncate" => length,
            _ => operation.size,
        },
        start_ns: operation.start_ns,
        end_ns: operation.end_ns,
        requested: operation.requested.unwrap_or(0),
        ..nothing()
    }
}

/// The same of a call that is no operation: one that failed, or did nothing.
fn observation_of_clue(clue: &Clue) -> capi::ioracle_observation {
    let would_be_one = clue.function.access().is_atomic();
    capi::ioracle_observation {
        flags: u32::from(clue.failed || would_be_one) * capi::IORACLE_FAILED,
        handle: if clue.by_path { -1 } else { 1 },
        offset: clue.position.map_or(-1, |position| position as i64),
        ..nothing()
    }
}

fn nothing() -> capi::ioracle_observation {
    capi::ioracle_observation {
        struct_size: size_of::<capi::ioracle_observation>() as u32,
        access: 0,
        function: 0,
        flags: 0,
        path: std::ptr::null(),
        file: 0,
        handle: -1,
        offset: -1,
        size: 0,
        start_ns: 0,
        end_ns: 0,
        context: 0,
        context_text: std::ptr::null(),
        stack: std::ptr::null(),
        n_frames: 0,
        requested: 0,
    }
}

#[test]
fn of_posix_and_stdio() {
    for name in ["checkpoints", "posix_calls", "stdio_calls", "many_files", "sparse", "append"] {
        check(&Program::new(c(name)));
    }
}

/// Below the thousand streams at once of which a run learns.
#[test]
fn of_several_threads_and_processes() {
    for name in ["threads_at_once", "vfork_exec"] {
        check(&Program::new(c(name)));
    }
}

#[test]
fn of_netcdf() {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    for name in ["netcdf_history.c", "netcdf_habits.c"] {
        let Some(program) = other("cc", name, &["-O2", "-std=gnu11", "-lnetcdf"]) else { return };
        let done = check(&Program::new(program));
        check_variables(&done);
    }
}

#[test]
fn of_hdf5() {
    let Some(program) = other("h5cc", "hdf5_steps.c", &["-shlib", "-O2"]) else { return };
    let done = check(&Program::new(program));
    check_variables(&done);
}

/// Accesses to variables are scored in a run, and by `predict --variables`.
fn check_variables(done: &Done) {
    let summary = done.summary();
    let predicted = &summary["predicted_variables"];
    let after =
        json(&["predict", "--variables", "--after", "all", "--json"], &done.beside().join("trace"));
    assert_eq!(after["after"], predicted["operations"], "accesses to variables");
    for field in MEASURES {
        same("in predict --variables", field, &predicted[field], &after["predicted"][field]);
    }
}

#[test]
fn of_mpi_io() {
    for mpi in installed() {
        for name in ["mpi_io", "mpi_rows"] {
            let Some(program) = mpi.c(name) else { continue };
            // A process on its own, and ranks below a launcher.
            check(&Program::new(&program));
            check(&mpi.run(&program, 2));
        }
    }
}
