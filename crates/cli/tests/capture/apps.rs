// SPDX-License-Identifier: MIT OR Apache-2.0

//! A quick part of `make test-apps`: real programs write the same files, byte
//! for byte, with and without capture.

use std::path::Path;
use std::process::Command;

use ioracle_testing::skip;

use crate::run::{IORACLE, library};

#[test]
fn real_tools_write_the_same_under_capture() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test-apps");
    let done = Command::new(script)
        .args(["shell", "tar", "compiler", "git", "sqlite", "fortran"])
        .env("IORACLE", IORACLE)
        .env("IORACLE_LIBRARY", library())
        .output()
        .expect("the script starts");
    let lines = String::from_utf8_lossy(&done.stdout);
    for line in lines.lines().filter(|line| line.starts_with("skip")) {
        skip(line);
    }
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(lines.contains("pass   shell"), "a shell is there: {lines}");
}
