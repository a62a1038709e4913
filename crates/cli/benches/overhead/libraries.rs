// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time added to a call of a library above POSIX. What it adds to the calls
//! inside is part of it.

use crate::calls::printed_number;
use crate::pairs::Pairs;
use crate::tools::Tools;

const CALLS: &str = "50000";
const ROUNDS: usize = 9;

/// What is called, and how the program is told.
const HDF5: &[(&str, &str)] = &[
    ("H5Dwrite of 4 KiB, a part of a dataset", "w"),
    ("H5Dread of 4 KiB, a part of a dataset", "r"),
    ("H5Dwrite of 4 KiB, all of a dataset", "a"),
    ("H5Dopen and H5Dclose", "o"),
];

/// Prints the table.
pub fn report(tools: &Tools) {
    let Some(program) = tools.compile_with("h5cc", &["-shlib"], "hdf5") else {
        return println!("There is no 'h5cc' to measure HDF5 with.\n");
    };
    let program = program.to_string_lossy();
    let directory = tools.scratch.path().to_string_lossy();
    println!("## Time added to a call of a library\n");
    println!(
        "Medians of {ROUNDS} pairs. Capture asks the library which part of what is moved, and \
         records the POSIX calls inside, which the added time holds too.\n"
    );
    println!("| call | plain ns | captured ns | added ns |");
    println!("| --- | ---: | ---: | ---: |");
    for (call, kind) in HDF5 {
        let command = [&*program, kind, CALLS, &*directory];
        let pairs = Pairs::measure(
            ROUNDS,
            || printed_number(tools.plain(&command)),
            || printed_number(tools.captured(&command)),
        );
        let [plain, captured, added] = [pairs.plain(), pairs.captured(), pairs.added()];
        println!("| {call} | {plain:.0} | {captured:.0} | {added:.0} |");
    }
    println!();
}
