// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callers that do everything wrong, callers of Omnisc'IO, and whether Fortran
//! sees what C does.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{command, have, prefix, run};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/programs").join(name)
}

/// Adds what links a program with the installed library.
fn linked(compiler: &mut Command) -> &mut Command {
    let library = prefix().join("lib");
    compiler.arg("-L").arg(&library).args(["-lioracle", "-Wl,-rpath"]).arg({
        let mut argument = std::ffi::OsString::from("-Wl,");
        argument.push(library);
        argument
    })
}

fn hostile(directory: &Path, flags: &[&str]) -> PathBuf {
    program(directory, "hostile", flags)
}

/// A program in C that was built against what is installed.
fn program(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let program = directory.join(name);
    let mut compiler = command("cc");
    compiler.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]);
    compiler.args(flags).arg("-I").arg(prefix().join("include"));
    run(linked(compiler.arg("-o").arg(&program).arg(source(&format!("{name}.c")))));
    program
}

/// Many checks, and not one word on standard error.
fn checks(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.is_empty(), "{}\n{words}", output.status);
    let out = String::from_utf8_lossy(&output.stdout);
    let n_checks: u32 = out.split(' ').next().unwrap().parse().expect(&out);
    assert!(n_checks > 3000, "{out}");
}

#[test]
fn whatever_callers_do_they_get_a_code_and_a_message() {
    let directory = tempfile::tempdir().unwrap();
    checks(&mut command(hostile(directory.path(), &["-O2"])));
}

#[test]
fn whatever_callers_do_no_memory_is_touched_that_is_not_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let sanitize = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    checks(&mut command(hostile(directory.path(), &sanitize)));
}

#[test]
fn valgrind_finds_nothing_in_what_callers_do_wrong() {
    if !have(&["valgrind"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut valgrind = command("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--fair-sched=yes"]);
    checks(valgrind.arg(hostile(directory.path(), &["-O1"])).arg("300"));
}

#[test]
fn omniscio_tells_what_ioracle_run_publishes_and_nothing_without() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path(), "omniscio", &["-O2"]);
    let file = directory.path().join("data.bin");
    assert_eq!(run(command(&program).arg(&file).arg("alone")), "0\n");
    let mut watched = command(prefix().join("bin/ioracle"));
    watched.env("IORACLE_DIR", directory.path());
    let watched_run = run(watched.args(["run", "--"]).arg(program).arg(file).arg("watched"));
    let expected: String = (64..69).map(|i| format!("1 {} 512 data.bin\n", i * 512)).collect();
    assert_eq!(watched_run, expected);
}

#[test]
fn the_structures_of_the_fortran_module_lie_as_those_of_c() {
    if !have(&["gfortran"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (object, program) = (directory.path().join("layout.o"), directory.path().join("layout"));
    let mut compiler = command("cc");
    compiler.args(["-std=c11", "-c", "-o"]).arg(&object).arg(source("layout.c"));
    run(compiler.arg("-I").arg(prefix().join("include")));
    let mut fortran = command("gfortran");
    fortran.arg("-J").arg(directory.path()).arg("-o").arg(&program);
    fortran.arg(prefix().join("share/ioracle/ioracle.f90")).arg(source("layout.f90")).arg(object);
    run(linked(&mut fortran));
    assert_eq!(run(&mut command(program)), "alike\n");
}
