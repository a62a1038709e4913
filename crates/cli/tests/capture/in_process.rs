// SPDX-License-Identifier: MIT OR Apache-2.0

//! `--in-process`: the oracle runs on the threads of the program. The hazards
//! are those of capture, and some more: it allocates, and needs a stack.

use crate::agree::{behaves_the_same, check, check_files};
use crate::asking::{asks, check_answers, counted, linked};
use crate::compile::{c, c_with, has_tool, shared, sources};
use crate::programs::{ENDINGS, EXEC_INHERITS_STATUS, SANDBOX_STATUS, small_stack_program};
use crate::run::Program;
use crate::trouble::PROMISED_STACK;

fn in_process(program: Program) -> Program {
    program.option("--in-process")
}

fn checked(name: &str, arguments: &[&str]) {
    checked_ending(name, arguments, 0);
}

fn checked_ending(name: &str, arguments: &[&str], status: i32) {
    let program = in_process(Program::new(c(name))).ending(status);
    check(&arguments.iter().fold(program, |program, argument| program.arg(argument)));
}

#[test]
fn the_answer_is_there_when_the_call_has_ended() {
    for [threads, steps] in [[1, 1], [1, 64], [4, 8]] {
        let done = in_process(asks([threads, 60, steps, 0])).recorded();
        assert_eq!(done.code, Some(0), "{}", done.err);
        for thread in counted(&done) {
            assert_eq!(thread.asked, 48 * 9);
            assert_eq!((thread.right, thread.walked), (thread.asked, 0), "{}", done.out);
        }
    }
}

#[test]
fn one_can_ask_anywhere() {
    check_answers(&in_process(Program::new(linked("asks_anywhere"))).recorded());
}

/// The program and its libraries take some 13 MB of addresses, the least room of
/// an oracle 8 more, which it may not have. It is answered all the same, by what
/// is published, and its caller gets a message.
#[test]
fn a_thread_without_room_is_not_learned_and_counted() {
    let program =
        Program::new("/bin/sh").arg("-c").arg("ulimit -v 18000; exec \"$0\" 1 60 1 5000000000");
    let done = in_process(program.arg(linked("asks").display().to_string())).recorded();
    assert_eq!(done.code, Some(0), "{}", done.err);
    for thread in counted(&done) {
        assert_eq!(thread.right, thread.asked, "{}", done.out);
    }
    assert_eq!(done.summary()["unrecorded"]["given_up_threads"], 1);
}

#[test]
fn signal_handlers_may_interrupt_anything() {
    for (name, files) in
        [("signal_writes", &["ticks", "main", "text"][..]), ("signal_jumps", &["sure"])]
    {
        check_files(&in_process(Program::new(c(name))), files);
    }
    check(&in_process(small_stack_program(PROMISED_STACK)));
}

#[test]
fn children_and_their_parents_go_their_ways() {
    for name in ["fork_shares_position", "forks_among_threads", "vfork_exec", "spawned", "cloned"] {
        checked(name, &[]);
    }
    checked_ending("exec_inherits", &[], EXEC_INHERITS_STATUS);
}

#[test]
fn threads_come_and_go() {
    for name in ["threads_at_once", "threads_in_turn", "threads_small"] {
        checked(name, &[]);
    }
    check_files(&in_process(Program::new(c("threads_ending"))), &["data"]);
}

#[test]
fn stacks_may_be_deep_small_and_many() {
    checked("recursion", &[]);
    checked("coroutines", &[]);
}

#[test]
fn every_way_to_end_leaves_all_calls_behind() {
    let ways = ["return", "_exit", "exit_in_handler", "abort_in_handler", "kill", "segv"];
    for (way, status) in ENDINGS.into_iter().filter(|(way, _)| ways.contains(way)) {
        checked_ending("endings", &[way], status);
    }
    checked("closes_all", &["close_range"]);
}

#[test]
fn limits_and_sandboxes_are_respected() {
    for limit in ["fsize", "as", "nofile"] {
        behaves_the_same(&in_process(Program::new(c("limits"))).arg(limit));
    }
    for way in ["strict", "threads"] {
        checked_ending("sandbox", &[way], SANDBOX_STATUS);
    }
}

#[test]
fn no_lock_of_the_program_is_taken() {
    let program = c_with("careful", &["-rdynamic"]);
    for hazard in ["lock", "aio", "dlsym"] {
        behaves_the_same(&in_process(Program::new(&program)).arg(hazard));
    }
    check(&in_process(Program::new(c("plugin"))).arg(shared("plugin_part")));
}

#[test]
fn python_starts_processes() {
    if has_tool("python3") {
        let script = sources().join("processes.py");
        behaves_the_same(&in_process(Program::new("python3")).arg("-B").arg(script));
    }
}

#[test]
fn sanitized_programs_run_as_ever() {
    check(&in_process(Program::new(c_with("threads_at_once", &["-fsanitize=address"]))));
}
