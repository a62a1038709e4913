// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run --prefetch` on slow storage: a FUSE mount with a latency of two
//! milliseconds (`tests/storage`).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ioracle_testing::skip;
use serde_json::Value;
use tempfile::TempDir;

use crate::compile::c;
use crate::run::{IORACLE, library};

const FILES: usize = 6;
const FILE_BYTES: usize = 1 << 20;

/// Files on slow storage, which is unmounted when dropped, also by a test that
/// fails.
struct Slow {
    place: TempDir,
    server: Option<Child>,
    /// What the runs learn from.
    learned: LearnedBy,
}

#[derive(Clone, Copy, PartialEq)]
enum LearnedBy {
    Model,
    Graph,
    Both,
}

impl Slow {
    fn new() -> Slow {
        let place = tempfile::tempdir().expect("a temporary directory");
        for name in ["data", "mount", "jobs"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        for n in 0..FILES {
            let bytes: Vec<u8> = (0..FILE_BYTES).map(|at| ((at * (n + 3)) >> 5) as u8).collect();
            fs::write(place.path().join(format!("data/file_{n}")), bytes).unwrap();
        }
        Slow { place, server: None, learned: LearnedBy::Model }
    }

    /// Mounts anew, so that nothing is in the cache; false, with a message, where
    /// that is not possible.
    fn mount(&mut self, more: &[&str]) -> bool {
        self.unmount();
        let server = Path::new(IORACLE).with_file_name("slow-storage");
        let mut command = Command::new(server);
        command.arg(self.path("data")).arg(self.path("mount"));
        command.args(["--latency-us", "2000", "--seconds", "120"]).args(more);
        let Ok(mut server) = command.stdout(Stdio::piped()).spawn() else {
            skip("slow-storage was not built; 'cargo build -p ioracle-storage-kit' builds it");
            return false;
        };
        let mut line = String::new();
        let output = server.stdout.take().expect("it is piped");
        let mounted = BufReader::new(output).read_line(&mut line).is_ok() && line == "mounted\n";
        self.server = Some(server);
        if !mounted {
            skip("a FUSE file system cannot be mounted here");
        }
        mounted
    }

    fn unmount(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let pid = server.id().to_string();
        for signal in ["-CONT", "-TERM"] {
            let _ = Command::new("kill").args([signal, &pid]).status();
        }
        let _ = server.wait();
        // If it was killed instead.
        let _ = Command::new("umount").arg("-l").arg(self.path("mount")).output();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn files(&self) -> Vec<PathBuf> {
        (0..FILES).map(|n| self.path(&format!("mount/file_{n}"))).collect()
    }

    /// Runs `reads_files` with `--prefetch` and what was learned.
    fn run(&self, before: &[&str], files: &[PathBuf]) -> Output {
        let _ = fs::remove_file(self.path("summary.json"));
        self.command(before, files).output().expect("ioracle starts")
    }

    fn command(&self, before: &[&str], files: &[PathBuf]) -> Command {
        self.command_with(&[], before, files)
    }

    fn command_with(&self, options: &[&str], before: &[&str], files: &[PathBuf]) -> Command {
        let mut command = self.ioracle_run(options);
        command.arg(c("reads_files")).args(before).args(files);
        command
    }

    /// `ioracle run` without the command that it runs.
    fn ioracle_run(&self, options: &[&str]) -> Command {
        let mut command = Command::new(IORACLE);
        command.args(["run", "--prefetch"]).args(options);
        if self.learned != LearnedBy::Graph {
            command.arg("--model").arg(self.path("model"));
        }
        match self.learned {
            LearnedBy::Model => command.arg("--no-knowledge"),
            LearnedBy::Graph | LearnedBy::Both => {
                command.arg("--knowledge").arg(self.path("knowledge.db"))
            }
        };
        command.arg("--summary").arg(self.path("summary.json")).arg("--");
        command.env("IORACLE_LIBRARY", library()).env("IORACLE_DIR", self.path("jobs"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs so often that the model knows the files; false where that is not possible.
    fn train(&mut self, n_runs: usize, options: &[&str]) -> bool {
        (0..n_runs).all(|_| {
            let mounted = self.mount(options);
            assert!(!mounted || self.run(&[], &self.files()).status.success());
            mounted
        })
    }

    fn summary(&self) -> Value {
        let text = fs::read_to_string(self.path("summary.json")).expect("a summary");
        serde_json::from_str(&text).expect("JSON")
    }

    fn report(&self) -> Value {
        self.summary()["prefetch"].clone()
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn plain(files: &[PathBuf]) -> String {
    let output = Command::new(c("reads_files")).args(files).output().expect("it starts");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn runs_find_bytes_in_the_cache_and_give_the_same_results() {
    let mut slow = Slow::new();
    for run in 0..3 {
        if !slow.mount(&["--keep-cache"]) {
            return;
        }
        let output = slow.run(&[], &slow.files());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = slow.report();
        // Every byte has one fate.
        let number = |name: &str| report[name].as_u64().expect("a number");
        assert_eq!(number("bytes"), number("used") + number("wasted") + number("late"), "{report}");
        assert!(number("used") > 0, "{report}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("prefetch"), "{said}");
        let expected = plain(&slow.files());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "run {run}");
    }
}

/// What the summary said of prefetching and of knowledge is in the trace, and what
/// reads the trace says the same.
#[test]
fn a_trace_keeps_what_prefetching_and_knowledge_did() {
    let mut slow = Slow::new();
    slow.learned = LearnedBy::Both;
    if !slow.train(1, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return;
    }
    let (trace, page) = (slow.path("trace"), slow.path("report.html"));
    let options = ["--record", trace.to_str().expect("text")];
    let mut command = slow.command_with(&options, &[], &slow.files());
    let output = command.output().expect("ioracle starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let live = slow.summary();
    let read = |arguments: &[&str]| {
        let output = Command::new(IORACLE).args(arguments).arg(&trace).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let json = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    let (shown, reported) = (json(read(&["show", "--json"])), json(read(&["report", "--json"])));
    for field in ["prefetch", "knowledge"] {
        assert!(live[field].is_object(), "{live:#}");
        assert_eq!(shown[field], live[field], "{field}");
        for (name, value) in live[field].as_object().expect("an object") {
            assert_eq!(&reported[field][name], value, "{field}.{name}");
        }
    }
    let text = read(&["show"]);
    let line = |text: &str, label: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(label));
        found.unwrap_or_else(|| panic!("no line {label}: {text}")).trim().to_owned()
    };
    for label in ["prefetch", "knowledge"] {
        assert_eq!(line(&text, label), line(&said, label));
    }
    read(&["report", "-o", page.to_str().expect("text")]);
    assert!(fs::read_to_string(&page).unwrap().contains("\"by_source\""));
}

#[test]
fn where_nothing_is_cached_it_gives_up_and_the_results_are_the_same() {
    let mut slow = Slow::new();
    // Where processors are short, too little may be read ahead in a run to judge by.
    for run in 1..=6 {
        if !slow.mount(&["--direct-io"]) {
            return;
        }
        let output = slow.run(&[], &slow.files());
        assert_eq!(String::from_utf8_lossy(&output.stdout), plain(&slow.files()));
        let report = slow.report();
        if run > 1 && report["stopped"] == true {
            return;
        }
    }
    panic!("it never gave up: {}", slow.report());
}

#[test]
fn names_that_are_no_regular_files_are_left_alone() {
    let mut slow = Slow::new();
    for _ in 0..2 {
        if !slow.mount(&["--keep-cache"]) {
            return;
        }
        assert!(slow.run(&[], &slow.files()).status.success());
    }
    // What the model expects to be read is something else by now: opening the FIFO
    // would wait for ever, and reading the directory fails.
    slow.unmount();
    fs::remove_file(slow.path("data/file_3")).unwrap();
    let made = Command::new("mkfifo").arg(slow.path("data/file_3")).status();
    assert!(made.is_ok_and(|status| status.success()));
    fs::remove_file(slow.path("data/file_4")).unwrap();
    fs::create_dir(slow.path("data/file_4")).unwrap();
    fs::remove_file(slow.path("data/file_5")).unwrap();
    std::os::unix::fs::symlink("file_5", slow.path("data/file_5")).unwrap();
    assert!(slow.mount(&["--keep-cache"]));
    let files = &slow.files()[..3];
    let output = slow.run(&[], files);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), plain(files));
}

/// What the graph has learned from some files holds for others, twice as many of other
/// names and lengths.
#[test]
fn what_the_graph_has_learned_is_read_ahead_of_other_files() {
    let mut slow = Slow::new();
    slow.learned = LearnedBy::Graph;
    let others: Vec<String> = (0..2 * FILES).map(|n| format!("other-{n}.dat")).collect();
    for (n, name) in others.iter().enumerate() {
        let bytes: Vec<u8> = (0..FILE_BYTES / 2).map(|at| ((at * (n + 7)) >> 4) as u8).collect();
        fs::write(slow.path(&format!("data/{name}")), bytes).unwrap();
    }
    if !slow.train(1, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return;
    }
    let others: Vec<PathBuf> =
        others.iter().map(|name| slow.path(&format!("mount/{name}"))).collect();
    let output = slow.run(&[], &others);
    assert_eq!(text(&output.stdout), plain(&others), "{}", text(&output.stderr));
    let summary = slow.summary();
    let (report, knowledge) = (&summary["prefetch"], &summary["knowledge"]);
    assert!(report["by_source"]["graph"].as_u64() > Some(0), "{report} {knowledge}");
    assert_eq!(knowledge["matched_percent"], 100.0, "{knowledge}");
    assert!(knowledge["predicted_percent"].as_f64() > Some(80.0), "{knowledge}");
}

#[test]
fn a_dead_mount_does_not_hold_the_run_up() {
    check_dead_mount(LearnedBy::Model);
}

#[test]
fn nor_does_it_where_the_graph_asks_for_files() {
    check_dead_mount(LearnedBy::Both);
}

fn check_dead_mount(learned: LearnedBy) {
    let mut slow = Slow::new();
    slow.learned = learned;
    for _ in 0..2 {
        if !slow.mount(&["--keep-cache"]) {
            return;
        }
        assert!(slow.run(&[], &slow.files()).status.success());
    }
    assert!(slow.mount(&["--keep-cache"]));
    let server = slow.server.as_ref().unwrap().id().to_string();
    let started = Instant::now();
    // It stops its storage in the middle, while requests are on their way.
    let output = slow.run(&["-stop", &server, "40"], &slow.files());
    let took = started.elapsed();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(took < Duration::from_secs(20), "{took:?}");
    let wall_s = slow.summary()["wall_s"].as_f64().expect("seconds");
    let ran = Duration::from_secs_f64(wall_s);
    assert!(took < ran + Duration::from_secs(2), "the program ran for {ran:?}, all took {took:?}");
}

/// A mount whose server was stopped.
fn dead(slow: &mut Slow) -> bool {
    let is_mounted = slow.mount(&[]);
    if let Some(server) = slow.server.as_ref().filter(|_| is_mounted) {
        let stopped = Command::new("kill").args(["-STOP", &server.id().to_string()]).status();
        assert!(stopped.is_ok_and(|status| status.success()));
    }
    is_mounted
}

#[test]
fn a_repository_on_a_dead_mount_is_left_alone_and_said_once() {
    let mut slow = Slow::new();
    if !dead(&mut slow) {
        return;
    }
    let files: Vec<PathBuf> = (0..FILES).map(|n| slow.path(&format!("data/file_{n}"))).collect();
    let mut command = Command::new(IORACLE);
    command.args(["run", "--prefetch", "--knowledge"]).arg(slow.path("mount/knowledge.db"));
    command.arg("--").arg(c("reads_files")).args(&files);
    command.env("IORACLE_LIBRARY", library()).env("IORACLE_DIR", slow.path("jobs"));
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("ioracle starts");
    let (took, said) = (started.elapsed(), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(text(&output.stdout), plain(&files));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches("does not answer; the run goes on without it").count(), 1, "{said}");
}

#[test]
fn the_doctor_says_that_a_mount_is_dead() {
    let mut slow = Slow::new();
    if !dead(&mut slow) {
        return;
    }
    let started = Instant::now();
    let output = Command::new(IORACLE).arg("doctor").arg(slow.path("mount")).output();
    let output = output.expect("ioracle starts");
    let took = started.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches("does not answer").count(), 1, "{said}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Opening a file drops what is cached of it there, whoever opens it: it is read
/// ahead through the descriptors that the program has.
#[test]
fn without_keep_cache_the_descriptors_of_the_program_are_used() {
    let mut slow = Slow::new();
    if !slow.train(2, &[]) || !slow.mount(&[]) {
        return;
    }
    let output = slow.run(&[], &slow.files());
    assert_eq!(text(&output.stdout), plain(&slow.files()));
    let report = slow.report();
    if report["why"].as_str().is_some_and(|why| why.contains("traced")) {
        skip("descriptors of other processes may not be copied here");
        return;
    }
    let number = |name: &str| report[name].as_u64().expect("a number");
    assert!(number("used") + number("late") > (FILES * FILE_BYTES / 4) as u64, "{report}");
    assert!(number("wasted") < number("bytes") / 2, "{report}");
}

/// Names of many small files, in no order.
fn samples(slow: &Slow) -> Vec<PathBuf> {
    (0..SAMPLES).map(|n| slow.path(&format!("mount/sample_{}", n * 37 % SAMPLES))).collect()
}

const SAMPLES: usize = 120;
const SAMPLE_BYTES: usize = 16 << 10;

/// Of a program that reads many small files, nothing can be learned of their order in its
/// first run, but what the command names, or what lies in their directory, is going to be
/// read. The next run knows the order, also where it keeps more files than an oracle does.
#[test]
fn small_files_in_no_order_are_read_ahead_in_the_first_run_and_in_order_in_the_next() {
    for is_named in [true, false] {
        let mut slow = Slow::new();
        let files = samples(&slow);
        for file in &files {
            let name = file.file_name().expect("a name");
            let byte = name.len() as u8 ^ name.as_encoded_bytes()[name.len() - 1];
            fs::write(slow.path("data").join(name), vec![byte; SAMPLE_BYTES]).unwrap();
        }
        // A script names them in the order in which they were given to it.
        let list: Vec<&str> = files.iter().map(|file| file.to_str().expect("text")).collect();
        fs::write(slow.path("list"), list.join("\n")).unwrap();
        for run in [SampleRun::First, SampleRun::Second] {
            // On a busy machine a request may come after the program's own read.
            let mut reports = Vec::new();
            while !reports.last().is_some_and(|report| is_helped(report, run)) {
                assert!(reports.len() < 5, "{run:?} {reports:?}");
                if run == SampleRun::First {
                    let _ = fs::remove_file(slow.path("model"));
                }
                if !slow.mount(&["--keep-cache"]) {
                    return;
                }
                let _ = fs::remove_file(slow.path("summary.json"));
                let mut command = slow.ioracle_run(&[]);
                if is_named {
                    command.arg(c("reads_files")).args(&files);
                } else {
                    command.args(["xargs", "-a"]).arg(slow.path("list")).arg(c("reads_files"));
                }
                let output = command.output().expect("ioracle starts");
                assert!(output.status.success(), "{}", text(&output.stderr));
                assert_eq!(text(&output.stdout), plain(&files));
                reports.push(slow.report());
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SampleRun {
    First,
    Second,
}

/// Whether a quarter of the samples was read ahead, in a second run mostly because of what
/// the first one has read.
fn is_helped(report: &Value, run: SampleRun) -> bool {
    let number = |value: &Value| value.as_u64().expect("a number");
    let (used, late) = (number(&report["used"]), number(&report["late"]));
    let of_model = number(&report["by_source"]["model"]);
    used + late > (SAMPLES * SAMPLE_BYTES / 4) as u64
        && (run == SampleRun::First || of_model > used / 2)
}

#[test]
fn files_that_changed_since_they_were_learned_are_read_as_they_are() {
    let mut slow = Slow::new();
    if !slow.train(2, &["--keep-cache"]) {
        return;
    }
    slow.unmount();
    // One is shorter, one is longer, one is another, one has gone.
    fs::write(slow.path("data/file_1"), vec![1; FILE_BYTES / 3]).unwrap();
    fs::write(slow.path("data/file_2"), vec![2; 2 * FILE_BYTES]).unwrap();
    fs::write(slow.path("data/other"), vec![3; FILE_BYTES]).unwrap();
    fs::rename(slow.path("data/other"), slow.path("data/file_3")).unwrap();
    fs::remove_file(slow.path("data/file_4")).unwrap();
    let files: Vec<PathBuf> =
        slow.files().into_iter().filter(|it| !it.ends_with("file_4")).collect();
    for _ in 0..2 {
        assert!(slow.mount(&["--keep-cache"]));
        let output = slow.run(&[], &files);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), plain(&files));
    }
}

#[test]
fn files_that_are_replaced_while_they_are_read_ahead_do_no_harm() {
    let mut slow = Slow::new();
    if !slow.train(2, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return;
    }
    let child = slow.command(&[], &slow.files()).spawn().expect("ioracle starts");
    // Through the mount, so that the kernel knows. The same bytes, but another file.
    for _ in 0..20 {
        let bytes = fs::read(slow.path("data/file_5")).unwrap();
        fs::write(slow.path("mount/new"), &bytes).unwrap();
        fs::rename(slow.path("mount/new"), slow.path("mount/file_5")).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), plain(&slow.files()));
}

#[test]
fn a_performer_that_is_killed_is_said_once_and_changes_nothing() {
    let mut slow = Slow::new();
    if !slow.train(1, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return;
    }
    let child = slow.command(&[], &slow.files()).spawn().expect("ioracle starts");
    let performer = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        // It is a child of the thread that has started it.
        let threads = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
        let children = threads
            .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
        let children = children.collect::<String>();
        children.split_whitespace().map(str::to_owned).find(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments.windows(16).any(|part| part == b"perform-prefetch")
        })
    });
    let performer = performer.expect("a process that reads ahead");
    assert!(Command::new("kill").args(["-KILL", &performer]).status().unwrap().success());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), plain(&slow.files()));
    let report = slow.report();
    assert_eq!(report["why"], "the process that reads ahead has ended", "{report}");
    let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches("the process that reads ahead has ended").count(), 1, "{said}");
}

#[test]
fn two_jobs_may_prefetch_the_same_files() {
    let mut slow = Slow::new();
    if !slow.train(2, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return;
    }
    let children = [(); 2].map(|()| slow.command(&[], &slow.files()).spawn().expect("it starts"));
    let outputs = children.map(|child| child.wait_with_output().expect("it ends"));
    let expected = plain(&slow.files());
    for output in outputs {
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), expected);
    }
}

/// A control group of 100 MB, removed when dropped.
struct SmallGroup(PathBuf);

impl SmallGroup {
    fn new() -> Option<SmallGroup> {
        let versions = [("memory", "memory.limit_in_bytes"), ("", "memory.max")];
        versions.iter().find_map(|(controller, limit)| {
            let name = format!("ioracle-test-{}", std::process::id());
            let place = Path::new("/sys/fs/cgroup").join(controller).join(name);
            fs::create_dir(&place).ok()?;
            let group = SmallGroup(place);
            // The kernel makes the files of a group; elsewhere this is only a directory.
            let limit = group.0.join(limit);
            (limit.exists() && fs::write(limit, "100000000").is_ok()).then_some(group)
        })
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A run with `--prefetch` in a control group of 100 MB, after two that it learned from;
/// `beside` is what a shell there does in the background, with a file of its own as `$1`.
/// False where that is not possible.
fn check_in_small_group(beside: &str) -> bool {
    let mut slow = Slow::new();
    if !slow.train(2, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return false;
    }
    let Some(group) = SmallGroup::new() else {
        skip("a control group with a limit of memory cannot be made here");
        return false;
    };
    let run = slow.command(&[], &slow.files());
    let mut inside = Command::new("sh");
    let script = format!(
        "echo $$ > \"$0\" || exit 9; ({beside}) 2>&- & shift; \"$@\"; code=$?; wait; exit $code"
    );
    inside.args(["-c", &script]).arg(group.0.join("cgroup.procs")).arg(slow.path("beside"));
    inside.arg(run.get_program()).args(run.get_args());
    inside.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = inside.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), plain(&slow.files()));
    let report = slow.report();
    let number = |name: &str| report[name].as_u64().expect("a number");
    assert_eq!(number("bytes"), number("used") + number("wasted") + number("late"), "{report}");
    true
}

/// Alone, and while others fill the memory with pages that are still to be written, so that
/// there is no room for what is read ahead.
#[test]
fn in_a_small_control_group_results_are_the_same() {
    let dirty_pages = "for n in 1 2 3; do dd if=/dev/zero of=\"$1\" bs=1M count=90; done";
    let _ = check_in_small_group(":") && check_in_small_group(dirty_pages);
}

/// Who is root may read everything: files of others are read ahead as the program reads
/// them, and stay as they are.
#[test]
fn files_of_another_user_are_left_as_they_are() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    const NOBODY: u32 = 65_534;
    let mut slow = Slow::new();
    if chown(slow.path("data/file_0"), Some(NOBODY), Some(NOBODY)).is_err() {
        skip("only root may give files away");
        return;
    }
    for n in 0..FILES {
        let file = slow.path(&format!("data/file_{n}"));
        chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    if !slow.train(2, &["--keep-cache"]) || !slow.mount(&["--keep-cache"]) {
        return;
    }
    let output = slow.run(&[], &slow.files());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), plain(&slow.files()));
    assert!(slow.report()["used"].as_u64() > Some(0), "{}", slow.report());
    for n in 0..FILES {
        let found = fs::metadata(slow.path(&format!("data/file_{n}"))).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (NOBODY, NOBODY, 0o600));
    }
}
