// SPDX-License-Identifier: MIT OR Apache-2.0

//! Summaries as people see them.

use expect_test::{Expect, expect};

use super::super::summary::{
    Advice, Between, Bursts, BusyFile, BusyVariable, Calls, Io, LibraryCalls, LoopSeen, Missing,
    NextBurst, Predicted, Processes, RankGroup, RanksAlike, Unrecorded,
};
use super::super::tally::Part;
use super::super::unseen::Unseen;
use super::*;

fn check(summary: &Summary, expected: Expect) {
    let text = render(summary, Colours::Off);
    assert!(text.lines().count() <= 40, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    expected.assert_eq(&text);
}

/// A program that did nothing.
fn idle() -> Summary {
    Summary {
        format: 1,
        application: "app".to_owned(),
        command: vec!["./app".to_owned()],
        rank: None,
        world_size: None,
        ending: Ending::Exited(0),
        wall_s: 3.2,
        processes: Processes { seen: 1, threads: 1, ..Processes::default() },
        ranks: None,
        io: Io::default(),
        mpi_own: None,
        mpi_io: None,
        hdf5: None,
        netcdf: None,
        pnetcdf: None,
        busiest_files: Vec::new(),
        busiest_variables: Vec::new(),
        loops: Vec::new(),
        predicted: None,
        predicted_variables: None,
        bursts: None,
        advice: Vec::new(),
        unrecorded: Unrecorded::default(),
        linked_in: Vec::new(),
        stacks: None,
        unseen: None,
        trace: None,
        model: None,
        own_cpu_s: 0.01,
    }
}

fn busy_file(path: &str) -> BusyFile {
    let calls = |function, calls, bytes| Calls { function, calls, bytes, io_time_s: 0.1 };
    BusyFile {
        path: path.to_owned(),
        operations: 1201,
        bytes_read: 0,
        bytes_written: 1200 * 48,
        io_time_s: 0.31,
        calls: vec![calls("write", 1200, 1200 * 48), calls("open", 1, 0)],
    }
}

fn busy() -> Summary {
    let found = LoopSeen {
        turn: "open, write ×3, close".to_owned(),
        operations: 5,
        turns_min: 120,
        turns_max: 120,
        runs: 1,
    };
    Summary {
        io: Io {
            operations: 12_345,
            failed_calls: 3,
            files: 37,
            reads: 8_000,
            bytes_read: 1 << 30,
            writes: 1,
            bytes_written: 57_600,
            io_time_s: 1.24,
            busiest_thread_s: 0.4,
        },
        processes: Processes { seen: 2, threads: 5, ..Processes::default() },
        busiest_files: vec![
            busy_file("out/log.txt"),
            busy_file("/scratch/somebody/projects/simulation/runs/2024/state_000001.nc"),
        ],
        loops: vec![
            found.clone(),
            LoopSeen { turn: "read".to_owned(), turns_min: 2, turns_max: 9, runs: 40, ..found },
        ],
        predicted: Some(Predicted {
            operations: 12_345,
            context_accuracy: 99.12,
            file_accuracy: 98.0,
            offset_accuracy: 97.5,
            hit_ratio: 96.44,
            time_error_s: 0.0012,
        }),
        bursts: Some(Bursts {
            seen: 12,
            operations: 240.4,
            bytes: 12.6e6,
            period_s: 3.2,
            next: Some(NextBurst {
                operations: 240,
                bytes: 12 << 20,
                starts_in_s: 1.1,
                confidence: 0.93,
                at_least: false,
            }),
        }),
        advice: vec![Advice {
            kind: "small_writes",
            path: Some("out/log.txt".to_owned()),
            io_time_s: 0.3,
            sentence: "1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the \
                       run): collect them in a buffer of some 100 KB (setvbuf, or a buffered \
                       writer)"
                .to_owned(),
        }],
        trace: Some("trace".into()),
        ..idle()
    }
}

#[test]
fn a_run_is_told_on_one_screen() {
    check(
        &busy(),
        expect![[r#"
            ioracle: app ran for 3.20 s
              I/O           12,345 operations on 37 files, by 2 programs and 5 threads; 3 calls failed
              data          1.0 GB read in 8,000 reads, 56.2 KB written in 1 write
              time in I/O   1.24 s over all threads; the busiest spent 400.0 ms, 12.5 % of the run
              busiest files                   read  written      time  calls
              out/log.txt                      0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              …ion/runs/2024/state_000001.nc   0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              loops         120 turns of open, write ×3, close
                            2 to 9 turns of read, run 40 times
              predicted     99.1 % of what came next, 98.0 % of files, 97.5 % of offsets (hit ratio 96.4 %), the
                            next wait to 1.2 ms on average
              bursts        12 of 240 operations and 12.0 MB on average, every 3.20 s; the next, of 240
                            operations and 12.0 MB, was expected 1.10 s after the last operation
              what to do    1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the run):
                            collect them in a buffer of some 100 KB (setvbuf, or a buffered writer)
              trace         'trace'; 'ioracle eval trace' evaluates it
        "#]],
    );
}

fn busy_variable(name: &str, path: &str, part: Part) -> BusyVariable {
    BusyVariable {
        name: name.to_owned(),
        path: path.to_owned(),
        variables: 1,
        reads: 0,
        bytes_read: 0,
        writes: 1200,
        bytes_written: 1200 << 12,
        io_time_s: 0.25,
        part: Some(part),
        counts: Some(vec![1, 64, 128]),
        chunk: None,
        calls: Vec::new(),
    }
}

/// All that can be said, at its longest.
fn parallel() -> Summary {
    let mpi_io = LibraryCalls {
        calls: 1240,
        collective_calls: 1000,
        reads: 200,
        bytes_read: 200 << 20,
        writes: 1000,
        bytes_written: 1000 << 10,
        io_time_s: 0.4,
    };
    let netcdf = LibraryCalls { collective_calls: 0, reads: 0, bytes_read: 0, ..mpi_io };
    let far = "/scratch/somebody/projects/simulation/runs/2024/state_000001.nc";
    let advice = busy().advice[0].clone();
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
    Summary {
        ranks: Some(RanksAlike { ranks: 1000, kinds: 7, groups }),
        mpi_io: Some(mpi_io),
        netcdf: Some(netcdf),
        hdf5: Some(mpi_io),
        busiest_files: (0..10).map(|n| busy_file(&format!("out/log{n}.txt"))).collect(),
        busiest_variables: vec![
            busy_variable("T", "out.nc", Part::Slices(1)),
            busy_variable("/Timestep_*/velocities/x", far, Part::Blocks),
            busy_variable("/Timestep_*/velocities/y", "a.h5", Part::Irregular),
            BusyVariable { counts: None, ..busy_variable("q", far, Part::Whole) },
            busy_variable("q", "out.nc", Part::Points),
        ],
        advice: vec![advice.clone(), advice.clone(), advice.clone(), advice],
        ..busy()
    }
}

#[test]
fn calls_of_libraries_and_variables_are_told_and_still_fit() {
    check(
        &parallel(),
        expect![[r#"
            ioracle: app ran for 3.20 s
              I/O           12,345 operations on 37 files, by 2 programs and 5 threads; 3 calls failed
              data          1.0 GB read in 8,000 reads, 56.2 KB written in 1 write
              HDF5          1,240 calls (1,000 collective) in 400.0 ms; 200.0 MB in 200 reads; 1000.0 KB in
                            1,000 writes
              netCDF        1,240 calls in 400.0 ms; 1000.0 KB in 1,000 writes
              MPI-IO        1,240 calls (1,000 collective) in 400.0 ms; 200.0 MB in 200 reads; 1000.0 KB in
                            1,000 writes
              ranks         0, 1000–1003 alike: 1,003 operations, 1000.0 KB read, 30.0 MB to 34.0 MB written,
                            300.0 ms to 400.0 ms in I/O each; 1–5, 9–13, 17–21, 25–29, … (500 ranks) alike:
                            1,003 operations, 1000.0 KB read, 30.0 MB to 34.0 MB written, 300.0 ms to 400.0 ms
                            in I/O each; 800, 801 alike: 1,003 operations, 1000.0 KB read, 30.0 MB to 34.0 MB
                            written, 300.0 ms to 400.0 ms in I/O each; 493 others of 4 kinds
              time in I/O   1.24 s over all threads; the busiest spent 400.0 ms, 12.5 % of the run
              busiest files  read  written      time  calls
              out/log0.txt    0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              out/log1.txt    0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              out/log2.txt    0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              out/log3.txt    0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              out/log4.txt    0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B, open ×1
              busiest variables             read  written      time  calls  of
              T in out.nc                    0 B   4.7 MB  250.0 ms  1,200  1×64×128 along dim. 1
              …elocities/x in …e_000001.nc   0 B   4.7 MB  250.0 ms  1,200  blocks of 1×64×128
              …step_*/velocities/y in a.h5   0 B   4.7 MB  250.0 ms  1,200  different parts
              q in …s/2024/state_000001.nc   0 B   4.7 MB  250.0 ms  1,200  the whole
              loops         120 turns of open, write ×3, close
                            2 to 9 turns of read, run 40 times
              predicted     99.1 % of what came next, 98.0 % of files, 97.5 % of offsets (hit ratio 96.4 %), the
                            next wait to 1.2 ms on average
              bursts        12 of 240 operations and 12.0 MB on average, every 3.20 s; the next, of 240
                            operations and 12.0 MB, was expected 1.10 s after the last operation
              what to do    1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the run):
                            collect them in a buffer of some 100 KB (setvbuf, or a buffered writer)
                            1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the run):
                            collect them in a buffer of some 100 KB (setvbuf, or a buffered writer)
                            1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the run):
                            collect them in a buffer of some 100 KB (setvbuf, or a buffered writer)
                            1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the run):
                            collect them in a buffer of some 100 KB (setvbuf, or a buffered writer)
              trace         'trace'; 'ioracle eval trace' evaluates it
        "#]],
    );
    let crowded = Summary {
        pnetcdf: parallel().mpi_io,
        unrecorded: unrecorded(),
        loops: vec![LoopSeen { turn: "read, ".repeat(40), ..busy().loops[0].clone() }; 5],
        ..parallel()
    };
    let text = render(&crowded, Colours::Off);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.contains("what to do") && text.contains("500 others of 6 kinds"), "{text}");
    let of_a_rank = render(&Summary { rank: Some(0), ..parallel() }, Colours::Off);
    assert!(of_a_rank.lines().all(|line| line.chars().count() <= 100), "{of_a_rank}");
}

#[test]
fn a_program_that_was_killed_is_told_with_its_signal_and_what_was_kept() {
    let summary = Summary { ending: Ending::Killed(11), unseen: Some(Unseen::NoFileIo), ..idle() };
    check(
        &summary,
        expect![[r#"
            ioracle: app was ended by SIGSEGV (11) after 3.20 s; what it did until then is recorded
              nothing seen  no I/O on regular files was seen; not watched are terminals, pipes, sockets, /proc,
                            /sys, files that --include or --exclude leaves out, and programs that are static,
                            set-user-ID, for musl or started with a cleared environment
        "#]],
    );
}

#[test]
fn why_nothing_was_seen_comes_with_what_to_do() {
    for unseen in [Unseen::Static, Unseen::Musl, Unseen::Privileged, Unseen::NotLoaded] {
        let text = render(&Summary { unseen: Some(unseen), ..idle() }, Colours::Off);
        assert!(text.contains("nothing seen") && text.lines().count() <= 4, "{text}");
    }
    check(
        &Summary { unseen: Some(Unseen::Static), ..idle() },
        expect![[r#"
        ioracle: app ran for 3.20 s
          nothing seen  the program is statically linked, so no library can be preloaded into it; link it
                        dynamically, or take 'strace -f'
    "#]],
    );
}

fn unrecorded() -> Unrecorded {
    let missing = |calls, sentence| Missing { cause: "x", calls, sentence };
    Unrecorded {
        calls: vec![
            missing(1, "made between vfork and exec"),
            missing(20_000, "the space limit was reached; raise it with --limit"),
        ],
        unfinished: 2,
        io_uring: 3,
        not_learned: 400_000,
        given_up_threads: 1,
        damaged: vec!["'1-1-ff.stream': its header is cut off".to_owned()],
    }
}

#[test]
fn what_is_missing_is_told_by_cause() {
    let processes =
        Processes { seen: 9, threads: 1, still_running: 1, ranks_expected: 8, ranks_seen: 4 };
    let io = Io { operations: 5, files: 1, io_time_s: 0.1, busiest_thread_s: 0.1, ..Io::default() };
    check(
        &Summary { unrecorded: unrecorded(), processes, io, ..idle() },
        expect![[r#"
            ioracle: app ran for 3.20 s
              I/O           5 operations on 1 file, by 9 programs and 1 thread
              data          0 B read in 0 reads, 0 B written in 0 writes
              time in I/O   100.0 ms, 3.1 % of the run
              not recorded  1 call: made between vfork and exec
                            20,000 calls: the space limit was reached; raise it with --limit
                            2 calls: the program ended, or jumped away, while recording
                            3 requests to io_uring, counted only
                            '1-1-ff.stream': its header is cut off
              not learned   400,000 recorded calls: the program made them faster than they are learned
              in process    1 thread of the program not learned to the end, for want of memory or after a fault;
                            what they ask is answered by this command instead
              still running 1 process, not recorded any more
              not seen      4 of 8 ranks, as they run where this command does not; use 'mpirun … ioracle run --
                            app'
        "#]],
    );
}

#[test]
fn ranks_mark_their_lines_and_only_the_first_tells_all() {
    check(
        &Summary { rank: Some(0), ending: Ending::Exited(2), ..busy() },
        expect![[r#"
            [rank 0] ioracle: app ended with exit code 2 after 3.20 s
            [rank 0]   I/O           12,345 operations on 37 files, by 2 programs and 5 threads; 3 calls failed
            [rank 0]   data          1.0 GB read in 8,000 reads, 56.2 KB written in 1 write
            [rank 0]   time in I/O   1.24 s over all threads; the busiest spent 400.0 ms, 12.5 % of the run
            [rank 0]   busiest files                   read  written      time  calls
            [rank 0]   out/log.txt                      0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B
            [rank 0]   …ion/runs/2024/state_000001.nc   0 B  56.2 KB  310.0 ms  write ×1,200 of 48 B
            [rank 0]   loops         120 turns of open, write ×3, close
            [rank 0]                 2 to 9 turns of read, run 40 times
            [rank 0]   predicted     99.1 % of what came next, 98.0 % of files, 97.5 % of offsets (hit ratio
            [rank 0]                 96.4 %), the next wait to 1.2 ms on average
            [rank 0]   bursts        12 of 240 operations and 12.0 MB on average, every 3.20 s; the next, of 240
            [rank 0]                 operations and 12.0 MB, was expected 1.10 s after the last operation
            [rank 0]   what to do    1,200 writes of 48 B on average of 'out/log.txt' took 0.30 s (9 % of the
            [rank 0]                 run): collect them in a buffer of some 100 KB (setvbuf, or a buffered
            [rank 0]                 writer)
            [rank 0]   trace         'trace'; 'ioracle eval trace' evaluates it
        "#]],
    );
    check(
        &Summary { rank: Some(3), ..busy() },
        expect![[r#"
        [rank 3] ioracle: app ran for 3.20 s; 12,345 operations, 1.0 GB read, 56.2 KB written, 1.24 s in I/O
    "#]],
    );
}
