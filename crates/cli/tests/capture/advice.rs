// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every rule of advice under `ioracle run`: on a program that has the fault, and on the
//! same one without it.

use std::path::Path;

use serde_json::Value;

use crate::compile::{c_with, other, sources};
use crate::parallel::MPICH;
use crate::run::Program;

/// A fault, the function of the program that has it, and what stands in the line that
/// makes the calls.
type Fault = (&'static str, &'static str, &'static str);

/// What `ioracle run` advises.
fn advice(program: &Program) -> Vec<Value> {
    let done = program.watched();
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.summary()["advice"].as_array().expect("advice").clone()
}

/// With the fault it is found, with its place in the source; without, it is not.
fn is_found(run: &dyn Fn() -> Program, source: &str, (kind, function, call): Fault) {
    let given = advice(&run().arg(kind));
    let Some(found) = given.iter().find(|it| it["kind"] == kind) else {
        panic!("no {kind} in {given:#?}");
    };
    let severity = found["severity"].as_str();
    assert!(matches!(severity, Some("high" | "warning")), "{found:#}");
    let has_data = found["path"].is_string() || found["variable"].is_string();
    assert!(has_data && found["files"].as_u64() > Some(0), "{found:#}");
    assert!(found["saves_at_most_s"].as_f64() > Some(0.0), "{found:#}");
    assert!(found["snippet"].as_str().is_some_and(|code| !code.is_empty()), "{found:#}");

    let place = &found["stack"][0];
    assert_eq!(place["function"], function, "{found:#}");
    let (file, line) = place["source"].as_str().and_then(|it| it.rsplit_once(':')).expect("a line");
    assert_eq!(Path::new(file).file_name().and_then(|it| it.to_str()), Some(source), "{found:#}");
    let text = std::fs::read_to_string(sources().join(source)).expect("the source");
    let line = line.parse::<usize>().ok().and_then(|line| text.lines().nth(line - 1));
    assert!(line.is_some_and(|line| line.contains(call)), "{line:?}: {found:#}");
    let sentence = found["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains(&format!(" from {function} (")), "{sentence}");

    let given = advice(&run().arg(kind).arg("fixed"));
    assert!(given.iter().all(|it| it["kind"] != kind), "{given:#?}");
}

#[test]
fn faults_in_calls_of_the_system_are_found_where_they_are() {
    let program = c_with("faults", &["-g"]);
    for fault in [
        ("small_writes", "small_writes", "write("),
        ("small_reads", "small_reads", "read("),
        ("scattered_writes", "scattered_writes", "pwrite("),
        ("scattered_reads", "scattered_reads", "pread("),
        ("stdio_bulk", "stdio_bulk", "fwrite("),
        ("syncs", "syncs", "fdatasync("),
        ("reopened", "reopened", "open("),
        ("read_again", "read_again", "pread("),
        ("read_by_all", "read_by_all", "pread("),
        ("many_files", "many_files", "open("),
        ("many_open", "many_open", "open("),
        ("misaligned_writes", "misaligned_writes", "pwrite("),
        ("shared_blocks", "shared_blocks", "pwrite("),
    ] {
        is_found(&|| Program::new(&program), "faults.c", fault);
    }
}

#[test]
fn faults_in_calls_of_mpi_are_found_where_they_are() {
    if !MPICH.is_here() {
        return;
    }
    let flags = ["-O2", "-g", "-std=gnu11"];
    let Some(program) = other("mpicc.mpich", "faults_mpi.c", &flags) else { return };
    for fault in [
        ("independent_writes", "independent_writes", "MPI_File_write_at("),
        ("independent_reads", "independent_reads", "MPI_File_read_at("),
        ("no_collective_buffering", "no_collective_buffering", "MPI_File_write_at_all("),
        ("one_rank_writes", "write_pieces", "MPI_File_write_at("),
        ("uneven_ranks", "write_pieces", "MPI_File_write_at("),
    ] {
        is_found(&|| MPICH.run(&program, 4), "faults_mpi.c", fault);
    }
}

/// In collective calls one process of a machine writes for all; that is fine.
#[test]
fn who_writes_collectively_is_not_told_to_do_so() {
    if !MPICH.is_here() {
        return;
    }
    let flags = ["-O2", "-g", "-std=gnu11"];
    let Some(program) = other("mpicc.mpich", "faults_mpi.c", &flags) else { return };
    let given = advice(&MPICH.run(&program, 4).arg("independent_writes").arg("fixed"));
    assert!(given.iter().all(|it| it["kind"] != "one_rank_writes"), "{given:#?}");
}

#[test]
fn faults_in_calls_of_hdf5_are_found_where_they_are() {
    let flags = ["-shlib", "-O2", "-g"];
    let Some(program) = other("h5cc", "faults_hdf5.c", &flags) else { return };
    for fault in [
        ("tiny_variable_accesses", "tiny_variable_accesses", "H5Dwrite("),
        ("chunk_shape", "chunk_shape", "H5Dwrite("),
        ("library_opens", "library_opens", "H5F"),
    ] {
        is_found(&|| Program::new(&program), "faults_hdf5.c", fault);
    }
    // The reads inside the library belong to the accesses that are reported already.
    let given = advice(&Program::new(&program).arg("chunk_shape"));
    assert!(given.iter().all(|it| it["kind"] != "read_again"), "{given:#?}");
}
