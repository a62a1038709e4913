// SPDX-License-Identifier: MIT OR Apache-2.0

//! Models that cannot be used: a sentence, the run goes on, the file stays.

use std::fs;

use crate::job::Place;

/// Runs the program with these bytes as its model.
fn refuses(bytes: &[u8], program: &[&str], part: &str) {
    let place = Place::with_checkpoints();
    fs::write(place.model(), bytes).unwrap();
    let ran = place.run(program);
    assert_eq!(ran.done.code, Some(0), "{}", ran.done.err);
    let refused = ran.model["refused"].as_str().expect("a sentence");
    assert!(refused.contains("app.model") && refused.contains(part), "{refused}");
    // The text of the summary is wrapped.
    assert!(ran.done.err.contains("not used: "), "{}", ran.done.err);
    assert_eq!(fs::read(place.model()).unwrap(), bytes, "the file was changed");
}

fn model_of_checkpoints() -> Vec<u8> {
    let place = Place::with_checkpoints();
    place.run(&["./app"]);
    fs::read(place.model()).unwrap()
}

#[test]
fn a_damaged_model_is_refused_and_kept() {
    let good = model_of_checkpoints();
    let mut damaged = good.clone();
    damaged[good.len() / 2] ^= 0x40;
    refuses(&damaged, &["./app"], "damaged");
    refuses(&good[..good.len() - 10], &["./app"], "cut off");
    refuses(b"", &["./app"], "not a model");
    refuses(b"something else entirely", &["./app"], "not a model");
    let mut newer = good;
    newer[8] = 99;
    refuses(&newer, &["./app"], "version 99");
}

#[test]
fn a_model_of_another_program_is_refused_and_kept() {
    refuses(&model_of_checkpoints(), &["cat", "input"], "learned from 'app', not from 'cat'");
}

#[test]
fn a_name_says_what_the_application_is() {
    let place = Place::with_checkpoints();
    assert!(place.run(&["./app"]).was_saved());
    fs::copy(place.path().join("app"), place.path().join("renamed")).unwrap();
    let other = place.run(&["./renamed"]);
    assert!(other.model["refused"].is_string(), "{}", other.model);
    let named = place.run_with(&["--name", "app"], &["./renamed"]);
    assert_eq!(named.known_runs(), Some(1), "{}", named.model);
    let misnamed = place.run_with(&["--name", "something"], &["./app"]);
    assert!(misnamed.model["refused"].is_string(), "{}", misnamed.model);
}

#[test]
fn a_place_that_cannot_be_written_to_is_refused_before_anything_is_started() {
    let place = Place::with_checkpoints();
    let mut command = crate::support::command();
    command.args(["run", "--model", "no/such/app.model", "--", "./app"]).current_dir(place.path());
    let done = crate::support::done(command.output().unwrap());
    done.fails_saying(1, &["no/such/app.model", "there is no directory"]);
    assert!(!place.path().join("log").exists());
    // The second name could be written, but not that of its lock.
    for n_bytes in [256, 252] {
        let name = "m".repeat(n_bytes);
        let mut command = crate::support::command();
        command.args(["run", "--model", &name, "--", "./app"]).current_dir(place.path());
        let done = crate::support::done(command.output().unwrap());
        done.fails_saying(1, &[&name, "too long", "name another place"]);
        assert!(!place.path().join("log").exists());
    }
}
