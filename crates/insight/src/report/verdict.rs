// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a report says first, in three sentences: how much of the run was I/O,
//! what dominated it, what to change first.

use ioracle_events::readable;

use crate::numbers::{bytes, counted, seconds, whole_percent};
use crate::summary::{BusyGroup, Calls, Summary};

/// The three sentences. `program` is what ran, and how long it took.
pub fn verdict(program: &str, wall_s: f64, summary: &Summary) -> Vec<String> {
    if summary.io.operations == 0 {
        return vec![format!("{program} made no I/O operations that were recorded.")];
    }
    vec![share(program, wall_s, summary), dominated(summary), first_change(summary)]
}

fn share(program: &str, wall_s: f64, summary: &Summary) -> String {
    let io = &summary.io;
    let moved = match (io.bytes_read, io.bytes_written) {
        (0, 0) => "moved no data".to_owned(),
        (read, 0) => format!("read {}", bytes(read)),
        (0, written) => format!("wrote {}", bytes(written)),
        (read, written) => format!("read {} and wrote {}", bytes(read), bytes(written)),
    };
    let operations = counted(io.operations, "operation");
    let files = counted(io.files, "file");
    if io.io_time_s <= 0.0 || wall_s <= 0.0 {
        return format!("{program} {moved} in {operations} on {files}; the trace has no times.");
    }
    let of_thread =
        if io.io_time_s > io.busiest_thread_s * 1.001 { " of its busiest thread" } else { "" };
    let percent = whole_percent((100.0 * io.busiest_thread_s / wall_s).min(100.0));
    format!(
        "I/O took {} of {}, {percent} of the run{of_thread}: {program} {moved} in {operations} \
         on {files}.",
        seconds(Some(io.busiest_thread_s)),
        seconds(Some(wall_s)),
    )
}

fn dominated(summary: &Summary) -> String {
    let Some(group) = summary.file_groups.first() else {
        return "No file stands out.".to_owned();
    };
    let time = summary.io.io_time_s;
    if let Some(metadata) = &summary.metadata
        && metadata.io_time_s > group.io_time_s
        && time > 0.0
    {
        let percent = 100.0 * metadata.io_time_s / time;
        let calls = counted(metadata.n_calls, "call");
        return format!(
            "{} went to {calls} on metadata{}.",
            part(percent),
            main_of(&metadata.calls)
        );
    }
    let files = match group.files {
        1 => format!("'{}'", readable(&group.path)),
        n => format!("'{}' ({})", readable(&group.path), counted(n, "file")),
    };
    if time <= 0.0 {
        return format!("Most operations were on {files}.");
    }
    let percent = 100.0 * group.io_time_s / time;
    format!("{} went to {files}{}.", part(percent), main_call(group))
}

fn part(percent: f64) -> String {
    match percent {
        99.5.. => "All of that".to_owned(),
        50.0.. => format!("Most of that, {percent:.0} %,"),
        _ => format!("The largest part of that, {percent:.0} %,"),
    }
}

fn main_call(group: &BusyGroup) -> String {
    main_of(if group.library_calls.is_empty() { &group.calls } else { &group.library_calls })
}

/// `, mostly in fread (12 calls)`.
fn main_of(calls: &[Calls]) -> String {
    calls.first().map_or_else(String::new, |call| {
        format!(", mostly in {} ({})", call.function, counted(call.calls, "call"))
    })
}

fn first_change(summary: &Summary) -> String {
    let Some(first) = summary.advice.first() else {
        return "No known fault takes a noticeable part of the run.".to_owned();
    };
    let gain = if first.is_cheap_here {
        "little is saved here, more on a busy file system".to_owned()
    } else {
        format!("at most {} of time in I/O is saved", seconds(Some(first.io_time_s)))
    };
    format!("To change first: {}; {} ({gain}).", first.seen, first.remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Io, MetadataTotals};

    #[test]
    fn a_run_without_operations_has_one_sentence() {
        assert_eq!(verdict("app", 1.0, &Summary::default()).len(), 1);
    }

    #[test]
    fn what_takes_all_of_the_time_has_no_percentage() {
        assert_eq!(part(99.7), "All of that");
        assert_eq!(part(72.0), "Most of that, 72 %,");
        assert_eq!(part(40.0), "The largest part of that, 40 %,");
    }

    #[test]
    fn a_trace_without_times_says_so() {
        let io = Io { operations: 2, files: 1, bytes_read: 10, ..Io::default() };
        let summary = Summary { io, ..Summary::default() };
        let given = verdict("app", 0.0, &summary);
        assert_eq!(given[0], "app read 10 B in 2 operations on 1 file; the trace has no times.");
        assert_eq!(given.len(), 3);
    }

    #[test]
    fn metadata_dominates_where_it_takes_more_than_any_file() {
        let io = Io { operations: 2, files: 1, io_time_s: 8.0, ..Io::default() };
        let group =
            BusyGroup { path: "log".to_owned(), io_time_s: 1.0, files: 1, ..BusyGroup::default() };
        let metadata =
            |io_time_s| MetadataTotals { n_calls: 70, io_time_s, ..MetadataTotals::default() };
        let of = |io_time_s| {
            let (io, file_groups) = (io, vec![group.clone()]);
            let metadata = Some(metadata(io_time_s));
            dominated(&Summary { io, file_groups, metadata, ..Summary::default() })
        };
        assert_eq!(of(6.0), "Most of that, 75 %, went to 70 calls on metadata.");
        assert_eq!(of(0.5), "The largest part of that, 12 %, went to 'log'.");
    }

    #[test]
    fn the_share_is_that_of_the_busiest_thread() {
        let io = Io {
            operations: 2,
            files: 1,
            bytes_written: 10,
            io_time_s: 8.0,
            busiest_thread_s: 2.0,
            ..Io::default()
        };
        let summary = Summary { io, ..Summary::default() };
        let given = verdict("app", 4.0, &summary);
        assert!(
            given[0].starts_with(
                "I/O took 2.00 s of 4.00 s, 50 % of the run of its busiest thread: app wrote 10 B"
            ),
            "{given:?}"
        );
    }
}
