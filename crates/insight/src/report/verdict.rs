// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a report says first, in three sentences: how much of the run was I/O,
//! what dominated it, what to change first.

use ioracle_events::readable;

use crate::numbers::{bytes, counted, seconds};
use crate::summary::{BusyGroup, Summary};

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
    let percent = (100.0 * io.busiest_thread_s / wall_s).min(100.0);
    format!(
        "I/O took {} of {}, {percent:.0} % of the run{of_thread}: {program} {moved} in {operations} \
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
    let files = match group.files {
        1 => format!("'{}'", readable(&group.path)),
        n => format!("'{}' ({})", readable(&group.path), counted(n, "file")),
    };
    if time <= 0.0 {
        return format!("Most operations were on {files}.");
    }
    let percent = 100.0 * group.io_time_s / time;
    let most = if percent >= 50.0 { "Most of that" } else { "The largest part of that" };
    format!("{most}, {percent:.0} %, went to {files}{}.", main_call(group))
}

/// `, mostly in fread`.
fn main_call(group: &BusyGroup) -> String {
    let calls = if group.library_calls.is_empty() { &group.calls } else { &group.library_calls };
    calls.first().map_or_else(String::new, |call| {
        format!(", mostly in {} ({})", call.function, counted(call.calls, "call"))
    })
}

fn first_change(summary: &Summary) -> String {
    let Some(first) = summary.advice.first() else {
        return "None of the known faults takes a noticeable part of the run: there is little to \
                gain from changing its I/O."
            .to_owned();
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
    use crate::summary::Io;

    #[test]
    fn a_run_without_operations_has_one_sentence() {
        assert_eq!(verdict("app", 1.0, &Summary::default()).len(), 1);
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
