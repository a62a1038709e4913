// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which mappings of the program are mappings of recorded files, so that
//! `munmap` and `msync` can be distinguished from those of plain memory.
//!
//! A table of bounded size without locks. When it is full, further mappings are
//! recorded when they are made and then forgotten.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const ROWS: usize = 1024;

static MAPPINGS: [Mapping; ROWS] = [const { Mapping::new() }; ROWS];
/// Rows that were ever used, all at the start of the table: most programs map no file,
/// and some unmap memory all the time.
static N_ROWS: AtomicUsize = AtomicUsize::new(0);

struct Mapping {
    /// Where it begins; 0: the row is free, 1: it is being filled.
    address: AtomicUsize,
    bytes: AtomicUsize,
    file: AtomicU64,
    offset: AtomicU64,
}

/// A mapped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileMapping {
    /// Identity of its path.
    pub(crate) file: u64,
    /// Place in the file of the address asked for.
    pub(crate) offset: u64,
}

impl Mapping {
    const fn new() -> Mapping {
        Mapping {
            address: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            file: AtomicU64::new(0),
            offset: AtomicU64::new(0),
        }
    }

    fn mapped_at(&self, address: usize) -> Option<FileMapping> {
        let into = address.checked_sub(self.address.load(Ordering::Acquire))?;
        (into < self.bytes.load(Ordering::Relaxed)).then(|| FileMapping {
            file: self.file.load(Ordering::Relaxed),
            offset: self.offset.load(Ordering::Relaxed).saturating_add(into as u64),
        })
    }
}

/// A file was mapped.
pub(crate) fn add(address: usize, bytes: usize, mapped: FileMapping) {
    let row = used().find(|row| row.address.load(Ordering::Relaxed) == address).or_else(|| {
        MAPPINGS.iter().enumerate().find_map(|(number, row)| {
            row.address.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).ok()?;
            N_ROWS.fetch_max(number + 1, Ordering::Relaxed);
            Some(row)
        })
    });
    if let Some(row) = row {
        row.bytes.store(bytes, Ordering::Relaxed);
        row.file.store(mapped.file, Ordering::Relaxed);
        row.offset.store(mapped.offset, Ordering::Relaxed);
        row.address.store(address, Ordering::Release);
    }
}

/// The file mapped at an address.
pub(crate) fn find(address: usize) -> Option<FileMapping> {
    used().find_map(|row| row.mapped_at(address))
}

/// Memory is unmapped: returns the file that was mapped at its start. A mapping that is
/// partly unmapped is forgotten.
pub(crate) fn remove(address: usize) -> Option<FileMapping> {
    used().find_map(|row| {
        let mapped = row.mapped_at(address)?;
        row.address.store(0, Ordering::Release);
        Some(mapped)
    })
}

fn used() -> impl Iterator<Item = &'static Mapping> {
    let rows = MAPPINGS.iter().take(N_ROWS.load(Ordering::Relaxed));
    rows.filter(|row| row.address.load(Ordering::Relaxed) > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_known_until_it_is_removed() {
        add(0x7000, 0x2000, FileMapping { file: 9, offset: 4096 });
        assert_eq!(find(0x8000), Some(FileMapping { file: 9, offset: 8192 }));
        assert_eq!(find(0x9000), None);
        assert!(remove(0x7000).is_some());
        assert_eq!(find(0x7000), None);
    }
}
