// SPDX-License-Identifier: MIT OR Apache-2.0

//! Known patterns: recognised, bounded, kept in a file.

mod support;

use ioracle_pattern::evaluation::{Algorithm, feed, shuffled};
use ioracle_pattern::{
    AdaptiveConfig, AdaptiveMatcher, PatternBuilder, PatternConfig, PatternMatcher, PatternStore,
    PatternWatcher, Request, RequestKind,
};
use support::{Load, Noise, runs};

fn loads() -> [Load; 6] {
    let load = Load { n_slices: 6, ..Load::default() };
    [
        Load { n_streams: 1, size: 1 << 20, per_second: 300, ..load },
        Load { n_streams: 16, size: 1 << 17, per_second: 600, ..load },
        Load { n_streams: 16, n_files: 16, size: 1 << 17, per_second: 600, ..load },
        Load { n_streams: 16, size: 1 << 12, per_second: 600, ..load },
        Load { n_streams: 4, size: 1 << 12, stride: Some(1 << 20), per_second: 800, ..load },
        Load { n_streams: 64, n_files: 64, size: 1 << 15, per_second: 500, ..load },
    ]
}

#[test]
fn loads_are_recognised_better_than_by_the_rivals() {
    let runs = runs(&loads(), 6);
    let order = shuffled(runs.len(), 3);
    let config = PatternConfig::server();
    let evaluate = |algorithm: Algorithm| {
        let mut matcher = algorithm.matcher(config, RequestKind::Read, 1e10);
        feed(&mut *matcher, &runs, &order, RequestKind::Read).counts
    };
    let ours = evaluate(Algorithm::Ours);
    assert!(ours.precision() >= Some(95.0) && ours.recall() >= Some(90.0), "{ours:?}");
    for rival in [Algorithm::Paper, Algorithm::Counts, Algorithm::Features] {
        let counts = evaluate(rival);
        assert!(ours.precision() >= counts.precision(), "{rival:?} {counts:?}");
    }
}

#[test]
fn a_load_that_replaces_its_files_all_the_time_is_one_pattern() {
    // Eight streams, each over one file after the other, as over the shards of a large
    // file: most requests of a slice go to files that the slice before did not use.
    let mut builder = PatternBuilder::new(PatternConfig::server());
    let mut matcher = AdaptiveMatcher::new(AdaptiveConfig::default());
    let mut noise = Noise(5);
    let mut at = [0_u64; 8];
    let mut found = Vec::new();
    for second in 0..20 {
        for n in 0..600 {
            let stream = noise.below(8) as usize;
            let (shard, offset) = (at[stream] >> 22, at[stream] & ((1 << 22) - 1));
            let (time_ns, kind) = (second * 1_000_000_000 + n * 1_600_000, RequestKind::Read);
            let file = shard * 8 + stream as u64;
            builder.observe(&Request { time_ns, file, kind, offset, size: 1 << 17 });
            at[stream] += 1 << 17;
        }
        found.extend(builder.tick().map(|pattern| matcher.recognise(pattern).id));
    }
    assert_eq!((found.len(), matcher.known()), (20, 1), "{found:?}");
}

/// Slow writes to many files in turn: no second has a request to all of them.
#[test]
fn a_slow_load_over_many_files_is_one_pattern() {
    let mut builder = PatternBuilder::new(PatternConfig::server());
    let mut matcher = AdaptiveMatcher::new(AdaptiveConfig::default());
    for n in 0..1000_u64 {
        let (time_ns, kind) = (n * 50_000_000, RequestKind::Write);
        let (file, offset) = (n % 100, (n / 100) << 18);
        builder.observe(&Request { time_ns, file, kind, offset, size: 1 << 18 });
        if n % 20 == 19 {
            builder.tick().map(|pattern| matcher.recognise(pattern));
        }
    }
    // Another may be that of the files' first requests.
    assert!(matcher.known() <= 2, "{}", matcher.known());
}

#[test]
fn renaming_files_changes_nothing() {
    let mut recognised = Vec::new();
    for rename in [|file: u64| file, |file: u64| file.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 77] {
        let mut watcher = PatternWatcher::new(PatternConfig::server());
        let mut found = Vec::new();
        for load in loads() {
            for request in load.requests(3) {
                watcher.observe(&Request { file: rename(request.file), ..request });
            }
            found.extend(watcher.tick());
        }
        recognised.push(found);
    }
    assert_eq!(recognised[0], recognised[1]);
}

#[test]
fn hostile_requests_are_taken_as_they_are() {
    let mut noise = Noise(5);
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let mut edge = |limit: u64| match noise.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << 63,
        3 => (1 << 63) - 1,
        _ => noise.below(limit),
    };
    for slice in 0..50 {
        for _ in 0..500 {
            let kind = RequestKind::ALL[(edge(2) % 2) as usize];
            let (time_ns, file) = (edge(1 << 30), edge(1000));
            watcher.observe(&Request {
                time_ns,
                file,
                kind,
                offset: edge(1 << 40),
                size: edge(1 << 30),
            });
        }
        let found = watcher.tick().expect("there were requests");
        assert!((0.0..=1.0).contains(&found.score), "{slice}: {found:?}");
        assert!(watcher.tick().is_none(), "an empty slice is no pattern");
    }
}

#[test]
fn a_burst_of_a_million_requests_for_a_million_files_takes_bounded_memory() {
    let mut builder = PatternBuilder::new(PatternConfig::server());
    for n in 0..1_000_000_u64 {
        let kind = RequestKind::Write;
        builder.observe(&Request { time_ns: n, file: n * 31, kind, offset: n << 20, size: 4096 });
    }
    let pattern = builder.tick().unwrap();
    assert_eq!((pattern.counts.files, pattern.counts.writes), (1_000_000, 1_000_000));
    assert_eq!(pattern.series.len(), 10_000);
    assert!(builder.memory_bytes() < 48 << 20, "{}", builder.memory_bytes());
}

#[test]
fn slices_with_only_reads_or_only_writes_do_not_meet() {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let mut seed = 0;
    let mut slice = |kind| {
        let load = Load { kind, n_slices: 1, ..Load::default() };
        seed += 1;
        load.requests(seed).iter().for_each(|request| watcher.observe(request));
        watcher.tick().unwrap()
    };
    let read = slice(RequestKind::Read);
    let write = slice(RequestKind::Write);
    assert_ne!(read.id, write.id);
    assert_eq!(slice(RequestKind::Read).id, read.id);
    assert_eq!(slice(RequestKind::Write).id, write.id);
}

#[test]
fn rare_patterns_are_discarded_beyond_the_limit() {
    let mut matcher = AdaptiveMatcher::new(AdaptiveConfig { max_known: 3 });
    let mut discarded = Vec::new();
    for round in 0..20 {
        for (label, load) in loads().iter().enumerate() {
            if label == 0 || round % loads().len() == label {
                for pattern in load.run(label as u32, round as u64).patterns {
                    matcher.recognise(pattern);
                    discarded.extend(matcher.take_discarded());
                }
            }
        }
    }
    assert!(matcher.known() <= 3);
    assert!(!discarded.is_empty());
    assert!(matcher.patterns().all(|known| !discarded.contains(&known.id)));
    // The load that came every round is still known.
    let often = loads()[0].run(0, 99).patterns.swap_remove(2);
    assert!(matcher.recognise(often).is_match);
}

#[test]
fn a_known_pattern_takes_less_than_eight_bytes_per_value_and_128() {
    let mut matcher = AdaptiveMatcher::new(AdaptiveConfig::default());
    loads()[1].run(0, 1).patterns.into_iter().for_each(|pattern| _ = matcher.recognise(pattern));
    for known in matcher.patterns() {
        let limit = 8 * known.n_values() + 128;
        assert!(known.memory_bytes() <= limit, "{} of {limit}", known.memory_bytes());
    }
}

fn learned() -> PatternWatcher {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    watcher.set_options(vec!["small".to_owned(), "large".to_owned()]);
    for (label, load) in loads().iter().cycle().take(24).enumerate() {
        for pattern in load.run(0, label as u64).patterns {
            let option = watcher.choose();
            watcher.recognise(pattern);
            watcher.reward(if option == label % 2 { 100.0 } else { 10.0 }).unwrap();
        }
    }
    watcher
}

#[test]
fn what_is_known_survives_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.db");
    let mut first = learned();
    first.save(&path).unwrap();
    let mut second = PatternWatcher::new(PatternConfig::server());
    second.set_options(vec!["small".to_owned(), "large".to_owned()]);
    second.load(&path).unwrap();
    assert_eq!(second.matcher().known(), first.matcher().known());
    let kind = RequestKind::Read;
    assert_eq!(second.matcher().threshold(kind), first.matcher().threshold(kind));
    for known in first.matcher().patterns() {
        let family = known.family;
        assert_eq!(second.decisions().best(family), first.decisions().best(family));
    }
    for load in loads() {
        let pattern = load.run(0, 77).patterns.swap_remove(1);
        let (found, again) = (first.recognise(pattern.clone()), second.recognise(pattern));
        assert_eq!((found.id, found.is_match), (again.id, again.is_match));
    }
    second.save(&path).unwrap();
}

#[test]
fn a_damaged_or_foreign_file_is_refused_and_nothing_is_taken_from_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.db");
    learned().save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut n_refused = 0;
    for position in (0..whole.len()).step_by(211) {
        let mut bytes = whole.clone();
        bytes[position] ^= 0xA5;
        std::fs::write(&path, &bytes).unwrap();
        let mut watcher = PatternWatcher::new(PatternConfig::server());
        if let Err(error) = watcher.load(&path) {
            n_refused += 1;
            assert!(error.to_string().contains("known.db'"), "{error}");
            assert_eq!(watcher.matcher().known(), 0);
        }
    }
    assert!(n_refused > 0);
    for cut in [1, 99, 1024, whole.len() / 2] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(PatternWatcher::new(PatternConfig::server()).load(&path).is_err(), "{cut}");
    }
    std::fs::write(&path, b"this is not a database at all, but long enough to look at").unwrap();
    let error = PatternStore::open(&path).err().unwrap().to_string();
    assert!(error.contains("holds no known patterns"), "{error}");
    assert!(PatternStore::open(directory.path()).is_err());
    assert!(PatternStore::open(&directory.path().join("no/such/place.db")).is_err());
}

#[test]
fn patterns_that_cannot_be_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.db");
    for change in [
        "UPDATE pattern SET kind = 'copy'",
        "UPDATE pattern SET reads = -1",
        "UPDATE pattern SET series = x'0000C07F'",
        "UPDATE pattern SET series = x'00'",
        "UPDATE pattern SET onset = x''",
        "UPDATE pattern SET reads = 'many'",
        "UPDATE pattern SET id = id + 5000000000",
        "UPDATE learned SET threshold = x'00000000'",
        "DROP TABLE pattern",
    ] {
        learned().save(&path).unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let mut watcher = PatternWatcher::new(PatternConfig::server());
        let error = watcher.load(&path).expect_err(change).to_string();
        assert!(error.contains("is damaged"), "{change}: {error}");
        std::fs::remove_file(&path).unwrap();
    }
}
