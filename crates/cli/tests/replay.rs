// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle replay` from the outside: the same calls in another directory, nothing
//! outside of it, and nothing left behind.

mod support;

use std::fs;
use std::path::Path;

use ioracle_testing::{SmallDisk, skip};
use support::{Written, checkpoints, command, done, ioracle};

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).expect("a directory").next().is_none()
}

#[test]
fn a_trace_is_replayed_class_by_class_and_leaves_nothing_behind() {
    let trace = Written::new(&checkpoints(20, 4));
    let place = tempfile::tempdir().expect("a directory");
    let arguments = ["replay", trace.name(), "--think-time", "none", "--json", "--dir"];
    let replayed =
        done(command().args(arguments).arg(place.path()).output().expect("the command runs"));
    assert_eq!(replayed.code, Some(0), "{}", replayed.err);
    let json = replayed.json();
    assert_eq!(json["processes"], 4);
    assert_eq!((&json["failures"], &json["order_lost"]), (&0.into(), &0.into()), "{json}");
    assert!(json["original_s"].as_f64() > Some(0.0) && json["replayed_s"].as_f64() > Some(0.0));
    let classes = json["classes"].as_array().expect("classes");
    let writes: u64 = (classes.iter())
        .filter(|row| row["class"]["kind"] == "write")
        .filter_map(|row| row["calls"].as_u64())
        .sum();
    assert_eq!(writes, 4 * 80);
    assert!(is_empty(place.path()));
}

#[test]
fn hostile_paths_stay_inside() {
    let place = tempfile::tempdir().expect("a directory");
    let inner = place.path().join("inner");
    fs::create_dir(&inner).expect("a directory");
    let trace = Written::new(&[
        "0,0,0,posix,open,1,1,3,-1,0,3,0,1000,0,WRONLY|CREAT|TRUNC".to_owned(),
        "0,0,1,posix,write,1,1,3,0,10,10,2000,3000,0,".to_owned(),
        "0,0,2,posix,rename,1,1,-1,-1,0,0,4000,5000,0,".to_owned(),
        "0,0,3,posix,open,1,2,4,-1,0,4,6000,7000,0,WRONLY|CREAT|TRUNC".to_owned(),
        "0,0,4,posix,unlink,1,2,-1,-1,0,0,8000,9000,0,".to_owned(),
        "0,0,5,posix,open,1,2,4,-1,0,4,9000,9500,0,WRONLY|CREAT|TRUNC".to_owned(),
    ]);
    trace.table("files", "id,path\n1,../../../../../../../../escaped\n2,/etc/escaped\n");
    let inner_name = inner.to_str().expect("a name");
    let arguments = ["replay", trace.name(), "--dir", inner_name, "--storage", "/", "--keep-files"];
    let kept = ioracle(arguments);
    assert_eq!(kept.code, Some(0), "{}", kept.err);
    let names: Vec<_> = fs::read_dir(place.path()).expect("a list").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(!Path::new("/escaped").exists() && !Path::new("/etc/escaped").exists());
    assert!(kept.err.contains("the files are in"), "{}", kept.err);
}

#[test]
fn a_directory_that_will_not_do_is_one_sentence() {
    let trace = Written::new(&checkpoints(2, 1));
    let place = tempfile::tempdir().expect("a directory");
    let link = place.path().join("link");
    std::os::unix::fs::symlink("/tmp", &link).expect("a link");
    let link = link.to_str().expect("a name");
    let replay = |directory: &str| ioracle(["replay", trace.name(), "--dir", directory]);
    replay(link).fails_saying(1, &["is a symbolic link"]);
    replay("/nowhere/at/all").fails_saying(1, &["/nowhere/at/all", "create the directory"]);
    replay("/proc").fails_saying(1, &["'/proc'", "name one that you may write to"]);
    let file = place.path().join("file");
    fs::write(&file, "").expect("a file");
    replay(file.to_str().expect("a name")).fails_saying(1, &["is not a directory"]);
}

/// A path was sent to the processes of a replay as text.
#[test]
fn a_directory_whose_name_is_no_text_will_do() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().expect("a directory");
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"odd\xff\n name"));
    fs::create_dir(&odd).expect("a directory");
    let trace = Written::new(&checkpoints(2, 2));
    let arguments = ["replay", trace.name(), "--think-time", "none", "--json", "--dir"];
    let replayed = done(command().args(arguments).arg(&odd).output().expect("the command runs"));
    assert_eq!(replayed.code, Some(0), "{}", replayed.err);
    assert_eq!(replayed.json()["failures"], 0);
    assert!(is_empty(&odd));
}

#[test]
fn a_read_only_directory_is_one_sentence() {
    let Some(disk) = SmallDisk::mount("4m") else { return };
    let mut remount = std::process::Command::new("mount");
    let remounted = remount.args(["-o", "remount,ro"]).arg(disk.path()).status();
    if !remounted.is_ok_and(|status| status.success()) {
        return skip("a small file system cannot be mounted here; root can");
    }
    let trace = Written::new(&checkpoints(2, 1));
    let name = disk.path().to_str().expect("a name");
    ioracle(["replay", trace.name(), "--dir", name])
        .fails_saying(1, &[name, "name one that you may write to"]);
}

#[test]
fn a_disk_that_fills_up_while_calls_are_replayed_is_one_sentence() {
    let Some(disk) = SmallDisk::mount("16m") else { return };
    let rows: Vec<String> = (0..100_u64)
        .map(|n| {
            let (offset, start) = (n << 16, n * 100_000_000);
            format!("0,0,{n},posix,pwrite,1,1,3,{offset},65536,65536,{start},{},0,", start + 1000)
        })
        .collect();
    let trace = Written::new(&rows);
    let mut child = command();
    child.args(["replay", trace.name(), "--dir"]).arg(disk.path());
    child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = child.spawn().expect("the command runs");
    while is_empty(disk.path()) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // The room was there when it began; somebody else takes it.
    let _ = fs::write(disk.path().join("greedy"), vec![1; 16 << 20]);
    let ended = done(child.wait_with_output().expect("it ends"));
    ended.fails_saying(1, &["the storage is full; free some space"]);
    assert_eq!(fs::read_dir(disk.path()).expect("a list").count(), 1);
}

#[test]
fn renames_and_removals_are_made_again() {
    // Written under one name, renamed, and read under the other; three times.
    let mut rows = Vec::new();
    for round in 0..3_u64 {
        let (n, now) = (round * 9, round * 1_000_000);
        let mut row = |at: u64, call: &str| {
            let (start, end) = (now + at * 1000, now + at * 1000 + 500);
            let (call, detail) = call.split_once(' ').unwrap_or((call, ""));
            rows.push(format!("0,0,{},posix,{call},{start},{end},0,{detail}", n + at));
        };
        row(0, "open,1,1,3,-1,0,3 WRONLY|CREAT|TRUNC");
        row(1, "write,1,1,3,0,4096,4096");
        row(2, "close,1,1,3,-1,0,0");
        row(3, "rename,1,1,-1,-1,0,0");
        row(4, "open,2,2,3,-1,0,3 RDONLY");
        row(5, "read,2,2,3,0,4096,4096");
        row(6, "close,2,2,3,-1,0,0");
    }
    rows.push("0,0,99,posix,unlink,1,2,-1,-1,0,0,9000000,9000500,0,".to_owned());
    let trace = Written::new(&rows);
    let place = tempfile::tempdir().expect("a directory");
    let name = place.path().to_str().expect("a name");
    let json = ioracle(["replay", trace.name(), "--dir", name, "--json"]).json();
    assert_eq!((&json["failures"], &json["calls"]), (&0.into(), &22.into()), "{json}");
    assert_eq!(json["left_out"], serde_json::json!({}), "{json}");
    let classes = json["classes"].as_array().expect("classes");
    let renames = classes.iter().find(|row| row["class"]["kind"] == "rename").expect("renames");
    assert_eq!(renames["calls"], 3);
    assert!(is_empty(place.path()));
}

#[test]
fn an_asynchronous_call_is_compared_with_its_completion() {
    let trace = Written::new(&[
        "0,0,0,mpiio,mpi_iwrite_at,1,1,3,0,4096,0,0,5000,0,request=7".to_owned(),
        "0,0,1,mpiio,mpi_wait,1,1,-1,-1,0,0,50000,90000,0,request=7".to_owned(),
    ]);
    let place = tempfile::tempdir().expect("a directory");
    let name = place.path().to_str().expect("a name");
    let json = ioracle(["replay", trace.name(), "--dir", name, "--json"]).json();
    assert_eq!((&json["failures"], &json["calls"]), (&0.into(), &1.into()), "{json}");
    let original = json["original_s"].as_f64().expect("a time");
    assert!((original - 45e-6).abs() < 1e-9, "{json}");
}

#[test]
fn collective_calls_wait_for_each_other() {
    // Rank 1 comes 200 ms late; rank 0 has nothing to do but wait for it.
    let call = |rank: u64, start: u64| {
        let (middle, end) = (start + 1000, 210_000_000);
        vec![
            format!("{rank},0,0,mpiio,mpi_write_at_all,1,1,3,0,4096,0,{start},{end},0,"),
            format!("{rank},0,1,posix,pwrite,1,1,3,0,4096,4096,{middle},{},1,", middle + 500),
        ]
    };
    let trace = Written::new(&[call(0, 0), call(1, 200_000_000)].concat());
    let place = tempfile::tempdir().expect("a directory");
    let name = place.path().to_str().expect("a name");
    let json = ioracle(["replay", trace.name(), "--dir", name, "--json"]).json();
    assert_eq!((&json["processes"], &json["calls"]), (&2.into(), &2.into()), "{json}");
    let waited = |field: &str| json[field].as_f64().expect("a time");
    assert!(waited("original_waiting_s") > 0.2, "{json}");
    assert!(waited("replayed_waiting_s") > 0.15, "{json}");
}

#[test]
fn a_directory_without_room_is_refused_before_anything_is_written() {
    let huge = 1_u64 << 60;
    let trace = Written::new(&[
        "0,0,0,posix,open,1,1,3,-1,0,3,0,1000,0,RDONLY".to_owned(),
        format!("0,0,1,posix,pread,1,1,3,{huge},10,10,2000,3000,0,"),
    ]);
    let place = tempfile::tempdir().expect("a directory");
    let name = place.path().to_str().expect("a name");
    ioracle(["replay", trace.name(), "--dir", name])
        .fails_saying(1, &["are free; free more space"]);
    assert!(is_empty(place.path()));
}

#[test]
fn what_cannot_be_replayed_is_one_sentence() {
    let place = tempfile::tempdir().expect("a directory");
    let name = place.path().to_str().expect("a name");
    let seeks = Written::new(&["0,0,0,posix,lseek,1,1,3,0,0,9,0,1000,0,SET".to_owned()]);
    ioracle(["replay", seeks.name(), "--dir", name])
        .fails_saying(1, &["has no calls that can be made again"]);
    ioracle(["replay", "/nowhere/at/all", "--dir", name]).fails_saying(1, &["/nowhere/at/all"]);
    for think_time in ["scale=-1", "scale=x", "sometimes"] {
        let wrong = ioracle(["replay", seeks.name(), "--dir", name, "--think-time", think_time]);
        assert_eq!(wrong.code, Some(2), "{think_time}");
    }
}

#[test]
fn pauses_are_kept_scaled_or_left_out() {
    let rows: Vec<String> = (0..6_u64)
        .map(|n| {
            let start = n * 100_000_000;
            format!("0,0,{n},posix,pwrite,1,1,3,{},10,10,{start},{},0,", n * 10, start + 1000)
        })
        .collect();
    let trace = Written::new(&rows);
    let place = tempfile::tempdir().expect("a directory");
    let name = place.path().to_str().expect("a name");
    let wall = |think_time: &str| {
        let arguments =
            ["replay", trace.name(), "--dir", name, "--json", "--think-time", think_time];
        ioracle(arguments).json()["wall_s"].as_f64().expect("a time")
    };
    assert!(wall("keep") >= 0.5);
    assert!((0.25..0.5).contains(&wall("scale=0.5")));
    assert!(wall("none") < 0.25);
}

#[test]
fn a_model_drives_a_run_of_any_length() {
    let trace = Written::new(&checkpoints(20, 1));
    let place = tempfile::tempdir().expect("a directory");
    let model = place.path().join("m.model");
    let model = model.to_str().expect("a name");
    let saved = ioracle(["model", "save", trace.name(), "-o", model]);
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    let name = place.path().to_str().expect("a name");
    let arguments = ["replay", model, "--dir", name, "--json", "--think-time", "none"];
    let short = ioracle(arguments).json();
    let long = ioracle(arguments.into_iter().chain(["--operations", "600"])).json();
    assert_eq!(short["calls"], 120, "{short}");
    assert_eq!(long["calls"], 600, "{long}");
    assert_eq!(long["failures"], 0, "{long}");
    ioracle(["replay", trace.name(), "--dir", name, "--operations", "5"])
        .fails_saying(2, &["--operations is for models"]);
}

#[test]
fn an_interrupted_replay_cleans_up() {
    let rows: Vec<String> = (0..3_u64)
        .map(|n| {
            let start = n * 30_000_000_000;
            format!("0,0,{n},posix,pwrite,1,1,3,{},10,10,{start},{},0,", n * 10, start + 1000)
        })
        .collect();
    let trace = Written::new(&rows);
    let place = tempfile::tempdir().expect("a directory");
    let mut child = command();
    child.args(["replay", trace.name(), "--dir"]).arg(place.path());
    let child = child.stderr(std::process::Stdio::piped()).spawn().expect("the command runs");
    while is_empty(place.path()) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let ended = done(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("interrupted"), "{}", ended.err);
    assert!(is_empty(place.path()));
}

/// The program of the evaluation, with the four steps of MADbench2: two tasks write
/// four matrices, read and write them again, and read them.
#[test]
fn a_recorded_out_of_core_program_is_replayed_call_by_call() {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("outofcore");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/outofcore.c");
    let compiled = std::process::Command::new("cc")
        .args(["-O1", "-o"])
        .arg(&program)
        .arg(source)
        .args(["-lm", "-lpthread"])
        .status()
        .expect("a compiler");
    assert!(compiled.success());
    let (trace, data) = (place.path().join("trace"), place.path().join("data"));
    let mut recorded = command();
    recorded.args(["run", "--quiet", "--record"]).arg(&trace).arg("--").arg(&program);
    recorded.args(["-n", "256", "-m", "4", "-t", "2", "-b", "65536", "-s"]).arg(&data);
    let recorded = done(recorded.output().expect("the command runs"));
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let trace = trace.to_str().expect("a name");
    let name = place.path().to_str().expect("a name");
    let arguments = ["replay", trace, "--dir", name, "--storage", name, "--json"];
    let json = ioracle(arguments).json();
    assert_eq!(json["processes"], 2, "{json}");
    assert_eq!(json["failures"], 0, "{json}");
    let calls = |kind: &str| -> u64 {
        (json["classes"].as_array().expect("classes").iter())
            .filter(|row| row["class"]["kind"] == kind)
            .filter_map(|row| row["calls"].as_u64())
            .sum()
    };
    assert_eq!((calls("write"), calls("read"), calls("sync")), (16, 16, 16), "{json}");
    let shown = ioracle(["forecast", trace, "--profile", "--storage", name]);
    assert!(shown.out.contains("shared file"), "{}", shown.out);
}
