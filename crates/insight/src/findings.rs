// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is slow about a job's I/O, and what to do: rules over what was counted.
//!
//! Each finding names files, a figure and a remedy. [`rules`] says when a rule holds,
//! by counts alone, and when it matters; a program that spends its time elsewhere gets
//! no findings.

mod files;
mod libraries;
mod ranks;
pub mod rules;
mod shared;
mod snippets;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use ioracle_events::{ContextId, Function};

use self::rules::{
    HIGH, HIGH_MEASURED, HIGH_OF_IO, MATTERS, MATTERS_MEASURED, MATTERS_OF_IO, NEGLIGIBLE, nominal,
};
use crate::file_groups::{FileGroup, FileGroups, FileKind, UNKNOWN};
use crate::frames::{Frames, StackFrame};
use crate::numbers::{seconds, whole_percent};
use crate::rank_groups::RankBytes;
use crate::summary::{Finding, Severity};
use crate::tally::{CountedLibrary, JobTally, TransferTally};
use crate::variables::VariableGroup;

/// Findings that a summary holds.
const MAX_FINDINGS: usize = 20;

/// What the rules look at.
pub struct Measured<'a> {
    pub tally: &'a JobTally,
    pub groups: &'a FileGroups,
    pub series: &'a [VariableGroup],
    pub wall_s: f64,
    /// In order of the ranks.
    pub ranks: &'a [RankBytes],
    /// Call stacks, to say where in the program.
    pub frames: &'a Frames,
}

/// A rule that holds, before it is known whether that matters.
#[derive(Debug, Default)]
struct Held {
    kind: &'static str,
    path: Option<String>,
    n_files: usize,
    variable: Option<String>,
    calls: u64,
    bytes: u64,
    functions: Vec<&'static str>,
    /// What the calls took, and their nominal cost.
    io_ns: u64,
    nominal_ns: u64,
    /// Never of high severity: the possible gain is unknown.
    is_minor: bool,
    /// Worth a word however little time it takes.
    is_risk: bool,
    /// The library that makes the calls.
    library: Option<CountedLibrary>,
    /// A clause.
    seen: String,
    remedy: String,
}

/// All findings that matter: the most severe first, then by nominal cost, so that the
/// order is the same in every run.
pub fn findings(measured: &Measured) -> Vec<Finding> {
    let mut held = libraries::held(measured);
    let by_variable: HashSet<String> = held.iter().filter_map(|it| it.path.clone()).collect();
    held.extend(files::held(measured, &by_variable));
    held.extend(ranks::held(measured));
    held.extend(shared::held(measured));
    let run = Run::of(measured);
    held.retain(|it| it.is_risk || run.is_at_least(it, MATTERS, MATTERS_OF_IO, MATTERS_MEASURED));
    // What a library reads again for accesses to variables is not a finding of its own.
    let variables: Vec<(Option<String>, u64)> = held
        .iter()
        .filter(|it| it.variable.is_some())
        .map(|it| (it.path.clone(), it.io_ns))
        .collect();
    let is_within =
        |it: &Held| variables.iter().any(|(path, io_ns)| *path == it.path && *io_ns >= it.io_ns);
    held.retain(|it| it.kind != "read_again" || !is_within(it));
    // Without knowing which file it is, nobody can do anything about it.
    held.retain(|it| it.path.as_deref() != Some(UNKNOWN));
    held.sort_by_cached_key(|it| {
        let severity = run.severity(it);
        (Reverse(severity), Reverse(it.nominal_ns), it.kind, it.path.clone(), it.variable.clone())
    });
    held.truncate(MAX_FINDINGS);
    let places = Places::of(measured);
    held.into_iter().map(|it| places.finding(&run, it)).collect()
}

/// The places of the program that make calls, by the group of files.
struct Places<'a> {
    frames: &'a Frames,
    calls: Vec<PlacedCalls<'a>>,
}

/// Calls of a function from a place of the program on a group of files.
struct PlacedCalls<'a> {
    path: &'a str,
    function: &'static str,
    context: ContextId,
    calls: u64,
}

impl<'a> Places<'a> {
    fn of(measured: &Measured<'a>) -> Places<'a> {
        let mut calls: HashMap<(&str, &'static str, ContextId), u64> = HashMap::new();
        for (file, context, function, of_file) in measured.tally.call_places.iter() {
            let path = measured.groups.of(file).map_or("", |group| &group.path);
            *calls.entry((path, function.name(), context)).or_default() += of_file.operations;
        }
        let calls = calls.into_iter().map(|((path, function, context), calls)| PlacedCalls {
            path,
            function,
            context,
            calls,
        });
        Places { frames: measured.frames, calls: calls.collect() }
    }

    /// Where most of the calls come from. By number of calls, because times differ from
    /// run to run.
    fn stack(&self, held: &Held) -> Vec<StackFrame> {
        let is_wanted = |call: &&PlacedCalls| {
            held.functions.is_empty() || held.functions.contains(&call.function)
        };
        let is_here = |call: &&PlacedCalls| held.path.as_deref().is_none_or(|it| it == call.path);
        let order = |call: &&PlacedCalls| (call.calls, Reverse(self.frames.text(call.context)));
        let wanted = || self.calls.iter().filter(is_wanted);
        let found =
            wanted().filter(is_here).max_by_key(order).or_else(|| wanted().max_by_key(order));
        found.map(|call| self.frames.stack(call.context)).unwrap_or_default()
    }

    fn finding(&self, run: &Run, held: Held) -> Finding {
        let stack = self.stack(&held);
        run.finding(held, stack)
    }
}

/// How long a run was, as far as shares of it go.
struct Run {
    wall_s: f64,
    /// What share of the run all I/O is, in percent: by nominal cost or measured.
    io_share: f64,
    /// The nominal cost of all I/O with data files. An interpreter's modules are left
    /// out: how many there are says nothing about the program.
    data_nominal_ns: u64,
    /// How many threads the busiest stands for.
    n_alike: f64,
    is_parallel: bool,
}

impl Run {
    fn of(measured: &Measured) -> Run {
        let tally = measured.tally;
        let busiest_ns = tally.busiest_thread_ns();
        let n_alike = (tally.io_ns as f64 / busiest_ns.max(1) as f64).max(1.0);
        let of_files = (tally.file_system_ns as f64 / tally.io_ns.max(1) as f64).min(1.0);
        let rest_s = (measured.wall_s - busiest_ns as f64 * 1e-9 * of_files).max(0.0);
        let io_s = files::all_nominal_ns(measured, |_| true) as f64 * 1e-9 / n_alike;
        let wall_s = measured.wall_s.max(1e-9);
        let nominal_share = io_s / (rest_s + io_s).max(1e-9);
        let is_data = |group: &FileGroup| group.kind != FileKind::Code;
        let busy = tally.streams.values().filter(|stream| stream.io_ns > 0);
        Run {
            wall_s,
            io_share: 100.0 * nominal_share.max(busiest_ns as f64 * 1e-9 / wall_s),
            data_nominal_ns: files::all_nominal_ns(measured, is_data),
            n_alike,
            is_parallel: busy.count() > 1,
        }
    }

    /// What share of the run it is, in percent. Where several threads spend time at
    /// once, that of the busiest counts, as far as it is like the others.
    fn share(&self, ns: u64) -> f64 {
        100.0 * ns as f64 * 1e-9 / self.n_alike / self.wall_s
    }

    /// Whether all I/O is this much of the run and the finding this much of the I/O, by
    /// nominal cost; or the finding this much of the run, measured.
    fn is_at_least(&self, held: &Held, of_run: f64, of_io: f64, measured: f64) -> bool {
        let is_much_io = held.nominal_ns as f64 * 100.0 >= self.data_nominal_ns as f64 * of_io;
        (self.io_share >= of_run && is_much_io) || self.share(held.io_ns) >= measured
    }

    fn severity(&self, held: &Held) -> Severity {
        let is_high = self.is_at_least(held, HIGH, HIGH_OF_IO, HIGH_MEASURED);
        let can_be_high = !held.is_minor && self.share(held.io_ns) >= NEGLIGIBLE;
        if is_high && can_be_high { Severity::High } else { Severity::Warning }
    }

    /// Whether the calls took so little of this run that they are worth mentioning only
    /// because of what they cost elsewhere.
    fn is_cheap_here(&self, held: &Held) -> bool {
        self.share(held.io_ns) < MATTERS
    }

    fn finding(&self, held: Held, stack: Vec<StackFrame>) -> Finding {
        let (severity, is_cheap_here) = (self.severity(&held), self.is_cheap_here(&held));
        debug_assert!(rules::RULES.iter().any(|rule| rule.kind == held.kind), "{}", held.kind);
        let Held { kind, path, n_files, variable, calls, bytes, functions, .. } = held;
        let (io_time_s, share) = (held.io_ns as f64 * 1e-9, self.share(held.io_ns));
        let files = n_files as u64;
        let mut finding = Finding {
            kind,
            severity,
            path: path.map(|path| ioracle_events::plain(&path).into_owned()),
            files,
            variable,
            functions,
            calls,
            bytes,
            io_time_s,
            saves_at_most_s: io_time_s / self.n_alike,
            share_of_run: share,
            is_cheap_here,
            seen: held.seen,
            remedy: held.remedy,
            snippet: snippets::snippet(kind, held.library),
            stack,
            sentence: String::new(),
            is_of_several: self.is_parallel,
        };
        finding.put_into_words();
        finding
    }
}

impl Finding {
    /// Looks up what is known by now about the places that it names.
    pub(crate) fn locate(&mut self, frames: &Frames) {
        for frame in &mut self.stack {
            *frame = frames.frame(&frame.frame);
        }
        self.put_into_words();
    }

    fn put_into_words(&mut self) {
        let (seen, remedy, percent) = (&self.seen, &self.remedy, whole_percent(self.share_of_run));
        let cheap = match self.is_cheap_here {
            true => "; little here, more on a busy file system",
            false => "",
        };
        let from = self.stack.first().and_then(StackFrame::in_words);
        let from = from.map(|place| format!(" from {place}")).unwrap_or_default();
        let time = seconds(Some(self.io_time_s));
        let of = if self.is_of_several { "of the run per thread" } else { "of the run" };
        self.sentence = format!("{seen}{from}, taking {time} ({percent} {of}{cheap}): {remedy}");
    }
}

/// The nominal cost of a number of reads or writes with a number of bytes.
fn nominal_ns(moved: &TransferTally) -> u64 {
    moved.operations.saturating_mul(nominal::CALL_NS) + moved.bytes / nominal::BYTES_PER_NS
}

/// Whether a part is most of the whole.
fn is_most(part: u64, whole: u64) -> bool {
    part.saturating_mul(100) >= whole.saturating_mul(rules::MOST) && part > 0
}

/// The functions that were called most, as far as they are of interest.
fn busiest(
    calls: &[(Function, TransferTally)],
    wanted: impl Fn(Function) -> bool,
) -> Vec<&'static str> {
    let mut calls: Vec<_> = calls.iter().filter(|(function, _)| wanted(*function)).collect();
    calls.sort_by_key(|(function, moved)| (Reverse(moved.operations), *function));
    calls.into_iter().take(3).map(|(function, _)| function.name()).collect()
}

#[cfg(test)]
pub mod tests {
    use ioracle_events::{Event, FileId};

    use super::*;
    use crate::frames::FrameSource;
    use crate::tally::tests::event;
    use crate::variables::series;

    /// What is found in a run of 0.1 s, in which every event takes 10 µs.
    pub fn found_in(
        events: impl Iterator<Item = Event>,
        ranks: &[RankBytes],
        name: &dyn Fn(u32) -> String,
    ) -> Vec<Finding> {
        let mut tally = JobTally::default();
        events.for_each(|event| tally.add(&event));
        let names: Vec<String> = (0..2000).map(name).collect();
        let groups = FileGroups::new(&tally, &|file: FileId| Some(names[file.0 as usize].as_str()));
        let series = series(&tally.variables, &|file: FileId| names[file.0 as usize].clone());
        let frames = &Frames::default();
        let measured = Measured {
            tally: &tally,
            groups: &groups,
            series: &series,
            wall_s: 0.1,
            ranks,
            frames,
        };
        findings(&measured)
    }

    /// The same for files with names of their own, as sentences.
    pub fn found(events: impl Iterator<Item = Event>) -> Vec<String> {
        let name = |file: u32| match file {
            0..10 => format!("file-{}", char::from(b'a' + file as u8)),
            _ => format!("dump_{file:04}.dat"),
        };
        found_in(events, &[], &name).into_iter().map(|it| it.sentence).collect()
    }

    /// A netCDF program once got one piece of advice in slow runs and two in fast ones:
    /// its tiny reads had a nominal cost of about 1 % of the run.
    #[test]
    fn how_long_a_run_takes_does_not_change_what_matters() {
        let mut tally = JobTally::default();
        (0..2500).for_each(|n| tally.add(&event("pread", 1, Some((n * 65536, 65536)))));
        (0..1400).for_each(|n| tally.add(&event("write", 2, Some((n * 8, 8)))));
        let groups =
            FileGroups::new(&tally, &|file: FileId| Some(["", "in", "log"][file.0 as usize]));
        let advice = |wall_s: f64| -> Vec<(&str, Severity)> {
            let measured = Measured {
                tally: &tally,
                groups: &groups,
                series: &[],
                wall_s,
                ranks: &[],
                frames: &Frames::default(),
            };
            findings(&measured).into_iter().map(|it| (it.kind, it.severity)).collect()
        };
        let usual = advice(0.3);
        assert_eq!(usual, [("small_writes", Severity::Warning)]);
        for wall_s in [0.2, 0.4, 0.6, 0.8, 1.2] {
            assert_eq!(advice(wall_s), usual, "a run of {wall_s} s");
        }
    }

    /// A program that synced a fast disk once got a severe finding that took 0 % of its
    /// run.
    #[test]
    fn what_takes_next_to_no_time_here_is_never_of_high_severity() {
        let severity = |io_ns: u64| {
            let mut tally = JobTally::default();
            for n in 0..100 {
                let mut sync = event("fsync", 1, None);
                sync.end_ns = sync.start_ns + io_ns;
                tally.add(&event("write", 1, Some((n * 65536, 65536))));
                tally.add(&sync);
            }
            let groups = FileGroups::new(&tally, &|_: FileId| Some("log"));
            let measured = Measured {
                tally: &tally,
                groups: &groups,
                series: &[],
                wall_s: 2.0,
                ranks: &[],
                frames: &Frames::default(),
            };
            let found = findings(&measured).into_iter().find(|it| it.kind == "syncs");
            found.map(|it| (it.severity, it.is_cheap_here))
        };
        assert_eq!(severity(1_000_000), Some((Severity::High, false)));
        assert_eq!(severity(100_000), Some((Severity::High, true)));
        assert_eq!(severity(10_000), Some((Severity::Warning, true)));
    }

    #[test]
    fn what_takes_no_time_is_not_worth_a_word() {
        let events = |wall_s: f64| {
            let mut tally = JobTally::default();
            (0..200).for_each(|n| tally.add(&event("write", 1, Some((n * 48, 48)))));
            let groups = FileGroups::new(&tally, &|_| Some("log"));
            let measured = Measured {
                tally: &tally,
                groups: &groups,
                series: &[],
                wall_s,
                ranks: &[],
                frames: &Frames::default(),
            };
            findings(&measured).len()
        };
        assert_eq!((events(0.1), events(10.0)), (1, 0));
    }

    #[test]
    fn tens_of_thousands_of_questions_are_a_storm() {
        let asked = |n: u64| {
            let missing = |n: u64| if n.is_multiple_of(4) { -1 } else { 0 };
            found((0..n).map(|n| Event { result: missing(n), ..event("stat", 1, None) }))
        };
        assert!(asked(9_000).is_empty());
        let [storm] = &asked(20_000)[..] else { panic!("one finding") };
        let expected = "20,000 calls asked the file system for metadata (stat), 5,000 of which";
        assert!(storm.starts_with(expected), "{storm}");
        // Entries of directories come many at a time.
        assert!(found((0..20_000).map(|_| event("readdir", 1, None))).is_empty());
    }

    #[test]
    fn severity_goes_with_the_share_of_the_run() {
        let found = |n: u64| {
            let writes = (0..n).map(|n| event("write", 1, Some((n * 48, 48))));
            found_in(writes, &[], &|_| "log".to_owned())
        };
        assert_eq!(found(200)[0].severity, Severity::Warning);
        let high = &found(2000)[0];
        assert_eq!((high.severity, high.kind, high.calls), (Severity::High, "small_writes", 2000));
        assert_eq!(high.functions, ["write"]);
        assert!((high.share_of_run - 20.0).abs() < 0.1, "{}", high.share_of_run);
    }

    #[test]
    fn a_finding_says_where_most_of_its_calls_come_from() {
        let mut tally = JobTally::default();
        for n in 0..2000 {
            let context = ContextId(if n % 4 == 0 { 7 } else { 8 });
            tally.add(&Event { context, ..event("write", 1, Some((n * 48, 48))) });
        }
        let mut frames = Frames::default();
        frames.define(ContextId(7), "app+0x70;libc.so.6+0x1");
        frames.define(ContextId(8), "libc.so.6+0x9;app+0x80;libc.so.6+0x1");
        let (function, file) = (Some("dump".to_owned()), Some("dump.c".to_owned()));
        frames.define_source("app+0x80", FrameSource { function, file, line: Some(12) });
        let groups = FileGroups::new(&tally, &|_| Some("log"));
        let (tally, groups, frames) = (&tally, &groups, &frames);
        let measured = Measured { tally, groups, series: &[], wall_s: 0.1, ranks: &[], frames };
        let found = &findings(&measured)[0];
        assert!(found.sentence.contains("48 B on average from dump (dump.c:12), taking 20.0 ms"));
        assert_eq!((found.stack.len(), found.stack[0].frame.as_str()), (1, "app+0x80"));
        assert!((found.saves_at_most_s - 0.02).abs() < 1e-9);
        assert!(found.snippet.is_some_and(|code| code.contains("setvbuf")));
    }

    /// Nobody can do anything about a file without a known name.
    #[test]
    fn files_without_a_name_get_no_advice() {
        let mut tally = JobTally::default();
        (0..2000).for_each(|n| tally.add(&event("write", 1, Some((n * 48, 48)))));
        let groups = FileGroups::new(&tally, &|_| None);
        let measured = Measured {
            tally: &tally,
            groups: &groups,
            series: &[],
            wall_s: 0.1,
            ranks: &[],
            frames: &Frames::default(),
        };
        assert!(findings(&measured).is_empty());
    }

    /// Small writes of several ranks once took 124 % of the run.
    #[test]
    fn the_time_of_ranks_side_by_side_is_that_of_one_of_them() {
        let by_four = |n: u64| {
            let mut write = event("write", 1, Some((n * 48, 48)));
            write.stream.rank = (n % 4) as u32;
            write
        };
        let given = found((0..20_000).map(by_four));
        assert!(given[0].contains("taking 200.0 ms (50 % of the run per thread)"), "{given:?}");
    }

    /// Times differ from run to run, advice must not.
    #[test]
    fn noise_does_not_change_what_is_found() {
        let kinds = |seed: u64| {
            let events = (0..3000u64).map(|n| {
                let file = 20 + (n / 100) as u32;
                let noise = (n + 1).wrapping_mul(seed).wrapping_mul(2_654_435_761) % 9000;
                let call = match n % 100 {
                    0 => event("open", file, None),
                    98 => event("fsync", file, None),
                    99 => event("close", file, None),
                    n => event("write", file, Some((n * 48, 48))),
                };
                Event { end_ns: call.start_ns + 1000 + noise, ..call }
            });
            let found = found_in(events, &[], &|file| format!("dump_{file:04}.sdf"));
            found.iter().map(|it| (it.kind, it.severity, it.path.clone())).collect::<Vec<_>>()
        };
        let first = kinds(1);
        assert_eq!(first.len(), 2, "{first:?}");
        assert!((2..22).all(|seed| kinds(seed) == first));
    }
}
