// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a run has read, in order, for the next run to follow.
//!
//! A saved model knows how a program goes on from where it is. Some programs are hard to
//! follow to the point where their data comes: an interpreter makes thousands of calls on
//! its modules first, and the files of a data loader are more than a model keeps. The log
//! keeps the data alone: the bytes that were read for the first time, and when. So the next
//! run can begin to read ahead before the program has read anything, and finds its place
//! again by the bytes that the program reads.
//!
//! A read within the pages that were read last costs a comparison, and another one a look
//! into the map of its file. A log holds at most [`MAX_READS`] reads and
//! [`MAX_LOG_BYTES`]; what comes after that is not part of it.

use std::ops::Range;

use ioracle_events::{FastMap, PredictionSource};
use serde::{Deserialize, Serialize};

use crate::coverage::RangeMap;
use crate::planner::{ExpectedRead, FileKey, ObservedRead, StorageKey, pages};

/// Reads of a log, and its size as bytes.
const MAX_READS: usize = 1 << 16;
const MAX_LOG_BYTES: usize = 512 << 10;
/// What a read and a name take of that, besides the name itself.
const READ_BYTES: usize = 12;
const NAME_BYTES: usize = 5;
/// What the paths of all files take when nothing is shared any more; only a file that
/// nobody wrote like this has more.
const MAX_PATHS_BYTES: usize = 64 << 20;
/// Reads that follow one another are one up to this length, so that each is due at its time.
const MAX_READ_BYTES: u64 = 1 << 20;
/// Reads that may be left out, or come in another order.
const REACH: usize = 256;
/// Reads in a row, each behind the other, that show where a run is that has left the log.
const FOUND_AGAIN: u32 = 4;
/// A log that fits less well says nothing.
const MIN_PROBABILITY: f64 = 0.5;
/// Reads that are counted for how well the log fits, and what is assumed before any.
const REMEMBERED: f64 = 64.0;
const ASSUMED: (f64, f64) = (3.0, 1.0);

/// What a run has read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadLog {
    files: Vec<LoggedFile>,
    reads: Vec<LoggedRead>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LoggedFile {
    /// Bytes that the path has in common with that of the file before.
    n_shared: u16,
    rest: Box<str>,
    /// The command named it: a run that names others does not read it.
    is_named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LoggedRead {
    file: u32,
    start: u64,
    bytes: u64,
    /// When it was made, in microseconds since the run began.
    at_us: u32,
}

impl ReadLog {
    /// A log as it was encoded; none if it makes no sense.
    pub fn decode(bytes: &[u8]) -> Option<ReadLog> {
        let log: ReadLog = postcard::from_bytes(bytes).ok()?;
        let is_sound = |read: &LoggedRead| {
            (read.file as usize) < log.files.len() && read.start.checked_add(read.bytes).is_some()
        };
        (log.reads.len() <= MAX_READS && log.reads.iter().all(is_sound)).then_some(log)
    }

    /// The log as bytes; none if nothing was read.
    pub fn encode(&self) -> Option<Vec<u8>> {
        if self.reads.is_empty() {
            return None;
        }
        postcard::to_stdvec(self).ok()
    }

    /// The paths of its files, and whether the command named them.
    fn paths(&self) -> Option<Vec<(String, bool)>> {
        let mut paths: Vec<(String, bool)> = Vec::with_capacity(self.files.len());
        let mut n_bytes = 0;
        for file in &self.files {
            let before = paths.last().map_or("", |(path, _)| path);
            let shared = before.get(..usize::from(file.n_shared))?;
            n_bytes += shared.len() + file.rest.len();
            if n_bytes > MAX_PATHS_BYTES {
                return None;
            }
            paths.push((format!("{shared}{}", file.rest), file.is_named));
        }
        Some(paths)
    }
}

/// Makes the log of a run.
#[derive(Debug, Default)]
pub struct ReadLogger {
    log: ReadLog,
    began_ns: u64,
    n_bytes: usize,
    numbers: FastMap<FileKey, Option<u32>>,
    read: FastMap<FileKey, RangeMap<()>>,
    n_ranges: usize,
    last_path: String,
    /// The pages that were read last.
    last: Option<(FileKey, Range<u64>)>,
}

/// What the logger has to know of a file.
pub struct LoggedPath<'a> {
    /// The whole path.
    pub path: &'a str,
    /// Whether the command names it.
    pub is_named: bool,
}

impl ReadLogger {
    /// At the beginning of a run.
    pub fn new(began_ns: u64) -> ReadLogger {
        ReadLogger { began_ns, ..ReadLogger::default() }
    }

    /// Takes in a read; whether it is the first one of any of its bytes. `describe` is
    /// asked once for each file; it has no answer for those that are no data.
    pub fn observe<'a>(
        &mut self,
        read: &ObservedRead,
        describe: impl FnOnce() -> Option<LoggedPath<'a>>,
    ) -> bool {
        let wanted = pages(&read.bytes);
        if let Some((file, last)) = &self.last
            && *file == read.file
            && last.start <= wanted.start
            && wanted.end <= last.end
        {
            return false;
        }
        let number = match self.numbers.get(&read.file) {
            Some(number) => *number,
            None => {
                let number = describe().and_then(|described| self.add_file(&described));
                if self.numbers.len() < MAX_READS {
                    self.numbers.insert(read.file, number);
                }
                number
            }
        };
        let Some(number) = number else { return false };
        let ranges = self.read.entry(read.file).or_default();
        let gaps = ranges.gaps(wanted.clone());
        self.last = Some((read.file, wanted.clone()));
        if gaps.is_empty() {
            return false;
        }
        let n_before = ranges.len();
        if self.n_ranges >= MAX_READS {
            return true;
        }
        ranges.insert(wanted, ());
        self.n_ranges = self.n_ranges + ranges.len() - n_before;
        let at_us = read.start_ns.saturating_sub(self.began_ns) / 1000;
        let at_us = u32::try_from(at_us).unwrap_or(u32::MAX);
        gaps.into_iter().for_each(|gap| self.add(number, gap, at_us));
        true
    }

    /// The job writes to a file: what it reads of it later is its own.
    pub fn exclude(&mut self, file: FileKey) {
        if self.numbers.len() < MAX_READS {
            self.numbers.entry(file).or_insert(None);
        }
    }

    /// What was read.
    pub fn finish(self) -> ReadLog {
        self.log
    }

    fn add(&mut self, file: u32, bytes: Range<u64>, at_us: u32) {
        let length = bytes.end - bytes.start;
        if let Some(last) = self.log.reads.last_mut()
            && last.file == file
            && last.start + last.bytes == bytes.start
            && last.bytes + length <= MAX_READ_BYTES
        {
            last.bytes += length;
            return;
        }
        if self.log.reads.len() < MAX_READS && self.n_bytes + READ_BYTES <= MAX_LOG_BYTES {
            self.n_bytes += READ_BYTES;
            self.log.reads.push(LoggedRead { file, start: bytes.start, bytes: length, at_us });
        }
    }

    fn add_file(&mut self, described: &LoggedPath) -> Option<u32> {
        let LoggedPath { path, is_named } = *described;
        let same = path.bytes().zip(self.last_path.bytes()).take_while(|(a, b)| a == b).count();
        let mut n_shared = same.min(usize::from(u16::MAX));
        while !path.is_char_boundary(n_shared) {
            n_shared -= 1;
        }
        let rest = &path[n_shared..];
        if self.n_bytes + rest.len() + NAME_BYTES + READ_BYTES > MAX_LOG_BYTES {
            return None;
        }
        self.n_bytes += rest.len() + NAME_BYTES;
        let (n_shared, rest) = (n_shared as u16, rest.into());
        self.log.files.push(LoggedFile { n_shared, rest, is_named });
        path.clone_into(&mut self.last_path);
        Some(self.log.files.len() as u32 - 1)
    }
}

/// Follows a run in the log of an earlier one.
#[derive(Debug)]
pub struct LogFollower {
    /// Reads of files that this run may read.
    reads: Vec<FollowedRead>,
    /// The reads of each file by their start.
    by_file: FastMap<FileKey, Vec<usize>>,
    /// The first read that is not behind the program, and the first one that is not planned.
    position: usize,
    next: usize,
    /// When the program was there, in this run and in the earlier one.
    reached_ns: u64,
    reached_at_us: u32,
    /// Reads that the log had there, and others; older ones count less.
    right: f64,
    wrong: f64,
    /// Where the last read stands that the log has elsewhere, and how many came one behind
    /// the other like it.
    elsewhere: Option<(usize, u32)>,
}

#[derive(Clone, Debug)]
struct FollowedRead {
    file: FileKey,
    storage: StorageKey,
    bytes: Range<u64>,
    at_us: u32,
}

impl LogFollower {
    /// At the beginning of a run; `key_of` numbers files that the run may read, by path and
    /// whether the command of the earlier run named them.
    pub fn new(
        log: &ReadLog,
        began_ns: u64,
        mut key_of: impl FnMut(&str, bool) -> Option<(FileKey, StorageKey)>,
    ) -> LogFollower {
        let paths = log.paths().unwrap_or_default();
        let files: Vec<_> = paths.iter().map(|(path, is_named)| key_of(path, *is_named)).collect();
        let mut reads = Vec::with_capacity(log.reads.len());
        let mut by_file: FastMap<FileKey, Vec<usize>> = FastMap::default();
        for read in &log.reads {
            let Some(Some((file, storage))) = files.get(read.file as usize) else { continue };
            by_file.entry(*file).or_default().push(reads.len());
            let bytes = read.start..read.start + read.bytes;
            reads.push(FollowedRead { file: *file, storage: *storage, bytes, at_us: read.at_us });
        }
        by_file.values_mut().for_each(|its| its.sort_by_key(|read| reads[*read].bytes.start));
        LogFollower {
            reads,
            by_file,
            position: 0,
            next: 0,
            reached_ns: began_ns,
            reached_at_us: 0,
            right: ASSUMED.0,
            wrong: ASSUMED.1,
            elsewhere: None,
        }
    }

    /// Takes in the first read of some bytes; whether the log has it about there.
    pub fn observe(&mut self, read: &ObservedRead) -> bool {
        let place = self.find(read.file, read.bytes.start);
        let near = self.position.saturating_sub(REACH)..self.position + REACH;
        let mut is_right = place.is_some_and(|place| near.contains(&place));
        if let Some(place) = place.filter(|_| !is_right) {
            let n_in_row = match self.elsewhere {
                Some((last, n)) if (last..last + REACH).contains(&place) => n + 1,
                _ => 1,
            };
            self.elsewhere = Some((place, n_in_row));
            is_right = n_in_row >= FOUND_AGAIN;
            if is_right {
                (self.position, self.next) = (place, place);
            }
        }
        if let Some(place) = place.filter(|_| is_right) {
            self.elsewhere = None;
            if place >= self.position {
                self.position = place + 1;
                (self.reached_ns, self.reached_at_us) = (read.start_ns, self.reads[place].at_us);
            }
        }
        *(if is_right { &mut self.right } else { &mut self.wrong }) += 1.0;
        if self.right + self.wrong > REMEMBERED {
            (self.right, self.wrong) = (self.right / 2.0, self.wrong / 2.0);
        }
        is_right
    }

    /// What comes that is not planned yet.
    pub fn ahead(&self, now_ns: u64) -> impl Iterator<Item = ExpectedRead> {
        let since_ns = now_ns.saturating_sub(self.reached_ns);
        let probability = self.right / (self.right + self.wrong);
        let first = match probability < MIN_PROBABILITY {
            true => self.reads.len(),
            false => self.next.max(self.position),
        };
        let reads = self.reads.get(first..).unwrap_or(&[]);
        reads.iter().map(move |read| {
            let ahead_us = read.at_us.saturating_sub(self.reached_at_us);
            ExpectedRead {
                file: read.file,
                storage: read.storage,
                bytes: read.bytes.clone(),
                in_ns: (u64::from(ahead_us) * 1000).saturating_sub(since_ns),
                probability,
                source: PredictionSource::Model,
            }
        })
    }

    /// So many of the reads [`ahead`](LogFollower::ahead) were dealt with.
    pub fn take_planned(&mut self, n_planned: usize) {
        self.next = self.next.max(self.position) + n_planned;
    }

    /// The read of the log that holds a byte.
    fn find(&self, file: FileKey, byte: u64) -> Option<usize> {
        let its = self.by_file.get(&file)?;
        let behind = its.partition_point(|read| self.reads[*read].bytes.start <= byte);
        let place = its[behind.checked_sub(1)?];
        self.reads[place].bytes.contains(&byte).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 65_536;

    fn read(file: u32, start: u64, at_ns: u64) -> ObservedRead {
        ObservedRead {
            file: FileKey(file),
            storage: StorageKey::default(),
            bytes: start..start + SIZE,
            site: 1,
            start_ns: at_ns,
            end_ns: at_ns + 10,
            expected: None,
        }
    }

    fn path(file: u32) -> String {
        format!("/data/sample-{file}é")
    }

    /// Two reads of each file in this order.
    fn log(files: &[u32]) -> ReadLog {
        let mut logger = ReadLogger::new(0);
        for (n, file) in files.iter().enumerate() {
            let path = path(*file);
            let describe = || Some(LoggedPath { path: &path, is_named: *file > 900 });
            let at_ns = n as u64 * 1_000_000;
            assert!(logger.observe(&read(*file, 0, at_ns), describe));
            assert!(!logger.observe(&read(*file, 0, at_ns), || None));
            assert!(logger.observe(&read(*file, 1 << 22, at_ns), || None));
        }
        logger.finish()
    }

    fn follower(log: &ReadLog) -> LogFollower {
        LogFollower::new(log, 0, |path, is_named| {
            let number = path.trim_start_matches("/data/sample-").trim_end_matches('é');
            (!is_named).then(|| (FileKey(number.parse().unwrap()), StorageKey::default()))
        })
    }

    fn ahead(follower: &LogFollower) -> Vec<u32> {
        follower.ahead(0).step_by(2).map(|read| read.file.0).collect()
    }

    #[test]
    fn any_order_is_expected_again_from_the_start_and_survives_saving() {
        let log = log(&[7, 93, 12, 950, 44]);
        let log = ReadLog::decode(&log.encode().unwrap()).unwrap();
        let mut follower = follower(&log);
        // A file that the command named, and does not name now, is left out.
        assert_eq!(ahead(&follower), [7, 93, 12, 44]);
        let due: Vec<u64> = follower.ahead(500_000).step_by(2).map(|read| read.in_ns).collect();
        assert_eq!(due, [0, 500_000, 1_500_000, 3_500_000]);
        follower.take_planned(4);
        assert_eq!(ahead(&follower), [12, 44]);
        for file in [7, 93, 12] {
            assert!(
                follower.observe(&read(file, 0, 0)) && follower.observe(&read(file, 1 << 22, 0))
            );
        }
        assert_eq!(ahead(&follower), [44]);
    }

    #[test]
    fn another_order_is_not_trusted_and_a_place_is_found_again() {
        let files: Vec<u32> = (0..900).collect();
        let mut follower = follower(&log(&files));
        for n in 0..20 {
            follower.observe(&read((n * 557 + 300) % 900, 0, 0));
        }
        assert_eq!(follower.ahead(0).count(), 0);
        for file in 600..610 {
            follower.observe(&read(file, 0, 0));
            follower.observe(&read(file, 1 << 22, 0));
        }
        assert_eq!(ahead(&follower)[0], 610);
        (610..640).for_each(|file| assert!(follower.observe(&read(file, 0, 0))));
        assert!(follower.ahead(0).count() > 0);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_log_that_can_be_followed_or_none(bytes: Vec<u8>, at in 0usize..200) {
            let mut sound = log(&[7, 93, 12]).encode().unwrap();
            let place = at.min(sound.len());
            sound.splice(place.., bytes.iter().copied());
            for bytes in [&bytes, &sound] {
                let Some(log) = ReadLog::decode(bytes) else { continue };
                let mut follower =
                    LogFollower::new(&log, 0, |_, _| Some((FileKey(1), StorageKey::default())));
                follower.observe(&read(1, 0, 0));
                let n_ahead = follower.ahead(0).count();
                follower.take_planned(n_ahead);
                assert_eq!(follower.ahead(0).count(), 0);
            }
        }
    }

    #[test]
    fn a_log_is_bounded_and_nonsense_is_none() {
        let mut logger = ReadLogger::new(0);
        for n in 0..3 * MAX_READS as u32 {
            let path = path(n);
            logger.observe(&read(n, 0, 0), || Some(LoggedPath { path: &path, is_named: false }));
        }
        let log = logger.finish();
        let bytes = log.encode().unwrap();
        assert!(log.reads.len() > 10_000 && bytes.len() <= MAX_LOG_BYTES);
        assert!(ReadLog::decode(&bytes[..bytes.len() / 2]).is_none());
        let far = ReadLog { files: Vec::new(), ..log };
        assert!(ReadLog::decode(&far.encode().unwrap()).is_none());
        assert!(ReadLog::default().encode().is_none());
    }
}
