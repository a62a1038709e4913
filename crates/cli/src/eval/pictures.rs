// SPDX-License-Identifier: MIT OR Apache-2.0

//! The figures of evaluated ranks, as files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ioracle_lab::RankReport;
use ioracle_lab::figures::{Figure, draw};

use crate::shared::output::write_file;

/// Draws what was recorded into `directory`; a rank other than the first of its
/// trace has its number in the name.
pub fn write(directory: &Path, reports: &[&RankReport]) -> Result<()> {
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
                write_file(&directory.join(figure.file_name(&name)), svg.as_bytes())?;
            }
        }
    }
    Ok(())
}
