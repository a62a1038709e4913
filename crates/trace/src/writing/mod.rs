// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes traces: in the native form while a job runs, or from a trace that
//! was read; in the CSV form from any trace.
//!
//! Events come in the order in which they are read from the threads of a job.
//! They go, with everything else that is recorded, into one file of entries as they
//! come ([`log`]), at most a second behind the job, and each stream's into the
//! block that is being made of it. A block that is full is added to the trace;
//! when the log is long all of them are, and another log begins. If the writer
//! dies, blocks and log together hold everything, which [`TraceRecorder::reopen`]
//! and readers make use of.
//!
//! | in the directory | what | until |
//! | --- | --- | --- |
//! | `events.ioracle` | the trace, which only grows | |
//! | `recording.part` | the log, some 30 bytes per event, at most 64 MiB | the trace is complete |
//! | `recording.next` | the beginning of another log | it is renamed |
//! | `meta.json.part`, `*.csv.zst.part` | other parts of a trace | they are renamed |

mod recorder;

mod description;
mod directory;
mod earlier;
mod finish;
pub(crate) mod log;
mod mounts;
mod numbers;
mod pending;
pub(crate) mod ranks;
mod repair;

mod export;
mod import;
mod part;

/// Events between two progress reports.
const PROGRESS_STEP: u64 = 4096;

pub use description::Description;
pub(crate) use earlier::has_open;
pub(crate) use earlier::resume_in_memory;
pub use export::export_csv;
pub use finish::Written;
pub use import::import;
pub(crate) use part::{TableWriter, TemporaryFile, unwritable};
pub(crate) use recorder::LOG;
pub use recorder::TraceRecorder;
pub use repair::repair;
