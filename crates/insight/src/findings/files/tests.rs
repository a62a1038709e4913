// SPDX-License-Identifier: MIT OR Apache-2.0

//! Each rule with a program that has the fault and one that does not.

use ioracle_events::Event;

use super::super::tests::{found, found_in};
use crate::tally::tests::event;

fn check(events: impl Iterator<Item = Event>, expected: &str) {
    let given = found(events);
    assert!(given.iter().any(|sentence| sentence.contains(expected)), "{given:?}");
}

fn check_nothing(events: impl Iterator<Item = Event>) {
    assert_eq!(found(events), Vec::<String>::new());
}

#[test]
fn a_habit_is_reported_with_its_file_figure_and_remedy() {
    check(
        (0..1000).map(|n| event("write", 7, Some((n * 48, 48)))),
        "1,000 writes to 'file-h' move 48 B on average, taking 10.0 ms (10 % of the run): collect",
    );
    check(
        (0..500).map(|n| event("read", 1, Some((n * 8, 8)))),
        "500 reads of 'file-b' get 8 B on average",
    );
    check(
        (0..200).map(|_| event("fsync", 1, None)),
        "'file-b' was synced 200 times, taking 2.0 ms (2 % of the run): sync once",
    );
    check(
        (0..200).map(|_| event("open", 1, None)),
        "'file-b' was opened and closed 200 times, taking",
    );
    check(
        (0..200).map(|n| event("pread", 1, Some((n % 2 * 65536, 65536)))),
        "13.1 MB were read from 131.1 KB of 'file-b', each byte 100.0 times on average",
    );
    check(
        (0..200).map(|n| event("open", 100 + n, None)),
        "'dump_*.dat' (200 files) were opened and closed, taking",
    );
}

/// A code that spent 20 to 45 % of its run in 20,700 tiny writes and a sync of each
/// of its files got no advice, as every rule looked at one file only.
#[test]
fn habits_spread_over_many_files_are_reported_together() {
    let dump = |file: u32| {
        let writes = (0..90).map(move |n| event("write", 100 + file, Some((n * 48, 48))));
        let open = std::iter::once(event("open", 100 + file, None));
        let ends = [event("fsync", 100 + file, None), event("close", 100 + file, None)];
        open.chain(writes).chain(ends)
    };
    let given = found((0..21).flat_map(dump));
    assert!(given[0].starts_with("'dump_*.dat' (21 files) were synced 21 times"), "{given:?}");
    assert!(
        given[1].starts_with("1,890 writes to 'dump_*.dat' (21 files) move 48 B on average"),
        "{given:?}"
    );
    assert_eq!(given.len(), 2, "{given:?}");
}

/// A shell loop with `echo` into a file each was advised to use a buffer.
#[test]
fn a_buffer_does_not_help_with_files_that_are_written_in_one_call() {
    let file = |n: u32| [event("open", 100 + n, None), event("write", 100 + n, Some((0, 48)))];
    let given = found((0..300).flat_map(file));
    assert!(given.iter().all(|sentence| !sentence.contains("buffer")), "{given:?}");
    assert!(given[0].contains("(300 files) were opened and closed"), "{given:?}");
}

/// 32,024 reads of about 8 KB at 43 % of a run got no advice.
#[test]
fn reads_of_some_kilobytes_are_small_and_large_ones_in_order_need_no_advice() {
    let reads = |bytes: u64| (0..2000).map(move |n| event("read", 1, Some((n * bytes, bytes))));
    check(reads(8192), "2,000 reads of 'file-b' get 8.2 KB on average");
    check_nothing(reads(65536));
    check_nothing((0..200).map(|n| event("write", 1, Some((n * 65536, 65536)))));
}

#[test]
fn calls_that_a_library_makes_come_with_what_the_library_offers() {
    let pair = |n: u64| {
        let outer = Event { end_ns: 31_000, ..event("nc_get_vara", 1, Some((0, 70_000))) };
        [outer, Event { depth: 1, ..event("pread", 1, Some((n * 8192, 8192))) }]
    };
    let given = found((0..500).flat_map(pair));
    assert!(given[0].contains("500 reads of 'file-b' get 8.2 KB"), "{given:?}");
    assert!(given[0].contains("netCDF makes them"), "{given:?}");
}

#[test]
fn scattered_accesses_are_reported_once_and_not_to_be_buffered() {
    for (function, expected) in [("pread", "read in order"), ("pwrite", "write in order")] {
        let events = (0..500).map(|n| event(function, 1, Some((n * 7919 % 512 * 8192, 48))));
        let given = found(events);
        assert!(given.len() == 1 && given[0].contains(expected), "{given:?}");
        assert!(given[0].contains(" jump to another place and "), "{given:?}");
    }
    let large = (0..500).map(|n| event("pread", 1, Some(((n * 7919 % 512) << 21, 1 << 20))));
    check_nothing(large);
}

#[test]
fn small_calls_of_stdio_count_where_they_are_not_collected() {
    let events = |ns: u64| {
        let end_ns = 1000 + ns;
        (0..5000).map(move |n| Event { end_ns, ..event("fprintf", 1, Some((n * 9, 9))) })
    };
    check(events(4000), "5,000 writes to 'file-b' move 9 B on average");
    check_nothing(events(700));
    // Now and then the buffer is written, or the machine is busy.
    let mixed = events(700).enumerate().map(|(n, event)| match n % 4 {
        0 => Event { end_ns: 9000, ..event },
        _ => event,
    });
    check_nothing(mixed);
}

#[test]
fn much_data_through_a_small_buffer_is_reported() {
    let events = |bytes: u64, n: u64| {
        (0..n).map(move |n| Event { end_ns: 1700, ..event("fwrite", 1, Some((n * bytes, bytes))) })
    };
    check(events(40_960, 3000), "122.9 MB of 'file-b' went through the small buffer of stdio");
    check_nothing(events(1 << 20, 120));
}

#[test]
fn a_few_syncs_and_those_of_a_database_are_nothing_to_drop() {
    let long = || Event { end_ns: 5_000_000, ..event("fsync", 1, None) };
    let syncs = |n| found((0..n).map(|_| long()));
    assert_eq!(syncs(15), Vec::<String>::new());
    assert!(syncs(16)[0].contains("unless each sync is needed for crash safety"));
}

/// On a file system in memory a sync takes nothing, elsewhere it does.
#[test]
fn what_is_cheap_only_here_is_said_to_be() {
    let short = || Event { end_ns: 2000, ..event("fsync", 1, None) };
    let given = found((0..50).map(|_| short()));
    assert!(given[0].contains("(under 1 % of the run; little here, more on a busy file system)"));
}

/// The advice was once to put Python's own imports into fewer, larger files.
#[test]
fn what_an_interpreter_imports_is_not_many_files() {
    let opens = || (0..151).map(|n| event("open", n, None));
    let found_on = |events: &mut dyn Iterator<Item = Event>, ending: &str| {
        let name = |file: u32| format!("file{file}{ending}");
        found_in(events, &[], &name).into_iter().map(|it| it.sentence).collect::<Vec<_>>()
    };
    assert_eq!(found_on(&mut opens(), ".pyc"), Vec::<String>::new());
    assert_eq!(found_on(&mut opens(), ".dat").len(), 1);
    let writes = (0..151).map(|n| event("write", n, Some((0, 70_000))));
    let both = opens().chain(opens()).chain(writes);
    assert!(found_on(&mut { both }, ".py")[0].contains("151 files"), "it makes them");
}

#[test]
fn files_that_every_process_reads_are_separated_from_those_that_are_read_again() {
    let by_four = |n: u64| {
        let mut read = event("pread", 1, Some((n / 4 * 65536, 65536)));
        read.stream.rank = (n % 4) as u32;
        read
    };
    check(
        (0..400).map(by_four),
        "4 processes read 26.2 MB from the same 6.6 MB of 'file-b', 4.0 times as much",
    );
}

/// 30 `nc_open` calls took 473 ms of 1.10 s and were not reported.
#[test]
fn slow_opens_of_a_library_are_reported() {
    let pair = |file: u32| {
        let open = Event { end_ns: 3_000_000, ..event("nc_open", 100 + file, None) };
        [open, event("nc_close", 100 + file, None)]
    };
    check(
        (0..30).flat_map(pair),
        "nc_open and nc_close were called 60 times on 'dump_*.dat' (30 files), taking",
    );
    check_nothing((0..5).flat_map(pair));
}

#[test]
fn writes_of_several_processes_that_share_blocks_are_reported() {
    let write = |shift: u64, n_processes: u64| {
        (0..400).map(move |n| {
            // Each has its own region; otherwise they would share larger blocks too.
            let (process, turn) = (n % n_processes, n / n_processes);
            let offset = (process << 26) + turn * 65536 + shift;
            let mut write = event("pwrite", 1, Some((offset, 65536)));
            write.stream.rank = process as u32;
            write
        })
    };
    check(write(100, 4), "400 of 400 writes to 'file-b', by several processes, do not begin at");
    check_nothing(write(0, 4));
    check_nothing(write(100, 1));
}

/// LAMMPS flushes its dump after every step, which takes microseconds.
#[test]
fn flushing_a_stream_is_no_sync() {
    check_nothing((0..200).map(|_| event("fflush", 1, None)));
}
