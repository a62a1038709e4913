// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tasks that are the ranks of an MPI job. Rank 0 says what is done, and takes
//! part in it.

use std::io;
use std::sync::atomic::AtomicBool;

use ioracle_libraries::Mpi;
use serde::{Deserialize, Serialize};

use crate::task::{TaskMessage, TaskOrder, perform};

/// What rank 0 tells all ranks.
#[derive(Debug, Serialize, Deserialize)]
struct RankOrder {
    n_tasks: u32,
    order: TaskOrder,
}

/// This process as a rank.
pub struct Ranks {
    mpi: Mpi,
}

impl Ranks {
    /// Starts MPI.
    pub fn start() -> io::Result<Ranks> {
        Ok(Ranks { mpi: Mpi::start()? })
    }

    /// Whether this is rank 0, which says what is done.
    pub fn is_first(&self) -> bool {
        self.mpi.rank() == 0
    }

    /// All ranks.
    pub fn n(&self) -> u32 {
        self.mpi.size()
    }

    /// Does what rank 0 says until it has no more to say.
    pub fn serve(&self, interrupted: &AtomicBool) -> io::Result<()> {
        loop {
            let said = self.mpi.broadcast(&[])?;
            if said.is_empty() {
                return Ok(());
            }
            let RankOrder { n_tasks, order } = serde_json::from_slice(&said)?;
            let order = TaskOrder { task: self.mpi.rank(), ..order };
            if let Some(message) = self.take_part(n_tasks, &order, interrupted)? {
                self.mpi.send(&serde_json::to_vec(&message)?)?;
            }
        }
    }

    /// Has the first ranks perform their orders, which differ in the task alone.
    pub(crate) fn perform(
        &self,
        orders: &[TaskOrder],
        interrupted: &AtomicBool,
    ) -> io::Result<Vec<TaskMessage>> {
        let Some(first) = orders.first() else { return Ok(Vec::new()) };
        let n_tasks = orders.len() as u32;
        let said = RankOrder { n_tasks, order: first.clone() };
        self.mpi.broadcast(&serde_json::to_vec(&said)?)?;
        let mut messages: Vec<TaskMessage> =
            self.take_part(n_tasks, first, interrupted)?.into_iter().collect();
        for rank in 1..n_tasks {
            messages.push(serde_json::from_slice(&self.mpi.receive(rank)?)?);
        }
        Ok(messages)
    }

    fn take_part(
        &self,
        n_tasks: u32,
        order: &TaskOrder,
        interrupted: &AtomicBool,
    ) -> io::Result<Option<TaskMessage>> {
        self.mpi.group(n_tasks)?;
        if order.task >= n_tasks {
            return Ok(None);
        }
        let done = perform(order, interrupted, || self.mpi.barrier());
        Ok(Some(TaskMessage::of(done)))
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // Nothing to say is the end.
        if self.is_first() {
            let _ = self.mpi.broadcast(&[]);
        }
    }
}

/// Whether a launcher has started this process as a rank.
pub fn has_launcher() -> bool {
    ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}
