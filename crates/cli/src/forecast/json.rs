// SPDX-License-Identifier: MIT OR Apache-2.0

//! A forecast as JSON. The names are a contract.

use ioracle_forecast::{CONFIDENCE, IoClass};
use serde::Serialize;

use super::Outcome;

#[derive(Serialize)]
pub struct ForecastDocument {
    format: u32,
    reference: String,
    target: String,
    storage: String,
    runs: usize,
    /// All the time in I/O calls on the reference.
    reference_s: f64,
    total_s: f64,
    read_s: f64,
    write_s: f64,
    /// Low and high.
    interval_s: (f64, f64),
    confidence: f64,
    /// Time that no storage decides.
    kept_s: f64,
    /// Waiting of collective calls.
    waiting_s: f64,
    /// The whole run.
    reference_run_s: Option<f64>,
    run_s: Option<f64>,
    /// Fractions: reads, writes, total.
    application_rsd: [f64; 3],
    reference_benchmark_rsd: [f64; 3],
    target_benchmark_rsd: [f64; 3],
    classes: Vec<ClassRow>,
    what_if: Vec<WhatIfRow>,
    warnings: Vec<String>,
    #[serde(flatten)]
    actual: Option<ActualRow>,
}

#[derive(Serialize)]
struct ClassRow {
    name: String,
    class: IoClass,
    calls: f64,
    mean_bytes: u64,
    reference_s: f64,
    ratio: f64,
    target_s: f64,
    /// Standard deviation of the logarithm of `target_s`.
    log_sd: f64,
    cached_share: Option<f64>,
    /// The class whose measurements were used.
    instead: Option<String>,
}

#[derive(Serialize)]
struct WhatIfRow {
    change: String,
    saves_s: f64,
}

#[derive(Serialize)]
struct ActualRow {
    actual_s: f64,
    actual_read_s: f64,
    actual_write_s: f64,
    /// Positive if too long was predicted.
    error_percent: Option<f64>,
    read_error_percent: Option<f64>,
    write_error_percent: Option<f64>,
    /// Fractions: reads, writes, total.
    actual_rsd: [f64; 3],
    interval_contains_actual: bool,
}

/// The forecast for scripts.
pub fn document(outcome: &Outcome) -> ForecastDocument {
    let forecast = &outcome.forecast;
    ForecastDocument {
        format: 1,
        reference: outcome.reference.name.clone(),
        target: outcome.target.name.clone(),
        storage: outcome.storage.clone(),
        runs: outcome.runs,
        reference_s: forecast.reference_s,
        total_s: forecast.total_s,
        read_s: forecast.read_s,
        write_s: forecast.write_s,
        interval_s: forecast.interval_s,
        confidence: CONFIDENCE,
        kept_s: forecast.kept_s,
        waiting_s: forecast.waiting_s,
        reference_run_s: forecast.reference_run_s,
        run_s: forecast.run_s,
        application_rsd: forecast.application_rsd,
        reference_benchmark_rsd: forecast.benchmark_rsd[0],
        target_benchmark_rsd: forecast.benchmark_rsd[1],
        classes: (forecast.classes.iter())
            .map(|row| ClassRow {
                name: row.class.to_string(),
                class: row.class,
                calls: row.calls,
                mean_bytes: row.mean_bytes,
                reference_s: row.reference_s,
                ratio: row.ratio,
                target_s: row.target_s,
                log_sd: row.sd,
                cached_share: row.cached_share,
                instead: row.instead.map(|class| class.to_string()),
            })
            .collect(),
        what_if: (outcome.what_if.iter())
            .map(|it| WhatIfRow { change: it.change.clone(), saves_s: it.saves_s })
            .collect(),
        warnings: forecast.warnings.clone(),
        actual: outcome.comparison.map(|it| ActualRow {
            actual_s: it.actual_s[2],
            actual_read_s: it.actual_s[0],
            actual_write_s: it.actual_s[1],
            error_percent: it.error_percent[2],
            read_error_percent: it.error_percent[0],
            write_error_percent: it.error_percent[1],
            actual_rsd: it.rsd,
            interval_contains_actual: it.is_inside,
        }),
    }
}
