// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle bench` through MPI-IO, HDF5 and netCDF, in builds that have them
//! (`make test-libraries`).

#![cfg(all(feature = "mpi", feature = "hdf5", feature = "netcdf"))]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ioracle_testing::skip;
use serde_json::Value;
use support::{Done, command, done, ioracle};

const QUICK: [&str; 10] =
    ["--repetitions", "2", "--time-limit", "8s", "-b", "256K", "-t", "16K", "--metadata", "2"];

/// Runs the command as so many ranks; the launcher is named by `MPIRUN`.
fn by_ranks(n: u32, directory: &Path, arguments: &[&str]) -> Option<Done> {
    let launcher = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let mut mpirun = Command::new(&launcher);
    mpirun.args(["-n", &n.to_string()]);
    if launcher.contains("openmpi") {
        mpirun.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    // Jobs of Open MPI that begin and end at the same time remove each other's
    // directories below the one for temporary files.
    let temporary = tempfile::tempdir().unwrap();
    mpirun.env("TMPDIR", temporary.path());
    let output = mpirun
        .arg(command().get_program())
        .arg("bench")
        .arg(directory)
        .args(QUICK)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(done(output)),
        Err(error) => {
            skip(&format!("'{launcher}' cannot be started: {error}"));
            None
        }
    }
}

/// Nothing is left, and reads and writes of an interface were measured.
fn check(done: &Done, directory: &Path, api: &str, n_tasks: u32) -> Value {
    assert_eq!(done.code, Some(0), "{api}: {}", done.err);
    let json = done.json();
    for kind in ["read", "write"] {
        let points = json["system"]["points"].as_array().unwrap();
        let is_such = |it: &&Value| {
            let class = &it["class"];
            class["kind"] == kind && class["api"] == api && class["size"] == 16 << 10
        };
        let point = points.iter().find(is_such).unwrap_or_else(|| panic!("no {kind}: {json:#}"));
        assert_eq!(point["class"]["concurrency"], n_tasks);
        assert_eq!(point["calls"], 2 * 16 * n_tasks, "{point}");
    }
    assert_eq!(fs::read_dir(directory).unwrap().count(), 0, "something was left behind");
    json
}

#[test]
fn ranks_measure_shared_files_and_files_of_their_own() {
    for api in ["posix", "mpiio", "hdf5", "netcdf"] {
        for shared in [true, false] {
            let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let mut arguments = vec!["--api", api, "--json", "--pattern", "sequential"];
            if shared {
                arguments.push("--shared");
            }
            let Some(done) = by_ranks(2, place.path(), &arguments) else { return };
            if done.err.contains("is not a parallel one for this MPI") {
                assert!(api == "netcdf" && shared && done.code != Some(0), "{}", done.err);
                continue;
            }
            let json = check(&done, place.path(), api, 2);
            let points = json["system"]["points"].as_array().unwrap();
            let is_shared = |it: &Value| it["class"]["shared"] == shared;
            assert!(points.iter().filter(|it| it["class"]["kind"] == "read").all(is_shared));
        }
    }
}

#[test]
fn ranks_read_what_their_neighbour_wrote_and_submit_asynchronous_calls() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let arguments = ["--api", "mpiio", "-C", "--async", "4", "--fsync", "end", "--json"];
    let more = ["--shared", "--pattern", "random"];
    let Some(done) = by_ranks(2, place.path(), &[&arguments[..], &more].concat()) else { return };
    let json = check(&done, place.path(), "mpiio", 2);
    let points = json["system"]["points"].as_array().unwrap();
    assert!(points.iter().any(|it| it["class"]["synchronous"] == false));
    assert!(points.iter().any(|it| it["class"]["kind"] == "sync"));
}

#[test]
fn a_job_of_one_rank_needs_no_launcher() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = place.path().to_str().unwrap();
    for api in ["mpiio", "hdf5", "netcdf"] {
        let arguments = ["bench", directory, "--api", api, "--json", "--tasks", "1"];
        let arguments = [&arguments[..], &QUICK, &["--pattern", "sequential"]].concat();
        check(&ioracle(arguments), place.path(), api, 1);
    }
    for api in ["hdf5", "netcdf"] {
        let arguments = ["bench", directory, "--api", api, "--json", "--tasks", "2"];
        let arguments = [&arguments[..], &QUICK, &["--pattern", "sequential"]].concat();
        check(&ioracle(arguments), place.path(), api, 2);
    }
}

#[test]
fn what_ranks_cannot_do_is_one_sentence() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = place.path().to_str().unwrap();
    let refused = |arguments: &[&str], part: &str| {
        let done = ioracle([&["bench", directory], arguments].concat());
        done.fails_saying(1, &[part]);
    };
    refused(&["--api", "mpiio", "--tasks", "2"], "there are 1; start more with mpirun");
    refused(&["--api", "hdf5", "--tasks", "2", "--shared"], "are ranks of an MPI job");
    refused(&["--api", "hdf5", "--tasks", "1", "--async", "2"], "has no asynchronous calls");
    refused(&["--api", "netcdf", "--threads"], "are no threads");
    refused(&["--api", "mpiio", "--tasks", "1", "--direct"], "leave out --direct");
    let full = ["--api", "mpiio", "--disk-limit", "1K"];
    let Some(done) = by_ranks(2, place.path(), &full) else { return };
    assert!(done.code != Some(0) && done.err.contains("--disk-limit"), "{}", done.err);
}
