// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each improvement over the report is worth: the same evaluation with one
//! of them switched off.

use ioracle_oracle::{Config, Improvements};
use ioracle_trace::Trace;

use crate::error::Error;
use crate::evaluate::{EvaluateOptions, evaluate};
use crate::evaluation::Evaluation;
use crate::survey::Survey;

/// An evaluation with something switched off.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// What was switched off.
    pub without: &'static str,
    /// The first rank's numbers without it.
    pub evaluation: Evaluation,
}

/// A name and what it switches off.
type Switch = (&'static str, fn(&mut Config));

/// Everything that can be switched off.
const SWITCHES: [Switch; 15] = [
    ("absolute or relative", |on| on.improvements.absolute_or_relative = false),
    ("file names", |on| on.improvements.name_templates = false),
    ("interleaved files", |on| on.improvements.interleaved_files = false),
    ("following sizes", |on| on.improvements.following_sizes = false),
    ("competing times", |on| on.improvements.competing_times = false),
    ("ends of files", |on| on.improvements.ends_of_files = false),
    ("ends decide", |on| on.improvements.ends_decide = false),
    ("sizes at open", |on| on.improvements.sizes_at_open = false),
    ("middle sizes", |on| on.improvements.middle_sizes = false),
    ("relatives", |on| on.improvements.relatives = false),
    ("stated together", |on| on.improvements.stated_together = false),
    ("clues between", |on| on.improvements.clues = false),
    ("trusted waits", |on| on.improvements.trusted_waits = false),
    ("shared rest", |on| on.grammar.shares_rest = false),
    ("all of them", |on| {
        on.grammar.shares_rest = false;
        on.improvements = Improvements {
            absolute_or_relative: false,
            name_templates: false,
            interleaved_files: false,
            following_sizes: false,
            competing_times: false,
            ends_of_files: false,
            ends_decide: false,
            sizes_at_open: false,
            middle_sizes: false,
            relatives: false,
            renamed_files: false,
            stated_together: false,
            clues: false,
            trusted_waits: false,
        };
    }),
];

/// Evaluates the first rank of a surveyed trace once for each switch.
pub fn ablate(trace: &Trace, survey: &Survey) -> Result<Vec<Ablation>, Error> {
    let mut ablations = Vec::new();
    for (without, switch_off) in SWITCHES {
        let mut oracle = Config::default();
        switch_off(&mut oracle);
        let options = EvaluateOptions { oracle, ..EvaluateOptions::default() };
        let reports = evaluate(trace, survey, &options, |_| {})?;
        if let Some(report) = reports.into_iter().next() {
            ablations.push(Ablation { without, evaluation: report.evaluation });
        }
    }
    Ok(ablations)
}
