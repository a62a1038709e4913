// SPDX-License-Identifier: MIT OR Apache-2.0

//! A forecast for people, on one screen.

use std::fmt::Write;

use ioracle_forecast::CONFIDENCE;

use super::Outcome;
use crate::shared::numbers::{duration, share};
use crate::shared::table::{Alignment, Colours, TextTable};

/// Rows of each table.
const MAX_CLASSES: usize = 12;
const MAX_CHANGES: usize = 5;

/// The forecast for people.
pub fn render(outcome: &Outcome) -> String {
    let forecast = &outcome.forecast;
    let (low, high) = forecast.interval_s;
    let mut text = format!(
        "I/O on {}: {} ({} to {} with {} probability), {} on {}\n",
        outcome.target.name,
        duration(forecast.total_s),
        duration(low),
        duration(high),
        share(CONFIDENCE),
        duration(forecast.reference_s),
        outcome.reference.name,
    );
    let _ = writeln!(
        text,
        "{} reading, {} writing, {} waiting for other ranks, {} the same on every storage",
        duration(forecast.read_s),
        duration(forecast.write_s),
        duration(forecast.waiting_s),
        duration(forecast.kept_s),
    );
    if let (Some(before), Some(after)) = (forecast.reference_run_s, forecast.run_s) {
        let (after, before) = (duration(after), duration(before));
        let _ = writeln!(text, "the whole run: {after}, {before} on {}", outcome.reference.name);
    }
    text.push('\n');
    text.push_str(&classes(outcome));
    if let Some(comparison) = &outcome.comparison {
        text.push('\n');
        text.push_str(&compared(outcome, comparison));
    }
    if !outcome.what_if.is_empty() {
        text.push_str("\nwhat would help on this system:\n");
        for it in outcome.what_if.iter().take(MAX_CHANGES) {
            let _ = writeln!(text, "  saves {:>9}  {}", duration(it.saves_s), it.change);
        }
    }
    for warning in &forecast.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn classes(outcome: &Outcome) -> String {
    let mut table = TextTable::new(&[
        ("class", Alignment::Left),
        (&outcome.reference.name, Alignment::Right),
        ("ratio", Alignment::Right),
        (&outcome.target.name, Alignment::Right),
    ]);
    for row in outcome.forecast.classes.iter().take(MAX_CLASSES) {
        let class = match row.cached_share {
            Some(cached) => format!("{}, {} from a cache", row.class, share(cached)),
            None => row.class.to_string(),
        };
        table.push(vec![
            class.into(),
            duration(row.reference_s).into(),
            format!("{:.2}", row.ratio).into(),
            duration(row.target_s).into(),
        ]);
    }
    let mut text = table.render(Colours::for_stdout());
    let hidden = outcome.forecast.classes.len().saturating_sub(MAX_CLASSES);
    if hidden > 0 {
        let _ = writeln!(text, "{hidden} more in --json");
    }
    text
}

/// The paper's tables 3 and 4 for this pair.
fn compared(outcome: &Outcome, comparison: &ioracle_forecast::Comparison) -> String {
    let mut table = TextTable::new(&[
        ("against a real run", Alignment::Left),
        ("read", Alignment::Right),
        ("write", Alignment::Right),
        ("total", Alignment::Right),
    ]);
    let forecast = &outcome.forecast;
    let times = |times: [f64; 3]| times.map(duration);
    let spreads = |spreads: [f64; 3]| spreads.map(|rsd| format!("{:.2} %", 100.0 * rsd));
    let signed = |error: Option<f64>| error.map_or("–".to_owned(), |it| format!("{it:+.2} %"));
    let rows = [
        ("forecast", times([forecast.read_s, forecast.write_s, forecast.total_s])),
        ("actual", times(comparison.actual_s)),
        ("error (positive: predicted too long)", comparison.error_percent.map(signed)),
        ("RSD of the program on the reference", spreads(forecast.application_rsd)),
        ("RSD of the program on the target", spreads(comparison.rsd)),
        ("RSD of the benchmark on the reference", spreads(forecast.benchmark_rsd[0])),
        ("RSD of the benchmark on the target", spreads(forecast.benchmark_rsd[1])),
    ];
    for (name, cells) in rows {
        let mut row = vec![name.into()];
        row.extend(cells.into_iter().map(Into::into));
        table.push(row);
    }
    let mut text = table.render(Colours::for_stdout());
    let where_ = if comparison.is_inside { "inside" } else { "outside" };
    let _ = writeln!(text, "the real total is {where_} the interval");
    text
}
