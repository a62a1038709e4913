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
    let drawn = |to: &str| {
        let picture = place.path().join(to);
        let words = ["knowledge", "graph", name, "-o", picture.to_str().unwrap()];
        let done = ioracle(words.iter().chain(&["--knowledge", file]));
        (done, std::fs::read(&picture).unwrap_or_default())
    };
    let (done, svg) = drawn("graph.svg");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let svg = String::from_utf8(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("start") && svg.trim_end().ends_with("</svg>"));
    // The name of the file says what it is to be.
    let (done, png) = drawn("graph.PNG");
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(png.starts_with(b"\x89PNG"));
    let (done, nothing) = drawn("graph.pdf");
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("drawn as SVG or PNG") && nothing.is_empty(), "{}", done.err);
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
    // One that version managers put before it reads files of its own.
    let system = "/usr/bin/python3";
    let python = if Path::new(system).exists() { system } else { "python3" };
    let repository = path("knowledge.db");
    let run = |directory: &str, n_files: usize, n_pieces: usize| {
        std::fs::create_dir(path(directory)).unwrap();
        let names = (0..n_files).map(|n| path(&format!("{directory}/{n}.dat")));
        let names: Vec<String> = names.collect();
        names.iter().for_each(|name| std::fs::write(name, vec![7; 4096 * n_pieces]).unwrap());
        let mut words = vec!["run", "--quiet", "--json", "--knowledge", &repository, "--"];
        let script = path("reader.py");
        words.extend([python, &script]);
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
    assert!(second["predicted_percent"].as_f64() > Some(70.0), "{second}");
}

/// A repository that knows a run of `cat`.
fn known(place: &Path) -> String {
    let file = place.join("knowledge.db").to_str().unwrap().to_owned();
    std::fs::write(place.join("data"), vec![7; 10_000]).unwrap();
    assert_eq!(run_with(&file, place)["runs"], 1);
    merged(&file);
    file
}

/// Waits for the process that a run leaves behind to merge it: whoever looks at the
/// repository first does the same, and afterwards nobody has it open.
fn merged(file: &str) {
    let listed = ioracle(["knowledge", "list", "--knowledge", file]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let log = format!("{file}-wal");
    for _ in 0..500 {
        if !Path::new(&log).exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("'{log}' is still there");
}

/// What a run of `cat` says about knowledge in its summary. However the repository
/// fares, the program does its work, and there is at most one message.
fn run_with(repository: &str, place: &Path) -> serde_json::Value {
    let (data, summary) = (place.join("data"), place.join("summary.json"));
    let mut command = support::command();
    command.args(["run", "--knowledge", repository, "--summary"]).arg(&summary);
    let done = support::done(command.arg("--").arg("cat").arg(data).output().unwrap());
    assert_eq!((done.code, done.out.len()), (Some(0), 10_000), "{}", done.err);
    let summary = std::fs::read_to_string(summary).unwrap();
    let knowledge = serde_json::from_str::<serde_json::Value>(&summary).unwrap();
    let knowledge = knowledge["knowledge"].clone();
    if let Some(why) = why_not(&knowledge) {
        let said = done.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.matches(why).count(), 1, "{said}");
    }
    knowledge
}

fn refused(repository: &str, place: &Path) -> String {
    let knowledge = run_with(repository, place);
    why_not(&knowledge).unwrap_or_else(|| panic!("{knowledge}")).to_owned()
}

/// Why the repository was not used, or not updated.
fn why_not(knowledge: &serde_json::Value) -> Option<&str> {
    knowledge["refused"].as_str().or(knowledge["not_updated"].as_str())
}

#[test]
fn a_run_goes_on_without_a_repository_that_cannot_be_used() {
    let place = tempfile::tempdir().unwrap();
    let good = known(place.path());
    let bytes = std::fs::read(&good).unwrap();
    let bad = place.path().join("bad.db").to_str().unwrap().to_owned();
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&[0, 0, 0, 99]);
        bytes
    };
    // The version of the tables is at byte 60, the first table in the second page.
    let text = "no database at all, but longer than a header ".repeat(9).into_bytes();
    let mut damaged = bytes.clone();
    damaged[4096..].iter_mut().for_each(|byte| *byte ^= 0x55);
    for (content, expected) in [
        (text, "is no knowledge repository"),
        (b"short".to_vec(), "is no knowledge repository"),
        (changed(60), "newer ioracle"),
        (damaged, "damaged"),
        (bytes[..bytes.len() / 2].to_vec(), "damaged"),
    ] {
        std::fs::write(&bad, &content).unwrap();
        let why = refused(&bad, place.path());
        assert!(why.contains(expected), "{why}");
        assert_eq!(std::fs::read(&bad).unwrap(), content, "{why}: it is left as it was");
    }
    let directory = place.path().to_str().unwrap();
    assert!(refused(directory, place.path()).contains("is no knowledge repository"));
    let nowhere = place.path().join("missing/knowledge.db");
    assert!(refused(nowhere.to_str().unwrap(), place.path()).contains("could not use"));
}

#[test]
fn a_run_goes_on_where_the_repository_cannot_be_written() {
    let Some(disk) = ioracle_testing::SmallDisk::mount("256k") else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("data"), vec![7; 10_000]).unwrap();
    let file = disk.path().join("knowledge.db").to_str().unwrap().to_owned();
    assert_eq!(run_with(&file, place.path())["runs"], 1);
    merged(&file);
    // What is left of the disk.
    let _ = std::fs::write(disk.path().join("all"), vec![1; 1 << 20]);
    let why = refused(&file, place.path());
    assert!(why.contains("could not use"), "{why}");
    std::fs::remove_file(disk.path().join("all")).unwrap();
    assert_eq!(run_with(&file, place.path())["runs"], 2, "what was there is as it was");
    merged(&file);
    let options = ["-o", "remount,ro"];
    let mounted = std::process::Command::new("mount").args(options).arg(disk.path()).status();
    assert!(mounted.unwrap().success());
    let knowledge = run_with(&file, place.path());
    assert!(knowledge["refused"].is_null(), "it can be read: {knowledge}");
    assert!(knowledge["not_updated"].is_string(), "{knowledge}");
    assert_eq!(knowledge["matched_percent"], 100.0, "{knowledge}");
    let data = place.path().join("data");
    let run = ["run", "--knowledge", &file, "--", "cat", data.to_str().unwrap()];
    let said = ioracle(run).err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("was used but not updated"), "{said}");
    let new = disk.path().join("new.db").to_str().unwrap().to_owned();
    let why = refused(&new, place.path());
    assert!(why.contains(&format!("'{new}': its directory may not be written to")), "{why}");
}

#[test]
fn a_run_that_finds_the_repository_locked_leaves_its_part_for_later() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let place = tempfile::tempdir().unwrap();
    let file = known(place.path());
    let script = "import sqlite3, sys\nit = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  it.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\nsys.stdin.read()\n";
    let mut holder = std::process::Command::new("python3")
        .args(["-c", script, &file])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let is_locked = line == "locked\n";
    let knowledge = is_locked.then(|| run_with(&file, place.path()));
    // The end of its input ends it.
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let Some(knowledge) = knowledge else {
        ioracle_testing::skip("Python's sqlite3 is missing");
        return;
    };
    assert!(knowledge["refused"].is_null(), "{knowledge}");
    let listed = ioracle(["knowledge", "list", "--json", "--knowledge", &file]).json();
    assert_eq!(listed["applications"][0]["runs"], 2, "{listed}");
}

#[test]
fn files_may_have_any_name() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("knowledge.db");
    let long = "x".repeat(255);
    let names: [&[u8]; 6] = [
        b"it's \"quoted\"; DROP TABLE x",
        b"two\nlines",
        b"\xff\xfe",
        long.as_bytes(),
        b"%41",
        b"#1",
    ];
    let paths = names.map(|name| place.path().join(std::ffi::OsStr::from_bytes(name)));
    paths.iter().for_each(|path| std::fs::write(path, vec![3; 5000]).unwrap());
    for n in 1..=2 {
        let mut command = support::command();
        command.args(["run", "--quiet", "--json", "--knowledge"]).arg(&file);
        command.args(["--name", "a 'name'\n\"with\" everything", "--", "cat"]).args(&paths);
        // The document follows what the program prints.
        let output = command.output().unwrap();
        assert!(output.status.success());
        let printed = String::from_utf8_lossy(&output.stdout[names.len() * 5000..]).into_owned();
        let knowledge = &serde_json::from_str::<serde_json::Value>(&printed).unwrap()["knowledge"];
        assert_eq!((&knowledge["runs"], &knowledge["refused"]), (&n.into(), &().into()));
    }
}

/// Paths of the command's own that are not text are escaped in JSON, as others are.
#[test]
fn paths_that_are_no_text_are_escaped_in_json() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    let path = |name: &[u8]| place.path().join(std::ffi::OsStr::from_bytes(name));
    std::fs::write(path(b"data"), vec![b'x'; 5000]).unwrap();
    let ends = |value: &serde_json::Value, end: &str| {
        assert!(value.as_str().is_some_and(|text| text.ends_with(end)), "{value}");
    };
    let mut command = support::command();
    command.args(["run", "--quiet", "--record"]).arg(path(b"trace\xff"));
    command.arg("--model").arg(path(b"model\xff")).arg("--knowledge").arg(path(b"known\xff.db"));
    command.arg("--summary").arg(path(b"summary.json")).args(["--", "cat"]).arg(path(b"data"));
    let done = support::done(command.output().unwrap());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let summary = std::fs::read_to_string(path(b"summary.json")).unwrap();
    let summary = serde_json::from_str::<serde_json::Value>(&summary).unwrap();
    ends(&summary["trace"], "/trace%FF");
    ends(&summary["model"]["file"], "/model%FF");
    ends(&summary["knowledge"]["file"], "/known%FF.db");
    let mut command = support::command();
    command.args(["knowledge", "list", "--json", "--knowledge"]).arg(path(b"known\xff.db"));
    let listed = support::done(command.output().unwrap()).json();
    ends(&listed["knowledge"], "/known%FF.db");
    assert_eq!(listed["applications"][0]["application"], "cat");
}

/// What the program was given as standard streams is no data of its own; what it opens
/// itself is, whatever the descriptor.
#[test]
fn standard_streams_are_no_data_objects() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    std::fs::write(path("data"), vec![b'x'; 5000]).unwrap();
    let n_objects = |program: &[&str]| {
        let (file, log) = (path("knowledge.db"), path("slurm-123.out"));
        let _ = std::fs::remove_file(&file);
        let log = std::fs::File::create(log).unwrap();
        let mut command = support::command();
        command.args(["run", "--quiet", "--name", "job", "--knowledge"]).arg(&file);
        command.arg("--").args(program).current_dir(place.path());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        assert!(command.status().unwrap().success());
        let export = ["knowledge", "export", "job", "--knowledge", file.to_str().unwrap()];
        ioracle(export).json()["vertices"].as_array().unwrap().len()
    };
    assert_eq!(n_objects(&["head", "-c", "5000", "data"]), 1);
    assert_eq!(n_objects(&["dd", "if=data", "of=copy", "status=none"]), 2);
}

/// A repository under another name is still itself.
#[test]
fn a_repository_is_not_merged_into_itself() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let file = path("knowledge.db");
    learned(&reader(1), "mean", &file);
    std::fs::hard_link(&file, path("hard.db")).unwrap();
    std::os::unix::fs::symlink(&file, path("soft.db")).unwrap();
    for same in [&file, &path("hard.db"), &path("soft.db")] {
        ioracle(["knowledge", "merge", same, "--knowledge", &file])
            .fails_saying(1, &["same knowledge repository"]);
    }
    let listed = ioracle(["knowledge", "list", "--knowledge", &file, "--json"]).json();
    assert_eq!(listed["applications"][0]["runs"], 1);
}

#[test]
fn the_environment_names_the_repository_as_it_does_for_runs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("knowledge.db");
    learned(&reader(1), "mean", file.to_str().unwrap());
    let listed = |value: &std::ffi::OsStr| {
        let mut command = support::command();
        command.args(["knowledge", "list", "--json"]).env("XDG_DATA_HOME", place.path());
        support::done(command.env("IORACLE_KNOWLEDGE", value).output().unwrap())
    };
    assert_eq!(listed(file.as_os_str()).json()["applications"][0]["application"], "mean");
    // Whether runs use it or not, it can be looked at.
    for value in ["1", "off", ""] {
        listed(value.as_ref()).fails_saying(1, &["ioracle/knowledge.db", "no such file"]);
    }
}

/// Two applications of one name share a graph: what either does is known to both.
#[test]
fn two_applications_of_one_name_share_what_they_know() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let file = path("knowledge.db");
    std::fs::write(path("data"), vec![7; 100_000]).unwrap();
    let run = |command: &[&str]| {
        let mut words = vec!["run", "--quiet", "--name", "both", "--summary"];
        let summary = path("summary.json");
        words.extend([&*summary, "--knowledge", &file, "--"]);
        words.extend(command);
        assert_eq!(ioracle(words).code, Some(0));
        let text = std::fs::read_to_string(&summary).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["knowledge"].clone()
    };
    run(&["cat", &path("data")]);
    let other = run(&["wc", "-c", "-l", &path("data")]);
    assert_eq!((&other["runs"], &other["matched_percent"]), (&2.into(), &100.0.into()), "{other}");
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
