// SPDX-License-Identifier: MIT OR Apache-2.0

//! The mapped files in which an application leaves its records.
//!
//! The application's side never allocates, locks or faults; the reader's side
//! trusts nothing it reads. [`layout`] is what both agree on.

pub mod layout;

pub mod selection;

pub mod slot;

pub mod in_process;

pub mod identity;

pub mod settings;

#[cfg(feature = "reader")]
pub mod inherited;

pub mod unrecorded;

pub mod handshake;

/// The atomics of loom where memory orders are tested.
mod atomics {
    pub(crate) use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
}

#[cfg(feature = "reader")]
mod reader;
mod writer;

pub use ioracle_functions::Function;
#[cfg(feature = "reader")]
pub use reader::{
    Error, Job, Sink, SpoolTotals, StreamInfo, StreamNumber, UnrecordedProgram, Waker,
};
pub use writer::{Host, StreamIdentity, StreamName, Writer};
