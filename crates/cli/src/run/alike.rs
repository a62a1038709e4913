// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ranks that behave alike: those of a thousand that do the same are one.
//!
//! A rank is all processes that were told its number; what it does is what their
//! threads do ([`Behaviour`]). Calls inside MPI count: where one rank writes for
//! others it is another kind.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use ioracle_trace::Process;

use super::report::in_seconds;
use super::summary::{Between, RankGroup, RanksAlike};
use super::tally::{Behaviour, ProcessTally, Tally};

/// Groups that a summary holds.
const MAX_GROUPS: usize = 100;

/// What each rank has done, in their order.
pub struct Ranks(BTreeMap<u32, Rank>);

#[derive(Default)]
struct Rank {
    done: ProcessTally,
    io_ns: u64,
    threads: Vec<Behaviour>,
}

impl Ranks {
    /// Puts together what the processes of each rank have done.
    pub fn of(tally: &Tally, processes: &[Process]) -> Ranks {
        let mut ranks: BTreeMap<u32, Rank> =
            processes.iter().filter_map(|process| Some((process.rank?, Rank::default()))).collect();
        let rank_of = |number: u32| processes.get(number as usize)?.rank;
        for (&number, done) in &tally.processes {
            if let Some(rank) = rank_of(number).and_then(|rank| ranks.get_mut(&rank)) {
                rank.done.join(done);
            }
        }
        for (stream, done) in &tally.streams {
            if let Some(rank) = rank_of(stream.rank).and_then(|rank| ranks.get_mut(&rank)) {
                rank.io_ns = rank.io_ns.saturating_add(done.io_ns);
                rank.threads.push(done.behaviour);
            }
        }
        Ranks(ranks)
    }

    /// Each rank with the bytes that it wrote and the time that took.
    pub fn written(&self) -> Vec<(u32, u64, u64)> {
        let written = |(&number, rank): (&u32, &Rank)| {
            (number, rank.done.written.bytes, rank.done.written.io_ns)
        };
        self.0.iter().map(written).collect()
    }

    /// Those that behave alike together; `None` if there are not several.
    pub fn groups(self) -> Option<RanksAlike> {
        let n_ranks = self.0.len();
        let mut kinds: HashMap<Behaviour, RankGroup> = HashMap::new();
        for (number, rank) in self.0 {
            let one = rank.alone(number);
            kinds
                .entry(Behaviour::of_all(rank.threads))
                .and_modify(|group| group.join(&one))
                .or_insert(one);
        }
        let n_kinds = kinds.len();
        let mut groups: Vec<RankGroup> = kinds.into_values().collect();
        groups.sort_by_key(|group| (Reverse(group.n_ranks), group.ranks.first().copied()));
        groups.truncate(MAX_GROUPS);
        (n_ranks > 1).then_some(RanksAlike { ranks: n_ranks, kinds: n_kinds, groups })
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
    /// Takes in a rank behind all that are here.
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
    use super::super::tally::tests::event;
    use super::*;

    /// A job of processes, each with its rank and the names of its calls.
    fn ranks(job: &[(Option<u32>, &[&str])]) -> Ranks {
        let mut tally = Tally::default();
        for (number, (_, calls)) in (0..).zip(job) {
            for name in *calls {
                let mut call = event(name, 1, Some((0, 100 + u64::from(number))));
                call.stream.rank = number;
                tally.add(&call);
            }
        }
        let process = |&(rank, _): &(Option<u32>, &[&str])| Process { rank, ..Process::default() };
        Ranks::of(&tally, &job.iter().map(process).collect::<Vec<_>>())
    }

    #[test]
    fn ranks_that_do_the_same_are_one_group_whatever_their_sizes() {
        let (root, others): (&[&str], &[&str]) = (&["open", "write", "write"], &["open", "write"]);
        let job: Vec<_> = [(None, others), (Some(0), root)]
            .into_iter()
            .chain([5, 1, 3, 2].map(|rank| (Some(rank), others)))
            .collect();
        let ranks = ranks(&job);
        assert_eq!(ranks.written()[..2], [(0, 202, 20_000), (1, 103, 10_000)]);
        let told = ranks.groups().unwrap();
        assert_eq!((told.ranks, told.kinds), (5, 2));
        assert_eq!(told.groups[0].ranks, [(1, 3), (5, 5)]);
        assert_eq!(told.groups[0].bytes_written, Between { least: 102, most: 105 });
        assert_eq!(told.groups[0].operations, Between { least: 2, most: 2 });
        assert_eq!((&told.groups[1].ranks[..], told.groups[1].n_ranks), (&[(0, 0)][..], 1));
    }

    #[test]
    fn a_rank_of_several_processes_is_one() {
        let job: [(Option<u32>, &[&str]); 4] = [
            (Some(0), &["open"]),
            (Some(1), &["open"]),
            (Some(0), &["read"]),
            (Some(1), &["read"]),
        ];
        let told = ranks(&job).groups().unwrap();
        assert_eq!((told.ranks, told.kinds), (2, 1));
        assert_eq!(told.groups[0].operations, Between { least: 2, most: 2 });
    }

    #[test]
    fn one_rank_alone_is_no_group() {
        assert!(ranks(&[(Some(0), &["open"]), (None, &["open"])]).groups().is_none());
        assert!(ranks(&[]).groups().is_none());
    }
}
