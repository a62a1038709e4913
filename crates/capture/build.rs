// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compiles the little that stable Rust cannot say (variadic definitions,
//! thread-locals in static TLS), and lets the C compiler check the signatures of
//! the `header` rows against the system's headers.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// What Rust's standard library wants of the unwinder; see `no_unwinder.c`.
const UNWINDER: [&str; 12] = [
    "Backtrace",
    "DeleteException",
    "GetDataRelBase",
    "GetIP",
    "GetIPInfo",
    "GetLanguageSpecificData",
    "GetRegionStart",
    "GetTextRelBase",
    "RaiseException",
    "Resume",
    "SetGR",
    "SetIP",
];

const TABLES: [&str; 4] =
    ["src/calls/posix.rs", "src/calls/metadata.rs", "src/calls/stdio.rs", "src/calls/process.rs"];

fn main() {
    println!("cargo::rerun-if-changed=src/variadic.c");
    println!("cargo::rerun-if-changed=src/no_unwinder.c");
    // Without a walk of our own `backtrace()` needs the real one.
    let is_portable = env::var_os("CARGO_FEATURE_PORTABLE").is_some();
    if !is_portable && env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|it| it == "x86_64") {
        for function in UNWINDER {
            println!("cargo::rustc-link-arg-cdylib=-Wl,--wrap=_Unwind_{function}");
        }
    }
    let directory = env::var("OUT_DIR").expect("cargo sets it");
    let signatures = Path::new(&directory).join("signatures.c");
    fs::write(&signatures, signature_checks()).expect("the build directory can be written");
    cc::Build::new()
        .files([Path::new("src/variadic.c"), Path::new("src/no_unwinder.c"), &signatures])
        .flag_if_supported("-fvisibility=hidden")
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("ioracle_variadic");
}

/// C code that compiles only if the rows are right.
fn signature_checks() -> String {
    let mut checks = String::from(
        "#define _GNU_SOURCE\n#include <aio.h>\n#include <fcntl.h>\n#include <signal.h>\n\
         #include <stdarg.h>\n#include <stdio.h>\n#include <unistd.h>\n",
    );
    for table in TABLES {
        println!("cargo::rerun-if-changed={table}");
        let text = fs::read_to_string(table).expect("the tables are there");
        for row in text.split("\n    header [").skip(1) {
            check_row(row, &mut checks);
        }
    }
    checks
}

/// `a, b] (x: T, y: U) -> R` and what follows.
fn check_row(row: &str, checks: &mut String) {
    let parse = || {
        let (names, rest) = row.split_once(']')?;
        let (arguments, rest) = rest.split_once('(')?.1.split_once(") -> ")?;
        let result = rest.split_once("=>")?.0.trim();
        Some((names, arguments, result))
    };
    let (names, arguments, result) = parse().unwrap_or_else(|| panic!("cannot read '{row}'"));
    for name in names.split(',').map(str::trim) {
        let types: Vec<String> = arguments
            .split(',')
            .filter_map(|argument| argument.split_once(": "))
            .map(|(_, rust)| in_c(rust.trim(), name))
            .collect();
        let result = in_c(result, name);
        let types = types.join(", ");
        // Macros of the same name stand aside for a name without arguments.
        writeln!(
            checks,
            "_Static_assert(__builtin_types_compatible_p(__typeof__(({name})), {result}({types})), \
             \"the row of {name} is wrong\");"
        )
        .expect("a string takes all");
    }
}

/// A type of the tables in C.
fn in_c(rust: &str, function: &str) -> String {
    let control = if function.ends_with("64") { "struct aiocb64" } else { "struct aiocb" };
    let c = match rust {
        "()" => "void",
        "c_int" => "int",
        "c_uint" | "u32" => "unsigned",
        "VaList" => "va_list",
        "*mut libc::aiocb" => return format!("{control} *"),
        "*const *mut libc::aiocb" => return format!("{control} *const *"),
        "*mut libc::sigevent" => "struct sigevent *",
        "*mut FILE" => "FILE *",
        "*const c_char" => "const char *",
        "*mut c_char" => "char *",
        "*mut *mut c_char" => "char **",
        "*mut size_t" => "size_t *",
        "*const c_void" => "const void *",
        "*mut c_void" => "void *",
        plain @ ("size_t" | "ssize_t" | "off_t" | "off64_t") => plain,
        other => panic!("the type '{other}' of '{function}' has no name in C yet"),
    };
    c.to_owned()
}
