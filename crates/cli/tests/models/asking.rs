// SPDX-License-Identifier: MIT OR Apache-2.0

//! Threads that ask what comes next before anything of them was read.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::job::{Place, Ran};
use crate::support::ioracle;

/// A place with the program, linked with the `libioracle.so` of this build.
fn place() -> Place {
    let place = Place::new();
    let beside = Path::new(env!("CARGO_BIN_EXE_ioracle")).with_file_name("deps");
    let library = beside.join("libioracle_capi.so");
    assert!(library.exists(), "libioracle was not built at '{}'", library.display());
    for name in ["libioracle.so", "libioracle.so.0"] {
        symlink(&library, place.path().join(name)).expect("a link to the library");
    }
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
    let directory = place.path().display();
    let flags = [
        format!("-I{}", include.display()),
        format!("-L{directory}"),
        format!("-Wl,-rpath,{directory},--no-as-needed"),
        "-lioracle".to_owned(),
    ];
    place.build("asks_early.c", "app", &flags.each_ref().map(String::as_str));
    place
}

/// Two runs that ask after this many periods; returns the answer of the second one.
fn answer_in_the_second_run(asks_after: &str) -> String {
    let place = place();
    let run = || {
        let ran = place.run(&["./app", asks_after]);
        assert!(ran.was_saved(), "{}", ran.model);
        ran
    };
    let known = |ran: &Ran| (ran.known_runs(), ran.model["known"]["operations"].as_u64());
    assert_eq!(known(&run()), (None, None));
    let second = run();
    assert_eq!(known(&second), (Some(1), Some(200)));
    assert!(second.first() >= 95.0, "{}", second.model);
    let shown = ioracle(["model", "show", place.model().to_str().unwrap(), "--json"]).json();
    assert_eq!((shown["runs"].as_u64(), shown["operations"].as_u64()), (Some(2), Some(400)));
    second.done.out
}

#[test]
fn a_question_before_the_first_call_is_answered_from_the_model() {
    let answer = answer_in_the_second_run("0");
    assert!(answer.starts_with("IORACLE_OK open ") && answer.ends_with("/state\n"), "{answer}");
}

#[test]
fn who_asks_soon_has_a_model_too() {
    assert!(answer_in_the_second_run("2").starts_with("IORACLE_OK open "));
}
