// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle eval` from the outside.

mod support;

use serde_json::Value;
use support::{Written, checkpoints, ioracle};

/// The contract of the JSON document: every field with its type.
const NUMBERS: [&str; 24] = [
    "rank",
    "operations",
    "symbols",
    "context_accuracy",
    "context_accuracy_stationary",
    "context_top1",
    "context_brier",
    "calibration_error",
    "horizon_share",
    "grammar_size",
    "sequitur_grammar_size",
    "one_size_symbols",
    "size_error_mean",
    "size_exact",
    "offset_accuracy",
    "contiguous_accuracy",
    "file_accuracy",
    "hit_ratio",
    "hit_ratio_stationary",
    "time_error_s",
    "immediate_error_s",
    "observe_ns_mean",
    "observe_ns_p99",
    "model_bytes",
];

fn number(object: &Value, field: &str) -> f64 {
    object[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {object}"))
}

#[test]
fn json_has_every_field_of_the_contract() {
    let trace = Written::new(&checkpoints(40, 1));
    let done = ioracle(["eval", trace.name(), "--rank", "0", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.err, "");
    let document = done.json();
    let objects = document.as_array().expect("an array");
    assert_eq!(objects.len(), 1);
    for field in NUMBERS {
        number(&objects[0], field);
    }
    let name = trace.path().file_name().and_then(|name| name.to_str());
    assert_eq!(objects[0]["trace"].as_str(), name);
    assert!(objects[0].get("baselines").is_none());
    // Seeks are no operations: 40 checkpoints of six.
    assert_eq!(objects[0]["operations"], 240);
    assert_eq!(objects[0]["symbols"], 3);
}

#[test]
fn baselines_have_the_fields_that_apply() {
    let trace = Written::new(&checkpoints(40, 1));
    let done = ioracle(["eval", trace.name(), "--baselines", "--json"]);
    let document = done.json();
    let baselines = &document[0]["baselines"];
    for field in ["offset_accuracy", "hit_ratio", "hit_ratio_stationary", "file_accuracy"] {
        number(&baselines["contiguous"], field);
        number(&baselines["sequitur_equal"], field);
    }
    for name in ["markov1", "markov2", "markov4", "markov8", "longest16", "sequitur_equal"] {
        for field in ["context_accuracy", "context_accuracy_stationary", "context_top1"] {
            number(&baselines[name], field);
        }
    }
    number(&baselines["immediate"], "time_error_s");
    number(&baselines["last_time"], "time_error_s");
    assert!(baselines["immediate"].get("hit_ratio").is_none());
    assert_eq!(baselines.as_object().map(|object| object.len()), Some(9));
}

#[test]
fn a_loop_is_learned_and_its_numbers_show_it() {
    let trace = Written::new(&checkpoints(60, 1));
    let document = ioracle(["eval", trace.name(), "--json"]).json();
    let object = &document[0];
    assert!(number(object, "context_accuracy_stationary") > 95.0, "{object}");
    assert!(number(object, "hit_ratio_stationary") > 95.0, "{object}");
    // Every access is contiguous, from its open on.
    assert_eq!(number(object, "contiguous_accuracy"), 100.0);
    // Every call follows the last one after 100 ns, those after a seek later.
    assert!(number(object, "immediate_error_s") > 100e-9);
}

#[test]
fn each_rank_is_an_object_unless_one_is_asked_for() {
    let trace = Written::new(&checkpoints(5, 3));
    let all = ioracle(["eval", trace.name(), "--json"]).json();
    let ranks: Vec<&Value> = all.as_array().unwrap().iter().map(|object| &object["rank"]).collect();
    assert_eq!(ranks, [0, 1, 2]);
    let one = ioracle(["eval", trace.name(), "--json", "--rank", "2"]).json();
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0]["rank"], 2);
}

#[test]
fn several_traces_keep_their_order() {
    let traces: Vec<Written> =
        [30, 3, 20, 2].map(|checkpoints_| Written::new(&checkpoints(checkpoints_, 1))).into();
    let mut arguments = vec!["eval", "--json"];
    arguments.extend(traces.iter().map(Written::name));
    let document = ioracle(arguments).json();
    let operations: Vec<&Value> =
        document.as_array().unwrap().iter().map(|object| &object["operations"]).collect();
    assert_eq!(operations, [180, 18, 120, 12]);
}

#[test]
fn a_file_beside_the_traces_is_left_out() {
    let trace = Written::new(&checkpoints(5, 1));
    let readme = trace.file("README.md");
    std::fs::write(&readme, "about the traces").unwrap();
    let readme = readme.to_str().unwrap();
    let done = ioracle(["eval", readme, trace.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.json().as_array().unwrap().len(), 1);
    assert!(done.err.contains("README.md") && done.err.lines().count() == 1, "{}", done.err);
    ioracle(["eval", readme]).fails_saying(1, &["README.md", "not a directory"]);
}

#[test]
fn people_get_a_table_without_colours() {
    let trace = Written::new(&checkpoints(20, 2));
    let one = ioracle(["eval", trace.name(), "--rank", "0", "--baselines"]);
    assert_eq!(one.code, Some(0));
    assert!(
        one.out.contains("context symbol, %") && one.out.contains("best baseline"),
        "{}",
        one.out
    );
    let both = ioracle(["eval", trace.name()]);
    assert!(both.out.lines().count() > 3);
    assert!(!both.out.contains('\x1b') && !one.out.contains('\x1b'));
}

#[test]
fn plots_are_written_as_svg_and_png() {
    let trace = Written::new(&checkpoints(20, 1));
    let figures = trace.file("figures");
    let done = ioracle(["eval".as_ref(), trace.path(), "--plots".as_ref(), &figures]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let message = format!("wrote 7 figures as SVG and PNG to '{}'", figures.display());
    assert!(done.err.contains(&message), "{}", done.err);
    let (mut n_svg, mut n_png) = (0, 0);
    for entry in std::fs::read_dir(figures).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        if bytes.starts_with(b"\x89PNG") {
            n_png += 1;
        } else {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
            n_svg += 1;
        }
    }
    assert_eq!((n_svg, n_png), (7, 7));
}

#[test]
fn the_evaluation_document_names_figures_that_exist() {
    let trace = Written::new(&checkpoints(20, 1));
    let docs = trace.file("docs");
    let arguments = ["eval".as_ref(), trace.path(), "--baselines".as_ref()];
    let done = ioracle(arguments.into_iter().chain(["--document".as_ref(), docs.as_path()]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let text = std::fs::read_to_string(docs.join("evaluation.md")).unwrap();
    for table in ["Table 6", "Table 7", "Table 8", "Table 9", "Table 10", "What must be reached"] {
        assert!(text.contains(&format!("## {table}")), "{table} is missing");
    }
    let figures: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("!["))
        .filter_map(|line| line.split(['(', ')']).nth(1))
        .collect();
    assert_eq!(figures.len(), 7);
    assert!(figures.iter().all(|figure| docs.join(figure).is_file()), "{figures:?}");
}

#[test]
fn a_rank_without_data_accesses_has_null_where_nothing_was_measured() {
    let rows = [
        "0,0,0,posix,open,1,1,3,0,0,3,1000,1050,0,RDWR".to_owned(),
        "0,0,1,posix,close,2,1,3,0,0,0,1100,1150,0,".to_owned(),
    ];
    let trace = Written::new(&rows);
    let document = ioracle(["eval", trace.name(), "--json"]).json();
    assert_eq!(document[0]["operations"], 2);
    assert!(document[0]["hit_ratio"].is_null());
    assert!(document[0]["context_accuracy"].is_number());
    assert_eq!(ioracle(["eval", trace.name()]).code, Some(0));
}

#[test]
fn a_missing_trace_is_reported_in_one_sentence() {
    ioracle(["eval", "no/such/trace"]).fails_saying(1, &["no/such/trace", "name a directory"]);
}

#[test]
fn a_bad_row_is_reported_with_file_and_line() {
    let mut rows = checkpoints(3, 1);
    rows[4] = "0,0,4,posix,write".to_owned();
    let trace = Written::new(&rows);
    ioracle(["eval", trace.name()]).fails_saying(1, &["events.csv.zst:6:"]);
}

#[test]
fn lenient_skips_bad_rows_and_says_how_many() {
    let mut rows = checkpoints(3, 1);
    rows[4] = "0,0,4,posix,write".to_owned();
    rows[6] = rows[6].replace("posix", "fantasy");
    let trace = Written::new(&rows);
    let done = ioracle(["eval", trace.name(), "--lenient", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("skipped 2 bad rows") && done.err.contains(":6:"), "{}", done.err);
    assert_eq!(done.json()[0]["operations"], 16);
}

#[test]
fn a_trace_without_events_or_operations_is_refused() {
    ioracle(["eval", Written::new(&[]).name()]).fails_saying(1, &["events.csv"]);
    let seek = "0,0,0,posix,lseek,1,1,3,0,0,0,1000,1050,0,SET".to_owned();
    ioracle(["eval", Written::new(&[seek]).name()]).fails_saying(1, &["no operations"]);
}

#[test]
fn a_missing_rank_is_reported() {
    let trace = Written::new(&checkpoints(3, 2));
    ioracle(["eval", trace.name(), "--rank", "7"]).fails_saying(1, &["rank 7", "0 to 1"]);
}

#[test]
fn wrong_use_ends_with_code_2() {
    assert_eq!(ioracle(["eval"]).code, Some(2));
    assert_eq!(ioracle(["eval", "trace", "--rank", "first"]).code, Some(2));
    assert_eq!(ioracle(["divine"]).code, Some(2));
    assert_eq!(ioracle(["eval", "trace", "--jobs", "0"]).code, Some(2));
}

#[test]
fn every_subcommand_has_help_with_an_example() {
    let commands: [&[&str]; 6] = [
        &["eval"],
        &["predict"],
        &["model"],
        &["model", "save"],
        &["model", "show"],
        &["model", "merge"],
    ];
    for command in commands {
        let done = ioracle(command.iter().chain(&["--help"]));
        assert_eq!(done.code, Some(0));
        assert!(done.out.contains("Example"), "{command:?}: {}", done.out);
    }
}
