// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that do their I/O through HDF5: serial and parallel, in C, C++,
//! Fortran and Python, as a plug-in, from several threads.

use std::fs;
use std::path::PathBuf;

use ioracle_events::Layer;
use ioracle_trace::{ReadOptions, Trace};

use crate::compile::{c_with, other, shared, sources};
use crate::listed::{check_listed, events};
use crate::parallel::installed;
use crate::run::{Done, Program};
use crate::wheels;

/// Builds with one of HDF5's compilers, which link it statically unless asked not to.
fn built(compiler: &str, source: &str, more: &[&str]) -> Option<PathBuf> {
    other(compiler, source, &[&["-shlib", "-O2"], more].concat())
}

#[test]
fn every_form_of_hdf5_is_recorded_with_object_and_selection() {
    let Some(program) = built("h5cc", "hdf5_calls.c", &[]) else { return };
    let done = check_listed(&Program::new(program), "H5");
    assert!(done.out.contains("6 errors"), "{}", done.out);
    is_nested(&done, "H5Dwrite", &[Layer::Posix]);
}

/// A call inside another comes through the hook of the outer one. When contexts held
/// that frame, each build of the capture library had others, and saved models knew
/// none of them.
#[test]
fn contexts_of_nested_calls_hold_no_frame_of_ours() {
    let Some(program) = built("h5cc", "hdf5_calls.c", &[]) else { return };
    let done = Program::new(program).env("IORACLE_CHECK_STACKS", "1").recorded();
    assert_eq!(done.status(), 0, "{}", done.err);
    assert_eq!(done.summary()["stacks"]["different"], 0, "{}", done.err);
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).expect("a trace");
    let contexts: Vec<&str> = trace.contexts().iter().map(|(_, frames)| frames).collect();
    assert!(contexts.iter().any(|frames| frames.contains("libhdf5")), "{contexts:?}");
    let ours = contexts.iter().find(|frames| frames.contains("ioracle"));
    assert_eq!(ours, None);
}

#[test]
fn ranks_of_mpi_use_hdf5_independently_and_together() {
    for mpi in installed() {
        let compiler = format!("h5pcc.{}", mpi.name);
        let Some(program) = built(&compiler, "hdf5_calls.c", &["-DPARALLEL"]) else { continue };
        for ranks in [1, 2, 4] {
            let done = check_listed(&mpi.run(&program, ranks), "H5");
            is_nested(&done, "H5Dwrite", &[Layer::MpiIo, Layer::Posix]);
        }
    }
}

#[test]
fn cpp_and_fortran_are_recorded_as_the_calls_of_c_that_they_make() {
    for (compiler, source) in [("h5c++", "hdf5_cpp.cc"), ("h5fc", "hdf5_fortran.f90")] {
        let Some(program) = built(compiler, source, &[]) else { continue };
        check_listed(&Program::new(program), "H5");
    }
}

/// Two wheels with an HDF5 each, in scopes of their own.
#[test]
fn python_wheels_side_by_side_use_their_own_hdf5() {
    let Some(python) = wheels::python() else { return };
    let program = Program::new(python).arg(sources().join("hdf5_wheels.py"));
    let captured = check_listed(&program, "H5");
    let plain = program.plainly();
    for file in ["python.h5", "python.nc"] {
        let [plain, captured] = [&plain, &captured].map(|done| fs::read(done.work().join(file)));
        assert!(plain.unwrap() == captured.unwrap(), "{file} is the same");
    }
}

/// Debian's HDF5 is older than these calls; that of h5py is not.
#[test]
fn many_datasets_at_once_and_calls_that_may_wait_are_recorded() {
    let Some(library) = wheels::hdf5() else { return };
    let place = library.parent().unwrap().to_str().unwrap();
    let name = library.file_name().unwrap().to_str().unwrap();
    let program = c_with(
        "hdf5_new",
        &[
            &format!("-L{place}"),
            &format!("-Wl,-rpath,{place}"),
            &format!("-Wl,-rpath-link,{place}"),
            &format!("-l:{name}"),
        ],
    );
    check_listed(&Program::new(program), "H5");
}

/// Identifiers were ints before 1.10, which no distribution has any more.
#[test]
fn identifiers_of_old_versions_are_the_lower_half_of_what_comes() {
    let old = shared("hdf5_old_copy");
    let program = c_with("hdf5_old", &["-Wl,--no-as-needed", old.to_str().unwrap()]);
    let done = check_listed(&Program::new(program), "H5");
    assert_eq!(done.out, "done\n");
}

#[test]
fn four_threads_at_once_use_hdf5() {
    let Some(program) = built("h5cc", "hdf5_threads.c", &["-pthread"]) else { return };
    check_listed(&Program::new(program), "H5");
}

/// A plug-in's identifiers are the same each time it is loaded, and the same as
/// those of another plug-in with another HDF5 beside it.
#[test]
fn plugins_that_bring_hdf5_come_and_go() {
    let part = |compiler| built(compiler, "hdf5_plugin_part.c", &["-shared", "-fPIC"]);
    let Some(serial) = part("h5cc") else { return };
    let Some(other) = part("h5pcc.mpich").or_else(|| part("h5pcc.openmpi")) else { return };
    let program = Program::new(c_with("hdf5_plugins", &["-ldl"])).arg(serial).arg(other);
    check_listed(&program, "H5");
}

/// Demands that inside some call of this name there is one of each of the layers
/// below, each inside the one before.
fn is_nested(done: &Done, name: &str, below: &[Layer]) {
    let events = events(done);
    let outer = events.iter().filter(|event| event.function.name() == name);
    let found = outer.into_iter().any(|outer| {
        below.iter().zip(1..).all(|(layer, deeper)| {
            events.iter().any(|inner| {
                inner.stream == outer.stream
                    && inner.function.layer() == *layer
                    && inner.depth == outer.depth + deeper
                    && inner.start_ns >= outer.start_ns
                    && inner.end_ns <= outer.end_ns
            })
        })
    });
    assert!(found, "no {name} with {below:?} inside");
}
