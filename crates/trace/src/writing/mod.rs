// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes traces in the CSV form while the job runs.
//!
//! Events come in the order in which they are read from the threads of a job; a
//! trace has them rank by rank, in the order in which they began. So they first
//! go, with everything else that is told, into one file of entries as they come
//! ([`log`]), at most a second behind the job. When the job has ended, the log
//! is read again, its events are sorted with bounded memory ([`sort`]), and the
//! tables are written under temporary names and renamed, the events last. If
//! the writer dies before that, the log is still there, and
//! [`CsvWriter::reopen`] finishes it.
//!
//! | in the directory | what | until |
//! | --- | --- | --- |
//! | `recording.part` | the log, about 30 bytes per event | the trace is complete |
//! | `*.csv.zst.part`, `meta.json.part` | the parts of the trace | they are renamed |

mod writer;

mod description;
mod earlier;
mod finish;
mod log;
mod numbers;
mod part;
mod ranks;
mod sort;

pub use description::Description;
pub use finish::Written;
pub use writer::CsvWriter;
