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
type Switch = (&'static str, fn(&mut Improvements));

/// Everything that can be switched off.
const SWITCHES: [Switch; 6] = [
    ("absolute or relative", |on| on.absolute_or_relative = false),
    ("file names", |on| on.name_templates = false),
    ("interleaved files", |on| on.interleaved_files = false),
    ("following sizes", |on| on.following_sizes = false),
    ("competing times", |on| on.competing_times = false),
    ("all of them", |on| {
        *on = Improvements {
            absolute_or_relative: false,
            name_templates: false,
            interleaved_files: false,
            following_sizes: false,
            competing_times: false,
        };
    }),
];

/// Evaluates the first rank of a surveyed trace once for each switch.
pub fn ablate(trace: &Trace, survey: &Survey) -> Result<Vec<Ablation>, Error> {
    let mut ablations = Vec::new();
    for (without, switch_off) in SWITCHES {
        let mut oracle = Config::default();
        switch_off(&mut oracle.improvements);
        let options = EvaluateOptions { oracle, ..EvaluateOptions::default() };
        let reports = evaluate(trace, survey, &options, |_| {})?;
        if let Some(report) = reports.into_iter().next() {
            ablations.push(Ablation { without, evaluation: report.evaluation });
        }
    }
    Ok(ablations)
}
