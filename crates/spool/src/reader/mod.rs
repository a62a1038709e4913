// SPDX-License-Identifier: MIT OR Apache-2.0

//! The reader's side: makes the job directory, follows the streams in it while
//! they grow, and hands their content to a [`Sink`].
//!
//! Nothing read is trusted: every number is checked before it is used, files are read
//! and written by system calls and never in memory (one cut short cannot hurt), and
//! work and memory of a pass are bounded by constants, not by what a file says. A
//! damaged file costs at most its own stream, and is reported in
//! [`SpoolTotals::damaged`].

mod job;

mod sink;

mod totals;

mod error;

mod follow;

mod stream;

mod slot;

mod definitions;

mod table;

mod read;

mod page;

mod process;

pub use self::error::Error;
pub use self::job::Job;
pub use self::page::Waker;
pub use self::sink::{Sink, StreamInfo, StreamNumber};
pub use self::totals::{SpoolTotals, UnrecordedProgram};

/// Writing beyond it raises a signal that ends the process.
fn max_file_bytes() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is written to memory of ours.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    limit.rlim_cur
}
