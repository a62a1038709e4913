// SPDX-License-Identifier: MIT OR Apache-2.0

//! What recognising a pattern costs, and how exact comparisons of series are
//! (section VI-E of the paper).

use ioracle_pattern::dtw::{Warping, exact};
use ioracle_pattern::evaluation::{Algorithm, LabelledRun, feed, shuffled};
use ioracle_pattern::{Pattern, PatternConfig, RequestKind};

use super::data::ServerRuns;
use super::goals::Goals;
use super::sweep::Prepared;
use crate::document::markdown::table;

/// Pairs whose distance is compared with the exact one.
const N_PAIRS: u64 = 10_000;

/// Time and memory by algorithm at one server, and the error of distances.
pub(super) fn time_and_memory(
    server: &ServerRuns,
    config: PatternConfig,
    goals: &mut Goals,
) -> String {
    let prepared = Prepared::new(server.patterns(config), config.radius);
    let order = shuffled(prepared.runs.len(), 1);
    let mut rows = Vec::new();
    for algorithm in Algorithm::ALL {
        for kind in RequestKind::ALL {
            let mut matcher = algorithm.matcher(config, kind, prepared.largest(kind));
            let report = feed(&mut *matcher, &prepared.runs, &order, kind);
            let n_patterns = report.counts.patterns().max(1);
            rows.push(vec![
                format!("`{}`", algorithm.name()),
                kind.name().to_owned(),
                n_patterns.to_string(),
                format!("{:.1}", report.time.as_secs_f64() * 1e6 / n_patterns as f64),
                report.known.to_string(),
                format!("{:.0}", report.bytes as f64 / report.known.max(1) as f64),
            ]);
        }
    }
    let costs = table(
        &["", "kind", "patterns", "us per pattern", "known at the end", "bytes per known pattern"],
        &rows,
    );
    let errors = [config, PatternConfig { read_compression: 1, write_compression: 1, ..config }];
    let errors: Vec<Vec<String>> = errors
        .iter()
        .map(|config| {
            let name = match config.read_compression {
                1 => "none".to_owned(),
                compression => compression.to_string(),
            };
            error_row(name, &server.patterns(*config), config.radius, goals)
        })
        .collect();
    let errors = table(
        &[
            "compression",
            "values, median",
            "most",
            "error, median %",
            "95th percentile %",
            "most %",
        ],
        &errors,
    );
    format!(
        "## Time and memory\n\nOne order of the runs of the first data server. The time is that of \
         recognising a pattern at the end of a second, among all that are known then; it varies from \
         machine to machine. `ours` keeps the paper's series and two load profiles of each pattern. \
         The paper's mechanism needs 24 bytes per request and 72 per pattern. `cargo bench -p \
         ioracle-pattern` measures a request and a comparison of long series.\n\n{costs}\n\
         Distances of {N_PAIRS} random pairs of these series against exact DTW:\n\n{errors}\n"
    )
}

fn error_row(
    compression: String,
    runs: &[LabelledRun],
    radius: usize,
    goals: &mut Goals,
) -> Vec<String> {
    let patterns: Vec<&Pattern> = runs.iter().flat_map(|run| &run.patterns).collect();
    let mut lengths: Vec<usize> = patterns.iter().map(|pattern| pattern.series.len()).collect();
    lengths.sort_unstable();
    let mut warping = Warping::new(radius);
    let mut state = 1_u64;
    let mut pick = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        patterns.get((state >> 33) as usize % patterns.len().max(1)).copied()
    };
    let mut errors = Vec::new();
    for _ in 0..N_PAIRS {
        let (Some(one), Some(other)) = (pick(), pick()) else { break };
        let truth = exact(&one.series, &other.series);
        let found = warping.distance(&one.series, &other.series);
        errors.push(match truth > 0.0 {
            true => 100.0 * (found / truth - 1.0),
            false if found > 0.0 => f64::INFINITY,
            false => 0.0,
        });
    }
    errors.sort_by(f64::total_cmp);
    let quantile = |percent: usize| errors.get(errors.len().saturating_sub(1) * percent / 100);
    if let Some(error) = quantile(95) {
        let what = format!("error of DTW at the 95th percentile, compression {compression}");
        goals.add(&what, "at most 10 %", format!("{error:.2} %"), *error <= 10.0);
    }
    let shown = |error: Option<&f64>| error.map_or("–".to_owned(), |error| format!("{error:.4}"));
    vec![
        compression,
        lengths.get(lengths.len() / 2).map_or(0, |length| *length).to_string(),
        lengths.last().map_or(0, |length| *length).to_string(),
        shown(quantile(50)),
        shown(quantile(95)),
        shown(quantile(100)),
    ]
}
