// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle show` from the outside, on traces in the CSV form and on invalid input.

mod support;

use support::{Written, checkpoints, ioracle};

#[test]
fn a_trace_is_shown_with_its_totals_and_what_is_left_out() {
    let trace = Written::new(&checkpoints(20, 1));
    let done = ioracle(["show", trace.name()]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for expected in ["120 operations on 9 files", "8.0 KB written in 80 writes", "left out"] {
        assert!(done.out.contains(expected), "{expected}: {}", done.out);
    }
    let shown = ioracle(["show", trace.name(), "--json"]).json();
    assert_eq!(shown["io"]["operations"], 120);
    assert_eq!(shown["processes"]["seen"], 1);
    assert!(shown["wall_s"].is_null() && shown["event_span_s"].as_f64() > Some(0.0));
    let left_out = shown["not_in_trace"].as_array().expect("a list");
    assert!(left_out.iter().any(|field| field == "ending"), "{left_out:?}");
}

#[test]
fn ranks_of_a_table_are_put_together() {
    let trace = Written::new(&checkpoints(20, 4));
    let shown = ioracle(["show", trace.name(), "--json"]).json();
    assert_eq!((&shown["ranks"]["ranks"], &shown["ranks"]["kinds"]), (&4.into(), &1.into()));
}

#[test]
fn what_is_no_trace_is_one_sentence() {
    ioracle(["show", "/nowhere/at/all"]).fails_saying(1, &["/nowhere/at/all"]);
    let empty = Written::new(&[]);
    ioracle(["show", empty.name()]).fails_saying(1, &["events"]);
    let bad = Written::new(&["0,0,0,posix,open,1,1,3,0,0,3,banana,1050,0,".to_owned()]);
    ioracle(["show", bad.name()]).fails_saying(1, &["events", "banana"]);
    ioracle(["show"]).code.map(|code| assert_eq!(code, 2)).expect("it ends by itself");
}

#[test]
fn bad_rows_are_skipped_where_that_is_asked_for() {
    let mut rows = checkpoints(20, 1);
    rows.push("0,0,0,posix,open,1,1,3,0,0,3,banana,1050,0,".to_owned());
    let trace = Written::new(&rows);
    let done = ioracle(["show", "--lenient", "--json", trace.name()]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("skipped 1 bad row"), "{}", done.err);
    assert_eq!(done.json()["skipped"], 1);
}
