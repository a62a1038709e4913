// SPDX-License-Identifier: MIT OR Apache-2.0

//! A writer's own view of a segment. It is kept beside the table in the file,
//! because the application may overwrite that one: what is written to is decided
//! by private memory alone.
//!
//! Fields are atomics, not for other threads, but for signal handlers that
//! append in the middle of an append. All but `first` are set once.

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use crate::in_process::Definition;
use crate::layout::{Call, DefinitionHeader, DefinitionKind, Record};

/// A mapped piece of the stream's file.
pub(super) struct MappedSegment {
    base: AtomicPtr<u8>,
    bytes: AtomicUsize,
    /// 0 for definitions, and for what is not mapped.
    n_records: AtomicU64,
    first: AtomicU64,
}

impl MappedSegment {
    pub(super) const fn unmapped() -> MappedSegment {
        MappedSegment {
            base: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicUsize::new(0),
            n_records: AtomicU64::new(0),
            first: AtomicU64::new(0),
        }
    }

    /// Takes over a mapping for records from number `first` on.
    pub(super) fn hold_records(&self, base: NonNull<u8>, bytes: usize, first: u64) {
        self.hold_definitions(base, bytes);
        self.first.store(first, Relaxed);
        self.n_records.store((bytes / size_of::<Record>()) as u64, Relaxed);
    }

    /// Takes over a mapping for definitions.
    pub(super) fn hold_definitions(&self, base: NonNull<u8>, bytes: usize) {
        self.base.store(base.as_ptr(), Relaxed);
        self.bytes.store(bytes, Relaxed);
    }

    /// Releases the mapping: from here on nothing is written to it.
    pub(super) fn release(&self) -> Option<(NonNull<u8>, usize)> {
        self.n_records.store(0, Relaxed);
        let bytes = self.bytes.swap(0, Relaxed);
        let base = NonNull::new(self.base.swap(ptr::null_mut(), Relaxed))?;
        Some((base, bytes))
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Makes the segment hold the records from number `first` on.
    pub(super) fn restart(&self, first: u64) {
        self.first.store(first, Relaxed);
    }

    pub(super) fn is_records(&self) -> bool {
        self.n_records.load(Relaxed) > 0
    }

    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first.load(Relaxed)
    }

    /// Number after the last record that has its place here.
    pub(super) fn end(&self) -> u64 {
        self.first().wrapping_add(self.n_records.load(Relaxed))
    }

    #[inline]
    pub(super) fn holds(&self, number: u64) -> bool {
        number.wrapping_sub(self.first()) < self.n_records.load(Relaxed)
    }

    /// Writes and publishes a record, if its place is here.
    #[inline]
    pub(super) fn write(&self, number: u64, call: &Call) -> bool {
        let place = number.wrapping_sub(self.first());
        if place >= self.n_records.load(Relaxed) {
            return false;
        }
        // SAFETY: `n_records` is above `place`, so the mapping is held and this
        // many records lie in it.
        unsafe {
            let record = self.base.load(Relaxed).cast::<Record>().add(place as usize);
            (&raw mut (*record).call).write(*call);
            (*record).published.store(number.wrapping_add(1), Release);
        }
        true
    }

    /// The record with a number, if it lies here: among those from `first` on, or as an
    /// earlier record that was not overwritten yet.
    pub(super) fn read(&self, number: u64) -> Option<Call> {
        let n_records = self.n_records.load(Relaxed);
        let place = number.wrapping_sub(self.first());
        let place = if place < n_records { place } else { place.wrapping_add(n_records) };
        if place >= n_records {
            return None;
        }
        // SAFETY: `n_records` is above `place`, so the mapping is held and this
        // many records lie in it. Only this thread writes them; the word says
        // whether a handler has in between.
        unsafe {
            let record = self.base.load(Relaxed).cast::<Record>().add(place as usize);
            let is_it = || (*record).published.load(Acquire) == number.wrapping_add(1);
            let call = is_it().then(|| (&raw const (*record).call).read());
            call.filter(|_| is_it())
        }
    }

    /// Bytes that the definition published at `used` takes, if there is one.
    pub(super) fn published_definition(&self, used: usize) -> Option<usize> {
        let header = self.definition(used, size_of::<DefinitionHeader>())?;
        // SAFETY: `definition` has found the header inside the mapping.
        let published = unsafe { &(*header).published }.load(Relaxed);
        definition_bytes(published.checked_sub(1)? as usize)
    }

    /// The definition published at `used`, and where it ends.
    pub(super) fn read_definition(&self, used: usize) -> Option<(Definition, usize)> {
        let bytes = self.published_definition(used)?;
        let header = self.definition(used, bytes)?;
        // SAFETY: `definition` has found header and payload inside the mapping.
        let definition = unsafe {
            Definition {
                kind: (*header).kind,
                bytes: (*header).published.load(Relaxed).saturating_sub(1),
                id: (*header).id,
                payload: header.add(1).cast(),
            }
        };
        Some((definition, used.saturating_add(bytes)))
    }

    /// Writes and publishes a definition at `used`, if it fits.
    pub(super) fn define(
        &self,
        used: usize,
        kind: DefinitionKind,
        id: u64,
        payload: &[&[u8]],
        length: usize,
    ) -> Option<usize> {
        let bytes = definition_bytes(length)?;
        let header = self.definition(used, bytes)?;
        let end = used.checked_add(bytes)?;
        if let Some(next) = self.definition(end, size_of::<DefinitionHeader>()) {
            // A longer definition that was never finished may have left bytes here.
            // SAFETY: `definition` has found the header inside the mapping.
            unsafe { &(*next).published }.store(0, Relaxed);
        }
        // SAFETY: `definition` has found header and payload inside the mapping,
        // and `length` is the sum of the parts' lengths, checked by each copy.
        unsafe {
            (&raw mut (*header).kind).write(kind as u32);
            (&raw mut (*header).id).write(id);
            let mut place = header.add(1).cast::<u8>();
            let mut left = length;
            for part in payload {
                let n_bytes = part.len().min(left);
                place.copy_from_nonoverlapping(part.as_ptr(), n_bytes);
                place = place.add(n_bytes);
                left = left.saturating_sub(n_bytes);
            }
            let published: &AtomicU32 = &(*header).published;
            published.store((length as u32).wrapping_add(1), Release);
        }
        Some(end)
    }

    /// The place of a definition of `bytes` at `used`, if the segment has it.
    fn definition(&self, used: usize, bytes: usize) -> Option<*mut DefinitionHeader> {
        if used.checked_add(bytes)? > self.bytes() {
            return None;
        }
        // SAFETY: `used` lies inside the mapping.
        Some(unsafe { self.base.load(Relaxed).add(used) }.cast())
    }
}

/// Bytes of a definition with a payload of `length`.
pub(super) fn definition_bytes(length: usize) -> Option<usize> {
    length.checked_next_multiple_of(8)?.checked_add(size_of::<DefinitionHeader>())
}
