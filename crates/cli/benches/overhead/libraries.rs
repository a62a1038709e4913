// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time added to a call of a library above POSIX. What it adds to the calls
//! inside is part of it.

use std::path::Path;

use crate::calls::printed_number;
use crate::pairs::Pairs;
use crate::tools::Tools;

const CALLS: &str = "50000";
const ROUNDS: usize = 9;

/// A program of `benches/programs`, and what builds it.
struct Measured {
    program: &'static str,
    compiler: &'static str,
    more: &'static [&'static str],
    /// Without it the program is left out.
    header: Option<&'static str>,
    /// What is called, and the argument that selects it.
    calls: &'static [(&'static str, &'static str)],
}

const MEASURED: &[Measured] = &[
    Measured {
        program: "mpi",
        compiler: "mpicc.mpich",
        more: &[],
        header: None,
        calls: &[("MPI_File_write_at of 4 KiB, MPICH", "w")],
    },
    Measured {
        program: "mpi",
        compiler: "mpicc.openmpi",
        more: &[],
        header: None,
        calls: &[("MPI_File_write_at of 4 KiB, Open MPI", "w")],
    },
    Measured {
        program: "hdf5",
        compiler: "h5cc",
        more: &["-shlib"],
        header: None,
        calls: &[
            ("H5Dwrite of 4 KiB, a part of a dataset", "w"),
            ("H5Dread of 4 KiB, a part of a dataset", "r"),
            ("H5Dwrite of 4 KiB, all of a dataset", "a"),
            ("H5Dopen and H5Dclose", "o"),
        ],
    },
    Measured {
        program: "netcdf",
        compiler: "cc",
        more: &["-lnetcdf"],
        header: Some("/usr/include/netcdf.h"),
        calls: &[
            ("nc_put_vara of 4 KiB, classic format", "c"),
            ("nc_get_vara of 4 KiB, classic format", "r"),
            ("nc_put_vara of 4 KiB, netCDF-4", "4"),
        ],
    },
    Measured {
        program: "pnetcdf",
        compiler: "mpicc.openmpi",
        more: &["-lpnetcdf"],
        header: Some("/usr/include/pnetcdf.h"),
        calls: &[("ncmpi_put_vara_all of 4 KiB", "a"), ("ncmpi_put_vara of 4 KiB", "i")],
    },
];

/// Prints the table; what is not installed is left out.
pub fn report(tools: &Tools) {
    println!("## Time added to a call of a library\n");
    println!(
        "One process, one thread. Medians of {ROUNDS} pairs. Capture asks the library which part of \
         which object was moved, and records the POSIX calls inside; the added time includes both.\n"
    );
    println!("| call | plain ns | captured ns | added ns |");
    println!("| --- | ---: | ---: | ---: |");
    for measured in MEASURED {
        rows(measured, tools);
    }
    println!();
}

fn rows(Measured { program, compiler, more, header, calls }: &Measured, tools: &Tools) {
    if let Some(header) = header.filter(|header| !Path::new(header).exists()) {
        return eprintln!("left out: there is no '{header}'");
    }
    let Some(program) = tools.compile_with(compiler, more, program) else {
        return eprintln!("left out: there is no '{compiler}'");
    };
    let program = program.to_string_lossy();
    let directory = tools.scratch.path().to_string_lossy();
    for (call, kind) in *calls {
        let command = [&*program, kind, CALLS, &*directory];
        let pairs = Pairs::measure(
            ROUNDS,
            || printed_number(tools.plain(&command)),
            || printed_number(tools.captured(&command)),
        );
        let [plain, captured, added] = [pairs.plain(), pairs.captured(), pairs.added()];
        println!("| {call} | {plain:.0} | {captured:.0} | {added:.0} |");
    }
}
