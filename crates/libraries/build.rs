// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compiles the shims of the features that are on, and links their libraries.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(parallel_netcdf)");
    println!("cargo::rerun-if-changed=src/shims");
    println!("cargo::rerun-if-env-changed=MPICC");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG_PATH");
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let (mpi, hdf5, netcdf) = (has("MPI"), has("HDF5"), has("NETCDF"));
    if !(mpi || hdf5 || netcdf) {
        return;
    }
    let mut flags = Vec::new();
    let mut is_open_mpi = false;
    if mpi {
        let compiler = env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
        let shown = output(Command::new(&compiler).arg("-show")).unwrap_or_else(|| {
            panic!("'{compiler} -show' failed; install MPI, or name its compiler with MPICC")
        });
        is_open_mpi = shown.contains("openmpi") || shown.contains("-lopen-pal");
        flags.extend(shown.split_whitespace().skip(1).map(str::to_owned));
    }
    let packages = |names: &[&str]| {
        let found = names
            .iter()
            .find_map(|name| output(Command::new("pkg-config").args(["--cflags", "--libs", name])));
        let found = found.unwrap_or_else(|| {
            panic!("pkg-config knows none of {names:?}; install the library's headers")
        });
        found.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    if hdf5 {
        flags.extend(match (mpi, is_open_mpi) {
            (true, true) => packages(&["hdf5-openmpi", "hdf5-mpi"]),
            (true, false) => packages(&["hdf5-mpich", "hdf5-mpi"]),
            (false, _) => packages(&["hdf5-serial", "hdf5"]),
        });
    }
    if netcdf {
        // Debian has a parallel netCDF for Open MPI alone; with another MPI the
        // serial one is used, with a file for each task.
        let parallel = mpi && is_open_mpi;
        let names: &[&str] = if parallel { &["netcdf-mpi"] } else { &["netcdf"] };
        flags.extend(packages(names));
        if parallel {
            println!("cargo::rustc-cfg=parallel_netcdf");
            // Its package does not say where the parallel headers are.
            let prefix =
                output(Command::new("pkg-config").args(["--variable=prefix", "netcdf-mpi"]));
            let prefix = prefix.unwrap_or_default();
            flags.insert(0, format!("-I{}/include", prefix.trim()));
        }
    }
    compile(&flags, mpi, hdf5, netcdf, mpi && is_open_mpi);
    link(&flags);
}

fn compile(flags: &[String], mpi: bool, hdf5: bool, netcdf: bool, parallel_netcdf: bool) {
    let mut build = cc::Build::new();
    for flag in flags.iter().filter(|flag| flag.starts_with("-I") || flag.starts_with("-D")) {
        build.flag(flag);
    }
    let mut define = |name: &str, is_on: bool| {
        if is_on {
            build.define(name, "1");
        }
    };
    define("WITH_MPI", mpi);
    define("PARALLEL_NETCDF", parallel_netcdf);
    for (name, is_on) in [("mpi", mpi), ("hdf5", hdf5), ("netcdf", netcdf)] {
        if is_on {
            build.file(format!("src/shims/{name}.c"));
        }
    }
    build.warnings(true).compile("ioracle_shims");
}

fn link(flags: &[String]) {
    for flag in flags {
        if let Some(directory) = flag.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={directory}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo::rustc-link-lib=dylib={library}");
        }
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
