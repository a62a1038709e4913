// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests that lack a tool say so, in a file that outlives them.
//!
//! A test that returns early looks like one that passed. So each says what it
//! left out and why, `scripts/run-tests` lists that at the end, and in CI what
//! is not in `tests/skips.allowed` is a failure.

use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The variable that names the file that skips are added to.
pub const SKIPS: &str = "IORACLE_SKIPS";

/// Says that the running test leaves something out, and why.
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    let Some(path) = std::env::var_os(SKIPS) else { return };
    // If it cannot be reported, that is a failure: nobody would ever know.
    add(path.as_ref(), reason).unwrap_or_else(|error| panic!("{SKIPS}: {error}"));
}

fn add(path: &Path, reason: &str) -> std::io::Result<()> {
    let line = format!("{}\t{}\n", test(), reason.replace(['\n', '\t'], " "));
    // Other tests, also of other binaries, add theirs at the same time: one
    // write behind the end of the file is not torn.
    File::options().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

/// The running test: the program without the hash that cargo adds, and the name
/// of the thread, which is that of the test.
fn test() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let current = std::thread::current();
    format!("{program} {}", current.name().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_of_many_threads_are_a_line_each() {
        let place = tempfile::tempdir().unwrap();
        let path = &place.path().join("skips");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let reason = format!("there is no\n'tool {thread}'");
                scope.spawn(move || (0..100).for_each(|_| add(path, &reason).unwrap()));
            }
        });
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), 800);
        let is_whole = |line: &str| line.split_once("\tthere is no 'tool ").is_some();
        assert!(text.lines().all(|line| is_whole(line) && line.ends_with('\'')));
    }

    #[test]
    fn a_test_knows_its_name() {
        assert_eq!(test(), "ioracle_testing skip::tests::a_test_knows_its_name");
    }
}
