// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that do their I/O through netCDF.

use std::fs;

use crate::agree::check_library;
use crate::compile::{fortran_ways, has_header, other, sources};
use crate::listed::check_listed;
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
