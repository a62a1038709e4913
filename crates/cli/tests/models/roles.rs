// SPDX-License-Identifier: MIT OR Apache-2.0

//! Jobs of many streams: each finds what it has learned itself.

use crate::job::Place;
use crate::support::ioracle;

/// Five programs, one of them twice with other files.
#[test]
fn every_tool_of_a_script_finds_its_own() {
    let place = Place::with_checkpoints();
    let script = "./app 3; cp log kept; cp input other; sort -o sorted kept; ./app 6; rm other; \
                  tar -cf all.tar checkpoint_0001.dat sorted";
    let program = ["sh", "-c", script];
    let first = place.run(&program);
    let second = place.run(&program);
    assert!(second.first() >= 95.0 && first.first() < second.first(), "{}", second.model);
    let shown = ioracle(["model", "show", place.model().to_str().unwrap(), "--json"]).json();
    assert_eq!(shown["application"], "sh");
    let of = |program: &str| {
        let roles = shown["roles"].as_array().unwrap();
        let processes = roles.iter().filter(|role| role["program"] == program);
        processes.map(|role| role["process"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    for program in ["app", "cp"] {
        assert_eq!(of(program), [0, 1], "{program} was run twice");
    }
    assert_eq!((of("tar"), of("sort")), (vec![0], vec![0]));
    // The output says whose future is shown.
    let model = place.model();
    let model = model.to_str().unwrap();
    let busiest = ioracle(["predict", model]).out;
    // Which of the two has seen more depends on when the reader finds them.
    assert!(busiest.contains("what the saved model expects of app, process "), "{busiest}");
    assert!(busiest.contains(", thread 0 (oracle "), "{busiest}");
    let oracle = shown["roles"].as_array().unwrap().iter().find(|role| role["program"] == "tar");
    let oracle = oracle.unwrap()["oracle"].to_string();
    let of_tar = ioracle(["predict", model, "--oracle", &oracle, "--from-start"]).out;
    let whose = format!("expects of tar, process 0, thread 0 (oracle {oracle}) to begin with");
    assert!(of_tar.contains(&whose), "{of_tar}");
}

/// Processes that begin late begin with what those have learned that were found
/// to have ended, which takes more than a second.
#[test]
fn every_operation_is_counted_once() {
    let place = Place::new();
    let script = "cat input >one; cat input >two; sleep 2; cat one >three; cat two >four";
    let ran = place.run(&["sh", "-c", script]);
    let shown = ioracle(["model", "show", place.model().to_str().unwrap(), "--json"]).json();
    let roles = shown["roles"].as_array().unwrap().iter();
    let of_roles: u64 = roles.map(|role| role["operations"].as_u64().unwrap()).sum();
    assert_eq!(of_roles, ran.operations, "{shown}");
}

#[test]
fn threads_find_their_own() {
    let place = Place::new();
    place.build("threads_at_once.c", "app", &["-O2"]);
    place.run(&["./app"]);
    let second = place.run(&["./app"]);
    assert!(second.model["known"]["roles"].as_u64() > Some(1), "{}", second.model);
    assert!(second.first() >= 95.0, "{}", second.model);
}

/// Ranks as a launcher would start them: numbered by the environment.
#[test]
fn new_ranks_begin_with_what_others_know() {
    let place = Place::with_checkpoints();
    let ranks = |n: u32| {
        let rank = "mkdir -p $rank && cd $rank && cp ../input . && \
                    OMPI_COMM_WORLD_SIZE=9 OMPI_COMM_WORLD_RANK=$rank ../app 8";
        format!("for rank in $(seq 0 {}); do ({rank}); done", n - 1)
    };
    let run = |n| place.run(&["bash", "-c", &ranks(n)]);
    run(4);
    let second = run(4);
    assert!(second.first() >= 95.0, "{}", second.model);
    let shown = ioracle(["model", "show", place.model().to_str().unwrap(), "--json"]).json();
    let roles = shown["roles"].as_array().unwrap().iter();
    let of_ranks: Vec<_> = roles.filter(|role| role["program"] == "app").collect();
    assert_eq!(of_ranks.len(), 4, "{shown}");
    let third = run(6);
    assert!(third.first() >= 95.0, "ranks 4 and 5 are new: {}", third.model);
}
