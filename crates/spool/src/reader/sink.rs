// SPDX-License-Identifier: MIT OR Apache-2.0

//! Receives what the streams hold.

use crate::layout::{Call, DefinitionKind};

/// Takes what is read, in this order: a stream before anything of it, the
/// definitions of all streams before the records that were published after
/// them, the records of a stream as they are numbered, its end.
pub trait Sink {
    /// A stream has been found.
    fn stream(&mut self, stream: StreamNumber, info: &StreamInfo);

    /// An identity has been given a meaning; the same one may come many times.
    fn definition(&mut self, stream: StreamNumber, kind: DefinitionKind, id: u64, payload: &[u8]);

    /// A call has ended. Its function is a [`crate::Function`]; nothing else of
    /// it has been checked.
    fn record(&mut self, stream: StreamNumber, call: &Call);

    /// Whether all that a call names has been defined, so that definitions need
    /// not be looked for before it is handed over. A sink that does not care
    /// receives them anyway.
    fn knows(&self, call: &Call) -> bool {
        let _ = call;
        false
    }

    /// The thread asks what comes next: [`Job::publish`](crate::Job::publish).
    /// What its stream defined before it asked has been handed over.
    fn asks(&mut self, stream: StreamNumber) {
        let _ = stream;
    }

    /// The thread ended in order at this time (CLOCK_MONOTONIC); `ended` follows.
    fn finished(&mut self, stream: StreamNumber, end_ns: u64) {
        let _ = (stream, end_ns);
    }

    /// Nothing more comes from the stream.
    fn ended(&mut self, stream: StreamNumber);

    /// Something that was handed over is about to be deleted or overwritten in the
    /// spool. A sink that writes it elsewhere must do so now, so that nothing is lost
    /// if the reader is killed.
    fn keep(&mut self) {}
}

/// Streams are numbered from 0 as they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamNumber(pub u32);

/// Who writes a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Parent process.
    pub parent_pid: u32,
    /// Rank set by the launcher's environment.
    pub rank: Option<u32>,
    /// Ranks of the launcher's job, 0 if unknown.
    pub world_size: u32,
    /// When the process image began, CLOCK_MONOTONIC.
    pub process_start_ns: u64,
    /// The same instant, CLOCK_REALTIME.
    pub process_start_realtime_ns: u64,
    /// When the stream began, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// Name of the file in the job directory.
    pub name: String,
}
