// SPDX-License-Identifier: MIT OR Apache-2.0

//! Definitions are written one after the other, under the writer's flag: unlike
//! records they have no place that a number gives them.
//!
//! One that a handler jumped away from is overwritten by the next, unless it was
//! published: then it stays and is found.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::segment::definition_bytes;
use super::{Host, Writer};
use crate::in_process::Definition;
use crate::layout::{DefinitionKind, JobPage, MAX_DEFINITION_BYTES, UnrecordedCause};

impl Writer {
    /// Gives an identity its meaning; the parts of the payload are put together.
    /// `false` if there is no room, the payload exceeds [`MAX_DEFINITION_BYTES`], or a
    /// handler interrupted the writer: then try again later.
    pub fn define(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        kind: DefinitionKind,
        id: u64,
        payload: &[&[u8]],
    ) -> bool {
        let length = payload.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()));
        if length > MAX_DEFINITION_BYTES {
            return false;
        }
        // Mostly there is room, which takes no system call. A handler that interrupts
        // finds the flag set.
        if self.guarded(|| self.define_here(kind, id, payload, length)).is_ok() {
            return true;
        }
        host.uninterrupted(|host| {
            self.guarded(|| self.define_next(host, job, kind, id, payload, length))
        })
        .is_ok()
    }

    /// The definition at a place of this stream, and the place behind it. Places
    /// are numbers that begin at 0.
    pub fn definition(&self, place: u64) -> Option<(Definition, u64)> {
        let (mut segment, mut used) = ((place >> 32) as usize, place as u32 as usize);
        let (last, _) = self.definitions.load();
        while segment <= last {
            let here = self.segments.get(segment).filter(|it| !it.is_records());
            if let Some((definition, end)) = here.and_then(|it| it.read_definition(used)) {
                return Some((definition, ((segment as u64) << 32) | end as u64));
            }
            // The writer goes to another segment only when this one is full.
            (segment, used) = (segment.wrapping_add(1), 0);
        }
        None
    }

    /// Writes a definition into the segment that there is, if it has room.
    fn define_here(
        &self,
        kind: DefinitionKind,
        id: u64,
        payload: &[&[u8]],
        length: usize,
    ) -> Result<(), UnrecordedCause> {
        let (place, mut used) = self.definitions.load();
        let segment = self.segments.get(place).ok_or(UnrecordedCause::NoRoom)?;
        // One that was published by a call that never came back.
        while let Some(bytes) = segment.published_definition(used) {
            used = used.saturating_add(bytes);
        }
        let needed = definition_bytes(length).ok_or(UnrecordedCause::NoRoom)?;
        if used.saturating_add(needed) > segment.bytes() {
            return Err(UnrecordedCause::NoRoom);
        }
        let end = segment.define(used, kind, id, payload, length);
        self.definitions.store(place, end.ok_or(UnrecordedCause::NoRoom)?);
        Ok(())
    }

    /// The same in a new segment.
    fn define_next(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        kind: DefinitionKind,
        id: u64,
        payload: &[&[u8]],
        length: usize,
    ) -> Result<(), UnrecordedCause> {
        // A handler may have made one since it was tried.
        if self.define_here(kind, id, payload, length).is_ok() {
            return Ok(());
        }
        let needed = definition_bytes(length).ok_or(UnrecordedCause::NoRoom)?;
        self.open_definitions(host, job, needed)?;
        self.define_here(kind, id, payload, length)
    }
}

/// Segment and place in it of the next definition, in one word.
pub(super) struct DefinitionsEnd(AtomicU64);

impl DefinitionsEnd {
    pub(super) const fn new() -> DefinitionsEnd {
        DefinitionsEnd(AtomicU64::new(0))
    }

    pub(super) fn load(&self) -> (usize, usize) {
        let word = self.0.load(Relaxed);
        ((word >> 32) as usize, word as u32 as usize)
    }

    pub(super) fn store(&self, place: usize, used: usize) {
        self.0.store(((place as u64) << 32) | used as u64, Relaxed);
    }
}
