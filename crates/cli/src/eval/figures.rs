// SPDX-License-Identifier: MIT OR Apache-2.0

//! The figures of evaluated ranks, and the evaluation document, as files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ioracle_lab::RankReport;
use ioracle_lab::document::{Subject, document};
use ioracle_lab::figures::{Figure, draw};

use super::Evaluated;
use crate::shared::output::write_file;
use crate::shared::png;

/// What figures are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// SVG alone.
    Svg,
    /// SVG, and PNG beside it for programs that do not read SVG.
    SvgAndPng,
}

/// Draws what was recorded into `directory`; a rank other than the first of its
/// trace has its number in the name. Returns the number of figures.
pub fn write_figures(directory: &Path, reports: &[&RankReport], format: Format) -> Result<usize> {
    let fonts = (format == Format::SvgAndPng).then(png::Fonts::of_this_machine);
    let mut n_figures = 0;
    fs::create_dir_all(directory)
        .with_context(|| format!("could not create '{}'", directory.display()))?;
    let mut last_trace = None;
    for report in reports {
        let Some(series) = &report.series else { continue };
        let trace = report.evaluation.trace.as_str();
        let name = match last_trace == Some(trace) {
            true => format!("{trace}-rank{}", report.evaluation.rank),
            false => trace.to_owned(),
        };
        last_trace = Some(trace);
        for figure in Figure::ALL {
            if let Some(svg) = draw(figure, &name, series)? {
                let path = directory.join(figure.file_name(&name));
                write_file(&path, svg.as_bytes())?;
                if let Some(fonts) = &fonts {
                    write_file(&path.with_extension("png"), &fonts.png(&svg)?)?;
                }
                n_figures += 1;
            }
        }
    }
    Ok(n_figures)
}

/// Writes `evaluation.md` and `figures/` into `directory`.
pub fn write_document(directory: &Path, evaluated: Vec<Evaluated>) -> Result<()> {
    let reports: Vec<_> = evaluated.iter().filter_map(|trace| trace.reports.first()).collect();
    write_figures(&directory.join("figures"), &reports, Format::Svg)?;
    let subjects: Vec<Subject> = evaluated
        .into_iter()
        .filter_map(|evaluated| {
            let Evaluated { trace, reports, ablations, .. } = evaluated;
            let report = reports.into_iter().next()?;
            Some(Subject { report, ablations, application: trace.meta().application.clone() })
        })
        .collect();
    let text = document(&subjects, &machine());
    write_file(&directory.join("evaluation.md"), text.as_bytes())
}

/// The processor that times were measured on.
fn machine() -> String {
    let unknown = "an unknown processor";
    let Ok(text) = std::fs::read_to_string("/proc/cpuinfo") else { return unknown.to_owned() };
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or(unknown, |(_, name)| name.trim()).to_owned()
}
