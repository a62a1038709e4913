// SPDX-License-Identifier: MIT OR Apache-2.0

//! What must be reached, and whether it is.

use super::Subject;
use super::markdown::table;
use super::reported::PROTOTYPE;
use crate::baselines::BaselineResult;
use crate::evaluation::Evaluation;

/// Percentages this close count as equal.
const TOLERANCE: f64 = 0.1;
/// The prototype's numbers are printed with one decimal.
const PRINTED: f64 = 0.05;
/// Shorter traces say little about calibration.
const CALIBRATED_FROM: u64 = 5000;
const MAX_MODEL_BYTES: u64 = 1_000_000;

/// One thing to be reached on one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What.
    pub what: &'static str,
    /// What we reach and what is asked, as text.
    pub numbers: String,
    /// Whether it is reached; `None` where it does not apply.
    pub met: Option<bool>,
}

/// Everything that is asked of one trace.
pub fn bars(evaluation: &Evaluation) -> Vec<Bar> {
    let e = evaluation;
    let best = |field: fn(&BaselineResult) -> Option<f64>| {
        let named = e.baselines.iter().flat_map(|results| results.named());
        named.filter_map(|(_, result)| field(result)).reduce(f64::max)
    };
    let prototype = PROTOTYPE.iter().find(|prototype| prototype.trace == e.trace);
    let above = |what, ours, theirs: Option<f64>| at_least(what, ours, theirs, PRINTED);
    let calibrated = |error: Option<f64>| error.filter(|_| e.operations >= CALIBRATED_FROM);
    vec![
        at_least(
            "context accuracy ≥ baselines",
            e.context_accuracy,
            best(|b| b.context_accuracy),
            TOLERANCE,
        ),
        at_most("calibration error ≤ 0.02", calibrated(e.calibration_error), Some(0.02), 4),
        // Places are what a prefetcher bets on, in short runs too.
        at_most("place calibration error ≤ 0.02", e.place_calibration_error, Some(0.02), 4),
        at_least("hit ratio ≥ baselines", e.hit_ratio, best(|b| b.hit_ratio), TOLERANCE),
        at_least("offsets ≥ baselines", e.offset_accuracy, best(|b| b.offset_accuracy), TOLERANCE),
        above("context ≥ prototype", e.context_accuracy, prototype.map(|p| p.context)),
        above("offset ≥ prototype", e.offset_accuracy, prototype.map(|p| p.offset)),
        above("size exact ≥ prototype", e.size_exact, prototype.map(|p| p.size_exact)),
        above("hit ratio ≥ prototype", e.hit_ratio, prototype.map(|p| p.hit_ratio)),
        above(
            "hit ratio, second half ≥ prototype",
            e.hit_ratio_stationary,
            prototype.map(|p| p.hit_ratio_stationary),
        ),
        bar(
            "interarrival error < immediate",
            e.time_error_s,
            e.immediate_error_s,
            6,
            |ours, theirs| ours < theirs,
        ),
        at_most("observe, mean ≤ 1000 ns", e.observe_ns_mean, Some(1000.0), 0),
        at_most("observe, p99 ≤ 5000 ns", e.observe_ns_p99, Some(5000.0), 0),
        at_most("model ≤ 1 MB", Some(e.model_bytes as f64), Some(MAX_MODEL_BYTES as f64), 0),
    ]
}

fn at_least(what: &'static str, ours: Option<f64>, asked: Option<f64>, tolerance: f64) -> Bar {
    bar(what, ours, asked, 2, |ours, asked| ours >= asked - tolerance)
}

fn at_most(what: &'static str, ours: Option<f64>, asked: Option<f64>, decimals: usize) -> Bar {
    bar(what, ours, asked, decimals, |ours, asked| ours <= asked)
}

fn bar(
    what: &'static str,
    ours: Option<f64>,
    asked: Option<f64>,
    decimals: usize,
    is_met: impl Fn(f64, f64) -> bool,
) -> Bar {
    let (Some(ours), Some(asked)) = (ours, asked) else {
        return Bar { what, numbers: "–".to_owned(), met: None };
    };
    let numbers = format!("{ours:.decimals$} / {asked:.decimals$}");
    Bar { what, numbers, met: Some(is_met(ours, asked)) }
}

pub(super) fn section(subjects: &[Subject]) -> String {
    let per_trace: Vec<Vec<Bar>> =
        subjects.iter().map(|subject| bars(&subject.report.evaluation)).collect();
    let all = per_trace.iter().flatten().filter_map(|bar| bar.met);
    let (met, missed) =
        all.fold(
            (0, 0),
            |(met, missed), is_met| {
                if is_met { (met + 1, missed) } else { (met, missed + 1) }
            },
        );
    let mut header = vec!["ours / asked"];
    header.extend(subjects.iter().map(|subject| subject.report.evaluation.trace.as_str()));
    let names: Vec<&str> = per_trace.first().into_iter().flatten().map(|bar| bar.what).collect();
    let rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let cells =
                per_trace.iter().filter_map(|bars| bars.get(index)).map(|bar| match bar.met {
                    Some(true) => format!("{} met", bar.numbers),
                    Some(false) => format!("**{} missed**", bar.numbers),
                    None => bar.numbers.clone(),
                });
            std::iter::once((*name).to_owned()).chain(cells).collect()
        })
        .collect();
    format!(
        "## What must be reached\n\n{met} met, {missed} missed. Percentages may be {TOLERANCE} below a \
         baseline; the prototype (longest matching context, whole history) was measured to one decimal; \
         calibration is only required from {CALIBRATED_FROM} operations on.\n\n{}",
        table(&header, &rows)
    )
}
