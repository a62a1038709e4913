// SPDX-License-Identifier: MIT OR Apache-2.0

//! The native form of traces: one file, `events.ioracle`, that is only ever
//! added to, a tenth to a fiftieth of the CSV form, read back as events in
//! constant memory. `docs/trace-format.md` describes it byte by byte.
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

pub(crate) use code::Order;
pub(crate) use container::{
    ChunkWriter, Chunks, Content, Damage, FileHead, IndexEntry, Storage, VERSION,
};
pub(crate) use definitions::{Definitions, Stream, each_definition};
pub(crate) use events::NativeEvents;
pub(crate) use open::{EVENTS, in_memory, open, open_regular};
pub(crate) use replay::Replay;
pub(crate) use salvage::salvage;
pub(crate) use streams::{Room, Streams};
pub use times::Times;
pub(crate) use trace::{Grouping, Native, error};
