// SPDX-License-Identifier: MIT OR Apache-2.0

//! Profiles, plans and forecasts of small traces that are written down here.

use std::collections::BTreeMap;

use ioracle_forecast::{
    Action, Api, CacheAdvice, ClassPattern, Direction, Forecast, IoClass, Kind, OwnTime,
    Percentiles, Point, Profile, ReplayPlan, SizeBin, Storage, SyncDepth, System,
    SystemDescription, Terms,
};
use ioracle_trace::{Encoding, ReadOptions, Trace, TraceFiles};

const HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail\n";

/// A trace of these rows, with the files `data`, `/etc/passwd` and `../../up`.
fn trace(rows: &str) -> Trace {
    let parts = TraceFiles {
        encoding: Encoding::Plain,
        events: format!("{HEADER}{rows}").into_bytes(),
        stacks: b"id,frames\n1,app+0x10;app+0x1\n2,app+0x20;app+0x1\n".to_vec(),
        files: b"id,path\n1,data\n2,/etc/passwd\n3,../../up\n".to_vec(),
        optional: BTreeMap::new(),
        meta: None,
    };
    Trace::from_parts("test", parts, ReadOptions::default()).expect("a trace")
}

fn profile(rows: &str) -> Profile {
    Profile::of(&trace(rows), &Storage::Busiest, |_| {}).expect("a profile")
}

/// The classes and their times in microseconds, in the order of their names.
fn classes(profile: &Profile) -> Vec<String> {
    let mut rows: Vec<String> = (profile.classes.iter())
        .map(|row| format!("{} x{} {}us", row.class, row.calls, row.time_ns / 1000))
        .collect();
    rows.sort();
    rows
}

/// Writes 1 MiB in four calls, syncs, and reads it back.
const WRITE_AND_READ: &str = "\
0,0,0,posix,open,1,1,3,-1,0,3,0,10000,0,RDWR|CREAT|TRUNC
0,0,1,posix,write,1,1,3,0,262144,262144,20000,120000,0,
0,0,2,posix,write,1,1,3,262144,262144,262144,120000,220000,0,
0,0,3,posix,write,1,1,3,524288,262144,262144,220000,320000,0,
0,0,4,posix,write,1,1,3,786432,262144,262144,320000,420000,0,
0,0,5,posix,fsync,1,1,3,-1,0,0,420000,1420000,0,
0,0,6,posix,pread,2,1,3,0,262144,262144,2000000,2050000,0,
0,0,7,posix,pread,2,1,3,262144,262144,262144,2050000,2100000,0,
0,0,8,posix,close,1,1,3,-1,0,0,2200000,2210000,0,
";

#[test]
fn calls_are_sorted_by_what_they_do_and_where() {
    let profile = profile(WRITE_AND_READ);
    assert_eq!(
        classes(&profile),
        [
            "POSIX close, 0 B x1 10us",
            "POSIX create x1 10us",
            "POSIX read, 256 KiB, random within 1 MiB, cached x1 50us",
            "POSIX read, 256 KiB, sequential, cached x1 50us",
            "POSIX sync, 1 MiB x1 1000us",
            "POSIX write, 256 KiB, sequential x4 400us",
        ]
    );
    assert!((profile.total_s() - 1.52e-3).abs() < 1e-9);
    assert!((profile.direction_s(Direction::Write) - 1.4e-3).abs() < 1e-9);
    assert!((profile.direction_s(Direction::Read) - 1e-4).abs() < 1e-9);
}

#[test]
fn a_call_counts_without_the_calls_inside_it() {
    let profile = profile(
        "\
0,0,0,mpiio,mpi_write_at_all,1,1,3,0,4096,0,0,100000,0,
0,0,1,posix,pwrite,1,1,3,0,4096,4096,10000,40000,1,
0,0,2,hl,H5Dwrite,1,1,9,-1,4096,0,200000,300000,0,/x
0,0,3,posix,pwrite,1,1,3,4096,4096,4096,210000,230000,1,
0,0,4,posix,lseek,1,1,3,0,0,9,300000,301000,0,SET
0,0,5,posix,read,1,2,4,0,100,100,310000,320000,0,
",
    );
    assert_eq!(classes(&profile), ["POSIX write, 4 KiB, sequential x2 50us"]);
    assert_eq!(profile.own_ns[&OwnTime::Waiting], 70_000);
    assert_eq!(profile.own_ns[&OwnTime::Library], 80_000);
    assert_eq!(profile.own_ns[&OwnTime::Memory], 1_000);
    assert_eq!(profile.own_ns[&OwnTime::Elsewhere], 10_000);
    assert!((profile.total_s() - 211e-6).abs() < 1e-12);
}

#[test]
fn processes_that_share_a_file_at_the_same_time_are_noticed() {
    let mut rows = String::new();
    for rank in 0..4 {
        for call in 0..3_u64 {
            let (offset, start) = ((call * 4 + rank) * 65536, call * 1_000_000);
            rows.push_str(&format!(
                "{rank},0,{call},posix,pwrite,1,1,3,{offset},65536,65536,{start},{},0,\n",
                start + 900_000
            ));
        }
    }
    let profile = profile(&rows);
    let first = &profile.classes[0].class;
    assert!(first.shared && first.concurrency == 4, "{first}");
    let strided = ClassPattern::Strided { distance: SizeBin::of(1 << 20) };
    assert!(profile.classes.iter().any(|row| row.class.pattern == strided));
    assert_eq!(profile.processes.len(), 4);
}

#[test]
fn asynchronous_calls_take_the_time_of_their_completion_too() {
    let profile = profile(
        "\
0,0,0,mpiio,mpi_iwrite_at,1,1,3,0,4096,0,0,5000,0,request=7
0,0,1,mpiio,mpi_wait,1,1,-1,-1,0,0,50000,90000,0,request=7
",
    );
    let row = &profile.classes[0];
    assert_eq!((row.calls, row.time_ns), (1, 45_000));
    assert!(!row.class.synchronous && row.class.api == Api::MpiIo);
}

/// Flushes of a stream were taken for syncs: a program that flushes its log after
/// each line was said to wait for the disk each time.
#[test]
fn a_flush_of_a_stream_is_a_write_of_its_buffer() {
    let rows = "\
0,0,0,stdio,fopen,1,1,3,-1,0,3,0,10000,0,w
0,0,1,stdio,fwrite,1,1,3,0,100,100,20000,21000,0,
0,0,2,stdio,fflush,1,1,3,-1,0,0,30000,35000,0,
";
    let expected = ["stdio create x1 10us", "stdio write, 128 B, sequential x1 5us"];
    assert_eq!(classes(&profile(rows)), expected);
    assert_eq!(profile(rows).own_ns[&OwnTime::Buffered], 1_000);
    let plan = ReplayPlan::of(&trace(rows), &Storage::Busiest, |_| {}).unwrap();
    let last = plan.processes[0].streams[0][2].action;
    assert!(matches!(last, Action::Sync { depth: SyncDepth::Buffer, .. }), "{last:?}");
}

#[test]
fn a_plan_makes_the_same_calls_again() {
    let plan = ReplayPlan::of(&trace(WRITE_AND_READ), &Storage::Busiest, |_| {}).unwrap();
    assert_eq!(plan.files[0].name, "data");
    assert_eq!((plan.files[0].before, plan.bytes_needed), (None, 1 << 20));
    let steps = &plan.processes[0].streams[0];
    assert_eq!(steps.len(), 9);
    assert!(matches!(steps[0].action, Action::Open { slot: 0, file: 0, mode } if mode.truncate));
    assert_eq!(steps[1].think_ns, 10_000);
    assert_eq!(steps[6].action, Action::Read { slot: 0, offset: 0, bytes: 262_144 });
    assert_eq!(steps[6].think_ns, 580_000);
    assert_eq!(plan.original_by_class().iter().map(|sum| sum.1).sum::<u64>(), 1_520_000);
}

/// A program such as fio reserves room for its file, and drops it from the cache before
/// it reads it: replays that left this out wrote at other speeds and read from memory.
#[test]
fn what_decides_over_room_and_caches_is_made_again() {
    let rows = "\
0,0,0,posix,open,1,1,3,-1,0,3,0,10000,0,RDWR|CREAT|TRUNC
0,0,1,posix,fallocate,1,1,3,0,65536,0,10000,20000,0,KEEP_SIZE
0,0,2,posix,fallocate,1,1,3,0,65536,0,20000,30000,0,PUNCH_HOLE|KEEP_SIZE
0,0,3,posix,ftruncate,1,1,3,-1,65536,0,30000,40000,0,
0,0,4,posix,pwrite,1,1,3,0,4096,4096,40000,50000,0,
0,0,5,posix,pread,1,1,3,0,4096,4096,51000,60000,0,
0,0,6,posix,posix_fadvise,1,1,3,0,0,0,60000,70000,0,DONTNEED
0,0,7,posix,pread,1,1,3,0,4096,4096,70000,80000,0,
";
    let names = classes(&profile(rows));
    assert!(names.contains(&"POSIX truncate x3 30us".to_owned()), "{names:?}");
    // The first read finds what was written, the second finds it dropped.
    let reads = names.iter().filter(|name| name.contains("read"));
    let (cached, uncached): (Vec<&String>, Vec<&String>) =
        reads.partition(|name| name.contains("cached"));
    assert_eq!((cached.len(), uncached.len()), (1, 1), "{names:?}");
    let plan = ReplayPlan::of(&trace(rows), &Storage::Busiest, |_| {}).unwrap();
    let actions: Vec<Action> =
        plan.processes[0].streams[0].iter().map(|step| step.action).collect();
    let slot = 0;
    assert_eq!(
        actions[1..3],
        [
            Action::Allocate { slot, offset: 0, bytes: 65536, keeps_length: true },
            Action::Resize { slot, bytes: 65536 },
        ]
    );
    let advice = CacheAdvice::DontNeed;
    assert_eq!(actions[5], Action::Advise { slot, offset: 0, bytes: 0, advice });
    assert_eq!(plan.left_out["fallocate"], 1);
    assert_eq!(plan.bytes_needed, 65536);
}

/// The last call of a thread came after all calls of the others: `fio --thread` wrote
/// through descriptors that were not open yet.
#[test]
fn a_file_that_one_thread_opened_is_used_by_another() {
    let rows = "\
0,0,0,posix,open,1,1,3,-1,0,3,0,10000,0,RDWR|CREAT|TRUNC
0,1,1,posix,write,1,1,3,0,100,100,20000,30000,0,
0,1,2,posix,close,1,1,3,-1,0,0,40000,50000,0,
";
    let plan = ReplayPlan::of(&trace(rows), &Storage::Busiest, |_| {}).unwrap();
    let process = &plan.processes[0];
    assert_eq!((process.slots, process.streams.len()), (1, 2));
    // It begins where the first thread has come to, and pauses from there on.
    let [first, second] = [&process.streams[0], &process.streams[1]];
    assert!(matches!(first[1].action, Action::Signal(0)), "{first:?}");
    assert!(matches!(second[0].action, Action::Wait(0)), "{second:?}");
    assert_eq!(second[1].think_ns, 10_000);
    assert!(matches!(second[2].action, Action::Close { slot: 0 }));
}

#[test]
fn hostile_names_stay_below_the_directory() {
    let rows = "\
0,0,0,posix,open,1,3,3,-1,0,3,0,10000,0,RDWR|CREAT|TRUNC
0,0,1,posix,write,1,3,3,0,10,10,20000,120000,0,
0,0,2,posix,open,1,2,4,-1,0,4,200000,210000,0,RDWR
0,0,3,posix,read,1,2,4,0,500,500,220000,320000,0,
";
    let plan = ReplayPlan::of(&trace(rows), &Storage::Everything, |_| {}).unwrap();
    let names: Vec<_> = plan.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["up/up/up", "root/etc/passwd"]);
    assert_eq!(plan.files[1].before, Some(500));
}

#[test]
fn who_reads_what_another_process_wrote_waits_for_it() {
    let rows = "\
0,0,0,posix,open,1,1,3,-1,0,3,0,10000,0,RDWR|CREAT|TRUNC
0,0,1,posix,write,1,1,3,0,100,100,20000,30000,0,
1,0,0,posix,open,1,1,3,-1,0,3,40000,50000,0,RDONLY
1,0,1,posix,read,1,1,3,0,100,100,60000,70000,0,
";
    let plan = ReplayPlan::of(&trace(rows), &Storage::Busiest, |_| {}).unwrap();
    let actions = |process: usize| {
        let steps = plan.processes[process].streams[0].iter();
        steps.map(|step| step.action).collect::<Vec<_>>()
    };
    assert!(actions(0).iter().any(|action| matches!(action, Action::Signal(_))));
    assert!(actions(1).iter().any(|action| matches!(action, Action::Wait(_))));
    assert_eq!(plan.files[0].before, None, "the first process makes it");
}

#[test]
fn a_trace_with_nothing_to_replay_says_so() {
    let rows = "0,0,4,posix,lseek,1,1,3,0,0,9,300000,301000,0,SET\n";
    let error = ReplayPlan::of(&trace(rows), &Storage::Busiest, |_| {}).unwrap_err();
    assert!(error.to_string().contains("has no calls that can be made again"), "{error}");
}

fn point(class: IoClass, bytes: u64, mean_s: f64) -> Point {
    let p = |factor: f64| mean_s * factor;
    Point {
        class: IoClass { size: SizeBin::of(bytes), ..class },
        transfer_bytes: bytes,
        repetitions: 5,
        calls: 500,
        bytes: 500 * bytes,
        mean_s,
        rsd: 0.02,
        percentiles_s: Percentiles {
            p5: p(0.8),
            p25: p(0.9),
            p50: p(1.0),
            p75: p(1.1),
            p95: p(1.2),
            p99: p(1.5),
        },
        interval_s: (p(0.98), p(1.02)),
        confidence: 0.9,
        replayed: false,
    }
}

fn system(name: &str, points: Vec<Point>) -> System {
    let mut system = System::new(name, "test", SystemDescription::default());
    system.points = points;
    system
}

fn read(cached: bool) -> IoClass {
    IoClass { cached, ..IoClass::new(Kind::Read, SizeBin::EMPTY) }
}

fn write() -> IoClass {
    IoClass::new(Kind::Write, SizeBin::EMPTY)
}

/// Ten reads of 64 KiB, 1 ms each, of a file that was there.
fn reads(time_ns: u64) -> Profile {
    let rows: String = (0..10_u64)
        .map(|n| {
            let start = n * 10_000_000;
            let end = start + time_ns;
            format!("0,0,{n},posix,read,1,1,3,{},65536,65536,{start},{end},0,\n", n * 65536)
        })
        .collect();
    profile(&rows)
}

#[test]
fn the_same_system_gives_the_measured_time() {
    let here = system("here", vec![point(read(false), 65536, 3e-3)]);
    let forecast = Forecast::of(&[reads(1_000_000)], &here, &here, Terms::default());
    assert!((forecast.total_s - 10e-3).abs() < 1e-9, "{}", forecast.total_s);
    assert!((forecast.read_s - 10e-3).abs() < 1e-9);
    let (low, high) = forecast.interval_s;
    assert!(low <= 10e-3 + 1e-9 && high >= 10e-3 - 1e-9);
}

#[test]
fn without_further_terms_it_is_the_papers_ratio() {
    let here = system("here", vec![point(read(false), 65536, 2e-3)]);
    let there = system("there", vec![point(read(false), 65536, 6e-3)]);
    let paper = Terms {
        replays: false,
        caching: false,
        seeks: false,
        concurrency: false,
        shrinking: false,
        waiting: false,
    };
    let forecast = Forecast::of(&[reads(1_000_000)], &here, &there, paper);
    assert!((forecast.total_s - 30e-3).abs() < 1e-9, "{}", forecast.total_s);
    assert!((forecast.classes[0].ratio - 3.0).abs() < 1e-9);
}

#[test]
fn times_between_points_are_interpolated_and_beyond_them_extended() {
    let points = |slow: f64| {
        vec![point(read(false), 16384, 1e-3 * slow), point(read(false), 262_144, 4e-3 * slow)]
    };
    let check = |slow: f64, expected: f64| {
        let (here, there) = (system("a", points(1.0)), system("b", points(slow)));
        // As fast as the benchmark: halfway between the two, 2 ms.
        let forecast = Forecast::of(&[reads(2_000_000)], &here, &there, Terms::default());
        assert!((forecast.total_s / expected - 1.0).abs() < 1e-6, "{}", forecast.total_s);
    };
    check(1.0, 20e-3);
    check(5.0, 100e-3);
}

#[test]
fn reads_of_a_warm_reference_stay_cached() {
    let both = |warm: f64, cold: f64| {
        vec![point(read(true), 65536, warm), point(read(false), 65536, cold)]
    };
    let here = system("here", both(1e-4, 2e-3));
    let there = system("there", both(1e-4, 2e-2));
    let of = |time_ns| {
        let forecast = Forecast::of(&[reads(time_ns)], &here, &there, Terms::default());
        (forecast.total_s, forecast.classes[0].cached_share.unwrap())
    };
    let (total, share) = of(100_000);
    assert!((share - 1.0).abs() < 1e-6 && (total - 1e-3).abs() < 1e-6, "{total} {share}");
    let (total, share) = of(2_000_000);
    assert!(share < 1e-6 && (total - 0.2).abs() < 1e-6, "{total} {share}");
    let (_, share) = of(1_050_000);
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

#[test]
fn a_class_without_measurements_is_warned_of_and_widens_the_interval() {
    let here = system("here", vec![point(write(), 65536, 1e-3)]);
    let there = system("there", vec![point(write(), 65536, 2e-3)]);
    let mut runs = [reads(1_000_000)];
    let forecast = Forecast::of(&runs, &here, &there, Terms::default());
    assert!(forecast.warnings[0].contains("calls that read (100 % of the time)"));
    let (low, high) = forecast.interval_s;
    assert!(high / low > 2.0, "{low} {high}");
    // Something of the same kind is better.
    let strange = IoClass { direct: true, ..read(false) };
    let (here, there) = (
        system("here", vec![point(strange, 65536, 1e-3)]),
        system("there", vec![point(strange, 65536, 2e-3)]),
    );
    let forecast = Forecast::of(&runs, &here, &there, Terms::default());
    assert!(forecast.warnings[0].contains("was used instead"), "{:?}", forecast.warnings);
    assert!((forecast.total_s - 20e-3).abs() < 1e-6, "{}", forecast.total_s);
    // Classes of no time stay what they are.
    runs[0].classes.iter_mut().for_each(|row| row.time_ns = 0);
    let forecast = Forecast::of(&runs, &here, &there, Terms::default());
    assert_eq!(forecast.total_s, 0.0);
    assert!(!forecast.has_io());
}

#[test]
fn a_class_that_was_not_replayed_is_taken_as_the_replayed_one_most_like_it() {
    let random = |within| ClassPattern::Random { distance: SizeBin::of(within) };
    let far = IoClass { pattern: ClassPattern::Sequential, ..read(false) };
    let near = IoClass { pattern: random(128), ..far };
    let replayed = |class, mean_s| Point { replayed: true, ..point(class, 65536, mean_s) };
    let strange = IoClass { pattern: random(64), ..near };
    let points = |times: [f64; 3]| {
        vec![replayed(near, times[0]), replayed(far, times[1]), point(near, 65536, times[2])]
    };
    let here = system("here", points([1e-3, 1e-3, 1e-3]));
    let there = system("there", points([3e-3, 30e-3, 50e-3]));
    let mut runs = [reads(1_000_000)];
    runs[0].classes.iter_mut().for_each(|row| row.class = strange);
    let forecast = Forecast::of(&runs, &here, &there, Terms::default());
    assert!((forecast.classes[0].ratio - 3.0).abs() < 1e-6, "{:?}", forecast.classes);
    // Reads at the end of a file are like the smallest.
    runs[0].classes.iter_mut().for_each(|row| {
        row.class = IoClass { size: SizeBin::EMPTY, ..near };
        row.bytes = 0;
    });
    let forecast = Forecast::of(&runs, &here, &there, Terms::default());
    assert!((forecast.classes[0].ratio - 3.0).abs() < 1e-6, "{:?}", forecast.classes);
}

#[test]
fn no_bandwidth_is_taken_from_calls_of_a_few_bytes() {
    let (small, large) = (IoClass::new(Kind::Read, SizeBin::of(8)), read(false));
    let here = system("here", vec![point(small, 8, 1e-6), point(large, 65536, 1e-5)]);
    // Here, the time was over before the large ones.
    let there = system("there", vec![point(small, 8, 1e-3)]);
    let forecast = Forecast::of(&[reads(10_000)], &here, &there, Terms::default());
    let ratio = forecast.classes[0].ratio;
    assert!((50.0..200.0).contains(&ratio), "{ratio}");
}

#[test]
fn real_runs_are_compared_with_a_sign() {
    let here = system("here", vec![point(read(false), 65536, 1e-3)]);
    let there = system("there", vec![point(read(false), 65536, 2e-3)]);
    let forecast = Forecast::of(&[reads(1_000_000)], &here, &there, Terms::default());
    let comparison = forecast.compare(&[reads(1_600_000)]);
    assert!((comparison.error_percent[2].unwrap() - 25.0).abs() < 1e-6);
    assert_eq!(comparison.error_percent[1], None);
    assert!(!comparison.is_inside || comparison.actual_s[2] >= forecast.interval_s.0);
}

#[test]
fn what_would_help_is_ranked_by_seconds() {
    let points = vec![point(read(false), 65536, 1e-3), point(read(false), 1 << 20, 2e-3)];
    let here = system("here", points.clone());
    let forecast = Forecast::of(&[reads(1_000_000)], &here, &here, Terms::default());
    let changes = forecast.what_if(&[reads(1_000_000)], &here, &here, &[]);
    assert!(changes.is_sorted_by(|one, other| one.saves_s >= other.saves_s));
    let larger = changes.iter().find(|it| it.change.contains("1 MiB")).expect("larger transfers");
    // 640 KiB are one call of 1 MiB, 2 ms.
    assert!((larger.saves_s - 8e-3).abs() < 1e-6, "{larger:?}");
}
