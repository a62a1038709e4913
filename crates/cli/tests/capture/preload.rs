// SPDX-License-Identifier: MIT OR Apache-2.0

//! Together with other preload libraries, before and after ours.

use std::ffi::OsString;
use std::path::Path;

use crate::agree::{check_files, compare};
use crate::compile::{c, shared};
use crate::run::{Program, library};

/// The program with the other library before ours, and after it. The variable
/// is set below the command, which would count its own calls otherwise.
fn orders(name: &str, other: &Path) -> [Program; 2] {
    let preloaded = |first: &Path, second: &Path| {
        let mut variable = OsString::from("LD_PRELOAD=");
        variable.push(first);
        variable.push(":");
        variable.push(second);
        Program::new("env").arg(variable).arg(c(name))
    };
    [preloaded(other, &library()), preloaded(&library(), other)]
}

#[test]
fn a_library_that_counts_calls_counts_the_same_in_either_order() {
    let other = shared("preload_counts");
    for name in ["writer", "stdio_calls", "duplicates"] {
        let alone = Program::new(c(name)).env("LD_PRELOAD", &other).plainly();
        assert!(alone.out.contains("counted: open"), "{}", alone.out);
        for program in orders(name, &other) {
            let done = program.recorded();
            assert_eq!((done.code, &done.out), (alone.code, &alone.out), "{}", done.err);
            compare(&done);
        }
    }
}

#[test]
fn a_library_that_wraps_the_allocator_works_in_either_order() {
    let other = shared("preload_allocates");
    let programs = [
        ("stdio_calls", "text"),
        ("threads_at_once", "common"),
        ("fork_shares_position", "shared"),
    ];
    for (name, file) in programs {
        for program in orders(name, &other) {
            // Its own writes are recorded as well: they come from the program's process.
            check_files(&program, &[file]);
        }
    }
}
