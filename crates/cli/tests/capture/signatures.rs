// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of MPI's functions against the `mpi.h` that is installed: a C file
//! is made of the table, in which every function is assigned to a pointer of the
//! type that its row says. Handles differ between libraries, so a row only says
//! that there is one; the argument's name says which one.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use ioracle_testing::skip;

use crate::parallel::installed;

/// C's type of an argument, by its name and its type in the row.
fn c_type(function: &str, name: &str, row_type: &str) -> &'static str {
    let stores = function.contains("read");
    match (name, row_type) {
        ("comm", "Handle") => "MPI_Comm",
        ("info", "Handle") => "MPI_Info",
        ("file", "Handle") => "MPI_File",
        ("file", "*mut Handle") => "MPI_File *",
        ("datatype" | "etype" | "filetype", "Handle") => "MPI_Datatype",
        ("etype" | "filetype", "Word") => "MPI_Datatype *",
        ("request" | "requests", "Requests") => "MPI_Request *",
        ("path", "*const c_char") => "const char *",
        ("representation", "Word") if function.contains("get") => "char *",
        ("representation", "Word") => "const char *",
        ("buffer", "Word") if stores => "void *",
        ("buffer", "Word") => "const void *",
        ("status" | "statuses", "Word") => "MPI_Status *",
        ("index" | "flag" | "n_done" | "indices", "Word") => "int *",
        ("mode" | "whence" | "count", "c_int") => "int",
        ("count", "i64") => "MPI_Count",
        ("offset" | "displacement" | "size", "i64") => "MPI_Offset",
        ("displacement", "Word") => "MPI_Offset *",
        _ => panic!("{function}: nothing is known of '{name}: {row_type}'"),
    }
}

/// `[NAME] (ARGUMENTS) -> c_int` of every row.
fn rows() -> Vec<(String, Vec<&'static str>)> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/src/calls/mpi/c.rs");
    let table = std::fs::read_to_string(table).expect("the table of rows");
    let row = |line: &str| {
        let (name, rest) = line.trim().strip_prefix("[MPI_")?.split_once("] (")?;
        let (arguments, result) = rest.split_once(") -> ")?;
        assert_eq!(result, "c_int", "MPI_{name}");
        let name = format!("MPI_{name}");
        let arguments = arguments.split(", ").map(|argument| {
            let (argument, row_type) = argument.split_once(": ").expect("name: type");
            c_type(&name, argument, row_type)
        });
        let arguments = arguments.collect();
        Some((name, arguments))
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn every_row_has_the_signature_that_mpi_declares() {
    let rows = rows();
    let names: BTreeSet<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.len() == rows.len() && names.len() > 80, "{} rows were found", names.len());
    let mut source = String::from(
        "#include <mpi.h>\n\
         _Static_assert(sizeof(MPI_Offset) == 8 && sizeof(MPI_Count) == 8, \"numbers\");\n\
         _Static_assert(sizeof(MPI_Request) == 4 || sizeof(MPI_Request) == 8, \"requests\");\n\
         _Static_assert(sizeof(MPI_File) == sizeof(void *), \"files\");\n",
    );
    for (name, arguments) in &rows {
        let assigned = format!("int (*row_{name})({}) = {name};\n", arguments.join(", "));
        // What MPI-4 brought.
        let _ = match name.ends_with("_c") {
            true => write!(source, "#if MPI_VERSION >= 4\n{assigned}#endif\n"),
            false => source.write_str(&assigned),
        };
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("rows.c");
    std::fs::write(&file, source).unwrap();
    for mpi in installed() {
        let compiler = format!("mpicc.{}", mpi.name);
        let output = Command::new(&compiler)
            .args(["-fsyntax-only", "-Werror", "-Wincompatible-pointer-types"])
            .arg(&file)
            .output();
        let Ok(output) = output else {
            skip(&format!("there is no '{compiler}'"));
            continue;
        };
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {messages}", mpi.name);
    }
}
