// SPDX-License-Identifier: MIT OR Apache-2.0

//! From profiles and two systems to a forecast.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ClassForecast, DEVIATIONS, Forecast, Terms, UNCOVERED_SD, by_direction, is_empty, kept_s, ratio,
};
use crate::class::{IoClass, Kind};
use crate::lookup::{PairedSystems, Replays};
use crate::profile::{Direction, OwnTime, Profile};
use crate::statistics::{mean, rsd};
use crate::system::System;

/// Share of the time in classes that nothing like was measured for, from which on a
/// reader is warned.
const UNCOVERED_SHARE: f64 = 0.01;

/// How alike the errors of different classes are: a benchmark that is too fast for
/// one is likely too fast for the others.
const CORRELATION: f64 = 0.5;

/// Standard deviation of the change of the waiting, relative to it.
const WAITING_SD: f64 = 0.3;

/// Standard deviation of the time that no storage decides, relative to it: a processor
/// that has waited for storage goes on with colder caches.
const KEPT_SD: f64 = 0.2;

/// The runs of a program, class by class.
struct Mean {
    calls: f64,
    bytes: f64,
    time_s: f64,
}

pub(super) fn forecast(
    runs: &[Profile],
    reference: &System,
    target: &System,
    terms: Terms,
) -> Forecast {
    let n = runs.len().max(1) as f64;
    let systems = PairedSystems::new(reference, target, terms.lookup());
    let means = class_means(runs, n);
    let mut classes: Vec<ClassForecast> = Vec::with_capacity(means.len());
    let mut uncovered: BTreeMap<Kind, f64> = BTreeMap::new();
    let mut instead: BTreeSet<(String, String)> = BTreeSet::new();
    let application_sd = rsd(&totals(runs)) / n.sqrt();
    for (class, row) in means {
        let mean_bytes = (row.bytes / row.calls.max(1.0)) as u64;
        let mut forecast = ClassForecast {
            class,
            calls: row.calls,
            mean_bytes,
            reference_s: row.time_s,
            ratio: 1.0,
            target_s: row.time_s,
            sd: application_sd,
            cached_share: None,
            instead: None,
        };
        // Writes of nothing reach no storage. Reads do, to find the end of the file.
        let is_kept = is_empty(&class) && class.kind == Kind::Write;
        if row.time_s > 0.0 && !is_kept {
            let mean_s = row.time_s / row.calls.max(1.0);
            match ratio(&systems, &class, mean_bytes, (mean_s, application_sd), terms) {
                Some(found) => {
                    forecast.ratio = found.ratio;
                    forecast.target_s = row.time_s * found.ratio;
                    forecast.sd = found.sd;
                    forecast.cached_share = found.cached_share;
                    forecast.instead = found.instead;
                    if let Some(other) = found.instead {
                        instead.insert((class.to_string(), other.to_string()));
                    }
                }
                None => *uncovered.entry(class.kind).or_default() += row.time_s,
            }
        }
        classes.push(forecast);
    }
    let mut warnings = Vec::new();
    cover(&systems, &mut classes, &uncovered, &mut warnings);
    let shown = instead.len().min(3);
    for (class, other) in instead.iter().take(shown) {
        warnings.push(format!(
            "no measurement for {class}; {other} was used instead, and the interval widened"
        ));
    }
    if instead.len() > shown {
        warnings.push(format!("the same for {} more classes", instead.len() - shown));
    }
    for system in [reference, target] {
        warnings.extend(system.warnings.iter().map(|text| format!("{}: {text}", system.name)));
    }
    finish(runs, classes, warnings, &systems, (reference, target), terms)
}

fn class_means(runs: &[Profile], n: f64) -> BTreeMap<IoClass, Mean> {
    let mut means: BTreeMap<IoClass, Mean> = BTreeMap::new();
    for row in runs.iter().flat_map(|run| &run.classes) {
        let mean = means.entry(row.class).or_insert(Mean { calls: 0.0, bytes: 0.0, time_s: 0.0 });
        mean.calls += row.calls as f64 / n;
        mean.bytes += row.bytes as f64 / n;
        mean.time_s += row.time_s() / n;
    }
    means
}

fn totals(runs: &[Profile]) -> Vec<f64> {
    runs.iter().map(Profile::total_s).collect()
}

/// Classes that nothing like was measured for get the ratio of what is nearest:
/// other metadata calls for metadata, else all other calls together.
fn cover(
    systems: &PairedSystems<'_>,
    classes: &mut [ClassForecast],
    uncovered: &BTreeMap<Kind, f64>,
    warnings: &mut Vec<String>,
) {
    if uncovered.is_empty() {
        return;
    }
    let kinds = systems.kinds();
    let known = |row: &&ClassForecast| kinds.contains(&row.class.kind) && !is_empty(&row.class);
    let metadata = |row: &&ClassForecast| row.class.direction() == Direction::Metadata;
    let ratio_of = |rows: Vec<&ClassForecast>| {
        let (target, reference) = rows
            .iter()
            .fold((0.0, 0.0), |sum, row| (sum.0 + row.target_s, sum.1 + row.reference_s));
        (reference > 0.0).then(|| target / reference)
    };
    let all = ratio_of(classes.iter().filter(known).collect());
    let of_metadata = ratio_of(classes.iter().filter(known).filter(metadata).collect());
    let whole: f64 = classes.iter().map(|row| row.reference_s).sum();
    for row in classes.iter_mut().filter(|row| uncovered.contains_key(&row.class.kind)) {
        if row.reference_s == 0.0 || is_empty(&row.class) {
            continue;
        }
        let near = if row.class.kind.is_data() { all } else { of_metadata.or(all) };
        row.ratio = near.unwrap_or(1.0);
        row.target_s = row.reference_s * row.ratio;
        row.sd = row.sd.hypot(UNCOVERED_SD);
    }
    for (kind, time_s) in uncovered {
        if *time_s > UNCOVERED_SHARE * whole {
            warnings.push(format!(
                "no measurement on both systems for calls that {} ({:.0} % of the time); the ratio \
                 of other calls was used instead, and the interval widened",
                kind.name(),
                100.0 * time_s / whole
            ));
        }
    }
}

fn finish(
    runs: &[Profile],
    mut classes: Vec<ClassForecast>,
    warnings: Vec<String>,
    paired: &PairedSystems<'_>,
    systems: (&System, &System),
    terms: Terms,
) -> Forecast {
    let n = runs.len().max(1) as f64;
    let before: f64 = classes.iter().map(|row| row.reference_s).sum();
    let after: f64 = classes.iter().map(|row| row.target_s).sum();
    let waiting = runs.iter().map(|run| run.own_s(OwnTime::Waiting)).sum::<f64>() / n;
    let waiting_s = if terms.waiting {
        let others = runs.iter().map(|run| run.processes.len()).max().unwrap_or(1).max(1) - 1;
        waiting_on_target(paired, waiting, (before, after), others as f64)
    } else {
        waiting
    };
    let kept = runs.iter().map(kept_s).sum::<f64>() / n;
    let total_s = after + waiting_s + kept;
    let reference_s = mean(&totals(runs));
    let by_class = |row: &ClassForecast| row.sd * row.target_s;
    let independent = classes.iter().map(|row| by_class(row).powi(2)).sum::<f64>().sqrt();
    let together: f64 = classes.iter().map(by_class).sum();
    let of_waiting = WAITING_SD * (waiting_s - waiting).abs();
    let is_same = classes.iter().all(|row| row.ratio == 1.0);
    let of_kept = if is_same { 0.0 } else { KEPT_SD * kept };
    let deviation = ((1.0 - CORRELATION) * independent.powi(2) + CORRELATION * together.powi(2))
        .sqrt()
        .hypot(of_waiting)
        .hypot(of_kept);
    let sd = if total_s > 0.0 { deviation / total_s } else { 0.0 };
    let factor = (DEVIATIONS * sd).exp();
    let [read_s, write_s, _] = by_direction(classes.iter().map(|row| (&row.class, row.target_s)));
    let of_direction =
        |direction| rsd(&runs.iter().map(|run| run.direction_s(direction)).collect::<Vec<f64>>());
    let application_rsd =
        [of_direction(Direction::Read), of_direction(Direction::Write), rsd(&totals(runs))];
    let benchmark_rsd = [systems.0, systems.1].map(|system| benchmark_rsd(system, &classes));
    classes.sort_by(|one, other| other.target_s.total_cmp(&one.target_s));
    let walls: Vec<f64> = runs.iter().filter_map(|run| run.wall_s).collect();
    let busiest = runs.iter().map(busiest_process_s).sum::<f64>() / n;
    let reference_run_s = (walls.len() == runs.len() && n > 0.0).then(|| mean(&walls));
    let change = if reference_s > 0.0 { total_s / reference_s - 1.0 } else { 0.0 };
    Forecast {
        classes,
        reference_s,
        total_s,
        read_s,
        write_s,
        interval_s: (total_s / factor, total_s * factor),
        kept_s: kept,
        waiting_s,
        reference_run_s,
        run_s: reference_run_s.map(|run_s| (run_s + busiest * change).max(0.0)),
        application_rsd,
        benchmark_rsd,
        warnings,
    }
}

/// The time that collective calls wait on the target. What replays show is the
/// difference between the systems; without them, the part of the waiting that the I/O
/// of the other ranks explains grows with that I/O.
fn waiting_on_target(
    paired: &PairedSystems<'_>,
    waiting: f64,
    (before, after): (f64, f64),
    others: f64,
) -> f64 {
    if let Some(times) = paired.replayed(&IoClass::WAITING)
        && let Some(calls) = times.replayed_calls
    {
        return (waiting + calls * (times.target_s - times.reference_s)).max(0.0);
    }
    let explained = waiting.min(others * before);
    if before > 0.0 { waiting + explained * (after / before - 1.0) } else { waiting }
}

/// The I/O time of the process that does the most of it.
fn busiest_process_s(run: &Profile) -> f64 {
    let times = run
        .processes
        .values()
        .map(|process| process.read_ns + process.write_ns + process.metadata_ns + process.other_ns);
    times.max().unwrap_or(0) as f64 * 1e-9
}

/// Spread of the points that are nearest to the classes, weighted by their time.
fn benchmark_rsd(system: &System, classes: &[ClassForecast]) -> [f64; 3] {
    let alone = PairedSystems::new(system, system, Replays::Used);
    let weighted = |row: &ClassForecast| {
        let times = alone.times(&row.class, row.mean_bytes)?;
        Some((row.class, row.reference_s, times.reference_rsd))
    };
    let rows: Vec<_> = classes.iter().filter_map(weighted).collect();
    let spread = by_direction(rows.iter().map(|(class, time, sd)| (class, time * sd)));
    let time = by_direction(rows.iter().map(|(class, time, _)| (class, *time)));
    std::array::from_fn(|n| if time[n] > 0.0 { spread[n] / time[n] } else { 0.0 })
}
