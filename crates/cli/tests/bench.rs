// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle bench` on real directories.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ioracle_forecast::{Kind, System};
use ioracle_testing::{SmallDisk, skip};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{Done, command, done, ioracle};

/// A directory on the disk of the build, which is no tmpfs as a rule.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn bench(directory: &Path, arguments: &[&str]) -> Done {
    let directory = directory.to_str().expect("a path of text");
    ioracle([&["bench", directory], arguments].concat())
}

/// Few and short repetitions.
const QUICK: [&str; 6] = ["--repetitions", "2", "--time-limit", "5s", "--block-size", "256K"];

fn quick(directory: &Path, arguments: &[&str]) -> Done {
    bench(directory, &[&QUICK, arguments].concat())
}

/// Nothing is left in the directory.
fn assert_clean(directory: &Path) {
    let left: Vec<_> = fs::read_dir(directory).unwrap().flatten().map(|it| it.path()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn a_directory_is_measured_and_left_as_it_was() {
    let place = on_disk();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("system.json");
    let arguments = ["-t", "4K,64K", "--tasks", "1,2", "--metadata", "4", "-o"];
    let done = quick(place.path(), &[&arguments[..], &[file.to_str().unwrap()]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("MB/s") && done.out.contains("cold read"), "{}", done.out);
    assert!(done.out.lines().count() <= 50, "{}", done.out);
    assert_clean(place.path());
    let system = System::load(&file).unwrap();
    let has = |kind: Kind, n_tasks: u16| {
        system.points.iter().any(|it| it.class.kind == kind && it.class.concurrency == n_tasks)
    };
    for kind in [Kind::Read, Kind::Write, Kind::Open, Kind::Create, Kind::Delete, Kind::Stat] {
        assert!(has(kind, 1) && has(kind, 2), "{}", kind.name());
    }
    for cached in [false, true] {
        let is_such = |it: &&ioracle_forecast::Point| {
            it.class.kind == Kind::Read && it.class.cached == cached
        };
        assert!(system.points.iter().any(|it| is_such(&it)), "cached: {cached}");
    }
    assert!(!system.description.file_system.is_empty());
}

#[test]
fn cold_reads_come_from_the_storage_and_warm_ones_from_memory() {
    let place = on_disk();
    let arguments =
        ["-t", "64K", "-b", "8M", "--tasks", "1", "--metadata", "0", "--pattern", "sequential"];
    let done = bench(place.path(), &[&arguments[..], &["--repetitions", "3", "--json"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let json = done.json();
    let resident =
        json["throughput"].as_array().unwrap().iter().find_map(|it| it["resident"].as_f64());
    let Some(resident) = resident else {
        skip("this file system does not say what is cached");
        return;
    };
    if resident > 0.05 {
        skip("this file system cannot be evicted");
        return;
    }
    let mean = |cached: bool| {
        let points = json["system"]["points"].as_array().unwrap();
        let is_such = |it: &&serde_json::Value| {
            it["class"]["kind"] == "read" && it["class"]["cached"] == cached
        };
        points.iter().find(is_such).unwrap()["mean_s"].as_f64().unwrap()
    };
    assert!(mean(false) > 1.5 * mean(true), "cold {} warm {}", mean(false), mean(true));
}

#[test]
fn every_parameter_is_accepted_and_in_the_result() {
    let place = on_disk();
    let arguments = [
        "-t",
        "8K",
        "--tasks",
        "2",
        "--segments",
        "2",
        "--shared",
        "--pattern",
        "strided",
        "--stride",
        "16K",
        "--alignment",
        "4K",
        "--async",
        "2",
        "--fsync",
        "end",
        "--think-time",
        "10us",
        "-C",
        "--stonewall",
        "1s",
        "--threads",
        "--metadata",
        "0",
        "--hog-memory",
        "1M",
        "--name",
        "mine",
        "--json",
    ];
    let done = quick(place.path(), &arguments);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let json = done.json();
    assert_eq!(json["system"]["name"], "mine");
    let workload = &json["throughput"][0]["workload"];
    for (field, value) in [
        ("n_tasks", 2),
        ("n_segments", 2),
        ("stride_bytes", 16384),
        ("alignment_bytes", 4096),
        ("depth", 2),
        ("think_ns", 10_000),
        ("transfer_bytes", 8192),
        ("block_bytes", 256 << 10),
    ] {
        assert_eq!(workload[field], value, "{field}");
    }
    assert_eq!((&workload["sync"], &workload["layout"]), (&"end".into(), &"shared".into()));
    let points = json["system"]["points"].as_array().unwrap();
    let sync = points.iter().find(|it| it["class"]["kind"] == "sync").unwrap();
    // Half of the two blocks is written.
    assert_eq!(sync["transfer_bytes"], 256 << 10);
    assert!(points.iter().any(|it| it["class"]["synchronous"] == false));
    assert_clean(place.path());
}

#[test]
fn syncs_after_each_write_durable_and_in_place_writes_are_measured() {
    let place = on_disk();
    let one = ["-t", "64K", "--tasks", "1", "--metadata", "0", "--access", "write", "--json"];
    let with = |more: &[&str]| {
        let done = quick(place.path(), &[&one[..], more].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.json()["system"]["points"].clone()
    };
    let each = with(&["--fsync", "each", "--pattern", "sequential"]);
    assert_eq!(each[1]["class"]["kind"], "sync");
    assert_eq!(each[1]["transfer_bytes"], 64 << 10);
    assert_eq!(each[1]["calls"], 8);
    assert_eq!(with(&["--durable", "--pattern", "random"])[0]["class"]["durable"], true);
    assert_eq!(with(&["--in-place", "--api", "stdio"])[0]["class"]["api"], "stdio");
    let direct = quick(place.path(), &[&one[..], &["--direct"]].concat());
    match direct.code {
        Some(0) => assert_eq!(direct.json()["system"]["points"][0]["class"]["direct"], true),
        _ => direct.fails_saying(1, &["this file system has no O_DIRECT"]),
    }
}

#[test]
fn tmpfs_is_measured_and_its_cold_reads_are_called_warm() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let arguments = ["-t", "64K", "--tasks", "1", "--metadata", "2", "--cache", "cold", "--json"];
    let done = quick(disk.path(), &arguments);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let json = done.json();
    assert_eq!(json["system"]["description"]["file_system"], "tmpfs");
    let warnings = json["system"]["warnings"].to_string();
    let says = |words: &str| warnings.contains(words);
    assert!(says("cannot be evicted") || says("does not say what is cached"), "{warnings}");
    assert_clean(disk.path());
}

#[test]
fn a_full_disk_is_refused_before_anything_is_written() {
    let Some(disk) = SmallDisk::mount("4m") else { return };
    bench(disk.path(), &["-t", "1M", "-b", "3M", "--tasks", "1"])
        .fails_saying(1, &["takes at most half of that", "free more space"]);
    assert_clean(disk.path());
    fs::write(disk.path().join("fills"), vec![1; 5 << 20]).unwrap_err();
    let done = bench(disk.path(), &["-t", "4K", "-b", "4K", "--tasks", "1"]);
    done.fails_saying(1, &[disk.path().to_str().unwrap()]);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 1);
}

#[test]
fn a_disk_that_fills_up_while_it_is_measured_is_one_sentence() {
    let Some(disk) = SmallDisk::mount("16m") else { return };
    // The room is there when it begins; somebody else takes it.
    let arguments = ["-t", "4K", "-b", "4M", "--tasks", "1", "--access", "write", "--think-time"];
    let mut running = command()
        .arg("bench")
        .arg(disk.path())
        .args(arguments)
        .args(["1ms", "--time-limit", "20s"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_files(disk.path());
    let _ = fs::write(disk.path().join("greedy"), vec![1; 16 << 20]);
    let _ = running.try_wait();
    let done = done(running.wait_with_output().unwrap());
    done.fails_saying(1, &["is full"]);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 1);
}

fn wait_for_files(directory: &Path) {
    let start = Instant::now();
    let has_data = || {
        let places = fs::read_dir(directory).ok()?;
        let mut files = places.flatten().filter_map(|place| fs::read_dir(place.path()).ok());
        files.any(|mut files| files.next().is_some()).then_some(())
    };
    while has_data().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_benchmark_cleans_up_and_dies_of_the_signal() {
    for (signal, kind) in
        [(Signal::SIGINT, "--threads"), (Signal::SIGTERM, "--json"), (Signal::SIGHUP, "--json")]
    {
        let place = on_disk();
        let output = place.path().join("system.json");
        let running = command()
            .arg("bench")
            .arg(place.path())
            .args(["--think-time", "2ms", "--time-limit", "60s", kind, "-o"])
            .arg(&output)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_files(place.path());
        let sent = Instant::now();
        kill(Pid::from_raw(running.id() as i32), signal).unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(sent.elapsed() < Duration::from_secs(20), "{:?}", sent.elapsed());
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(output.status.signal(), Some(signal as i32));
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("interrupted; the test files in"), "{err}");
        assert_clean(place.path());
    }
}

#[test]
fn directories_that_are_not_ours_are_refused() {
    let place = on_disk();
    let link = place.path().join("link");
    std::os::unix::fs::symlink("/tmp", &link).unwrap();
    bench(&link, &[]).fails_saying(1, &["is a symbolic link to '/tmp'"]);
    bench(Path::new("/nonexistent/x"), &[]).fails_saying(1, &["there is no directory"]);
    bench(Path::new("/proc"), &[]).fails_saying(1, &["/proc"]);
    let file = place.path().join("file");
    fs::write(&file, "x").unwrap();
    bench(&file, &[]).fails_saying(1, &["there is no directory"]);
}

/// A path was sent to the tasks as text.
#[test]
fn a_directory_whose_name_is_no_text_will_do() {
    use std::os::unix::ffi::OsStrExt;
    let place = on_disk();
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"odd\xff\n name"));
    fs::create_dir(&odd).unwrap();
    let mut bench = command();
    bench.arg("bench").arg(&odd).args(QUICK).args(["-t", "64K", "--metadata", "2"]);
    let done = done(bench.stdin(Stdio::null()).output().unwrap());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_clean(&odd);
}

#[test]
fn read_only_file_systems_are_refused() {
    let Some(disk) = SmallDisk::mount("4m") else { return };
    let options = ["-o", "remount,ro"];
    let remounted = Command::new("mount").args(options).arg(disk.path()).status();
    if !remounted.is_ok_and(|status| status.success()) {
        skip("a small file system cannot be mounted here; root can");
        return;
    }
    bench(disk.path(), &[]).fails_saying(1, &["its file system is read-only"]);
}

#[test]
fn wrong_options_are_one_sentence() {
    let place = on_disk();
    let refused = |arguments: &[&str], part: &str| {
        let done = bench(place.path(), arguments);
        assert!(done.code == Some(1) || done.code == Some(2), "{arguments:?}: {}", done.err);
        assert!(done.err.contains(part), "{arguments:?}: {}", done.err);
        assert_eq!(done.out, "");
    };
    refused(&["-t", "0"], "cannot be made");
    refused(&["--tasks", "0"], "tasks cannot be run");
    refused(&["-t", "100", "--direct"], "multiples of 512");
    refused(&["-b", "4G"], "--disk-limit");
    refused(&["-t", "1", "-b", "1G"], "at most");
    refused(&["--memory-limit", "1K"], "too low for a task");
    refused(&["--hog-memory", "900T"], "cannot be taken");
    refused(&["--repetitions", "5-2"], "minimum above its maximum");
    refused(&["--api", "mpiio"], "built without MPI-IO");
    refused(&["-o", "/nonexistent/system.json"], "there is no directory");
    refused(&["--async", "4", "--fsync", "each"], "change --fsync");
    assert_clean(place.path());
}

#[test]
fn a_memory_limit_keeps_data_out_of_memory() {
    let place = on_disk();
    let arguments = [
        "-t",
        "1M",
        "-b",
        "64M",
        "--tasks",
        "1",
        "--metadata",
        "0",
        "--access",
        "write",
        "--memory-limit",
        "32M",
        "--json",
        "--repetitions",
        "2",
        "--time-limit",
        "20s",
        "--pattern",
        "sequential",
    ];
    let done = bench(place.path(), &arguments);
    if done.err.contains("control group") {
        done.fails_saying(1, &["--hog-memory"]);
        skip("no control group may be made here; root can");
        return;
    }
    assert_eq!(done.code, Some(0), "{}", done.err);
    let warnings = done.json()["system"]["warnings"].to_string();
    assert!(!warnings.contains("fits in memory"), "{warnings}");
}

#[test]
fn the_classes_of_a_trace_are_measured_within_limits() {
    let place = on_disk();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces/cm1-grads");
    let trace = trace.to_str().unwrap();
    // Twice the same is once the same.
    let arguments =
        ["--for", trace, "--for", trace, "--storage", "/", "--json", "--time-limit", "15s"];
    let start = Instant::now();
    let done = bench(place.path(), &[&arguments[..], &["--repetitions", "2"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
    let json = done.json();
    assert!(json["disk_bytes"].as_u64().unwrap() <= 2_000_000_000);
    let profile = ioracle(["forecast", trace, "--profile", "--storage", "/", "--json"]).json();
    let wanted = &profile["classes"][0]["class"];
    let points = json["system"]["points"].as_array().unwrap();
    let mut classes = points.iter().map(|point| &point["class"]);
    let is_such = |it: &Value| ["kind", "size"].iter().all(|name| it[name] == wanted[name]);
    assert!(classes.any(is_such), "{wanted} is not in {points:#?}");
    // The same calls in their order, with nothing cached and with everything.
    let is_replayed = |it: &&Value| it["replayed"] == true && it["class"]["kind"] == wanted["kind"];
    let replayed = points.iter().find(is_replayed).expect("replayed calls");
    assert!(replayed["repetitions"].as_u64() >= Some(2), "{replayed}");
    assert_eq!(json["replayed"].as_array().unwrap().len() % 2, 0, "{}", json["replayed"]);
    assert!(json["replayed"][0]["replayed_s"].as_f64() > Some(0.0));
    assert_clean(place.path());
    bench(place.path(), &["--for", "/nonexistent"]).fails_saying(1, &["/nonexistent"]);
    let both = bench(place.path(), &["--for", trace, "--tasks", "3"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
}
