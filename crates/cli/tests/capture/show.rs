// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle show` says of a recorded trace what `ioracle run` said when it was
//! recorded.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use ioracle_trace::{ReadOptions, Trace};
use serde_json::Value;

use crate::compile::{c, c_with, has_header, other};
use crate::parallel::OPEN_MPI;
use crate::run::{Done, IORACLE, Program};

fn show(trace: &Path, more: &[&str]) -> String {
    let output = Command::new(IORACLE).arg("show").arg(trace).args(more).output();
    let output = output.expect("ioracle starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The summary of the trace that a run has recorded.
pub fn shown(done: &Done) -> Value {
    let text = show(&done.beside().join("trace"), &["--json"]);
    serde_json::from_str(&text).expect("JSON")
}

/// Without the last digits of numbers: those that go through the text of `meta.json` are
/// read with an error in the last bit.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            format!("{:.12e}", number.as_f64().expect("a number")).into()
        }
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), rounded(value))).collect()
        }
        other => other.clone(),
    }
}

/// Every field of the summary of the trace is as in that of the run, and what is
/// missing is listed.
fn check_same(done: &Done) {
    let trace = done.beside().join("trace");
    let shown = shown(done);
    let live = done.summary();
    // However busy the machine is: what the reader is late for is learned at the end.
    assert_eq!(live["unrecorded"]["not_learned"], 0, "{}", done.err);
    let mut checked = 0;
    for (name, value) in shown.as_object().expect("an object") {
        match name.as_str() {
            // Of its own, or said in another way.
            "trace" | "command" | "event_span_s" | "skipped" | "not_in_trace" => continue,
            "processes" | "unrecorded" => {
                for (inner, value) in value.as_object().expect("an object") {
                    let live = rounded(&live[name][inner]);
                    assert_eq!(rounded(value), live, "{name}.{inner}: {}", done.err);
                }
            }
            _ => assert_eq!(rounded(value), rounded(&live[name]), "{name}: {}", done.err),
        }
        checked += 1;
    }
    assert!(checked >= 12, "{shown:#}");
    let left_out = shown["not_in_trace"].as_array().expect("a list");
    for (name, _) in live.as_object().expect("an object") {
        let is_listed = shown.get(name).is_some() || left_out.iter().any(|it| it == name.as_str());
        assert!(is_listed, "{name} is neither shown nor named as left out");
    }
    let said = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.starts_with("ioracle:")).skip(1);
        let of_run = ["still running", "trace", "left out", "not seen"];
        let of_both = |line: &&str| !of_run.iter().any(|label| line.trim().starts_with(label));
        lines.take_while(of_both).map(str::to_owned).collect()
    };
    assert_eq!(said(&show(&trace, &[])), said(&done.err));
}

#[test]
fn what_a_trace_shows_is_what_the_run_printed() {
    for program in ["checkpoints", "threads_at_once", "fork_shares_position", "many_files"] {
        check_same(&Program::new(c(program)).option("--no-symbols").recorded());
    }
}

#[test]
fn what_is_learned_later_is_what_is_learned_live() {
    let later = |program: Program| {
        program.option("--learn").option("later").option("--no-symbols").recorded()
    };
    check_same(&later(Program::new(c("threads_at_once"))));
}

/// A run that records ends with its program, however much is left to be read.
#[test]
fn what_is_left_in_raw_form_is_shown_and_recovered() {
    let program = Program::new("dd").arg("if=/dev/zero").arg("of=out").arg("bs=16");
    let program = program.arg("count=400000").option("--learn").option("later");
    let done = program.recorded();
    let summary = done.summary();
    assert_eq!(summary["unrecorded"]["calls"].as_array().map(Vec::len), Some(0), "{}", done.err);
    assert!(summary["left_raw"].as_u64() > Some(100_000), "{summary:#}");
    assert!(done.err.contains("in raw form"), "{}", done.err);
    let trace = done.beside().join("trace");
    let read = shown(&done);
    assert_eq!(read["application"], "dd");
    assert_eq!(read["io"]["writes"], 400_000, "{read:#}");
    let status = Command::new(IORACLE).arg("recover").arg(&trace).output();
    let status = status.expect("ioracle starts");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    assert!(!trace.join("raw").exists());
    assert_eq!(rounded(&shown(&done)), rounded(&read));
}

#[test]
fn libraries_and_variables_of_a_trace_are_those_of_the_run() {
    if let Some(program) = other("h5cc", "hdf5_steps.c", &["-shlib", "-O2"]) {
        check_same(&Program::new(program).option("--no-symbols").recorded());
    }
    if has_header("netcdf.h", "libnetcdf-dev") {
        let program = other("cc", "netcdf_habits.c", &["-O2", "-lnetcdf"]);
        check_same(&Program::new(program.expect("a C compiler")).option("--no-symbols").recorded());
    }
}

#[test]
fn ranks_of_a_trace_are_those_of_the_run() {
    if !OPEN_MPI.is_here() {
        return;
    }
    let Some(program) = OPEN_MPI.c("mpi_ranks") else { return };
    check_same(&OPEN_MPI.run(&program, 4).option("--no-symbols").recorded());
}

/// What is only in binaries is looked up when the program has ended, so that a trace
/// can be read where they are gone.
#[test]
fn a_trace_is_readable_where_the_binaries_are_gone() {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("program");
    fs::copy(c_with("checkpoints", &["-g", "-O0"]), &program).expect("a copy");
    let done = Program::new(&program).recorded();
    assert_eq!(done.status(), 0, "{}", done.err);
    fs::remove_file(&program).expect("the program is gone");
    let moved = place.path().join("moved");
    fs::rename(done.beside().join("trace"), &moved).expect("the trace is moved");

    let trace = Trace::open(&moved, ReadOptions::default()).expect("the trace can be read");
    let provenance = trace.provenance();
    let mut places = BTreeSet::new();
    for event in trace.events(None).expect("the events can be read") {
        let frames = trace.contexts().get(event.expect("an event").context).expect("a stack");
        let ours = frames.split(';').filter(|frame| frame.starts_with("program+"));
        let of_frame = ours.flat_map(|frame| provenance.source_places(frame));
        places.extend(of_frame.map(|it| (it.function.to_string(), it.source.to_string(), it.line)));
    }
    let is_main = |(function, source, line): &(String, String, u32)| {
        function == "main" && source.ends_with("checkpoints.c") && *line > 0
    };
    assert!(places.iter().any(is_main), "{places:?}");

    let [process] = provenance.processes() else { panic!("one process: {provenance:?}") };
    assert!(process.pid > 0 && process.parent_pid > 0, "{process:?}");
    assert!(process.end_ns.is_some_and(|end_ns| end_ns > process.start_ns), "{process:?}");
    assert_eq!(&*process.application, "program");
    let module = provenance.modules().iter().find(|module| &*module.name == "program");
    let module = module.expect("the program is a module");
    assert!(module.address > 0 && !module.build_id.is_empty(), "{module:?}");
    assert_eq!(&*module.path, program.to_str().expect("a plain path"));
    let sized = trace.files().iter().filter(|(file, _)| {
        let place = provenance.file_place(*file);
        let mount = place.mount.and_then(|mount| provenance.mount(mount));
        place.size_at_open.is_some() && mount.is_some_and(|mount| !mount.kind.is_empty())
    });
    assert!(sized.count() > 0, "{provenance:?}");
}
