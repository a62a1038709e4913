// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether what was recorded is what the program says it did.

use std::fmt::Write;

use crate::expected::{ANY, Call};
use crate::run::{Done, Program};

/// Runs the program both ways and demands the same behaviour, and a trace that
/// agrees with the program's own list, thread by thread and call for call.
pub fn check(program: &Program) -> Done {
    let done = behaves_the_same(program);
    compare(&done);
    done
}

/// Like [`check`] for programs that only keep a list of their calls of a library:
/// those whose names begin so.
pub fn check_library(program: &Program, names: &str) -> Done {
    let done = behaves_the_same(program);
    demand(&done.expected(), &done.recorded_of(names), &done);
    done
}

/// Demands that the trace of a run agrees with the program's own list.
pub fn compare(done: &Done) {
    demand(&done.expected(), &done.recorded(), done);
}

/// Fails at the first difference, and where there is nothing to compare: a
/// program that has not kept its list agrees with everything.
fn demand(expected: &[Vec<Call>], recorded: &[Vec<Call>], done: &Done) {
    assert!(!expected.is_empty(), "the program names no call of its own; {}", done.err);
    if let Some(fault) = difference(expected, recorded) {
        panic!("{fault}\nthe command said: {}", done.err);
    }
}

/// Like [`check`], for programs whose calls on some files cannot be compared one by
/// one: only the calls on `files` are compared, and for each file alone, because
/// a signal handler may come between a call and the note of it.
pub fn check_files(program: &Program, files: &[&str]) -> Done {
    let done = behaves_the_same(program);
    let (expected, recorded) = (done.expected(), done.recorded());
    for &file in files {
        let only = |threads: &[Vec<Call>]| -> Vec<Vec<Call>> {
            let calls = |thread: &Vec<Call>| -> Vec<Call> {
                thread.iter().filter(|call| call.file == file).cloned().collect()
            };
            threads.iter().map(calls).filter(|calls| !calls.is_empty()).collect()
        };
        eprintln!("comparing the calls on '{file}'");
        demand(&only(&expected), &only(&recorded), &done);
    }
    done
}

/// Runs the program both ways and demands the same output and exit status, and
/// that this is the one that the test expects: a program that fails either way
/// tests nothing.
pub fn behaves_the_same(program: &Program) -> Done {
    is_as_plainly(program, program.recorded())
}

/// The same for a program with so many calls that, on a busy machine, most of them would
/// be left in the recording and miss in the summary: nothing is recorded.
pub fn behaves_the_same_unrecorded(program: &Program) -> Done {
    is_as_plainly(program, program.watched())
}

fn is_as_plainly(program: &Program, captured: Done) -> Done {
    let plain = program.plainly();
    if let Some(expected) = program.status() {
        assert_eq!(plain.status(), expected, "exit status without capture; {}", plain.err);
    }
    assert_eq!(captured.status(), plain.status(), "exit status; {}", captured.err);
    assert_eq!(captured.out, plain.out, "standard output");
    // The summary follows what the program itself wrote.
    assert!(captured.err.starts_with(&plain.err), "{}\nplainly: {}", captured.err, plain.err);
    captured
}

/// The first difference, with the calls around it. Threads are found by what
/// they did: process and thread numbers are not part of a trace.
fn difference(expected: &[Vec<Call>], recorded: &[Vec<Call>]) -> Option<String> {
    let mut left: Vec<&Vec<Call>> = recorded.iter().collect();
    let mut unmatched = Vec::new();
    for thread in expected {
        match left.iter().position(|calls| first_difference(thread, calls).is_none()) {
            Some(found) => drop(left.swap_remove(found)),
            None => unmatched.push(thread),
        }
    }
    let Some(thread) = unmatched.first() else {
        let extra = left.first()?;
        return Some(format!(
            "{} threads were recorded that the program does not know of; one begins with\n{}",
            left.len(),
            excerpt(extra, 0)
        ));
    };
    // The one that agrees longest is most likely the same thread.
    let nearest = left.iter().max_by_key(|calls| first_difference(thread, calls));
    let Some(nearest) = nearest else {
        return Some(format!(
            "{} threads were not recorded; one begins with\n{}",
            unmatched.len(),
            excerpt(thread, 0)
        ));
    };
    let at = first_difference(thread, nearest).unwrap_or(0);
    Some(format!(
        "{} of {} threads differ; the first at its call {at} of {} (recorded: {}), expected\n{}recorded\n{}",
        unmatched.len(),
        expected.len(),
        thread.len(),
        nearest.len(),
        excerpt(thread, at),
        excerpt(nearest, at)
    ))
}

fn first_difference(expected: &[Call], recorded: &[Call]) -> Option<usize> {
    let same = expected.iter().zip(recorded).take_while(|(a, b)| agrees(a, b)).count();
    (same < expected.len().max(recorded.len())).then_some(same)
}

fn agrees(expected: &Call, recorded: &Call) -> bool {
    let field = |expected: i64, recorded: i64| expected == ANY || expected == recorded;
    expected.function == recorded.function
        && (expected.file == "*" || expected.file == recorded.file)
        && field(expected.offset, recorded.offset)
        && field(expected.requested, recorded.requested)
        && field(expected.result, recorded.result)
        && (expected.detail.is_empty() || expected.detail == recorded.detail)
}

fn excerpt(calls: &[Call], around: usize) -> String {
    let mut text = String::new();
    for (place, call) in calls.iter().enumerate().skip(around.saturating_sub(2)).take(5) {
        let mark = if place == around { '>' } else { ' ' };
        let number = |value: i64| if value == ANY { "any".to_owned() } else { value.to_string() };
        let _ = writeln!(
            text,
            "{mark} {place}: {} {} offset {} requested {} result {} {}",
            call.function,
            call.file,
            number(call.offset),
            number(call.requested),
            number(call.result),
            call.detail
        );
    }
    text
}

#[test]
fn a_missing_a_changed_and_a_superfluous_call_are_found() {
    let call = |offset| Call {
        function: "write".to_owned(),
        file: "data".to_owned(),
        offset,
        requested: 8,
        result: 8,
        detail: "T count=8".to_owned(),
    };
    let made = [vec![call(0), call(8)], vec![call(100)]];
    assert_eq!(difference(&made, &[vec![call(100)], vec![call(0), call(8)]]), None);
    for recorded in [
        vec![vec![call(0)], vec![call(100)]],
        vec![vec![call(0), call(9)], vec![call(100)]],
        vec![vec![call(0), call(8), call(16)], vec![call(100)]],
        vec![vec![call(8), call(0)], vec![call(100)]],
        vec![vec![call(0), call(8)]],
        vec![vec![call(0), call(8)], vec![call(100)], vec![call(5)]],
    ] {
        assert!(difference(&made, &recorded).is_some(), "{recorded:?}");
    }
    let any = Call { offset: ANY, file: "*".to_owned(), ..call(0) };
    assert_eq!(difference(&[vec![any]], &[vec![call(77)]]), None);
    let with_detail = |detail: &str| Call { detail: detail.to_owned(), ..call(0) };
    assert!(difference(&[vec![with_detail("U count=8")]], &[vec![call(0)]]).is_some());
    assert_eq!(difference(&[vec![with_detail("")]], &[vec![call(0)]]), None);
}
