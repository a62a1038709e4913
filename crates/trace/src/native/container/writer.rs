// SPDX-License-Identifier: MIT OR Apache-2.0

//! Adds chunks to the end of a trace.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::io;

use foldhash::quality::FixedState;
use serde::Serialize;

use super::layout::{
    BlockHead, BlockPlace, ChunkHead, ChunkKind, FileHead, IndexEntry, SectionPlace, trailer,
};
use super::storage::Storage;
use crate::native::code::Sections;

/// Shorter sections are not shared: a reference would take as much room.
const MIN_SHARED_BYTES: usize = 24;

/// Sections that are remembered; beyond that all are forgotten, which costs
/// room in the trace and nothing else.
const MAX_SHARED: usize = 1 << 16;

/// A trace that is being written.
#[derive(Debug)]
pub(crate) struct ChunkWriter {
    storage: Storage,
    position: u64,
    index: Vec<IndexEntry>,
    /// By hash, where a section lies, to be compared before it is trusted.
    shared: HashMap<u64, (u64, usize)>,
}

impl ChunkWriter {
    /// Begins a trace in an empty storage.
    pub(crate) fn create(storage: Storage, head: FileHead) -> io::Result<ChunkWriter> {
        let mut writer = ChunkWriter::resume(storage, 0, Vec::new());
        writer.append(&head.to_bytes())?;
        Ok(writer)
    }

    /// Continues one that ends at `position`.
    pub(crate) fn resume(storage: Storage, position: u64, index: Vec<IndexEntry>) -> ChunkWriter {
        ChunkWriter { storage, position, index, shared: HashMap::new() }
    }

    /// Adds definitions, as the log of a recording has them.
    pub(crate) fn write_definitions(&mut self, entries: &[u8]) -> io::Result<()> {
        // Call stacks share most of their frames.
        const LEVEL: i32 = 9;
        // With a known length: otherwise zstd makes and clears tables for very long
        // texts, which takes milliseconds for the few words of a short process.
        let packed = zstd::bulk::compress(entries, LEVEL)?;
        let position = self.write(ChunkKind::Definitions, &[&packed])?;
        self.index.push(IndexEntry::Definitions { position });
        Ok(())
    }

    /// Adds a block; sections that exist already are only referred to.
    pub(crate) fn write_block(
        &mut self,
        mut head: BlockHead,
        sections: &Sections,
    ) -> io::Result<()> {
        let mut own: Vec<&[u8]> = Vec::new();
        for (place, section) in head.sections.iter_mut().zip(sections) {
            *place = match self.find(section)? {
                Some(position) => SectionPlace::There {
                    position,
                    length: section.len() as u32,
                    check: crc32fast::hash(section),
                },
                None => {
                    own.push(section);
                    SectionPlace::Here { length: section.len() as u32 }
                }
            };
        }
        let head_bytes = to_bytes(&head)?;
        own.insert(0, &head_bytes);
        let position = self.write(ChunkKind::Block, &own)?;
        let mut at = position + (ChunkHead::N_BYTES + head_bytes.len()) as u64;
        for section in own.into_iter().skip(1) {
            self.remember(section, at);
            at += section.len() as u64;
        }
        self.index.push(IndexEntry::Block(BlockPlace::new(position, &head)));
        Ok(())
    }

    /// What the index will say.
    pub(crate) fn entries(&self) -> &[IndexEntry] {
        &self.index
    }

    /// Flushes everything to the storage device.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.storage.sync()
    }

    /// Adds index and end.
    pub(crate) fn finish(mut self) -> io::Result<Storage> {
        let index = to_bytes(&self.index)?;
        let position = self.write(ChunkKind::Index, &[&index])?;
        self.append(&trailer(position))?;
        self.sync()?;
        Ok(self.storage)
    }

    /// What was written so far, without an end.
    pub(crate) fn into_storage(self) -> Storage {
        self.storage
    }

    /// Where an earlier section has the same bytes.
    fn find(&self, section: &[u8]) -> io::Result<Option<u64>> {
        if section.len() < MIN_SHARED_BYTES {
            return Ok(None);
        }
        let place = self.shared.get(&hash(section)).filter(|(_, length)| *length == section.len());
        let Some(&(position, length)) = place else { return Ok(None) };
        Ok((self.storage.read(position, length)? == section).then_some(position))
    }

    fn remember(&mut self, section: &[u8], position: u64) {
        if section.len() < MIN_SHARED_BYTES {
            return;
        }
        if self.shared.len() >= MAX_SHARED {
            self.shared.clear();
        }
        self.shared.insert(hash(section), (position, section.len()));
    }

    fn write(&mut self, kind: ChunkKind, parts: &[&[u8]]) -> io::Result<u64> {
        let payload = parts.concat();
        let position = self.position;
        let head = ChunkHead::of(kind, &payload);
        self.append(&[&head.to_bytes()[..], &payload].concat())?;
        Ok(position)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.append(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

fn to_bytes<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

fn hash(section: &[u8]) -> u64 {
    FixedState::default().hash_one(section)
}
