// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files that hold a program rather than its data, recognised by their names: an
//! interpreter imports many small files, and nobody can merge them.

use std::path::Path;

/// Endings of source, compiled code and archives of both.
const ENDINGS: [&str; 27] = [
    "cjs", "class", "dll", "dylib", "egg", "el", "elc", "jar", "ji", "jl", "js", "lua", "luac",
    "mjs", "node", "php", "pl", "pm", "py", "pyc", "pyd", "pyi", "pyo", "pyw", "rb", "so", "tcl",
];

/// Directories that contain only packages of an interpreter.
const DIRECTORIES: [&str; 5] =
    ["__pycache__", "site-packages", "dist-packages", "node_modules", ".julia"];

/// Whether a path is that of code: by its ending, which a version may follow
/// (`libm.so.6`), or by a directory of packages above it.
pub fn is_code(path: &str) -> bool {
    let path = Path::new(path);
    let is_package = path.components().any(|part| {
        DIRECTORIES.iter().any(|directory| part.as_os_str() == std::ffi::OsStr::new(directory))
    });
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return is_package };
    let has_version = name.contains(".so.") && name.ends_with(|c: char| c.is_ascii_digit());
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    is_package || has_version || ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_separated_from_data() {
        for path in [
            "/usr/lib/python3.11/json/__pycache__/decoder.cpython-311.pyc",
            "/usr/lib/python3.11/json/decoder.py",
            "/lib/x86_64-linux-gnu/libm.so.6",
            "libhdf5.so.103.3.0",
            "venv/lib/python3.11/site-packages/numpy-1.26.dist-info/METADATA",
            "app.jar",
        ] {
            assert!(is_code(path), "{path}");
        }
        for path in
            ["out.0017", "data/part.1.nc", "a", "py", "run.so_far", "pyc/x.h5", "log.2024.12", ""]
        {
            assert!(!is_code(path), "{path}");
        }
    }
}
