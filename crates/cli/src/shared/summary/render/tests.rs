// SPDX-License-Identifier: MIT OR Apache-2.0

//! Summaries as people see them.

use expect_test::{Expect, expect};

use ioracle_insight::{
    Between, Bursts, BusyGroup, BusyVariable, Calls, FileKind, Finding, Io, LibraryCalls, LoopSeen,
    NextBurst, Predicted, RankGroup, RankGroups, SelectionPattern, Severity, Summary,
};

use super::super::{MissingCalls, ProcessTotals, UnrecordedProcessRow, UnrecordedTotals, Unseen};
use super::*;

fn check(summary: &RunSummary, expected: Expect) {
    let text = render(summary, Screen::plain());
    assert!(text.lines().count() <= 40, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    expected.assert_eq(&text);
}

/// A program that did nothing.
fn idle() -> RunSummary {
    RunSummary {
        format: 1,
        application: "app".to_owned(),
        command: vec!["./app".to_owned()],
        rank: None,
        world_size: None,
        ending: Ending::Exited(0),
        wall_s: 3.2,
        processes: ProcessTotals { seen: 1, threads: 1, ..ProcessTotals::default() },
        job: Summary::default(),
        unrecorded: UnrecordedTotals::default(),
        linked_in: Vec::new(),
        stacks: None,
        unseen: None,
        trace: None,
        left_raw: 0,
        model: None,
        prefetch: None,
        knowledge: None,
        own_cpu_s: 0.01,
    }
}

fn busy_file(path: &str, files: u64) -> BusyGroup {
    let calls = |function, calls, bytes| Calls { function, calls, bytes, io_time_s: 0.1 };
    BusyGroup {
        path: path.to_owned(),
        files,
        kind: FileKind::Data,
        operations: 1201,
        bytes_read: 0,
        bytes_written: 1200 * 48,
        io_time_s: 0.31,
        file_system_time_s: 0.31,
        opens: 1,
        syncs: 0,
        calls: vec![calls("write", 1200, 1200 * 48), calls("open", 1, 0)],
        library_calls: Vec::new(),
    }
}

fn finding(severity: Severity, sentence: &str) -> Finding {
    Finding {
        kind: "small_writes",
        severity,
        path: Some("out/log.txt".to_owned()),
        files: 1,
        variable: None,
        functions: vec!["write"],
        calls: 1200,
        bytes: 57_600,
        io_time_s: 0.3,
        saves_at_most_s: 0.3,
        share_of_run: 9.0,
        is_cheap_here: false,
        seen: String::new(),
        remedy: String::new(),
        snippet: None,
        stack: Vec::new(),
        sentence: sentence.to_owned(),
        is_of_several: false,
    }
}

fn busy() -> RunSummary {
    let found = LoopSeen {
        turn: "open, write ×3, close".to_owned(),
        operations: 5,
        turns_min: 120,
        turns_max: 120,
        runs: 1,
        files: vec!["out/state_*.nc".to_owned()],
    };
    RunSummary {
        job: Summary {
            io: Io {
                operations: 12_345,
                failed_calls: 3,
                files: 37,
                reads: 8_000,
                bytes_read: 1 << 30,
                writes: 1,
                bytes_written: 57_600,
                io_time_s: 1.24,
                library_time_s: 0.0,
                file_system_time_s: 1.24,
                busiest_thread_s: 0.4,
            },
            file_groups: vec![
                busy_file("out/log.txt", 1),
                busy_file("/scratch/somebody/projects/simulation/runs/2024/state_*.nc", 40),
            ],
            loops: vec![
                found.clone(),
                LoopSeen {
                    turn: "read".to_owned(),
                    turns_min: 2,
                    turns_max: 9,
                    runs: 40,
                    files: vec!["in.nc".to_owned(), "grid.nc".to_owned(), "x.nc".to_owned()],
                    ..found
                },
            ],
            predicted: Some(Predicted {
                operations: 12_345,
                context_accuracy: 99.12,
                file_accuracy: 98.0,
                offset_accuracy: 97.5,
                hit_ratio: 96.44,
                time_error_s: 0.0012,
                by_source: Default::default(),
            }),
            bursts: Some(Bursts {
                seen: 12,
                operations: 240.4,
                bytes: 12.6e6,
                period_s: 3.2,
                is_periodic: true,
                next: Some(NextBurst {
                    operations: 240,
                    bytes: 12 << 20,
                    starts_in_s: 1.1,
                    confidence: 0.93,
                    at_least: false,
                }),
            }),
            advice: vec![
                finding(
                    Severity::High,
                    "1,200 writes to 'out/log.txt' move 48 B on average, taking 0.30 s (19 % of \
                     the run): collect them in a buffer of some 100 KB or more (setvbuf, or a \
                     buffered writer)",
                ),
                finding(
                    Severity::Warning,
                    "'out/log.txt' was synced 40 times, taking 0.20 s (6 % of the run): sync once",
                ),
            ],
            ..Summary::default()
        },
        processes: ProcessTotals { seen: 2, threads: 5, ..ProcessTotals::default() },
        trace: Some("trace".into()),
        ..idle()
    }
}

#[test]
fn a_run_is_reported_on_one_screen() {
    check(
        &busy(),
        expect![[r#"
            ioracle: app ran for 3.20 s
              high          1,200 writes to 'out/log.txt' move 48 B on average, taking 0.30 s (19 % of the run):
                            collect them in a buffer of some 100 KB or more (setvbuf, or a buffered writer)
              warning       'out/log.txt' was synced 40 times, taking 0.20 s (6 % of the run): sync once
              I/O           12,345 operations on 37 files, by 2 processes and 5 threads; 3 calls failed
              data          1.1 GB read in 8,000 reads, 57.6 KB written in 1 write
              time in I/O   1.24 s over all threads; the busiest spent 400.0 ms, 12.5 % of the run
              busiest files                                 read  written      time  calls
              out/log.txt                                    0 B  57.6 KB  310.0 ms  write ×1,200 of 48 B
              …rojects/simulation/runs/2024/state_*.nc ×40   0 B  57.6 KB  310.0 ms  write ×1,200 of 48 B
              loops         120 iterations of open, write ×3, close on 'out/state_*.nc'
                            2 to 9 iterations of read on 'in.nc', 'grid.nc' and others, 40 times over
              predicted     99.1 % of the next operations, 98.0 % of their files, 97.5 % of their offsets (hit
                            ratio 96.4 %); the time to the next operation is off by 1.2 ms on average
              bursts        12, each of 240 operations and 12.6 MB on average, every 3.20 s; the next one, of
                            240 operations and 12.6 MB, was expected 1.10 s after the last operation
              trace         'trace'; 'ioracle show trace' prints this summary again
        "#]],
    );
}

fn busy_variable(name: &str, path: &str, part: SelectionPattern) -> BusyVariable {
    BusyVariable {
        name: name.to_owned(),
        path: path.to_owned(),
        variables: 1,
        reads: 0,
        bytes_read: 0,
        writes: 1200,
        bytes_written: 1200 << 12,
        bytes_from_file: 0,
        bytes_to_file: 0,
        io_time_s: 0.25,
        part: Some(part),
        counts: Some(vec![1, 64, 128]),
        chunk: None,
        calls: Vec::new(),
    }
}

/// All that can be said, at its longest.
fn parallel() -> RunSummary {
    let mpi_io = LibraryCalls {
        calls: 1240,
        collective_calls: 1000,
        reads: 200,
        bytes_read: 200 << 20,
        writes: 1000,
        bytes_written: 1000 << 10,
        io_time_s: 0.4,
        other_calls: vec![Calls { function: "nc_open", calls: 30, bytes: 0, io_time_s: 0.2 }],
    };
    let netcdf = LibraryCalls { collective_calls: 0, reads: 0, bytes_read: 0, ..mpi_io.clone() };
    let far = "/scratch/somebody/projects/simulation/runs/2024/state_000001.nc";
    let advice = busy().job.advice[0].clone();
    let only = |value| Between { least: value, most: value };
    let group = |ranks: Vec<(u32, u32)>| RankGroup {
        n_ranks: ranks.iter().map(|(first, last)| (last - first + 1) as usize).sum(),
        ranks,
        operations: only(1003),
        bytes_read: only(1000 << 10),
        bytes_written: Between { least: 30 << 20, most: 34 << 20 },
        io_time_s: Between { least: 0.3, most: 0.4 },
    };
    let groups = vec![
        group((0..100).map(|n| (8 * n + 1, 8 * n + 5)).collect()),
        group(vec![(0, 0), (1000, 1003)]),
        group(vec![(800, 801)]),
    ];
    RunSummary {
        job: Summary {
            ranks: Some(RankGroups { ranks: 1000, kinds: 7, groups }),
            mpi_io: Some(mpi_io.clone()),
            netcdf: Some(netcdf),
            hdf5: Some(mpi_io),
            file_groups: (0..10).map(|n| busy_file(&format!("out/log{n}.txt"), 1)).collect(),
            busiest_variables: vec![
                busy_variable("T", "out.nc", SelectionPattern::Slices(1)),
                busy_variable("/Timestep_*/velocities/x", far, SelectionPattern::Blocks),
                busy_variable("/Timestep_*/velocities/y", "a.h5", SelectionPattern::Irregular),
                BusyVariable { counts: None, ..busy_variable("q", far, SelectionPattern::Whole) },
                busy_variable("q", "out.nc", SelectionPattern::Points),
            ],
            advice: vec![advice; 7],
            ..busy().job
        },
        ..busy()
    }
}

#[test]
fn calls_of_libraries_and_variables_are_reported_and_still_fit() {
    check(
        &parallel(),
        expect![[r#"
            ioracle: app ran for 3.20 s
              high          1,200 writes to 'out/log.txt' move 48 B on average, taking 0.30 s (19 % of the run):
                            collect them in a buffer of some 100 KB or more (setvbuf, or a buffered writer)
              high          1,200 writes to 'out/log.txt' move 48 B on average, taking 0.30 s (19 % of the run):
                            collect them in a buffer of some 100 KB or more (setvbuf, or a buffered writer)
              high          1,200 writes to 'out/log.txt' move 48 B on average, taking 0.30 s (19 % of the run):
                            collect them in a buffer of some 100 KB or more (setvbuf, or a buffered writer)
                            4 more findings in the summary as JSON
              I/O           12,345 operations on 37 files, by 2 processes and 5 threads; 3 calls failed
              data          1.1 GB read in 8,000 reads, 57.6 KB written in 1 write
              HDF5          1,240 calls (1,000 collective) in 400.0 ms; 209.7 MB in 200 reads; 1.0 MB in 1,000
                            writes; 200.0 ms in nc_open ×30
              netCDF        1,240 calls in 400.0 ms; 1.0 MB in 1,000 writes; 200.0 ms in nc_open ×30
              MPI-IO        1,240 calls (1,000 collective) in 400.0 ms; 209.7 MB in 200 reads; 1.0 MB in 1,000
                            writes; 200.0 ms in nc_open ×30
              ranks         ranks 0, 1000–1003 alike: 1,003 operations, 1.0 MB read, 31.5 MB to 35.7 MB written,
                            300.0 ms to 400.0 ms in I/O each; ranks 1–5, 9–13, 17–21, 25–29, … (500 ranks)
                            alike: 1,003 operations, 1.0 MB read, 31.5 MB to 35.7 MB written, 300.0 ms to
                            400.0 ms in I/O each; 495 more ranks in 5 groups
              time in I/O   1.24 s over all threads; the busiest spent 400.0 ms, 12.5 % of the run
              busiest files  read  written      time  calls
              out/log0.txt    0 B  57.6 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              out/log1.txt    0 B  57.6 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              out/log2.txt    0 B  57.6 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              busiest variables                   read  written  calls      time  each call
              T in out.nc                          0 B   4.9 MB  1,200  250.0 ms  1×64×128 along dim. 1
              …*/velocities/x in …tate_000001.nc   0 B   4.9 MB  1,200  250.0 ms  blocks of 1×64×128
              /Timestep_*/velocities/y in a.h5     0 B   4.9 MB  1,200  250.0 ms  different parts
              loops         120 iterations of open, write ×3, close on 'out/state_*.nc'
                            2 to 9 iterations of read on 'in.nc', 'grid.nc' and others, 40 times over
              predicted     99.1 % of the next operations, 98.0 % of their files, 97.5 % of their offsets (hit
                            ratio 96.4 %); the time to the next operation is off by 1.2 ms on average
              bursts        12, each of 240 operations and 12.6 MB on average, every 3.20 s; the next one, of
                            240 operations and 12.6 MB, was expected 1.10 s after the last operation
              trace         'trace'; 'ioracle show trace' prints this summary again
        "#]],
    );
    let crowded = RunSummary {
        job: Summary {
            pnetcdf: parallel().job.mpi_io,
            loops: vec![LoopSeen { turn: "read, ".repeat(40), ..busy().job.loops[0].clone() }; 5],
            ..parallel().job
        },
        unrecorded: unrecorded(),
        ..parallel()
    };
    let text = render(&crowded, Screen::plain());
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.contains("  high  ") && text.contains("500 more ranks in 6"), "{text}");
    let of_a_rank = render(&RunSummary { rank: Some(0), ..parallel() }, Screen::plain());
    assert!(of_a_rank.lines().all(|line| line.chars().count() <= 100), "{of_a_rank}");
}

#[test]
fn a_program_that_was_killed_is_reported_with_its_signal_and_what_was_kept() {
    let summary =
        RunSummary { ending: Ending::Killed(11), unseen: Some(Unseen::NoFileIo), ..idle() };
    check(
        &summary,
        expect![[r#"
            ioracle: app was killed by SIGSEGV (11) after 3.20 s; this is everything up to then
              nothing seen  no I/O on regular files was seen; not watched are terminals, pipes, sockets, /proc,
                            /sys, files that --include or --exclude leaves out, and programs that are static,
                            set-user-ID, written in Go, for musl or started with a cleared environment
        "#]],
    );
}

#[test]
fn why_nothing_was_seen_comes_with_what_to_do() {
    for unseen in [Unseen::Static, Unseen::Musl, Unseen::Privileged, Unseen::NotLoaded] {
        let text = render(&RunSummary { unseen: Some(unseen), ..idle() }, Screen::plain());
        assert!(text.contains("nothing seen") && text.lines().count() <= 4, "{text}");
    }
    check(
        &RunSummary { unseen: Some(Unseen::Static), ..idle() },
        expect![[r#"
            ioracle: app ran for 3.20 s
              nothing seen  the program is statically linked, so no library can be preloaded into it; link it
                            dynamically, or use 'strace -f'
        "#]],
    );
}

fn unrecorded() -> UnrecordedTotals {
    let missing = |cause, calls, sentence| MissingCalls { cause, calls, sentence };
    let nginx = UnrecordedProcessRow { pid: 4711, name: "nginx".to_owned(), cause: "no_file" };
    UnrecordedTotals {
        calls: vec![
            missing("borrowed", 1, "made between vfork and exec"),
            missing("limit", 20_000, "the space limit was reached; raise it with --limit"),
        ],
        recorded: 400_000,
        processes: 2,
        threads: 5,
        programs: vec![nginx],
        unfinished: 2,
        io_uring: 3,
        not_learned: 400_000,
        given_up_threads: 1,
        damaged: vec!["'1-1-ff.stream': its header is cut off".to_owned()],
    }
}

#[test]
fn what_is_missing_is_reported_by_cause() {
    let processes =
        ProcessTotals { seen: 9, threads: 1, still_running: 1, ranks_expected: 8, ranks_seen: 4 };
    let io = Io { operations: 5, files: 1, io_time_s: 0.1, busiest_thread_s: 0.1, ..Io::default() };
    check(
        &RunSummary {
            unrecorded: unrecorded(),
            processes,
            job: Summary { io, ..Summary::default() },
            ..idle()
        },
        expect![[r#"
            ioracle: app ran for 3.20 s; 20,000 of 420,000 calls not recorded
              I/O           5 operations on 1 file, by 9 processes and 1 thread
              data          0 B read in 0 reads, 0 B written in 0 writes
              time in I/O   100.0 ms, 3.1 % of the run
              not recorded  1 call: made between vfork and exec
                            20,000 calls: the space limit was reached; raise it with --limit
                            all calls of 5 threads, the only ones of 2 processes: 'nginx' (4711), …
                            2 calls: the program ended or jumped away during the call
                            3 requests to io_uring, which are only counted
                            '1-1-ff.stream': its header is cut off
              not learned   400,000 recorded calls, which came faster than they could be learned
              in process    1 thread could not be learned to the end (too little memory, or a fault); this
                            command answers their questions instead
              still running 1 process, no longer recorded
              not seen      4 of 8 ranks, which run on other machines; use 'mpirun … ioracle run -- app' to
                            record them, too
        "#]],
    );
}

#[test]
fn where_much_is_missing_nothing_is_advised() {
    let unrecorded = UnrecordedTotals { recorded: 5, ..unrecorded() };
    let text = render(&RunSummary { unrecorded, ..busy() }, Screen::plain());
    let first = text.lines().next().unwrap_or_default();
    assert!(first.ends_with("; 20,000 of 20,005 calls not recorded"), "{first}");
    assert!(text.contains("there is no advice"), "{text}");
}

#[test]
fn ranks_mark_their_lines_and_only_the_first_tells_all() {
    check(
        &RunSummary { rank: Some(0), ending: Ending::Exited(2), ..busy() },
        expect![[r#"
            [rank 0] ioracle: app ended with exit code 2 after 3.20 s
            [rank 0]   high          1,200 writes to 'out/log.txt' move 48 B on average, taking 0.30 s (19 % of
            [rank 0]                 the run): collect them in a buffer of some 100 KB or more (setvbuf, or a
            [rank 0]                 buffered writer)
            [rank 0]   warning       'out/log.txt' was synced 40 times, taking 0.20 s (6 % of the run): sync
            [rank 0]                 once
            [rank 0]   I/O           12,345 operations on 37 files, by 2 processes and 5 threads; 3 calls failed
            [rank 0]   data          1.1 GB read in 8,000 reads, 57.6 KB written in 1 write
            [rank 0]   time in I/O   1.24 s over all threads; the busiest spent 400.0 ms, 12.5 % of the run
            [rank 0]   busiest files                                 read  written      time  calls
            [rank 0]   out/log.txt                                    0 B  57.6 KB  310.0 ms  write ×1,200
            [rank 0]   …rojects/simulation/runs/2024/state_*.nc ×40   0 B  57.6 KB  310.0 ms  write ×1,200
            [rank 0]   loops         120 iterations of open, write ×3, close on 'out/state_*.nc'
            [rank 0]                 2 to 9 iterations of read on 'in.nc', 'grid.nc' and others, 40 times over
            [rank 0]   predicted     99.1 % of the next operations, 98.0 % of their files, 97.5 % of their
            [rank 0]                 offsets (hit ratio 96.4 %); the time to the next operation is off by 1.2 ms
            [rank 0]                 on average
            [rank 0]   bursts        12, each of 240 operations and 12.6 MB on average, every 3.20 s; the next
            [rank 0]                 one, of 240 operations and 12.6 MB, was expected 1.10 s after the last
            [rank 0]                 operation
            [rank 0]   trace         'trace'; 'ioracle show trace' prints this summary again
        "#]],
    );
    check(
        &RunSummary { rank: Some(3), ..busy() },
        expect![[r#"
            [rank 3] ioracle: app ran for 3.20 s; 12,345 operations, 1.1 GB read, 57.6 KB written, 1.24 s in I/O
        "#]],
    );
}

/// Tables lose columns and labels move into the text, but nothing runs over.
#[test]
fn the_text_follows_the_width_of_the_terminal() {
    for width in [50, 80, 120] {
        for summary in [busy(), parallel(), RunSummary { unrecorded: unrecorded(), ..busy() }] {
            let text = render(&summary, Screen { width, ..Screen::plain() });
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width && widest > width - 12, "{width}: {widest}\n{text}");
            for expected in ["out/log", "57.6 KB", "high", "iterations of open"] {
                assert!(text.contains(expected), "{expected} at {width}\n{text}");
            }
        }
    }
    expect![[r#"
        ioracle: app ran for 3.20 s
          high: 1,200 writes to 'out/log.txt' move 48 B
            on average, taking 0.30 s (19 % of the run):
            collect them in a buffer of some 100 KB or
            more (setvbuf, or a buffered writer)
          warning: 'out/log.txt' was synced 40 times,
            taking 0.20 s (6 % of the run): sync once
          I/O: 12,345 operations on 37 files, by 2
            processes and 5 threads; 3 calls failed
          data: 1.1 GB read in 8,000 reads, 57.6 KB
            written in 1 write
          time in I/O: 1.24 s over all threads; the
            busiest spent 400.0 ms, 12.5 % of the run
          busiest files          read  written      time
          out/log.txt             0 B  57.6 KB  310.0 ms
          …/2024/state_*.nc ×40   0 B  57.6 KB  310.0 ms
          loops: 120 iterations of open, write ×3, close
            on 'out/state_*.nc'
          2 to 9 iterations of read on 'in.nc',
            'grid.nc' and others, 40 times over
          predicted: 99.1 % of the next operations,
            98.0 % of their files, 97.5 % of their offsets
            (hit ratio 96.4 %); the time to the next
            operation is off by 1.2 ms on average
          bursts: 12, each of 240 operations and 12.6 MB
            on average, every 3.20 s; the next one, of 240
            operations and 12.6 MB, was expected 1.10 s
            after the last operation
          trace: 'trace'; 'ioracle show trace' prints
            this summary again
    "#]]
    .assert_eq(&render(&busy(), Screen { width: 50, ..Screen::plain() }));
}
