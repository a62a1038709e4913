// SPDX-License-Identifier: MIT OR Apache-2.0

//! The evaluation document: our numbers beside the report's and the baselines'.
//!
//! Everything in it is computed from evaluations; what is met or missed is
//! decided here and written nowhere else.

mod bars;
pub(crate) mod markdown;
mod reported;
mod tables;

use crate::ablation::Ablation;
use crate::evaluate::RankReport;
use crate::figures::Figure;

pub use bars::{Bar, bars};

/// One trace of the document.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its first rank.
    pub report: RankReport,
    /// What each improvement is worth on it.
    pub ablations: Vec<Ablation>,
    /// What was recorded, in the words of its description.
    pub application: String,
}

/// The document as Markdown; figures are expected in `figures/` beside it.
pub fn document(subjects: &[Subject], machine: &str) -> String {
    let sections = [
        introduction(machine),
        tables::subjects(subjects),
        bars::section(subjects),
        tables::context(subjects),
        tables::grammar(subjects),
        tables::horizon(subjects),
        tables::table_6(subjects),
        tables::table_7(subjects),
        tables::sizes_and_files(subjects),
        tables::table_8(subjects),
        tables::table_9(subjects),
        tables::table_10(subjects),
        tables::ablation(subjects),
        figures(subjects),
    ];
    sections.join("\n")
}

fn introduction(machine: &str) -> String {
    format!(
        "\
<!-- SPDX-License-Identifier: MIT OR Apache-2.0 -->
<!-- Written by `make eval`; do not edit. -->

# How well it predicts

Every operation of each trace was predicted before it was seen, by an oracle
that knew nothing at the start of the trace. [What is measured](eval.md), and
how, is the contract of `ioracle eval`. The report is
Dorier, Ibrahim, Antoniu and Ross, *On the Use of Formal Grammars to Predict HPC
I/O Behaviors* (2015); its applications ran on 512 cores of a cluster, ours are
the recorded traces below, so its numbers are for orientation only;
the baselines ran in the same harness on the same traces.

Times were measured on: {machine}.
"
    )
}

fn figures(subjects: &[Subject]) -> String {
    let mut text = String::from(
        "\
## Figures

These correspond to the report's Figures 2 to 8 and have the same numbers. Each is
reduced to 500 bins; a band shows the smallest and largest value within a bin,
Figure 7 the largest. Figure 3 follows an iterator for up to 10,000 operations.
",
    );
    for subject in subjects {
        let Some(series) = &subject.report.series else { continue };
        let trace = &subject.report.evaluation.trace;
        text.push_str(&format!("\n### {trace}\n\n"));
        for figure in Figure::ALL {
            let drawn = match figure {
                Figure::SizeError | Figure::HitRatio => series.hit.iter().next().is_some(),
                _ => true,
            };
            if drawn {
                let caption = figure.caption();
                let number = figure.number();
                let file = figure.file_name(trace);
                text.push_str(&format!("![Figure {number}: {caption}](figures/{file})\n"));
            }
        }
    }
    text
}
