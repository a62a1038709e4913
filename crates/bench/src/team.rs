// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tasks that perform a phase together, and how they start at once.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::memory::MemoryLimit;
use crate::task::{TaskMessage, TaskOrder, TaskOutcome, perform};

/// How often a wait looks whether it was interrupted.
const GLANCE: Duration = Duration::from_millis(50);

/// What tasks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// Processes of their own.
    Processes,
    /// Threads of this process.
    Threads,
    /// Ranks of an MPI job.
    Ranks,
}

/// Tasks that work together.
pub struct Team {
    kind: TaskKind,
    /// The command that serves orders ([`serve_orders`](crate::serve_orders)).
    command: (PathBuf, Vec<String>),
    limit: Option<MemoryLimit>,
    processes: Vec<TaskProcess>,
    #[cfg(feature = "mpi")]
    ranks: Option<crate::Ranks>,
    interrupted: Arc<AtomicBool>,
}

impl Team {
    /// No task is started before there is work. `command` is started for each
    /// task that is a process.
    pub fn new(
        kind: TaskKind,
        command: (PathBuf, Vec<String>),
        limit: Option<MemoryLimit>,
        interrupted: Arc<AtomicBool>,
    ) -> Team {
        Team {
            kind,
            command,
            limit,
            processes: Vec::new(),
            #[cfg(feature = "mpi")]
            ranks: None,
            interrupted,
        }
    }

    /// A team of all ranks of an MPI job, of which this is the first.
    #[cfg(feature = "mpi")]
    pub fn of_ranks(ranks: crate::Ranks, interrupted: Arc<AtomicBool>) -> Team {
        let command = (PathBuf::new(), Vec::new());
        let team = Team::new(TaskKind::Ranks, command, None, interrupted);
        Team { ranks: Some(ranks), ..team }
    }

    #[cfg(feature = "mpi")]
    fn perform_by_ranks(&self, orders: &[TaskOrder]) -> Result<Vec<TaskMessage>, BenchError> {
        let failed = |error: io::Error| BenchError::Unusable(format!("MPI failed: {error}"));
        let ranks =
            self.ranks.as_ref().ok_or_else(|| failed(io::ErrorKind::NotConnected.into()))?;
        ranks.perform(orders, &self.interrupted).map_err(failed)
    }

    #[cfg(not(feature = "mpi"))]
    fn perform_by_ranks(&self, _: &[TaskOrder]) -> Result<Vec<TaskMessage>, BenchError> {
        Err(BenchError::Unusable("this ioracle was built without MPI".to_owned()))
    }

    /// Has each order performed by a task, all at the same time.
    pub fn perform(&mut self, orders: &[TaskOrder]) -> Result<Vec<TaskOutcome>, BenchError> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(BenchError::Interrupted);
        }
        let messages = match self.kind {
            TaskKind::Threads => self.perform_by_threads(orders),
            TaskKind::Processes => self.perform_by_processes(orders),
            TaskKind::Ranks => self.perform_by_ranks(orders),
        };
        // Tasks that a signal has stopped fail in their own ways.
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(BenchError::Interrupted);
        }
        let mut outcomes = Vec::with_capacity(orders.len());
        for (order, message) in orders.iter().zip(messages?) {
            match message {
                TaskMessage::Done(outcome) => outcomes.push(outcome),
                TaskMessage::Failed { is_full: true, .. } => {
                    return Err(BenchError::Full(order.directory.clone()));
                }
                TaskMessage::Failed { reason, .. } => {
                    return Err(BenchError::Task { task: order.task, reason });
                }
                TaskMessage::Ready => {
                    let reason = "it was ready twice".to_owned();
                    return Err(BenchError::Task { task: order.task, reason });
                }
            }
        }
        Ok(outcomes)
    }

    fn perform_by_threads(&self, orders: &[TaskOrder]) -> Result<Vec<TaskMessage>, BenchError> {
        let barrier = Barrier::new(orders.len());
        let interrupted = &*self.interrupted;
        thread::scope(|scope| {
            let start = |order| {
                let barrier = &barrier;
                scope.spawn(move || {
                    TaskMessage::of(perform(order, interrupted, || {
                        barrier.wait();
                        Ok(())
                    }))
                })
            };
            let threads: Vec<_> = orders.iter().map(start).collect();
            Ok(threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|_| TaskMessage::Failed {
                        reason: "it panicked".to_owned(),
                        is_full: false,
                    })
                })
                .collect())
        })
    }

    fn perform_by_processes(
        &mut self,
        orders: &[TaskOrder],
    ) -> Result<Vec<TaskMessage>, BenchError> {
        while self.processes.len() < orders.len() {
            let process = TaskProcess::start(&self.command, self.limit.as_ref())?;
            self.processes.push(process);
        }
        let performed = TaskProcess::perform(&mut self.processes, orders, &self.interrupted);
        if performed.is_err() {
            // They would answer to the next order with what is left of this one.
            self.processes.clear();
        }
        performed
    }
}

/// A process that serves orders. It is killed when dropped.
struct TaskProcess {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<io::Result<String>>,
}

impl TaskProcess {
    fn start(
        (program, arguments): &(PathBuf, Vec<String>),
        limit: Option<&MemoryLimit>,
    ) -> Result<TaskProcess, BenchError> {
        let failed = |error: io::Error| {
            BenchError::Unusable(format!(
                "could not start '{}' as a task: {error}; try --threads",
                program.display()
            ))
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, answers) = pipes.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        if let Some(limit) = limit
            && let Err(error) = limit.admit(child.id())
        {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for line in BufReader::new(answers).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(TaskProcess { child, orders, answers: receiver })
    }

    /// Has each process perform an order, all at the same time.
    fn perform(
        processes: &mut [TaskProcess],
        orders: &[TaskOrder],
        interrupted: &AtomicBool,
    ) -> Result<Vec<TaskMessage>, BenchError> {
        for (process, order) in processes.iter_mut().zip(orders) {
            let line = serde_json::to_string(order).map_err(io::Error::from);
            process.send(&line.map_err(TaskProcess::lost(order.task))?, order.task)?;
        }
        // Whoever could not prepare is ready as well, and says why later.
        for (process, order) in processes.iter_mut().zip(orders) {
            process.receive(order.task, interrupted)?;
        }
        for (process, order) in processes.iter_mut().zip(orders) {
            process.send("", order.task)?;
        }
        processes
            .iter_mut()
            .zip(orders)
            .map(|(process, order)| process.receive(order.task, interrupted))
            .collect()
    }

    fn lost(task: u32) -> impl Fn(io::Error) -> BenchError {
        move |error| BenchError::Task { task, reason: format!("its process ended ({error})") }
    }

    fn send(&mut self, line: &str, task: u32) -> Result<(), BenchError> {
        self.orders
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.orders.flush())
            .map_err(TaskProcess::lost(task))
    }

    fn receive(&mut self, task: u32, interrupted: &AtomicBool) -> Result<TaskMessage, BenchError> {
        loop {
            let lost = TaskProcess::lost(task);
            match self.answers.recv_timeout(GLANCE) {
                Ok(line) => {
                    let line = line.map_err(&lost)?;
                    return serde_json::from_str(&line).map_err(|error| lost(error.into()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(match self.child.wait() {
                        Ok(status) => BenchError::Task {
                            task,
                            reason: format!("its process ended ({status})"),
                        },
                        Err(error) => lost(error),
                    });
                }
                Err(RecvTimeoutError::Timeout) if interrupted.load(Ordering::Relaxed) => {
                    return Err(BenchError::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for TaskProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
