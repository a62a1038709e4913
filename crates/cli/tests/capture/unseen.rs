// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs in which nothing can be recorded, and those that ask not to be: they
//! run as ever, and the summary says why nothing was seen.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use ioracle_testing::skip;

use crate::agree::{behaves_the_same, check};
use crate::compile::{c, c_with, other};
use crate::run::{Program, library};

/// Runs the program both ways; the messages that came with the captured run.
fn unseen(program: &Program) -> String {
    let done = behaves_the_same(program);
    let written = fs::read(done.work().join("data")).map(|data| data.len());
    assert_eq!(written.unwrap(), 8000);
    done.err
}

#[test]
fn a_static_program_runs_and_is_named_as_static() {
    let said = unseen(&Program::new(c_with("writer", &["-static"])));
    assert!(said.contains("static"), "{said}");
}

#[test]
fn a_musl_program_runs_and_is_named_as_such() {
    let Some(program) = other("musl-gcc", "writer.c", &["-O2"]) else { return };
    let said = unseen(&Program::new(program));
    assert!(said.contains("musl"), "{said}");
}

#[test]
fn a_setuid_program_runs_and_is_named_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("writer");
    fs::copy(c("writer"), &copy).unwrap();
    // The loader drops the library only when the owner is somebody else.
    if chown(&copy, Some(65534), Some(65534)).is_err() {
        skip("only root can make a program of another user");
        return;
    }
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let done = behaves_the_same(&Program::new(&copy).env("EXPECTED_CALLS", ""));
    assert!(done.err.contains("set-user-ID"), "{}", done.err);
}

/// Debian's h5cc links statically unless asked not to; of such a program's
/// calls of HDF5 nothing was seen, and nothing said so.
#[test]
fn a_library_that_is_linked_into_the_program_is_named() {
    let Some(inside) = other("h5cc", "hdf5_habits.c", &["-O2"]) else { return };
    let Some(shared) = other("h5cc", "hdf5_habits.c", &["-O2", "-shlib"]) else { return };
    let done = behaves_the_same(&Program::new(&inside));
    let summary = done.summary();
    assert!(summary["hdf5"].is_null() && summary["io"]["operations"].as_u64() > Some(0));
    let linked_in = summary["linked_in"].as_array().expect("a list");
    assert_eq!(linked_in.len(), 1, "{linked_in:?}");
    assert_eq!(linked_in[0]["library"], "HDF5");
    assert!(done.err.contains("HDF5 is linked into"), "{}", done.err);
    let done = behaves_the_same(&Program::new(&shared));
    assert!(!done.summary()["hdf5"].is_null(), "{}", done.err);
    assert_eq!(done.summary()["linked_in"], serde_json::json!([]), "{}", done.err);
}

#[test]
fn switched_off_the_library_records_nothing() {
    let done = behaves_the_same(&Program::new(c("writer")).env("IORACLE_DISABLE", "1"));
    assert!(done.recorded().is_empty());
}

#[test]
fn the_library_alone_changes_nothing() {
    let program = Program::new(c("stdio_calls"));
    let (plain, preloaded) = (program.plainly(), program.env("LD_PRELOAD", library()).plainly());
    assert_eq!((plain.code, plain.out, plain.err), (preloaded.code, preloaded.out, preloaded.err));
}

#[test]
fn files_left_out_by_patterns_are_not_recorded() {
    let program = Program::new(c("fork_shares_position"));
    let only_text = program.clone().option("--include").option("*/text").recorded();
    let files = |done: crate::run::Done| -> Vec<String> {
        let mut files: Vec<String> =
            done.recorded().into_iter().flatten().map(|call| call.file).collect();
        files.sort();
        files.dedup();
        files
    };
    assert_eq!(files(only_text), ["text"]);
    let without = program.option("--exclude").option("*/text:*/own").recorded();
    assert_eq!(files(without), ["shared"]);
}

#[test]
fn requests_to_io_uring_are_counted() {
    if !fs::exists("/usr/include/liburing.h").unwrap() {
        skip("there is no liburing to build uring.c with");
        return;
    }
    let program = Program::new(c_with("uring", &["-luring"]));
    if program.plainly().code == Some(77) {
        skip("the kernel forbids io_uring");
        return;
    }
    let done = check(&program);
    assert_eq!(done.summary()["unrecorded"]["io_uring"], 10);
}
