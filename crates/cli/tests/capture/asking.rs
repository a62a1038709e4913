// SPDX-License-Identifier: MIT OR Apache-2.0

//! Programs that ask `ioracle_next` what they are going to do.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::agree::behaves_the_same;
use crate::compile::c_with;
use crate::run::{Done, IORACLE, Program, library};

/// A program of `tests/programs` that is linked with `libioracle.so`.
pub fn linked(name: &str) -> PathBuf {
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
pub fn asks(arguments: [u64; 4]) -> Program {
    let program = Program::new(linked("asks"));
    arguments.iter().fold(program, |program, argument| program.arg(argument.to_string()))
}

/// What a thread of `asks` counted.
pub struct Counted {
    pub asked: u64,
    pub right: u64,
    pub stale: u64,
    pub other: u64,
    pub walked: u64,
    pub result: String,
}

pub fn counted(done: &Done) -> Vec<Counted> {
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
fn a_periodic_program_learns_what_it_does_next() {
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
fn a_question_without_waiting_is_answered_correctly_or_as_stale() {
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

/// What `asks_anywhere` prints below `ioracle run`.
pub fn check_answers(done: &Done) {
    assert_eq!(done.code, Some(0), "{}", done.err);
    let mut lines: Vec<&str> = done.out.lines().collect();
    // Whether anything is known before the first call depends on the run.
    lines.retain(|line| !line.contains("before its first call"));
    let expected = [
        "no room: IORACLE_INVALID",
        "first: IORACLE_OK",
        "thread: IORACLE_OK",
        "handler: answered",
        "forked child: IORACLE_OK",
        "vfork child: IORACLE_UNAVAILABLE",
        "parent: IORACLE_OK",
        "executed: IORACLE_OK",
    ];
    assert_eq!(lines, expected, "{}", done.out);
    for place in ["thread before its first call", "forked child before its first call"] {
        let known = ["IORACLE_OK", "IORACLE_STALE"].map(|result| format!("{place}: {result}"));
        assert!(done.out.lines().any(|line| known.iter().any(|it| it == line)), "{}", done.out);
    }
}

#[test]
fn one_can_ask_anywhere() {
    check_answers(&Program::new(linked("asks_anywhere")).recorded());
}

#[test]
fn a_thread_without_room_gets_limit() {
    let program = asks([1, 20, 1, A_SECOND]).option("--limit").option("30000");
    assert_eq!(counted(&program.recorded())[0].result, "IORACLE_LIMIT");
}

/// Kills the reader, or takes its directory away, while a program asks.
fn left_alone(argument: &str, harm: impl FnOnce(&mut Child, &Path)) -> String {
    let place = tempfile::tempdir().unwrap();
    let spools = place.path().join("spools");
    std::fs::create_dir(&spools).unwrap();
    let output = place.path().join("output");
    let mut command = Command::new(IORACLE)
        .args(["run", "--quiet", "--dir"])
        .arg(&spools)
        .arg("--")
        .arg(linked("asks_anywhere"))
        .arg(argument)
        .env("IORACLE_LIBRARY", library())
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(File::create(&output).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let written = || std::fs::read_to_string(&output).unwrap();
    while !written().contains("first") && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
    harm(&mut command, &spools);
    while !written().contains("with waiting") && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    let _ = command.kill();
    let _ = command.wait();
    written()
}

#[test]
fn when_the_reader_is_killed_the_answer_is_that_it_has_ended() {
    let kill = |reader: &mut Child, _: &Path| {
        reader.kill().unwrap();
        reader.wait().unwrap();
    };
    let said = left_alone("for ever", kill);
    let expected =
        "first: IORACLE_OK\nwithout waiting: IORACLE_ENDED\nwith waiting: IORACLE_ENDED\n";
    assert_eq!(said, expected);
    let said = left_alone("waiting", kill);
    assert_eq!(said, "first: IORACLE_OK\nwith waiting: IORACLE_ENDED\n");
}
