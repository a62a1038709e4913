// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the summary says of programs that use libraries.

use serde_json::{Value, json};

use crate::agree::behaves_the_same;
use crate::compile::{has_header, other};
use crate::parallel::OPEN_MPI;
use crate::pnetcdf;
use crate::run::Program;

/// The row of a variable.
fn variable<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let rows = summary["busiest_variables"].as_array().expect("variables");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[test]
fn variables_are_told_with_what_was_done_to_them_and_what_to_do() {
    let Some(program) = other("h5cc", "hdf5_habits.c", &["-shlib", "-O2"]) else { return };
    let done = behaves_the_same(&Program::new(program));
    let summary = done.summary();
    let hdf5 = &summary["hdf5"];
    let told = ["writes", "bytes_written", "collective_calls"].map(|field| hdf5[field].as_u64());
    let bytes = 300 * 8000 + 200 * 8 + 12 * 8000;
    assert_eq!(told, [Some(300 + 200 + 12), Some(bytes), Some(0)]);

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
    assert!(sentence.contains("each to 100 chunks of 300×10 that hold 300.0 times"), "{sentence}");
    for expected in ["HDF5 ", "busiest variables", "/rows in habits.h5", "1×1000 along dim. 1"] {
        assert!(done.err.contains(expected), "{expected}: {}", done.err);
    }
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
    let advice = summary["advice"][0]["sentence"].as_str().expect("advice");
    assert!(advice.contains("each to 128 chunks of 100×8×8 that hold 100.0 times"), "{advice}");
}

/// One wait for several requests, and one write of several variables, was once
/// told as a call for each, and what was given up as written.
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
    let told = |name| {
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
        assert_eq!(told(name), (Some(writes), Some(writes * BYTES), calls), "{name}");
        assert!(variable(&summary, name)["io_time_s"].as_f64() > Some(0.0));
    }
    assert_eq!(told("given_up"), (Some(0), Some(0), [None, Some(json!(2 * STEPS))]));
}
