// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which rank of a parallel job this command is, from the launcher's
//! variables.

use std::env;
use std::path::{Path, PathBuf};

/// Variables for the rank and the number of ranks, and one that must be there
/// besides: in a batch script Slurm names rank 0 where there are no ranks.
const LAUNCHERS: [(&str, &str, Option<&str>); 5] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", None),
    ("PMIX_RANK", "PMIX_SIZE", None),
    ("PMI_RANK", "PMI_SIZE", None),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", None),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", Some("SLURM_STEP_ID")),
];

/// Variables for the number of ranks on this machine.
const ON_THIS_MACHINE: [&str; 4] = [
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "SLURM_NTASKS_PER_NODE",
];

/// How many ranks of this command's job share the machine; 1 outside of one.
pub fn local_ranks() -> u64 {
    let number = |name: &&str| env::var(name).ok()?.parse().ok();
    ON_THIS_MACHINE.iter().find_map(number).unwrap_or(1)
}

/// A place in a parallel job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankInJob {
    /// This rank.
    pub rank: u32,
    /// How many there are, if that is known.
    pub world_size: Option<u32>,
}

impl RankInJob {
    /// Of this process; `None` outside a parallel job.
    pub fn of_environment() -> Option<RankInJob> {
        RankInJob::from_variables(&|name| env::var(name).ok())
    }

    /// The file of this rank where all were given the same one:
    /// `summary.json` becomes `summary.rank-1.json`.
    pub fn own_file(&self, file: &Path) -> PathBuf {
        let mark = format!("rank-{}", self.rank);
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        for part in [Some(mark.as_ref()), file.extension()].into_iter().flatten() {
            name.push(".");
            name.push(part);
        }
        file.with_file_name(name)
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Option<RankInJob> {
        let number = |name: &str| variable(name)?.parse::<u32>().ok();
        LAUNCHERS.into_iter().find_map(|(rank, size, needed)| {
            if needed.is_some_and(|needed| variable(needed).is_none()) {
                return None;
            }
            Some(RankInJob { rank: number(rank)?, world_size: number(size) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Option<RankInJob>) {
        let variable = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(RankInJob::from_variables(&variable), expected);
    }

    #[test]
    fn ranks_are_numbered_by_their_launcher() {
        let place = |rank, world_size| Some(RankInJob { rank, world_size });
        check(&[], None);
        check(&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "8")], place(3, Some(8)));
        check(&[("PMI_RANK", "1")], place(1, None));
        check(&[("PMIX_RANK", "many")], None);
    }

    #[test]
    fn every_rank_has_its_own_file() {
        let own = |file: &str| RankInJob { rank: 1, world_size: None }.own_file(Path::new(file));
        assert_eq!(own("out/s.json"), Path::new("out/s.rank-1.json"));
        assert_eq!(own("a.b/s"), Path::new("a.b/s.rank-1"));
    }

    #[test]
    fn a_batch_script_is_no_rank() {
        check(&[("SLURM_PROCID", "0")], None);
        let in_step = [("SLURM_PROCID", "2"), ("SLURM_STEP_ID", "0")];
        check(&in_step, Some(RankInJob { rank: 2, world_size: None }));
    }
}
