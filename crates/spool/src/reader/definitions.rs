// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far the definitions of a stream have been read.
//!
//! They lie one after the other in their segments, which are filled in the
//! order of the table and never written again.

use std::fs::File;

use super::read::{BUFFER_BYTES, read};
use super::table::{CheckedSegment, u32_at, u64_at};
use crate::layout::{DefinitionHeader, DefinitionKind, MAX_DEFINITION_BYTES};

const HEADER_BYTES: usize = size_of::<DefinitionHeader>();

/// The end of what has been read.
#[derive(Default)]
pub(super) struct DefinitionReader {
    /// Row of the segment.
    place: usize,
    /// Bytes of it.
    used: usize,
    damage: Option<&'static str>,
}

/// One definition, in some bytes that were read.
struct Definition<'a> {
    /// None for a number that is no kind.
    kind: Option<DefinitionKind>,
    id: u64,
    payload: &'a [u8],
    /// What it takes.
    bytes: usize,
}

impl DefinitionReader {
    /// Hands over all that are published. The table must have been read before:
    /// then a segment was given its last definition before the next one in the
    /// table was made.
    pub(super) fn deliver(
        &mut self,
        file: &File,
        segments: &[CheckedSegment],
        buffer: &mut [u8],
        mut take: impl FnMut(DefinitionKind, u64, &[u8]),
    ) {
        while let Some(segment) = segment_from(segments, self.place) {
            if segment.place != self.place {
                self.place = segment.place;
                self.used = 0;
            }
            if self.deliver_some(file, segment, buffer, &mut take) {
                continue;
            }
            if segment_from(segments, segment.place + 1).is_none() {
                break;
            }
            self.place = segment.place + 1;
            self.used = 0;
        }
    }

    /// What was wrong with them.
    pub(super) fn damage(&self) -> Option<&'static str> {
        self.damage
    }

    /// Hands over what a read finds; false if there is nothing.
    fn deliver_some(
        &mut self,
        file: &File,
        segment: &CheckedSegment,
        buffer: &mut [u8],
        take: &mut impl FnMut(DefinitionKind, u64, &[u8]),
    ) -> bool {
        let before = self.used;
        let left = (segment.bytes as usize).saturating_sub(before);
        let offset = segment.offset + before as u64;
        // Mostly there is nothing new, as the first bytes show.
        let head = &mut buffer[..HEADER_BYTES.min(left)];
        if read(file, offset, head) < HEADER_BYTES || u32_at(head, 0) == 0 {
            return false;
        }
        let n_bytes = read(file, offset, &mut buffer[..left.min(BUFFER_BYTES)]);
        let n_published: usize = published(&buffer[..n_bytes]).map(|it| it.bytes).sum();
        if n_published == 0 {
            self.damage = Some("a definition is longer than its segment");
            self.used = segment.bytes as usize;
            return false;
        }
        // Again: in the first copy the bytes may be older than the word that
        // publishes them.
        let n_bytes = read(file, offset, &mut buffer[..n_published]);
        for definition in published(&buffer[..n_bytes]) {
            self.used += definition.bytes;
            match definition.kind {
                Some(kind) => take(kind, definition.id, definition.payload),
                None => self.damage = Some("a definition is of no known kind"),
            }
        }
        self.used > before
    }
}

/// The first definitions segment from a row on.
fn segment_from(segments: &[CheckedSegment], place: usize) -> Option<&CheckedSegment> {
    segments.iter().find(|segment| segment.is_definitions() && segment.place >= place)
}

/// The published definitions at the beginning of some bytes.
fn published(bytes: &[u8]) -> impl Iterator<Item = Definition<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0).checked_sub(1)? as usize;
        if length > MAX_DEFINITION_BYTES {
            return None;
        }
        let bytes = HEADER_BYTES + length.next_multiple_of(8);
        let (definition, behind) = rest.split_at_checked(bytes)?;
        rest = behind;
        Some(Definition {
            kind: DefinitionKind::try_from(u32_at(definition, 4)).ok(),
            id: u64_at(definition, 8),
            payload: &definition[HEADER_BYTES..HEADER_BYTES + length],
            bytes,
        })
    })
}
