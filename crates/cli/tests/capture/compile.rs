// SPDX-License-Identifier: MIT OR Apache-2.0

//! Builds the programs of `tests/programs`, each once per test run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use ioracle_testing::skip;

/// Where the sources are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

/// A program in C, as compilers usually build it: without frame pointers.
pub fn c(name: &str) -> PathBuf {
    c_with(name, &[])
}

/// The same with more arguments for the compiler.
pub fn c_with(name: &str, more: &[&str]) -> PathBuf {
    let usual = ["-O2", "-fomit-frame-pointer", "-std=gnu11", "-pthread"];
    built("cc", &format!("{name}.c"), &[&usual, more].concat()).expect("a C compiler")
}

/// A shared library in C.
pub fn shared(name: &str) -> PathBuf {
    c_with(name, &["-shared", "-fPIC"])
}

/// A program in another language, or with another compiler; None, with a
/// message, where the compiler is missing.
pub fn other(compiler: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let built = built(compiler, source, flags);
    if built.is_none() {
        skip(&format!("there is no '{compiler}' to build {source} with"));
    }
    built
}

/// Whether a tool can be started; says so where it cannot.
pub fn has_tool(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        skip(&format!("there is no '{name}'"));
    }
    found
}

/// Arguments for a Fortran program with a list of its calls, once for each of a
/// library's two interfaces.
pub fn fortran_ways<'a>(more: &[&'a str]) -> [Vec<&'a str>; 2] {
    static NOTES: LazyLock<String> =
        LazyLock::new(|| sources().join("fortran_notes.c").display().to_string());
    ["-DNF77", "-DNF90"].map(|way| {
        let usual = ["-O2", "-cpp", "-w", "-fallow-argument-mismatch", way, NOTES.as_str()];
        [&usual, more].concat()
    })
}

/// Whether a C header is there; says so, and which package has it, where not.
pub fn has_header(name: &str, package: &str) -> bool {
    Path::new("/usr/local/include").join(name).exists()
        || has_header_in("/usr/include", name, package)
}

/// The same for one that has a place of its own.
pub fn has_header_in(directory: &str, name: &str, package: &str) -> bool {
    let found = Path::new(directory).join(name).exists();
    if !found {
        skip(&format!("there is no '{name}'; Debian's package {package} has it"));
    }
    found
}

fn built(compiler: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    // Statics are not dropped: the programs stay until the next run of the tests.
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory for programs");
        directory
    });
    static BUILT: Mutex<Option<HashMap<String, Option<PathBuf>>>> = Mutex::new(None);

    let key = format!("{compiler} {source} {}", flags.join(" "));
    let mut built = BUILT.lock().expect("nobody panics while building");
    let built = built.get_or_insert_default();
    let n_built = built.len();
    built
        .entry(key)
        .or_insert_with(|| {
            // The name matters to programs that start themselves.
            let directory = DIRECTORY.join(n_built.to_string());
            std::fs::create_dir(&directory).expect("a directory for the program");
            let program = directory.join(source.split('.').next().unwrap_or(source));
            // Some compilers leave objects where they work.
            let output = Command::new(compiler)
                .current_dir(&directory)
                .args(flags.iter().filter(|flag| !flag.starts_with("-l")))
                .arg("-o")
                .arg(&program)
                .arg(sources().join(source))
                .args(flags.iter().filter(|flag| flag.starts_with("-l")))
                .output()
                .ok()?;
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{source} does not build:\n{messages}");
            Some(program)
        })
        .clone()
}
