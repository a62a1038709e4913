// SPDX-License-Identifier: MIT OR Apache-2.0

//! Measures how long I/O calls take in a directory.
//!
//! A [`Workload`] says what is measured, after the parameters of IOR. A
//! [`Session`] prepares a place in the directory, has a team of tasks (threads,
//! processes or MPI ranks) perform workloads, repeats each until its spread is
//! known, and makes the points of a
//! [`System`](ioracle_forecast::System) from the times. [`Plan`] is the list of
//! workloads, with what they need on disk.

#![forbid(unsafe_code)]

mod cache;
mod error;
mod file;
mod libraries;
mod memory;
pub mod path_bytes;
mod place;
mod plan;
mod points;
#[cfg(feature = "mpi")]
mod ranks;
mod session;
mod spread;
mod task;
mod team;
mod times;
mod workload;

pub use cache::residency;
pub use error::BenchError;
pub use memory::{MemoryHog, MemoryLimit};
pub use place::{BenchPlace, describe};
pub use plan::{Plan, PlanDefaults, PlannedWork};
pub use points::{MeasuredWork, Repetition, point_of};
#[cfg(feature = "mpi")]
pub use ranks::{Ranks, has_launcher};
pub use session::{Session, SessionProgress, SessionRules};
pub use spread::{MeanSpread, RepetitionRule};
pub use task::{TaskOrder, TaskOutcome, TaskStep, serve_orders};
pub use team::{TaskKind, Team};
pub use times::CallTimes;
pub use workload::{
    AccessPattern, CacheState, DataDirection, FileLayout, MAX_CALLS, MetadataWorkload, SplitMix64,
    SyncRule, Workload,
};
