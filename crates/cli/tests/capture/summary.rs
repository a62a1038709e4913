// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the summary says of programs that use libraries.

use std::path::Path;
use std::process::Command;

use ioracle_events::{AccessExtents, LibraryAccess};
use ioracle_trace::{ReadOptions, Trace};
use serde_json::{Value, json};

use crate::agree::{behaves_the_same, behaves_the_same_unrecorded, check};
use crate::compile::{c, has_header, other};
use crate::parallel::OPEN_MPI;
use crate::pnetcdf;
use crate::run::{Done, IORACLE, Program};
use crate::show;

/// Operations as `eval` counts them in the trace of a run, over all ranks.
fn evaluated_operations(done: &Done) -> u64 {
    let trace = done.beside().join("trace");
    let output = Command::new(IORACLE).args(["eval", "--json"]).arg(trace).output();
    let rows: Value = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    let rows = rows.as_array().expect("a row per rank").iter();
    rows.map(|row| row["operations"].as_u64().expect("a number")).sum()
}

/// The summary, the predictions and the recorded trace have as many operations.
pub fn check_operations(done: &Done, expected: u64) {
    let summary = done.summary();
    assert_eq!(summary["io"]["operations"], expected, "{}", done.err);
    assert_eq!(summary["predicted"]["operations"], expected, "{}", done.err);
    assert_eq!(evaluated_operations(done), expected);
}

#[test]
fn a_flush_that_has_nothing_to_write_is_an_event_and_no_operation() {
    let done = check(&Program::new(c("flushes")));
    // Two opens and closes, ten writes past a stream, eleven to one, ten flushes.
    check_operations(&done, 4 + 10 + 11 + 10);
}

/// 4,741 of 7,018 operations of a climate code were such flushes, and its 21 dumps
/// were 317 bursts.
#[test]
fn what_fortran_prints_is_not_also_flushed() {
    let Some(program) = other("gfortran", "prints.f90", &["-O2"]) else { return };
    let done = behaves_the_same(&Program::new(program).output_to("output"));
    let writes = done.summary()["io"]["writes"].as_u64().expect("a number");
    // How many lines the runtime library writes at once is its own matter.
    check_operations(&done, writes + 2 * 5);
}

#[test]
fn mapped_files_are_reported_as_what_is_not_seen_and_msync_counts() {
    let done = check(&Program::new(c("mapped")));
    let summary = done.summary();
    let mapped = &summary["mapped"];
    let fields = ["files", "bytes_for_reading", "bytes_for_writing"];
    assert_eq!(fields.map(|field| mapped[field].as_u64()), [Some(1), Some(4096), Some(65536)]);
    assert_eq!(mapped["largest"][0]["path"], "mapped");
    assert_eq!(summary["io"]["operations"], 4, "open, ftruncate, msync, close");
    let expected = "mapped        4.1 KB for reading and 65.5 KB for writing of 'mapped'";
    assert!(done.err.contains(expected), "{}", done.err);
}

/// Compression by netCDF was once reported as time of the file system.
#[test]
fn time_in_libraries_is_separated_from_time_in_the_file_system() {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    let Some(program) = other("cc", "netcdf_habits.c", &["-O2", "-lnetcdf"]) else { return };
    let done = behaves_the_same(&Program::new(program));
    let io = &done.summary()["io"];
    let [all, library, file_system] =
        ["io_time_s", "library_time_s", "file_system_time_s"].map(|it| io[it].as_f64().unwrap());
    assert!(0.0 < file_system && file_system < library && library <= all, "{io}");
    assert!(done.err.contains(" in library calls, "), "{}", done.err);
    assert!(done.err.contains(" in the file system"), "{}", done.err);
}

/// The row of a variable.
fn variable<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let rows = summary["busiest_variables"].as_array().expect("variables");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[test]
fn variables_are_reported_with_what_was_done_to_them_and_what_to_do() {
    let Some(program) = other("h5cc", "hdf5_habits.c", &["-shlib", "-O2"]) else { return };
    let done = behaves_the_same_unrecorded(&Program::new(program));
    let summary = done.summary();
    let hdf5 = &summary["hdf5"];
    let fields = ["writes", "bytes_written", "collective_calls"].map(|field| hdf5[field].as_u64());
    let bytes = 300 * 8000 + 200 * 8 + 12 * 8000;
    assert_eq!(fields, [Some(300 + 200 + 12), Some(bytes), Some(0)]);

    let rows = variable(&summary, "/rows");
    assert_eq!((&rows["part"], &rows["counts"]), (&json!({"slices": 1}), &json!([1, 1000])));
    assert_eq!((&rows["chunk"], &rows["path"]), (&json!([300, 10]), &json!("habits.h5")));
    let points = variable(&summary, "/points");
    assert_eq!((&points["part"], &points["writes"]), (&json!("points"), &json!(200)));
    let steps = variable(&summary, "/step_*");
    assert_eq!((&steps["variables"], &steps["bytes_written"]), (&json!(12), &json!(12 * 8000)));

    let advice = summary["advice"].as_array().expect("advice");
    let chunks = advice.iter().find(|advice| advice["kind"] == "chunk_shape");
    let sentence = chunks.expect("advice on chunks")["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("touch 100 chunks of 300×10 each, which hold 300.0 times"),
        "{sentence}"
    );
    for expected in ["HDF5 ", "busiest variables", "/rows in habits.h5", "1×1000 along dim. 1"] {
        assert!(done.err.contains(expected), "{expected}: {}", done.err);
    }
}

/// What is advised on, how severely and on which files.
fn advice(summary: &Value) -> Vec<[&Value; 3]> {
    let advice = summary["advice"].as_array().expect("advice").iter();
    advice.map(|it| [&it["kind"], &it["severity"], &it["path"]]).collect()
}

fn is_in_memory(directory: &Path) -> bool {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    rustix::fs::statfs(directory).expect("a directory").f_type == TMPFS_MAGIC
}

/// Every rule once looked at one file, and at times that differ from run to run: a
/// code that spent up to 45 % of its run in tiny writes to 21 files, and a sync of
/// each, heard nothing, or something else each time.
#[test]
fn the_same_program_gets_the_same_advice_in_every_run() {
    let program = c("dumps");
    let first = Program::new(&program).recorded();
    let summary = first.summary();
    // In memory, syncs take next to no time.
    let of_syncs = if is_in_memory(&std::env::temp_dir()) { "warning" } else { "high" };
    let expected = [
        [&json!("small_writes"), &json!("high"), &json!("dump_*.sdf")],
        [&json!("syncs"), &json!(of_syncs), &json!("dump_*.sdf")],
        [&json!("small_reads"), &json!("high"), &json!("input.dat")],
    ];
    assert_eq!(advice(&summary), expected, "{}", first.err);
    let group = &summary["file_groups"].as_array().expect("groups").iter();
    let dumps = group.clone().find(|group| group["path"] == "dump_*.sdf").expect("the dumps");
    assert_eq!((&dumps["files"], &dumps["syncs"]), (&json!(21), &json!(21)));
    // Of the trace: on a busy machine a live run may learn from a part of its events.
    let shown = show::shown(&first);
    let loops = shown["loops"].as_array().expect("loops");
    assert!(loops.iter().any(|it| it["files"] == json!(["dump_*.sdf"])), "{loops:?}");
    for _ in 1..20 {
        let again = Program::new(&program).recorded();
        assert_eq!(advice(&again.summary()), expected, "{}", again.err);
    }
}

/// The bytes that an access to a variable turned into, live and from the trace.
#[test]
fn accesses_to_variables_have_the_bytes_of_the_file() {
    const BYTES: u64 = 800_000;
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    let Some(program) = other("cc", "netcdf_extents.c", &["-O2", "-lnetcdf"]) else { return };
    let done = behaves_the_same(&Program::new(program));
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
    let (mut extents, mut accesses) = (AccessExtents::default(), Vec::new());
    for event in trace.events(None).unwrap() {
        extents.push(&event.unwrap(), |access| accesses.push(access));
    }
    extents.finish(|access| accesses.push(access));
    let of = |name: &str| -> &LibraryAccess {
        let found = accesses.iter().find(|access| access.event.function.name() == name);
        found.unwrap_or_else(|| panic!("no {name} in {accesses:?}"))
    };
    let header = of("nc_open").read.as_slice();
    assert!(header.first().is_some_and(|extent| extent.offset == 0), "{header:?}");
    let file_bytes = std::fs::metadata(done.work().join("two.nc")).unwrap().len();
    let read = &of("nc_get_var").read;
    let [extent] = read.as_slice() else { panic!("one piece: {read:?}") };
    // The library reads whole blocks, and what it had read with the header not again.
    assert!(extent.offset <= file_bytes - BYTES && extent.end() == file_bytes, "{extent:?}");
    assert!((BYTES..BYTES + 65536).contains(&extent.length) && read.is_exact(), "{extent:?}");
    assert_eq!(trace.files().get(extent.file), Some("two.nc"));

    // To write part of a block, the library reads it, as nc_enddef has filled it.
    let read_by = |name: &str| -> Vec<u64> {
        let calls = accesses.iter().filter(|access| access.event.function.name() == name);
        calls.map(|call| call.read.as_slice().iter().map(|extent| extent.length).sum()).collect()
    };
    let [first, second] = read_by("nc_put_var")[..] else { panic!("two writes: {accesses:?}") };
    assert!(first >= BYTES / 2 && second >= BYTES / 2, "{first} and {second} bytes");
    let row = |name| variable(&done.summary(), name)["bytes_from_file"].as_u64();
    assert_eq!((row("first"), row("second")), (Some(first), Some(second + extent.length)));
}

/// netCDF knows the variable and its parts, HDF5 below it the chunks.
#[test]
fn what_hdf5_tells_of_a_variable_of_netcdf_is_put_together_with_it() {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    let Some(program) = other("cc", "netcdf_habits.c", &["-O2", "-lnetcdf"]) else { return };
    let done = behaves_the_same(&Program::new(program));
    let summary = done.summary();
    let netcdf = ["writes", "bytes_written"].map(|field| summary["netcdf"][field].as_u64());
    assert_eq!(netcdf, [Some(2 * 120), Some(120 * 64 * 128 * 8 + 120 * 8)]);
    assert!(summary["hdf5"]["writes"].as_u64() >= netcdf[0], "{}", summary["hdf5"]);
    let rows = summary["busiest_variables"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    let field = variable(&summary, "temperature");
    assert_eq!((&field["part"], &field["chunk"]), (&json!({"slices": 1}), &json!([100, 8, 8])));
    assert_eq!(variable(&summary, "time")["part"], "points");
    let advice = summary["advice"].as_array().expect("advice").iter();
    let chunks = advice.clone().find(|it| it["kind"] == "chunk_shape").expect("advice on chunks");
    let sentence = chunks["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("touch 128 chunks of 100×8×8 each, which hold 100.0"), "{sentence}");
}

/// One wait for several requests, and one write of several variables, was once
/// counted as a call for each, and what was given up as written.
#[test]
fn requests_that_are_waited_for_together_are_one_call_of_their_variables() {
    let Some(program) = pnetcdf::built_in_c("pnetcdf_requests.c") else { return };
    const STEPS: u64 = 3;
    let done = behaves_the_same(&OPEN_MPI.run(&program, 2));
    let summary = done.summary();
    let pnetcdf = ["calls", "collective_calls"].map(|field| summary["pnetcdf"][field].as_u64());
    // Of each rank: three requests, one given up, one wait; made, defined, put, closed.
    assert_eq!(
        pnetcdf,
        [Some(2 * (STEPS * 5 + 4)), Some(2 * (STEPS + 4))],
        "{}",
        summary["pnetcdf"]
    );

    const BYTES: u64 = 512 * 8;
    let written = ["writes", "bytes_written"].map(|field| summary["pnetcdf"][field].as_u64());
    assert_eq!(written, [Some(2 * (STEPS * 2 + 1)), Some(2 * (STEPS * 2 + 2) * BYTES)]);
    let fields = |name| {
        let row = variable(&summary, name);
        let of = |function: &str| {
            let calls = row["calls"].as_array().expect("calls");
            calls.iter().find(|it| it["function"] == function).map(|it| it["calls"].clone())
        };
        let calls = ["ncmpi_wait_all", "ncmpi_cancel"].map(of);
        (row["writes"].as_u64(), row["bytes_written"].as_u64(), calls)
    };
    for name in ["temperature", "pressure"] {
        let writes = 2 * (STEPS + 1);
        let calls = [Some(json!(2 * STEPS)), None];
        assert_eq!(fields(name), (Some(writes), Some(writes * BYTES), calls), "{name}");
        assert!(variable(&summary, name)["io_time_s"].as_f64() > Some(0.0));
    }
    assert_eq!(fields("given_up"), (Some(0), Some(0), [None, Some(json!(2 * STEPS))]));
}
