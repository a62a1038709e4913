// SPDX-License-Identifier: MIT OR Apache-2.0

//! The options of `ioracle bench`, and the plan that they make.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use ioracle_bench::{
    AccessPattern, CacheState, DataDirection, FileLayout, Plan, PlanDefaults, PlannedWork,
    RepetitionRule, SessionRules, SyncRule, TaskKind, Workload,
};
use ioracle_forecast::{Api, IoClass};

use crate::shared::failure::WrongUse;
use crate::shared::numbers::parse_bytes;

const EXAMPLES: &str = "\
Examples:
  ioracle bench /scratch -o scratch.json                        how fast is this file system?
  ioracle bench /scratch --for trace -o scratch.json            just the calls of a recorded program
  ioracle bench /scratch -t 4K,1M --access read --cache cold    cold reads of two sizes
  ioracle bench /scratch --tasks 4 --shared -C --fsync end      4 processes on one file
  ioracle bench /scratch -t 1M -b 4G --disk-limit 8G --memory-limit 1G
                                                                more data than memory

Sizes: K, M, G (powers of 1,024), KB, MB, GB (of 1,000). docs/bench.md explains each option,
docs/system-json.md what -o writes.";

/// Measure how long I/O calls take in a directory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArguments {
    /// The directory to measure; everything written there is removed again
    #[arg(value_name = "DIR", required_unless_present = "dir", conflicts_with = "dir")]
    directory: Option<PathBuf>,
    /// The same as an option
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write the result, for 'ioracle forecast'
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Name of the system [default: its file system and host]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Measure just the calls of a recorded trace, such as 'ioracle run --record' writes: replayed,
    /// and class by class; may be given several times
    #[arg(
        long = "for",
        value_name = "TRACE",
        conflicts_with_all = [
            "api", "access", "tasks", "block_size", "transfer_size", "segments", "shared", "pattern",
            "stride", "alignment", "depth", "fsync", "direct", "durable", "in_place", "metadata",
        ]
    )]
    pub traces: Vec<PathBuf>,
    /// With --for: count only files below this directory or mount point of the trace; / for all
    /// [default: those on the file system that moved the most bytes]
    #[arg(long, value_name = "DIR", requires = "traces")]
    pub storage: Option<String>,

    /// The interface that is measured
    #[arg(long, value_name = "API", default_value = "posix")]
    api: ApiName,
    /// Reads, writes or both
    #[arg(long, value_name = "WHAT", default_value = "both")]
    access: AccessName,
    /// Tasks that run at the same time; several numbers, each is measured [default: 1 and the
    /// number of processors]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    tasks: Vec<u32>,
    /// Tasks are threads instead of processes
    #[arg(long)]
    threads: bool,
    /// Bytes of each task in a segment
    #[arg(short, long, value_name = "BYTES", default_value = "32M", value_parser = parse_bytes)]
    block_size: u64,
    /// Bytes of a call; several sizes, each is measured [default: 4K,64K,1M,4M]
    #[arg(short, long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_bytes)]
    transfer_size: Vec<u64>,
    /// Segments of a file, each with a block of every task
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    segments: u32,
    /// All tasks share one file, instead of a file each
    #[arg(long)]
    shared: bool,
    /// Order of the calls in a block; several, each is measured [default: sequential, and random
    /// if no other option of this kind is given]
    #[arg(long, value_name = "ORDER,…", value_delimiter = ',')]
    pattern: Vec<PatternName>,
    /// From the start of a call to the start of the next, if strided [default: twice the transfer
    /// size]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    stride: Option<u64>,
    /// Calls begin at multiples of this
    #[arg(long, value_name = "BYTES", default_value = "1", value_parser = parse_bytes)]
    alignment: u64,
    /// Asynchronous calls: this many in flight at a time
    #[arg(long = "async", value_name = "DEPTH")]
    depth: Option<u32>,
    /// When writes are synced: never, at the end of a task, or after each call
    #[arg(long, value_name = "WHEN", default_value = "never")]
    fsync: SyncName,
    /// Bypass the page cache (O_DIRECT)
    #[arg(long)]
    direct: bool,
    /// Every write reaches the storage before it returns (O_SYNC)
    #[arg(long)]
    durable: bool,
    /// Writes overwrite existing data instead of creating new files
    #[arg(long)]
    in_place: bool,
    /// Each task pauses between two calls, such as 500us or 10ms
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    think_time: Option<Duration>,
    /// Files of each task for opening, closing, renaming and deleting; 0 leaves them out
    #[arg(long, value_name = "FILES", default_value_t = 64)]
    metadata: u32,
    /// What the page cache holds before reads, or before the program of a trace starts: nothing of
    /// the files, all of them, or both ways
    #[arg(long, value_name = "STATE", default_value = "both")]
    cache: CacheName,
    /// Tasks read what their neighbour wrote
    #[arg(short = 'C', long)]
    reorder: bool,
    /// A repetition ends after this time, such as 2s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    stonewall: Option<Duration>,

    /// Occupy this much memory, so that it cannot be used as cache
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub hog_memory: Option<u64>,
    /// Run tasks in a control group with this much memory, page cache included
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "threads")]
    pub memory_limit: Option<u64>,

    /// Repeat until the mean is known this well, in percent (95 % confidence)
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_percent)]
    pub precision: f64,
    /// Repetitions at least and at most
    #[arg(long, value_name = "MIN-MAX", default_value = "3-10", value_parser = parse_range)]
    repetitions: (u32, u32),
    /// Finish in about this time, with fewer repetitions if need be
    #[arg(long, value_name = "TIME", default_value = "240s", value_parser = parse_time)]
    pub time_limit: Duration,
    /// Never use more space than this on the storage
    #[arg(long, value_name = "BYTES", default_value = "2GB", value_parser = parse_bytes)]
    pub disk_limit: u64,
    /// Seed of the random accesses
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApiName {
    /// System calls
    Posix,
    /// Buffered streams, as those of the C library
    Stdio,
    /// MPI-IO (build with the feature 'mpi')
    Mpiio,
    /// HDF5 (build with the feature 'hdf5')
    Hdf5,
    /// netCDF (build with the feature 'netcdf')
    Netcdf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AccessName {
    Read,
    Write,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PatternName {
    Sequential,
    Strided,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SyncName {
    Never,
    End,
    Each,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CacheName {
    Cold,
    Warm,
    Both,
}

impl BenchArguments {
    /// The directory to measure.
    pub fn directory(&self) -> &Path {
        let given = self.directory.as_deref().or(self.dir.as_deref());
        given.unwrap_or(Path::new("."))
    }

    /// Whether MPI is needed.
    #[cfg(feature = "mpi")]
    pub fn wants_mpi(&self) -> bool {
        self.api == ApiName::Mpiio || ioracle_bench::has_launcher()
    }

    /// What tasks are, unless they are ranks.
    pub fn task_kind(&self) -> TaskKind {
        if self.threads { TaskKind::Threads } else { TaskKind::Processes }
    }

    /// When to stop.
    pub fn rules(&self) -> SessionRules {
        let (min, max) = self.repetitions;
        let precision = self.precision / 100.0;
        SessionRules {
            repetition: RepetitionRule { min, max, precision },
            time_limit: self.time_limit,
            seed: self.seed,
        }
    }

    /// The work that the classes of a trace ask for, each with its bytes per call, within
    /// so many bytes on the storage.
    pub fn plan_for(
        &self,
        classes: &[(IoClass, u64)],
        disk_bytes: u64,
        kind: TaskKind,
        n_ranks: u32,
    ) -> Result<Plan> {
        self.check_repetitions()?;
        let mut plan = Plan::for_classes(classes, disk_bytes);
        for work in &mut plan.works {
            if let PlannedWork::Data(workload) = work {
                workload.think_ns = self.base().think_ns;
                workload.stonewall_ns = self.base().stonewall_ns;
                workload.reorder = self.reorder;
            }
        }
        plan.leave_out_impossible(disk_bytes, kind, n_ranks);
        plan.check(disk_bytes, kind, n_ranks)?;
        Ok(plan)
    }

    /// The work that these options ask for.
    pub fn plan(&self, kind: TaskKind, n_ranks: u32) -> Result<Plan> {
        self.check_repetitions()?;
        let defaults = self.defaults(n_ranks);
        let mut plan = Plan::of(&defaults);
        if self.asks_for_syncs() {
            plan.add_syncs_and_closes(&defaults.n_tasks);
        }
        if self.pattern.is_empty() {
            // Large random accesses are like sequential ones, so the smaller ones do.
            plan.works.retain(|work| match work {
                PlannedWork::Data(workload) => {
                    workload.pattern == AccessPattern::Sequential
                        || workload.transfer_bytes <= 1 << 20
                            && workload.direction == DataDirection::Read
                            && workload.cache == CacheState::Cold
                }
                PlannedWork::Metadata(_) => true,
            });
        }
        plan.check(self.disk_limit, kind, n_ranks)?;
        Ok(plan)
    }

    fn check_repetitions(&self) -> Result<()> {
        let (min, max) = self.repetitions;
        if min > max {
            let sentence = format!("--repetitions {min}-{max} has a minimum above its maximum");
            return Err(WrongUse(sentence).into());
        }
        Ok(())
    }

    /// Whether syncing and closing are measured by themselves: where calls on
    /// whole files are, and nothing else was said about syncs.
    fn asks_for_syncs(&self) -> bool {
        let is_plain = !self.direct && !self.durable && self.api == ApiName::Posix;
        let writes = self.access != AccessName::Read && self.fsync == SyncName::Never;
        self.metadata > 0 && is_plain && writes
    }

    /// The states of the cache in which reads are measured.
    pub fn cache_states(&self) -> Vec<CacheState> {
        match self.cache {
            // What passes by the cache cannot be warm.
            _ if self.direct => vec![CacheState::Cold],
            CacheName::Cold => vec![CacheState::Cold],
            CacheName::Warm => vec![CacheState::Warm],
            CacheName::Both => vec![CacheState::Cold, CacheState::Warm],
        }
    }

    fn defaults(&self, n_ranks: u32) -> PlanDefaults {
        let or = |given: &[u64], usual: &[u64]| {
            if given.is_empty() { usual.to_vec() } else { given.to_vec() }
        };
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let mut n_tasks = self.tasks.clone();
        if n_tasks.is_empty() && n_ranks > 1 {
            n_tasks = vec![n_ranks];
        } else if n_tasks.is_empty() {
            n_tasks = if processors > 1 { vec![1, processors.min(16)] } else { vec![1] };
        }
        let patterns: Vec<AccessPattern> = match &self.pattern[..] {
            [] => vec![AccessPattern::Sequential, AccessPattern::Random],
            given => given.iter().map(|name| name.pattern()).collect(),
        };
        PlanDefaults {
            base: self.base(),
            n_tasks,
            transfer_bytes: or(&self.transfer_size, &[4 << 10, 64 << 10, 1 << 20, 4 << 20]),
            patterns,
            directions: match self.access {
                AccessName::Read => vec![DataDirection::Read],
                AccessName::Write => vec![DataDirection::Write],
                AccessName::Both => vec![DataDirection::Write, DataDirection::Read],
            },
            caches: self.cache_states(),
            n_files: self.metadata,
        }
    }

    fn base(&self) -> Workload {
        Workload {
            api: match self.api {
                ApiName::Posix => Api::Posix,
                ApiName::Stdio => Api::Stdio,
                ApiName::Mpiio => Api::MpiIo,
                ApiName::Hdf5 => Api::Hdf5,
                ApiName::Netcdf => Api::NetCdf,
            },
            n_segments: self.segments,
            layout: if self.shared { FileLayout::Shared } else { FileLayout::FilePerTask },
            stride_bytes: self.stride.unwrap_or(0),
            alignment_bytes: self.alignment,
            depth: self.depth.unwrap_or(1),
            sync: match self.fsync {
                SyncName::Never => SyncRule::Never,
                SyncName::End => SyncRule::End,
                SyncName::Each => SyncRule::Each,
            },
            direct: self.direct,
            durable: self.durable,
            in_place: self.in_place,
            think_ns: self.think_time.map_or(0, |time| time.as_nanos() as u64),
            reorder: self.reorder,
            stonewall_ns: self.stonewall.map(|time| time.as_nanos() as u64),
            ..Workload::new(DataDirection::Read, 1, self.block_size)
        }
    }
}

impl PatternName {
    fn pattern(self) -> AccessPattern {
        match self {
            PatternName::Sequential => AccessPattern::Sequential,
            PatternName::Strided => AccessPattern::Strided,
            PatternName::Random => AccessPattern::Random,
        }
    }
}

/// A time with its unit, up to a day.
fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a number with us, ms, s or min, such as 500us or 2s".to_owned();
    let units = [("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("min", 60.0), ("s", 1.0)];
    let (number, unit_s) = units
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))
        .ok_or_else(wrong)?;
    let seconds = number.trim().parse::<f64>().map_err(|_| wrong())? * unit_s;
    if !(1e-6..=86_400.0).contains(&seconds) {
        return Err("a time is from 1us up to a day".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("a precision is a number of percent above 0, up to 100".to_owned()),
    }
}

/// `3-10`, or one number for both.
fn parse_range(text: &str) -> Result<(u32, u32), String> {
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    match (min.trim().parse(), max.trim().parse()) {
        (Ok(min), Ok(max)) if min >= 1 && max <= 10_000 => Ok((min, max)),
        _ => Err("repetitions are a number from 1 to 10000, or two such as 3-10".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_limits() {
        assert_eq!(parse_time("500us"), Ok(Duration::from_micros(500)));
        assert_eq!(parse_time("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("2min"), Ok(Duration::from_secs(120)));
        for text in ["", "5", "s", "-1s", "0s", "1e9s", "nans", "infs", "2h"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn repetitions_are_one_number_or_two() {
        assert_eq!(parse_range("5"), Ok((5, 5)));
        assert_eq!(parse_range("3-10"), Ok((3, 10)));
        for text in ["", "0", "1-", "-3", "3-99999", "a-b"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
        assert!(parse_percent("5%").is_ok() && parse_percent("0").is_err());
    }
}
