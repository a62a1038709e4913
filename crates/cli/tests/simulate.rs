// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern simulate`.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use support::{Done, ioracle};

fn simulate(directory: &Path, arguments: &[&str]) -> Done {
    let directory = directory.to_str().expect("a path of text");
    ioracle([&["pattern", "simulate", "-o", directory], arguments].concat())
}

/// All files below a directory by their path.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(&place).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_server_set_is_written_as_promised() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("runs");
    let done = simulate(&directory, &["--set", "server", "--scale", "0.005", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(
        (done.json()["labels"].clone(), done.json()["runs"].clone()),
        (28.into(), 168.into())
    );
    let files = files(&directory);
    assert_eq!(files.len(), 28 * 6 * 4 + 1);
    let one = &files["shared-strided-write-32k-64+32/6/server-3.csv.zst"];
    let text = String::from_utf8(zstd::decode_all(&one[..]).unwrap()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_ns,file,op,offset,size"));
    let mut last = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!((fields.len(), fields[2], fields[4]), (5, "w", "32768"));
        let time: u64 = fields[0].parse().unwrap();
        assert!(time >= last, "times run backwards");
        last = time;
    }
    let table = String::from_utf8(files["throughput.csv"].clone()).unwrap();
    assert_eq!(table.lines().count(), 1 + 28 * 8);
    assert!(table.starts_with("label,policy,mb_per_s\nshared-contiguous-read-4m-64+64,baseline,"));
}

#[test]
fn the_io_node_set_has_files_for_every_number_of_nodes() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("runs");
    let done = simulate(&directory, &["--set", "io-node", "--scale", "0.01", "--window", "125us"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let files = files(&directory);
    assert_eq!(files.len(), 12 * 10 * 7 + 1);
    assert!(files.contains_key("file-per-process-read-256k/10/nodes4-3.csv.zst"));
    let table = String::from_utf8(files["throughput.csv"].clone()).unwrap();
    assert_eq!(table.lines().count(), 1 + 12 * 3);
    assert!(table.starts_with("label,window,mb_per_s,nodes\nshared-contiguous-read-32k,125us,"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let written = |name: &str, seed: &str| {
        let directory = place.path().join(name);
        let options = ["--set", "server", "--policy", "song", "--scale", "0.003", "--seed", seed];
        assert_eq!(simulate(&directory, &options).code, Some(0));
        files(&directory)
    };
    let first = written("a", "7");
    assert!(first == written("b", "7"));
    assert!(first != written("c", "8"));
}

#[test]
fn wrong_use_is_reported_in_one_sentence() {
    let place = tempfile::tempdir().unwrap();
    let check = |options: &[&str], parts: &[&str]| {
        simulate(&place.path().join("new"), options).fails_saying(2, parts);
    };
    check(&["--set", "server", "--window", "1ms"], &["--window", "io-node"]);
    check(&["--set", "io-node", "--policy", "sjf"], &["--policy", "--window"]);
    for (options, part) in [
        (["--set", "client", "--seed", "1"], "server or io-node"),
        (["--set", "server", "--policy", "best"], "to-agg"),
        (["--set", "io-node", "--window", "1"], "125us"),
        (["--set", "server", "--scale", "0"], "above 0"),
    ] {
        let done = simulate(&place.path().join("new"), &options);
        assert_eq!(done.code, Some(2), "{}", done.err);
        assert!(done.err.contains(part), "{}", done.err);
    }
    fs::write(place.path().join("there"), "").unwrap();
    simulate(place.path(), &["--set", "server"]).fails_saying(1, &["not empty", "-o"]);
    simulate(&place.path().join("there"), &["--set", "server"]).fails_saying(1, &["there"]);
}
