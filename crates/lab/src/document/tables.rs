// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tables of the evaluation document, in the report's order.

use super::Subject;
use super::markdown::{bytes, number, percent, seconds, table};
use super::reported::{REPORTED, ReportedApplication};
use crate::baselines::BaselineResult;
use crate::evaluation::Evaluation;

type Rows = Vec<Vec<String>>;

/// One row per trace.
fn ours(subjects: &[Subject], row: impl Fn(&Subject) -> Vec<String>) -> Rows {
    subjects
        .iter()
        .map(|subject| {
            let mut cells = vec![subject.report.evaluation.trace.clone()];
            cells.extend(row(subject));
            cells
        })
        .collect()
}

/// The report's rows, marked as such, above ours.
fn beside(theirs: impl Fn(&ReportedApplication) -> Vec<String>, ours: Rows) -> Rows {
    let mut rows: Rows = REPORTED
        .iter()
        .map(|reported| {
            let mut cells = vec![format!("*report:* {}", reported.application)];
            cells.extend(theirs(reported));
            cells
        })
        .collect();
    rows.extend(ours);
    rows
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub(super) fn subjects(subjects: &[Subject]) -> String {
    let rows = ours(subjects, |subject| {
        let e = &subject.report.evaluation;
        vec![
            subject.application.clone(),
            e.rank.to_string(),
            e.operations.to_string(),
            e.symbols.to_string(),
        ]
    });
    let header = ["trace", "application", "rank", "operations", "context symbols"];
    format!("## The traces\n\n{}", table(&header, &rows))
}

pub(super) fn context(subjects: &[Subject]) -> String {
    let columns = |e: &Evaluation, field: fn(&BaselineResult) -> Option<f64>| -> Vec<String> {
        let Some(results) = &e.baselines else { return vec!["–".to_owned(); 6] };
        let compared = [
            &results.longest16,
            &results.markov8,
            &results.markov4,
            &results.markov2,
            &results.markov1,
            &results.sequitur_equal,
        ];
        compared.into_iter().map(|result| percent(field(result))).collect()
    };
    let part = |ours_of: fn(&Evaluation) -> Option<f64>,
                field: fn(&BaselineResult) -> Option<f64>| {
        ours(subjects, |subject| {
            let e = &subject.report.evaluation;
            let mut cells = vec![percent(ours_of(e))];
            cells.extend(columns(e, field));
            cells
        })
    };
    let header = [
        "trace",
        "ioracle",
        "longest16",
        "markov8",
        "markov4",
        "markov2",
        "markov1",
        "sequitur_equal",
    ];
    let whole = part(|e| e.context_accuracy, |b| b.context_accuracy);
    let half = part(|e| e.context_accuracy_stationary, |b| b.context_accuracy_stationary);
    let top = part(|e| e.context_top1, |b| b.context_top1);
    let quality = ours(subjects, |subject| {
        let e = &subject.report.evaluation;
        vec![
            number(e.context_brier, 4),
            number(e.calibration_error, 4),
            number(e.place_calibration_error, 4),
        ]
    });
    format!(
        "## Context symbols\n\nMean weight given to the symbol that came, in percent, over the run:\n\n{}\n\
         Over the second half:\n\n{}\nHighest-weight prediction right:\n\n{}\n\
         Brier score (0 to 2) of the predicted operations; calibration error (0 to 1) of the \
         probability of the operation, and of operation, file and place together:\n\n{}",
        table(&header, &whole),
        table(&header, &half),
        table(&header, &top),
        table(&["trace", "Brier score", "calibration error", "place calibration error"], &quality)
    )
}

pub(super) fn grammar(subjects: &[Subject]) -> String {
    let rows = ours(subjects, |subject| {
        let e = &subject.report.evaluation;
        let smaller = 100.0 * (1.0 - e.grammar_size as f64 / e.sequitur_grammar_size.max(1) as f64);
        vec![
            e.grammar_size.to_string(),
            e.sequitur_grammar_size.to_string(),
            format!("{smaller:.0} %"),
            bytes(Some(e.model_bytes as f64)),
        ]
    });
    let header =
        ["trace", "StarSequitur", "plain Sequitur", "smaller by", "memory of the whole model"];
    format!(
        "## Grammar size, with and without exponents\n\nSymbols in all rule bodies at the end of the \
         run. The report's gain is largest for GTC (450 to 27) and 31 % for Nek5000.\n\n{}",
        table(&header, &rows)
    )
}

pub(super) fn horizon(subjects: &[Subject]) -> String {
    let rows = ours(subjects, |subject| vec![number(subject.report.evaluation.horizon_share, 3)]);
    format!(
        "## Steps ahead\n\nSymbols right in a row along the best iterator, relative to the operations \
         left (at most 1000), at 1000 positions of the second half.\n\n{}",
        table(&["trace", "horizon share"], &rows)
    )
}

pub(super) fn table_6(subjects: &[Subject]) -> String {
    let own = ours(subjects, |subject| {
        let sizes = &subject.report.details.access_size;
        vec![bytes(sizes.min()), bytes(sizes.max()), bytes(sizes.mean()), bytes(sizes.deviation())]
    });
    let rows = beside(|reported| texts(&reported.sizes), own);
    let header = ["application", "min", "max", "average", "std. dev."];
    format!("## Table 6: access sizes\n\n{}", table(&header, &rows))
}

pub(super) fn table_7(subjects: &[Subject]) -> String {
    let own = ours(subjects, |subject| {
        let e = &subject.report.evaluation;
        let published = e.baselines.as_ref().and_then(|b| b.sequitur_equal.offset_accuracy);
        vec![percent(e.contiguous_accuracy), percent(e.offset_accuracy), percent(published)]
    });
    let rows = beside(
        |reported| {
            let mut cells = texts(&reported.offsets);
            cells.push("–".to_owned());
            cells
        },
        own,
    );
    let header = ["application", "contiguous accesses, %", "predicted, %", "sequitur_equal, %"];
    format!("## Table 7: offsets\n\n{}", table(&header, &rows))
}

pub(super) fn sizes_and_files(subjects: &[Subject]) -> String {
    let rows = ours(subjects, |subject| {
        let e = &subject.report.evaluation;
        let contiguous = e.baselines.as_ref().and_then(|b| b.contiguous.file_accuracy);
        vec![
            percent(e.one_size_symbols),
            percent(e.size_exact),
            number(e.size_error_mean, 4),
            percent(e.file_accuracy),
            percent(contiguous),
        ]
    });
    let header = [
        "trace",
        "symbols with one size, %",
        "size exact, %",
        "size error (cut at 5)",
        "file, %",
        "same file as last, %",
    ];
    format!("## Sizes and files\n\n{}", table(&header, &rows))
}

pub(super) fn table_8(subjects: &[Subject]) -> String {
    let own = ours(subjects, |subject| {
        let e = &subject.report.evaluation;
        let baseline = |of: fn(&crate::baselines::BaselineResults) -> &BaselineResult| {
            percent(e.baselines.as_ref().and_then(|results| of(results).hit_ratio))
        };
        vec![
            percent(e.hit_ratio),
            percent(e.hit_ratio_stationary),
            baseline(|results| &results.contiguous),
            baseline(|results| &results.sequitur_equal),
        ]
    });
    let rows = beside(|reported| texts(&[reported.hit_ratio, "–", "–", "–"]), own);
    let header = ["application", "hit ratio, %", "second half", "contiguous", "sequitur_equal"];
    format!("## Table 8: hit ratio\n\n{}", table(&header, &rows))
}

pub(super) fn table_9(subjects: &[Subject]) -> String {
    let own = ours(subjects, |subject| {
        let (e, details) = (&subject.report.evaluation, &subject.report.details);
        let last = e.baselines.as_ref().and_then(|results| results.last_time.time_error_s);
        vec![
            seconds(e.time_error_s),
            seconds(details.time_error.deviation()),
            seconds(e.immediate_error_s),
            seconds(details.immediate_error.deviation()),
            seconds(last),
        ]
    });
    let rows = beside(
        |reported| {
            let [difference, immediate] = reported.times;
            texts(&[difference, "–", immediate, "–", "–"])
        },
        own,
    );
    let header = [
        "application",
        "time difference, s",
        "std. dev.",
        "immediate reaccess, s",
        "std. dev.",
        "last value, s",
    ];
    format!("## Table 9: interarrival times\n\n{}", table(&header, &rows))
}

pub(super) fn table_10(subjects: &[Subject]) -> String {
    let own = ours(subjects, |subject| {
        let (e, details) = (&subject.report.evaluation, &subject.report.details);
        let micro = |ns: Option<f64>| number(ns.map(|ns| ns / 1000.0), 2);
        vec![
            micro(details.observe.mean()),
            micro(details.observe.deviation()),
            micro(e.observe_ns_p99),
        ]
    });
    let rows = beside(
        |reported| {
            let [mean, deviation] = reported.overhead;
            texts(&[mean, deviation, "–"])
        },
        own,
    );
    let header = ["application", "average overhead, µs", "std. dev.", "p99"];
    format!(
        "## Table 10: cost of learning an operation\n\nOurs is the cost of `observe` alone, including \
         predictions; the report's also includes taking the call stack.\n\n{}",
        table(&header, &rows)
    )
}

pub(super) fn ablation(subjects: &[Subject]) -> String {
    let mut rows = Rows::new();
    for subject in subjects {
        let full = &subject.report.evaluation;
        let all = subject.ablations.iter().map(|ablation| (ablation.without, &ablation.evaluation));
        for (without, e) in std::iter::once(("nothing", full)).chain(all) {
            rows.push(vec![
                full.trace.clone(),
                without.to_owned(),
                percent(e.offset_accuracy),
                percent(e.size_exact),
                percent(e.file_accuracy),
                percent(e.hit_ratio),
                percent(e.hit_ratio_stationary),
                seconds(e.time_error_s),
                number(e.place_calibration_error, 4),
            ]);
        }
    }
    let header = [
        "trace",
        "without",
        "offset, %",
        "size exact, %",
        "file, %",
        "hit ratio, %",
        "second half",
        "time error, s",
        "place calibration error",
    ];
    format!(
        "## What each improvement is worth\n\nThe same evaluation with one of the oracle's improvements \
         over the report switched off.\n\n{}",
        table(&header, &rows)
    )
}
