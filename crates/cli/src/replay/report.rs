// SPDX-License-Identifier: MIT OR Apache-2.0

//! Original against replayed time, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use ioracle_forecast::{IoClass, ReplayPlan};
use serde::Serialize;

use super::coordinate::Performed;
use crate::shared::numbers::{counted, duration, grouped};
use crate::shared::table::{Alignment, Colours, TextTable};

/// Rows that the table shows; JSON has all.
const MAX_ROWS: usize = 20;

/// What a replay found out.
#[derive(Serialize)]
pub struct ReplayDocument {
    format: u32,
    /// Time of the replayed calls when they were recorded, all processes together.
    original_s: f64,
    /// Time of the same calls now.
    replayed_s: f64,
    /// Time that collective calls waited for each other, when recorded and now.
    original_waiting_s: f64,
    replayed_waiting_s: f64,
    /// From the beginning of the replay to its end.
    wall_s: f64,
    processes: usize,
    calls: u64,
    classes: Vec<ClassTimes>,
    /// Calls that were not made again, by function.
    left_out: BTreeMap<String, u64>,
    /// Waits for another process that were given up.
    order_lost: u64,
    /// Calls that failed although the recorded ones did not.
    failures: u64,
    first_failure: Option<String>,
}

#[derive(Serialize)]
struct ClassTimes {
    name: String,
    class: IoClass,
    calls: u64,
    original_s: f64,
    replayed_s: f64,
}

/// Puts plan and result side by side.
pub fn document(plan: &ReplayPlan, performed: &Performed) -> ReplayDocument {
    let original = plan.original_by_class();
    let mut classes: Vec<ClassTimes> = (plan.classes.iter().zip(original).zip(&performed.classes))
        .map(|((class, (calls, original_ns)), replayed)| ClassTimes {
            name: class.to_string(),
            class: *class,
            calls,
            original_s: original_ns as f64 * 1e-9,
            replayed_s: replayed.sum_ns() as f64 * 1e-9,
        })
        .collect();
    classes.sort_by(|one, other| other.original_s.total_cmp(&one.original_s));
    ReplayDocument {
        format: 1,
        original_s: classes.iter().map(|row| row.original_s).sum(),
        replayed_s: classes.iter().map(|row| row.replayed_s).sum(),
        original_waiting_s: plan.original_waiting_ns as f64 * 1e-9,
        replayed_waiting_s: performed.waiting.sum_ns() as f64 * 1e-9,
        wall_s: performed.wall_s,
        processes: plan.processes.len(),
        calls: classes.iter().map(|row| row.calls).sum(),
        classes,
        left_out: plan.left_out.clone(),
        order_lost: performed.order_lost,
        failures: performed.failures,
        first_failure: performed.first_failure.clone(),
    }
}

/// The document for people.
pub fn render(document: &ReplayDocument) -> String {
    let mut table = TextTable::new(&[
        ("class", Alignment::Left),
        ("calls", Alignment::Right),
        ("original", Alignment::Right),
        ("replayed", Alignment::Right),
        ("change", Alignment::Right),
    ]);
    for row in document.classes.iter().take(MAX_ROWS) {
        table.push(vec![
            row.name.as_str().into(),
            grouped(row.calls).into(),
            duration(row.original_s).into(),
            duration(row.replayed_s).into(),
            change(row.original_s, row.replayed_s).into(),
        ]);
    }
    let total = (document.original_s, document.replayed_s);
    table.push(vec![
        "all".into(),
        grouped(document.calls).into(),
        duration(total.0).into(),
        duration(total.1).into(),
        change(total.0, total.1).into(),
    ]);
    let mut text = table.render(Colours::for_stdout());
    let hidden = document.classes.len().saturating_sub(MAX_ROWS);
    let _ = writeln!(
        text,
        "{} in {}, {} from beginning to end{}",
        counted(document.calls, "call"),
        counted(document.processes as u64, "process"),
        duration(document.wall_s),
        if hidden > 0 { format!("; {hidden} more classes in --json") } else { String::new() }
    );
    if !document.left_out.is_empty() {
        let calls: Vec<String> =
            document.left_out.iter().map(|(name, n)| format!("{name} ({n})")).collect();
        let _ = writeln!(text, "not made again: {}", calls.join(", "));
    }
    if document.order_lost > 0 {
        let _ = writeln!(
            text,
            "{} for another process took too long and {} given up",
            counted(document.order_lost, "wait"),
            if document.order_lost == 1 { "was" } else { "were" }
        );
    }
    if let Some(first) = &document.first_failure {
        let calls = counted(document.failures, "call");
        let _ =
            writeln!(text, "{calls} failed that did not fail when recorded, the first: {first}");
    }
    text
}

fn change(original: f64, replayed: f64) -> String {
    if original > 0.0 {
        format!("{:+.1} %", 100.0 * (replayed / original - 1.0))
    } else {
        String::new()
    }
}
