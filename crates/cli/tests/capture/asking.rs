// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that ask `ioracle_next` what they are going to do.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::agree::behaves_the_same;
use crate::compile::c_with;
use crate::run::{Done, IORACLE, Program};

/// A program of `tests/programs` that is linked with `libioracle.so`.
fn linked(name: &str) -> PathBuf {
    // Where the linker looks for it at run time, under the name that it asks for.
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linked");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory for the library");
        for name in ["libioracle.so", "libioracle.so.0"] {
            symlink(libioracle(), directory.join(name)).expect("a link to the library");
        }
        directory
    });
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
    let directory = DIRECTORY.display();
    let flags = [
        format!("-I{}", include.display()),
        format!("-L{directory}"),
        format!("-Wl,-rpath,{directory}"),
        "-lioracle".to_owned(),
    ];
    c_with(name, &flags.each_ref().map(String::as_str))
}

/// The library, built as a dependency of this test.
fn libioracle() -> PathBuf {
    let beside = Path::new(IORACLE).with_file_name("deps").join("libioracle_capi.so");
    assert!(beside.exists(), "libioracle was not built at {}", beside.display());
    beside
}

/// `asks` with its arguments: threads, periods, predictions, nanoseconds to wait.
fn asks(arguments: [u64; 4]) -> Program {
    let program = Program::new(linked("asks"));
    arguments.iter().fold(program, |program, argument| program.arg(argument.to_string()))
}

/// What a thread of `asks` counted.
struct Counted {
    asked: u64,
    right: u64,
    stale: u64,
    other: u64,
    walked: u64,
    result: String,
}

fn counted(done: &Done) -> Vec<Counted> {
    let count = |line: &str| {
        let words: Vec<&str> =
            line.split([' ', '(', ')']).filter(|word| !word.is_empty()).collect();
        let after = |name: &str| {
            let place = words.iter().position(|word| *word == name).expect("a count of that name");
            words[place + 1].parse().expect("a number")
        };
        Counted {
            asked: after("asked"),
            right: after("right"),
            stale: after("stale"),
            other: after("other"),
            walked: after("walked"),
            result: words.iter().find(|word| word.starts_with("IORACLE_")).unwrap().to_string(),
        }
    };
    done.out.lines().map(count).collect()
}

const A_SECOND: u64 = 1_000_000_000;

#[test]
fn a_periodic_program_is_told_what_it_does_next() {
    for [threads, steps] in [[1, 1], [1, 12], [4, 3]] {
        let done = asks([threads, 60, steps, 5 * A_SECOND]).recorded();
        assert_eq!(done.code, Some(0), "{}", done.err);
        let counted = counted(&done);
        assert_eq!(counted.len() as u64, threads);
        for thread in counted {
            assert_eq!(thread.asked, 48 * 9);
            assert_eq!((thread.right, thread.other), (thread.asked, 0), "{}", done.out);
        }
    }
}

#[test]
fn who_does_not_wait_is_told_the_truth_or_that_it_is_not_known() {
    let done = asks([1, 3000, 4, 0]).recorded();
    assert_eq!(done.code, Some(0), "{}", done.err);
    let thread = &counted(&done)[0];
    assert_eq!(thread.right + thread.stale, thread.asked, "{}", done.out);
    assert!(thread.walked > 0, "the thread is ahead, and follows the path: {}", done.out);
}

#[test]
fn without_ioracle_run_there_is_no_answer_and_no_harm() {
    let done = asks([2, 20, 4, A_SECOND]).plainly();
    assert_eq!(done.code, Some(0), "{}", done.err);
    for thread in counted(&done) {
        assert_eq!((thread.other, &*thread.result), (thread.asked, "IORACLE_UNAVAILABLE"));
    }
    let done = asks([1, 20, 4, A_SECOND]).env("IORACLE_DISABLE", "1").recorded();
    assert_eq!(counted(&done)[0].result, "IORACLE_UNAVAILABLE");
}

#[test]
fn asking_changes_nothing_of_what_a_program_does() {
    // Whether an answer is stale depends on the time; what is done does not.
    let program = asks([3, 20, 1, 0]);
    let files = |done: &Done| -> Vec<Vec<u8>> {
        (0..3)
            .map(|thread| std::fs::read(done.work().join(format!("state-{thread}"))).unwrap())
            .collect()
    };
    let (plain, captured) = (program.plainly(), program.recorded());
    assert_eq!(files(&plain), files(&captured));
    behaves_the_same(&Program::new(linked("asks")).arg("1").arg("0"));
}
