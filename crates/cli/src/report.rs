// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle report`: one self-contained page with everything there is to see in a
//! trace. The values come from `insight`, the page from `report/dist`, which is
//! built from `report/src`; this file puts the one into the other.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ioracle_insight::{Report, ReportAnalysis, ReportedJob};
use ioracle_prefetch::PrefetchReport;
use ioracle_trace::{ReadOptions, Trace};
use serde::Serialize;

use crate::shared::failure::open_trace;
use crate::shared::numbers::bytes;
use crate::shared::output;
use crate::shared::summary::{self, KnowledgeUse, MissingCalls, TraceProcesses};
use crate::shared::text::without_control_characters;
use crate::shared::whole_trace;

const EXAMPLES: &str = "\
Examples:
  ioracle report trace                      writes report.html
  ioracle report trace -o /tmp/ncra.html    the same elsewhere
  ioracle report tests/traces/cm1-grads     from a trace in CSV format
  ioracle report trace -o - | gzip >a.gz    the page on standard output
  ioracle report trace --json               the values instead of the page

The page needs no network: copy it to any machine and open it in a browser.";

/// Everything but the values, as it was built.
const PAGE: &str = include_str!("../../../report/dist/report.html");
/// Where the values go.
const PLACEHOLDER: &str = "\"ioracle-report-values\"";

/// Write a page that shows what a recorded program did, and what to change
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArguments {
    /// Directory of a recorded, recovered or imported trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// File to write; '-' for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Skip and count what cannot be read instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print the values that the page shows as one JSON document, and write no page
    #[arg(long)]
    json: bool,
}

/// All values of a page.
#[derive(Serialize)]
struct Document {
    /// Changes when a field changes its meaning.
    format: u32,
    /// The version of `ioracle`.
    version: &'static str,
    trace: String,
    application: String,
    application_version: String,
    command: String,
    wall_s: Option<f64>,
    event_span_s: f64,
    events: u64,
    processes: TraceProcesses,
    /// Whether rows of the picture are ranks; processes otherwise.
    has_ranks: bool,
    /// Why events are missing from the recording.
    incomplete: Option<String>,
    skipped: u64,
    not_recorded: u64,
    prefetch: Option<InWords<PrefetchReport>>,
    knowledge: Option<InWords<KnowledgeUse>>,
    #[serde(flatten)]
    report: Report,
}

/// What the run was given, with the sentence that `ioracle run` said about it.
#[derive(Serialize)]
struct InWords<T> {
    sentence: String,
    #[serde(flatten)]
    values: T,
}

impl<T> InWords<T> {
    fn new(values: T, sentence: impl FnOnce(&T) -> String) -> InWords<T> {
        InWords { sentence: sentence(&values), values }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &ReportArguments) -> Result<()> {
    let trace = open_trace(&arguments.trace, ReadOptions { lenient: arguments.lenient })?;
    let to_stdout = arguments.output.as_os_str() == "-";
    if !arguments.json && !to_stdout {
        output::check_place(&arguments.output)?;
    }
    let document = document(&trace)?;
    if arguments.json {
        return output::print_json(&document);
    }
    let page = page(&document)?;
    if to_stdout {
        return output::print_text(&page);
    }
    output::write_file(&arguments.output, page.as_bytes())?;
    output::print_text(&said(&arguments.output, page.len() as u64, &document.report.verdict))
}

fn said(path: &Path, length: u64, verdict: &[String]) -> String {
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let verdict: Vec<String> =
        verdict.iter().map(|sentence| without_control_characters(sentence)).collect();
    format!(
        "{}\n\nThe report is in '{}' ({}); open it in a browser: file://{}\n",
        verdict.join("\n"),
        path.display(),
        bytes(length),
        place.display()
    )
}

fn document(trace: &Trace) -> Result<Document> {
    let mut analysis = ReportAnalysis::default();
    let n_processes = trace.process_ranks().map(|ranks| ranks.len() as u32);
    let processes: Vec<u32> = match n_processes {
        Some(n) => (0..n).collect(),
        None => trace.meta().rank_start_offset_ns.keys().copied().collect(),
    };
    for process in processes {
        analysis.define_start(process, trace.process_start_ns(process));
    }
    let seen = whole_trace::read(trace, &mut analysis)?;
    let ranks = seen.ranks(trace);
    let event_span_s = seen.event_span_s(trace);
    let wall_s = whole_trace::wall_s(trace);
    let meta = trace.meta();
    let program = if meta.application.is_empty() { trace.name() } else { &meta.application };
    let missing = whole_trace::missing(trace);
    let not_recorded = missing.iter().map(|cause| cause.calls).sum();
    let job = ReportedJob {
        program: program.to_owned(),
        wall_s: wall_s.unwrap_or(event_span_s),
        has_advice: !MissingCalls::are_too_many(&missing, seen.n_events),
        ranks,
    };
    let processes = seen.processes(trace, &job.ranks);
    Ok(Document {
        format: 1,
        version: env!("CARGO_PKG_VERSION"),
        trace: trace.name().to_owned(),
        application: meta.application.clone(),
        application_version: meta.version.clone(),
        command: meta.command.clone(),
        wall_s,
        event_span_s,
        events: seen.n_events,
        has_ranks: !job.ranks.is_empty(),
        processes,
        incomplete: trace.incomplete().map(str::to_owned),
        skipped: seen.skipped,
        not_recorded,
        prefetch: whole_trace::prefetch(trace)?
            .map(|report| InWords::new(report, summary::what_prefetching_did)),
        knowledge: whole_trace::knowledge(trace)?
            .map(|knowledge| InWords::new(knowledge, summary::what_is_known)),
        report: analysis.finish(&job),
    })
}

/// The page with its values, in which nothing can end the element they are in.
fn page(document: &impl Serialize) -> Result<String> {
    let values = serde_json::to_string(document).context("could not put the report together")?;
    let (before, after) =
        PAGE.split_once(PLACEHOLDER).context("the page has no place for values")?;
    let mut page = String::with_capacity(PAGE.len() + values.len());
    page.push_str(before);
    push_escaped(&mut page, &values);
    page.push_str(after);
    Ok(page)
}

/// JSON that means the same and has no markup: these letters stand in strings
/// only, where they may be escaped.
fn push_escaped(page: &mut String, json: &str) {
    let mut rest = json;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        page.push_str(&rest[..at]);
        let mut letters = rest[at..].chars();
        if let Some(letter) = letters.next() {
            page.push_str(&format!("\\u{:04x}", u32::from(letter)));
        }
        rest = letters.as_str();
    }
    page.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_leave_their_element() {
        let evil = "</script><script>alert(1)</script><!-- & \u{2028}";
        let page = page(&serde_json::json!({ evil: evil })).unwrap();
        assert!(!page.contains("<script>alert") && !page.contains('\u{2028}'));
        let start = page.find("{\"\\u003c/script").unwrap();
        let end = start + page[start..].find("</script>").unwrap();
        let values: serde_json::Value = serde_json::from_str(page[start..end].trim()).unwrap();
        assert_eq!(values[evil], evil);
    }

    #[test]
    fn the_page_asks_no_network() {
        assert!(PAGE.contains("default-src 'none'"));
        assert!(!PAGE.contains("src=\"http") && !PAGE.contains("href=\"http"));
    }
}
