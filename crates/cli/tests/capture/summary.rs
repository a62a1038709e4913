// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the summary says of programs that use libraries.

use serde_json::{Value, json};

use crate::agree::behaves_the_same;
use crate::compile::other;
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
