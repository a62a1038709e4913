// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which pieces of work a benchmark consists of, and what they need.

use ioracle_forecast::{Api, IoClass, Kind, SizeBin};

use crate::BenchError;
use crate::file::check_api;
use crate::libraries::can_share;
use crate::points::{can_measure, class_of, work_for};
use crate::team::TaskKind;
use crate::workload::{
    AccessPattern, CacheState, DataDirection, FileLayout, MetadataWorkload, SyncRule, Workload,
};

/// A piece of work that is measured by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlannedWork {
    /// Reads or writes.
    Data(Workload),
    /// Calls on whole files.
    Metadata(MetadataWorkload),
}

impl PlannedWork {
    /// Tasks that do it.
    pub fn n_tasks(&self) -> u32 {
        match self {
            PlannedWork::Data(workload) => workload.n_tasks,
            PlannedWork::Metadata(workload) => workload.n_tasks,
        }
    }

    /// Whether it is for its reads or writes. Work that is for its syncs has
    /// writes too, but between syncs they are not like others.
    pub fn measures_data(&self) -> bool {
        match self {
            PlannedWork::Data(workload) => !matches!(workload.sync, SyncRule::Every(_)),
            PlannedWork::Metadata(_) => false,
        }
    }

    /// Bytes that lie on the storage at most while it is done.
    pub fn bytes_on_disk(&self) -> u64 {
        match self {
            PlannedWork::Data(workload) => workload.bytes_on_disk(),
            PlannedWork::Metadata(workload) => {
                let per_file = workload.file_bytes.max(4096);
                per_file * u64::from(workload.n_files) * u64::from(workload.n_tasks)
            }
        }
    }

    /// In a few words, for a progress bar.
    pub fn label(&self) -> String {
        match self {
            PlannedWork::Data(Workload { sync: SyncRule::Every(bytes), n_tasks, .. }) => {
                format!("syncing {}, {n_tasks} at a time", SizeBin::of(*bytes))
            }
            PlannedWork::Data(workload) => class_of(workload).to_string(),
            PlannedWork::Metadata(workload) => {
                format!("opening, closing, deleting, {} at a time", workload.n_tasks)
            }
        }
    }
}

/// What of the parameters is varied, and what they are otherwise.
#[derive(Clone, Debug)]
pub struct PlanDefaults {
    /// Everything that is not varied.
    pub base: Workload,
    /// Numbers of tasks.
    pub n_tasks: Vec<u32>,
    /// Sizes of transfers.
    pub transfer_bytes: Vec<u64>,
    /// Orders of accesses.
    pub patterns: Vec<AccessPattern>,
    /// Reads, writes or both.
    pub directions: Vec<DataDirection>,
    /// Cold reads, warm ones or both.
    pub caches: Vec<CacheState>,
    /// Files of each task for metadata calls; 0 leaves them out.
    pub n_files: u32,
}

/// The pieces of work, in their order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is done.
    pub works: Vec<PlannedWork>,
    /// Classes that were asked for and cannot be measured by this build.
    pub left_out: Vec<IoClass>,
}

impl Plan {
    /// Every combination of what is varied.
    pub fn of(defaults: &PlanDefaults) -> Plan {
        let mut plan = Plan::default();
        for &n_tasks in &defaults.n_tasks {
            for &direction in &defaults.directions {
                for &pattern in &defaults.patterns {
                    for &transfer_bytes in &defaults.transfer_bytes {
                        let workload = Workload {
                            n_tasks,
                            direction,
                            pattern,
                            transfer_bytes,
                            block_bytes: defaults.base.block_bytes.max(transfer_bytes),
                            stride_bytes: defaults.base.stride_bytes.max(2 * transfer_bytes),
                            ..defaults.base.clone()
                        };
                        plan.add(workload, &defaults.caches);
                    }
                }
            }
            if defaults.n_files > 0 {
                let n_files = defaults.n_files;
                let files = MetadataWorkload { n_tasks, n_files, file_bytes: 0 };
                plan.works.push(PlannedWork::Metadata(files));
            }
        }
        plan.sort();
        plan
    }

    fn add(&mut self, workload: Workload, caches: &[CacheState]) {
        match workload.direction {
            DataDirection::Write => self.works.push(PlannedWork::Data(workload)),
            DataDirection::Read => {
                for &cache in caches {
                    self.works.push(PlannedWork::Data(Workload { cache, ..workload.clone() }));
                }
            }
        }
    }

    /// Adds syncs and closes with different amounts of data that waits, as far as
    /// they need no more room than what is planned already.
    pub fn add_syncs_and_closes(&mut self, n_tasks: &[u32]) {
        let disk_bytes = self.bytes_on_disk();
        for &n_tasks in n_tasks {
            for bytes in [64 << 10, 1 << 20, 16 << 20] {
                for kind in [Kind::Sync, Kind::Close] {
                    let class = IoClass {
                        concurrency: n_tasks.clamp(1, 1 << 12) as u16,
                        ..IoClass::new(kind, SizeBin::of(bytes))
                    };
                    if bytes * u64::from(n_tasks) <= disk_bytes {
                        self.works.push(work_for(&class, bytes, disk_bytes));
                    }
                }
            }
        }
        self.sort();
    }

    /// The classes of a trace, each with its bytes per call, the most important
    /// first, within so many bytes on the storage.
    pub fn for_classes(classes: &[(IoClass, u64)], disk_bytes: u64) -> Plan {
        let mut plan = Plan::default();
        for (class, transfer_bytes) in classes {
            if !can_measure(class.api) {
                plan.left_out.push(*class);
                continue;
            }
            let work = work_for(class, *transfer_bytes, disk_bytes);
            // One round of calls on whole files measures all kinds of them.
            let is_there = |other: &PlannedWork| match (other, &work) {
                (PlannedWork::Metadata(known), PlannedWork::Metadata(wanted)) => {
                    known.n_tasks == wanted.n_tasks
                        && (known.file_bytes == wanted.file_bytes || class.kind != Kind::Close)
                }
                (known, wanted) => known == wanted,
            };
            if !plan.works.iter().any(is_there) {
                plan.works.push(work);
            }
        }
        plan.sort();
        plan
    }

    /// Work on the same files stands together, so that they are written once.
    fn sort(&mut self) {
        self.works.sort_by_key(|work| match work {
            PlannedWork::Data(workload) => (
                workload.n_tasks,
                workload.direction == DataDirection::Read || workload.in_place,
                workload.api,
                workload.layout == FileLayout::Shared,
                workload.bytes_on_disk(),
                workload.block_bytes,
            ),
            PlannedWork::Metadata(workload) => {
                (workload.n_tasks, true, Api::NetCdf, true, u64::MAX, 0)
            }
        });
    }

    /// Refuses work that cannot be performed by tasks of a kind, of which ranks
    /// have a number, or that needs too much room.
    pub fn check(&self, disk_limit: u64, kind: TaskKind, n_ranks: u32) -> Result<(), BenchError> {
        let refuse = |sentence: String| Err(BenchError::Unusable(sentence));
        for work in &self.works {
            if let PlannedWork::Data(workload) = work {
                workload.check()?;
                check_api(workload.api)?;
                check_interface(workload, kind)?;
            }
            if kind == TaskKind::Ranks && work.n_tasks() > n_ranks {
                return refuse(format!(
                    "{} tasks need as many ranks, and there are {n_ranks}; start more with mpirun, \
                     or lower --tasks",
                    work.n_tasks()
                ));
            }
            if work.bytes_on_disk() > disk_limit {
                return refuse(format!(
                    "{} tasks would write {} bytes, more than --disk-limit allows ({disk_limit}); \
                     take smaller blocks or raise it",
                    work.n_tasks(),
                    work.bytes_on_disk()
                ));
            }
        }
        if self.works.is_empty() {
            return refuse(
                "there is nothing to measure; name at least one access, pattern and size"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Moves work that tasks of a kind cannot perform to what is left out.
    pub fn leave_out_impossible(&mut self, disk_limit: u64, kind: TaskKind, n_ranks: u32) {
        let is_possible = |work: &PlannedWork| {
            let alone = Plan { works: vec![work.clone()], left_out: Vec::new() };
            alone.check(disk_limit, kind, n_ranks).is_ok()
        };
        for work in self.works.extract_if(.., |work| !is_possible(work)) {
            if let PlannedWork::Data(workload) = &work {
                self.left_out.push(class_of(workload));
            }
        }
    }

    /// Bytes that lie on the storage at a time, at most.
    pub fn bytes_on_disk(&self) -> u64 {
        self.works.iter().map(PlannedWork::bytes_on_disk).max().unwrap_or(0)
    }
}

/// Refuses what an interface does not have.
fn check_interface(workload: &Workload, kind: TaskKind) -> Result<(), BenchError> {
    let refuse = |sentence: String| Err(BenchError::Unusable(sentence));
    let api = workload.api;
    let is_plain = api == Api::Posix;
    let is_shared = workload.layout == FileLayout::Shared && workload.n_tasks > 1;
    if workload.depth > 1 && !(is_plain || api == Api::MpiIo) {
        return refuse(format!("{} has no asynchronous calls; leave out --async", api.name()));
    }
    if workload.depth > 1 && !matches!(workload.sync, SyncRule::Never | SyncRule::End) {
        return refuse(
            "asynchronous writes are synced at the end or not at all; change --fsync".to_owned(),
        );
    }
    if (workload.direct || workload.durable) && !(is_plain || api == Api::Stdio) {
        return refuse(format!(
            "{} opens files in its own way; leave out --direct and --durable",
            api.name()
        ));
    }
    let is_library = matches!(api, Api::MpiIo | Api::Hdf5 | Api::NetCdf);
    if is_library && kind == TaskKind::Threads {
        return refuse(format!(
            "tasks that use {} are no threads; leave out --threads",
            api.name()
        ));
    }
    if is_library && kind != TaskKind::Ranks && (is_shared || api == Api::MpiIo) {
        return refuse(format!(
            "tasks that share a file through {} are ranks of an MPI job; build ioracle with the \
             feature mpi, and start it with mpirun",
            api.name()
        ));
    }
    if is_shared && is_library && !can_share(api) {
        return refuse(format!(
            "the library of {} is not a parallel one for this MPI; leave out --shared",
            api.name()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_every_combination() {
        let defaults = PlanDefaults {
            base: Workload::new(DataDirection::Read, 1, 1 << 20),
            n_tasks: vec![1, 4],
            transfer_bytes: vec![4096, 65536, 4 << 20],
            patterns: vec![AccessPattern::Sequential, AccessPattern::Random],
            directions: vec![DataDirection::Read, DataDirection::Write],
            caches: vec![CacheState::Cold, CacheState::Warm],
            n_files: 10,
        };
        let plan = Plan::of(&defaults);
        assert_eq!(plan.works.len(), 2 * (2 * 3 * 3 + 1));
        plan.check(1 << 30, TaskKind::Threads, 1).unwrap();
        assert_eq!(plan.bytes_on_disk(), 16 << 20);
        let error = plan.check(1 << 20, TaskKind::Threads, 1).unwrap_err().to_string();
        assert!(error.contains("--disk-limit"), "{error}");
        assert!(Plan::default().check(1, TaskKind::Threads, 1).is_err());
    }

    #[test]
    fn syncs_and_closes_need_no_more_room() {
        let defaults = PlanDefaults {
            base: Workload::new(DataDirection::Write, 1, 4 << 20),
            n_tasks: vec![1, 2],
            transfer_bytes: vec![4096],
            patterns: vec![AccessPattern::Sequential],
            directions: vec![DataDirection::Write],
            caches: Vec::new(),
            n_files: 0,
        };
        let mut plan = Plan::of(&defaults);
        plan.add_syncs_and_closes(&[1, 2]);
        // 64 KiB and 1 MiB, synced and closed, by one task and by two.
        assert_eq!((plan.works.len(), plan.bytes_on_disk()), (2 + 8, 8 << 20));
    }

    #[test]
    fn classes_that_one_round_measures_are_measured_once() {
        let class = |kind| (IoClass::new(kind, ioracle_forecast::SizeBin::EMPTY), 0);
        let classes = [class(Kind::Open), class(Kind::Create), class(Kind::Delete)];
        assert_eq!(Plan::for_classes(&classes, 1 << 30).works.len(), 1);
    }
}
