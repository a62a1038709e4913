// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to do about a job's I/O, what it did and what was learned about it, in words.

use ioracle_events::readable;
use ioracle_insight::{
    Bursts, Calls, Io, LibraryCalls, LoopSeen, MappedTotals, MetadataTotals, MpiInternalTotals,
    Predicted, Severity, Summary,
};

use super::TextPage;
use super::files::files;
use super::ranks::ranks_in_words;
use super::variables::variables;
use crate::shared::numbers::{bytes, counted, grouped, seconds};
use crate::shared::table::Tone;
use crate::shared::text::shorten_start;

/// Operations below which predictions had nothing to learn from.
const ENOUGH: u64 = 50;
/// Bursts from which on there is a pattern.
const SEVERAL: u64 = 3;
/// Confidence from which on the next burst is worth mentioning.
const LIKELY: f64 = 0.5;

/// What share of a library's time calls without data must take to be named.
const LONG: f64 = 0.05;

/// Characters of one turn of a loop.
const TURN: usize = 140;
/// Files that are named for a loop.
const LOOP_FILES: usize = 2;

/// Who took part in a job, and when.
#[derive(Clone, Copy, Debug)]
pub struct JobSetting {
    pub processes: u64,
    pub threads: u64,
    pub wall_s: f64,
    /// Whether earlier runs contributed to what was learned.
    pub knew_earlier_runs: bool,
}

/// Adds all that is known about a job to a page.
pub fn job(job: &Summary, setting: &JobSetting, page: &mut TextPage) {
    what_to_do(job, page);
    what_was_done(job, setting, page);
    what_was_learned(job, setting, page);
}

fn what_to_do(summary: &Summary, page: &mut TextPage) {
    for finding in summary.advice.iter().take(page.room.findings) {
        let (tone, severity) = match finding.severity {
            Severity::High => (Tone::Severe, "high"),
            Severity::Warning => (Tone::Bad, "warning"),
        };
        page.say_in(tone, severity, &finding.sentence);
    }
    let n_more = summary.advice.len().saturating_sub(page.room.findings) as u64;
    if n_more > 0 {
        page.say("", &format!("{} in the summary as JSON", counted(n_more, "more finding")));
    }
}

fn what_was_done(summary: &Summary, setting: &JobSetting, page: &mut TextPage) {
    let io = &summary.io;
    let mut operations = format!(
        "{} on {}, by {} and {}",
        counted(io.operations, "operation"),
        counted(io.files, "file"),
        counted(setting.processes, "process"),
        counted(setting.threads, "thread"),
    );
    if io.failed_calls > 0 {
        operations.push_str(&format!("; {} failed", counted(io.failed_calls, "call")));
    }
    page.say("I/O", &operations);
    page.say(
        "data",
        &format!(
            "{} read in {}, {} written in {}",
            bytes(io.bytes_read),
            counted(io.reads, "read"),
            bytes(io.bytes_written),
            counted(io.writes, "write")
        ),
    );
    if let Some(mapped) = &summary.mapped {
        page.say("mapped", &mapped_in_words(mapped));
    }
    let libraries = [
        ("HDF5", &summary.hdf5),
        ("netCDF", &summary.netcdf),
        ("PnetCDF", &summary.pnetcdf),
        ("MPI-IO", &summary.mpi_io),
    ];
    for (name, calls) in libraries {
        if let Some(calls) = calls {
            page.say(name, &library_in_words(calls));
        }
    }
    if let Some(own) = &summary.mpi_own {
        page.say("MPI's own", &mpi_own_in_words(own));
    }
    if let Some(metadata) = &summary.metadata {
        page.say("metadata", &metadata_in_words(metadata));
    }
    if let Some(ranks) = &summary.ranks {
        page.say("ranks", &ranks_in_words(ranks, page.room.kinds_of_ranks));
    }
    page.say("time in I/O", &time_in_words(io, setting.threads, setting.wall_s));
    if !summary.file_groups.is_empty() {
        files(&summary.file_groups, page);
    }
    if !summary.busiest_variables.is_empty() {
        variables(&summary.busiest_variables, page);
    }
}

/// With the share of libraries, if any is used: their own computation is not time of
/// the file system.
fn time_in_words(io: &Io, threads: u64, wall_s: f64) -> String {
    let share = 100.0 * io.busiest_thread_s / wall_s.max(1e-9);
    let time = seconds(Some(io.io_time_s));
    let parts = (io.library_time_s > 0.0).then(|| {
        let [library, file_system] =
            [io.library_time_s, io.file_system_time_s].map(|time| seconds(Some(time)));
        format!("{library} in library calls, {file_system} in the file system")
    });
    match (threads, parts) {
        (0 | 1, None) => format!("{time}, {share:.1} % of the run"),
        (0 | 1, Some(parts)) => format!("{time}, {share:.1} % of the run: {parts}"),
        (_, parts) => format!(
            "{time} over all threads{}; the busiest spent {}, {share:.1} % of the run",
            parts.map_or_else(String::new, |parts| format!(" ({parts})")),
            seconds(Some(io.busiest_thread_s))
        ),
    }
}

fn mapped_in_words(mapped: &MappedTotals) -> String {
    let parts = [(mapped.bytes_for_reading, "reading"), (mapped.bytes_for_writing, "writing")];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, purpose)| format!("{} for {purpose}", bytes(n)))
        .collect();
    let files = match mapped.largest.as_slice() {
        [only] => format!("of '{}'", only.path),
        [largest, ..] => {
            format!("of {}, the largest '{}'", counted(mapped.files, "file"), largest.path)
        }
        [] => String::new(),
    };
    format!(
        "{} {files}; what is read and written through mappings is not seen and not counted",
        parts.join(" and ")
    )
}

fn mpi_own_in_words(own: &MpiInternalTotals) -> String {
    format!(
        "{} on {} (shared memory, session files, settings), {} read, {} written; counted nowhere \
         else",
        counted(own.operations, "operation"),
        counted(own.files, "file"),
        bytes(own.bytes_read),
        bytes(own.bytes_written)
    )
}

/// Calls on metadata, the most frequent by name.
fn metadata_in_words(metadata: &MetadataTotals) -> String {
    let mut calls: Vec<_> = metadata.calls.iter().collect();
    calls.sort_by_key(|calls| (std::cmp::Reverse(calls.calls), calls.function));
    let in_words = |calls: &Calls| format!("{} {}", calls.function, grouped(calls.calls));
    let named: Vec<String> = calls.iter().take(3).map(|calls| in_words(calls)).collect();
    let failed = match metadata.failed {
        0 => String::new(),
        n => format!("; {} failed", grouped(n)),
    };
    let others = if calls.len() > named.len() { ", …" } else { "" };
    let time = seconds(Some(metadata.io_time_s));
    format!(
        "{} in {time} ({}{others}){failed}",
        counted(metadata.n_calls, "call"),
        named.join(", ")
    )
}

/// Calls of a library, in one line.
fn library_in_words(calls: &LibraryCalls) -> String {
    let collective = match calls.collective_calls {
        0 => String::new(),
        n => format!(" ({} collective)", grouped(n)),
    };
    let moved =
        [(calls.reads, calls.bytes_read, "read"), (calls.writes, calls.bytes_written, "write")];
    let moved: String = moved
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, moved, word)| format!("; {} in {}", bytes(moved), counted(n, word)))
        .collect();
    let time = seconds(Some(calls.io_time_s));
    let least = calls.io_time_s * LONG;
    let others = calls.other_calls.iter().filter(|other| other.io_time_s >= least).take(2);
    let others: String = others
        .map(|other| {
            let time = seconds(Some(other.io_time_s));
            format!("; {time} in {} ×{}", other.function, grouped(other.calls))
        })
        .collect();
    format!("{}{collective} in {time}{moved}{others}", counted(calls.calls, "call"))
}

fn what_was_learned(summary: &Summary, setting: &JobSetting, page: &mut TextPage) {
    // A grammar does not say which run a rule comes from.
    for (n, found) in summary.loops.iter().take(page.room.loops).enumerate() {
        let with_earlier = match n {
            0 if setting.knew_earlier_runs => " (counted with earlier runs)",
            _ => "",
        };
        let words = in_words(found, page.width() / 2);
        page.say(if n == 0 { "loops" } else { "" }, &format!("{words}{with_earlier}"));
    }
    let enough = |predicted: &Predicted| predicted.operations >= ENOUGH;
    if let Some(predicted) = summary.predicted.filter(enough) {
        page.say(
            "predicted",
            &predicted_in_words(&predicted, summary.predicted_variables.filter(enough)),
        );
    }
    if let Some(bursts) = summary.bursts.filter(|bursts| bursts.seen >= SEVERAL) {
        page.say("bursts", &bursts_in_words(&bursts));
    }
}

fn predicted_in_words(predicted: &Predicted, of_variables: Option<Predicted>) -> String {
    let mut words = format!(
        "{:.1} % of the next operations, {:.1} % of their files, {:.1} % of their offsets (hit ratio \
         {:.1} %); the time to the next operation is off by {} on average",
        predicted.context_accuracy,
        predicted.file_accuracy,
        predicted.offset_accuracy,
        predicted.hit_ratio,
        seconds(Some(predicted.time_error_s))
    );
    if let Some(variables) = of_variables {
        words.push_str(&format!(
            "; {:.1} % of the variables accessed next, {:.1} % of the places in them",
            variables.file_accuracy, variables.offset_accuracy
        ));
    }
    words
}

fn bursts_in_words(bursts: &Bursts) -> String {
    let mut text = format!(
        "{}, each of {} and {} on average, {} {}",
        grouped(bursts.seen),
        counted(bursts.operations.round() as u64, "operation"),
        bytes(bursts.bytes.round() as u64),
        if bursts.is_periodic { "every" } else { "at irregular times, on average every" },
        seconds(Some(bursts.period_s))
    );
    if let Some(next) = bursts.next.filter(|next| next.confidence >= LIKELY) {
        text.push_str(&format!(
            "; the next one, of {}{} and {}, was expected {} after the last operation",
            if next.at_least { "at least " } else { "" },
            counted(next.operations, "operation"),
            bytes(next.bytes),
            seconds(Some(next.starts_in_s))
        ));
    }
    text
}

/// `120 iterations of open, write ×3, close on 'dump_*.sdf'`; a path has at most this
/// length.
fn in_words(found: &LoopSeen, width: usize) -> String {
    let turns = match (found.turns_min, found.turns_max) {
        (least, most) if least == most => counted(least, "iteration"),
        (least, most) => format!("{} to {} iterations", grouped(least), grouped(most)),
    };
    let files: Vec<String> = found
        .files
        .iter()
        .take(LOOP_FILES)
        .map(|path| format!("'{}'", shorten_start(&readable(path), width)))
        .collect();
    let on = match (found.files.len(), files.join(", ")) {
        (0, _) => String::new(),
        (n, files) if n > LOOP_FILES => format!(" on {files} and others"),
        (_, files) => format!(" on {files}"),
    };
    let runs = match found.runs {
        0 | 1 => String::new(),
        runs => format!(", {} times over", grouped(runs)),
    };
    format!("{turns} of {}{on}{runs}", beginning(&found.turn))
}

/// A very long turn, shortened to what is informative.
fn beginning(turn: &str) -> String {
    match turn.char_indices().nth(TURN) {
        None => turn.to_owned(),
        Some((end, _)) => {
            let (shown, _) = turn[..end].rsplit_once(", ").unwrap_or((&turn[..end], ""));
            format!("{shown}, …")
        }
    }
}
