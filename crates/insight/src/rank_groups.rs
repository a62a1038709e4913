// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ranks that behave alike: a thousand ranks that do the same are one group.
//!
//! A rank is all processes that have its number; what it does is what their threads do
//! ([`CallsHash`]). Calls inside MPI count: a rank that writes for others is of another
//! kind.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::summarise::in_seconds;
use crate::summary::{Between, RankGroup, RankGroups};
use crate::tally::{CallsHash, JobTally, ProcessTally, TransferTally};

/// Groups that a summary holds.
const MAX_GROUPS: usize = 100;

/// What a rank has read and written.
#[derive(Clone, Copy, Debug)]
pub struct RankBytes {
    pub rank: u32,
    pub read: TransferTally,
    pub written: TransferTally,
}

/// What each rank has done, in their order.
pub struct RankTallies(BTreeMap<u32, Rank>);

#[derive(Default)]
struct Rank {
    done: ProcessTally,
    io_ns: u64,
    threads: Vec<CallsHash>,
}

impl RankTallies {
    /// Puts together what the processes of each rank have done; `rank_of` has the
    /// rank of each process that has one, by its number.
    pub fn of(tally: &JobTally, rank_of: &HashMap<u32, u32>) -> RankTallies {
        let mut ranks: BTreeMap<u32, Rank> =
            rank_of.values().map(|rank| (*rank, Rank::default())).collect();
        for (&number, done) in tally.processes.iter() {
            if let Some(rank) = rank_of.get(&number).and_then(|rank| ranks.get_mut(rank)) {
                rank.done.join(done);
            }
        }
        for (stream, done) in tally.streams.iter() {
            if let Some(rank) = rank_of.get(&stream.rank).and_then(|rank| ranks.get_mut(rank)) {
                rank.io_ns = rank.io_ns.saturating_add(done.io_ns);
                rank.threads.push(done.behaviour);
            }
        }
        RankTallies(ranks)
    }

    /// What each rank has read and written.
    pub fn bytes(&self) -> Vec<RankBytes> {
        let of = |(&rank, one): (&u32, &Rank)| RankBytes {
            rank,
            read: one.done.read,
            written: one.done.written,
        };
        self.0.iter().map(of).collect()
    }

    /// Those that behave alike together; `None` if there are not several.
    pub fn groups(self) -> Option<RankGroups> {
        let n_ranks = self.0.len();
        let mut kinds: HashMap<CallsHash, RankGroup> = HashMap::new();
        for (number, rank) in self.0 {
            let one = rank.alone(number);
            kinds
                .entry(CallsHash::of_all(rank.threads))
                .and_modify(|group| group.join(&one))
                .or_insert(one);
        }
        let n_kinds = kinds.len();
        let mut groups: Vec<RankGroup> = kinds.into_values().collect();
        groups.sort_by_key(|group| (Reverse(group.n_ranks), group.ranks.first().copied()));
        groups.truncate(MAX_GROUPS);
        (n_ranks > 1).then_some(RankGroups { ranks: n_ranks, kinds: n_kinds, groups })
    }
}

impl Rank {
    /// A group of this rank only.
    fn alone(&self, number: u32) -> RankGroup {
        let ProcessTally { operations, read, written } = self.done;
        RankGroup {
            ranks: vec![(number, number)],
            n_ranks: 1,
            operations: Between::only(operations),
            bytes_read: Between::only(read.bytes),
            bytes_written: Between::only(written.bytes),
            io_time_s: Between::only(in_seconds(self.io_ns)),
        }
    }
}

impl RankGroup {
    /// Adds a rank after those already here.
    fn join(&mut self, next: &RankGroup) {
        for &(first, last) in &next.ranks {
            match self.ranks.last_mut() {
                Some((_, before)) if before.checked_add(1) == Some(first) => *before = last,
                _ => self.ranks.push((first, last)),
            }
        }
        self.n_ranks += next.n_ranks;
        self.operations.join(next.operations);
        self.bytes_read.join(next.bytes_read);
        self.bytes_written.join(next.bytes_written);
        self.io_time_s.join(next.io_time_s);
    }
}

impl<T: Copy + PartialOrd> Between<T> {
    fn only(value: T) -> Between<T> {
        Between { least: value, most: value }
    }

    fn join(&mut self, other: Between<T>) {
        if other.least < self.least {
            self.least = other.least;
        }
        if other.most > self.most {
            self.most = other.most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::event;

    /// A job of processes, each with its rank and the names of its calls.
    fn ranks(job: &[(Option<u32>, &[&str])]) -> RankTallies {
        let mut tally = JobTally::default();
        for (number, (_, calls)) in (0..).zip(job) {
            for name in *calls {
                let mut call = event(name, 1, Some((0, 100 + u64::from(number))));
                call.stream.rank = number;
                tally.add(&call);
            }
        }
        let ranks = (0..).zip(job).filter_map(|(number, (rank, _))| Some((number, (*rank)?)));
        RankTallies::of(&tally, &ranks.collect())
    }

    #[test]
    fn ranks_that_do_the_same_are_one_group_whatever_their_sizes() {
        let (root, others): (&[&str], &[&str]) = (&["open", "write", "write"], &["open", "write"]);
        let job: Vec<_> = [(None, others), (Some(0), root)]
            .into_iter()
            .chain([5, 1, 3, 2].map(|rank| (Some(rank), others)))
            .collect();
        let ranks = ranks(&job);
        let written = ranks.bytes().into_iter().map(|it| (it.rank, it.written.bytes));
        assert_eq!(written.take(2).collect::<Vec<_>>(), [(0, 202), (1, 103)]);
        let grouped = ranks.groups().unwrap();
        assert_eq!((grouped.ranks, grouped.kinds), (5, 2));
        assert_eq!(grouped.groups[0].ranks, [(1, 3), (5, 5)]);
        assert_eq!(grouped.groups[0].bytes_written, Between { least: 102, most: 105 });
        assert_eq!(grouped.groups[0].operations, Between { least: 2, most: 2 });
        assert_eq!((&grouped.groups[1].ranks[..], grouped.groups[1].n_ranks), (&[(0, 0)][..], 1));
    }

    #[test]
    fn a_rank_of_several_processes_is_one() {
        let job: [(Option<u32>, &[&str]); 4] = [
            (Some(0), &["open"]),
            (Some(1), &["open"]),
            (Some(0), &["read"]),
            (Some(1), &["read"]),
        ];
        let grouped = ranks(&job).groups().unwrap();
        assert_eq!((grouped.ranks, grouped.kinds), (2, 1));
        assert_eq!(grouped.groups[0].operations, Between { least: 2, most: 2 });
    }

    #[test]
    fn one_rank_alone_is_no_group() {
        assert!(ranks(&[(Some(0), &["open"]), (None, &["open"])]).groups().is_none());
        assert!(ranks(&[]).groups().is_none());
    }
}
