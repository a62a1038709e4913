// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle knowledge` from the outside: learning from traces, and what is made of
//! it.

mod support;

use std::path::Path;

use support::{Written, ioracle};

const H5BENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces/h5bench-write");

/// A netCDF program as rows of a trace: so many variables of one input, then one
/// write.
fn reader(n_variables: usize) -> Vec<String> {
    let mut rows = vec!["0,0,0,hl,nc_open,1,1,5,-1,0,0,100,200,0,".to_owned()];
    for n in 0..n_variables {
        let (sequence, start) = (2 * n + 1, 1000 * (n + 1));
        rows.push(format!(
            "0,0,{sequence},hl,nc_get_vara,1,1,5,-1,800,0,{start},{},0,field_{n} start=0:0 count=10:10",
            start + 500
        ));
        rows.push(format!(
            "0,0,{},posix,pread,1,1,3,{},800,800,{},{},1,",
            sequence + 1,
            4096 * n,
            start + 10,
            start + 400
        ));
    }
    let (sequence, start) = (2 * n_variables + 1, 1000 * (n_variables + 1));
    rows.push(format!(
        "0,0,{sequence},hl,nc_put_vara,1,2,6,-1,800,0,{start},{},0,mean start=0:0 count=10:10",
        start + 500
    ));
    rows
}

fn learned(rows: &[String], name: &str, repository: &str) -> serde_json::Value {
    let trace = Written::new(rows);
    let done = ioracle([
        "knowledge",
        "learn",
        trace.name(),
        "--name",
        name,
        "--knowledge",
        repository,
        "--json",
    ]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.json()
}

#[test]
fn traces_accumulate_and_the_graph_keeps_its_shape() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("knowledge.db");
    let file = file.to_str().unwrap();
    let first = learned(&reader(3), "mean", file);
    assert_eq!(first["vertices"], 5, "a header, three variables, one output: {first}");
    for n in 2..=10 {
        let again = learned(&reader(3), "mean", file);
        assert_eq!((&again["vertices"], &again["edges"]), (&first["vertices"], &first["edges"]));
        assert_eq!(again["runs"], n);
    }
    let listed = ioracle(["knowledge", "list", "--knowledge", file, "--json"]).json();
    assert_eq!(listed["applications"][0]["application"], "mean");
    let shown = ioracle(["knowledge", "show", "mean", "--knowledge", file]);
    for expected in
        ["field_0, field_1 and field_2", "then writes mean", "what could be done", "staging"]
    {
        assert!(shown.out.contains(expected), "{expected}: {}", shown.out);
    }
    let exported = ioracle(["knowledge", "export", "mean", "--knowledge", file]).json();
    let classes: Vec<&str> = exported["edges"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["class"].as_str())
        .collect();
    assert_eq!(classes, ["R R", "R R", "R R", "R W"]);
    let other = place.path().join("other.db");
    let other = other.to_str().unwrap();
    let merged = ioracle(["knowledge", "merge", file, "--knowledge", other, "--json"]).json();
    assert_eq!(merged["applications"], 1);
    assert_eq!(ioracle(["knowledge", "forget", "mean", "--knowledge", file]).code, Some(0));
    ioracle(["knowledge", "show", "mean", "--knowledge", file]).fails_saying(1, &["mean", "list"]);
    assert_eq!(
        ioracle(["knowledge", "show", "mean", "--knowledge", other, "--json"]).json()["runs"],
        10
    );
}

#[test]
fn a_recorded_job_of_hdf5_is_learned_once_for_its_ranks() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("knowledge.db");
    let file = file.to_str().unwrap();
    let done = ioracle(["knowledge", "learn", H5BENCH, "--knowledge", file, "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let learned = done.json();
    // A hundred time steps of eight datasets are eight data objects.
    assert!(learned["vertices"].as_u64().unwrap() < 20, "{learned}");
    let name = learned["application"].as_str().unwrap();
    let picture = place.path().join("graph.svg");
    let drawn =
        ioracle(["knowledge", "graph", name, "-o", picture.to_str().unwrap(), "--knowledge", file]);
    assert_eq!(drawn.code, Some(0), "{}", drawn.err);
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("start") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn names_are_kept_from_those_who_must_not_see_them() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("knowledge.db");
    let trace = Written::new(&reader(2));
    let done = ioracle([
        "knowledge",
        "learn",
        trace.name(),
        "--name",
        "secret",
        "--anonymise",
        "--knowledge",
        file.to_str().unwrap(),
    ]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let bytes = std::fs::read(&file).unwrap();
    assert!(!bytes.windows(7).any(|window| window == b"field_0"));
}

/// Reads files in pieces of 4 KiB, one after the other.
const READER: &str = "import sys\nfor name in sys.argv[1:]:\n    file = open(name, 'rb', buffering=0)\n    while file.read(4096):\n        pass\n";

#[test]
fn live_runs_accumulate_and_know_other_inputs() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("reader.py"), READER).unwrap();
    let repository = path("knowledge.db");
    let run = |directory: &str, n_files: usize, n_pieces: usize| {
        std::fs::create_dir(path(directory)).unwrap();
        let names = (0..n_files).map(|n| path(&format!("{directory}/{n}.dat")));
        let names: Vec<String> = names.collect();
        names.iter().for_each(|name| std::fs::write(name, vec![7; 4096 * n_pieces]).unwrap());
        let mut words = vec!["run", "--quiet", "--json", "--knowledge", &repository, "--"];
        let script = path("reader.py");
        words.extend(["python3", &script]);
        words.extend(names.iter().map(String::as_str));
        let done = ioracle(words);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.json()["knowledge"].clone()
    };
    let first = run("some", 3, 5);
    assert_eq!(
        (&first["application"], &first["runs"]),
        (&"reader.py".into(), &1.into()),
        "{first}"
    );
    assert!(first["matched_percent"].is_null(), "{first}");
    // Other names in another directory, twice as many, twice as long.
    let second = run("others", 6, 10);
    assert_eq!(second["runs"], 2, "{second}");
    assert_eq!(second["vertices"], first["vertices"], "{second}");
    assert_eq!(second["matched_percent"], 100.0, "{second}");
    assert!(second["predicted_percent"].as_f64() > Some(90.0), "{second}");
}

#[test]
fn a_run_goes_on_without_a_repository_that_cannot_be_used() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("text");
    std::fs::write(&file, "no database at all, but longer than a header ".repeat(9)).unwrap();
    let file = file.to_str().unwrap();
    let done = ioracle(["run", "--json", "--knowledge", file, "--", "cat", file]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.err.matches("no knowledge repository").count(), 1, "{}", done.err);
}

#[test]
fn what_cannot_be_used_is_one_sentence() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let none = path("none.db");
    ioracle(["knowledge", "list", "--knowledge", &none])
        .fails_saying(1, &["none.db", "--knowledge"]);
    assert!(!Path::new(&none).exists());
    std::fs::write(path("text"), "no database at all, but longer than a header ".repeat(9))
        .unwrap();
    ioracle(["knowledge", "list", "--knowledge", &path("text")])
        .fails_saying(1, &["text", "no knowledge"]);
    let trace = Written::new(&reader(1));
    ioracle(["knowledge", "learn", trace.name(), "--knowledge", &path("no/such.db")])
        .fails_saying(1, &["such.db"]);
    let empty = Written::new(&["0,0,0,posix,open,1,1,3,0,0,3,100,200,0,".to_owned()]);
    ioracle(["knowledge", "learn", empty.name(), "--knowledge", &path("k.db")])
        .fails_saying(1, &["no read or write"]);
    ioracle(["knowledge", "learn", "/nowhere/at/all", "--knowledge", &path("k.db")])
        .fails_saying(1, &["/nowhere/at/all"]);
}
