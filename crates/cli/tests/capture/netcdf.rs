// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that do their I/O through netCDF.

use crate::agree::check_library;
use crate::compile::has_header;
use crate::run::Program;

/// A program of ours, or none where netCDF is not installed.
fn built(source: &str, compiler: &str, flags: &[&str]) -> Option<std::path::PathBuf> {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return None;
    }
    crate::compile::other(compiler, source, &[&["-O2"], flags].concat())
}

#[test]
fn every_form_of_netcdf_is_recorded_with_variable_and_selection() {
    let Some(program) = built("netcdf_io.c", "cc", &["-std=gnu11", "-lnetcdf"]) else { return };
    for format in ["classic", "offset64", "cdf5", "netcdf4"] {
        let done = check_library(&Program::new(&program).arg(format), "nc_");
        assert_eq!(done.status(), 0, "{format}: {}", done.err);
    }
}
