// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which rank of a parallel job this command is, told by the launcher's
//! variables.

use std::env;

/// Variables for the rank and the number of ranks, and one that must be there
/// besides: in a batch script Slurm names rank 0 where there are no ranks.
const LAUNCHERS: [(&str, &str, Option<&str>); 5] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", None),
    ("PMIX_RANK", "PMIX_SIZE", None),
    ("PMI_RANK", "PMI_SIZE", None),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", None),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", Some("SLURM_STEP_ID")),
];

/// A place in a parallel job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// This rank.
    pub rank: u32,
    /// How many there are, if that is told.
    pub world_size: Option<u32>,
}

impl Place {
    /// Of this process; `None` outside a parallel job.
    pub fn of_environment() -> Option<Place> {
        Place::told_by(&|name| env::var(name).ok())
    }

    fn told_by(variable: &dyn Fn(&str) -> Option<String>) -> Option<Place> {
        let number = |name: &str| variable(name)?.parse::<u32>().ok();
        LAUNCHERS.into_iter().find_map(|(rank, size, needed)| {
            if needed.is_some_and(|needed| variable(needed).is_none()) {
                return None;
            }
            Some(Place { rank: number(rank)?, world_size: number(size) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], expected: Option<Place>) {
        let variable = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(Place::told_by(&variable), expected);
    }

    #[test]
    fn ranks_are_told_by_their_launcher() {
        let place = |rank, world_size| Some(Place { rank, world_size });
        check(&[], None);
        check(&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "8")], place(3, Some(8)));
        check(&[("PMI_RANK", "1")], place(1, None));
        check(&[("PMIX_RANK", "many")], None);
    }

    #[test]
    fn a_batch_script_is_no_rank() {
        check(&[("SLURM_PROCID", "0")], None);
        let in_step = [("SLURM_PROCID", "2"), ("SLURM_STEP_ID", "0")];
        check(&in_step, Some(Place { rank: 2, world_size: None }));
    }
}
