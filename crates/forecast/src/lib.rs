// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long a program's I/O would take on another storage system.
//!
//! The method is that of Meswani, Laurenzano, Carrington and Snavely ("Modeling
//! and Predicting Disk I/O Time of HPC Applications", 2010): record the program
//! once on a reference system, measure on both systems how long calls like the
//! program's take, and multiply the program's time in each class of calls by the
//! ratio of the two measurements.
//!
//! An [`IoClass`] names calls that cost about the same. A [`System`] is the
//! content of `system.json`: what a benchmark measured for some classes on one
//! storage system. A [`Profile`] says how much time a trace spends in each class,
//! and a [`Forecast`] how much it would spend on another system. A [`ReplayPlan`]
//! says how to make the calls of a trace again.

#![forbid(unsafe_code)]

mod class;
mod forecast;
mod foreign;
mod lookup;
mod profile;
mod replay;
mod statistics;
mod system;

pub use class::{Api, ClassPattern, IoClass, Kind, SizeBin};
pub use forecast::{CONFIDENCE, ClassForecast, Comparison, Forecast, Terms, WhatIf};
pub use profile::{
    CallSite, Direction, MAX_CALL_SITES, MAX_CLASSES, OwnTime, ProcessTime, Profile, ProfiledClass,
    Storage, TwoSpeeds,
};
pub use replay::{
    Action, CacheAdvice, MAX_STEPS, OpenMode, PlannedFile, PlannedProcess, ReplayError, ReplayPlan,
    Step, SyncDepth,
};
pub use system::{
    MAX_POINTS, MAX_SYSTEM_BYTES, Percentiles, Point, System, SystemDescription, SystemError,
};
