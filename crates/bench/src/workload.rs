// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is measured: the parameters of IOR and a few more, and the offsets that
//! follow from them.
//!
//! A file is a sequence of segments, each with one block per task; a block is
//! moved in transfers. With a file per task, the blocks of a task follow each
//! other in its own file:
//!
//! ```text
//! shared file   | seg 0: task 0 | task 1 | … | seg 1: task 0 | task 1 | …
//! a block       | transfer | transfer | …
//! ```

use ioracle_forecast::Api;
use serde::{Deserialize, Serialize};

use crate::BenchError;

/// Calls that a task makes in one phase at most; what would make more is refused.
pub const MAX_CALLS: u64 = 1 << 22;

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataDirection {
    /// From the storage.
    Read,
    /// To the storage.
    Write,
}

/// In which order the transfers of a block are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessPattern {
    /// One behind the other.
    Sequential,
    /// With the same distance from each to the next; what lies between is not accessed.
    Strided,
    /// Each once, in random order.
    Random,
}

impl AccessPattern {
    /// As it is written in options and documents.
    pub fn name(self) -> &'static str {
        match self {
            AccessPattern::Sequential => "sequential",
            AccessPattern::Strided => "strided",
            AccessPattern::Random => "random",
        }
    }
}

/// Who has which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileLayout {
    /// All tasks have parts of one file.
    Shared,
    /// Each task has its own.
    FilePerTask,
}

/// When a task calls `fsync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncRule {
    /// Never.
    Never,
    /// After its last write.
    End,
    /// After every write.
    Each,
    /// Whenever this many bytes have been written since the last time.
    Every(u64),
}

/// What should be in the page cache when a read begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// Nothing of the file: it was evicted.
    Cold,
    /// The whole file: it was just read.
    Warm,
}

/// Everything that defines one point of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// The interface.
    pub api: Api,
    /// Reads or writes.
    pub direction: DataDirection,
    /// Processes or threads that access at the same time.
    pub n_tasks: u32,
    /// Bytes that a task has in each segment.
    pub block_bytes: u64,
    /// Bytes of each call.
    pub transfer_bytes: u64,
    /// Blocks of each task.
    pub n_segments: u32,
    /// Who has which file.
    pub layout: FileLayout,
    /// The order of the transfers.
    pub pattern: AccessPattern,
    /// From the start of a transfer to the start of the next, if strided.
    pub stride_bytes: u64,
    /// Transfers begin at multiples of this.
    pub alignment_bytes: u64,
    /// Calls under way at a time; 1 for synchronous ones.
    pub depth: u32,
    /// When to call `fsync`.
    pub sync: SyncRule,
    /// Past the page cache, with `O_DIRECT`.
    pub direct: bool,
    /// Every write reaches the storage before it returns, with `O_SYNC`.
    pub durable: bool,
    /// Writes replace what is there, instead of making a new file.
    pub in_place: bool,
    /// How long a task pauses between two calls.
    pub think_ns: u64,
    /// What is cached when a read begins.
    pub cache: CacheState,
    /// Each task reads what its neighbour wrote.
    pub reorder: bool,
    /// Ends a phase after this time, if each task has made a call.
    pub stonewall_ns: Option<u64>,
    /// Calls that a task makes at most, whatever the block holds.
    pub max_calls: Option<u64>,
}

impl Workload {
    /// Sequential transfers of one task on its own file.
    pub fn new(direction: DataDirection, transfer_bytes: u64, block_bytes: u64) -> Workload {
        Workload {
            api: Api::Posix,
            direction,
            n_tasks: 1,
            block_bytes,
            transfer_bytes,
            n_segments: 1,
            layout: FileLayout::FilePerTask,
            pattern: AccessPattern::Sequential,
            stride_bytes: transfer_bytes,
            alignment_bytes: 1,
            depth: 1,
            sync: SyncRule::Never,
            direct: false,
            durable: false,
            in_place: false,
            think_ns: 0,
            cache: CacheState::Cold,
            reorder: false,
            stonewall_ns: None,
            max_calls: None,
        }
    }

    /// Refuses what cannot be performed, with a sentence.
    pub fn check(&self) -> Result<(), BenchError> {
        let refuse = |sentence: String| Err(BenchError::Unusable(sentence));
        if self.n_tasks == 0 || self.n_tasks > 4096 {
            return refuse(format!("{} tasks cannot be run; take 1 to 4096", self.n_tasks));
        }
        if self.transfer_bytes == 0 || self.transfer_bytes > 1 << 30 {
            return refuse(format!(
                "a transfer of {} bytes cannot be made; take 1 byte to 1 GiB",
                self.transfer_bytes
            ));
        }
        if self.alignment_bytes == 0 || self.depth == 0 || self.n_segments == 0 {
            return refuse("alignment, depth and segments are at least 1".to_owned());
        }
        if self.depth > 256 {
            return refuse(format!(
                "{} calls under way per task are too many; take at most 256",
                self.depth
            ));
        }
        if self.block_bytes < self.transfer_bytes {
            return refuse(format!(
                "a block of {} bytes holds no transfer of {} bytes; give a larger --block-size",
                self.block_bytes, self.transfer_bytes
            ));
        }
        if self.direct
            && !(self.transfer_bytes.is_multiple_of(512)
                && self.step_bytes().is_multiple_of(512)
                && self.block_bytes.is_multiple_of(512))
        {
            return refuse(
                "O_DIRECT needs transfers, strides, alignments and blocks that are multiples of \
                 512 bytes; change them or leave out --direct"
                    .to_owned(),
            );
        }
        if self.calls_per_task() > MAX_CALLS {
            return refuse(format!(
                "a task would make {} calls; take larger transfers or smaller blocks, so that it \
                 makes at most {MAX_CALLS}",
                self.calls_per_task()
            ));
        }
        let all =
            u128::from(self.block_bytes) * u128::from(self.n_segments) * u128::from(self.n_tasks);
        if all > i64::MAX as u128 {
            return refuse(
                "no file can hold so many blocks; take fewer or smaller ones".to_owned(),
            );
        }
        Ok(())
    }

    /// From one place where a transfer may begin to the next.
    fn step_bytes(&self) -> u64 {
        let step = match self.pattern {
            AccessPattern::Strided => self.stride_bytes.max(self.transfer_bytes),
            _ => self.transfer_bytes,
        };
        step.next_multiple_of(self.alignment_bytes)
    }

    /// Transfers that a block has.
    fn transfers_per_block(&self) -> u64 {
        // The last one need not be followed by a gap.
        (self.block_bytes.saturating_sub(self.transfer_bytes)) / self.step_bytes() + 1
    }

    /// Calls that each task makes, unless the time is over before.
    pub fn calls_per_task(&self) -> u64 {
        let all = self.transfers_per_block().saturating_mul(u64::from(self.n_segments));
        self.max_calls.map_or(all, |most| all.min(most))
    }

    /// Bytes that all tasks move.
    pub fn bytes_moved(&self) -> u64 {
        self.calls_per_task() * u64::from(self.n_tasks) * self.transfer_bytes
    }

    /// Bytes that the files of the workload have when they are complete.
    pub fn bytes_on_disk(&self) -> u64 {
        self.block_bytes * u64::from(self.n_segments) * u64::from(self.n_tasks)
    }

    /// The number of the file that a task accesses.
    pub fn file_of(&self, task: u32) -> u32 {
        match self.layout {
            FileLayout::Shared => 0,
            FileLayout::FilePerTask => self.writer_of(task),
        }
    }

    /// Files of the workload.
    pub fn n_files(&self) -> u32 {
        match self.layout {
            FileLayout::Shared => 1,
            FileLayout::FilePerTask => self.n_tasks,
        }
    }

    /// Bytes of each file.
    pub fn file_bytes(&self) -> u64 {
        self.bytes_on_disk() / u64::from(self.n_files())
    }

    /// The task whose data this one accesses.
    fn writer_of(&self, task: u32) -> u32 {
        if self.reorder && self.direction == DataDirection::Read {
            (task + 1) % self.n_tasks
        } else {
            task
        }
    }

    /// The offsets of a task's calls, in their order. The same seed gives the
    /// same order.
    pub fn offsets(&self, task: u32, seed: u64) -> Vec<u64> {
        let per_block = self.transfers_per_block();
        let step = self.step_bytes();
        let writer = u64::from(self.writer_of(task));
        let mut offsets = Vec::with_capacity(self.calls_per_task().min(MAX_CALLS) as usize);
        for segment in 0..u64::from(self.n_segments) {
            let block = match self.layout {
                FileLayout::Shared => segment * u64::from(self.n_tasks) + writer,
                FileLayout::FilePerTask => segment,
            };
            let start = block * self.block_bytes;
            let left = (self.calls_per_task() as usize).saturating_sub(offsets.len());
            match self.pattern {
                AccessPattern::Random => {
                    let seed = seed ^ (u64::from(task) << 32) ^ segment;
                    let order = random_order(per_block, left as u64, seed);
                    offsets.extend(order.iter().map(|slot| start + slot * step));
                }
                _ => offsets.extend((0..per_block).take(left).map(|slot| start + slot * step)),
            }
        }
        offsets
    }
}

/// Calls on whole files: each task makes files of its own, and renames and
/// deletes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MetadataWorkload {
    /// Tasks that do it at the same time.
    pub n_tasks: u32,
    /// Files of each task.
    pub n_files: u32,
    /// Bytes that are written to each before it is closed.
    pub file_bytes: u64,
}

/// Up to `most` of the numbers below `n`, each once, in random order.
fn random_order(n: u64, most: u64, seed: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    if n / 4 > most {
        // A few of very many: drawn, and drawn again if they came before.
        let mut seen = std::collections::HashSet::new();
        let drawn = std::iter::repeat_with(|| random.next() % n);
        return drawn.filter(|slot| seen.insert(*slot)).take(most as usize).collect();
    }
    // Fisher and Yates.
    let mut order: Vec<u64> = (0..n).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
    order.truncate(most as usize);
    order
}

/// A small generator of numbers that look random (Steele et al., 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workload() -> Workload {
        Workload { n_tasks: 2, n_segments: 2, ..Workload::new(DataDirection::Read, 10, 30) }
    }

    #[test]
    fn segments_of_a_shared_file_hold_one_block_per_task() {
        let shared = Workload { layout: FileLayout::Shared, ..workload() };
        assert_eq!(shared.offsets(0, 1), [0, 10, 20, 60, 70, 80]);
        assert_eq!(shared.offsets(1, 1), [30, 40, 50, 90, 100, 110]);
        assert_eq!(shared.file_bytes(), 120);
        let own = workload();
        assert_eq!(own.offsets(1, 1), [0, 10, 20, 30, 40, 50]);
        assert_eq!((own.file_of(1), own.file_bytes()), (1, 60));
    }

    #[test]
    fn reordered_reads_take_the_data_of_another_task() {
        let reordered =
            Workload { layout: FileLayout::Shared, reorder: true, n_segments: 1, ..workload() };
        assert_eq!(reordered.offsets(0, 1), [30, 40, 50]);
        assert_eq!(reordered.offsets(1, 1), [0, 10, 20]);
        let own = Workload { layout: FileLayout::FilePerTask, ..reordered.clone() };
        assert_eq!((own.file_of(0), own.file_of(1)), (1, 0));
        let written = Workload { direction: DataDirection::Write, ..own };
        assert_eq!((written.file_of(0), written.file_of(1)), (0, 1));
    }

    #[test]
    fn strides_leave_gaps_and_alignment_moves_transfers() {
        let strided = Workload {
            pattern: AccessPattern::Strided,
            stride_bytes: 25,
            ..Workload::new(DataDirection::Read, 10, 60)
        };
        assert_eq!(strided.offsets(0, 1), [0, 25, 50]);
        let aligned =
            Workload { alignment_bytes: 16, ..Workload::new(DataDirection::Write, 10, 60) };
        assert_eq!(aligned.offsets(0, 1), [0, 16, 32, 48]);
    }

    #[test]
    fn what_cannot_be_performed_is_refused() {
        let refused = |change: fn(&mut Workload)| {
            let mut workload = workload();
            change(&mut workload);
            workload.check().is_err()
        };
        assert!(workload().check().is_ok());
        assert!(refused(|it| it.n_tasks = 0));
        assert!(refused(|it| it.transfer_bytes = 0));
        assert!(refused(|it| it.transfer_bytes = 31));
        assert!(refused(|it| it.direct = true));
        assert!(refused(|it| it.block_bytes = u64::MAX));
        assert!(refused(|it| it.alignment_bytes = 0));
        assert!(refused(|it| it.depth = 0));
        assert!(refused(|it| (it.transfer_bytes, it.block_bytes) = (1, 1 << 40)));
    }

    proptest! {
        #[test]
        fn transfers_of_all_tasks_stay_in_the_file_and_do_not_overlap(
            n_tasks in 1_u32..5,
            n_segments in 1_u32..4,
            transfer_bytes in 1_u64..40,
            more in 0_u64..200,
            alignment_bytes in 1_u64..20,
            stride_bytes in 1_u64..60,
            pattern in prop_oneof![
                Just(AccessPattern::Sequential), Just(AccessPattern::Strided), Just(AccessPattern::Random)
            ],
            layout in prop_oneof![Just(FileLayout::Shared), Just(FileLayout::FilePerTask)],
            reorder: bool,
            max_calls in prop_oneof![Just(None), (1_u64..20).prop_map(Some)],
            seed: u64,
        ) {
            let workload = Workload {
                n_tasks, n_segments, alignment_bytes, stride_bytes, pattern, layout, reorder, max_calls,
                ..Workload::new(DataDirection::Read, transfer_bytes, transfer_bytes + more)
            };
            prop_assert!(workload.check().is_ok());
            let mut taken = std::collections::BTreeSet::new();
            for task in 0..n_tasks {
                let offsets = workload.offsets(task, seed);
                prop_assert_eq!(offsets.len() as u64, workload.calls_per_task());
                for offset in offsets {
                    prop_assert!(offset + transfer_bytes <= workload.file_bytes());
                    prop_assert_eq!(offset % workload.block_bytes % alignment_bytes, 0);
                    for byte in offset..offset + transfer_bytes {
                        prop_assert!(taken.insert((workload.file_of(task), byte)));
                    }
                }
            }
        }
    }
}
