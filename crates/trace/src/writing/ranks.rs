// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which rank of the trace each process is, and when the rank began.
//!
//! Without MPI all processes of the job are rank 0. With it a process has the
//! rank that the launcher gave it, and those without one (the launcher
//! itself, a script around it) get numbers of their own after the last rank.
//! Times of a rank count from the start of its first process.

use std::collections::BTreeMap;

use crate::writing::log::LoggedProcess;

/// Ranks by process.
#[derive(Debug)]
pub(crate) struct ProcessRanks {
    /// Rank and start of each process.
    processes: Vec<(u32, u64)>,
    starts: BTreeMap<u32, u64>,
}

impl ProcessRanks {
    pub(crate) fn new(processes: &[LoggedProcess]) -> ProcessRanks {
        let last = processes.iter().filter_map(|process| process.rank).max();
        let mut next = last.map_or(0, |last| last.saturating_add(1));
        let mut rank = |process: &LoggedProcess| match (process.rank, last) {
            (Some(rank), _) => rank,
            (None, None) => 0,
            (None, Some(_)) => {
                next = next.saturating_add(1);
                next - 1
            }
        };
        let processes: Vec<(u32, u64)> =
            processes.iter().map(|process| (rank(process), process.start_ns)).collect();
        let mut starts = BTreeMap::new();
        for &(rank, start_ns) in &processes {
            let start = starts.entry(rank).or_insert(start_ns);
            *start = start_ns.min(*start);
        }
        ProcessRanks { processes, starts }
    }

    /// The rank of a process, and when it began, after the start of the rank.
    pub(crate) fn shift_ns(&self, process: u32) -> (u32, u64) {
        // Every event comes after its process, so the default is never used.
        let (rank, start) = self.processes.get(process as usize).copied().unwrap_or_default();
        (rank, start.saturating_sub(self.starts.get(&rank).copied().unwrap_or_default()))
    }

    /// When a process began, after the first of all.
    pub(crate) fn process_start_ns(&self, process: u32) -> u64 {
        let first = self.starts.values().min().copied().unwrap_or_default();
        self.processes.get(process as usize).map_or(0, |(_, start)| start.saturating_sub(first))
    }

    /// When a rank began, after the first of all.
    pub(crate) fn start_offset_ns(&self, rank: u32) -> u64 {
        let first = self.starts.values().min().copied().unwrap_or_default();
        self.starts.get(&rank).map_or(0, |start| start - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(processes: &[(Option<u32>, u64)]) -> Vec<u32> {
        let seen = |&(rank, start_ns)| LoggedProcess { rank, start_ns, ..LoggedProcess::default() };
        let processes: Vec<LoggedProcess> = processes.iter().map(seen).collect();
        ProcessRanks::new(&processes).processes.iter().map(|(rank, _)| *rank).collect()
    }

    #[test]
    fn without_a_launcher_all_processes_are_rank_0() {
        assert_eq!(ranks(&[(None, 5), (None, 6)]), [0, 0]);
    }

    #[test]
    fn processes_without_a_rank_come_after_the_last() {
        let processes = [(None, 1), (Some(0), 2), (Some(3), 2), (Some(3), 2), (None, 9)];
        assert_eq!(ranks(&processes), [4, 0, 3, 3, 5]);
    }

    #[test]
    fn times_count_from_the_first_process_of_the_rank() {
        let seen = [(Some(0), 100), (Some(1), 80), (Some(0), 90)]
            .map(|(rank, start_ns)| LoggedProcess { rank, start_ns, ..LoggedProcess::default() });
        let ranks = ProcessRanks::new(&seen);
        assert_eq!(ranks.starts, BTreeMap::from([(0, 90), (1, 80)]));
        assert_eq!([0, 1, 2].map(|rank| ranks.start_offset_ns(rank)), [10, 0, 0]);
    }
}
