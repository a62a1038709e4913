// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that do their I/O through MPI, under each MPI that is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use ioracle_events::Layer;
use ioracle_testing::skip;
use ioracle_trace::{ReadOptions, Trace};

use crate::agree::{behaves_the_same, check_library};
use crate::compile::{c_with, other, sources};
use crate::run::{IORACLE, Program, library};

/// An MPI as Debian installs several beside each other.
pub struct Mpi {
    pub name: &'static str,
    launch: &'static [&'static str],
}

pub const MPICH: Mpi = Mpi { name: "mpich", launch: &["mpirun.mpich"] };
pub const OPEN_MPI: Mpi = Mpi {
    name: "openmpi",
    launch: &["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "--quiet"],
};

/// Those that are here; says so where one is missing.
pub fn installed() -> impl Iterator<Item = &'static Mpi> {
    [&MPICH, &OPEN_MPI].into_iter().filter(|mpi| mpi.is_here())
}

impl Mpi {
    /// Whether it is installed; says so where it is not.
    pub fn is_here(&self) -> bool {
        let launcher = Command::new(self.launch[0]).arg("--version").output();
        let is_here = launcher.is_ok_and(|output| output.status.success());
        if !is_here {
            skip(&format!("there is no '{}'", self.launch[0]));
        }
        is_here
    }

    pub fn c(&self, name: &str) -> Option<PathBuf> {
        let compiler = format!("mpicc.{}", self.name);
        other(&compiler, &format!("{name}.c"), &["-O2", "-std=gnu11", "-pthread"])
    }

    /// Ranks of a program.
    pub fn run(&self, program: &Path, ranks: u32) -> Program {
        let ranks = ranks.to_string();
        let words = self.launch[1..].iter().copied().chain(["-n", &ranks]);
        words.fold(Program::new(self.launch[0]), |command, word| command.arg(word)).arg(program)
    }
}

#[test]
fn every_form_of_mpi_io_is_recorded_with_its_place_in_the_file() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_io") else { continue };
        for ranks in [1, 2, 4] {
            let done = check_library(&mpi.run(&program, ranks), "mpi_");
            assert_eq!(done.recorded_of("mpi_").len(), ranks as usize, "a stream per rank");
        }
    }
}

/// Large counts, all ways to complete requests, and calls that fail.
#[test]
fn forms_that_few_programs_use_are_recorded_and_failures_stay_what_they_are() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_rows") else { continue };
        for (ranks, failures) in [(1, 22), (2, 19)] {
            let done = check_library(&mpi.run(&program, ranks), "mpi_");
            assert_eq!(done.out.lines().count(), failures, "{}: {}", mpi.name, done.out);
        }
    }
}

/// MPICH does MPI-IO by ROMIO, Open MPI in a way of its own or by ROMIO too.
#[test]
fn views_without_bytes_are_not_asked_for_places() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_empty_views") else { continue };
        for ranks in [1, 2] {
            let run = mpi.run(&program, ranks);
            if mpi.name == MPICH.name {
                check_library(&run.arg("romio"), "mpi_");
                continue;
            }
            check_library(&run, "mpi_");
            if has_romio() {
                let run = mpi.run(&program, ranks).env("OMPI_MCA_io", ROMIO);
                check_library(&run.arg("romio"), "mpi_");
            }
        }
    }
}

/// ROMIO's name in Open MPI 4.
const ROMIO: &str = "romio321";

/// Whether this Open MPI has it; says so where it has not.
fn has_romio() -> bool {
    let listed = Command::new("ompi_info").output();
    let is_here = listed
        .is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains(&format!("io: {ROMIO}")));
    if !is_here {
        skip(&format!("this Open MPI has no '{ROMIO}'"));
    }
    is_here
}

/// The oracle then learns within the calls of MPI's own threads of control.
#[test]
fn the_oracle_may_learn_inside_a_program_of_mpi() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_io") else { continue };
        check_library(&mpi.run(&program, 2).option("--in-process"), "mpi_");
    }
}

/// A reader per rank, one model of all: the second run is predicted from its
/// first operation on.
#[test]
fn ranks_with_readers_of_their_own_share_a_model() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_io") else { continue };
        let place = tempfile::tempdir().unwrap();
        let mut known = Vec::new();
        for _ in 0..2 {
            let mut command = Command::new(mpi.launch[0]);
            command.args(&mpi.launch[1..]).args(["-n", "4", IORACLE, "run", "--quiet"]);
            command.args(["--model", "app.model", "--summary", "summary.json", "--"]);
            command.arg(&program).current_dir(place.path()).env("IORACLE_LIBRARY", library());
            let output = command.output().expect("the launcher starts");
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {err}", mpi.name);
            known = (0..4).map(|rank| summary_of(place.path(), rank)["model"].clone()).collect();
        }
        for model in known {
            assert_eq!(model["known"]["runs"], 1, "{}: {model}", mpi.name);
            assert!(model["known"]["roles"].as_u64() >= Some(4), "{}: {model}", mpi.name);
            let first = model["first"]["context_accuracy"].as_f64();
            assert!(first >= Some(95.0), "{}: {model}", mpi.name);
        }
    }
}

fn summary_of(place: &Path, rank: u32) -> serde_json::Value {
    let text = std::fs::read(place.join(format!("summary.rank-{rank}.json"))).expect("a summary");
    serde_json::from_slice(&text).expect("it is JSON")
}

#[test]
fn four_threads_at_once_use_mpi() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_threads") else { continue };
        let done = check_library(&mpi.run(&program, 2), "mpi_");
        if done.out.contains("no threads") {
            skip(&format!("this {} has no MPI_THREAD_MULTIPLE", mpi.name));
        }
    }
}

#[test]
fn posix_calls_are_nested_in_those_of_mpi_and_waits_name_what_they_complete() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_io") else { continue };
        let done = mpi.run(&program, 1).recorded();
        let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
        let events: Vec<_> = trace.events(None).unwrap().map(Result::unwrap).collect();
        let calls =
            |name: &'static str| events.iter().filter(move |event| event.function.name() == name);
        let write = calls("mpi_write_at").next().expect("a write");
        let within = events.iter().find(|event| {
            event.stream == write.stream
                && event.depth > write.depth
                && event.function.layer() == Layer::Posix
                && event.function.name().starts_with("pwrite")
                && event.start_ns >= write.start_ns
                && event.end_ns <= write.end_ns
        });
        let within = within.expect("the write inside it");
        assert_eq!((within.offset, within.file), (write.offset, write.file));
        let parts: Vec<_> = calls("mpi_wait").filter(|wait| wait.is_further_part()).collect();
        let [part] = parts[..] else { panic!("one call waits for two: {parts:?}") };
        let whole = calls("mpi_wait").rfind(|wait| wait.sequence < part.sequence).unwrap();
        assert!(part.start_ns == whole.end_ns && part.end_ns == whole.end_ns);
        for wait in calls("mpi_wait") {
            let begin = events.iter().find(|event| {
                event.stream == wait.stream
                    && event.function.name().starts_with("mpi_i")
                    && wait.detail.split(' ').next() == Some(&*event.detail)
            });
            let begin = begin.expect("what it completes");
            assert!(begin.end_ns <= wait.start_ns && wait.detail.starts_with("request="));
            assert_eq!((begin.offset, begin.requested), (wait.offset, wait.requested));
        }
    }
}

/// `mpif.h`, `use mpi` and `use mpi_f08` end in different functions of the
/// libraries; each call of the program is one event all the same.
#[test]
fn fortran_is_recorded_whatever_way_it_takes() {
    let notes = sources().join("fortran_notes.c");
    for mpi in installed() {
        for way in ["-DMPIF_H", "-DUSE_MPI", "-DUSE_MPI_F08"] {
            let compiler = format!("mpif90.{}", mpi.name);
            let flags = ["-O2", "-cpp", "-fallow-argument-mismatch", way, notes.to_str().unwrap()];
            let Some(program) = other(&compiler, "mpi_fortran.f90", &flags) else { continue };
            for ranks in [1, 2] {
                check_library(&mpi.run(&program, ranks), "mpi_");
            }
        }
    }
}

/// Programs test for functions that they may not have; ours must not make them
/// believe in an MPI that is not there.
#[test]
fn a_program_without_mpi_learns_that_it_has_none() {
    let program = c_with("without_mpi", &["-ldl"]);
    let done = behaves_the_same(&Program::new(program));
    assert_eq!(done.out, "no MPI\n");
}

/// Python wheels bring their own copies of a library in a scope of their own,
/// where a search behind us finds nothing.
#[test]
fn plugins_with_copies_of_a_library_each_use_their_own() {
    let copy =
        |number: u32| c_with("mpi_copy", &["-shared", "-fPIC", &format!("-DANSWER={number}")]);
    let plugin = |copy: &Path| {
        let copy = copy.to_str().unwrap();
        c_with("mpi_plugin_part", &["-shared", "-fPIC", "-Wl,--no-as-needed", copy])
    };
    let copies = [1, 20, 300].map(copy);
    let program = Program::new(c_with("mpi_plugins", &["-ldl"]))
        .arg(plugin(&copies[0]))
        .arg(plugin(&copies[1]))
        .arg(&copies[2]);
    let done = behaves_the_same(&program);
    // Each asks twice, and 1000 is added for one of the questions.
    assert!(done.out.contains("beside 1002 1040\n"), "{}", done.out);
    assert!(done.out.contains("still 1002\nlate 1600\n"), "{}", done.out);
}
