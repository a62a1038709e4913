// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds and reads the chunks of a trace, whole, cut off or damaged.

use std::io;

use super::layout::{
    BlockHead, BlockPlace, ChunkHead, ChunkKind, FileHead, IndexEntry, MAGIC, MARKER,
    MAX_CHUNK_BYTES, SectionPlace, TRAILER_BYTES, index_of_trailer, is_known,
};
use super::storage::Storage;
use crate::native::code::{N_SECTIONS, Sections};

/// What is wrong with a trace, and where.
#[derive(Debug)]
pub(crate) enum Damage {
    /// It does not begin like a trace.
    NotATrace,
    /// It is of another version.
    Version(u32),
    /// It ends within or before a chunk that begins here.
    Cut {
        position: u64,
    },
    /// What begins here is damaged.
    At {
        position: u64,
        reason: &'static str,
    },
    Unreadable(io::Error),
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Damage {
        Damage::Unreadable(error)
    }
}

/// The chunks of a trace.
#[derive(Debug)]
pub(crate) struct Chunks {
    storage: Storage,
    head: FileHead,
    content: FoundChunks,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct FoundChunks {
    pub(crate) entries: Vec<IndexEntry>,
    /// Where the last chunk ends.
    pub(crate) end: u64,
    /// Whether index and end are there.
    pub(crate) is_finished: bool,
    /// Blocks whose end is missing.
    pub(crate) torn: Vec<TornBlock>,
    /// The first fault, and how many there are.
    pub(crate) damage: Option<Damage>,
    pub(crate) n_damaged: u64,
    pub(crate) is_cut: bool,
}

/// A block of which only the beginning is there: the file was cut off in it,
/// and may have been added to behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TornBlock {
    pub(crate) position: u64,
    /// Where it was cut off.
    end: u64,
}

/// What there is of a torn block: its head, its sections, and which of these
/// are whole.
pub(crate) type TornParts = (BlockHead, Sections, [bool; N_SECTIONS]);

impl FoundChunks {
    /// The blocks that were found.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &BlockPlace> {
        self.entries.iter().filter_map(|entry| match entry {
            IndexEntry::Block(block) => Some(block),
            IndexEntry::Definitions { .. } => None,
        })
    }

    /// How many faults there are, not counting a missing end.
    pub(crate) fn n_damaged_inside(&self) -> u64 {
        self.n_damaged - u64::from(self.is_cut)
    }

    fn note(&mut self, damage: Damage) {
        self.is_cut |= matches!(damage, Damage::Cut { .. });
        self.damage.get_or_insert(damage);
        self.n_damaged += 1;
    }
}

impl Chunks {
    /// Finds the chunks by the index, or without one by looking at all bytes.
    pub(crate) fn open(storage: Storage) -> Result<Chunks, Damage> {
        let mut chunks = Chunks::begin(storage)?;
        chunks.content = match chunks.indexed()? {
            Some(content) => content,
            None => chunks.scan()?,
        };
        Ok(chunks)
    }

    /// Finds them by looking at all bytes, each chunk compared with its check.
    pub(crate) fn examine(storage: Storage) -> Result<Chunks, Damage> {
        let mut chunks = Chunks::begin(storage)?;
        chunks.content = chunks.scan()?;
        Ok(chunks)
    }

    fn begin(storage: Storage) -> Result<Chunks, Damage> {
        let bytes = storage.read(0, FileHead::N_BYTES)?;
        let head = match FileHead::from_bytes(&bytes) {
            Some(FileHead { version, .. }) if !is_known(version) => {
                return Err(Damage::Version(version));
            }
            Some(head) => head,
            None if bytes.len() < FileHead::N_BYTES && is_beginning(&bytes) => {
                return Err(Damage::Cut { position: 0 });
            }
            None => return Err(Damage::NotATrace),
        };
        Ok(Chunks { storage, head, content: FoundChunks::default() })
    }

    pub(crate) fn head(&self) -> FileHead {
        self.head
    }

    pub(crate) fn content(&self) -> &FoundChunks {
        &self.content
    }

    /// The first fault, returned once.
    pub(crate) fn take_damage(&mut self) -> Option<Damage> {
        self.content.damage.take()
    }

    /// The payload of the chunk at a position, which must be of that kind.
    pub(crate) fn payload(&self, position: u64, kind: ChunkKind) -> Result<Vec<u8>, Damage> {
        let bytes = self.storage.read(position, ChunkHead::N_BYTES)?;
        let damaged = |reason| Damage::At { position, reason };
        let head = ChunkHead::from_bytes(&bytes)
            .filter(|head| head.kind == kind)
            .ok_or(damaged("it is not the chunk that it should be"))?;
        let behind = position.saturating_add(ChunkHead::N_BYTES as u64);
        let payload = self.storage.read(behind, head.length as usize)?;
        if payload.len() < head.length as usize {
            return Err(Damage::Cut { position });
        }
        match crc32fast::hash(&payload) == head.check {
            true => Ok(payload),
            false => Err(damaged(CHECK_FAILED)),
        }
    }

    /// The definitions at a position, compressed.
    pub(crate) fn definitions(&self, position: u64) -> Result<Vec<u8>, Damage> {
        self.payload(position, ChunkKind::Definitions)
    }

    /// The block at a position.
    pub(crate) fn block(&self, position: u64) -> Result<(BlockHead, Sections), Damage> {
        let payload = self.payload(position, ChunkKind::Block)?;
        let damaged = |reason| Damage::At { position, reason };
        let (head, sections, is_whole) = self.sections(position, &payload)?;
        match is_whole.iter().all(|is_whole| *is_whole) {
            true => Ok((head, sections)),
            false => Err(damaged(HEAD_DAMAGED)),
        }
    }

    /// What there is of a block whose end is missing, and which of its sections
    /// are whole. Its checksum cannot be compared.
    pub(crate) fn torn_block(&self, torn: TornBlock) -> Result<TornParts, Damage> {
        let inside = torn.position + ChunkHead::N_BYTES as u64;
        let length = torn.end.saturating_sub(inside).min(u64::from(MAX_CHUNK_BYTES));
        let payload = self.storage.read(inside, length as usize)?;
        self.sections(torn.position, &payload)
    }

    /// The head and the sections of a block, as far as its bytes go.
    fn sections(&self, position: u64, payload: &[u8]) -> Result<TornParts, Damage> {
        let damaged = |reason| Damage::At { position, reason };
        let (head, mut rest): (BlockHead, &[u8]) =
            postcard::take_from_bytes(payload).map_err(|_| damaged(HEAD_DAMAGED))?;
        let mut sections = Sections::default();
        let mut is_whole = [true; N_SECTIONS];
        for ((section, place), is_whole) in
            sections.iter_mut().zip(&head.sections).zip(&mut is_whole)
        {
            *section = match *place {
                SectionPlace::Here { length } => {
                    let length = length as usize;
                    *is_whole = length <= rest.len();
                    let (own, behind) = rest.split_at(length.min(rest.len()));
                    rest = behind;
                    own.to_vec()
                }
                SectionPlace::There { position: there, length, check } => {
                    let bytes = self.storage.read(there, length as usize)?;
                    if bytes.len() < length as usize || crc32fast::hash(&bytes) != check {
                        return Err(damaged("a part of an earlier block that it uses is damaged"));
                    }
                    bytes
                }
            };
        }
        Ok((head, sections, is_whole))
    }

    /// What the index says; `None` if there is none that can be used.
    fn indexed(&self) -> Result<Option<FoundChunks>, Damage> {
        let length = self.storage.len()?;
        let Some(begin) = length.checked_sub(TRAILER_BYTES as u64) else { return Ok(None) };
        let Some(position) = index_of_trailer(&self.storage.read(begin, TRAILER_BYTES)?) else {
            return Ok(None);
        };
        let index = match self.payload(position, ChunkKind::Index) {
            Ok(index) => index,
            Err(Damage::Unreadable(error)) => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        let entries = postcard::from_bytes(&index).ok();
        Ok(entries.map(|entries| FoundChunks {
            entries,
            end: position,
            is_finished: true,
            ..FoundChunks::default()
        }))
    }

    /// Looks at all bytes.
    fn scan(&self) -> Result<FoundChunks, Damage> {
        let length = self.storage.len()?;
        let mut content = FoundChunks { end: FileHead::N_BYTES as u64, ..FoundChunks::default() };
        let mut at = content.end;
        while at < length {
            let bytes = self.storage.read(at, TRAILER_BYTES)?;
            if index_of_trailer(&bytes).is_some() {
                // If something follows it, it is not the end any more.
                at += TRAILER_BYTES as u64;
                content.is_finished = at == length;
                continue;
            }
            let Some(head) = ChunkHead::from_bytes(&bytes) else {
                let Some(next) = self.next_chunk(at + 1)? else {
                    content.note(Damage::Cut { position: at });
                    break;
                };
                content.note(Damage::At { position: at, reason: "no chunk begins there" });
                at = next;
                continue;
            };
            match self.entry(at, head.kind) {
                Ok(entry) => {
                    content.entries.extend(entry);
                    at += ChunkHead::N_BYTES as u64 + u64::from(head.length);
                    if head.kind != ChunkKind::Index {
                        content.end = at;
                    }
                }
                Err(Damage::Unreadable(error)) => return Err(error.into()),
                Err(damage) => match self.pass_over(at, head, damage, &mut content)? {
                    Some(next) => at = next,
                    None => break,
                },
            }
        }
        Ok(content)
    }

    /// Records what is wrong with a chunk, and what is left of it if it was cut off;
    /// returns where the next one begins, if there is one.
    fn pass_over(
        &self,
        position: u64,
        head: ChunkHead,
        damage: Damage,
        content: &mut FoundChunks,
    ) -> Result<Option<u64>, Damage> {
        let inside = position + ChunkHead::N_BYTES as u64;
        let behind = inside + u64::from(head.length);
        let next = self.next_chunk(inside)?;
        let end = match next {
            Some(next) => next,
            None => self.end_of_last(inside)?,
        };
        if head.kind == ChunkKind::Block && end < behind {
            content.torn.push(TornBlock { position, end });
        }
        content.note(damage);
        Ok(next)
    }

    /// Where a chunk ends in which the file was cut off: bytes at the end that may be
    /// the beginning of another head do not belong to it.
    fn end_of_last(&self, inside: u64) -> Result<u64, Damage> {
        let length = self.storage.len()?;
        let begin = inside.max(length.saturating_sub(ChunkHead::N_BYTES as u64 - 1));
        let tail = self.storage.read(begin, ChunkHead::N_BYTES)?;
        let is_head =
            |at: &usize| tail[*at..].starts_with(&MARKER) || MARKER.starts_with(&tail[*at..]);
        let at = (0..tail.len()).find(is_head).unwrap_or(tail.len());
        Ok(begin + at as u64)
    }

    /// The line of the index for the chunk at a position.
    fn entry(&self, position: u64, kind: ChunkKind) -> Result<Option<IndexEntry>, Damage> {
        let payload = self.payload(position, kind)?;
        Ok(match kind {
            ChunkKind::Definitions => Some(IndexEntry::Definitions { position }),
            ChunkKind::Index => None,
            ChunkKind::Block => {
                let head: Result<(BlockHead, _), _> = postcard::take_from_bytes(&payload);
                let damaged = Damage::At { position, reason: HEAD_DAMAGED };
                let (head, _) = head.map_err(|_| damaged)?;
                Some(IndexEntry::Block(BlockPlace::new(position, &head)))
            }
        })
    }

    /// The first place from `at` on where a chunk begins.
    fn next_chunk(&self, mut at: u64) -> Result<Option<u64>, Damage> {
        const WINDOW: usize = 1 << 16;
        loop {
            let window = self.storage.read(at, WINDOW)?;
            for place in 0..window.len().saturating_sub(MARKER.len() - 1) {
                if window[place..].starts_with(&MARKER) {
                    let position = at + place as u64;
                    let bytes = self.storage.read(position, ChunkHead::N_BYTES)?;
                    if ChunkHead::from_bytes(&bytes).is_some() {
                        return Ok(Some(position));
                    }
                }
            }
            if window.len() < WINDOW {
                return Ok(None);
            }
            at += (WINDOW - MARKER.len()) as u64;
        }
    }
}

const CHECK_FAILED: &str = "its checksum does not fit";
const HEAD_DAMAGED: &str = "its head makes no sense";

/// Whether a short file could be the beginning of a trace.
fn is_beginning(bytes: &[u8]) -> bool {
    let n = bytes.len().min(MAGIC.len());
    bytes[..n] == MAGIC[..n]
}
