// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that do their I/O through netCDF.

use std::collections::BTreeSet;
use std::fs;

use ioracle_events::{Access, Event, Layer};

use crate::agree::check_library;
use crate::compile::{fortran_ways, has_header, has_header_in, other, sources};
use crate::listed::{check_listed, events};
use crate::parallel::OPEN_MPI;
use crate::run::Program;
use crate::wheels;

#[test]
fn every_form_of_netcdf_is_recorded_with_variable_and_selection() {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    let flags = ["-O2", "-std=gnu11", "-lnetcdf"];
    let program = other("cc", "netcdf_io.c", &flags).expect("a C compiler");
    for format in ["classic", "offset64", "cdf5", "netcdf4"] {
        let done = check_library(&Program::new(&program).arg(format), "nc_");
        assert_eq!(done.status(), 0, "{format}: {}", done.err);
    }
}

/// Debian's parallel netCDF is built for Open MPI.
#[test]
fn ranks_of_mpi_use_netcdf_together_and_each_on_its_own() {
    let headers = "x86_64-linux-gnu/netcdf/mpi/include";
    if !has_header_in("/usr/lib", &format!("{headers}/netcdf_par.h"), "libnetcdf-mpi-dev")
        || !OPEN_MPI.is_here()
    {
        return;
    }
    let include = format!("-I/usr/lib/{headers}");
    let flags = ["-O1", "-std=gnu11", &include, "-lnetcdf_mpi"];
    let Some(program) = other("mpicc.openmpi", "netcdf_parallel.c", &flags) else { return };
    for ranks in [1, 2, 4] {
        let done = check_library(&OPEN_MPI.run(&program, ranks), "nc_");
        assert_eq!(done.status(), 0, "{}", done.err);
        assert_eq!(done.recorded_of("nc_").len(), ranks as usize, "a stream per rank");
        let events = events(&done);
        for (variable, inside) in [("together", "mpi_write_at_all"), ("alone", "mpi_write_at")] {
            let writes = writes_inside(&events, variable);
            assert_eq!(writes, [inside].into(), "{ranks} ranks, {variable}");
        }
        let collective = done.summary()["netcdf"]["collective_calls"].as_u64();
        assert!(collective >= Some(u64::from(3 * 2 * ranks)), "{collective:?} of {ranks} ranks");
    }
}

/// How MPI-IO writes what netCDF puts into a variable.
fn writes_inside(events: &[Event], variable: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for (place, put) in events.iter().enumerate() {
        if put.function.name() != "nc_put_vara" || put.object() != Some(variable) {
            continue;
        }
        let of_rank = events[place + 1..].iter().filter(|event| event.stream == put.stream);
        let inside = of_rank.take_while(|event| event.depth > put.depth);
        let of_mpi = inside.filter(|event| event.function.layer() == Layer::MpiIo);
        let writes = of_mpi.filter(|event| event.function.access() == Access::Write);
        found.extend(writes.map(|event| event.function.name()));
    }
    found
}

/// A number was once taken for that of the file that had it before, and a program
/// crashed when we read more of its arrays than there was.
#[test]
fn a_file_in_memory_takes_over_the_number_of_another() {
    if !has_header("netcdf_mem.h", "libnetcdf-dev") {
        return;
    }
    let flags = ["-O2", "-std=gnu11", "-lnetcdf", "-ldl"];
    let program = other("cc", "netcdf_memory.c", &flags).expect("a C compiler");
    let done = check_library(&Program::new(&program), "nc_");
    assert_eq!((done.status(), &*done.out), (0, "unharmed\n"), "{}", done.err);
}

/// The Fortran library calls the one for C, through its exported names.
#[test]
fn netcdf_in_fortran_is_recorded_by_either_interface() {
    if !has_header("netcdf.inc", "libnetcdff-dev") {
        return;
    }
    for flags in fortran_ways(&["-I/usr/include", "-lnetcdff", "-lnetcdf"]) {
        let Some(program) = other("gfortran", "netcdf_fortran.f90", &flags) else { return };
        let done = check_library(&Program::new(&program), "nc_");
        assert_eq!(done.status(), 0, "{}", done.err);
    }
}

/// Two wheels side by side, of which one brings a netCDF and both an HDF5.
#[test]
fn python_wheels_use_their_own_netcdf() {
    let Some(python) = wheels::python() else { return };
    let program = Program::new(python).arg(sources().join("netcdf_wheels.py"));
    let (plain, captured) = (program.plainly(), check_listed(&program, "nc_"));
    for file in ["four.nc", "three.nc"] {
        let [plain, captured] = [&plain, &captured].map(|done| fs::read(done.work().join(file)));
        assert!(plain.unwrap() == captured.unwrap(), "{file} is the same");
    }
}
