// SPDX-License-Identifier: MIT OR Apache-2.0

//! The evaluation document and its figures, as files.

use std::path::Path;

use anyhow::Result;
use ioracle_lab::document::{Subject, document};

use super::Evaluated;
use super::pictures::{self, Format};
use crate::shared::output::write_file;

/// Writes `evaluation.md` and `figures/` into `directory`.
pub fn write(directory: &Path, evaluated: Vec<Evaluated>) -> Result<()> {
    let reports: Vec<_> = evaluated.iter().filter_map(|trace| trace.reports.first()).collect();
    pictures::write(&directory.join("figures"), &reports, Format::Svg)?;
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
