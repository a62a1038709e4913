// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that were rebuilt keep what was learned about them.

use std::fs;
use std::process::Command;

use ioracle_testing::skip;

use crate::job::{Place, Ran};

/// Runs the program, builds it again in another way, and runs that.
fn after_rebuilding(first: &[&str], then: &[&str]) -> (Place, Ran) {
    let place = Place::new();
    place.build("checkpoints.c", "app", first);
    place.run(&["./app"]);
    place.build("checkpoints.c", "app", then);
    let ran = place.run(&["./app"]);
    (place, ran)
}

fn carried_over(ran: &Ran) -> u64 {
    ran.model["carried_over"].as_u64().expect("a number")
}

#[test]
fn an_inserted_function_and_other_optimisation_keep_the_contexts() {
    for (first, then) in [("-O1", "-O2"), ("-O2", "-O1"), ("-O0", "-O2"), ("-O1", "-O1")] {
        let (place, ran) = after_rebuilding(&[first], &[then, "-DREBUILT"]);
        assert!(carried_over(&ran) >= 8, "{first} {then}: {}", ran.model);
        assert!(ran.first() >= 95.0, "{first} {then}: {}", ran.model);
        assert!(ran.done.err.contains("recognised by"), "{}", ran.done.err);
        // The new build is known by its frames from now on.
        let third = place.run(&["./app"]);
        assert_eq!(carried_over(&third), 0, "{}", third.model);
        assert!(third.first() >= 99.0, "{first} {then}: {}", third.model);
    }
}

#[test]
fn a_build_that_comes_back_is_known_again() {
    let (place, _) = after_rebuilding(&["-O1"], &["-O2", "-DREBUILT"]);
    place.build("checkpoints.c", "app", &["-O1"]);
    assert!(place.run(&["./app"]).first() >= 95.0);
}

/// What calls in another order does not come as expected, and is learned.
#[test]
fn a_changed_order_of_calls_does_no_harm() {
    let (place, ran) = after_rebuilding(&["-O1"], &["-O1", "-DREBUILT", "-DREORDERED"]);
    let fresh = Place::new();
    fresh.build("checkpoints.c", "app", &["-O1", "-DREBUILT", "-DREORDERED"]);
    let without = fresh.run(&["./app"]);
    // What decides which of several call stacks it is is not counted as predicted.
    assert!(ran.first() >= without.first() - 3.0, "{} {}", ran.model, without.model);
    assert!(place.run(&["./app"]).first() >= 95.0);
}

#[test]
fn a_stripped_program_is_known_by_its_addresses_only() {
    let place = Place::with_checkpoints();
    let strip = |place: &Place| {
        let done = Command::new("strip").arg(place.path().join("app")).status();
        done.is_ok_and(|status| status.success())
    };
    if !strip(&place) {
        skip("there is no 'strip'");
        return;
    }
    place.run(&["./app"]);
    assert!(place.run(&["./app"]).first() >= 95.0);
    place.build("checkpoints.c", "app", &["-O2", "-DREBUILT"]);
    assert!(strip(&place));
    let rebuilt = place.run(&["./app"]);
    assert_eq!(rebuilt.done.code, Some(0));
    assert!(place.run(&["./app"]).first() >= 95.0);
}

/// A new version under a new name, which the user says is the same.
#[test]
fn a_renamed_program_keeps_its_contexts_if_it_is_named() {
    let place = Place::new();
    place.build("checkpoints.c", "app-1.0", &["-O1"]);
    place.run_with(&["--name", "app"], &["./app-1.0"]);
    fs::rename(place.path().join("app-1.0"), place.path().join("app-1.1")).unwrap();
    let renamed = place.run_with(&["--name", "app"], &["./app-1.1"]);
    assert!(renamed.first() >= 95.0, "{}", renamed.model);
    place.build("checkpoints.c", "app-2.0", &["-O2", "-DREBUILT"]);
    let rebuilt = place.run_with(&["--name", "app"], &["./app-2.0"]);
    assert!(carried_over(&rebuilt) > 0 && rebuilt.first() >= 95.0, "{}", rebuilt.model);
}

/// The file that was loaded is not the one that lies there in the end.
#[test]
fn a_program_that_is_replaced_while_it_runs_is_not_confused() {
    let place = Place::with_checkpoints();
    place.build("checkpoints.c", "other", &["-O2", "-DREBUILT"]);
    let ran = place.run(&["sh", "-c", "./app; mv other app"]);
    assert_eq!(ran.done.code, Some(0), "{}", ran.done.err);
    let next = place.run(&["sh", "-c", "./app"]);
    assert_eq!(next.done.code, Some(0), "{}", next.done.err);
}
