// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bytes around blocks and definitions. `docs/trace-format.md` draws them.

use serde::{Deserialize, Serialize};

use crate::native::code::{EventOrder, First, N_SECTIONS, Precision};

/// The first bytes of a trace. The 0x1A ends a text: printing a trace to a terminal
/// shows only these words.
pub(crate) const MAGIC: [u8; 16] = *b"ioracle trace\r\n\x1a";
/// The version that is written; all from the first on are read.
pub(crate) const VERSION: u32 = 2;

/// Whether a version is read.
pub(crate) fn is_known(version: u32) -> bool {
    (1..=VERSION).contains(&version)
}

/// What begins every chunk. Text never contains these bytes.
pub(crate) const MARKER: [u8; 4] = [0xF1, b'i', b'o', 0xC1];

/// The most bytes that a chunk may have behind its head.
pub(crate) const MAX_CHUNK_BYTES: u32 = 1 << 28;

/// The last bytes of a complete trace.
pub(crate) const END: [u8; 8] = *b"ioracend";

/// The beginning of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHead {
    pub(crate) version: u32,
    pub(crate) order: EventOrder,
}

impl FileHead {
    pub(crate) const N_BYTES: usize = 28;

    pub(crate) fn to_bytes(self) -> [u8; FileHead::N_BYTES] {
        let mut bytes = [0; FileHead::N_BYTES];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..20].copy_from_slice(&self.version.to_le_bytes());
        let flags = u32::from(self.order == EventOrder::Numbered);
        bytes[20..24].copy_from_slice(&flags.to_le_bytes());
        let check = crc32fast::hash(&bytes[..24]);
        bytes[24..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// `None` if this is not the beginning of a trace. Of another version only the
    /// version is known.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<FileHead> {
        let version = u32_at(bytes, 16).filter(|_| bytes.starts_with(&MAGIC))?;
        let order = match u32_at(bytes, 20)? {
            0 => EventOrder::ByTime,
            1 => EventOrder::Numbered,
            _ if !is_known(version) => EventOrder::ByTime,
            _ => return None,
        };
        let is_whole = u32_at(bytes, 24)? == crc32fast::hash(&bytes[..24]);
        (is_whole || !is_known(version)).then_some(FileHead { version, order })
    }
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    Definitions,
    Block,
    Index,
}

impl ChunkKind {
    fn from_byte(byte: u8) -> Option<ChunkKind> {
        [ChunkKind::Definitions, ChunkKind::Block, ChunkKind::Index]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }

    fn byte(self) -> u8 {
        match self {
            ChunkKind::Definitions => b'D',
            ChunkKind::Block => b'B',
            ChunkKind::Index => b'I',
        }
    }
}

/// The beginning of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) kind: ChunkKind,
    pub(crate) length: u32,
    /// CRC-32 of what follows.
    pub(crate) check: u32,
}

impl ChunkHead {
    pub(crate) const N_BYTES: usize = 17;

    pub(crate) fn of(kind: ChunkKind, payload: &[u8]) -> ChunkHead {
        // A block ends long before that.
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        ChunkHead { kind, length, check: crc32fast::hash(payload) }
    }

    pub(crate) fn to_bytes(self) -> [u8; ChunkHead::N_BYTES] {
        let mut bytes = [0; ChunkHead::N_BYTES];
        bytes[..4].copy_from_slice(&MARKER);
        bytes[4] = self.kind.byte();
        bytes[5..9].copy_from_slice(&self.length.to_le_bytes());
        bytes[9..13].copy_from_slice(&self.check.to_le_bytes());
        let check = crc32fast::hash(&bytes[..13]);
        bytes[13..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<ChunkHead> {
        let (length, check) = (u32_at(bytes, 5)?, u32_at(bytes, 9)?);
        let is_whole = u32_at(bytes, 13)? == crc32fast::hash(&bytes[..13]);
        let is_sound = is_whole && bytes.starts_with(&MARKER) && length <= MAX_CHUNK_BYTES;
        let kind = ChunkKind::from_byte(bytes[4]).filter(|_| is_sound)?;
        Some(ChunkHead { kind, length, check })
    }
}

/// The end of a complete trace: where its index is.
pub(crate) fn trailer(index: u64) -> [u8; TRAILER_BYTES] {
    let mut bytes = [0; TRAILER_BYTES];
    bytes[..8].copy_from_slice(&index.to_le_bytes());
    bytes[8..12].copy_from_slice(&crc32fast::hash(&index.to_le_bytes()).to_le_bytes());
    bytes[12..].copy_from_slice(&END);
    bytes
}

pub(crate) const TRAILER_BYTES: usize = 20;

pub(crate) fn index_of_trailer(bytes: &[u8]) -> Option<u64> {
    let position = bytes.first_chunk::<8>()?;
    let is_whole = u32_at(bytes, 8)? == crc32fast::hash(position) && bytes[12..] == END;
    is_whole.then(|| u64::from_le_bytes(*position))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The beginning of a block, in postcard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockHead {
    pub(crate) lane: LaneId,
    pub(crate) n_events: u32,
    pub(crate) first_start_ns: u64,
    pub(crate) first_sequence: u64,
    pub(crate) last_start_ns: u64,
    /// The highest number that the application's side gave to an event of it.
    pub(crate) last_sequence: u64,
    /// The log whose events it holds.
    pub(crate) generation: u32,
    pub(crate) unit_ns: u64,
    pub(crate) n_kept: u32,
    pub(crate) sections: [SectionPlace; N_SECTIONS],
}

impl BlockHead {
    pub(crate) fn first(&self) -> First {
        First { start_ns: self.first_start_ns, sequence: self.first_sequence }
    }

    /// `None` if times cannot be kept like that.
    pub(crate) fn precision(&self) -> Option<Precision> {
        let BlockHead { unit_ns, n_kept, .. } = *self;
        let is_sound = (1..=MAX_UNIT_NS).contains(&unit_ns) && (MIN_KEPT..=64).contains(&n_kept);
        is_sound.then_some(Precision { unit_ns, n_kept })
    }
}

const MAX_UNIT_NS: u64 = 1_000_000_000;
const MIN_KEPT: u32 = 4;

/// The events of a stream that follow each other in time. All but the few that
/// arrive late are in lane 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LaneId {
    pub(crate) stream: u32,
    pub(crate) lane: u8,
}

/// Where the bytes of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SectionPlace {
    /// In this block, after the head and the sections before it.
    Here { length: u32 },
    /// In a block before this one: from this byte of the trace on.
    There { position: u64, length: u32, check: u32 },
}

/// A line of the index, in postcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum IndexEntry {
    Definitions { position: u64 },
    Block(BlockPlace),
}

/// Where a block is, and what is known about it without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockPlace {
    pub(crate) position: u64,
    pub(crate) lane: LaneId,
    pub(crate) n_events: u32,
    pub(crate) first_start_ns: u64,
    pub(crate) first_sequence: u64,
    pub(crate) last_start_ns: u64,
    pub(crate) last_sequence: u64,
    pub(crate) generation: u32,
}

impl BlockPlace {
    pub(crate) fn new(position: u64, head: &BlockHead) -> BlockPlace {
        BlockPlace {
            position,
            lane: head.lane,
            n_events: head.n_events,
            first_start_ns: head.first_start_ns,
            first_sequence: head.first_sequence,
            last_start_ns: head.last_start_ns,
            last_sequence: head.last_sequence,
            generation: head.generation,
        }
    }
}
