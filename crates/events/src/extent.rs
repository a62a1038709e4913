// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bytes of files that calls of libraries turned into.
//!
//! A program reads a variable; the library reads bytes of the file for it, at places
//! that only the library knows. Both are events of the same stream, the second nested
//! in the first. [`AccessExtents`] puts them together, so that knowing which variable
//! comes next means knowing which bytes do.

use crate::event::{Event, FileId, StreamId};
use crate::map::FastMap;
use ioracle_functions::{Access, Layer};

/// A range of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// The file.
    pub file: FileId,
    /// Its first byte.
    pub offset: u64,
    /// How many bytes; never 0 in a set.
    pub length: u64,
}

impl Extent {
    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Ranges of bytes, ordered by file and offset; none touches another.
///
/// There are at most [`ExtentSet::MAX_EXTENTS`]. Beyond, the two that are closest in one
/// file become one that holds the bytes between them as well; ranges of still more files
/// are left out. Both make the set [inexact](ExtentSet::is_exact).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtentSet {
    extents: Vec<Extent>,
    is_inexact: bool,
}

impl ExtentSet {
    /// The most ranges that a set holds.
    pub const MAX_EXTENTS: usize = 64;

    /// Adds a range.
    pub fn add(&mut self, added: Extent) {
        if added.length == 0 {
            return;
        }
        let is_before = |other: &Extent| (other.file, other.end()) < (added.file, added.offset);
        let first = self.extents.partition_point(is_before);
        let n_touched = self.extents[first..]
            .iter()
            .take_while(|other| (other.file, other.offset) <= (added.file, added.end()))
            .count();
        let touched = &self.extents[first..first + n_touched];
        let offset = touched.iter().fold(added.offset, |low, other| low.min(other.offset));
        let end = touched.iter().fold(added.end(), |high, other| high.max(other.end()));
        let union = Extent { file: added.file, offset, length: end - offset };
        self.extents.splice(first..first + n_touched, [union]);
        if self.extents.len() > ExtentSet::MAX_EXTENTS {
            self.join_closest();
        }
    }

    /// Adds all ranges of another set.
    pub fn add_all(&mut self, other: &ExtentSet) {
        other.extents.iter().for_each(|extent| self.add(*extent));
        self.is_inexact |= other.is_inexact;
    }

    /// The ranges, by file and offset.
    pub fn as_slice(&self) -> &[Extent] {
        &self.extents
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Bytes in all ranges.
    pub fn n_bytes(&self) -> u64 {
        self.extents.iter().fold(0, |sum, extent| sum.saturating_add(extent.length))
    }

    /// Whether the set holds all bytes that were added, and no others.
    pub fn is_exact(&self) -> bool {
        !self.is_inexact
    }

    fn join_closest(&mut self) {
        self.is_inexact = true;
        let gap = |place: usize| {
            let (low, high) = (self.extents.get(place)?, self.extents.get(place + 1)?);
            (low.file == high.file).then(|| high.offset.saturating_sub(low.end()))
        };
        let closest = (0..self.extents.len()).filter_map(|place| Some((gap(place)?, place))).min();
        match closest {
            Some((_, place)) => {
                let high = self.extents.remove(place + 1);
                if let Some(low) = self.extents.get_mut(place) {
                    low.length = high.end() - low.offset;
                }
            }
            None => drop(self.extents.pop()),
        }
    }
}

/// A call of a library by the program itself, and the bytes it turned into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryAccess {
    /// The call: an access to a [variable](Event::variable), or another one that moves
    /// bytes, such as an open, which reads the header, or a close, which writes it.
    pub event: Event,
    /// What was read from files inside it.
    pub read: ExtentSet,
    /// What was written to files inside it.
    pub written: ExtentSet,
}

/// Puts the calls of HDF5, netCDF and PnetCDF together with the POSIX and stdio data
/// calls nested in them, live and from traces alike.
///
/// Give [`push`](AccessExtents::push) all events of a source in their order; it hands out
/// each call of a library when the next event shows that it is complete. A call that was
/// answered from the library's cache has no extents. Of a call of several parts (one wait
/// for many requests), the first has the extents of all.
///
/// Memory: one call per stream, for [`AccessExtents::MAX_STREAMS`] streams at most; calls
/// of streams beyond are left out.
#[derive(Clone, Debug, Default)]
pub struct AccessExtents {
    streams: FastMap<StreamId, OpenAccess>,
}

#[derive(Clone, Debug, Default)]
struct OpenAccess {
    /// The call of a library that may not be complete.
    call: Option<Event>,
    read: ExtentSet,
    written: ExtentSet,
    /// When the first data call started that belongs to a call still to come: a source
    /// that shows nested calls at once shows them before the one around them.
    early_ns: Option<u64>,
}

impl AccessExtents {
    /// Streams that are followed at a time.
    pub const MAX_STREAMS: usize = 1 << 16;

    /// Takes the next event of a source, and hands the call that is now complete to
    /// `emit`.
    pub fn push(&mut self, event: &Event, emit: impl FnOnce(LibraryAccess)) {
        let is_plain = event.depth == 0 && event.function.layer() != Layer::HighLevel;
        if is_plain && self.streams.is_empty() {
            // A program without such libraries pays nothing.
            return;
        }
        if !self.streams.contains_key(&event.stream)
            && self.streams.len() >= AccessExtents::MAX_STREAMS
        {
            return;
        }
        let stream = self.streams.entry(event.stream).or_default();
        if event.depth == 0 || stream.is_over_before(event) {
            stream.emit(emit);
        }
        if event.depth == 0 {
            stream.begin(event);
        } else {
            stream.add(event);
        }
    }

    /// A stream has ended: its last call is complete.
    pub fn end_stream(&mut self, stream: StreamId, emit: impl FnOnce(LibraryAccess)) {
        if let Some(mut stream) = self.streams.remove(&stream) {
            stream.emit(emit);
        }
    }

    /// The source has ended: so have all streams, in the order of their numbers.
    pub fn finish(&mut self, mut emit: impl FnMut(LibraryAccess)) {
        let mut streams: Vec<(StreamId, OpenAccess)> = self.streams.drain().collect();
        streams.sort_by_key(|(id, _)| *id);
        streams.iter_mut().for_each(|(_, stream)| stream.emit(&mut emit));
    }
}

impl OpenAccess {
    /// Whether the call had ended when a nested one began.
    fn is_over_before(&self, event: &Event) -> bool {
        self.call.as_ref().is_some_and(|call| event.start_ns > call.end_ns)
    }

    fn emit(&mut self, emit: impl FnOnce(LibraryAccess)) {
        if let Some(event) = self.call.take() {
            let (read, written) =
                (std::mem::take(&mut self.read), std::mem::take(&mut self.written));
            emit(LibraryAccess { event, read, written });
        }
    }

    /// A call of the program itself has come.
    fn begin(&mut self, event: &Event) {
        // What came before it belongs to it if it was made inside it.
        let is_around = self.early_ns.take().is_some_and(|start_ns| event.start_ns <= start_ns);
        if !is_around {
            (self.read, self.written) = Default::default();
        }
        self.call = (event.function.layer() == Layer::HighLevel).then(|| event.clone());
    }

    /// A call inside another one has come.
    fn add(&mut self, event: &Event) {
        let is_request = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
        let length = event.transferred();
        let Some(offset) = event.offset.filter(|_| is_request && length > 0) else { return };
        if self.call.is_none() {
            let start_ns = self.early_ns.unwrap_or(u64::MAX).min(event.start_ns);
            self.early_ns = Some(start_ns);
        }
        let set = match event.function.access() {
            Access::Read => &mut self.read,
            _ => &mut self.written,
        };
        set.add(Extent { file: event.file, offset, length });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;
    use ioracle_functions::Function;

    fn extent(offset: u64, length: u64) -> Extent {
        Extent { file: FileId(1), offset, length }
    }

    fn set(ranges: &[(u64, u64)]) -> ExtentSet {
        let mut set = ExtentSet::default();
        ranges.iter().for_each(|&(offset, length)| set.add(extent(offset, length)));
        set
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let check = |ranges: &[(u64, u64)], expected: &[(u64, u64)]| {
            let expected: Vec<Extent> = expected.iter().map(|&(at, n)| extent(at, n)).collect();
            assert_eq!(set(ranges).as_slice(), expected, "{ranges:?}");
        };
        check(&[(0, 8), (8, 8)], &[(0, 16)]);
        check(&[(8, 8), (0, 8)], &[(0, 16)]);
        check(&[(0, 4), (8, 4), (2, 7)], &[(0, 12)]);
        check(&[(0, 4), (20, 4), (10, 2)], &[(0, 4), (10, 2), (20, 4)]);
        check(&[(0, 100), (10, 2)], &[(0, 100)]);
        check(&[(5, 0)], &[]);
        check(&[(u64::MAX - 1, 9)], &[(u64::MAX - 1, 1)]);
    }

    /// The set holds the bytes that were added, whatever the order, as a list of bytes does.
    #[test]
    fn a_set_holds_what_was_added() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let ranges: Vec<(u64, u64)> = (0..20).map(|_| (random(400), random(12))).collect();
            let bytes: std::collections::BTreeSet<u64> =
                ranges.iter().flat_map(|&(at, n)| at..at + n).collect();
            let set = set(&ranges);
            let held = set.as_slice().iter().flat_map(|extent| extent.offset..extent.end());
            assert!(held.eq(bytes.iter().copied()), "{ranges:?}");
            assert!(set.is_exact() && set.n_bytes() == bytes.len() as u64);
        }
    }

    #[test]
    fn of_too_many_ranges_the_closest_are_joined() {
        let most = ExtentSet::MAX_EXTENTS as u64;
        let mut ranges: Vec<(u64, u64)> = (0..most).map(|n| (n * 100, 10)).collect();
        assert!(set(&ranges).is_exact());
        ranges.push((15, 5));
        let set = set(&ranges);
        assert_eq!((set.as_slice().len() as u64, set.is_exact()), (most, false));
        assert_eq!(set.as_slice().first(), Some(&extent(0, 20)));

        let mut files = ExtentSet::default();
        let in_file = |file| Extent { file: FileId(file), offset: 0, length: 1 };
        (0..1000).for_each(|file| files.add(in_file(file)));
        assert_eq!((files.as_slice().len() as u64, files.is_exact()), (most, false));
    }

    /// Calls as `depth name start end offset:length`; what comes of them.
    fn check(calls: &[&str], expected: &[&str]) {
        let mut extents = AccessExtents::default();
        let mut found = Vec::new();
        let mut emit = |access: LibraryAccess| {
            let ranges = |set: &ExtentSet| {
                let ranges = set.as_slice().iter();
                ranges.map(|it| format!("{}+{}", it.offset, it.length)).collect::<Vec<_>>()
            };
            let (read, written) = (ranges(&access.read), ranges(&access.written));
            let name = access.event.function.name();
            found.push(format!("{name} r[{}] w[{}]", read.join(" "), written.join(" ")));
        };
        for call in calls {
            let words: Vec<&str> = call.split(' ').collect();
            let number = |place: usize| words[place].parse::<u64>().expect(call);
            let (offset, length) = words[4].split_once(':').expect(call);
            let function = Function::named(words[1]).expect(call);
            let event = Event {
                depth: number(0) as u32,
                start_ns: number(2),
                end_ns: number(3),
                offset: offset.parse().ok(),
                result: length.parse().expect(call),
                detail: "x".into(),
                ..event(function)
            };
            extents.push(&event, &mut emit);
        }
        extents.finish(&mut emit);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_call_of_a_library_has_the_bytes_of_the_calls_inside_it() {
        check(
            &[
                "0 nc_open 0 9 :0",
                "1 pread 1 2 0:1024",
                "0 nc_get_vara 10 19 :0",
                "1 H5Dread 11 19 :0",
                "2 pread 12 13 4096:512",
                "2 pread 14 15 4608:512",
                "0 nc_get_vara 20 21 :0",
                "0 pread 22 23 0:8",
                "0 nc_close 30 39 :0",
                "1 pwrite 31 32 0:16",
            ],
            &[
                "nc_open r[0+1024] w[]",
                "nc_get_vara r[4096+1024] w[]",
                "nc_get_vara r[] w[]",
                "nc_close r[] w[0+16]",
            ],
        );
    }

    #[test]
    fn calls_that_are_shown_before_the_one_around_them_belong_to_it() {
        check(
            &[
                "1 pread 1 2 0:8",
                "1 pread 3 4 8:8",
                "0 nc_get_var 0 5 :0",
                "1 pread 11 12 64:8",
                "0 nc_get_var 10 15 :0",
            ],
            &["nc_get_var r[0+16] w[]", "nc_get_var r[64+8] w[]"],
        );
    }

    #[test]
    fn calls_that_moved_nothing_have_no_extent() {
        check(
            &["0 H5Dread 0 9 :0", "1 pread 1 2 0:0", "1 pread 2 3 0:-1", "1 read 3 4 :5"],
            &["H5Dread r[] w[]"],
        );
    }
}
