// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that do their I/O through PnetCDF. Debian's is built for Open MPI;
//! one that is built for MPICH is tested where `PNETCDF_MPICH` names the prefix
//! that it is installed under.

use std::path::PathBuf;

use ioracle_events::Layer;
use ioracle_testing::skip;
use ioracle_trace::{ReadOptions, Trace};

use crate::agree::check_library;
use crate::compile::{fortran_ways, has_header, other};
use crate::parallel::{MPICH, OPEN_MPI};

fn built(compiler: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let is_here = has_header("pnetcdf.h", "libpnetcdf-dev") && OPEN_MPI.is_here();
    if is_here { other(compiler, source, flags) } else { None }
}

/// A program in C for Open MPI.
pub fn built_in_c(source: &str) -> Option<PathBuf> {
    built("mpicc.openmpi", source, &["-O1", "-std=gnu11", "-lpnetcdf"])
}

#[test]
fn every_form_of_pnetcdf_is_recorded_with_variable_and_selection() {
    let Some(program) = built_in_c("pnetcdf_io.c") else { return };
    for ranks in [1, 2, 4] {
        let done = check_library(&OPEN_MPI.run(&program, ranks), "ncmpi_");
        assert_eq!(done.status(), 0, "{}", done.err);
        assert_eq!(done.recorded_of("ncmpi_").len(), ranks as usize, "a stream per rank");
    }
}

#[test]
fn pnetcdf_on_mpich_is_recorded_the_same() {
    let Ok(prefix) = std::env::var("PNETCDF_MPICH") else {
        return skip("PNETCDF_MPICH names no PnetCDF that is built for MPICH");
    };
    let (include, library) = (format!("-I{prefix}/include"), format!("-L{prefix}/lib"));
    let found_at = format!("-Wl,-rpath,{prefix}/lib");
    let flags = ["-O1", "-std=gnu11", &include, &library, &found_at, "-lpnetcdf"];
    let Some(program) = other("mpicc.mpich", "pnetcdf_io.c", &flags) else { return };
    for ranks in [1, 2, 4] {
        let done = check_library(&MPICH.run(&program, ranks), "ncmpi_");
        assert_eq!(done.status(), 0, "{}", done.err);
    }
}

/// The Fortran functions are in the same library, and call those of C through
/// their exported names.
#[test]
fn pnetcdf_in_fortran_is_recorded_by_either_interface() {
    let headers = [
        "-I/usr/include/x86_64-linux-gnu",
        "-I/usr/lib/x86_64-linux-gnu/fortran/gfortran-mod-15",
        "-lpnetcdf",
    ];
    for flags in fortran_ways(&headers) {
        let Some(program) = built("mpif90.openmpi", "pnetcdf_fortran.f90", &flags) else { return };
        for ranks in [1, 2] {
            let done = check_library(&OPEN_MPI.run(&program, ranks), "ncmpi_");
            assert_eq!(done.status(), 0, "{}", done.err);
        }
    }
}

#[test]
fn mpi_io_is_nested_in_pnetcdf_and_waits_name_what_they_complete() {
    let Some(program) = built_in_c("pnetcdf_io.c") else { return };
    let done = OPEN_MPI.run(&program, 1).recorded();
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
    let events: Vec<_> = trace.events(None).unwrap().map(Result::unwrap).collect();
    let calls = |name: &str| {
        let of_name = |event: &&ioracle_events::Event| event.function.name() == name;
        events.iter().filter(of_name).collect::<Vec<_>>()
    };
    let write = calls("ncmpi_put_vara_all")[0];
    let within = |layer| {
        events.iter().any(|event| {
            event.function.layer() == layer
                && event.depth > write.depth
                && event.file == write.file
                && event.start_ns >= write.start_ns
                && event.end_ns <= write.end_ns
        })
    };
    assert!(write.depth == 0 && within(Layer::MpiIo) && within(Layer::Posix));
    let request = |event: &ioracle_events::Event| {
        let (_, behind) = event.detail.rsplit_once("request=")?;
        behind.split(' ').next().map(str::to_owned)
    };
    let waits = calls("ncmpi_wait_all");
    assert!(waits.iter().filter(|wait| request(wait).is_some()).count() > 100);
    for wait in waits.iter().filter(|wait| request(wait).is_some()) {
        let begin = events
            .iter()
            .find(|event| event.function.access().is_data() && request(event) == request(wait));
        let begin = begin.expect("what it completes");
        assert!(begin.end_ns <= wait.start_ns && begin.requested == wait.requested);
    }
    // Of two requests in one wait the one whose numbers did not fit has failed.
    let failed: Vec<_> = waits.iter().filter(|wait| wait.failed()).collect();
    let [failed] = failed[..] else { panic!("one request fails: {failed:?}") };
    assert_eq!(failed.object(), Some("field"));
    let with_it = waits.iter().find(|wait| wait.end_ns == failed.end_ns && !wait.failed());
    assert_eq!(with_it.and_then(|wait| wait.object()), Some("more"));
}
