// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run` with real programs: what they and their callers see, and what
//! the summary says.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use support::{Done, command, done, ioracle};
use tempfile::TempDir;

/// Runs a command with its job directory in a place that must be empty again
/// in the end.
fn run(options: &[&str], program: &[&str]) -> Done {
    let base = tempfile::tempdir().unwrap();
    let mut ioracle = in_base(&base, options, program);
    let done = done(ioracle.stdin(Stdio::null()).output().unwrap());
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0, "the job directory was left");
    done
}

fn in_base(base: &TempDir, options: &[&str], program: &[&str]) -> Command {
    let mut command = command();
    command.arg("run").arg("--dir").arg(base.path()).args(options).arg("--").args(program);
    command
}

/// The path of a new file that may be executed.
fn executable(directory: &TempDir, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn shell(script: &str) -> Done {
    run(&[], &["sh", "-c", script])
}

#[test]
fn output_and_exit_code_are_the_programs_own() {
    let done = shell("echo out; echo err >&2; exit 7");
    assert_eq!((done.code, done.out.as_str()), (Some(7), "out\n"));
    assert!(done.err.starts_with("err\n"), "{}", done.err);
    assert!(done.err.contains("sh ended with exit code 7"), "{}", done.err);
}

#[test]
fn the_two_dashes_may_be_left_out() {
    assert_eq!(ioracle(["run", "sh", "-c", "exit 3"]).code, Some(3));
    assert_eq!(ioracle(["run"]).code, Some(2));
}

/// Calls as they are exported, with their starts and ends.
fn exported(trace: &Path, base: &TempDir) -> Vec<(String, [u64; 2])> {
    let csv = base.path().join(trace.with_extension("csv").file_name().unwrap());
    let words =
        [trace.as_os_str(), "--to".as_ref(), "csv".as_ref(), "-o".as_ref(), csv.as_os_str()];
    let done = done(command().arg("export").args(words).output().unwrap());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let packed = fs::File::open(csv.join("events.csv.zst")).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(packed).unwrap()).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[2..5].join(" "), [11, 12].map(|place| fields[place].parse().unwrap()))
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn a_recording_keeps_its_times_as_exactly_as_asked() {
    let base = tempfile::tempdir().unwrap();
    let script = "for n in 1 2 3; do cat /etc/passwd; done >out";
    let mut rows = Vec::new();
    for times in ["exact", "1us"] {
        let trace = base.path().join(times);
        let options = ["--record", trace.to_str().unwrap(), "--times", times];
        let done =
            run(&options, &["sh", "-c", &format!("cd {} && {script}", base.path().display())]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        rows.push(exported(&trace, &base));
    }
    let [exact, coarse] = rows.try_into().unwrap();
    assert!(exact.len() > 10);
    let calls = |rows: &[(String, _)]| rows.iter().map(|row| row.0.clone()).collect::<Vec<_>>();
    assert_eq!(calls(&exact), calls(&coarse));
    // Each process counts from a time of its own.
    let is_round = |(_, [start_ns, end_ns]): &(String, [u64; 2])| (end_ns - start_ns) % 1000 == 0;
    assert!(coarse.iter().all(is_round), "{coarse:?}");
    assert!(!exact.iter().all(is_round), "{exact:?}");
}

/// The program itself makes the disk full, where the trace is finished.
#[test]
fn a_recording_that_cannot_be_finished_says_how_to_recover_it() {
    let base = tempfile::tempdir().unwrap();
    let trace = base.path().join("trace");
    let trace = trace.to_str().unwrap();
    let script = format!("cat /etc/passwd >{trace}.out; ln -s /dev/full {trace}/meta.json.part");
    let done = run(&["--record", trace], &["sh", "-c", &script]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("free some space there"), "{}", done.err);
    assert!(done.err.contains(&format!("'ioracle recover {trace}'")), "{}", done.err);
    assert_eq!(ioracle(["recover", trace]).code, Some(0));
    assert_eq!(ioracle(["eval", trace]).code, Some(0));
}

#[test]
fn an_unknown_option_is_no_command() {
    for (option, meant) in [("--bogus", "--bogus"), ("--jsn", "--json"), ("-x", "-x")] {
        for words in [vec!["run", option], vec!["run", option, "--", "true"]] {
            let done = ioracle(words);
            assert_eq!(done.code, Some(2), "{}", done.err);
            assert!(done.err.contains(option) && done.err.contains(meant), "{}", done.err);
        }
    }
    run(&[], &["--bogus"]).fails_saying(127, &["--bogus"]);
}

#[test]
fn what_cannot_be_started_is_reported_in_one_sentence() {
    run(&[], &["no-such-program"]).fails_saying(127, &["no-such-program", "PATH"]);
    run(&[], &["/no/such/program"]).fails_saying(127, &["/no/such/program"]);
    run(&[], &["/usr"]).fails_saying(126, &["directory"]);
    let plain = tempfile::NamedTempFile::new().unwrap();
    run(&[], &[plain.path().to_str().unwrap()]).fails_saying(126, &["not executable"]);
}

/// `env` ends with 127 then, as the kernel says that there is no such file.
#[test]
fn a_missing_interpreter_is_named_and_ends_with_127() {
    let directory = tempfile::tempdir().unwrap();
    let script = executable(&directory, "script", "#!/no/such/shell -e\necho\n");
    run(&[], &[&script]).fails_saying(127, &[&script, "'/no/such/shell' was not found"]);
    let doctor = ioracle(["doctor", "--json", &script]);
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.json()[0]["text"].as_str().unwrap().contains("'/no/such/shell'"));
}

#[test]
fn no_name_speaks_to_the_terminal() {
    let is_harmless = |text: &str| !text.contains(['\u{1b}', '\u{7}']);
    let here = tempfile::tempdir().unwrap();
    let trace = here.path().join("trace").to_str().unwrap().to_owned();
    let page = here.path().join("report.html").to_str().unwrap().to_owned();
    let name = "x\u{1b}]0;t\u{7}\ny";
    let ran = run(&["--name", name, "--record", &trace], &["sh", "-c", "echo x > /dev/null"]);
    assert!(ran.err.starts_with("ioracle: x?]0;t??y ran for"), "{}", ran.err);
    assert!(is_harmless(&ran.err), "{}", ran.err);
    let shown = ioracle(["show", &trace]);
    assert!(shown.out.starts_with("ioracle: x?]0;t??y ran for"), "{}", shown.out);
    assert!(is_harmless(&shown.out), "{}", shown.out);
    let reported = ioracle(["report", &trace, "-o", &page]);
    assert_eq!(reported.code, Some(0), "{}", reported.err);
    assert!(is_harmless(&reported.out), "{}", reported.out);
    run(&[], &[name]).fails_saying(127, &["'x?]0;t??y' was not found"]);
}

#[test]
fn the_limit_takes_units_and_blames_whoever_set_it() {
    for limit in ["256M", "64MiB", "500kB", "1048576"] {
        assert_eq!(run(&["--limit", limit], &["true"]).code, Some(0), "{limit}");
    }
    let wrong = run(&["--limit", "256Q"], &["true"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("'256Q' for '--limit <SIZE>': a size is"), "{}", wrong.err);
    for (variable, value) in
        [("IORACLE_LIMIT", "much"), ("IORACLE_WAIT_MS", "1s"), ("IORACLE_DIR", "")]
    {
        let done = done(command().env(variable, value).args(["run", "true"]).output().unwrap());
        assert_eq!(done.code, Some(2), "{}", done.err);
        assert!(done.err.contains(&format!("for '{variable}'")), "{}", done.err);
        assert!(!done.err.contains("--limit") && !done.err.contains("--wait"), "{}", done.err);
    }
}

#[test]
fn a_base_that_cannot_be_written_to_is_refused_before_anything_is_started() {
    let started = tempfile::tempdir().unwrap().path().join("started");
    let touch = ["run", "--dir", "/no/such/base", "--", "touch", started.to_str().unwrap()];
    ioracle(touch).fails_saying(1, &["/no/such/base", "--dir"]);
    assert!(!started.exists());
}

#[test]
fn the_base_may_be_relative_and_the_program_may_move() {
    let directory = tempfile::tempdir().unwrap();
    let mut ioracle = command();
    ioracle.args([
        "run",
        "--dir",
        ".",
        "--json",
        "--",
        "sh",
        "-c",
        "cd /; cat /etc/passwd >/dev/null",
    ]);
    let done = done(ioracle.current_dir(directory.path()).output().unwrap());
    assert_eq!(done.json()["processes"]["seen"], 2, "{}", done.err);
    assert_eq!(done.json()["unseen"], serde_json::Value::Null);
}

#[test]
fn files_that_the_kernel_cannot_start_are_given_to_the_shell_once() {
    let directory = tempfile::tempdir().unwrap();
    let script = executable(&directory, "script", "echo \"$1\" >> \"$2\"\nexit 4\n");
    let log = directory.path().join("log");
    let done = run(&[], &[&script, "word", log.to_str().unwrap()]);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert_eq!(fs::read_to_string(log).unwrap(), "word\n");
}

#[test]
fn operations_files_and_bytes_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fs::write(&from, vec![7; 300_000]).unwrap();
    let program = ["dd", "bs=1000", "status=none"].map(str::to_owned).into_iter();
    let program: Vec<String> =
        program.chain([format!("if={}", from.display()), format!("of={}", to.display())]).collect();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let done = run(&["--json", "--name", "copy"], &program);
    let summary = done.json();
    assert_eq!(fs::read(to).unwrap(), vec![7; 300_000]);
    assert_eq!(summary["application"], "copy");
    assert_eq!(summary["io"]["bytes_read"], 300_000);
    assert_eq!(summary["io"]["bytes_written"], 300_000);
    assert_eq!(summary["io"]["writes"], 300);
    assert_eq!(summary["ending"]["exited"], 0);
    assert!(summary["predicted"]["context_accuracy"].as_f64().unwrap() > 50.0, "{summary}");
    assert!(summary["loops"][0]["turn"].as_str().unwrap().contains("write"), "{summary}");
    assert!(done.err.contains("300 writes"), "{}", done.err);
    assert!(done.err.lines().count() <= 40 && done.err.lines().all(|l| l.chars().count() <= 100));
}

#[test]
fn quiet_says_nothing_and_a_summary_can_go_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("summary.json");
    let done = run(&["--quiet", "--summary", file.to_str().unwrap()], &["cat", "/etc/passwd"]);
    assert_eq!((done.err.as_str(), done.out.is_empty()), ("", false));
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(summary["processes"]["seen"], 1);
}

#[test]
fn a_summary_that_cannot_be_written_is_refused_before_anything_is_started() {
    let directory = tempfile::tempdir().unwrap();
    let started = directory.path().join("started");
    let touch = ["touch", started.to_str().unwrap()];
    let missing = "/no/such/place/summary.json";
    run(&["--summary", missing], &touch).fails_saying(1, &[missing, "/no/such/place'"]);
    let taken = directory.path().to_str().unwrap();
    run(&["--summary", taken], &touch).fails_saying(1, &[taken, "not a regular file"]);
    assert!(!started.exists());
}

#[test]
fn anonymised_a_command_is_its_name_only() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let options = ["--anonymise", "--json", "--record", trace.to_str().unwrap()];
    let done = run(&options, &["/bin/cat", "/etc/passwd"]);
    assert!(done.out.contains("root:"), "{}", done.out);
    let summary = &done.out[done.out.find("{\n").unwrap()..];
    assert!(!summary.contains("passwd") && !done.err.contains("passwd"), "{summary}{}", done.err);
    let meta = fs::read_to_string(trace.join("meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    assert_eq!((&meta["command"], &meta["application"]), (&"cat".into(), &"cat".into()));
    assert!(!meta.to_string().contains("passwd"), "{meta}");

    // Nor does any table of the trace name a directory.
    let tables = directory.path().join("tables");
    let tables = tables.to_str().unwrap();
    let trace = trace.to_str().unwrap();
    let exported = ioracle(["export", trace, "--to", "csv", "--plain", "-o", tables]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let mut n_tables = 0;
    for table in fs::read_dir(tables).unwrap() {
        let path = table.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let named = ["passwd", "/bin/", "/lib", "/usr/"].into_iter().find(|it| text.contains(it));
        assert_eq!(named, None, "{}: {text}", path.display());
        n_tables += 1;
    }
    assert!(n_tables > 6, "{n_tables} tables");
}

#[test]
fn a_summary_that_nobody_reads_leaves_the_exit_code() {
    let base = tempfile::tempdir().unwrap();
    let mut ioracle = in_base(&base, &["--json"], &["sh", "-c", "sleep 0.2; exit 3"]);
    let mut child = ioracle.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_program_that_touches_no_file_is_named_as_such() {
    let done = run(&[], &["true"]);
    assert_eq!(done.code, Some(0));
    assert!(done.err.contains("no I/O on regular files was seen"), "{}", done.err);
}

#[test]
fn a_library_that_is_switched_off_is_reported() {
    let done = done(
        command()
            .env("IORACLE_DISABLE", "1")
            .args(["run", "--", "cat", "/etc/passwd"])
            .output()
            .unwrap(),
    );
    assert!(done.err.contains("IORACLE_DISABLE is set"), "{}", done.err);
}

#[test]
fn an_environment_that_was_cleared_on_the_way_is_reported() {
    let done = run(&[], &["env", "-i", "/bin/cat", "/etc/passwd"]);
    assert_eq!(done.code, Some(0));
    let said = done.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("cleared environment"), "{said}");
    let done = run(&["--include", "*.nc"], &["cat", "/etc/passwd"]);
    assert!(done.err.contains("nothing seen") && done.err.contains("--include"), "{}", done.err);
}

#[test]
fn a_trace_is_recorded_and_can_be_evaluated() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let trace = trace.to_str().unwrap();
    let done = run(&["--record", trace], &["sh", "-c", "for i in 1 2 3; do cat /etc/passwd; done"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains(&format!("ioracle show {trace}")), "{}", done.err);
    let evaluated = ioracle(["eval", trace, "--json"]);
    assert_eq!(evaluated.code, Some(0), "{}", evaluated.err);
    let again = run(&["--record", trace], &["true"]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains(trace), "{}", again.err);
}

#[test]
fn ranks_mark_their_lines_and_record_apart() {
    let directory = tempfile::tempdir().unwrap();
    for rank in ["0", "1"] {
        let base = tempfile::tempdir().unwrap();
        let summary = directory.path().join("summary.json");
        let options = ["--record", directory.path().to_str().unwrap(), "--json", "--summary"];
        let options = [&options[..], &[summary.to_str().unwrap()]].concat();
        let mut ioracle = in_base(&base, &options, &["grep", "-c", "root", "/etc/passwd"]);
        ioracle.env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
        let done = done(ioracle.output().unwrap());
        let mark = format!("[rank {rank}] ");
        assert!(done.err.lines().all(|line| line.starts_with(&mark)), "{}", done.err);
        assert_eq!(done.err.lines().count() == 1, rank == "1", "{}", done.err);
        assert_eq!(done.out.contains("\"application\""), rank == "0", "{}", done.out);
        for file in [format!("rank-{rank}/events.ioracle"), format!("summary.rank-{rank}.json")] {
            assert!(directory.path().join(&file).exists(), "{file}");
        }
        assert!(!summary.exists());
    }
}

#[test]
fn ranks_that_were_not_seen_are_counted() {
    let script =
        "for r in 0 1; do OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=$r cat /etc/passwd; done";
    let done = shell(script);
    assert!(done.err.contains("6 of 8 ranks") && done.err.contains("mpirun"), "{}", done.err);
}

#[test]
fn daemons_are_counted_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = "(echo > started; exec sleep 5) >/dev/null 2>&1 & \
                  while [ ! -e started ]; do sleep 0.02; done";
    let done = shell(&format!("cd '{}'; {daemon}", directory.path().display()));
    assert!(done.err.contains("still running") && done.err.contains("1 process"), "{}", done.err);
}

#[test]
fn jobs_left_behind_are_mentioned_and_kept() {
    let base = tempfile::tempdir().unwrap();
    let left = base.path().join("ioracle-4194305-abc");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("job"), "").unwrap();
    let done = done(in_base(&base, &[], &["true"]).output().unwrap());
    assert!(done.err.contains("ioracle recover") && done.err.contains("4194305"), "{}", done.err);
    assert!(left.join("job").exists());
}

/// A program that says when it is ready, and what it got.
fn started(options: &[&str], script: &str) -> (Child, impl Iterator<Item = String>, TempDir) {
    let base = tempfile::tempdir().unwrap();
    let mut ioracle = in_base(&base, options, &["sh", "-c", script]);
    let mut child = ioracle.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    (child, lines, base)
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
}

const WAITS: &str = "echo ready; while :; do sleep 0.05; done";

#[test]
fn signals_are_passed_on_and_the_summary_is_printed() {
    let script = format!("trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; {WAITS}");
    let (child, mut lines, base) = started(&[], &script);
    send("USR1", &child);
    assert_eq!(lines.next().as_deref(), Some("usr1"));
    send("TERM", &child);
    assert_eq!(lines.next().as_deref(), Some("term"));
    let done = done(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(5));
    assert!(done.err.contains("exit code 5"), "{}", done.err);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn a_program_ended_by_a_signal_ends_us_by_the_same() {
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("PIPE", 13), ("ABRT", 6)] {
        let base = tempfile::tempdir().unwrap();
        let script = format!("cat /etc/passwd > /dev/null; kill -{name} $$");
        let output = in_base(&base, &[], &["sh", "-c", &script]).output().unwrap();
        assert_eq!(output.status.signal(), Some(number), "{name}");
        let done = done(output);
        assert!(done.err.contains(&format!("killed by SIG{name}")), "{}", done.err);
        assert!(done.err.contains("data "), "{}", done.err);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_stopped_program_stops_us_and_goes_on_with_us() {
    let (mut child, lines, _base) =
        started(&["--quiet"], "echo ready; kill -STOP $$; echo on; exit 6");
    wait_for_state(child.id(), 'T');
    send("CONT", &child);
    assert_eq!(lines.take(1).collect::<Vec<_>>(), ["on"]);
    assert_eq!(child.wait().unwrap().code(), Some(6));
}

fn wait_for_state(process: u32, state: char) {
    for _ in 0..500 {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        if stat.rsplit_once(") ").unwrap().1.starts_with(state) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("process {process} did not come into state {state}");
}

/// Runs a program below a shell that ignores or closes something,
/// and gives its output.
fn below_shell(before: &str, after: &str, program: &[&str]) -> String {
    let base = tempfile::tempdir().unwrap();
    let ioracle = in_base(&base, &["--quiet"], program);
    let words = std::iter::once(ioracle.get_program()).chain(ioracle.get_args());
    let quoted: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let script = format!("{before}; {} {after}", quoted.join(" "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]);
    shell.envs(ioracle.get_envs().filter_map(|(name, value)| Some((name, value?))));
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// A caller that ignores SIGHUP (nohup) wants the program to ignore it, too;
/// Rust's runtime ignores SIGPIPE, which only the caller may ask for.
#[test]
fn ignored_and_blocked_signals_are_inherited() {
    const PIPE: u64 = 1 << 12;
    // posix_spawn ignores two signals that glibc keeps for itself.
    const GLIBC: u64 = 0b11 << 31;
    let mask = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap() & !GLIBC
    };
    // These tests may themselves be run in the background, or by nohup.
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let always_ignored = mask(&own, "SigIgn:") & !PIPE;
    let check = |trap: &str, ignored: u64| {
        let status = below_shell(trap, "", &["cat", "/proc/self/status"]);
        assert_eq!(mask(&status, "SigIgn:"), ignored | always_ignored, "{trap}");
        assert_eq!(mask(&status, "SigBlk:"), 0, "{trap}");
    };
    check("trap '' HUP", 1);
    check("trap '' PIPE", PIPE);
    check("true", 0);
}

#[test]
fn closed_descriptors_stay_closed() {
    let script = "for fd in 0 2 7; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; true";
    assert_eq!(below_shell("true", "<&- 2>&-", &["sh", "-c", script]), "");
    let all = below_shell("exec 7</dev/null", "</dev/null", &["sh", "-c", script]);
    assert_eq!(all, "0\n2\n7\n");
}

#[test]
fn a_caller_that_ignores_the_end_of_children_learns_the_exit_code() {
    assert_eq!(below_shell("trap '' CHLD", "; echo $?", &["sh", "-c", "exit 5"]), "5\n");
}

#[test]
fn preloaded_libraries_of_others_stay() {
    let base = tempfile::tempdir().unwrap();
    let mut ioracle = in_base(&base, &["--quiet"], &["sh", "-c", "echo \"$LD_PRELOAD\""]);
    let other = Path::new("/lib64/ld-linux-x86-64.so.2");
    let output = ioracle.env("LD_PRELOAD", other).output().unwrap();
    let value = String::from_utf8(output.stdout).unwrap();
    assert!(value.trim_end().ends_with(&format!(":{}", other.display())), "{value}");
}
