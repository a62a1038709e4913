// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several runs that save the same model at once.

use std::process::Stdio;

use crate::job::Place;
use crate::support::{done, ioracle};

/// `mpirun -n 4 ioracle run --model m -- app`, without an MPI.
#[test]
fn ranks_below_readers_of_their_own_all_come_into_the_model() {
    let place = Place::with_checkpoints();
    for round in 1..=2 {
        let ranks: Vec<_> = (0..4)
            .map(|rank| {
                let directory = place.path().join(format!("rank-{rank}"));
                std::fs::create_dir_all(&directory).unwrap();
                let mut command = crate::support::command();
                command.args(["run", "--quiet", "--model", "../app.model", "--", "../app"]);
                command.args([(8 + rank).to_string()]).current_dir(directory);
                command.env("OMPI_COMM_WORLD_RANK", rank.to_string());
                command.env("OMPI_COMM_WORLD_SIZE", "4").stdin(Stdio::null());
                command.spawn().expect("the command starts")
            })
            .collect();
        for rank in ranks {
            let done = done(rank.wait_with_output().unwrap());
            assert_eq!(done.code, Some(0));
        }
        let shown = ioracle(["model", "show", place.model().to_str().unwrap(), "--json"]).json();
        let roles = shown["roles"].as_array().expect("roles");
        let ranks: Vec<_> = roles.iter().map(|role| role["rank"].as_u64()).collect();
        assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(3)], "round {round}");
        assert!(roles.iter().all(|role| role["runs"] == round), "{shown}");
    }
}

#[test]
fn of_runs_at_once_none_is_lost() {
    let place = Place::with_checkpoints();
    let first = place.run(&["./app"]);
    let start = |_| {
        let mut command = place.command(&["--quiet"], &["./app", "30"]);
        command.spawn().expect("the command starts")
    };
    let children: Vec<_> = (0..6).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let after = place.run(&["./app", "30"]);
    assert_eq!(after.known_runs(), Some(7), "{}", after.model);
    assert!(after.first() >= 95.0, "{}", after.model);
    // As many operations as if they had been run one by one.
    let known = after.model["known"]["operations"].as_u64();
    assert_eq!(known, Some(first.operations + 6 * after.operations), "{}", after.model);
}
