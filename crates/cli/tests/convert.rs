// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle import` and `ioracle export`.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::ioracle;
use tempfile::tempdir;

const CM1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces/cm1-grads");

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn table(directory: &Path, name: &str) -> Vec<u8> {
    zstd::decode_all(fs::read(directory.join(name)).unwrap().as_slice()).unwrap()
}

#[test]
fn tables_become_a_trace_and_tables_again() {
    let directory = tempdir().unwrap();
    let [trace, tables] = ["trace", "tables"].map(|name| directory.path().join(name));
    let done = ioracle(["import", "csv", CM1, "-o", text(&trace)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        done.out.contains("6,887 events of 2 ranks, 99 call stacks and 45 files"),
        "{}",
        done.out
    );
    let done = ioracle(["export", text(&trace), "--to", "csv", "-o", text(&tables), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!((&done.json()["events"], &done.json()["ranks"]), (&6887.into(), &2.into()));
    for name in ["events.csv.zst", "stacks.csv.zst", "files.csv.zst"] {
        assert!(table(Path::new(CM1), name) == table(&tables, name), "{name}");
    }
    let evaluated = |trace: &str| {
        let mut report = ioracle(["eval", trace, "--rank", "0", "--json"]).json()[0].take();
        // What depends on the machine, and the name.
        for field in ["trace", "observe_ns_mean", "observe_ns_p99"] {
            report[field].take();
        }
        report
    };
    assert_eq!(evaluated(text(&trace)), evaluated(CM1));
}

#[test]
fn one_rank_is_exported_plain() {
    let directory = tempdir().unwrap();
    let tables = directory.path().join("tables");
    let arguments = ["export", CM1, "--to", "csv", "--rank", "1", "--plain", "-o", text(&tables)];
    let done = ioracle(arguments);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let events = fs::read_to_string(tables.join("events.csv")).unwrap();
    assert_eq!(events.lines().count(), 1 + 3);
    assert!(events.lines().skip(1).all(|row| row.starts_with("1,")), "{events}");
}

#[test]
fn what_cannot_be_done_is_reported_and_leaves_nothing() {
    let directory = tempdir().unwrap();
    let output = directory.path().join("out");
    ioracle(["import", "csv", CM1, "-o", CM1]).fails_saying(1, &["already holds a trace"]);
    let misused: [(&[&str], &str); 3] = [
        (&["import", "elephant", CM1, "-o", text(&output)], "elephant"),
        (&["export", CM1, "--to", "elephant"], "elephant"),
        (&["import", "csv", CM1, "-o", text(&output), "--times", "1h"], "exact, 1us and 1%"),
    ];
    for (arguments, part) in misused {
        let done = ioracle(arguments);
        assert_eq!(done.code, Some(2), "{}", done.err);
        assert!(done.err.contains(part), "{}", done.err);
    }
    ioracle(["export", text(&output), "--to", "csv"]).fails_saying(1, &[text(&output)]);
    ioracle(["export", CM1, "--to", "csv", "--rank", "9", "-o", text(&output)])
        .fails_saying(1, &["rank 9"]);
    let nested = output.join("deeper");
    let spoiled = spoiled_tables(directory.path());
    ioracle(["import", "csv", text(&spoiled), "-o", text(&nested)])
        .fails_saying(1, &["events.csv:3", "elephant"]);
    assert!(!output.exists());
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    ioracle(["import", "csv", CM1, "-o", text(&file)])
        .fails_saying(1, &["is not a directory", "name another one"]);
    let trace = directory.path().join("trace");
    ioracle(["import", "csv", CM1, "-o", text(&trace)]);
    ioracle(["import", "csv", text(&trace), "-o", text(&output)])
        .fails_saying(1, &["in ioracle's own form already"]);
    ioracle(["recover", text(&trace)]).fails_saying(1, &["complete trace", "nothing to recover"]);
    assert!(!output.exists());
}

/// Tables whose third line of events is invalid.
fn spoiled_tables(directory: &Path) -> PathBuf {
    let tables = directory.join("spoiled");
    let done = ioracle(["export", CM1, "--to", "csv", "--plain", "-o", text(&tables)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let events = tables.join("events.csv");
    let mut rows: Vec<String> =
        fs::read_to_string(&events).unwrap().lines().map(str::to_owned).collect();
    rows[2] = rows[2].replacen(",posix,", ",elephant,", 1).replacen(",stdio,", ",elephant,", 1);
    fs::write(&events, rows.join("\n")).unwrap();
    tables
}

#[test]
fn a_skipped_row_is_reported() {
    let directory = tempdir().unwrap();
    let (spoiled, trace) = (spoiled_tables(directory.path()), directory.path().join("trace"));
    let done = ioracle(["import", "csv", text(&spoiled), "-o", text(&trace), "--lenient"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let parts = ["skipped 1 row that could not be read, the first: ", "events.csv:3: ", "elephant"];
    assert!(parts.iter().all(|part| done.err.contains(part)), "{}", done.err);
    assert!(!done.err.contains("--lenient"), "{}", done.err);
}

#[test]
fn a_spoiled_trace_is_reported_with_its_place_and_read_leniently() {
    let directory = tempdir().unwrap();
    let trace = directory.path().join("trace");
    ioracle(["import", "csv", CM1, "-o", text(&trace)]);
    let file = trace.join("events.ioracle");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&file, bytes).unwrap();
    ioracle(["eval", text(&trace)]).fails_saying(1, &["events.ioracle", "at byte", "--lenient"]);
    let output = directory.path().join("tables");
    let arguments = ["export", text(&trace), "--to", "csv", "-o", text(&output), "--lenient"];
    let done = ioracle(arguments);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        done.err.contains("skipped 6,884 rows that could not be read, the first: "),
        "{}",
        done.err
    );
}
