// SPDX-License-Identifier: MIT OR Apache-2.0

//! `strace -f` as the second witness: how often each call was made on each file.
//!
//! What a program calls through libc's exported functions must be the same in
//! both. The calls that libc makes inside itself (stdio's reads and writes) and
//! raw system calls are strace's alone; programs compared here make none on the
//! files compared, and for tools the difference is printed.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use ioracle_testing::skip;

use crate::compile::{c, has_tool, other, sources};
use crate::expected::Call;
use crate::run::Program;

/// System calls, and the functions they are recorded as.
const CALLS: [(&str, &str); 19] = [
    ("open", "open"),
    ("openat", "open"),
    ("creat", "open"),
    ("close", "close"),
    ("read", "read"),
    ("write", "write"),
    ("pread64", "pread"),
    ("pwrite64", "pwrite"),
    ("readv", "readv"),
    ("writev", "writev"),
    ("preadv", "preadv"),
    ("preadv2", "preadv"),
    ("pwritev", "pwritev"),
    ("pwritev2", "pwritev"),
    ("lseek", "lseek"),
    ("fsync", "fsync"),
    ("fdatasync", "fdatasync"),
    ("ftruncate", "ftruncate"),
    ("fallocate", "fallocate"),
];

/// How often a function was called on a file, by its name.
type Counts = BTreeMap<(String, String), u64>;

#[test]
fn strace_counts_the_same_calls_of_c_programs() {
    if !can_trace() {
        return;
    }
    for name in [
        "append",
        "coroutines",
        "duplicates",
        "exec_inherits",
        "many_files",
        "sparse",
        "threads_at_once",
        "writer",
    ] {
        agrees(name, &Program::new(c(name)), &["text", "log"]);
    }
}

#[test]
fn strace_counts_the_same_calls_of_a_fortran_program() {
    let Some(program) = other("gfortran", "records.f90", &["-O2"]) else { return };
    if can_trace() {
        agrees("records.f90", &Program::new(program), &[]);
    }
}

#[test]
fn strace_counts_the_same_calls_of_a_cxx_program() {
    let Some(program) = other("g++", "iostreams.cc", &["-O2"]) else { return };
    if can_trace() {
        agrees("iostreams.cc", &Program::new(program), &[]);
    }
}

#[test]
fn strace_counts_the_same_calls_of_python_programs() {
    if !can_trace() || !has_tool("python3") {
        return;
    }
    let python = |name: &str| {
        Program::new("python3").arg("-B").arg(sources().join(name)).env("PYTHONHASHSEED", "0")
    };
    agrees("files.py", &python("files.py"), &[]);
    agrees("processes.py", &python("processes.py"), &["inherited"]);
}

/// Prints what strace sees and the trace does not have, for tools that use
/// stdio or raw calls as they like.
#[test]
fn what_tools_do_inside_libc_is_reported() {
    if !can_trace() {
        return;
    }
    let shell = |script: &str| Program::new("sh").arg("-c").arg(script);
    for (name, script) in [
        ("cp", "seq 10000 > a; cp a b"),
        ("cat", "seq 10000 > a; cat a a > b"),
        ("sort", "seq 10000 > a; sort -n -r a -o b"),
        ("tar", "seq 10000 > a; tar cf b a; tar xf b"),
    ] {
        let (seen, recorded) = both(&shell(script));
        for (key, count) in &seen {
            let recorded = recorded.get(key).copied().unwrap_or(0);
            if recorded != *count {
                eprintln!("{name}: {} of {}: strace {count}, recorded {recorded}", key.0, key.1);
            }
            assert!(recorded <= *count, "{name}: {key:?} strace {count}, recorded {recorded}");
        }
    }
}

/// Whether there is a strace, and whether it is allowed here.
fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let can = traced.is_ok_and(|status| status.success());
    if !can {
        skip("there is no strace, or it may not trace here");
    }
    can
}

/// Demands equal counts on all files but those of `stdio_files`, whose data
/// goes through stdio.
fn agrees(name: &str, program: &Program, stdio_files: &[&str]) {
    let (mut seen, mut recorded) = both(program);
    let through_stdio = |key: &(String, String)| {
        stdio_files.contains(&key.1.as_str()) && key.0 != "open" && key.0 != "close"
    };
    seen.retain(|key, _| !through_stdio(key));
    recorded.retain(|key, _| !through_stdio(key));
    assert!(!seen.is_empty(), "{name}: strace saw nothing");
    assert_eq!(recorded, seen, "{name}: recorded (left) and strace (right) differ");
}

fn both(program: &Program) -> (Counts, Counts) {
    let calls: Vec<&str> = CALLS.iter().map(|(call, _)| *call).collect();
    let traced = program.traced(&calls.join(","));
    let lines =
        fs::read_to_string(traced.beside().join("witness")).expect("strace wrote its lines");
    let work = traced.work().canonicalize().unwrap();
    let seen = count_lines(&lines, work.to_str().unwrap());
    let recorded = program.recorded();
    assert_eq!(recorded.status(), traced.status(), "{}", recorded.err);
    (seen, count_calls(recorded.recorded().into_iter().flatten()))
}

/// Counts lines of strace such as `17 read(3</data/file>, ""..., 5) = 5` and
/// `17 openat(AT_FDCWD</data>, "file", O_RDONLY) = 3</data/file>`.
fn count_lines(lines: &str, work: &str) -> Counts {
    let mut counts = Counts::new();
    for line in lines.lines() {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let resumed = line.strip_prefix("<... ");
        let name = resumed.unwrap_or(line).split(['(', ' ']).next().unwrap_or("");
        let Some((_, function)) = CALLS.iter().find(|(call, _)| *call == name) else { continue };
        let path = match *function {
            "open" => line.rsplit_once(" = ").map(|(_, result)| result),
            _ if resumed.is_some() => None,
            _ => line.split_once('(').map(|(_, arguments)| arguments),
        };
        let path = path.and_then(|text| text.split_once('<')).and_then(|(descriptor, rest)| {
            let path = rest.split('>').next()?;
            descriptor.bytes().all(|byte| byte.is_ascii_digit()).then_some(path)
        });
        if let Some(file) = path.and_then(|path| path.strip_prefix(work)) {
            let file = file.trim_end_matches(" (deleted)").rsplit('/').next().unwrap_or("");
            *counts.entry(((*function).to_owned(), file.to_owned())).or_default() += 1;
        }
    }
    counts.retain(|(_, file), _| !file.is_empty());
    counts
}

/// Counts recorded calls the same way: stdio's opens and closes are opens and
/// closes of the file, its data calls are not system calls.
fn count_calls(calls: impl Iterator<Item = Call>) -> Counts {
    let mut counts = Counts::new();
    for call in calls {
        let function = match call.function.as_str() {
            "fopen" | "freopen" => "open",
            "fclose" => "close",
            other => other,
        };
        let opened = function != "open" || call.result >= 0;
        if opened && CALLS.iter().any(|(_, recorded)| *recorded == function) {
            *counts.entry((function.to_owned(), call.file)).or_default() += 1;
        }
    }
    counts
}
