// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle report` from the outside: what it writes, what it refuses, and the
//! page in a browser.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Written, checkpoints, ioracle};

/// Writes the report of a trace and gives its path.
fn reported(trace: &Written) -> PathBuf {
    let page = trace.file("report.html");
    let done = ioracle(["report", trace.name(), "-o", page.to_str().expect("text")]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("open it in a browser"), "{}", done.out);
    page
}

/// The values in a page.
fn values(page: &Path) -> serde_json::Value {
    let text = fs::read_to_string(page).expect("the page is text");
    let start = text.find("id=\"values\">").expect("it has values") + "id=\"values\">".len();
    let end = start + text[start..].find("</script>").expect("they end");
    serde_json::from_str(&text[start..end]).expect("they are JSON")
}

fn sum(series: &serde_json::Value) -> u64 {
    series.as_array().expect("a series").iter().filter_map(|it| it.as_u64()).sum()
}

#[test]
fn a_page_holds_what_the_trace_does() {
    let trace = Written::new(&checkpoints(20, 2));
    let page = reported(&trace);
    let values = values(&page);
    assert_eq!(values["summary"]["io"]["operations"], 240);
    assert_eq!(sum(&values["timeline"]["written"]), 16_000);
    assert_eq!(sum(&values["timeline"]["writes"]), 160);
    assert_eq!(sum(&values["timeline"]["others"]), 80);
    assert_eq!(values["timeline"]["rows"].as_array().expect("rows").len(), 2);
    assert_eq!(values["verdict"].as_array().expect("sentences").len(), 3);
    let json = ioracle(["report", trace.name(), "--json"]).json();
    assert_eq!(json["summary"], values["summary"]);
    let shown = ioracle(["show", trace.name(), "--json"]).json();
    assert_eq!(json["summary"]["advice"], shown["advice"], "one source of advice");
}

#[test]
fn the_loops_of_the_program_are_in_the_page() {
    let trace = Written::new(&checkpoints(40, 1));
    let values = values(&reported(&trace));
    let nodes = values["loops"][0]["tree"]["nodes"].as_array().expect("nodes");
    let outer = nodes.iter().find(|node| node["call"].is_null()).expect("a loop");
    assert_eq!(outer["turns_min"], 40, "{outer}");
    let calls: Vec<&str> = outer["body"]
        .as_array()
        .expect("a body")
        .iter()
        .filter_map(|node| node["call"].as_str())
        .collect();
    assert_eq!(calls, ["open", "write", "close"]);
    assert_eq!(outer["bytes"], 400.0);
    let picture = values["loops"][0]["svg"].as_str().expect("a picture");
    assert!(picture.contains(">×40<"), "{picture}");
}

#[test]
fn what_cannot_be_reported_is_one_sentence() {
    ioracle(["report", "/nowhere/at/all"]).fails_saying(1, &["/nowhere/at/all"]);
    let empty = Written::new(&[]);
    ioracle(["report", empty.name()]).fails_saying(1, &["events"]);
    let trace = Written::new(&checkpoints(2, 1));
    let place = "/nowhere/at/all/report.html";
    ioracle(["report", trace.name(), "-o", place]).fails_saying(1, &[place]);
    ioracle(["report", trace.name(), "-o", "/proc/report.html"]).fails_saying(1, &["/proc"]);
    ioracle(["report", trace.name(), "-o", "/dev/full"]).fails_saying(1, &["/dev/full"]);
    assert_eq!(ioracle(["report"]).code, Some(2));
}

#[test]
fn a_dash_is_standard_output() {
    let trace = Written::new(&checkpoints(2, 1));
    let done = ioracle(["report", trace.name(), "-o", "-"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.starts_with("<!") && done.out.trim_end().ends_with("</html>"));
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn one_operation_is_enough() {
    let row = "0,0,0,posix,read,1,1,3,0,10,10,0,0,0,".to_owned();
    let values = values(&reported(&Written::new(&[row])));
    assert_eq!(values["summary"]["io"]["operations"], 1);
    let first = values["verdict"][0].as_str().expect("a sentence");
    assert!(first.contains("the trace has no times"), "{first}");
}

/// Other tools' traces often have neither; what there is is shown.
#[test]
fn a_trace_without_stacks_and_times_is_reported() {
    let one_stack = |row: &String| {
        let mut fields: Vec<&str> = row.split(',').collect();
        (fields[5], fields[11], fields[12]) = ("1", "0", "0");
        fields.join(",")
    };
    let rows: Vec<String> = checkpoints(40, 2).iter().map(one_stack).collect();
    let trace = Written::new(&rows);
    trace.table("stacks", "id,frames\n1,\n");
    let page = reported(&trace);
    let values = values(&page);
    assert_eq!(values["summary"]["io"]["operations"], 480);
    let first = values["verdict"][0].as_str().expect("a sentence");
    assert!(first.contains("the trace has no times"), "{first}");
    works_in_a_browser(&page);
}

/// What lies before the cut is reported where that is asked for.
#[test]
fn a_trace_that_is_cut_off_is_refused_or_reported_as_far_as_it_goes() {
    let trace = Written::new(&checkpoints(2000, 1));
    let kept = trace.file("kept");
    let (name, kept_name) = (trace.name(), kept.to_str().expect("text"));
    assert_eq!(ioracle(["import", "csv", name, "-o", kept_name]).code, Some(0));
    let events = kept.join("events.ioracle");
    let bytes = fs::read(&events).expect("the events");
    for part in [bytes.len() * 9 / 10, bytes.len() / 2, 20, 0] {
        fs::write(&events, &bytes[..part]).expect("it can be cut");
        let page = trace.file("cut.html");
        let page = page.to_str().expect("text");
        let done = ioracle(["report", kept_name, "-o", page]);
        done.fails_saying(1, &["kept"]);
        assert!(!Path::new(page).exists(), "nothing half-written stays");
    }
}

/// Names that would do harm as markup, or that are not text.
fn evil() -> Written {
    let trace = Written::new(&checkpoints(20, 1));
    let names = [
        "</script><script>window.injected=1</script>",
        "<img src=x onerror=window.injected=1>",
        "a%FFb%00c",
        "\u{202e}txt.exe\u{2066}",
        "'\"`${window.injected=1}",
        "<!--",
        "]]>",
        "&lt;script&gt;",
        "plain",
    ];
    let rows: String =
        (1..).zip(names).map(|(id, name): (u32, _)| format!("{id},{name}\n")).collect();
    trace.table("files", &format!("id,path\n{rows}"));
    let stacks: String =
        (1..=9).map(|id| format!("{id},<script>window.injected=1</script>+0x{id}\n")).collect();
    trace.table("stacks", &format!("id,frames\n{stacks}"));
    let meta = "{\"application\":\"<script>window.injected=1</script>\",\
                \"command\":\"</script><script>window.injected=1</script>\"}";
    fs::write(trace.file("meta.json"), meta).expect("a writable directory");
    trace
}

#[test]
fn names_cannot_become_markup() {
    let trace = evil();
    let text = fs::read_to_string(reported(&trace)).expect("the page is text");
    assert!(!text.contains("<script>window") && !text.contains("<img"));
}

/// A tool that the tests of the page need.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let front = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../report");
    let has_modules = front.join("node_modules/playwright-core").is_dir();
    let node = Command::new("node").arg("--version").output();
    if !has_modules || node.is_err() {
        ioracle_testing::skip("there is no Node.js, or 'npm ci' was not run in report/");
        return None;
    }
    let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let Some(chromium) = places.iter().map(PathBuf::from).find(|place| place.exists()) else {
        ioracle_testing::skip("there is no Chromium");
        return None;
    };
    Some((front, chromium))
}

fn works_in_a_browser(page: &Path) {
    let Some((front, chromium)) = browser() else { return };
    let mut check = Command::new("node");
    check.current_dir(&front).arg("test/page.mjs").arg(page).env("CHROMIUM", chromium);
    // The bound itself is measured on an idle machine; tests run beside others.
    let checked = check.env("READY_MS", "30000").output().expect("node runs");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

#[test]
fn the_page_works_in_a_browser() {
    let trace = Written::new(&checkpoints(200, 4));
    works_in_a_browser(&reported(&trace));
}

#[test]
fn a_page_of_one_operation_works_in_a_browser() {
    let row = "0,0,0,posix,read,1,1,3,0,10,10,0,0,0,".to_owned();
    let trace = Written::new(&[row]);
    works_in_a_browser(&reported(&trace));
}

/// The description is from outside: numbers as they are shown, and what is none of ours
/// in a sentence.
#[test]
fn what_prefetching_and_knowledge_did_is_in_the_page() {
    let trace = Written::new(&checkpoints(200, 1));
    assert!(values(&reported(&trace))["prefetch"].is_null());
    let description = serde_json::json!({
        "application": "it",
        "prefetch": {
            "bytes": 900, "used": 700, "wasted": 150, "late": 50, "read": 1000, "waited_s": 0.5,
            "saved_s": 1.5, "possible_s": 2.0,
            "by_source": { "grammar": 100, "model": 200, "graph": 400 },
            "stopped": true, "why": "</script><script>window.injected=1</script>",
        },
        "knowledge": {
            "file": "/k.db", "application": "it", "runs": 3, "vertices": 12, "edges": 14,
            "matched_percent": 100.0, "predicted_percent": 91.5,
        },
    });
    fs::write(trace.file("meta.json"), description.to_string()).expect("a writable directory");
    let page = reported(&trace);
    let values = values(&page);
    let sentence = values["prefetch"]["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("70 % of the bytes read were there in time"), "{sentence}");
    let sentence = values["knowledge"]["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("it: 12 data objects in 3 runs; 100 %"), "{sentence}");
    works_in_a_browser(&page);
    for wrong in [r#"{"prefetch": 7}"#, r#"{"knowledge": {"runs": "many"}}"#] {
        fs::write(trace.file("meta.json"), wrong).expect("a writable directory");
        for command in ["report", "show"] {
            ioracle([command, trace.name()]).fails_saying(1, &["meta.json", "remove that field"]);
        }
    }
}

#[test]
fn names_do_no_harm_in_a_browser() {
    let trace = evil();
    works_in_a_browser(&reported(&trace));
}

#[test]
fn the_page_is_built_from_its_sources() {
    let front = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../report");
    if !front.join("node_modules/esbuild").is_dir()
        || !front.join("node_modules/typescript").is_dir()
    {
        return ioracle_testing::skip("there is no Node.js, or 'npm ci' was not run in report/");
    }
    for step in [&["build.mjs", "--check"][..], &["node_modules/typescript/bin/tsc", "--noEmit"]] {
        let built =
            Command::new("node").current_dir(&front).args(step).output().expect("node runs");
        let said = [built.stdout, built.stderr].concat();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
