// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle predict` and `ioracle model` from the outside.

mod support;

use std::fs;

use support::{Written, checkpoints, ioracle};

#[test]
fn predictions_stand_beside_what_came() {
    let trace = Written::new(&checkpoints(40, 1));
    let done = ioracle(["predict", trace.name(), "--after", "180", "-n", "5", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let document = done.json();
    assert_eq!(document["after"], 180);
    let ahead = document["ahead"].as_array().unwrap();
    let observed = document["observed"].as_array().unwrap();
    assert_eq!((ahead.len(), observed.len()), (5, 5));
    for (predicted, came) in ahead.iter().zip(observed) {
        assert_eq!(predicted["operation"], came["operation"]);
        assert_eq!(predicted["size"], came["size"]);
        assert!(predicted["probability"].as_f64().unwrap() > 0.5);
    }
}

#[test]
fn after_the_whole_trace_nothing_is_observed() {
    let trace = Written::new(&checkpoints(40, 1));
    let document = ioracle(["predict", trace.name(), "--after", "all", "--json"]).json();
    assert_eq!(document["after"], 240);
    assert_eq!(document["observed"].as_array().unwrap().len(), 0);
    assert_eq!(document["ahead"].as_array().unwrap().len(), 10);
    assert_eq!(document["ahead"][0]["operation"], "open");
}

#[test]
fn without_a_position_half_of_the_trace_is_predicted_beside_what_came() {
    let trace = Written::new(&checkpoints(40, 1));
    let document = ioracle(["predict", trace.name(), "--json"]).json();
    assert_eq!(document["after"], 120);
    let operations = |steps: &serde_json::Value| -> Vec<serde_json::Value> {
        steps.as_array().unwrap().iter().map(|step| step["operation"].clone()).collect()
    };
    assert_eq!(operations(&document["ahead"]).len(), 10);
    assert_eq!(operations(&document["ahead"]), operations(&document["observed"]));
    let text = ioracle(["predict", trace.name()]).out;
    assert!(text.contains("after 120 operations, half of them all; choose"), "{text}");
    let text = ioracle(["predict", trace.name(), "--after", "120"]).out;
    assert!(text.contains("after 120 operations\n") && text.contains("observed"), "{text}");
    let wrong = ioracle(["predict", trace.name(), "--after", "some"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("give a number of operations, or 'all'"), "{}", wrong.err);
}

/// Of HDF5: eight datasets a time step, each step in a group of its own name.
const H5BENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces/h5bench-write");

#[test]
fn variables_are_predicted_also_those_that_were_never_seen() {
    let arguments = ["predict", H5BENCH, "--variables", "--after", "1000", "-n", "20", "--json"];
    let document = ioracle(arguments).json();
    let ahead = document["ahead"].as_array().unwrap();
    assert_eq!(ahead[0]["variable"], "/Timestep_125/x");
    assert_eq!(ahead[0]["file"], "test.h5");
    for (predicted, came) in ahead.iter().zip(document["observed"].as_array().unwrap()) {
        for field in ["operation", "file", "variable", "offset", "size"] {
            assert_eq!(predicted[field], came[field], "{field} of {predicted}");
        }
    }
}

/// What is only supposed from the names before once had probability 1.
#[test]
fn variables_are_shown_with_their_part_and_how_certain_they_are() {
    let arguments = ["predict", H5BENCH, "--variables", "--after", "40", "-n", "40"];
    let done = ioracle(arguments);
    for expected in ["the whole", "part: elements counted", "% of the variables"] {
        assert!(done.out.contains(expected), "{expected}: {}", done.out);
    }
    assert!(!done.out.contains(" 1.000"), "{}", done.out);
    let document = ioracle([&arguments[..], &["--json"]].concat()).json();
    let ahead = document["ahead"].as_array().unwrap();
    let certain = |step: usize| ahead[step]["probability"].as_f64().unwrap();
    assert!(certain(0) < 1.0 && certain(39) < certain(0), "{ahead:?}");
    assert!(document["predicted"]["file_accuracy"].as_f64().unwrap() > 30.0, "{document}");
}

/// The graph of an earlier run is the third source: it knows the next variable from the
/// start, and where its bytes lie.
#[test]
fn the_knowledge_of_earlier_runs_stands_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("runs.db");
    let knowledge = ["--knowledge", file.to_str().unwrap()];
    ioracle([&["predict", H5BENCH][..], &knowledge].concat()).fails_saying(1, &["runs.db"]);
    let learned = ioracle([&["knowledge", "learn", H5BENCH][..], &knowledge].concat());
    assert_eq!(learned.code, Some(0), "{}", learned.err);
    let predict = [&["predict", H5BENCH, "-n", "4"][..], &knowledge].concat();
    let document = ioracle([&predict[..], &["--after", "1000", "--variables", "--json"]].concat());
    let document = document.json();
    let (graph, observed) = (&document["graph"], document["observed"].as_array().unwrap());
    assert_eq!(graph["runs"], 1);
    assert!(graph["predicted_percent"].as_f64().unwrap() > 90.0, "{graph}");
    let ahead = graph["ahead"].as_array().unwrap();
    assert_eq!(ahead.len(), 4);
    for (expected, came) in ahead.iter().zip(observed) {
        assert_eq!(expected["access"], came["access"], "{graph}");
        assert!(expected["probability"].as_f64().unwrap() > 0.9, "{graph}");
        let name =
            |of: &serde_json::Value| of.as_str().unwrap().rsplit('/').next().map(str::to_owned);
        assert_eq!(name(&expected["variable"]), name(&came["variable"]), "{graph}");
    }
    let text = ioracle(predict.clone()).out;
    assert!(text.contains("What the knowledge graph of") && text.contains("1 run;"), "{text}");
    let document = ioracle([&predict[..], &["--from-start", "--json"]].concat()).json();
    assert_eq!(document["graph"]["visits"], 0);
    assert_eq!(document["graph"]["ahead"].as_array().unwrap().len(), 4, "{document}");
    ioracle([&predict[..], &["--name", "nobody"]].concat()).fails_saying(1, &["nobody"]);
}

#[test]
fn a_trace_without_variables_is_reported() {
    let trace = Written::new(&checkpoints(3, 1));
    ioracle(["predict", trace.name(), "--variables"])
        .fails_saying(1, &["no accesses to variables"]);
    let mut rows = checkpoints(3, 2);
    let write = "0,0,100,hl,H5Dwrite,1,1,3,-1,64,0,9000000,9000100,0,/x start=0 count=8";
    rows.insert(rows.len() / 2, write.to_owned());
    let trace = Written::new(&rows);
    ioracle(["predict", trace.name(), "--variables", "--rank", "1"])
        .fails_saying(1, &["rank 1 of the trace", "ask for a rank that does: 0"]);
    assert_eq!(ioracle(["predict", trace.name(), "--variables", "--rank", "0"]).code, Some(0));
}

#[test]
fn a_directory_of_traces_names_them() {
    let trace = Written::new(&checkpoints(3, 1));
    let place = std::path::Path::new(trace.name());
    for rank in [10, 9, 8, 7] {
        let directory = place.join(format!("job/rank-{rank}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("events.csv"), "").unwrap();
    }
    let job = trace.file("job");
    ioracle(["predict", job.to_str().unwrap()])
        .fails_saying(1, &["'rank-7', 'rank-8', 'rank-9' and 1 more", "name one of them"]);
}

#[test]
fn people_get_a_table() {
    let trace = Written::new(&checkpoints(40, 1));
    let done = ioracle(["predict", trace.name(), "--after", "100"]);
    assert!(
        done.out.contains("after 100 operations") && done.out.contains("observed"),
        "{}",
        done.out
    );
}

#[test]
fn what_was_never_seen_is_explained_where_it_is_expected() {
    let trace = Written::new(&checkpoints(40, 1));
    let done = ioracle(["predict", trace.name(), "--after", "1"]);
    assert!(done.out.contains("after 1 operation\n"), "{}", done.out);
    assert!(done.out.contains("new: ") && done.out.contains("new: any operation"), "{}", done.out);
    let done = ioracle(["predict", trace.name(), "--after", "100"]);
    assert!(!done.out.contains("new: any operation"), "{}", done.out);
    let done = ioracle(["predict", trace.name(), "--from-start"]);
    assert!(done.out.contains("at the start of a new run, after 240 operations"), "{}", done.out);
}

#[test]
fn a_position_beyond_the_trace_is_reported() {
    let trace = Written::new(&checkpoints(3, 1));
    ioracle(["predict", trace.name(), "--after", "1000"])
        .fails_saying(1, &["18 operations", "1000"]);
}

#[test]
fn a_saved_model_predicts_what_the_trace_would() {
    let trace = Written::new(&checkpoints(40, 1));
    let model = trace.file("app.model");
    let model = model.to_str().unwrap();
    let saved = ioracle(["model", "save", trace.name(), "-o", model, "--json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    assert_eq!(saved.json()["operations"], 240);
    assert_eq!(saved.json()["bytes"].as_u64(), Some(fs::metadata(model).unwrap().len()));
    let of_trace = ioracle(["predict", trace.name(), "--after", "all", "--json"]).json();
    let of_model = ioracle(["predict", model, "--json"]).json();
    assert_eq!(of_trace["ahead"], of_model["ahead"]);
}

#[test]
fn a_model_is_shown_and_merged() {
    let trace = Written::new(&checkpoints(40, 1));
    let (one, both) = (trace.file("one.model"), trace.file("both.model"));
    let (one, both) = (one.to_str().unwrap(), both.to_str().unwrap());
    ioracle(["model", "save", trace.name(), "-o", one]);
    let shown = ioracle(["model", "show", one]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("240 operations") && shown.out.contains("S ->"), "{}", shown.out);
    let document = ioracle(["model", "show", one, "--json"]).json();
    assert_eq!(document["symbols"].as_array().unwrap().len(), 3);
    assert!(!document["loops"].as_array().unwrap().is_empty());
    let merged = ioracle(["model", "merge", one, one, "-o", both]);
    assert_eq!(merged.code, Some(0), "{}", merged.err);
    assert_eq!(ioracle(["predict", both]).code, Some(0));
}

#[test]
fn a_model_tells_how_a_new_run_begins() {
    let trace = Written::new(&checkpoints(40, 1));
    let model = trace.file("app.model");
    let name = model.to_str().unwrap();
    ioracle(["model", "save", trace.name(), "-o", name]);
    let operations = |arguments: &[&str]| {
        let document = ioracle([&["predict", "--json", "-n", "6"], arguments].concat()).json();
        let ahead = document["ahead"].as_array().unwrap().clone();
        ahead.iter().map(|step| step["operation"].to_string()).collect::<Vec<_>>().join(" ")
    };
    let begin = r#""open" "write" "write" "write" "write" "close""#;
    for source in [name, trace.name()] {
        assert_eq!(operations(&[source, "--from-start"]), begin);
    }
    ioracle(["model", "save", trace.name(), "--after", "12", "-o", name]);
    assert_eq!(operations(&[name, "--from-start"]), begin);
}

/// A trace of several ranks and threads was once a model of its busiest thread.
#[test]
fn all_ranks_of_a_trace_come_into_a_model() {
    let trace = Written::new(&checkpoints(40, 3));
    let model = trace.file("app.model");
    let name = model.to_str().unwrap();
    let saved = ioracle(["model", "save", trace.name(), "-o", name, "--json"]).json();
    assert_eq!((&saved["roles"], &saved["operations"]), (&3.into(), &720.into()));
    let shown = ioracle(["model", "show", name, "--json"]).json();
    let oracles = shown["roles"].as_array().unwrap().iter().map(|role| &role["oracle"]);
    assert!(oracles.eq([0, 0, 0].map(|number| serde_json::json!(number)).iter()), "{shown}");
    let table = ioracle(["model", "show", name]);
    assert!(table.out.contains("720 operations in 3 roles"), "{}", table.out);
    ioracle(["model", "show", name, "--oracle", "1"]).fails_saying(1, &["no oracle 1", "0 to 0"]);
    ioracle(["predict", trace.name(), "--oracle", "1"]).fails_saying(2, &["--oracle"]);
    let one = ioracle(["model", "save", trace.name(), "-o", name, "--rank", "1", "--json"]).json();
    assert_eq!((&one["roles"], &one["operations"]), (&1.into(), &240.into()));
}

#[test]
fn what_is_no_model_is_refused() {
    let trace = Written::new(&checkpoints(40, 1));
    let foreign = trace.file("foreign.model");
    fs::write(&foreign, "something else entirely").unwrap();
    let name = foreign.to_str().unwrap();
    ioracle(["model", "show", name]).fails_saying(1, &["foreign.model", "not a model"]);
    ioracle(["predict", name]).fails_saying(1, &["foreign.model", "not a model"]);
    ioracle(["model", "show", "no/such.model"]).fails_saying(1, &["no/such.model"]);
}

#[test]
fn a_damaged_or_cut_model_is_refused() {
    let trace = Written::new(&checkpoints(40, 1));
    let model = trace.file("app.model");
    let name = model.to_str().unwrap();
    ioracle(["model", "save", trace.name(), "-o", name]);
    let good = fs::read(&model).unwrap();
    let mut damaged = good.clone();
    damaged[good.len() / 2] ^= 0x40;
    fs::write(&model, damaged).unwrap();
    ioracle(["model", "show", name]).fails_saying(1, &["app.model", "damaged"]);
    fs::write(&model, &good[..good.len() - 10]).unwrap();
    ioracle(["model", "show", name]).fails_saying(1, &["app.model", "cut off"]);
}

#[test]
fn a_model_that_cannot_be_written_leaves_nothing_behind() {
    let trace = Written::new(&checkpoints(4, 1));
    let target = trace.file("missing/app.model");
    let done = ioracle(["model", "save", trace.name(), "-o", target.to_str().unwrap()]);
    done.fails_saying(1, &["could not write", "missing/app.model"]);
    assert!(!trace.file("missing").exists());
}

#[test]
fn options_of_traces_are_wrong_use_with_a_model() {
    let trace = Written::new(&checkpoints(4, 1));
    let model = trace.file("app.model");
    let name = model.to_str().unwrap();
    ioracle(["model", "save", trace.name(), "-o", name]);
    ioracle(["predict", name, "--after", "3"]).fails_saying(2, &["is a saved model"]);
    assert_eq!(ioracle(["predict", name, "-n", "0"]).code, Some(2));
}

/// A model was once saved over a device node, and beside the target of a link.
#[test]
fn a_model_replaces_regular_files_only_and_follows_links() {
    let trace = Written::new(&checkpoints(10, 1));
    ioracle(["model", "save", trace.name(), "-o", "/dev/null"])
        .fails_saying(1, &["/dev/null", "not a regular file"]);
    let (target, link) = (trace.file("target.model"), trace.file("link.model"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let saved = ioracle(["model", "save", trace.name(), "-o", link.to_str().unwrap()]);
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read(&target).unwrap().starts_with(b"ioracle"));
}

#[test]
fn what_cannot_be_a_model_is_not_even_opened() {
    ioracle(["model", "show", "/dev/zero"]).fails_saying(1, &["/dev/zero", "not a regular file"]);
    ioracle(["model", "save", "no/trace", "-o", "no/such/place.model"])
        .fails_saying(1, &["no/trace"]);
}

#[test]
fn a_missing_directory_is_reported_by_its_own_name() {
    let trace = Written::new(&checkpoints(10, 1));
    let place = trace.file("missing/a.model");
    ioracle(["model", "save", trace.name(), "-o", place.to_str().unwrap()])
        .fails_saying(1, &["a.model", "there is no directory"]);
}
