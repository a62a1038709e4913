// SPDX-License-Identifier: MIT OR Apache-2.0

//! Summaries for people: one screen, at most 40 lines where it is 100 columns wide.

mod files;
mod job;
mod page;
mod ranks;
mod variables;

use ioracle_engine::FIRST_OPERATIONS;

use self::job::{JobSetting, job};
pub use self::page::Screen;
use self::page::{RowLimits, TextPage};
use ioracle_prefetch::PrefetchReport;

use super::{Ending, KnowledgeUse, ModelUse, RunSummary, TraceSummary, UnrecordedTotals};
use crate::shared::numbers::{bytes, counted, grouped, seconds};
use crate::shared::text::{shell_quoted, without_control_characters};

/// Lines of a screen.
const LINES: usize = 40;
/// Processes without a record that are named.
const NAMED: usize = 8;

/// The summary as text; for ranks other than the first, a single line.
pub fn render(summary: &RunSummary, screen: Screen) -> String {
    let mark = summary.rank.map_or_else(String::new, |rank| format!("[rank {rank}] "));
    if summary.rank.is_some_and(|rank| rank > 0) {
        return format!("{mark}{}\n", one_line(summary));
    }
    on_one_screen(|room| {
        let mut page = TextPage::new(mark.clone(), screen, room);
        fill(summary, &mut page);
        page.into_text()
    })
}

/// The summary of a recorded trace as text.
pub fn render_trace(summary: &TraceSummary, screen: Screen) -> String {
    on_one_screen(|room| {
        let mut page = TextPage::new(String::new(), screen, room);
        fill_with_trace(summary, &mut page);
        page.into_text()
    })
}

fn on_one_screen(render: impl Fn(RowLimits) -> String) -> String {
    let mut text = String::new();
    for room in RowLimits::ALL {
        text = render(room);
        if text.lines().count() <= LINES {
            break;
        }
    }
    text
}

fn fill_with_trace(summary: &TraceSummary, page: &mut TextPage) {
    let span = seconds(Some(summary.wall_s.unwrap_or(summary.event_span_s)));
    let name = without_control_characters(&summary.application);
    let headline = match (name.as_str(), summary.wall_s) {
        ("", _) => {
            let trace = without_control_characters(&summary.trace);
            format!("ioracle: '{trace}', {span} from the first to the last call")
        }
        (name, Some(_)) => format!("ioracle: {name} ran for {span} when it was recorded"),
        (name, None) => format!("ioracle: {name}, {span} from the first to the last call"),
    };
    page.headline(&headline);
    let setting = JobSetting {
        processes: summary.processes.seen,
        threads: summary.processes.threads,
        wall_s: summary.wall_s.unwrap_or(summary.event_span_s),
        knew_earlier_runs: false,
    };
    job(&summary.job, &setting, page);
    let missing = &summary.unrecorded.calls;
    let missing =
        missing.iter().map(|it| format!("{}: {}", counted(it.calls, "call"), it.sentence));
    for (n, sentence) in missing.enumerate() {
        page.say(if n == 0 { "not recorded" } else { "" }, &sentence);
    }
    what_was_acted_on(summary.prefetch.as_ref(), summary.knowledge.as_ref(), page);
    page.say("left out", NOT_IN_A_TRACE);
}

const NOT_IN_A_TRACE: &str = "what only a live run knows: how the program ended, which processes \
                              are still running, libraries linked into it, what a model added";

fn fill(summary: &RunSummary, page: &mut TextPage) {
    page.headline(&headline(summary));
    if let Some(unseen) = summary.unseen {
        page.say("nothing seen", unseen.sentence());
    } else {
        let setting = JobSetting {
            processes: summary.processes.seen,
            threads: summary.processes.threads,
            wall_s: summary.wall_s,
            knew_earlier_runs: summary.model.as_ref().is_some_and(|model| model.known.is_some()),
        };
        job(&summary.job, &setting, page);
        if summary.unrecorded.is_too_much() {
            page.say(
                "what to do",
                "first solve what 'not recorded' says: with so many calls missing, there is no advice",
            );
        }
    }
    what_is_missing(summary, page);
    if let Some(model) = &summary.model {
        what_the_model_did(model, page);
    }
    what_was_acted_on(summary.prefetch.as_ref(), summary.knowledge.as_ref(), page);
    if let Some(trace) = &summary.trace {
        page.say(
            "trace",
            &match summary.unseen {
                None if summary.left_raw > 0 => {
                    let (name, word) = (trace.display(), shell_quoted(trace));
                    let records = counted(summary.left_raw, "record");
                    format!(
                        "'{name}'; {records} of the end are there in raw form and not in this \
                         summary: 'ioracle show {word}' reads them, 'ioracle recover {word}' makes \
                         them smaller"
                    )
                }
                None => {
                    let (name, word) = (trace.display(), shell_quoted(trace));
                    format!("'{name}'; 'ioracle show {word}' prints this summary again")
                }
                Some(_) => format!("'{}', without events", trace.display()),
            },
        );
    }
}

fn headline(summary: &RunSummary) -> String {
    let took = seconds(Some(summary.wall_s));
    let name = without_control_characters(&summary.application);
    let ended = match summary.ending {
        Ending::Exited(0) => format!("ioracle: {name} ran for {took}"),
        Ending::Exited(code) => format!("ioracle: {name} ended with exit code {code} after {took}"),
        Ending::Killed(signal) => {
            format!("ioracle: {name} was killed by {} after {took}", signal_name(signal))
        }
    };
    match (summary.unrecorded.lost(), summary.ending) {
        (0, Ending::Killed(_)) => format!("{ended}; this is everything up to then"),
        (0, Ending::Exited(_)) => ended,
        (lost, _) => {
            let all = counted(lost.saturating_add(summary.unrecorded.recorded), "call");
            format!("{ended}; {} of {all} not recorded", grouped(lost))
        }
    }
}

fn one_line(summary: &RunSummary) -> String {
    let headline = headline(summary);
    match summary.unseen {
        Some(unseen) => format!("{headline}; nothing was seen: {}", unseen.sentence()),
        None => format!(
            "{headline}; {}, {} read, {} written, {} in I/O",
            counted(summary.job.io.operations, "operation"),
            bytes(summary.job.io.bytes_read),
            bytes(summary.job.io.bytes_written),
            seconds(Some(summary.job.io.io_time_s))
        ),
    }
}

fn what_was_acted_on(
    prefetch: Option<&PrefetchReport>,
    knowledge: Option<&KnowledgeUse>,
    page: &mut TextPage,
) {
    if let Some(prefetch) = prefetch {
        page.say("prefetch", &what_prefetching_did(prefetch));
    }
    if let Some(knowledge) = knowledge {
        page.say("knowledge", &what_is_known(knowledge));
    }
}

/// What the knowledge graph knew about a run, in a sentence.
pub fn what_is_known(knowledge: &KnowledgeUse) -> String {
    let KnowledgeUse { application, runs, vertices, .. } = knowledge;
    let file = knowledge.file.display();
    if knowledge.refused.is_some() {
        return format!("the repository '{file}' was not used");
    }
    if *runs == 0 && knowledge.not_updated.is_none() {
        return format!("nothing was learned about {application} in this run");
    }
    let known = match (knowledge.matched_percent, knowledge.predicted_percent) {
        (Some(matched), Some(predicted)) => format!(
            "; {matched:.0} % of the accesses were to data known from earlier runs, {predicted:.0} % \
             were predicted from them"
        ),
        _ => String::new(),
    };
    let updated = match (&knowledge.not_updated, runs) {
        (None, _) => String::new(),
        (Some(_), 0) => return format!("the repository '{file}' was not updated"),
        (Some(_), _) => format!("; the repository '{file}' was used but not updated"),
    };
    format!(
        "{}: {} in {}{known}{updated}",
        without_control_characters(application),
        counted(*vertices as u64, "data object"),
        counted(u64::from(*runs), "run"),
    )
}

/// What prefetching did for a run, in a sentence.
pub fn what_prefetching_did(report: &PrefetchReport) -> String {
    let percent = |part: u64, of: u64| (100.0 * part as f64 / of.max(1) as f64).round();
    let done = match report.bytes {
        0 => "nothing was read ahead".to_owned(),
        bytes => format!(
            "{} % of the bytes read were there in time, {} % of those read ahead were wasted; waited \
             {} for reads instead of about {}",
            percent(report.used, report.read),
            percent(report.wasted, bytes),
            seconds(Some(report.waited_s)),
            seconds(Some(report.possible_s)),
        ),
    };
    match &report.why {
        Some(why) => format!("{done}; stopped early, because {why}"),
        None => done,
    }
}

fn what_the_model_did(model: &ModelUse, page: &mut TextPage) {
    if let Some(refused) = &model.refused {
        return page.say("model", &format!("not used: {refused}"));
    }
    let known = match &model.known {
        Some(known) => format!(
            "knew {} from {}",
            counted(known.operations, "operation"),
            counted(u64::from(known.runs), "run")
        ),
        None => "this was the first run".to_owned(),
    };
    let first = model.first.filter(|_| model.known.is_some()).map_or_else(String::new, |first| {
        format!(
            "; it predicted {:.1} % of the first {FIRST_OPERATIONS} operations of every thread, \
             {:.1} % of their files, {:.1} % of their offsets",
            first.context_accuracy, first.file_accuracy, first.offset_accuracy
        )
    });
    let carried_over = match model.carried_over {
        0 => String::new(),
        n => format!(
            "; {} of rebuilt programs recognised by the names of functions",
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

fn what_is_missing(summary: &RunSummary, page: &mut TextPage) {
    let missing = &summary.unrecorded;
    let mut sentences: Vec<String> = missing
        .calls
        .iter()
        .map(|missing| format!("{}: {}", counted(missing.calls, "call"), missing.sentence))
        .collect();
    if missing.threads > 0 {
        sentences.push(unrecorded_in_words(missing));
    }
    if missing.unfinished > 0 {
        let calls = counted(missing.unfinished, "call");
        sentences.push(format!("{calls}: the program ended or jumped away during the call"));
    }
    if missing.io_uring > 0 {
        let requests = counted(missing.io_uring, "request");
        sentences.push(format!("{requests} to io_uring, which are only counted"));
    }
    sentences.extend(missing.damaged.iter().take(3).cloned());
    for (n, sentence) in sentences.iter().enumerate() {
        page.say(if n == 0 { "not recorded" } else { "" }, sentence);
    }
    if missing.not_learned > 0 {
        let calls = counted(missing.not_learned, "recorded call");
        page.say("not learned", &format!("{calls}, which came faster than they could be learned"));
    }
    if missing.given_up_threads > 0 {
        let threads = counted(missing.given_up_threads, "thread");
        page.say(
            "in process",
            &format!(
                "{threads} could not be learned to the end (too little memory, or a fault); this \
                 command answers their questions instead"
            ),
        );
    }
    if let Some(stacks) = &summary.stacks {
        let checked = counted(stacks.checked, "call stack");
        let differ = match stacks.different {
            1 => "1 differs".to_owned(),
            different => format!("{} differ", grouped(different)),
        };
        page.say("compared", &format!("{checked} with those of backtrace(); {differ}"));
    }
    for (n, linked_in) in summary.linked_in.iter().take(3).enumerate() {
        page.say(if n == 0 { "not seen" } else { "" }, &linked_in.sentence);
    }
    let processes = &summary.processes;
    if processes.still_running > 0 {
        let running = counted(processes.still_running, "process");
        page.say("still running", &format!("{running}, no longer recorded"));
    }
    if processes.ranks_seen < processes.ranks_expected {
        page.say(
            "not seen",
            &format!(
                "{} of {} ranks, which run on other machines; use 'mpirun … ioracle run -- {}' to \
                 record them, too",
                processes.ranks_expected - processes.ranks_seen,
                processes.ranks_expected,
                without_control_characters(&summary.application)
            ),
        );
    }
}

/// Processes and threads that could record nothing, the first ones by name.
fn unrecorded_in_words(missing: &UnrecordedTotals) -> String {
    let named = missing.programs.iter().take(NAMED);
    let named: Vec<String> = named.map(|it| format!("'{}' ({})", it.name, it.pid)).collect();
    let others = match missing.processes.saturating_sub(named.len() as u64) {
        0 => "",
        _ => ", …",
    };
    let processes = match missing.processes {
        0 => String::new(),
        n => format!(", the only ones of {}: {}{others}", counted(n, "process"), named.join(", ")),
    };
    format!("all calls of {}{processes}", counted(missing.threads, "thread"))
}

fn signal_name(signal: i32) -> String {
    match nix::sys::signal::Signal::try_from(signal) {
        Ok(signal) => format!("{} ({})", signal.as_str(), signal as i32),
        Err(_) => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests;
