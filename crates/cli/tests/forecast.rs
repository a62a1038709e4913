// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle forecast` from the outside, on traces and systems that are written here.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{Written, checkpoints, ioracle};
use tempfile::TempDir;

/// Descriptions of two systems, the second three times slower.
struct Systems {
    directory: TempDir,
}

impl Systems {
    fn new() -> Systems {
        let systems = Systems { directory: tempfile::tempdir().expect("a directory") };
        systems.put("here.json", &system("here", 1.0).to_string());
        systems.put("there.json", &system("there", 3.0).to_string());
        systems
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).expect("a file");
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("a name").to_owned()
    }

    fn forecast(&self, trace: &str, more: &[&str]) -> support::Done {
        let (here, there) = (self.path("here.json"), self.path("there.json"));
        let arguments = ["forecast", trace, "--reference", &here, "--target", &there];
        ioracle(arguments.iter().chain(more))
    }
}

fn system(name: &str, slow: f64) -> Value {
    let point = |kind: &str, size: u64| {
        let mean = slow * 1e-6;
        json!({
            "class": {
                "api": "posix", "kind": kind, "size": size, "pattern": {"order": "sequential"},
                "shared": false, "concurrency": 1, "synchronous": true, "direct": false,
                "durable": false, "cached": false
            },
            "transfer_bytes": size, "repetitions": 5, "calls": 100, "bytes": 100 * size,
            "mean_s": mean, "rsd": 0.01,
            "percentiles_s": {"p5": mean, "p25": mean, "p50": mean, "p75": mean, "p95": mean,
                "p99": mean},
            "interval_s": [0.99 * mean, 1.01 * mean], "confidence": 0.9
        })
    };
    let points: Vec<Value> = ["read", "write", "open", "create", "close", "sync"]
        .iter()
        .map(|kind| point(kind, if matches!(*kind, "open" | "create") { 0 } else { 128 }))
        .collect();
    json!({
        "format": "ioracle-system", "version": 1, "name": name, "measured_by": "a test",
        "measured_at_unix_s": 0, "description": {}, "points": points
    })
}

#[test]
fn a_forecast_has_the_promised_fields() {
    let (trace, systems) = (Written::new(&checkpoints(20, 1)), Systems::new());
    let forecast = systems.forecast(trace.name(), &["--json"]).json();
    for field in ["total_s", "read_s", "write_s", "reference_s"] {
        assert!(forecast[field].is_number(), "{field}: {forecast}");
    }
    let total = forecast["total_s"].as_f64().expect("a number");
    let interval: Vec<f64> = (forecast["interval_s"].as_array().expect("low and high").iter())
        .filter_map(Value::as_f64)
        .collect();
    assert!(interval[0] <= total && total <= interval[1], "{interval:?} {total}");
    assert!(total > forecast["reference_s"].as_f64().expect("a number"));
    let classes = forecast["classes"].as_array().expect("classes");
    assert!(classes.iter().any(|row| row["class"]["kind"] == "write"), "{classes:?}");
    assert!(forecast.get("actual_s").is_none());
    let shown = systems.forecast(trace.name(), &[]);
    assert!(shown.out.contains("I/O on there:"), "{}", shown.out);
}

#[test]
fn a_real_run_is_compared_with_a_signed_error() {
    let (trace, systems) = (Written::new(&checkpoints(20, 1)), Systems::new());
    let same = systems.path("here.json");
    let arguments = ["forecast", trace.name(), "--reference", &same, "--target", &same];
    let more = ["--actual", trace.name(), "--json"];
    let forecast = ioracle(arguments.iter().chain(&more)).json();
    assert!(forecast["error_percent"].as_f64().expect("a number").abs() < 1.0, "{forecast}");
    assert_eq!(forecast["interval_contains_actual"], true);
    assert!(forecast["actual_s"].as_f64() > Some(0.0));
    let shown = systems.forecast(trace.name(), &["--actual", trace.name()]);
    for expected in ["against a real run", "RSD of the benchmark on the target", "positive"] {
        assert!(shown.out.contains(expected), "{expected}: {}", shown.out);
    }
    let longer = systems.forecast(trace.name(), &["--actual", trace.name(), "--json"]).json();
    assert!(longer["error_percent"].as_f64() > Some(0.0), "{longer}");
}

#[test]
fn a_profile_names_classes_times_and_places() {
    let trace = Written::new(&checkpoints(20, 1));
    let shown = ioracle(["forecast", trace.name(), "--profile"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for expected in ["POSIX write", "mostly from", "app+0x"] {
        assert!(shown.out.contains(expected), "{expected}: {}", shown.out);
    }
    let profile = ioracle(["forecast", trace.name(), "--profile", "--json"]).json();
    let classes: f64 = (profile["classes"].as_array().expect("classes").iter())
        .filter_map(|row| row["time_s"].as_f64())
        .sum();
    let other: f64 =
        profile["other_s"].as_object().expect("others").values().filter_map(Value::as_f64).sum();
    let total = profile["total_s"].as_f64().expect("a number");
    assert!((classes + other - total).abs() < 1e-9, "{classes} + {other} = {total}");
}

#[test]
fn parts_of_the_model_can_be_left_out() {
    let (trace, systems) = (Written::new(&checkpoints(20, 1)), Systems::new());
    let all = systems.forecast(trace.name(), &["--json"]).json();
    let less = systems.forecast(trace.name(), &["--json", "--without", "shrinking,caching"]).json();
    assert_ne!(all["total_s"], less["total_s"]);
    assert_eq!(systems.forecast(trace.name(), &["--without", "magic"]).code, Some(2));
}

#[test]
fn bad_systems_are_one_sentence() {
    let (trace, systems) = (Written::new(&checkpoints(20, 1)), Systems::new());
    let here = systems.path("here.json");
    let forecast = |target: &str| {
        ioracle(["forecast", trace.name(), "--reference", &here, "--target", target])
    };
    forecast("/nowhere.json").fails_saying(1, &["/nowhere.json"]);
    let mut other = system("old", 1.0);
    other["version"] = 9.into();
    systems.put("old.json", &other.to_string());
    forecast(&systems.path("old.json")).fails_saying(1, &["version 9", "measure the system again"]);
    systems.put("no.json", "[]");
    forecast(&systems.path("no.json")).fails_saying(1, &["no description of a storage system"]);
    systems.put("cut.json", &system("cut", 1.0).to_string()[..400]);
    forecast(&systems.path("cut.json")).fails_saying(1, &["cut.json", "EOF"]);
    let mut bad = system("bad", 1.0);
    bad["points"][1]["mean_s"] = (-1.0).into();
    systems.put("bad.json", &bad.to_string());
    forecast(&systems.path("bad.json")).fails_saying(1, &["point 2 (POSIX write, 128 B"]);
    // Kinds that were not measured are warned of.
    let mut few = system("few", 3.0);
    few["points"].as_array_mut().expect("points").retain(|it| it["class"]["kind"] == "read");
    systems.put("few.json", &few.to_string());
    let warned = forecast(&systems.path("few.json"));
    assert_eq!(warned.code, Some(0), "{}", warned.err);
    assert!(warned.out.contains("warning: no measurement on both systems"), "{}", warned.out);
}

/// Two systems that replayed the program: the second one needs a hundred times as long for
/// the calls in their place, whatever they take alone.
#[test]
fn replayed_calls_count_more_than_measured_ones() {
    let (trace, systems) = (Written::new(&checkpoints(20, 1)), Systems::new());
    let alone = systems.forecast(trace.name(), &["--json"]).json();
    for (name, slow) in [("here", 1.0), ("there", 3.0)] {
        let mut replayed = system(name, slow);
        let points = replayed["points"].as_array_mut().expect("points");
        let mut more = points.clone();
        for point in &mut more {
            let mean = if name == "here" { 5e-8 } else { 5e-6 };
            (point["replayed"], point["mean_s"]) = (true.into(), mean.into());
            point["interval_s"] = json!([0.9 * mean, 1.1 * mean]);
        }
        points.extend(more);
        systems.put(&format!("{name}.json"), &replayed.to_string());
    }
    let total = |more: &[&str]| {
        systems.forecast(trace.name(), more).json()["total_s"].as_f64().expect("a number")
    };
    let (with, without) = (total(&["--json"]), total(&["--json", "--without", "replays"]));
    assert_eq!(Some(without), alone["total_s"].as_f64());
    assert!(with > 2.0 * without, "{with} {without}");
}

#[test]
fn classes_without_bytes_and_systems_without_spread_have_finite_intervals() {
    let systems = Systems::new();
    for name in ["here", "there"] {
        let mut exact = system(name, if name == "here" { 1.0 } else { 3.0 });
        for point in exact["points"].as_array_mut().expect("points") {
            point["rsd"] = 0.into();
            point["interval_s"] = json!([point["mean_s"], point["mean_s"]]);
        }
        systems.put(&format!("{name}.json"), &exact.to_string());
    }
    let trace = Written::new(&[
        "0,0,0,posix,open,1,1,3,-1,0,3,0,1000,0,RDWR|CREAT|TRUNC".to_owned(),
        "0,0,1,posix,write,1,1,3,0,0,0,2000,3000,0,".to_owned(),
        "0,0,2,posix,write,1,1,3,0,100,100,4000,5000,0,".to_owned(),
        "0,0,3,posix,read,1,1,3,100,100,0,6000,6500,0,".to_owned(),
        "0,0,4,posix,fsync,1,1,3,-1,0,0,7000,7000,0,".to_owned(),
    ]);
    let json = systems.forecast(trace.name(), &["--json"]).json();
    let numbers = |field: &str| json[field].as_array().expect("two").clone();
    let (low, high) = (numbers("interval_s")[0].as_f64(), numbers("interval_s")[1].as_f64());
    let total = json["total_s"].as_f64();
    assert!(low > Some(0.0) && low < total && total < high, "{json}");
    // What writes nothing keeps its time, and what took none takes none; reads at the end
    // of a file are as the smallest.
    for row in json["classes"].as_array().expect("classes") {
        let (is_empty, kind) = (row["class"]["size"] == 0, row["class"]["kind"].as_str());
        if is_empty && kind == Some("read") {
            let ratio = row["ratio"].as_f64().expect("a number");
            assert!((ratio - 3.0).abs() < 1e-6, "{row}");
        } else if is_empty && kind != Some("create") {
            assert_eq!(row["reference_s"], row["target_s"], "{row}");
        }
    }
}

#[test]
fn wrong_use_and_empty_traces_are_one_sentence() {
    let (trace, systems) = (Written::new(&checkpoints(20, 1)), Systems::new());
    assert_eq!(ioracle(["forecast", trace.name()]).code, Some(2));
    let seeks = Written::new(&["0,0,0,posix,lseek,1,1,3,0,0,9,0,1000,0,SET".to_owned()]);
    systems.forecast(seeks.name(), &[]).fails_saying(1, &["has no calls on"]);
    systems.forecast(trace.name(), &["--profile"]).fails_saying(2, &["--profile shows a trace"]);
    ioracle(["forecast", "/nowhere/at/all", "--profile"]).fails_saying(1, &["/nowhere/at/all"]);
}
