// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which process or thread waits for which.

use std::collections::BTreeMap;

use ioracle_events::{FastMap, FileId, Function};

/// Writes of one file that are looked at, from the last one back, for the one that
/// a read depends on.
const MAX_LOOKED_AT: usize = 64;

/// Calls that are this far apart did not meet: each rank made its own, one after the
/// other, and to wait for the later one could be to wait for ever. The clocks of two
/// nodes differ by less.
const MAX_SKEW_NS: u64 = 10_000_000;

/// A place in a plan: process, stream and step, by the places they have while the
/// plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub process: u32,
    pub stream: u32,
    /// When the step begins, which is what steps are sorted by.
    pub time_ns: u64,
}

/// Bytes of a file that a process wrote; none for its creation.
#[derive(Clone, Copy, Debug)]
struct Made {
    end_ns: u64,
    start: u64,
    end: u64,
    place: Place,
}

/// Bytes of a file that a process needs.
#[derive(Clone, Copy, Debug)]
struct Needed {
    file: FileId,
    /// `None` if it only must be there.
    extent: Option<(u64, u64)>,
    place: Place,
}

/// Collects what processes make, need and do together.
#[derive(Default)]
pub(super) struct Order {
    made: FastMap<FileId, Vec<Made>>,
    needed: Vec<Needed>,
    /// Where collective calls begin and end, by file, function and how many there were
    /// before.
    together: BTreeMap<(FileId, Function, u32), Vec<(Place, Place)>>,
    counts: FastMap<(u32, FileId, Function), u32>,
}

/// A signal, who gives it and who waits for it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SignalUse {
    /// After the steps at these places, or with them in collective calls.
    pub given_at: Vec<Place>,
    pub awaited_at: Vec<Place>,
    /// When what is waited for was done, in the recorded run.
    pub done_ns: u64,
    pub purpose: SignalPurpose,
}

/// What a signal is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SignalPurpose {
    /// One process or thread needs what another has made.
    #[default]
    Data,
    /// All begin a collective call.
    CollectiveBegin,
    /// All end it: a rank that only hands its data over returns when those who write
    /// it are done.
    CollectiveEnd,
}

impl SignalUse {
    /// One that tells that the step at a place is done.
    pub(super) fn of(giver: Place, done_ns: u64) -> SignalUse {
        SignalUse { given_at: vec![giver], done_ns, ..SignalUse::default() }
    }
}

impl Order {
    pub(super) fn make(&mut self, file: FileId, extent: (u64, u64), end_ns: u64, place: Place) {
        let (start, end) = extent;
        self.made.entry(file).or_default().push(Made { end_ns, start, end, place });
    }

    pub(super) fn need(&mut self, file: FileId, extent: Option<(u64, u64)>, place: Place) {
        self.needed.push(Needed { file, extent, place });
    }

    pub(super) fn collective(
        &mut self,
        file: FileId,
        function: Function,
        begin: Place,
        end_ns: u64,
    ) {
        let count = self.counts.entry((begin.process, file, function)).or_default();
        *count += 1;
        let end = Place { time_ns: end_ns, ..begin };
        self.together.entry((file, function, *count)).or_default().push((begin, end));
    }

    /// The signals that keep the order.
    pub(super) fn signals(mut self) -> Vec<SignalUse> {
        let is_meeting = |places: &Vec<(Place, Place)>| {
            let first = places.iter().map(|(begin, _)| begin.process).next();
            let last_begin = places.iter().map(|(begin, _)| begin.time_ns).max().unwrap_or(0);
            let first_end = places.iter().map(|(_, end)| end.time_ns).min().unwrap_or(0);
            places.iter().any(|(begin, _)| Some(begin.process) != first)
                && last_begin <= first_end.saturating_add(MAX_SKEW_NS)
        };
        let meeting = |places: Vec<Place>, purpose| SignalUse {
            given_at: places.clone(),
            awaited_at: places,
            done_ns: 0,
            purpose,
        };
        let mut signals: Vec<SignalUse> = Vec::new();
        for places in self.together.into_values().filter(is_meeting) {
            let (begins, ends) = places.into_iter().unzip();
            signals.push(meeting(begins, SignalPurpose::CollectiveBegin));
            signals.push(meeting(ends, SignalPurpose::CollectiveEnd));
        }
        self.made.values_mut().for_each(|made| made.sort_by_key(|made| made.end_ns));
        self.needed.sort_by_key(|needed| needed.place.time_ns);
        let mut of_place: BTreeMap<Place, usize> = BTreeMap::new();
        // The latest write of each other stream that a stream has waited for.
        let mut waited: FastMap<(u32, u32, u32, u32), u64> = FastMap::default();
        for needed in self.needed {
            let Some(made) = self.made.get(&needed.file) else { continue };
            let n_before = made.partition_point(|made| made.end_ns <= needed.place.time_ns);
            let matches = |made: &&Made| match needed.extent {
                Some((start, end)) => made.start < end && start < made.end,
                None => true,
            };
            let looked_at = made[..n_before].iter().rev().take(MAX_LOOKED_AT);
            let Some(found) = looked_at.into_iter().find(matches) else { continue };
            let is_own = found.place.stream == needed.place.stream;
            if is_own && found.place.process == needed.place.process {
                continue;
            }
            let (giver, waiter) = (found.place, needed.place);
            let pair = (giver.process, giver.stream, waiter.process, waiter.stream);
            let last = waited.entry(pair).or_default();
            if *last >= giver.time_ns && *last > 0 {
                continue;
            }
            *last = giver.time_ns;
            let number = *of_place.entry(giver).or_insert_with(|| {
                signals.push(SignalUse::of(giver, found.end_ns));
                signals.len() - 1
            });
            signals[number].awaited_at.push(waiter);
        }
        signals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(process: u32, time_ns: u64) -> Place {
        Place { process, stream: 0, time_ns }
    }

    #[test]
    fn who_reads_what_another_wrote_waits_for_it_once() {
        let (mut order, file) = (Order::default(), FileId(1));
        order.make(file, (0, 100), 20, place(0, 10));
        order.need(file, Some((50, 60)), place(1, 30));
        order.need(file, Some((60, 70)), place(1, 40));
        order.need(file, Some((200, 300)), place(1, 50));
        // Before it was written, and by the writer itself.
        order.need(file, Some((0, 10)), place(2, 15));
        order.need(file, Some((0, 10)), place(0, 60));
        // Another thread of the writer waits too.
        let other = Place { stream: 1, ..place(0, 35) };
        order.need(file, Some((0, 10)), other);
        let signals = order.signals();
        assert_eq!(signals.len(), 1);
        assert_eq!(signals[0].given_at, [place(0, 10)]);
        assert_eq!(signals[0].awaited_at, [place(1, 30), other]);
        assert_eq!(signals[0].done_ns, 20);
    }

    #[test]
    fn collective_calls_wait_for_all_who_make_them() {
        let (mut order, file) = (Order::default(), FileId(1));
        for process in 0..3 {
            order.collective(file, Function::MpiWriteAll, place(process, 10), 15);
            order.collective(FileId(9 + process), Function::MpiWriteAll, place(process, 20), 25);
        }
        let signals = order.signals();
        assert_eq!(signals.len(), 2);
        assert_eq!(signals[0].given_at.len(), 3);
        assert_eq!(signals[1].awaited_at[2], place(2, 15));
        let mut order = Order::default();
        order.collective(file, Function::MpiOpen, place(0, 10), 15);
        order.collective(file, Function::MpiOpen, place(1, 1_000_000_000), 1_000_000_005);
        assert!(order.signals().is_empty());
    }
}
