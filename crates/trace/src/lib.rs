// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where ioracle's events come from, and how they are kept.
//!
//! [`Trace`] reads recorded ones, a [`Follower`] those of a running or dead job;
//! [`TraceRecorder`] writes a trace.
//!
//! A trace in the native form is a file, `events.ioracle`, beside a description,
//! `meta.json`: behaviour as its grammar, a byte or two per event. One in the
//! plain CSV form is a directory with three tables, plain or
//! compressed with zstd: `events.csv[.zst]`, `stacks.csv[.zst]` and
//! `files.csv[.zst]`. [`Trace::open`] takes either and reads call stacks and
//! files, [`Trace::events`] streams the events in constant memory;
//! [`import`] and [`export_csv`] turn one form into the other.
//!
//! Nothing in a trace is trusted. Every row is checked before it becomes an
//! [`Event`](ioracle_events::Event), and what is kept in memory has a limit:
//!
//! | what | at most | beyond it |
//! | --- | --- | --- |
//! | a line | [`MAX_LINE_BYTES`] | [`RowFault::LineTooLong`] |
//! | rows of `stacks.csv` or `files.csv` | [`MAX_TABLE_ROWS`] | [`RowFault::TableFull`] |
//! | text of `stacks.csv` or `files.csv` | [`MAX_TABLE_BYTES`] | [`RowFault::TableFull`] |
//! | ranks in a trace | [`MAX_RANKS`] | [`RowFault::TooManyRanks`] |
//! | threads in a rank | [`MAX_THREADS`] | [`RowFault::TooManyThreads`] |
//! | bytes of `meta.json` | [`MAX_META_BYTES`] | [`Error::Meta`] |
//! | window of a zstd frame | 128 MiB, what `zstd --ultra -22` uses | [`Error::Damaged`] |
//!
//! ```no_run
//! use ioracle_trace::{ReadOptions, Trace};
//!
//! let trace = Trace::open("traces/cm1-grads".as_ref(), ReadOptions::default())?;
//! for event in trace.events(Some(0))? {
//!     let event = event?;
//!     println!("{:?} {:?}", event.function, trace.files().get(event.file));
//! }
//! # Ok::<(), ioracle_trace::Error>(())
//! ```

#![forbid(unsafe_code)]

mod trace;

mod events;
mod meta;
mod provenance;
mod table;

mod checks;
mod fields;
mod lines;
mod order;
mod row;
mod source;
mod tally;

/// Records in raw form, beside a trace.
mod raw;

mod spooled;

mod native;

mod writing;

mod error;

pub use error::{Error, RowFault};
pub use events::Events;
pub use ioracle_spool::Waker;
pub use lines::MAX_LINE_BYTES;
pub use meta::{MAX_META_BYTES, Meta};
pub use native::TimePrecision;
pub use order::{MAX_RANKS, MAX_THREADS};
pub use provenance::{
    FilePlace, LoadedModule, MAX_COMMAND_BYTES, Mount, MountId, Provenance, SourcePlace,
    ThreadOrigin, TraceProcess,
};
pub use raw::RawKeeper;
pub use source::{Encoding, TraceFiles};
pub use spooled::{
    Follower, JobProcess, JobSettings, JobTotals, MAX_DEFINITIONS, MAX_MODULES, MAX_OBJECT_BYTES,
    MAX_PROCESSES, MAX_TEXT_BYTES, MAX_WAITING, ModuleLoaded, NotRecorded, Observer, OpenedFile,
    OwnStream, ProcessNumber,
};
pub use table::{IdTable, MAX_TABLE_BYTES, MAX_TABLE_ROWS, TableId};
pub use trace::{ReadOptions, Trace};
pub use writing::{Description, TraceRecorder, Written, export_csv, import, repair};
