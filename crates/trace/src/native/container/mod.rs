// SPDX-License-Identifier: MIT OR Apache-2.0

//! The file that blocks and definitions are kept in: chunks one after the other, each
//! with its checksum, an index at the end.

mod layout;

mod chunks;
mod storage;
mod writer;

pub(crate) use chunks::{Chunks, Damage, FoundChunks, TornParts};
pub(crate) use layout::{
    BlockHead, BlockPlace, FileHead, IndexEntry, LaneId, SectionPlace, VERSION,
};
pub(crate) use storage::Storage;
pub(crate) use writer::ChunkWriter;
