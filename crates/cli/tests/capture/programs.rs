// SPDX-License-Identifier: MIT OR Apache-2.0

//! One test per hazard: the program's own list of calls against the trace.

use crate::agree::{behaves_the_same, check, check_files};
use crate::compile::{c, c_with, shared};
use crate::run::{Done, Program};
use crate::trouble::every_call_is_recorded_or_counted;

fn checked(name: &str) -> Done {
    check(&Program::new(c(name)))
}

fn checked_with(name: &str, argument: &str) -> Done {
    check(&Program::new(c(name)).arg(argument))
}

#[test]
fn every_posix_function_is_recorded_under_all_its_names() {
    checked("posix_calls");
}

#[test]
fn every_stdio_function_is_recorded_with_its_place_in_the_file() {
    checked("stdio_calls");
}

#[test]
fn checked_forms_are_recorded_as_the_functions_they_check() {
    check(&Program::new(c_with("fortified", &["-D_FORTIFY_SOURCE=2"])));
}

#[test]
fn all_posix_functions_are_recorded_in_a_fortified_program() {
    check(&Program::new(c_with("posix_calls", &["-D_FORTIFY_SOURCE=2"])));
    check(&Program::new(c_with("stdio_calls", &["-D_FORTIFY_SOURCE=2"])));
}

#[test]
fn printing_to_a_file_is_recorded() {
    check(&Program::new(c("printed")).output_to("output"));
    check(&Program::new(c("printed")).arg("freopen"));
}

#[test]
fn failures_and_short_transfers_keep_result_and_errno() {
    checked("errors");
}

#[test]
fn appending_writes_are_placed_at_the_end_of_the_file() {
    checked("append");
}

#[test]
fn duplicated_descriptors_share_one_position() {
    checked("duplicates");
}

#[test]
fn holes_and_direct_access_have_exact_positions() {
    checked("sparse");
}

#[test]
fn mappings_of_files_are_recorded() {
    checked("mapped");
}

#[test]
fn copies_in_the_kernel_are_a_read_and_a_write() {
    checked("kernel_copies");
}

#[test]
fn parent_and_forked_child_share_a_position() {
    checked("fork_shares_position");
}

#[test]
fn children_may_be_forked_while_threads_are_at_work() {
    checked("forks_among_threads");
}

#[test]
fn a_vfork_child_closes_and_duplicates_for_itself_alone() {
    checked("vfork_exec");
}

#[test]
fn spawned_programs_are_followed() {
    checked("spawned");
}

#[test]
fn exec_goes_on_in_the_same_file() {
    checked("exec_inherits");
}

#[test]
fn children_made_by_clone_do_no_harm() {
    checked("cloned");
}

#[test]
fn eight_threads_at_once_are_eight_streams() {
    checked("threads_at_once");
}

#[test]
fn ten_thousand_threads_in_turn_leave_nothing_behind() {
    checked("threads_in_turn");
}

#[test]
fn threads_with_the_smallest_stack_have_room_enough() {
    checked("threads_small");
}

#[test]
fn threads_may_end_in_any_way() {
    check_files(&Program::new(c("threads_ending")), &["data"]);
}

#[test]
fn a_signal_handler_may_write_at_any_moment() {
    check_files(&Program::new(c("signal_writes")), &["ticks", "main", "text"]);
}

#[test]
fn a_handler_may_jump_out_of_a_recorded_call() {
    check_files(&Program::new(c("signal_jumps")), &["sure"]);
}

#[test]
fn handlers_on_small_stacks_have_room_enough() {
    checked_with("signal_small_stack", "8192");
}

#[test]
fn coroutines_are_followed_from_stack_to_stack() {
    checked("coroutines");
}

#[test]
fn calls_from_very_deep_stacks_are_recorded() {
    checked("recursion");
}

/// Rows of libraries once took such functions for netCDF's: results were cut to 32
/// bits, and what was no pointer was followed.
#[test]
fn functions_of_the_application_that_only_have_a_librarys_names_are_left_alone() {
    let own = shared("namesakes_part");
    let program = Program::new(c_with("namesakes", &["-Wl,--no-as-needed", own.to_str().unwrap()]));
    let done = behaves_the_same(&program);
    assert!(done.out.starts_with("0\n3\nbc\n285\n1099511627811\n0\n7.5\n"), "{}", done.out);
}

#[test]
fn plugins_come_and_go() {
    let plugin = shared("plugin_part");
    check(&Program::new(c("plugin")).arg(plugin));
}

#[test]
fn every_way_to_end_leaves_all_calls_behind() {
    for way in [
        "return",
        "exit",
        "_exit",
        "quick_exit",
        "exit_in_atexit",
        "exit_in_handler",
        "_exit_in_handler",
        "abort_in_handler",
        "abort",
        "kill",
        "segv",
        "syscall",
    ] {
        checked_with("endings", way);
    }
}

#[test]
fn a_program_may_close_every_descriptor() {
    for way in ["close_range", "closefrom", "loop", "raw"] {
        checked_with("closes_all", way);
    }
}

#[test]
fn standard_descriptors_may_become_files() {
    let done = checked("closes_standard");
    let written = std::fs::read_to_string(done.work().join("two")).unwrap();
    assert_eq!(written, "number two\n");
}

#[test]
fn ten_thousand_open_files_are_told_apart() {
    checked("many_files");
}

#[test]
fn odd_names_do_not_break_the_trace() {
    checked("odd_names");
}

#[test]
fn files_without_a_name_are_files() {
    checked("nameless");
}

#[test]
fn relative_paths_follow_the_working_directory() {
    checked("directories");
}

#[test]
fn a_process_that_drops_its_privileges_goes_on_being_recorded() {
    let done = behaves_the_same(&Program::new(c("drops_privileges")));
    every_call_is_recorded_or_counted(&done);
    assert!(done.recorded().concat().len() >= 3, "what was done as root, and some more");
}

#[test]
fn raw_calls_pass_by_and_do_no_harm() {
    checked("raw_calls");
}

#[test]
fn only_files_are_recorded() {
    checked("not_files");
}

#[test]
fn streams_that_are_no_files_are_left_alone() {
    checked("memory_streams");
}

#[test]
fn asynchronous_requests_are_recorded_when_they_are_made() {
    checked("asynchronous");
}

/// AddressSanitizer used to refuse to run below a library that it had not
/// expected.
#[test]
fn sanitized_programs_run_as_ever() {
    for sanitizer in ["-fsanitize=address", "-fsanitize=undefined"] {
        for name in ["posix_calls", "threads_at_once", "fork_shares_position"] {
            check(&Program::new(c_with(name, &[sanitizer])));
        }
    }
}

#[test]
fn limits_of_the_process_are_not_run_into() {
    for limit in ["fsize", "as", "nofile"] {
        behaves_the_same(&Program::new(c("limits")).arg(limit));
    }
}

#[test]
fn a_sandbox_entered_in_the_middle_is_respected() {
    for way in ["strict", "prctl", "seccomp", "threads"] {
        checked_with("sandbox", way);
    }
}

#[test]
fn a_bad_pointer_is_the_kernels_to_refuse() {
    // A path that a failed call had not read was read by the recorder, which
    // took every error but EFAULT for a sign that it had been.
    behaves_the_same(&Program::new(c("bad_pointers")));
}

#[test]
fn what_libc_does_inside_itself_puts_no_call_in_a_wrong_place() {
    checked("out_of_sight");
}

#[test]
fn no_lock_is_taken_and_nothing_is_read_that_may_be_gone() {
    let program = c_with("careful", &["-rdynamic"]);
    for hazard in ["lock", "aio", "dlsym"] {
        behaves_the_same(&Program::new(&program).arg(hazard));
    }
}
