// SPDX-License-Identifier: MIT OR Apache-2.0

//! From the records of a running (or dead) job to events.
//!
//! A [`Follower`] reads the spool of a job and reports to an [`Observer`] what the
//! records say: processes as they appear, call stacks and paths once each, before the
//! first event that names them, and the events of every thread in the order in which
//! its calls began. A [`TraceRecorder`](crate::TraceRecorder) is an observer, and so is
//! the learner of a running job.
//!
//! What the spool holds is not trusted: times that run backwards, numbers that do not
//! fit, bytes that are not text and definitions that never come change what is
//! reported, not whether anything is. Everything that is kept has a bound:
//!
//! | what | at most | beyond it |
//! | --- | --- | --- |
//! | call stacks, and files | [`MAX_DEFINITIONS`] each | the unknown context, the unknown file |
//! | objects | [`MAX_DEFINITIONS`], [`MAX_OBJECT_BYTES`] of text in all | events do not name them |
//! | modules | [`MAX_MODULES`] | frames name no module |
//! | processes | [`MAX_PROCESSES`] | the last one stands for all that follow |
//! | nested calls of a thread that wait for the call around them | [`MAX_WAITING`] | they are reported before it |
//! | text of a call stack or a path | [`MAX_TEXT_BYTES`] | it is cut |

mod follower;
mod observer;

mod convert;
mod definitions;
mod detail;
mod frames;
mod nesting;
mod objects;
mod own;
mod processes;
mod state;
mod text;
mod totals;

#[cfg(test)]
mod hostile;

pub(crate) use frames::UNKNOWN as UNKNOWN_FRAMES;

pub use definitions::{MAX_DEFINITIONS, MAX_MODULES};
pub use follower::{Follower, JobSettings};
pub use nesting::MAX_WAITING;
pub use objects::MAX_OBJECT_BYTES;
pub use observer::{ModuleLoaded, Observer, OpenedFile, ProcessNumber};
pub use own::OwnStream;
pub use processes::{JobProcess, MAX_PROCESSES};
pub(crate) use state::State;
pub use text::MAX_TEXT_BYTES;
pub(crate) use text::escaped;
pub use totals::{JobTotals, NotRecorded};
