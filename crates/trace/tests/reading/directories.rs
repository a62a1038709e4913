// SPDX-License-Identifier: MIT OR Apache-2.0

//! Faults of directories and of compressed streams.

use std::fs;
use std::path::Path;

use crate::common::{EVENTS, LENIENT, STRICT, compressed, read, read_directory, rows};
use expect_test::{Expect, expect};
use ioracle_trace::{Encoding, ReadOptions, Trace, TraceFiles};
use tempfile::TempDir;

fn write(parts: &TraceFiles, directory: &Path) {
    let extension = match parts.encoding {
        Encoding::Plain => "csv",
        Encoding::Zstd => "csv.zst",
    };
    let tables = [("events", &parts.events), ("stacks", &parts.stacks), ("files", &parts.files)];
    for (name, bytes) in tables {
        fs::write(directory.join(format!("{name}.{extension}")), bytes).unwrap();
    }
}

/// Writes the good trace, compressed, spoils it, and reads it.
fn check(spoil: impl FnOnce(&Path), expected: Expect) {
    let directory = TempDir::new().unwrap();
    write(&compressed(rows(EVENTS)), directory.path());
    spoil(directory.path());
    expected.assert_eq(&read_directory(directory.path(), STRICT));
}

/// Enough random-looking rows for several blocks of a compressed stream.
fn many_rows() -> String {
    let row = |n: u64| {
        let size = n.wrapping_mul(6364136223846793005) >> 40;
        format!("0,0,{n},posix,write,2,1,3,{},{size},{size},{n},{n},0,\n", n * 7)
    };
    (0..20_000).map(row).collect()
}

fn check_stream(events: Vec<u8>, options: ReadOptions, expected: Expect) {
    let text = read(TraceFiles { events, ..compressed(rows(EVENTS)) }, options);
    let last_two: Vec<&str> = text.lines().rev().take(2).collect();
    expected.assert_eq(&format!("{}\n{}\n", last_two[1], last_two[0]));
}

#[test]
fn a_directory_is_read_compressed_or_not() {
    for parts in [rows(EVENTS), compressed(rows(EVENTS))] {
        let directory = TempDir::new().unwrap();
        write(&parts, directory.path());
        assert_eq!(read_directory(directory.path(), STRICT), read(parts, STRICT));
    }
}

#[test]
fn a_missing_directory_is_an_error() {
    check(
        |directory| fs::remove_dir_all(directory).unwrap(),
        expect![[r#"
        error: could not open the trace 'DIR': No such file or directory (os error 2); name a directory that contains a recorded trace
    "#]],
    );
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("events.csv");
    fs::write(&file, "").unwrap();
    expect![[r#"
        error: 'DIR' is not a directory; name the directory that holds events.ioracle or events.csv
    "#]]
    .assert_eq(&read_directory(&file, STRICT));
}

#[test]
fn a_missing_table_is_an_error() {
    check(
        |directory| fs::remove_file(directory.join("stacks.csv.zst")).unwrap(),
        expect![[r#"
            error: 'DIR' contains no events.ioracle, and neither stacks.csv.zst nor stacks.csv; add the file, or name a directory that contains a recorded trace
        "#]],
    );
}

#[test]
fn a_directory_in_place_of_a_table_is_an_error() {
    let spoil = |directory: &Path| {
        fs::remove_file(directory.join("events.csv.zst")).unwrap();
        fs::create_dir(directory.join("events.csv.zst")).unwrap();
    };
    check(
        spoil,
        expect![[r#"
        error: 'DIR/events.csv.zst' is not a regular file; put the table itself in its place
    "#]],
    );
}

#[test]
fn a_table_that_vanishes_after_opening_is_an_error() {
    let directory = TempDir::new().unwrap();
    write(&rows(EVENTS), directory.path());
    let trace = Trace::open(directory.path(), STRICT).unwrap();
    fs::remove_file(directory.path().join("events.csv")).unwrap();
    assert!(trace.events(None).is_err());
}

#[test]
fn text_under_the_name_of_a_zstd_stream_is_an_error() {
    let spoil = |directory: &Path| {
        fs::write(directory.join("events.csv.zst"), rows(EVENTS).events).unwrap();
    };
    check(
        spoil,
        expect![[r#"
        error: 'DIR/events.csv.zst' is not a zstd stream; compress it with zstd, or remove .zst from its name
    "#]],
    );
    check(
        |directory| fs::write(directory.join("files.csv.zst"), "").unwrap(),
        expect![[r#"
        error: 'DIR/files.csv.zst' is not a zstd stream; compress it with zstd, or remove .zst from its name
    "#]],
    );
}

#[test]
fn a_stream_cut_off_is_an_error_and_its_beginning_is_kept_when_lenient() {
    let mut events = compressed(rows(&many_rows())).events;
    events.truncate(events.len() - 10_000);
    check_stream(
        events.clone(),
        STRICT,
        expect![[r#"
        0/0:18428 write
        error: 'events.csv.zst' is cut off after line 18430; copy it again, or read what is there with --lenient
    "#]],
    );
    check_stream(
        events,
        LENIENT,
        expect![[r#"
        0/0:18428 write
        skipped 1: 'events.csv.zst' is cut off after line 18430; copy it again, or read what is there with --lenient
    "#]],
    );
}

#[test]
fn a_stream_cut_off_in_its_first_bytes_is_an_error_in_either_mode() {
    let mut parts = compressed(rows(EVENTS));
    parts.events.truncate(9);
    assert_eq!(read(parts.clone(), STRICT), read(parts.clone(), LENIENT));
    expect![[r#"
        error: 'events.csv.zst' is cut off after line 0; copy it again, or read what is there with --lenient
    "#]].assert_eq(&read(parts, LENIENT));
}

#[test]
fn a_damaged_stream_is_an_error_and_its_beginning_is_kept_when_lenient() {
    let mut events = compressed(rows(&many_rows())).events;
    let end = events.len();
    events[end - 9_000..end - 5_000].fill(0);
    check_stream(
        events.clone(),
        STRICT,
        expect![[r#"
        0/0:16462 write
        error: 'events.csv.zst' is damaged after line 16464 (Data corruption detected); copy it again, or read what is there with --lenient
    "#]],
    );
    check_stream(
        events,
        LENIENT,
        expect![[r#"
        0/0:16462 write
        skipped 1: 'events.csv.zst' is damaged after line 16464 (Data corruption detected); copy it again, or read what is there with --lenient
    "#]],
    );
}

#[test]
fn a_frame_that_demands_a_huge_window_is_refused() {
    // A frame header of a window of 2^41 bytes, then one raw block of a byte.
    let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8, 0x09, 0x00, 0x00, b'r'];
    let parts = TraceFiles { events: frame.to_vec(), ..compressed(rows(EVENTS)) };
    expect![[r#"
        error: 'events.csv.zst' is damaged after line 0 (Frame requires too much memory for decoding); copy it again, or read what is there with --lenient
    "#]].assert_eq(&read(parts, STRICT));
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let endless = vec![b'x'; 256 << 20];
    let events = zstd::encode_all(endless.as_slice(), 3).unwrap();
    let parts = TraceFiles { events, ..compressed(rows(EVENTS)) };
    expect![[r#"
        error: events.csv.zst:1: the line is longer than 65536 bytes; correct the row, or skip bad rows with --lenient
    "#]].assert_eq(&read(parts, STRICT));
}
