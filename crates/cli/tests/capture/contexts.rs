// SPDX-License-Identifier: MIT OR Apache-2.0

//! The context of a call: the stack that `backtrace()` finds, and the same one
//! in every run, wherever the program was loaded.

use std::collections::BTreeSet;

use ioracle_trace::{ReadOptions, Trace};

use crate::compile::{c, c_with, shared};
use crate::run::{Done, Program};

/// Deep stacks, handlers, alternate stacks, coroutines, plug-ins, threads, and
/// code with and without frame pointers. A program whose parts lie 64 KiB apart
/// has holes between them, which the dynamic linker describes in another way.
fn programs() -> Vec<Program> {
    let mut programs: Vec<Program> = [
        "coroutines",
        "fork_shares_position",
        "posix_calls",
        "recursion",
        "signal_jumps",
        "signal_small_stack",
        "signal_writes",
        "stdio_calls",
        "threads_at_once",
        "vfork_exec",
    ]
    .map(|name| Program::new(c(name)))
    .into();
    programs.push(Program::new(c("plugin")).arg(shared("plugin_part")));
    programs.push(Program::new(c("signal_binding")).arg(shared("signal_binding_part")));
    let with_frame_pointers = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"];
    programs.push(Program::new(c_with("stdio_calls", &with_frame_pointers)));
    programs.push(Program::new(c_with("recursion", &["-O0"])));
    let with_holes = "-Wl,-z,max-page-size=0x10000";
    programs.push(Program::new(c_with("recursion", &[with_holes])));
    programs.push(Program::new(c_with("recursion", &[with_holes, "-no-pie"])));
    programs
}

#[test]
fn call_stacks_are_those_that_backtrace_finds() {
    for program in programs() {
        let done = program.env("IORACLE_CHECK_STACKS", "1").recorded();
        assert_eq!(done.status(), 0, "{}", done.err);
        let stacks = done.summary()["stacks"].clone();
        assert!(stacks["checked"].as_u64() > Some(5), "{stacks}: {}", done.err);
        assert_eq!(stacks["different"], 0, "{}", done.err);
    }
}

#[test]
fn the_same_calls_have_the_same_contexts_in_every_run() {
    for name in ["posix_calls", "stdio_calls", "recursion", "coroutines", "threads_at_once"] {
        let program = Program::new(c(name));
        let (first, second) = (program.recorded(), program.recorded());
        assert!(frames(&first).len() > 2, "{}", first.err);
        assert_eq!(frames(&first), frames(&second), "{name}");
    }
}

#[test]
fn different_lines_have_different_contexts() {
    // Every call of the program stands on a line of its own.
    let done = Program::new(c("posix_calls")).recorded();
    let n_calls: usize = done.expected().iter().map(Vec::len).sum();
    let n_frames = frames(&done).len();
    assert!(n_frames * 10 >= n_calls * 9, "{n_frames} contexts of {n_calls} calls");
}

/// The call stacks of a trace; one of which nothing is known is `?`.
pub fn frames(done: &Done) -> BTreeSet<String> {
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).expect("a trace");
    trace.contexts().iter().map(|(_, frames)| frames.to_owned()).collect()
}
