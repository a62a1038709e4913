// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which bytes of a file were read or written first, and when.

use std::collections::BTreeMap;

use ioracle_events::{FastMap, FileId};

/// Extents that are kept in all; bytes beyond are taken as never touched.
const MAX_EXTENTS: usize = 1 << 20;

/// The first touches of all files.
#[derive(Default)]
pub(crate) struct Touched {
    files: FastMap<FileId, BTreeMap<u64, Extent>>,
    n_extents: usize,
}

#[derive(Clone, Copy)]
struct Extent {
    end: u64,
    first_ns: u64,
}

impl Touched {
    /// Takes in an access. Processes come one after the other, so a later one may
    /// have come first.
    pub(crate) fn add(&mut self, file: FileId, start: u64, end: u64, time_ns: u64) {
        let extents = self.files.entry(file).or_default();
        let mut at = start;
        // Those that may overlap begin at or before the start, or within.
        let first = extents.range(..=start).next_back().map_or(start, |(begin, _)| *begin);
        let mut gaps = Vec::new();
        for (begin, extent) in extents.range_mut(first..end) {
            if extent.end <= start {
                continue;
            }
            extent.first_ns = extent.first_ns.min(time_ns);
            if *begin > at {
                gaps.push((at, *begin));
            }
            at = at.max(extent.end);
        }
        if at < end {
            gaps.push((at, end));
        }
        for (begin, end) in gaps {
            if self.n_extents < MAX_EXTENTS {
                extents.insert(begin, Extent { end, first_ns: time_ns });
                self.n_extents += 1;
            }
        }
    }

    /// When the first and the last byte of an extent had both been touched.
    pub(crate) fn since(&self, file: FileId, start: u64, end: u64) -> Option<u64> {
        let extents = self.files.get(&file)?;
        let touched = |byte: u64| {
            let (_, extent) = extents.range(..=byte).next_back()?;
            (extent.end > byte).then_some(extent.first_ns)
        };
        Some(touched(start)?.max(touched(end.checked_sub(1)?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_known_from_the_first_time_they_were_touched() {
        let (mut touched, file) = (Touched::default(), FileId(1));
        touched.add(file, 100, 200, 5);
        touched.add(file, 150, 300, 9);
        touched.add(file, 0, 50, 7);
        let since = |start, end| touched.since(file, start, end);
        assert_eq!(since(100, 200), Some(5));
        assert_eq!(since(120, 250), Some(9));
        assert_eq!(since(60, 90), None);
        assert_eq!(since(0, 50), Some(7));
        assert_eq!(since(250, 301), None);
        assert_eq!(touched.since(FileId(2), 0, 1), None);
    }

    #[test]
    fn a_process_that_comes_later_may_have_touched_first() {
        let (mut touched, file) = (Touched::default(), FileId(1));
        touched.add(file, 0, 10, 50);
        touched.add(file, 0, 20, 4);
        assert_eq!(touched.since(file, 0, 20), Some(4));
    }
}
