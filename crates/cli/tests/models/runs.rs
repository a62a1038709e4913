// SPDX-License-Identifier: MIT OR Apache-2.0

//! One run after the other.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::job::Place;

#[test]
fn a_second_run_is_predicted_from_its_first_operation() {
    let place = Place::with_checkpoints();
    let first = place.run(&["./app"]);
    assert_eq!(first.known_runs(), None);
    assert!(first.was_saved(), "{}", first.model);
    assert!(first.done.err.contains("this was the first run"), "{}", first.done.err);
    let second = place.run(&["./app"]);
    assert_eq!(second.known_runs(), Some(1));
    assert!(first.first() < 95.0 && second.first() >= 95.0, "{} {}", first.model, second.model);
    assert!(second.done.err.contains("of the first 100 operations"), "{}", second.done.err);
    assert_eq!(place.run(&["./app"]).known_runs(), Some(2));
}

#[test]
fn what_a_crashed_program_did_is_kept() {
    let place = Place::with_checkpoints();
    let crashed = place.run(&["./app", "20", "crash"]);
    assert!(crashed.was_saved() && crashed.done.err.contains("SIGKILL"), "{}", crashed.done.err);
    assert!(place.run(&["./app"]).first() >= 95.0);
}

#[test]
fn what_an_interrupted_program_did_is_kept() {
    let place = Place::with_checkpoints();
    let script = "./app; echo ready; exec sleep 60";
    let mut child = place
        .command(&[], &["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("it is piped");
    BufReader::new(out).read_line(&mut line).expect("the program says that it is ready");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("it can be interrupted");
    child.wait().expect("it ends");
    assert!(place.model().exists());
    assert!(place.run(&["sh", "-c", "./app"]).first() >= 95.0);
}

#[test]
fn a_run_in_which_nothing_was_learned_leaves_no_model() {
    let place = Place::new();
    let ran = place.run(&["true"]);
    assert!(!place.model().exists(), "{}", ran.model);
    assert!(ran.done.err.contains("nothing was learned"), "{}", ran.done.err);
}

#[test]
fn no_temporary_files_are_left() {
    let place = Place::with_checkpoints();
    place.run(&["./app", "3"]);
    let names = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// NCO reads the same variables of every input, in the same order in every run.
#[test]
fn a_second_run_predicts_variables_better_than_the_first() {
    let place = Place::new();
    let made = Command::new("sh").arg("-c").arg(INPUTS).current_dir(place.path()).status();
    if !made.is_ok_and(|status| status.success()) {
        return ioracle_testing::skip("ncgen and ncra are not installed");
    }
    let accuracy = || {
        place.run(&["sh", "-c", "exec ncra -O in_*.nc out.nc"]);
        let summary = fs::read(place.path().join("summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
        let predicted = &summary["predicted_variables"];
        let of = |name: &str| predicted[name].as_f64().unwrap_or_else(|| panic!("{summary}"));
        (of("context_accuracy"), of("file_accuracy"))
    };
    let (first, second) = (accuracy(), accuracy());
    assert!(second.0 > first.0 + 3.0 && second.1 > first.1 + 1.0, "{first:?} {second:?}");
}

/// Twelve files with eight variables each.
const INPUTS: &str = r#"
command -v ncra >/dev/null || exit 1
variables=; data=
for v in a b c d e f g h; do
    variables="$variables float v$v(time, x);"; data="$data v$v = 1, 2, 3, 4, 5, 6, 7, 8;"
done
echo "netcdf t { dimensions: time = UNLIMITED; x = 2; variables: $variables data: $data }" > t.cdl
for i in 00 01 02 03 04 05 06 07 08 09 10 11; do ncgen -o in_$i.nc t.cdl || exit 1; done
"#;
