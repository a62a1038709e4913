// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files of one kind that a program is going to read, in this order or another.
//!
//! Many programs read a list of files: those that their command names, or all of a
//! directory. Such a list is known long before a grammar has learned how the names go on,
//! and also where they do not go on in any order, as in a data loader that shuffles: there
//! it is open which file comes next, but not that each of them comes. What is read of a
//! file is taken to be as much as of others before it, from its start.
//!
//! A read costs one look at a table; a plan costs a step for each file that is planned.

use ioracle_events::{FastMap, PredictionSource};

use crate::planner::{ExpectedRead, FileKey, ObservedRead, StorageKey};

/// Files that were read to their end, as far as the program reads them, before others are
/// expected.
const FEW: usize = 2;
/// The files of which it is known how much was read.
const RECENT: usize = 8;
/// So many files one after the other, each the next in the list, are read in its order.
const IN_ORDER: u32 = 4;
/// Files that are looked at behind the last one, where they come in order.
const MAX_LOOKED_AT: usize = 4096;
/// More of a file is left to those who know how the program goes on in it.
const MAX_HEAD_BYTES: u64 = 1 << 20;

/// How sure it is that all files of a list are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesOrigin {
    /// The command names them.
    Named,
    /// They lie in one directory. A program may read only some of these, so that only
    /// twice as many are read ahead as it has read.
    Siblings,
}

/// Files that are read one after the other.
#[derive(Clone, Debug)]
pub struct FileSeries {
    origin: SeriesOrigin,
    files: Vec<SeriesFile>,
    places: FastMap<FileKey, usize>,
    /// The one that is read now, and how much of it was read from its start.
    last: Option<usize>,
    head_bytes: u64,
    /// The same of those before it.
    heads: [u64; RECENT],
    n_heads: usize,
    /// Files one after the other that were each the next in the list.
    in_order: u32,
    n_read: usize,
    /// Those that were first read elsewhere than at their start.
    n_elsewhere: usize,
    /// Files that are planned and were not read.
    n_waiting: usize,
    /// All before it are read or planned.
    first_left: usize,
    /// When the first file was read, and the newest one.
    first_ns: u64,
    newest_ns: u64,
}

#[derive(Clone, Debug)]
struct SeriesFile {
    file: FileKey,
    storage: StorageKey,
    is_read: bool,
    is_planned: bool,
}

impl SeriesFile {
    fn is_left(&self) -> bool {
        !self.is_read && !self.is_planned
    }
}

impl FileSeries {
    /// A list of files, none of which was read.
    pub fn new(
        origin: SeriesOrigin,
        files: impl IntoIterator<Item = (FileKey, StorageKey)>,
    ) -> FileSeries {
        let new = |(file, storage)| SeriesFile { file, storage, is_read: false, is_planned: false };
        let files: Vec<SeriesFile> = files.into_iter().map(new).collect();
        let places = files.iter().enumerate().map(|(place, it)| (it.file, place)).collect();
        FileSeries {
            origin,
            files,
            places,
            last: None,
            head_bytes: 0,
            heads: [0; RECENT],
            n_heads: 0,
            in_order: 0,
            n_read: 0,
            n_elsewhere: 0,
            n_waiting: 0,
            first_left: 0,
            first_ns: 0,
            newest_ns: 0,
        }
    }

    /// Whether a read is the beginning of a file that was not read yet, or goes on in the
    /// beginning of the last one.
    pub fn expects(&self, read: &ObservedRead) -> bool {
        let Some(&place) = self.places.get(&read.file) else { return false };
        let start = read.bytes.start;
        match self.last == Some(place) {
            _ if !self.is_proven() => false,
            true => start <= self.head_bytes && start < self.expected_bytes(),
            false => start == 0 && !self.files[place].is_read,
        }
    }

    /// Takes in the next read of the program.
    pub fn observe(&mut self, read: &ObservedRead) {
        let Some(&place) = self.places.get(&read.file) else { return };
        let bytes = &read.bytes;
        if self.last == Some(place) {
            if bytes.start <= self.head_bytes {
                self.head_bytes = self.head_bytes.max(bytes.end);
            }
            return;
        }
        if self.head_bytes > 0 {
            self.heads[self.n_heads % RECENT] = self.head_bytes;
            self.n_heads += 1;
        }
        let is_next = self.last.is_some_and(|last| last + 1 == place);
        self.last = Some(place);
        self.head_bytes = if bytes.start == 0 { bytes.end } else { 0 };
        let file = &mut self.files[place];
        if std::mem::replace(&mut file.is_read, true) {
            return;
        }
        self.n_waiting -= usize::from(file.is_planned);
        self.in_order = if is_next { self.in_order + 1 } else { 0 };
        if self.n_read == 0 {
            self.first_ns = read.start_ns;
        }
        self.newest_ns = read.start_ns;
        self.n_read += 1;
        self.n_elsewhere += usize::from(bytes.start != 0);
    }

    /// What is going to be read of the files that are not planned yet, the nearest first.
    pub fn ahead(&self, now_ns: u64) -> impl Iterator<Item = ExpectedRead> {
        let per_file_ns =
            self.newest_ns.saturating_sub(self.first_ns) / (self.n_read.max(2) as u64 - 1);
        let since_ns = now_ns.saturating_sub(self.newest_ns);
        let n_left = (self.files.len() - self.n_read) as u64;
        let bytes = 0..self.expected_bytes();
        let n_right = (self.n_read - self.n_elsewhere) as f64;
        let probability = (n_right + 1.0) / (self.n_read as f64 + 2.0);
        self.places_ahead().map(move |place| {
            let SeriesFile { file, storage, .. } = self.files[place];
            let n_before = match self.last.filter(|_| self.is_ordered()) {
                Some(last) => place.abs_diff(last) as u64,
                // It may be the next one or the last one.
                None => n_left / 2,
            };
            ExpectedRead {
                file,
                storage,
                bytes: bytes.clone(),
                in_ns: per_file_ns.saturating_mul(n_before).saturating_sub(since_ns),
                probability,
                source: PredictionSource::ThisRun,
            }
        })
    }

    /// So many of the reads [`ahead`](FileSeries::ahead) were dealt with.
    pub fn take_planned(&mut self, n_planned: usize) {
        let places: Vec<usize> = self.places_ahead().take(n_planned).collect();
        for place in places {
            self.files[place].is_planned = true;
            self.n_waiting += 1;
        }
        while self.files.get(self.first_left).is_some_and(|file| !file.is_left()) {
            self.first_left += 1;
        }
    }

    fn places_ahead(&self) -> impl Iterator<Item = usize> {
        let (start, n_looked_at) = match self.last.filter(|_| self.is_ordered()) {
            Some(last) => (last + 1, MAX_LOOKED_AT),
            None => (self.first_left, self.files.len()),
        };
        let n_allowed = match self.origin {
            _ if !self.is_proven() => 0,
            SeriesOrigin::Named => usize::MAX,
            SeriesOrigin::Siblings => (2 * self.n_read).saturating_sub(self.n_waiting),
        };
        let looked_at = self.files.iter().enumerate().skip(start).take(n_looked_at);
        looked_at.filter(|(_, file)| file.is_left()).map(|(place, _)| place).take(n_allowed)
    }

    fn is_ordered(&self) -> bool {
        self.in_order >= IN_ORDER
    }

    fn is_proven(&self) -> bool {
        self.n_heads >= FEW
    }

    /// The most that was read of one of the last files: one that is shorter ends earlier.
    fn expected_bytes(&self) -> u64 {
        self.heads.iter().copied().max().unwrap_or(0).min(MAX_HEAD_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 16_384;

    fn read(file: u32, start: u64) -> ObservedRead {
        ObservedRead {
            file: FileKey(file),
            storage: StorageKey::default(),
            bytes: start..start + SIZE,
            site: 1,
            start_ns: 0,
            end_ns: 10,
            expected: None,
        }
    }

    fn series(origin: SeriesOrigin, n_files: u32) -> FileSeries {
        FileSeries::new(origin, (0..n_files).map(|n| (FileKey(n), StorageKey::default())))
    }

    fn ahead(series: &FileSeries) -> Vec<u32> {
        series.ahead(0).map(|read| read.file.0).collect()
    }

    #[test]
    fn all_files_that_are_named_are_expected_in_any_order() {
        let mut series = series(SeriesOrigin::Named, 100);
        for file in [7, 93] {
            series.observe(&read(file, 0));
            assert!(ahead(&series).is_empty() && !series.expects(&read(1, 0)));
        }
        series.observe(&read(40, 0));
        assert_eq!(ahead(&series).len(), 97);
        assert!(series.ahead(0).all(|read| read.bytes == (0..SIZE) && read.probability > 0.7));
        assert!(series.expects(&read(1, 0)) && !series.expects(&read(1, 4096)));
        assert!(!series.expects(&read(7, 0)));
        series.take_planned(3);
        assert_eq!(ahead(&series)[..5], [3, 4, 5, 6, 8]);
    }

    #[test]
    fn files_in_order_are_expected_behind_the_last_one() {
        let mut series = series(SeriesOrigin::Named, 100);
        for file in 20..26 {
            series.observe(&ObservedRead { start_ns: u64::from(file) * 10, ..read(file, 0) });
        }
        assert_eq!(ahead(&series)[..3], [26, 27, 28]);
        let due: Vec<u64> = series.ahead(254).take(3).map(|read| read.in_ns).collect();
        assert_eq!(due, [6, 16, 26]);
        series.take_planned(2);
        assert_eq!(ahead(&series)[0], 28);
    }

    #[test]
    fn of_a_directory_no_more_is_expected_than_twice_what_was_read() {
        let mut series = series(SeriesOrigin::Siblings, 1000);
        for n in 0..20 {
            series.observe(&read(n * 37 % 1000, 0));
        }
        assert_eq!(ahead(&series).len(), 40);
        series.take_planned(40);
        assert!(ahead(&series).is_empty());
        series.observe(&read(1, 0));
        assert_eq!(ahead(&series).len(), 3);
    }

    #[test]
    fn files_that_are_not_read_from_their_start_are_not_expected() {
        let mut series = series(SeriesOrigin::Named, 100);
        for file in 0..3 {
            series.observe(&read(file, 0));
        }
        for file in 3..9 {
            series.observe(&read(file, 65_536));
        }
        assert!(series.ahead(0).all(|read| read.probability < 0.5));
    }

    #[test]
    fn as_much_is_expected_as_was_read_of_the_longest() {
        let mut series = series(SeriesOrigin::Named, 100);
        for file in 0..4 {
            for part in 0..=u64::from(file) {
                series.observe(&read(file, part * SIZE));
            }
        }
        assert!(series.expects(&read(3, 2 * SIZE)) && !series.expects(&read(3, 9 * SIZE)));
        assert!(series.ahead(0).all(|read| read.bytes == (0..3 * SIZE)));
    }
}
