// SPDX-License-Identifier: MIT OR Apache-2.0

//! The summary for people: one screen, at most 40 lines of 100 columns.

mod files;
mod page;
mod ranks;
mod variables;

use ioracle_engine::FIRST_OPERATIONS;

use self::files::files;
use self::page::{Page, Room};
use self::ranks::ranks_in_words;
use self::variables::variables;
use super::summary::{Bursts, LibraryCalls, LoopSeen, ModelUse, MpiOwn, Predicted, Summary};
use super::supervise::Ending;
use crate::shared::numbers::{bytes, counted, grouped, seconds};
use crate::shared::table::{Cell, Colours, Tone};

/// Lines of a screen.
const LINES: usize = 40;
/// Operations below which predictions had nothing to learn from.
const ENOUGH: u64 = 50;
/// Bursts from which on there is a pattern.
const SEVERAL: u64 = 3;
/// Confidence from which on the next burst is worth telling.
const LIKELY: f64 = 0.5;

/// The summary as text; of a rank but the first one, a single line.
pub fn render(summary: &Summary, colours: Colours) -> String {
    let mark = summary.rank.map_or_else(String::new, |rank| format!("[rank {rank}] "));
    if summary.rank.is_some_and(|rank| rank > 0) {
        return format!("{mark}{}\n", one_line(summary));
    }
    let page = |room| page(summary, Page::new(mark.clone(), colours, room));
    let text = page(Room::ENOUGH);
    if text.lines().count() <= LINES { text } else { page(Room::SCARCE) }
}

fn page(summary: &Summary, mut page: Page) -> String {
    page.line(&Cell::new(headline(summary), Tone::Header));
    if let Some(unseen) = summary.unseen {
        page.say("nothing seen", unseen.sentence());
    } else {
        what_was_done(summary, &mut page);
        what_was_learned(summary, &mut page);
        for (n, advice) in summary.advice.iter().take(page.room.advice).enumerate() {
            page.say(if n == 0 { "what to do" } else { "" }, &advice.sentence);
        }
    }
    what_is_missing(summary, &mut page);
    if let Some(model) = &summary.model {
        what_the_model_did(model, &mut page);
    }
    if let Some(trace) = &summary.trace {
        page.say(
            "trace",
            &match summary.unseen {
                None => format!("'{0}'; 'ioracle eval {0}' evaluates it", trace.display()),
                Some(_) => format!("'{}', without events", trace.display()),
            },
        );
    }
    page.into_text()
}

fn headline(summary: &Summary) -> String {
    let took = seconds(Some(summary.wall_s));
    match summary.ending {
        Ending::Exited(0) => format!("ioracle: {} ran for {took}", summary.application),
        Ending::Exited(code) => {
            format!("ioracle: {} ended with exit code {code} after {took}", summary.application)
        }
        Ending::Killed(signal) => format!(
            "ioracle: {} was ended by {} after {took}; what it did until then is recorded",
            summary.application,
            signal_name(signal)
        ),
    }
}

fn one_line(summary: &Summary) -> String {
    let headline = headline(summary);
    match summary.unseen {
        Some(unseen) => format!("{headline}; nothing was seen: {}", unseen.sentence()),
        None => format!(
            "{headline}; {}, {} read, {} written, {} in I/O",
            counted(summary.io.operations, "operation"),
            bytes(summary.io.bytes_read),
            bytes(summary.io.bytes_written),
            seconds(Some(summary.io.io_time_s))
        ),
    }
}

fn what_was_done(summary: &Summary, page: &mut Page) {
    let (io, processes) = (&summary.io, &summary.processes);
    let mut operations = format!(
        "{} on {}, by {} and {}",
        counted(io.operations, "operation"),
        counted(io.files, "file"),
        counted(processes.seen, "program"),
        counted(processes.threads, "thread"),
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
    if let Some(ranks) = &summary.ranks {
        page.say("ranks", &ranks_in_words(ranks, page.room.kinds_of_ranks));
    }
    let share = 100.0 * io.busiest_thread_s / summary.wall_s.max(1e-9);
    let time = seconds(Some(io.io_time_s));
    page.say(
        "time in I/O",
        &match processes.threads {
            0 | 1 => format!("{time}, {share:.1} % of the run"),
            _ => format!(
                "{time} over all threads; the busiest spent {}, {share:.1} % of the run",
                seconds(Some(io.busiest_thread_s))
            ),
        },
    );
    if !summary.busiest_files.is_empty() {
        files(&summary.busiest_files, page);
    }
    if !summary.busiest_variables.is_empty() {
        variables(&summary.busiest_variables, page);
    }
}

fn mpi_own_in_words(own: &MpiOwn) -> String {
    format!(
        "{} on {} of shared memory, sessions and settings, counted only here: {} read, {} written",
        counted(own.operations, "operation"),
        counted(own.files, "file"),
        bytes(own.bytes_read),
        bytes(own.bytes_written)
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
    format!("{}{collective} in {time}{moved}", counted(calls.calls, "call"))
}

fn what_was_learned(summary: &Summary, page: &mut Page) {
    // A grammar does not say which run a rule comes from.
    let since = summary.model.as_ref().and_then(|model| model.known.as_ref());
    for (n, found) in summary.loops.iter().take(page.room.loops).enumerate() {
        let with_earlier = match since {
            Some(_) if n == 0 => " (counted with earlier runs)",
            _ => "",
        };
        page.say(if n == 0 { "loops" } else { "" }, &format!("{}{with_earlier}", in_words(found)));
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
        "{:.1} % of what came next, {:.1} % of files, {:.1} % of offsets (hit ratio {:.1} %), \
         the next wait to {} on average",
        predicted.context_accuracy,
        predicted.file_accuracy,
        predicted.offset_accuracy,
        predicted.hit_ratio,
        seconds(Some(predicted.time_error_s))
    );
    if let Some(variables) = of_variables {
        words.push_str(&format!(
            "; {:.1} % of the variables accessed next, {:.1} % of where in them",
            variables.file_accuracy, variables.offset_accuracy
        ));
    }
    words
}

fn what_the_model_did(model: &ModelUse, page: &mut Page) {
    if let Some(refused) = &model.refused {
        return page.say("model", &format!("not used: {refused}"));
    }
    let known = match &model.known {
        Some(known) => format!(
            "knew {} of {}",
            counted(known.operations, "operation"),
            counted(u64::from(known.runs), "run")
        ),
        None => "this was the first run".to_owned(),
    };
    let first = model.first.filter(|_| model.known.is_some()).map_or_else(String::new, |first| {
        format!(
            "; of the first {FIRST_OPERATIONS} operations of every thread {:.1} % were predicted, \
             {:.1} % of files, {:.1} % of offsets",
            first.context_accuracy, first.file_accuracy, first.offset_accuracy
        )
    });
    let carried_over = match model.carried_over {
        0 => String::new(),
        n => format!(
            "; {} of rebuilt programs carried over by the names of functions",
            counted(n as u64, "context")
        ),
    };
    let file = model.file.display();
    let saved = match (&model.saved, &model.not_saved) {
        (Some(saved), _) => format!("saved in '{file}' ({})", bytes(saved.bytes)),
        (None, Some(reason)) => format!("not saved: {reason}"),
        (None, None) => String::new(),
    };
    page.say("model", &format!("{known}{carried_over}{first}; {saved}"));
}

fn bursts_in_words(bursts: &Bursts) -> String {
    let mut text = format!(
        "{} of {} and {} on average, every {}",
        grouped(bursts.seen),
        counted(bursts.operations.round() as u64, "operation"),
        bytes(bursts.bytes.round() as u64),
        seconds(Some(bursts.period_s))
    );
    if let Some(next) = bursts.next.filter(|next| next.confidence >= LIKELY) {
        text.push_str(&format!(
            "; the next, of {}{} and {}, was expected {} after the last operation",
            if next.at_least { "at least " } else { "" },
            counted(next.operations, "operation"),
            bytes(next.bytes),
            seconds(Some(next.starts_in_s))
        ));
    }
    text
}

fn in_words(found: &LoopSeen) -> String {
    let turns = match (found.turns_min, found.turns_max) {
        (least, most) if least == most => counted(least, "turn"),
        (least, most) => format!("{} to {} turns", grouped(least), grouped(most)),
    };
    let runs = match found.runs {
        0 | 1 => String::new(),
        runs => format!(", run {} times", grouped(runs)),
    };
    format!("{turns} of {}{runs}", found.turn)
}

fn what_is_missing(summary: &Summary, page: &mut Page) {
    let missing = &summary.unrecorded;
    let mut sentences: Vec<String> = missing
        .calls
        .iter()
        .map(|missing| format!("{}: {}", counted(missing.calls, "call"), missing.sentence))
        .collect();
    if missing.unfinished > 0 {
        let calls = counted(missing.unfinished, "call");
        sentences.push(format!("{calls}: the program ended, or jumped away, while recording"));
    }
    if missing.io_uring > 0 {
        let requests = counted(missing.io_uring, "request");
        sentences.push(format!("{requests} to io_uring, counted only"));
    }
    sentences.extend(missing.damaged.iter().take(3).cloned());
    for (n, sentence) in sentences.iter().enumerate() {
        page.say(if n == 0 { "not recorded" } else { "" }, sentence);
    }
    if missing.not_learned > 0 {
        let calls = counted(missing.not_learned, "recorded call");
        page.say(
            "not learned",
            &format!("{calls}: the program made them faster than they are learned"),
        );
    }
    if missing.given_up_threads > 0 {
        let threads = counted(missing.given_up_threads, "thread");
        page.say(
            "in process",
            &format!(
                "{threads} of the program not learned to the end, for want of memory or after a \
                 fault; what they ask is answered by this command instead"
            ),
        );
    }
    if let Some(stacks) = &summary.stacks {
        let checked = counted(stacks.checked, "call stack");
        let different = grouped(stacks.different);
        page.say("compared", &format!("{checked} with those of backtrace(); {different} differ"));
    }
    for (n, linked_in) in summary.linked_in.iter().take(3).enumerate() {
        page.say(if n == 0 { "not seen" } else { "" }, &linked_in.sentence);
    }
    let processes = &summary.processes;
    if processes.still_running > 0 {
        let running = counted(processes.still_running, "process");
        page.say("still running", &format!("{running}, not recorded any more"));
    }
    if processes.ranks_seen < processes.ranks_expected {
        page.say(
            "not seen",
            &format!(
                "{} of {} ranks, as they run where this command does not; use \
                 'mpirun … ioracle run -- {}'",
                processes.ranks_expected - processes.ranks_seen,
                processes.ranks_expected,
                summary.application
            ),
        );
    }
}

fn signal_name(signal: i32) -> String {
    match nix::sys::signal::Signal::try_from(signal) {
        Ok(signal) => format!("{} ({})", signal.as_str(), signal as i32),
        Err(_) => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests;
