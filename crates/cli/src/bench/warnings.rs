// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a reader of the result should know.

use std::fmt;
use std::path::PathBuf;

use ioracle_bench::{CacheState, DataDirection, MeasuredWork, Plan, PlannedWork, SyncRule};
use ioracle_forecast::IoClass;

use super::settings::BenchArguments;
use crate::shared::numbers::{bytes, counted};

/// A share of a file that may stay in the cache without a word.
const TOLERATED: f64 = 0.05;

/// Something that limits what the numbers mean.
#[derive(Clone, Debug, PartialEq)]
pub enum BenchWarning {
    /// Writes that may have reached nothing but memory.
    FitsInMemory { data: u64, memory: u64 },
    /// Files that stayed in the cache before cold reads.
    NotEvicted { share: f64 },
    /// Nobody can say what was cached.
    ResidencyUnknown,
    /// Points whose mean is not known as well as was asked for.
    Imprecise { n: usize, of: usize, worst_percent: f64, label: String },
    /// Work that there was no time for.
    OutOfTime { n: usize },
    /// Classes of a trace that this build cannot measure.
    LeftOut { n: usize, first: IoClass },
    /// A trace whose calls were measured class by class only.
    NotReplayed { trace: PathBuf, reason: String },
}

impl fmt::Display for BenchWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchWarning::FitsInMemory { data, memory } => write!(
                f,
                "the data ({}) fits in memory ({}), which may be all that writes have reached; \
                 --fsync end, --direct, --durable or --memory-limit measure the storage",
                bytes(*data),
                bytes(*memory)
            ),
            BenchWarning::NotEvicted { share } => write!(
                f,
                "{:.0} % of a file stayed in memory before cold reads: this file system cannot be \
                 evicted, and its cold reads are warm ones",
                share * 100.0
            ),
            BenchWarning::ResidencyUnknown => f.write_str(
                "this file system does not say what is cached; files were evicted before cold \
                 reads, whether it helped is not known",
            ),
            BenchWarning::Imprecise { n, of, worst_percent, label } => write!(
                f,
                "{n} of {of} points vary too much to be known as precisely as asked for, most of \
                 all {label} (RSD {worst_percent:.0} %); raise --repetitions and --time-limit",
            ),
            BenchWarning::OutOfTime { n } => write!(
                f,
                "there was no time for {} on storage this slow; raise --time-limit or take smaller \
                 blocks",
                counted(*n as u64, "point")
            ),
            BenchWarning::LeftOut { n, first } => write!(
                f,
                "{n} classes of the trace were not measured, such as {first}: this ioracle was \
                 built without their interface, or they need the ranks of an MPI job"
            ),
            BenchWarning::NotReplayed { trace, reason } => write!(
                f,
                "the trace '{}' was not replayed, and a forecast will be less exact: {reason}",
                trace.display()
            ),
        }
    }
}

/// The warnings about what was measured.
pub fn of(
    arguments: &BenchArguments,
    plan: &Plan,
    measured: &[MeasuredWork],
    memory_bytes: u64,
) -> Vec<BenchWarning> {
    let mut warnings = Vec::new();
    let workloads = || {
        measured.iter().filter_map(|measured| match &measured.work {
            PlannedWork::Data(workload) => Some((workload, measured)),
            PlannedWork::Metadata(_) => None,
        })
    };
    let to_memory = workloads()
        .filter(|(workload, _)| {
            workload.direction == DataDirection::Write
                && workload.sync == SyncRule::Never
                && !workload.direct
                && !workload.durable
        })
        .map(|(workload, _)| workload.bytes_moved())
        .max();
    if let Some(data) = to_memory.filter(|data| *data < memory_bytes) {
        warnings.push(BenchWarning::FitsInMemory { data, memory: memory_bytes });
    }
    let cold: Vec<_> = workloads()
        .filter(|(workload, _)| {
            workload.direction == DataDirection::Read
                && workload.cache == CacheState::Cold
                && !workload.direct
        })
        .map(|(_, measured)| measured.resident())
        .collect();
    let share = cold.iter().flatten().copied().fold(0.0, f64::max);
    if share > TOLERATED {
        warnings.push(BenchWarning::NotEvicted { share });
    } else if cold.iter().any(Option::is_none) {
        warnings.push(BenchWarning::ResidencyUnknown);
    }
    warnings.extend(imprecise(arguments, measured));
    if measured.len() < plan.works.len() {
        warnings.push(BenchWarning::OutOfTime { n: plan.works.len() - measured.len() });
    }
    if let Some(first) = plan.left_out.first() {
        warnings.push(BenchWarning::LeftOut { n: plan.left_out.len(), first: *first });
    }
    warnings
}

/// The points of data calls whose intervals are too wide.
fn imprecise(arguments: &BenchArguments, measured: &[MeasuredWork]) -> Option<BenchWarning> {
    let points: Vec<_> = measured
        .iter()
        .filter(|measured| measured.work.measures_data())
        .filter_map(|measured| measured.points().into_iter().next())
        .collect();
    let is_wide = |point: &&ioracle_forecast::Point| {
        point.interval_s.1 - point.mean_s > point.mean_s * arguments.precision / 100.0
    };
    let wide: Vec<_> = points.iter().filter(is_wide).collect();
    let worst = wide.iter().max_by(|one, other| one.rsd.total_cmp(&other.rsd))?;
    Some(BenchWarning::Imprecise {
        n: wide.len(),
        of: points.len(),
        worst_percent: worst.rsd * 100.0,
        label: worst.class.to_string(),
    })
}
