// SPDX-License-Identifier: MIT OR Apache-2.0

//! The result on one screen: a table, a plot and the warnings.

use ioracle_bench::{
    AccessPattern, CacheState, DataDirection, FileLayout, MeasuredWork, PlannedWork, Workload,
};
use ioracle_forecast::{Kind, Point, SizeBin, System};

use super::plot::{self, PlotSeries};
use super::replays::ReplayedTrace;
use crate::shared::numbers::{bytes, counted, seconds};
use crate::shared::table::{Alignment, Cell, Colours, TextTable, Tone};
use crate::shared::text::{shorten_start, wrap};

/// Rows of data calls that are shown; a screen has no room for more.
const MAX_ROWS: usize = 16;
/// Repetitions that differ by more stand out.
const CONSPICUOUS_RSD: f64 = 0.15;

/// The result as text.
pub fn render(
    system: &System,
    measured: &[MeasuredWork],
    replayed: &[ReplayedTrace],
    elapsed_s: f64,
    disk_bytes: u64,
    colours: Colours,
) -> String {
    let place = &system.description;
    let mut text = format!(
        "{}  {} ({} {})\n",
        colours.paint(&Cell::new(&*system.name, Tone::Header)),
        shorten_start(&place.directory, 40),
        place.file_system,
        place.device
    );
    text.push_str(&format!(
        "{} measured in {}, with up to {} on the storage\n\n",
        counted(system.points.len() as u64, "point"),
        seconds(Some(elapsed_s)),
        bytes(disk_bytes)
    ));
    let data: Vec<(&Workload, &MeasuredWork)> = measured
        .iter()
        .filter_map(|measured| match &measured.work {
            work if !work.measures_data() => None,
            PlannedWork::Data(workload) => Some((workload, measured)),
            PlannedWork::Metadata(_) => None,
        })
        .collect();
    text.push_str(&rows(&data, colours));
    if let Some(line) = metadata_line(&system.points) {
        text.push_str(&format!("\n{line}\n"));
    }
    for trace in replayed {
        text.push_str(&replay_line(trace));
    }
    if let Some(plot) = plot::render(&series(&data), |size| SizeBin::of(size).to_string()) {
        text.push_str(&format!("\n{plot}"));
    }
    for warning in &system.warnings {
        text.push('\n');
        for (at, line) in wrap(warning, 90).iter().enumerate() {
            let start = if at == 0 { "warning: " } else { "         " };
            text.push_str(&format!("{start}{line}\n"));
        }
    }
    text
}

fn rows(data: &[(&Workload, &MeasuredWork)], colours: Colours) -> String {
    let mut table = TextTable::new(&[
        ("access", Alignment::Left),
        ("tasks", Alignment::Right),
        ("size", Alignment::Right),
        ("MB/s", Alignment::Right),
        ("per call", Alignment::Right),
        ("95 % interval", Alignment::Right),
        ("p50", Alignment::Right),
        ("p99", Alignment::Right),
        ("RSD", Alignment::Right),
        ("n", Alignment::Right),
    ]);
    for (workload, measured) in data.iter().take(MAX_ROWS) {
        let points = measured.points();
        let Some(point) = points.first() else { continue };
        let rate = measured.mb_per_s().map(|rate| rate.mean);
        let tone = if point.rsd > CONSPICUOUS_RSD { Tone::Bad } else { Tone::Plain };
        let half = (point.interval_s.1 - point.interval_s.0) / 2.0 / point.mean_s;
        table.push(vec![
            name(workload).into(),
            workload.n_tasks.to_string().into(),
            bytes_binary(workload.transfer_bytes).into(),
            rate.map_or_else(String::new, |rate| format!("{rate:.1}")).into(),
            seconds(Some(point.mean_s)).into(),
            format!("±{:.1} %", half * 100.0).into(),
            seconds(Some(point.percentiles_s.p50)).into(),
            seconds(Some(point.percentiles_s.p99)).into(),
            Cell::new(format!("{:.1} %", point.rsd * 100.0), tone),
            point.repetitions.to_string().into(),
        ]);
    }
    let mut text = table.render(colours);
    if data.len() > MAX_ROWS {
        let more = data.len() - MAX_ROWS;
        text.push_str(&format!("… and {more} more; --json and -o have all\n"));
    }
    text
}

/// What kind of access a workload is.
fn name(workload: &Workload) -> String {
    let mut words = vec![match (workload.direction, workload.cache) {
        _ if workload.direct && workload.direction == DataDirection::Read => "direct read",
        (DataDirection::Read, CacheState::Cold) => "cold read",
        (DataDirection::Read, CacheState::Warm) => "warm read",
        (DataDirection::Write, _) if workload.direct => "direct write",
        (DataDirection::Write, _) => "write",
    }];
    if workload.pattern != AccessPattern::Sequential {
        words.push(workload.pattern.name());
    }
    if workload.layout == FileLayout::Shared {
        words.push("shared");
    }
    words.join(", ")
}

fn bytes_binary(size: u64) -> String {
    if SizeBin::of(size).bytes() == size { SizeBin::of(size).to_string() } else { bytes(size) }
}

/// How long the I/O of a replayed trace took, in one line.
fn replay_line(replayed: &ReplayedTrace) -> String {
    let times: Vec<String> = (replayed.replayed_s.iter())
        .map(|(cache, time)| {
            let files = match cache {
                CacheState::Cold => "uncached",
                CacheState::Warm => "cached",
            };
            let (mean, rsd) = (seconds(Some(time.mean)), time.rsd_percent);
            format!("{mean} with {files} files (RSD {rsd:.1} %, {} times)", time.n)
        })
        .collect();
    format!(
        "\nreplayed {}: {}; {} when recorded\n",
        shorten_start(&replayed.trace.to_string_lossy(), 40),
        times.join(", "),
        seconds(Some(replayed.original_s))
    )
}

/// Calls on whole files, in one line.
fn metadata_line(points: &[Point]) -> Option<String> {
    let of = |kind: Kind| {
        let point = points.iter().find(|point| {
            let class = &point.class;
            class.kind == kind && class.concurrency == 1 && class.size == SizeBin::EMPTY
        })?;
        Some(format!("{} {}", kind.name(), seconds(Some(point.mean_s))))
    };
    let kinds = [
        Kind::Create,
        Kind::Open,
        Kind::Close,
        Kind::Stat,
        Kind::Truncate,
        Kind::Rename,
        Kind::Delete,
    ];
    let parts: Vec<String> = kinds.into_iter().filter_map(of).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Whether a workload belongs to a line of the plot.
type Belongs = fn(&Workload) -> bool;

/// The lines of the plot: sequential accesses, and cold random reads, of the
/// fewest tasks.
fn series(data: &[(&Workload, &MeasuredWork)]) -> Vec<PlotSeries> {
    let Some(n_tasks) = data.iter().map(|(workload, _)| workload.n_tasks).min() else {
        return Vec::new();
    };
    let mut series = Vec::new();
    let kinds: [(char, &str, Belongs); 4] = [
        ('w', "write", |it| it.direction == DataDirection::Write && is_sequential(it)),
        ('c', "cold read", |it| is_read(it, CacheState::Cold) && is_sequential(it)),
        ('m', "warm read", |it| is_read(it, CacheState::Warm) && is_sequential(it)),
        ('r', "cold random read", |it| {
            is_read(it, CacheState::Cold) && it.pattern == AccessPattern::Random
        }),
    ];
    for (mark, name, belongs) in kinds {
        let points: Vec<(u64, f64)> = data
            .iter()
            .filter(|(workload, _)| workload.n_tasks == n_tasks && belongs(workload))
            .filter_map(|(workload, measured)| {
                Some((workload.transfer_bytes, measured.mb_per_s()?.mean))
            })
            .collect();
        if !points.is_empty() {
            series.push(PlotSeries { mark, name: name.to_owned(), points });
        }
    }
    series
}

fn is_sequential(workload: &Workload) -> bool {
    workload.pattern == AccessPattern::Sequential
}

fn is_read(workload: &Workload, cache: CacheState) -> bool {
    workload.direction == DataDirection::Read && workload.cache == cache
}
