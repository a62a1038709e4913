// SPDX-License-Identifier: MIT OR Apache-2.0

//! The native form of traces: one file, `events.ioracle`, that only grows, a tenth to a
//! fiftieth of the CSV form, read back as events in constant memory.
//! `docs/trace-format.md` describes it byte by byte.
//!
//! [`code`] makes bytes of the events of a stream, [`container`] keeps them.

mod code;
mod container;

mod definitions;
mod events;
mod open;
mod replay;
mod salvage;
mod streams;
mod times;
mod trace;

pub(crate) use code::EventOrder;
pub(crate) use container::{
    ChunkWriter, Chunks, Damage, FileHead, FoundChunks, IndexEntry, Storage, VERSION,
};
pub(crate) use definitions::{StoredDefinitions, StreamKey, each_definition};
pub(crate) use events::NativeEvents;
pub(crate) use open::{EVENTS, in_memory, open, open_regular};
pub(crate) use replay::Replay;
pub(crate) use salvage::salvage;
pub(crate) use streams::{BlockRoom, StreamWriters};
pub use times::TimePrecision;
pub(crate) use trace::{Grouping, Native, error};
