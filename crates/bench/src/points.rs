// SPDX-License-Identifier: MIT OR Apache-2.0

//! From times to the points of `system.json`.

use ioracle_forecast::{Api, ClassPattern, IoClass, Kind, Percentiles, Point, SizeBin};

use crate::plan::PlannedWork;
use crate::spread::MeanSpread;
use crate::task::TaskOutcome;
use crate::times::CallTimes;
use crate::workload::{
    AccessPattern, CacheState, DataDirection, FileLayout, MetadataWorkload, Workload,
};

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// One repetition of a piece of work, by all tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repetition {
    /// Times of data calls.
    pub data: CallTimes,
    /// Times of other calls, with the bytes that waited to be written.
    pub other: Vec<(Kind, u64, CallTimes)>,
    /// From the common start to the end of the slowest task.
    pub elapsed_s: f64,
    /// Bytes that all tasks moved.
    pub bytes: u64,
    /// The largest share of a file that was cached when a cold read began.
    pub resident: Option<f64>,
}

impl Repetition {
    /// What the tasks did together.
    pub(crate) fn of(outcomes: &[TaskOutcome]) -> Repetition {
        let mut all = Repetition::default();
        for outcome in outcomes {
            all.data.merge(&outcome.data);
            for (kind, bytes, times) in &outcome.other {
                match all.other.iter_mut().find(|it| (it.0, it.1) == (*kind, *bytes)) {
                    Some(known) => known.2.merge(times),
                    None => all.other.push((*kind, *bytes, times.clone())),
                }
            }
            all.elapsed_s = all.elapsed_s.max(outcome.elapsed_ns as f64 / 1e9);
            all.bytes += outcome.bytes;
            all.resident = match (all.resident, outcome.resident) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        }
        all
    }

    /// What has to be known well: the mean time of the calls that the work is for.
    pub(crate) fn main_mean_s(&self, work: &PlannedWork) -> f64 {
        if work.measures_data() {
            return self.data.mean_s().unwrap_or(0.0);
        }
        let is_synced = matches!(work, PlannedWork::Data(_));
        let mut times = CallTimes::default();
        for (kind, _, other) in &self.other {
            if !is_synced || *kind == Kind::Sync {
                times.merge(other);
            }
        }
        times.mean_s().unwrap_or(0.0)
    }
}

/// A piece of work with everything that was measured for it.
#[derive(Clone, Debug)]
pub struct MeasuredWork {
    /// What was done.
    pub work: PlannedWork,
    /// Each repetition, in their order.
    pub repetitions: Vec<Repetition>,
}

impl MeasuredWork {
    /// MB/s of all tasks together, over the repetitions.
    pub fn mb_per_s(&self) -> Option<MeanSpread> {
        let rates: Vec<f64> = self
            .repetitions
            .iter()
            .filter(|repetition| repetition.bytes > 0 && repetition.elapsed_s > 0.0)
            .map(|repetition| repetition.bytes as f64 / 1e6 / repetition.elapsed_s)
            .collect();
        MeanSpread::of(&rates)
    }

    /// The largest share of a file that was cached when a cold read began.
    pub fn resident(&self) -> Option<f64> {
        self.repetitions.iter().filter_map(|repetition| repetition.resident).reduce(f64::max)
    }

    /// The points that follow from it, that of the data calls first.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        if let PlannedWork::Data(workload) = &self.work
            && self.work.measures_data()
        {
            let times: Vec<&CallTimes> = self.repetitions.iter().map(|it| &it.data).collect();
            points.extend(point_of(class_of(workload), workload.transfer_bytes, &times));
        }
        let mut keys: Vec<(Kind, u64)> = Vec::new();
        for (kind, bytes, _) in self.repetitions.iter().flat_map(|it| &it.other) {
            if !keys.contains(&(*kind, *bytes)) {
                keys.push((*kind, *bytes));
            }
        }
        for (kind, bytes) in keys {
            let Some(class) = self.other_class(kind, bytes) else { continue };
            let of_repetition = |repetition: &'_ Repetition| {
                let found = repetition.other.iter().position(|it| (it.0, it.1) == (kind, bytes));
                found.map(|at| repetition.other[at].2.clone())
            };
            let times: Vec<CallTimes> = self.repetitions.iter().filter_map(of_repetition).collect();
            points.extend(point_of(class, bytes, &times.iter().collect::<Vec<_>>()));
        }
        points
    }

    /// The class of calls other than reads and writes. Those of a workload that
    /// are made before the common start are no measurement of their own.
    fn other_class(&self, kind: Kind, bytes: u64) -> Option<IoClass> {
        let plain = IoClass::new(kind, SizeBin::of(bytes));
        match &self.work {
            PlannedWork::Metadata(workload) => {
                Some(IoClass { concurrency: concurrency(workload.n_tasks), ..plain })
            }
            PlannedWork::Data(workload) => {
                let is_measured = match kind {
                    Kind::Sync => true,
                    Kind::Close => workload.direction == DataDirection::Write && bytes > 0,
                    _ => false,
                };
                let class = class_of(workload);
                is_measured.then_some(IoClass {
                    api: class.api,
                    shared: class.shared,
                    concurrency: class.concurrency,
                    direct: class.direct,
                    durable: class.durable,
                    ..plain
                })
            }
        }
    }
}

/// The point of some repetitions; `None` if there were no calls.
pub fn point_of(class: IoClass, transfer_bytes: u64, repetitions: &[&CallTimes]) -> Option<Point> {
    let means: Vec<f64> = repetitions.iter().filter_map(|times| times.mean_s()).collect();
    let spread = MeanSpread::of(&means)?;
    let mut all = CallTimes::default();
    repetitions.iter().for_each(|times| all.merge(times));
    // Over all calls: a repetition that was cut short weighs less.
    let mean_s = all.mean_s().filter(|mean| *mean > 0.0)?;
    let percentile = |share: f64| all.percentile_s(share).unwrap_or(0.0);
    let (low, high) = if spread.n == 1 {
        (percentile(0.05).min(mean_s), percentile(0.95).max(mean_s))
    } else {
        (spread.ci95.0.min(mean_s), spread.ci95.1.max(mean_s))
    };
    Some(Point {
        class,
        transfer_bytes,
        repetitions: spread.n,
        calls: all.n(),
        bytes: if class.kind.is_data() { all.n() * transfer_bytes } else { 0 },
        mean_s,
        rsd: spread.rsd_percent / 100.0,
        percentiles_s: Percentiles {
            p5: percentile(0.05),
            p25: percentile(0.25),
            p50: percentile(0.5),
            p75: percentile(0.75),
            p95: percentile(0.95),
            p99: percentile(0.99),
        },
        interval_s: (low, high),
        confidence: CONFIDENCE,
        replayed: false,
    })
}

/// The class of the reads or writes of a workload.
pub(crate) fn class_of(workload: &Workload) -> IoClass {
    let kind = match workload.direction {
        DataDirection::Read => Kind::Read,
        DataDirection::Write => Kind::Write,
    };
    let pattern = match workload.pattern {
        AccessPattern::Sequential => ClassPattern::Sequential,
        AccessPattern::Strided => ClassPattern::Strided {
            distance: SizeBin::of(workload.stride_bytes.saturating_sub(workload.transfer_bytes)),
        },
        // The median distance of two random places in a block.
        AccessPattern::Random => ClassPattern::Random {
            distance: SizeBin::of((workload.block_bytes as f64 * 0.29).ceil() as u64),
        },
    };
    IoClass {
        api: workload.api,
        kind,
        size: SizeBin::of(workload.transfer_bytes),
        pattern,
        shared: workload.layout == FileLayout::Shared && workload.n_tasks > 1,
        concurrency: concurrency(workload.n_tasks),
        synchronous: workload.depth == 1,
        direct: workload.direct,
        durable: workload.durable,
        cached: match workload.direction {
            DataDirection::Read => workload.cache == CacheState::Warm,
            DataDirection::Write => workload.in_place,
        },
    }
}

fn concurrency(n_tasks: u32) -> u16 {
    n_tasks.clamp(1, 1 << 15).next_power_of_two() as u16
}

/// Calls that a task makes at most to measure a class; more say nothing new.
const MAX_CALLS_OF_CLASS: u64 = 1 << 14;

/// A workload that makes calls of a class, each of `transfer_bytes`. Block and
/// segments are chosen so that all tasks together need at most `disk_bytes`.
pub(crate) fn work_for(class: &IoClass, transfer_bytes: u64, disk_bytes: u64) -> PlannedWork {
    let n_tasks = u32::from(class.concurrency.max(1));
    let per_task = (disk_bytes / u64::from(n_tasks)).max(1);
    let size = transfer_bytes.clamp(1, 1 << 30).min(per_task);
    let usual = |bytes: u64| bytes.max(size).min(per_task.max(size));
    let base = Workload {
        api: class.api,
        n_tasks,
        layout: if class.shared { FileLayout::Shared } else { FileLayout::FilePerTask },
        depth: if class.synchronous { 1 } else { 4 },
        direct: class.direct,
        durable: class.durable,
        max_calls: Some(MAX_CALLS_OF_CLASS),
        ..Workload::new(
            DataDirection::Write,
            size,
            usual(size.saturating_mul(64).clamp(8 << 20, 64 << 20)),
        )
    };
    let base = match class.pattern {
        ClassPattern::Sequential => base,
        ClassPattern::Strided { distance } => {
            let stride_bytes = size.saturating_add(distance.bytes());
            let block_bytes = usual(stride_bytes.saturating_mul(64).clamp(8 << 20, 256 << 20));
            Workload { pattern: AccessPattern::Strided, stride_bytes, block_bytes, ..base }
        }
        ClassPattern::Random { distance } => {
            // Distances of a bin lie between half of its bytes and all.
            let block_bytes = usual(((distance.bytes() as f64 * 0.75 / 0.29) as u64).max(2 * size));
            // Small neighbourhoods: several of them, one behind the other.
            let n_segments = ((8 << 20) / block_bytes).clamp(1, 256) as u32;
            Workload { pattern: AccessPattern::Random, block_bytes, n_segments, ..base }
        }
    };
    match class.kind {
        Kind::Read => {
            let cache = if class.cached { CacheState::Warm } else { CacheState::Cold };
            PlannedWork::Data(Workload { direction: DataDirection::Read, cache, ..base })
        }
        Kind::Write => PlannedWork::Data(Workload { in_place: class.cached, ..base }),
        Kind::Sync if class.size != SizeBin::EMPTY => {
            let waiting = size;
            let transfer_bytes = waiting.min(1 << 20);
            let block_bytes = usual((waiting * 16).min(32 << 20));
            PlannedWork::Data(Workload {
                transfer_bytes,
                block_bytes,
                sync: crate::SyncRule::Every(waiting),
                ..base
            })
        }
        _ => {
            let file_bytes =
                if class.kind == Kind::Close { transfer_bytes.min(per_task) } else { 0 };
            let n_files = ((16 << 20) / file_bytes.max(1)).clamp(1, 64) as u32;
            let n_files = n_files.min((per_task / file_bytes.max(1)).max(1) as u32);
            PlannedWork::Metadata(MetadataWorkload { n_tasks, n_files, file_bytes })
        }
    }
}

/// Interfaces whose calls can be made by this build.
pub(crate) fn can_measure(api: Api) -> bool {
    crate::file::check_api(api).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_measured_by_calls_of_that_class() {
        let disk = 1 << 30;
        let sizes = [1, 4096, 100_000, 1 << 20, 300 << 20];
        for size in sizes.map(SizeBin::of) {
            for (kind, cached) in
                [(Kind::Read, false), (Kind::Read, true), (Kind::Write, false), (Kind::Write, true)]
            {
                for pattern in [
                    ClassPattern::Sequential,
                    ClassPattern::Strided { distance: SizeBin::of(1 << 22) },
                    ClassPattern::Random { distance: SizeBin::of(1 << 26) },
                    ClassPattern::Random { distance: SizeBin::of(4 * size.bytes()) },
                ] {
                    let plain = IoClass::new(kind, size);
                    // More than there is room for, or less than a call itself.
                    let distance = pattern.distance().bytes();
                    let is_random = matches!(pattern, ClassPattern::Random { .. });
                    if distance > disk / 3 || is_random && distance < size.bytes() {
                        continue;
                    }
                    let class = IoClass { pattern, cached, concurrency: 1, ..plain };
                    let PlannedWork::Data(workload) = work_for(&class, size.bytes(), disk) else {
                        panic!("{class} is measured by metadata");
                    };
                    workload.check().unwrap();
                    assert_eq!(class_of(&workload), class);
                    assert!(workload.bytes_on_disk() <= disk, "{workload:?}");
                }
            }
        }
    }

    #[test]
    fn huge_classes_are_measured_within_the_room_there_is() {
        let class = IoClass {
            shared: true,
            concurrency: 64,
            pattern: ClassPattern::Strided { distance: SizeBin::of(1 << 40) },
            ..IoClass::new(Kind::Read, SizeBin::of(1 << 40))
        };
        let PlannedWork::Data(workload) = work_for(&class, 1 << 40, 2 << 30) else { panic!() };
        workload.check().unwrap();
        assert!(workload.bytes_on_disk() <= 2 << 30);
        assert_eq!((workload.n_tasks, workload.layout), (64, FileLayout::Shared));
    }

    #[test]
    fn times_of_repetitions_become_a_point_with_its_spread() {
        let repetition = |ns: u64| {
            let mut data = CallTimes::default();
            (0..10).for_each(|_| data.add(ns));
            Repetition { data, elapsed_s: 1.0, bytes: 10_000_000, ..Repetition::default() }
        };
        let measured = MeasuredWork {
            work: PlannedWork::Data(Workload::new(DataDirection::Read, 1_000_000, 10_000_000)),
            repetitions: vec![repetition(900), repetition(1000), repetition(1100)],
        };
        let points = measured.points();
        assert_eq!(points.len(), 1);
        let point = &points[0];
        assert_eq!((point.repetitions, point.calls, point.bytes), (3, 30, 30_000_000));
        assert!((point.mean_s - 1e-6).abs() < 1e-12 && (point.rsd - 0.1).abs() < 1e-6);
        assert!(point.interval_s.0 < point.mean_s && point.mean_s < point.interval_s.1);
        assert_eq!(measured.mb_per_s().unwrap().mean, 10.0);
    }
}
