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
/// Bytes that are looked at first: mostly there is nothing new, or a definition or two.
const FIRST_LOOK_BYTES: usize = 1024;

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
    /// None for an unknown kind.
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
        let mut look_bytes = FIRST_LOOK_BYTES;
        while let Some(segment) = segment_from(segments, self.place) {
            if segment.place != self.place {
                self.place = segment.place;
                self.used = 0;
            }
            if self.deliver_some(file, segment, look_bytes, buffer, &mut take) {
                look_bytes = BUFFER_BYTES;
                continue;
            }
            if segment_from(segments, segment.place + 1).is_none() {
                break;
            }
            self.place = segment.place + 1;
            self.used = 0;
        }
    }

    /// What is wrong with a definition.
    pub(super) fn damage(&self) -> Option<&'static str> {
        self.damage
    }

    /// Hands over what a read finds; false if there was nothing more at that time.
    fn deliver_some(
        &mut self,
        file: &File,
        segment: &CheckedSegment,
        look_bytes: usize,
        buffer: &mut [u8],
        take: &mut impl FnMut(DefinitionKind, u64, &[u8]),
    ) -> bool {
        let before = self.used;
        let left = (segment.bytes as usize).saturating_sub(before);
        let offset = segment.offset + before as u64;
        let (n_read, n_published) = look_for_published(file, (offset, left), look_bytes, buffer);
        if n_published == 0 {
            if n_read >= HEADER_BYTES && u32_at(&buffer[..n_read], 0) != 0 {
                self.damage = Some("a definition is longer than its segment");
                self.used = segment.bytes as usize;
            }
            return false;
        }
        let has_more =
            n_read - n_published < HEADER_BYTES || u32_at(&buffer[n_published..n_read], 0) != 0;
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
        has_more && self.used > before
    }
}

/// Reads some of what is left of a segment, more where a definition is longer; how many
/// bytes, and how many of them are of definitions that are published.
fn look_for_published(
    file: &File,
    (offset, left): (u64, usize),
    mut n_wanted: usize,
    buffer: &mut [u8],
) -> (usize, usize) {
    loop {
        let wanted = left.min(n_wanted).min(BUFFER_BYTES);
        let n_read = read(file, offset, &mut buffer[..wanted]);
        let n_published: usize = published(&buffer[..n_read]).map(|it| it.bytes).sum();
        let is_cut = n_published == 0 && u32_at(&buffer[..n_read], 0) != 0 && n_read == n_wanted;
        if !is_cut || n_wanted >= BUFFER_BYTES {
            return (n_read, n_published);
        }
        n_wanted = BUFFER_BYTES;
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
