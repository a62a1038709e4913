// SPDX-License-Identifier: MIT OR Apache-2.0

//! One test per hazard: the program's own list of calls against the trace.

use ioracle_trace::{ReadOptions, Trace};

use crate::agree::{behaves_the_same, check, check_files};
use crate::compile::{c, c_with, shared};
use crate::expected::Call;
use crate::run::{Done, Program};
use crate::trouble::{self, every_call_is_recorded_or_counted};

fn checked(name: &str) -> Done {
    check(&Program::new(c(name)))
}

fn checked_with(name: &str, argument: &str) -> Done {
    check(&Program::new(c(name)).arg(argument))
}

/// One whose handlers make calls where this many bytes of stack are left. Binding
/// of functions when they are first called would take some.
pub fn small_stack_program(left: usize) -> Program {
    Program::new(c_with("signal_small_stack", &["-Wl,-z,now"])).arg(left.to_string())
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

/// That of the program that is executed.
pub const EXEC_INHERITS_STATUS: i32 = 6;

#[test]
fn exec_goes_on_in_the_same_file() {
    check(&Program::new(c("exec_inherits")).ending(EXEC_INHERITS_STATUS));
}

/// The name of a child once ran on into what its parent had left in memory:
/// `/usr/bin/orterunnmpirun`.
#[test]
fn a_forked_child_has_the_name_of_its_parent() {
    let script = "echo x > out; (echo y > out); (echo z > out)";
    let done = behaves_the_same(&Program::new("sh").arg("-c").arg(script));
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
    let processes = trace.provenance().processes();
    let names: Vec<&str> = processes.iter().map(|process| &*process.executable).collect();
    assert!(names.len() >= 2 && names.iter().all(|name| *name == names[0]), "{names:?}");
    assert!(processes.iter().all(|process| process.command.starts_with("sh -c ")), "{names:?}");
}

/// A child whose library's handler did I/O was counted as two processes: ours, which
/// came later, took it for one that had not begun.
#[test]
fn a_child_is_one_process_whoever_makes_its_first_call() {
    let part = shared("atfork_part");
    let program = Program::new(c_with("atfork", &["-Wl,--no-as-needed", part.to_str().unwrap()]));
    let done = behaves_the_same(&program);
    assert_eq!(done.summary()["processes"]["seen"], 21, "{}", done.summary());
    let n_writes = |file: &str| {
        let calls = done.recorded().concat();
        calls.iter().filter(|call| call.function == "write" && call.file == file).count()
    };
    // Half of the children are made by `_Fork`, which runs no handlers.
    assert_eq!((n_writes("log"), n_writes("data")), (10, 80));
}

/// The child's end of a call that began in its parent was written into the parent's
/// stream, beside the parent's own.
#[test]
fn a_call_that_a_fork_makes_two_of_is_the_parents() {
    for way in [None, Some("handler")] {
        let program = Program::new(c("forks_in_call"));
        let done = match way {
            Some(way) => check_files(&program.arg(way), &["first", "parent", "child", "inside"]),
            None => check_files(&program, &["first", "parent", "child"]),
        };
        let of = |file: &str, function: &str| {
            let threads = done.recorded();
            let wanted = |call: &&Call| call.file == file && call.function == function;
            threads.iter().map(|calls| calls.iter().filter(wanted).count()).collect::<Vec<_>>()
        };
        // Two, one inside the other, by the parent; the inner one by the child, too.
        let mut printed = of("formatted", "fprintf");
        printed.sort_unstable();
        assert_eq!(printed, [1, 2], "{way:?}");
        assert_eq!(of("first", "write").iter().sum::<usize>(), 10, "{way:?}");
    }
}

/// Recording was switched on in a forked child before it was another process than
/// its parent: a handler's call in between went to the parent's stream.
#[test]
fn signals_at_a_childs_first_call_put_nothing_into_the_parents_stream() {
    let done = behaves_the_same(&Program::new(c("signal_in_child")));
    let threads = done.recorded();
    let is_parents = |calls: &&Vec<Call>| calls.iter().any(|call| call.file == "parent_data");
    let parents = threads.iter().find(is_parents).expect("the parent is recorded");
    let n_others = parents.iter().filter(|call| call.function == "write");
    let n_others = n_others.filter(|call| call.file != "parent_data").count();
    assert_eq!(n_others, 0, "calls of children in the parent's stream");
    let n_children = parents.iter().filter(|call| call.function == "write").count() as u64;
    assert!(n_children > 300, "{n_children} children");
    assert_eq!(done.summary()["processes"]["seen"], n_children + 1);
    assert!(threads.len() as u64 > n_children / 2, "{} streams", threads.len());
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

/// A thread's end was noticed by a key's destructor, for whose value glibc allocates
/// where other libraries have made many keys: inside the program's call.
#[test]
fn threads_of_a_program_with_many_keys_cost_it_no_allocation_and_leave_nothing_behind() {
    let part = shared("many_keys_part");
    let flags = ["-Wl,--no-as-needed", part.to_str().unwrap()];
    check(&Program::new(c_with("many_keys", &flags)));
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
    check(&small_stack_program(trouble::PROMISED_STACK));
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

/// A function of a library that is first called was searched with the dynamic
/// linker's lock, which is held while a plug-in's constructor runs; or in its list
/// without it, which another thread changed.
#[test]
fn first_calls_may_come_while_plugins_are_loaded_and_unloaded() {
    let library = c_with("first_calls_part", &["-DLIBRARY", "-shared", "-fPIC"]);
    let with_library = ["-rdynamic", "-Wl,--no-as-needed", library.to_str().unwrap()];
    let linked = c_with("first_calls", &with_library);
    let unlinked = c_with("first_calls", &["-rdynamic", "-DUNLINKED"]);
    let in_tail = [&["-DTAIL", "-shared", "-fPIC"], &with_library[1..]].concat();
    let in_tail = c_with("first_calls_part", &in_tail);
    let plugin = shared("first_calls_part");
    let done = behaves_the_same(&Program::new(&linked).arg(&plugin).arg("wait"));
    assert_eq!(done.out, "0\nloaded\n");
    behaves_the_same(&Program::new(&linked).arg(&plugin).arg("loop"));
    behaves_the_same(&Program::new(&unlinked).arg(&plugin).arg("tail").arg(&in_tail));
}

/// Ways to end, and the exit status of each.
pub const ENDINGS: [(&str, i32); 12] = [
    ("return", 2),
    ("exit", 3),
    ("_exit", 4),
    ("quick_exit", 5),
    ("exit_in_atexit", 8),
    ("exit_in_handler", 9),
    ("_exit_in_handler", 10),
    ("abort_in_handler", 128 + 6),
    ("abort", 128 + 6),
    ("kill", 128 + 9),
    ("segv", 128 + 11),
    ("syscall", 11),
];

#[test]
fn every_way_to_end_leaves_all_calls_behind() {
    for (way, status) in ENDINGS {
        check(&Program::new(c("endings")).arg(way).ending(status));
    }
}

#[test]
fn a_program_may_close_every_descriptor() {
    for way in ["close_range", "closefrom", "loop", "raw"] {
        checked_with("closes_all", way);
    }
}

/// The files of a closed range were looked up after they had been closed, when
/// another thread had been given the descriptors: its file was recorded as closed.
#[test]
fn a_range_of_descriptors_is_closed_for_whoever_had_them() {
    checked("range_closes");
}

#[test]
fn standard_descriptors_may_become_files() {
    let done = checked("closes_standard");
    let written = std::fs::read_to_string(done.work().join("two")).unwrap();
    assert_eq!(written, "number two\n");
}

#[test]
fn ten_thousand_open_files_are_distinguished() {
    checked("many_files");
}

/// Which file a path leads to is remembered by the path and where the file is.
#[test]
fn a_path_that_is_opened_again_is_the_file_it_leads_to_now() {
    checked("reopens");
}

#[test]
fn calls_on_metadata_are_recorded_under_all_their_names() {
    let done = checked("metadata");
    let summary = done.summary();
    let calls = summary["metadata"]["calls"].as_array().expect("there are some");
    let stats = calls.iter().find(|calls| calls["function"] == "stat").expect("stat is one");
    assert!(stats["calls"].as_u64() >= Some(12), "{summary}");
    assert!(summary["metadata"]["failed"].as_u64() >= Some(8), "{summary}");
    // Nothing of it is an operation: open, write and close are.
    assert_eq!(summary["io"]["operations"], 3, "{summary}");
}

#[test]
fn odd_names_do_not_break_the_trace() {
    checked("odd_names");
}

#[test]
fn files_without_a_name_are_files() {
    checked("nameless");
}

/// Their files once had reads and writes but no open, and `fdopen` was a second one.
#[test]
fn files_that_are_opened_without_open_are_opened_once() {
    let done = checked("temporary");
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
    let mut elsewhere = Vec::new();
    for event in trace.events(None).unwrap() {
        let event = event.unwrap();
        let path = trace.files().get(event.file).unwrap_or_default();
        let is_ours = path.starts_with("/dev/shm/ioracle-temporary") || path.starts_with("/tmp/#");
        assert!(!path.contains("memfd"), "{path}");
        if is_ours {
            elsewhere.push(event.function.name());
        }
    }
    assert_eq!(elsewhere, ["fopen", "fwrite", "fclose", "open", "write", "close"]);
    // Six that get a name, one that gets none, shared memory, and one by its name.
    let n_opens = 6 + 1 + 1 + 1;
    // Each is written once and closed, but for one that is written twice.
    assert_eq!(done.summary()["io"]["operations"], 3 * n_opens + 1, "{}", done.err);
}

#[test]
fn relative_paths_follow_the_working_directory() {
    checked("directories");
}

#[test]
fn a_process_that_drops_its_privileges_goes_on_being_recorded() {
    let program = Program::new(c("drops_privileges")).option("--wait-ms").option("20000");
    let done = check(&program);
    assert_eq!(done.summary()["unrecorded"]["calls"], serde_json::json!([]), "{}", done.err);
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

/// With which the program ends, if the sandbox lets it.
pub const SANDBOX_STATUS: i32 = 12;

#[test]
fn a_sandbox_entered_in_the_middle_is_respected() {
    for way in ["strict", "prctl", "seccomp", "threads"] {
        check(&Program::new(c("sandbox")).arg(way).ending(SANDBOX_STATUS));
    }
}

/// A question whether the kernel knows an action of seccomp was taken for a sandbox:
/// no call after it was recorded.
#[test]
fn only_what_is_in_a_sandbox_is_not_recorded() {
    let done = checked("seccomp_probes");
    assert_eq!(done.summary()["unrecorded"]["calls"], serde_json::json!([]));
    let done = behaves_the_same(&Program::new(c("seccomp_probes")).arg("thread"));
    let calls = done.recorded().concat();
    let n_outside = calls.iter().filter(|call| call.function == "write").count();
    assert_eq!(n_outside, 50, "{}", done.err);
    every_call_is_recorded_or_counted(&done);
}

/// `prctl10` of the Linux Test Project had a verdict less: the clock of records was
/// read where the processor's counter may not be.
#[test]
fn a_program_without_the_time_stamp_counter_is_recorded() {
    for way in ["prctl", "syscall"] {
        checked_with("no_counter", way);
    }
}

/// A path that a failed call had not read was read by the recorder, which took
/// every error but EFAULT for a sign that it had been. Later `lio_listio(99, NULL,
/// 1, NULL)`, an error by itself, crashed: its list was read before the call. So
/// did transfers of no bytes on an invalid stream, bad modes at the end of a
/// page, and `splice` of nothing at a bad offset.
#[test]
fn a_bad_pointer_is_the_real_calls_to_refuse() {
    let done = behaves_the_same(&Program::new(c("bad_pointers")));
    assert!(done.out.contains("lio_listio(99, NULL, 1, NULL): -1, errno 22"), "{}", done.out);
    assert!(!done.out.contains("a signal"), "{}", done.out);
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
