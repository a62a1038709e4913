// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern` from the outside.

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use support::ioracle;
use tempfile::TempDir;

/// Requests of five seconds: so many streams, each with a file of its own.
fn table(n_streams: u64, size: u64, op: char, seed: u64) -> String {
    let mut table = String::from("time_ns,file,op,offset,size\n");
    for index in 0..2500_u64 {
        let (stream, step) = (index % n_streams, index / n_streams);
        let time_ns = index * 2_000_000 + (index * 7919 + seed * 104_729) % 1_500_000;
        let (file, offset) = (stream + 100 * seed, step * size);
        writeln!(table, "{time_ns},{file},{op},{offset},{size}").unwrap();
    }
    table
}

fn write(directory: &Path, label: &str, repetition: u64, table: &str) {
    let directory = directory.join(label).join(repetition.to_string());
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("server0.csv"), table).unwrap();
    let packed = zstd::encode_all(table.as_bytes(), 1).unwrap();
    fs::write(directory.join("server1.csv.zst"), packed).unwrap();
    fs::write(directory.join("notes.txt"), "not a table").unwrap();
}

/// Three benchmarks that read and one that writes.
fn labelled() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for repetition in 0..4 {
        let add = |label, n_streams, size, op| {
            write(directory.path(), label, repetition, &table(n_streams, size, op, repetition));
        };
        add("one-reader", 1, 1 << 20, 'r');
        add("ten-readers", 10, 4096, 'r');
        add("fifty-readers", 50, 65536, 'r');
        add("writers", 10, 4096, 'w');
    }
    fs::write(directory.path().join("throughput.csv"), "label,policy,mb_s\n").unwrap();
    directory
}

#[test]
fn evaluation_has_a_row_per_algorithm_and_kind_with_every_field_of_the_contract() {
    let runs = labelled();
    let done =
        ioracle(["pattern", "evaluate", runs.path().to_str().unwrap(), "--orders", "2", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let document = done.json();
    let rows = document.as_array().expect("an array");
    for algorithm in ["paper", "counts", "features", "ours"] {
        for kind in ["read", "write"] {
            let of_row =
                |row: &&serde_json::Value| row["algorithm"] == algorithm && row["kind"] == kind;
            let row = rows.iter().find(of_row).expect("a row");
            for field in ["precision", "recall", "known", "matches", "tick_ms", "bytes"] {
                assert!(row[field].is_number(), "{field} in {row}");
            }
        }
    }
    let writes = rows.iter().find(|row| row["algorithm"] == "counts" && row["kind"] == "write");
    assert_eq!(writes.unwrap()["precision"], 100.0, "there is only one label");
}

#[test]
fn the_first_slice_of_each_run_may_be_left_out() {
    let runs = labelled();
    let n_patterns = |flags: &[&str]| {
        let mut arguments = vec!["pattern", "evaluate", runs.path().to_str().unwrap(), "--json"];
        arguments.extend(["--orders", "1"].iter().chain(flags));
        let done = ioracle(arguments);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.json()[0]["patterns"].as_f64().unwrap()
    };
    // Three labels that read, four runs each, one slice less of each.
    assert_eq!(n_patterns(&[]) - n_patterns(&["--without-starts"]), 12.0);
}

#[test]
fn labels_may_be_given_apart_and_renaming_them_changes_nothing() {
    let runs = labelled();
    let path = runs.path().to_str().unwrap();
    let evaluate = || {
        let done = ioracle(["pattern", "evaluate", path, "--orders", "2", "--json"]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let rows = done.json().as_array().unwrap().clone();
        let figures = |row: &serde_json::Value| (row["precision"].clone(), row["recall"].clone());
        rows.iter().map(figures).collect::<Vec<_>>()
    };
    let plain = evaluate();
    let labels = "directory,label\none-reader,z\nten-readers,y,1\nfifty-readers,x\n";
    fs::write(runs.path().join("labels.csv"), labels).unwrap();
    assert_eq!(evaluate(), plain);
    let all_the_same = "directory,label\none-reader,a\nten-readers,a\nfifty-readers,a\n";
    fs::write(runs.path().join("labels.csv"), all_the_same).unwrap();
    assert!(evaluate().iter().all(|(precision, _)| *precision == 100.0));
}

#[test]
fn rows_of_a_run_need_not_be_sorted() {
    let runs = labelled();
    let evaluate = || {
        let done = ioracle([
            "pattern",
            "evaluate",
            runs.path().to_str().unwrap(),
            "--json",
            "--orders",
            "2",
        ]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let rows = done.json();
        let figures = |row: &serde_json::Value| (row["precision"].clone(), row["patterns"].clone());
        rows.as_array().unwrap().iter().map(figures).collect::<Vec<_>>()
    };
    let sorted = evaluate();
    let path = runs.path().join("one-reader/0/server0.csv");
    let table = fs::read_to_string(&path).unwrap();
    let (header, rows) = table.split_once('\n').unwrap();
    let last_first: Vec<&str> = rows.lines().rev().collect();
    fs::write(&path, format!("{header}\n{}\n", last_first.join("\n"))).unwrap();
    assert_eq!(evaluate(), sorted);
}

#[test]
fn what_is_wrong_is_reported_with_file_and_line() {
    let runs = labelled();
    let path = runs.path().to_str().unwrap();
    let evaluate = || ioracle(["pattern", "evaluate", path, "--json"]);
    let bad = runs.path().join("one-reader/0/server0.csv");
    fs::write(&bad, "time_ns,file,op,offset,size\n1,1,r,0,1\n1,1,r,zero,1\n").unwrap();
    evaluate().fails_saying(1, &["one-reader/0/server0.csv', line 3", "offset is 'zero'"]);
    fs::write(&bad, "time,file\n").unwrap();
    evaluate().fails_saying(1, &["server0.csv', line 1", "time_ns,file,op,offset,size"]);
    fs::write(runs.path().join("labels.csv"), "directory,label\nno comma\n").unwrap();
    evaluate().fails_saying(1, &["labels.csv', line 2"]);
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    ioracle(["pattern", "evaluate", empty]).fails_saying(1, &["no labelled runs", empty]);
    ioracle(["pattern", "evaluate", "/nowhere"]).fails_saying(1, &["could not list '/nowhere'"]);
}

#[test]
fn what_was_learned_is_matched() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let known = at("known.db");
    for (name, n_streams, op) in [("a.csv", 1, 'r'), ("b.csv", 40, 'w')] {
        fs::write(at(name), table(n_streams, 65536, op, 1)).unwrap();
    }
    let done =
        ioracle(["pattern", "learn", &at("a.csv"), &at("b.csv"), "--known", &known, "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.json()["slices"], 10);
    fs::write(at("c.csv"), table(40, 65536, 'w', 2)).unwrap();
    let done = ioracle(["pattern", "match", &at("c.csv"), "--known", &known, "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let slices = done.json();
    let slices = slices.as_array().unwrap();
    assert_eq!(slices.len(), 5);
    let n_known = slices.iter().filter(|slice| slice["known"] == true).count();
    assert!(n_known >= 4, "{slices:?}");
    assert!(slices.iter().all(|slice| slice["kind"] == "write" && slice["server"] == "c"));
    let done = ioracle(["pattern", "match", &at("c.csv"), "--known", &known]);
    assert!(done.out.starts_with("server") && done.out.contains("known"), "{}", done.out);
}

#[test]
fn a_missing_or_damaged_file_of_known_patterns_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("a.csv"), table(1, 4096, 'r', 1)).unwrap();
    let matched = || ioracle(["pattern", "match", &at("a.csv"), "--known", &at("known.db")]);
    matched().fails_saying(1, &["there is no file", "ioracle pattern learn"]);
    fs::write(
        at("known.db"),
        "not a database, but as long as the header of one has to be".repeat(4),
    )
    .unwrap();
    matched().fails_saying(1, &["known.db' holds no known patterns"]);
    let learn = ioracle(["pattern", "learn", &at("a.csv"), "--known", &at("known.db")]);
    learn.fails_saying(1, &["known.db' holds no known patterns", "name another file"]);
}
