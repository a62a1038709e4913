// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engine keeps the score of its own predictions; on a recorded trace it
//! must come to the numbers of the evaluation.

use std::path::Path;

use ioracle_engine::{Config, Engine};
use ioracle_lab::{EvaluateOptions, Survey, evaluate};
use ioracle_trace::Trace;

fn check(name: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces").join(name);
    let trace = Trace::open(&directory, ioracle_trace::ReadOptions::default()).unwrap();
    let survey = Survey::of(&trace, Some(0)).unwrap();
    let report = evaluate(&trace, &survey, &EvaluateOptions::default(), |_| {}).unwrap().remove(0);
    let evaluation = report.evaluation;

    let mut engine = Engine::new(Config::default());
    trace.contexts().iter().for_each(|(id, frames)| engine.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| engine.define_file(id, path));
    for event in trace.events(Some(0)).unwrap() {
        engine.observe(&event.unwrap());
    }
    engine.finish();

    let score = engine.score();
    assert_eq!(score.operations, evaluation.operations);
    let pairs = [
        ("context accuracy", score.context_accuracy(), evaluation.context_accuracy),
        ("hit ratio", score.hit_ratio(), evaluation.hit_ratio),
        ("offset accuracy", score.offset_accuracy(), evaluation.offset_accuracy),
        ("size exact", score.size_exact_share(), evaluation.size_exact),
        ("file accuracy", score.file_accuracy(), evaluation.file_accuracy),
        ("time error", score.time_error_s(), evaluation.time_error_s),
    ];
    for (what, by_engine, by_lab) in pairs {
        let by_lab = by_lab.unwrap();
        assert!((by_engine - by_lab).abs() < 1e-6, "{name}: {what} is {by_engine} or {by_lab}");
    }
}

#[test]
fn the_engine_scores_a_posix_trace_like_the_lab() {
    check("cm1-grads");
}

#[test]
fn the_engine_scores_a_trace_of_nested_layers_like_the_lab() {
    check("h5bench-write");
}
