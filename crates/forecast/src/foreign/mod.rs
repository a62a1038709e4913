// SPDX-License-Identifier: MIT OR Apache-2.0

//! Results of other benchmarks in the place of a `system.json`: IOR (JSON and
//! CSV) and fio (JSON).
//!
//! They say less than `ioracle bench` does: nothing on closing, opening and
//! deleting, and nothing certain on caches. What had to be assumed is a warning
//! of the system.

mod fio;
mod ior;

use crate::class::IoClass;
use crate::system::{Percentiles, Point, System, SystemDescription};

/// The confidence of intervals that are computed here.
const CONFIDENCE: f64 = 0.95;

/// What a foreign result says, if it is one that is known.
pub(crate) fn parse(bytes: &[u8]) -> Option<Result<System, String>> {
    if let Some(rows) = ior::csv_rows(bytes) {
        return Some(ior::from_csv(rows));
    }
    // Documents of ours are larger and far more frequent: they are recognised by
    // their first bytes, before anything is parsed.
    let start = bytes.iter().take(4096).copied().collect::<Vec<u8>>();
    let start = String::from_utf8_lossy(&start).into_owned();
    if start.contains("\"fio version\"") {
        return Some(fio::parse(bytes));
    }
    if start.contains("\"Command line\"") && start.contains("\"tests\"") {
        return Some(ior::parse(bytes));
    }
    None
}

/// One measurement of a class: the mean of its calls, and what is known of them.
struct Sample {
    class: IoClass,
    transfer_bytes: u64,
    calls: u64,
    mean_s: f64,
    /// Standard deviation of single calls, if it is known.
    deviation_s: Option<f64>,
    percentiles_s: Option<Percentiles>,
}

/// A system with one point for the samples of each class and size; several are
/// repetitions.
fn system(
    name: &str,
    measured_by: &str,
    samples: &[Sample],
    warnings: Vec<String>,
) -> Result<System, String> {
    let mut system = System::new(name, measured_by, SystemDescription::default());
    system.warnings = warnings;
    let mut done: Vec<(IoClass, u64)> = Vec::new();
    for sample in samples {
        let key = (sample.class, sample.transfer_bytes);
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let same: Vec<&Sample> =
            samples.iter().filter(|it| (it.class, it.transfer_bytes) == key).collect();
        system.points.push(point(&same));
    }
    if system.points.is_empty() {
        return Err("it has no results of reads or writes".to_owned());
    }
    Ok(system)
}

/// The point of some samples, at least one, of the same class and size.
fn point(samples: &[&Sample]) -> Point {
    let n = samples.len() as f64;
    let calls: u64 = samples.iter().map(|sample| sample.calls).sum();
    let mean_s = samples.iter().map(|sample| sample.mean_s).sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|sample| (sample.mean_s - mean_s).powi(2)).sum();
    let deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    // One run has no spread of its own; that of its calls is the best guess, and
    // without it a tenth is assumed.
    let single = samples[0].deviation_s.map_or(mean_s * 0.1, |it| it / (calls as f64).sqrt());
    let half = if n > 1.0 { 1.96 * deviation / n.sqrt() } else { 1.96 * single };
    let flat =
        Percentiles { p5: mean_s, p25: mean_s, p50: mean_s, p75: mean_s, p95: mean_s, p99: mean_s };
    let class = samples[0].class;
    let transfer_bytes = samples[0].transfer_bytes;
    Point {
        class,
        transfer_bytes,
        repetitions: samples.len() as u32,
        calls,
        bytes: if class.kind.is_data() { calls.saturating_mul(transfer_bytes) } else { 0 },
        mean_s,
        rsd: deviation / mean_s,
        percentiles_s: samples[0].percentiles_s.unwrap_or(flat),
        interval_s: ((mean_s - half).max(0.0), mean_s + half),
        confidence: CONFIDENCE,
        replayed: false,
    }
}
