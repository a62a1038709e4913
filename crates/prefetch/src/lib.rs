// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decides which bytes to read ahead of a program, and accounts for them.
//!
//! The idea is KNOWAC's (He, Sun and Thakur, 2012): where the next reads of a
//! program are known, its pauses between I/O calls can be filled with reading
//! what it will need. Here the bytes go into the page cache of the operating
//! system, so the program always reads its own file's current bytes, and a wrong
//! prediction costs time but never changes a result.
//!
//! A [`Planner`] takes in what the program reads ([`Planner::observe`]), what is
//! expected next ([`Planner::plan`]) and what became of its requests
//! ([`Planner::complete`]). It does no I/O and reads no clock: times are
//! arguments. The same calls give the same requests.

#![forbid(unsafe_code)]

mod planner;

mod account;
mod coverage;
mod demand;
mod draft;
mod log;
mod rounds;
mod series;
mod settings;
mod storage;
mod trust;

pub use account::{PrefetchReport, SourceBytes};
pub use demand::{ReadWait, StreamDemand};
pub use log::{LogFollower, LoggedPath, ReadLog, ReadLogger};
pub use planner::{
    ExpectedRead, FileKey, ObservedRead, Opening, Planner, PrefetchOutcome, PrefetchRequest,
    RequestId, Situation, StorageKey,
};
pub use rounds::FileRounds;
pub use series::{FileSeries, SeriesOrigin};
pub use settings::PrefetchSettings;
pub use trust::StopReason;
