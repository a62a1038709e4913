// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle replay` from the outside: the same calls in another directory, nothing
//! outside of it, and nothing left behind.

mod support;

use std::fs;
use std::path::Path;

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
    ]);
    trace.table("files", "id,path\n1,../../../../../../../../escaped\n");
    let inner_name = inner.to_str().expect("a name");
    let arguments = ["replay", trace.name(), "--dir", inner_name, "--storage", "/", "--keep-files"];
    let kept = ioracle(arguments);
    assert_eq!(kept.code, Some(0), "{}", kept.err);
    let names: Vec<_> = fs::read_dir(place.path()).expect("a list").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(!Path::new("/escaped").exists());
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
    replay("/proc").fails_saying(1, &["'/proc'", "name another directory"]);
    let file = place.path().join("file");
    fs::write(&file, "").expect("a file");
    replay(file.to_str().expect("a name")).fails_saying(1, &["is not a directory"]);
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
