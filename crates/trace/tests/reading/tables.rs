// SPDX-License-Identifier: MIT OR Apache-2.0

//! Faults of the tables of stacks and files, of headers and of the description.

use crate::common::{EVENTS, EVENTS_HEADER, FILES, LENIENT, STRICT, describe, parts, read, rows};
use expect_test::{Expect, expect};
use ioracle_events::{ContextId, FileId};
use ioracle_trace::{Trace, TraceFiles};

fn check(parts: TraceFiles, expected: Expect) {
    expected.assert_eq(&read(parts, STRICT));
}

fn check_lenient(parts: TraceFiles, expected: Expect) {
    expected.assert_eq(&read(parts, LENIENT));
}

fn files(files: impl Into<Vec<u8>>) -> TraceFiles {
    TraceFiles { files: files.into(), ..rows(EVENTS) }
}

fn stacks(stacks: &str) -> TraceFiles {
    TraceFiles { stacks: stacks.into(), ..rows(EVENTS) }
}

fn meta(meta: &str) -> TraceFiles {
    TraceFiles { meta: Some(meta.into()), ..rows(EVENTS) }
}

#[test]
fn a_path_is_all_that_follows_the_first_comma() {
    let trace = Trace::from_parts("memory", rows(EVENTS), STRICT).unwrap();
    assert_eq!(trace.files().get(FileId(2)), Some("a, \"b\", and c"));
    assert_eq!(trace.files().get(FileId(0)), None);
    assert_eq!(trace.files().get(FileId(3)), None);
    assert_eq!(trace.contexts().get(ContextId(4)), Some(""));
    assert_eq!(trace.contexts().iter().count(), 5);
}

#[test]
fn ids_may_leave_gaps_of_any_size() {
    let rows = EVENTS.replace("fprintf,5,2", "fprintf,4294967295,2");
    let stacks = "id,frames\n1,a\n2,b\n3,c\n4,d\n4294967295,e\n".into();
    let parts = TraceFiles { stacks, ..parts(format!("{EVENTS_HEADER}{rows}")) };
    assert_eq!(read(parts, STRICT).lines().count(), 5);
}

#[test]
fn an_id_that_comes_twice_or_too_late_is_refused() {
    check(
        files("id,path\n1,a\n2,b\n2,c\n"),
        expect![[r#"
        error: files.csv:4: id 2 is there twice; correct the row, or skip bad rows with --lenient
    "#]],
    );
    check(
        stacks("id,frames\n2,a\n1,b\n"),
        expect![[r#"
        error: stacks.csv:3: id 1 comes after 2, ids must increase; correct the row, or skip bad rows with --lenient
    "#]],
    );
}

#[test]
fn the_id_of_the_unknown_file_is_not_for_use() {
    check(
        files("id,path\n0,a\n"),
        expect![[r#"
        error: files.csv:2: id is 0, which is out of range (1 to 4294967295); correct the row, or skip bad rows with --lenient
    "#]],
    );
}

#[test]
fn a_table_row_without_its_text_is_refused() {
    check(
        files("id,path\n1\n"),
        expect![[r#"
            error: files.csv:2: only 1 of 2 fields; correct the row, or skip bad rows with --lenient
        "#]],
    );
}

#[test]
fn a_path_that_is_not_utf8_is_refused() {
    check(
        files(b"id,path\n1,caf\xe9\n".as_slice()),
        expect![[r#"
        error: files.csv:2: path is not valid UTF-8; correct the row, or skip bad rows with --lenient
    "#]],
    );
}

#[test]
fn a_bad_table_row_costs_the_events_that_refer_to_it() {
    check_lenient(
        files("id,path\n1,out\nx,b\n"),
        expect![[r#"
        skipped 1 in the tables: files.csv:3: id is 'x', which is not a whole number; correct the row, or skip bad rows with --lenient
        0/0:0 open
        0/0:1 write
        0/1:2 nc_put_vara
        0/0:3 close
        skipped 1: events.csv:6: file 2 is not in the table of files; correct the row, or skip bad rows with --lenient
    "#]],
    );
}

#[test]
fn another_header_is_refused_in_either_mode() {
    let other = rows(EVENTS).events;
    let swapped = TraceFiles { files: other, ..rows(EVENTS) };
    check(
        swapped.clone(),
        expect![[r#"
        error: files.csv:1: the header is 'rank,tid,seq,level,op,stack,file,handle,…' instead of 'id,path'; give the table the columns of the CSV form
    "#]],
    );
    check_lenient(
        swapped,
        expect![[r#"
        error: files.csv:1: the header is 'rank,tid,seq,level,op,stack,file,handle,…' instead of 'id,path'; give the table the columns of the CSV form
    "#]],
    );
    check(
        files(""),
        expect![[r#"
        error: files.csv:1: the header is '' instead of 'id,path'; give the table the columns of the CSV form
    "#]],
    );
    check(
        parts("rank,tid\n0,0\n"),
        expect![[r#"
        error: events.csv:1: the header is 'rank,tid' instead of 'rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail'; give the table the columns of the CSV form
    "#]],
    );
    check(
        parts(FILES),
        expect![[r#"
        error: events.csv:1: the header is 'id,path' instead of 'rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail'; give the table the columns of the CSV form
    "#]],
    );
    check(
        parts(""),
        expect![[r#"
        error: events.csv:1: the header is '' instead of 'rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail'; give the table the columns of the CSV form
    "#]],
    );
}

#[test]
fn a_trace_without_events_is_refused() {
    check(
        rows(""),
        expect![[r#"
            error: 'events.csv' contains no events; 'ioracle doctor PROGRAM' says whether the program can be watched
        "#]],
    );
    check_lenient(
        rows("0,0,0\n"),
        expect![[r#"
            error: 'events.csv' contains no events (bad rows skipped: 1); 'ioracle doctor PROGRAM' says whether the program can be watched
            skipped 1: events.csv:2: only 3 of 15 fields; correct the row, or skip bad rows with --lenient
        "#]],
    );
}

#[test]
fn a_rank_that_is_not_there_is_refused() {
    let trace = || Trace::from_parts("memory", rows(EVENTS), STRICT);
    assert_eq!(describe(trace(), Some(1)), "1/0:0 fprintf\n");
    expect![[r#"
        error: 'events.csv' contains no events of rank 2; ask for one of its 2 ranks, from 0 to 1
    "#]]
    .assert_eq(&describe(trace(), Some(2)));
}

#[test]
fn ranks_are_listed_sorted() {
    let trace = Trace::from_parts("memory", rows(EVENTS), STRICT).unwrap();
    assert_eq!(trace.ranks().unwrap(), [0, 1]);
}

#[test]
fn lines_may_end_as_in_dos_and_the_last_one_not_at_all() {
    let dos = |table: Vec<u8>| String::from_utf8(table).unwrap().replace('\n', "\r\n").into();
    let unix = rows(EVENTS);
    let parts = TraceFiles {
        events: dos(unix.events),
        stacks: dos(unix.stacks),
        files: dos(unix.files),
        ..rows(EVENTS)
    };
    let trace = Trace::from_parts("memory", parts.clone(), STRICT).unwrap();
    assert_eq!(trace.files().get(FileId(1)), Some("out/state.dat"));
    assert_eq!(read(parts, STRICT), read(rows(EVENTS), STRICT));
    assert_eq!(read(rows(EVENTS.trim_end()), STRICT), read(rows(EVENTS), STRICT));
}

#[test]
fn a_carriage_return_belongs_to_the_path_where_lines_end_without() {
    let trace = Trace::from_parts("memory", files("id,path\n1,a\r\n"), STRICT).unwrap();
    assert_eq!(trace.files().get(FileId(1)), Some("a\r"));
}

#[test]
fn a_description_may_be_missing_or_hold_more_but_not_be_damaged() {
    let trace = Trace::from_parts("memory", rows(EVENTS), STRICT).unwrap();
    assert_eq!(trace.meta().application, "");
    let described = meta(r#"{"application": "CM1", "wall_s": 1.5, "colour": ["red"]}"#);
    let trace = Trace::from_parts("memory", described, STRICT).unwrap();
    assert_eq!((&*trace.meta().application, trace.meta().wall_s), ("CM1", Some(1.5)));
    check(
        meta("{\n\"ranks\": -1}"),
        expect![[r#"
        error: 'meta.json' is not a description of a trace (invalid value: integer `-1`, expected u32 at line 2 column 11); correct it or remove it
    "#]],
    );
    check_lenient(
        meta(&"[".repeat(100_000)),
        expect![[r#"
        skipped 1 in the tables: 'meta.json' is not a description of a trace (invalid type: sequence, expected a string at line 1 column 1); correct it or remove it
        0/0:0 open
        0/0:1 write
        0/1:2 nc_put_vara
        0/0:3 close
        1/0:0 fprintf
    "#]],
    );
}

/// The example of the page for users is a trace.
#[test]
fn the_documented_example_can_be_read() {
    let page = include_str!("../../../../docs/csv-traces.md");
    let table = |name: &str| {
        let start = format!("# {name}.csv\n");
        let text = page.split_once(&start).unwrap().1;
        let end = text.find("\n\n").into_iter().chain(text.find("\n```")).min().unwrap();
        text.as_bytes()[..=end].to_vec()
    };
    let documented =
        TraceFiles { stacks: table("stacks"), files: table("files"), ..parts(table("events")) };
    check(
        documented,
        expect![[r#"
        0/0:0 open
        0/0:1 write
        0/0:2 write
        0/0:3 close
    "#]],
    );
}
