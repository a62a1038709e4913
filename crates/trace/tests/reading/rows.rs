// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is wrong with a row is said in one sentence with file and line, and
//! costs that row alone when reading leniently.

use crate::common::{EVENTS, LENIENT, STRICT, compressed, parts, read, rows, with};
use expect_test::expect;
use ioracle_trace::{Trace, TraceFiles};

/// The error that strict reading ends with; lenient reading skips one row for
/// the same reason and keeps the other four.
fn check(parts: TraceFiles, line: u32, fault: &str) {
    let strict = read(parts.clone(), STRICT);
    let error = strict.lines().last().and_then(|line| line.strip_prefix("error: ")).unwrap();
    let advice = "correct the row, or skip bad rows with --lenient";
    assert_eq!(error, format!("events.csv:{line}: {fault}; {advice}"));
    let lenient = read(parts, LENIENT);
    assert_eq!(lenient.lines().last(), Some(&*format!("skipped 1: {error}")));
    assert_eq!(lenient.lines().count(), 4 + 1, "{lenient}");
}

#[test]
fn a_good_trace_is_read_whole_compressed_or_not() {
    let expected = expect![[r#"
        0/0:0 open
        0/0:1 write
        0/1:2 nc_put_vara
        0/0:3 close
        1/0:0 fprintf
    "#]];
    expected.assert_eq(&read(rows(EVENTS), STRICT));
    assert_eq!(read(compressed(rows(EVENTS)), STRICT), read(rows(EVENTS), LENIENT));
}

#[test]
fn a_row_becomes_an_event_with_all_its_fields() {
    let trace = Trace::from_parts("memory", rows(EVENTS), STRICT).unwrap();
    let event = trace.events(None).unwrap().nth(2).unwrap().unwrap();
    expect![[r#"
        Event {
            stream: StreamId {
                rank: 0,
                thread: 1,
            },
            sequence: 2,
            function: nc_put_vara,
            context: ContextId(
                3,
            ),
            file: FileId(
                0,
            ),
            handle: -1,
            offset: None,
            requested: 80,
            result: 0,
            start_ns: 125,
            end_ns: 190,
            depth: 0,
            detail: "temperature start=0,1:2 count=1:1",
        }
    "#]]
    .assert_debug_eq(&event);
}

#[test]
fn a_row_with_a_field_too_few_is_refused() {
    check(with("1,posix,write,2,1,", "1,posix,write,2,"), 3, "only 14 of 15 fields");
}

#[test]
fn a_field_that_is_no_number_is_refused() {
    check(with(",4096,4096,", ",4096,4k,"), 3, "ret is '4k', which is not a whole number");
    check(with(",4096,4096,", ",4096,,"), 3, "ret is '', which is not a whole number");
    check(with(",4096,4096,", ",4096,-,"), 3, "ret is '-', which is not a whole number");
    check(
        with(",4096,4096,", ",4096,\u{1b}[2J 4.0e3 and a long text to fill the screen,"),
        3,
        r"ret is '\u{1b}[2J 4.0e3 and a long text to fill the s…', which is not a whole number",
    );
}

#[test]
fn a_number_out_of_range_is_refused() {
    check(
        with(",4096,4096,", ",4096,9223372036854775808,"),
        3,
        "ret is 9223372036854775808, which is out of range (-9223372036854775807 to 9223372036854775807)",
    );
    check(
        with("0,0,1,posix", "0,-1,1,posix"),
        3,
        "tid is -1, which is out of range (0 to 4294967295)",
    );
    check(
        with("0,0,1,posix", "0,4294967296,1,posix"),
        3,
        "tid is 4294967296, which is out of range (0 to 4294967295)",
    );
    check(
        with("3,0,4096", "3,-2,4096"),
        3,
        "offset is -2, which is out of range (-1 to 9223372036854775807)",
    );
}

#[test]
fn a_negative_size_is_refused() {
    check(with(",4096,4096,", ",-4096,4096,"), 3, "size is -4096, which is negative");
}

#[test]
fn an_unknown_layer_or_operation_is_refused() {
    check(
        with("posix,write", "kernel,write"),
        3,
        "level is 'kernel', which is none of posix, stdio, mpiio and hl",
    );
    check(with("posix,write", "posix,fwrite"), 3, "op is 'fwrite', which posix does not have");
    check(with("posix,write", "posix,"), 3, "op is '', which posix does not have");
}

#[test]
fn a_call_that_ends_before_it_begins_is_refused() {
    check(with("120,130", "120,119"), 3, "end_ns 119 is before start_ns 120");
}

#[test]
fn an_id_that_the_tables_do_not_have_is_refused() {
    check(with("write,2,1", "write,6,1"), 3, "stack 6 is not in the table of stacks");
    check(with("write,2,1", "write,0,1"), 3, "stack 0 is not in the table of stacks");
    check(with("write,2,1", "write,2,3"), 3, "file 3 is not in the table of files");
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let mut events = rows(EVENTS).events;
    let place = events.windows(11).position(|bytes| bytes == b"temperature").unwrap();
    events[place] = 0xFF;
    check(parts(events), 4, "detail is not valid UTF-8");
}

#[test]
fn a_line_longer_than_the_limit_is_refused() {
    let name = "x".repeat(200_000);
    check(with("temperature", &name), 4, "the line is longer than 65536 bytes");
}

#[test]
fn a_blank_line_is_refused() {
    check(with("0,0,1,posix,write,2,1,3,0,4096,4096,120,130,0,", ""), 3, "only 1 of 15 fields");
}

#[test]
fn time_that_runs_backwards_in_a_thread_is_refused() {
    check(with("140,150", "99,150"), 5, "time runs backwards in thread 0: start_ns 99 after 120");
}

#[test]
fn a_sequence_that_does_not_increase_is_refused() {
    check(with("0,1,2,hl", "0,1,1,hl"), 4, "seq 1 does not increase, the row before it has 1");
    check(
        with("0,0,3,posix", "0,0,0,posix"),
        5,
        "seq 0 does not increase, the row before it has 2",
    );
}

#[test]
fn a_rank_that_comes_again_is_refused() {
    check(with("0,1,2,hl", "7,1,2,hl"), 5, "rank 0 comes again after the rows of another rank");
}

#[test]
fn one_row_from_the_far_future_costs_itself_and_not_those_after_it() {
    check(
        with("0,0,1,posix", "0,0,1000000,posix"),
        4,
        "seq 2 does not increase, the row before it has 1000000",
    );
    let one_thread = EVENTS.replace("0,1,2,hl", "0,0,2,hl");
    check(
        rows(&one_thread.replace("125,190", "9000000,9000001")),
        5,
        "time runs backwards in thread 0: start_ns 140 after 9000000",
    );
}
