// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which part a stream plays in a job, the same from run to run.
//!
//! Numbers of processes and threads change with every run; what stays is which
//! program it is, which rank, and its place in the order in which such streams
//! begin. Where a role is new (more ranks than last time, one more thread), the
//! nearest known one of the same program is the best guess.

use serde::{Deserialize, Serialize};

/// The part that a stream plays in its job.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Role {
    /// Name of the executable, without its directory. Empty: any program, in a
    /// model that was learned from one stream of which no more is known.
    pub program: String,
    /// Its MPI rank, if it has one.
    pub rank: Option<u32>,
    /// How many processes of this program and rank began before its process.
    pub process: u32,
    /// 0 is the thread that the process began with; the others count in the
    /// order of their first operation.
    pub thread: u32,
}

/// Bytes of a program's name that are kept; systems allow no longer ones.
const MAX_NAME_BYTES: usize = 255;

impl Role {
    /// How unlike two roles are, smaller is nearer; `None` if what one does says
    /// nothing about the other.
    pub(crate) fn distance(&self, other: &Role) -> Option<impl Ord + use<>> {
        if self.program != other.program {
            return None;
        }
        let is_main = |role: &Role| role.thread == 0;
        // The first rank often does the I/O of all.
        let class = |role: &Role| role.rank.map(|rank| rank.min(1));
        let rank = |role: &Role| role.rank.unwrap_or(0);
        Some((
            is_main(self) != is_main(other),
            class(self) != class(other),
            self.thread.abs_diff(other.thread),
            rank(self).abs_diff(rank(other)),
            self.process.abs_diff(other.process),
        ))
    }

    /// Whether a loaded one could have been made by this code.
    pub(crate) fn is_valid(&self) -> bool {
        self.program.len() <= MAX_NAME_BYTES
    }

    /// The same with a name that can be stored.
    pub(crate) fn cut(mut self) -> Role {
        while self.program.len() > MAX_NAME_BYTES {
            self.program.pop();
        }
        self
    }
}
