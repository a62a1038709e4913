// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to do about slow I/O: rules over what was measured.
//!
//! Each rule names a file, a figure and a remedy, and speaks only where the
//! time it is about matters: a hundredth of the run and a tenth of all time in
//! I/O. So a program that spends its time elsewhere hears nothing.

mod code;
mod libraries;

use ioracle_events::FileId;

use super::summary::Advice;
use super::tally::{Accesses, FileTally, Tally};
use super::variables::Series;
use crate::shared::numbers::{bytes, grouped, seconds};

/// Pieces of advice that are given.
const MAX_ADVICE: usize = 4;
/// Calls below which a habit cannot be told.
const MANY: u64 = 100;

/// Syncs below which a file is only made safe.
const SEVERAL_SYNCS: u64 = 16;

/// What the rules look at.
pub struct Measured<'a> {
    pub tally: &'a Tally,
    pub series: &'a [Series],
    pub path: &'a dyn Fn(FileId) -> String,
    pub wall_s: f64,
    /// Bytes written and time taken by each rank seen, in order.
    pub ranks: &'a [(u32, u64, u64)],
}

/// All that matters, what took most time first.
pub fn advise(measured: &Measured) -> Vec<Advice> {
    let mut advice: Vec<Advice> = Vec::new();
    for (&file, tally) in &measured.tally.files {
        advice.extend(RULES.iter().filter_map(|rule| {
            let (kind, io_ns, seen, remedy) = rule(tally)?;
            measured.matters(io_ns).then(|| {
                let path = (measured.path)(file);
                let sentence =
                    format!("{seen} of '{path}' took {}: {remedy}", measured.time(io_ns));
                Advice { kind, path: Some(path), io_time_s: io_ns as f64 * 1e-9, sentence }
            })
        }));
    }
    advice.extend(libraries::advise(measured));
    advice.extend(many_files(measured));
    advice.extend(one_rank_writes(measured));
    advice.sort_by(|a, b| {
        b.io_time_s.total_cmp(&a.io_time_s).then_with(|| a.sentence.cmp(&b.sentence))
    });
    advice.truncate(MAX_ADVICE);
    advice
}

impl Measured<'_> {
    fn matters(&self, io_ns: u64) -> bool {
        io_ns as f64 * 1e-9 >= 0.01 * self.wall_s && io_ns as f64 >= 0.1 * self.tally.io_ns as f64
    }

    /// A time and what share it is: of the run, or where several threads have spent
    /// time at once, of the time of all of them.
    fn time(&self, io_ns: u64) -> String {
        let io_time_s = io_ns as f64 * 1e-9;
        let n_busy = self.tally.streams.values().filter(|stream| stream.io_ns > 0).count();
        let (all_s, what) = match n_busy {
            0 | 1 => (self.wall_s, "the run"),
            _ => (self.tally.io_ns as f64 * 1e-9, "all time in I/O"),
        };
        let share = 100.0 * io_time_s / all_s.max(1e-9);
        format!("{} ({share:.0} % of {what})", seconds(Some(io_time_s)))
    }
}

/// Kind, time, what was seen, what to do.
type Finding = (&'static str, u64, String, &'static str);

/// Rules on one file, each on time of its own.
const RULES: [fn(&FileTally) -> Option<Finding>; 4] = [writes, reads, syncs, reopened];

/// The first of these that holds: a buffer does not help against jumps.
fn writes(file: &FileTally) -> Option<Finding> {
    let accesses = &file.written;
    if accesses.is_scattered() {
        let small = small(accesses, "write", "at scattered places")?;
        return Some(("scattered_writes", accesses.small.io_ns, small, "write in order"));
    }
    let remedy = "collect them in a buffer of some 100 KB (setvbuf, or a buffered writer)";
    Some(("small_writes", accesses.small.io_ns, small(accesses, "write", "on average")?, remedy))
}

fn reads(file: &FileTally) -> Option<Finding> {
    let accesses = &file.read;
    if accesses.is_scattered() {
        let seen = format!("{} reads at scattered places", grouped(accesses.jumps.operations));
        let remedy = "read it in order, or in one piece if it fits into memory";
        return Some(("scattered_reads", accesses.jumps.io_ns, seen, remedy));
    }
    let remedy = "read larger pieces at once (setvbuf, or a buffered reader)";
    let small = small(accesses, "read", "on average");
    small
        .map(|seen| ("small_reads", accesses.small.io_ns, seen, remedy))
        .or_else(|| read_again(accesses))
}

fn small(accesses: &Accesses, word: &str, how: &str) -> Option<String> {
    let small = accesses.small;
    if small.operations < MANY || small.operations * 5 < accesses.moved.operations * 4 {
        return None;
    }
    let mean = small.mean_bytes();
    Some(format!("{} {word}s of {} {how}", grouped(small.operations), bytes(mean)))
}

fn syncs(file: &FileTally) -> Option<Finding> {
    (file.syncs >= SEVERAL_SYNCS).then(|| {
        let seen = format!("{} syncs", grouped(file.syncs));
        let remedy = "if they are not all needed for crash safety (those of a database are), sync \
                      once, after the last write of a step";
        ("syncs", file.sync_ns, seen, remedy)
    })
}

fn reopened(file: &FileTally) -> Option<Finding> {
    (file.opens >= MANY).then(|| {
        let seen = format!("opening and closing {} times", grouped(file.opens));
        ("reopened", file.metadata_ns, seen, "keep it open between uses")
    })
}

fn read_again(accesses: &Accesses) -> Option<Finding> {
    let (read, extent) = (accesses.moved.bytes, accesses.extent_bytes());
    if read < 1 << 20 || extent == 0 || read < 2 * extent {
        return None;
    }
    let seen = format!(
        "reading {} out of {}, each byte {:.1} times,",
        bytes(read),
        bytes(extent),
        read as f64 / extent as f64
    );
    let again = 1.0 - extent as f64 / read as f64;
    let io_ns = (accesses.moved.io_ns as f64 * again) as u64;
    Some(("read_again", io_ns, seen, "keep what was read in memory"))
}

impl Accesses {
    /// Whether most go elsewhere than where the one before had ended.
    fn is_scattered(&self) -> bool {
        self.jumps.operations >= MANY && self.jumps.operations * 2 >= self.moved.operations
    }
}

/// Opening and closing takes most of the time, spread over many files that are
/// not code which is only read.
fn many_files(measured: &Measured) -> Option<Advice> {
    let tally = measured.tally;
    let is_data = |file: FileId, tally: &FileTally| {
        tally.written.moved.operations > 0 || !code::is_code(&(measured.path)(file))
    };
    let opened = tally.files.iter().filter(|(_, file)| file.opens > 0);
    let opened = opened.filter(|(id, file)| is_data(**id, file));
    let (n_opened, io_ns) = opened.fold((0_u64, 0_u64), |(n_opened, io_ns), (_, file)| {
        (n_opened + 1, io_ns.saturating_add(file.metadata_ns))
    });
    if n_opened < MANY || io_ns * 5 < tally.io_ns * 2 || !measured.matters(io_ns) {
        return None;
    }
    let sentence = format!(
        "opening and closing {} files took {}: put the data into fewer, larger files",
        grouped(n_opened),
        measured.time(io_ns)
    );
    Some(Advice { kind: "many_files", path: None, io_time_s: io_ns as f64 * 1e-9, sentence })
}

fn one_rank_writes(measured: &Measured) -> Option<Advice> {
    let all: u64 = measured.ranks.iter().map(|(_, bytes, _)| bytes).sum();
    let &(rank, most, io_ns) = measured.ranks.iter().max_by_key(|(_, bytes, _)| *bytes)?;
    if measured.ranks.len() < 2 || most < all / 10 * 9 || !measured.matters(io_ns) {
        return None;
    }
    let sentence = format!(
        "rank {rank} wrote {} of {} in all, which took {}: let all ranks write (MPI-IO)",
        bytes(most),
        bytes(all),
        measured.time(io_ns)
    );
    Some(Advice { kind: "one_rank_writes", path: None, io_time_s: io_ns as f64 * 1e-9, sentence })
}

#[cfg(test)]
pub mod tests {
    use ioracle_events::Event;

    use super::super::tally::tests::event;
    use super::super::variables::series;
    use super::*;

    pub fn advice(events: impl Iterator<Item = Event>, ranks: &[(u32, u64, u64)]) -> Vec<String> {
        advice_on(events, ranks, "")
    }

    /// The same for files whose names end so.
    fn advice_on(
        events: impl Iterator<Item = Event>,
        ranks: &[(u32, u64, u64)],
        ending: &str,
    ) -> Vec<String> {
        let mut tally = Tally::default();
        events.for_each(|event| tally.add(&event));
        let path = |file: FileId| format!("file{}{ending}", file.0);
        // Every event takes 10 µs.
        let series = series(&tally.variables, &path);
        let measured = Measured { tally: &tally, series: &series, path: &path, wall_s: 0.1, ranks };
        advise(&measured).into_iter().map(|advice| advice.sentence).collect()
    }

    fn check(events: impl Iterator<Item = Event>, expected: &str) {
        let given = advice(events, &[]);
        assert!(given.iter().any(|sentence| sentence.contains(expected)), "{given:?}");
    }

    #[test]
    fn a_habit_is_told_with_its_file_figure_and_remedy() {
        check(
            (0..1000).map(|n| event("write", 7, Some((n * 48, 48)))),
            "1,000 writes of 48 B on average of 'file7' took 10.0 ms (10 % of the run): collect",
        );
        check((0..500).map(|n| event("read", 1, Some((n * 8, 8)))), "500 reads of 8 B");
        check(
            (0..500).map(|n| event("pread", 1, Some((n * 7919 % 512 * 8192, 8192)))),
            "reads at scattered places of 'file1'",
        );
        check((0..200).map(|_| event("fsync", 1, None)), "200 syncs");
        check((0..200).map(|_| event("open", 1, None)), "opening and closing 200 times");
        check(
            (0..200).map(|n| event("pread", 1, Some((n % 2 * 65536, 65536)))),
            "reading 12.5 MB out of 128.0 KB, each byte 100.0 times",
        );
        check((0..200).map(|n| event("open", n, None)), "opening and closing 200 files");
    }

    #[test]
    fn scattered_accesses_are_told_once_and_not_to_be_buffered() {
        for (function, expected) in [("pread", "read it in order"), ("pwrite", "write in order")] {
            let events = (0..500).map(|n| event(function, 1, Some((n * 7919 % 512 * 8192, 48))));
            let given = advice(events, &[]);
            assert!(given.len() == 1 && given[0].contains(expected), "{given:?}");
        }
    }

    #[test]
    fn small_calls_of_stdio_count_where_they_are_not_collected() {
        let events = |ns: u64| {
            let end_ns = 1000 + ns;
            (0..5000).map(move |n| Event { end_ns, ..event("fprintf", 1, Some((n * 9, 9))) })
        };
        let given = advice(events(2000), &[]);
        assert!(
            given[0].contains("5,000 writes of 9 B") && given[0].contains("setvbuf"),
            "{given:?}"
        );
        assert_eq!(advice(events(200), &[]), Vec::<String>::new());
    }

    #[test]
    fn a_few_syncs_and_those_of_a_database_are_nothing_to_drop() {
        let long = || Event { end_ns: 5_000_000, ..event("fsync", 1, None) };
        let syncs = |n| advice((0..n).map(|_| long()), &[]);
        assert_eq!(syncs(15), Vec::<String>::new());
        assert!(syncs(16)[0].contains("if they are not all needed for crash safety"));
    }

    #[test]
    fn large_accesses_in_order_need_no_advice() {
        let events = (0..200).map(|n| event("write", 1, Some((n * 65536, 65536))));
        assert_eq!(advice(events, &[]), Vec::<String>::new());
    }

    #[test]
    fn what_takes_no_time_is_not_worth_a_word() {
        let long =
            |n: u64| Event { end_ns: 10_000_000, ..event("write", 2, Some((n << 20, 1 << 20))) };
        let events = (0..200).map(|n| event("write", 1, Some((n * 48, 48))));
        assert_eq!(advice(events.chain((0..100).map(long)), &[]), Vec::<String>::new());
    }

    /// Python's own imports were once to be put into fewer, larger files.
    #[test]
    fn what_an_interpreter_imports_is_not_many_files() {
        let opens = || (0..151).map(|n| event("open", n, None));
        assert_eq!(advice_on(opens(), &[], ".pyc"), Vec::<String>::new());
        assert_eq!(advice_on(opens(), &[], ".dat").len(), 1);
        let writes = (0..151).map(|n| event("write", n, Some((0, 70_000))));
        let both = opens().chain(opens()).chain(writes);
        assert!(advice_on(both, &[], ".py")[0].contains("151 files"), "it makes them");
    }

    /// Small writes of several ranks once took 124 % of the run.
    #[test]
    fn the_time_of_several_threads_is_a_share_of_all_time_in_io() {
        let by_four = |n: u64| {
            let mut write = event("write", 1, Some((n * 48, 48)));
            write.stream.rank = (n % 4) as u32;
            write
        };
        let other = event("write", 2, Some((0, 70_000)));
        let other = Event { end_ns: 200_001_000, ..other };
        let given = advice((0..20_000).map(by_four).chain([other]), &[]);
        assert!(given[0].contains(" took 200.0 ms (50 % of all time in I/O): "), "{given:?}");
    }

    #[test]
    fn one_rank_that_writes_for_all_is_told() {
        let ranks = [(0, 1 << 30, 50_000_000), (1, 10, 10), (2, 0, 0)];
        let given = advice(std::iter::empty(), &ranks);
        assert!(given[0].starts_with("rank 0 wrote 1.0 GB of 1.0 GB in all"), "{given:?}");
        assert_eq!(advice(std::iter::empty(), &ranks[..1]), Vec::<String>::new());
    }
}
