// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern watch` on servers that are small shell programs.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use support::{Done, command, done};

/// Writes a file in blocks for some seconds, first large ones, then small ones to
/// another file.
const SERVER: &str = "
end=$(($(date +%s) + 3))
while [ $(date +%s) -lt $end ]; do dd if=/dev/zero of=$PLACE/one bs=64k count=400; done
end=$(($(date +%s) + 3))
while [ $(date +%s) -lt $end ]; do dd if=/dev/zero of=$PLACE/two bs=512 count=2000; done
exit 7
";

fn watch(place: &Path, arguments: &[&str]) -> Done {
    let mut command = command();
    command.args(["pattern", "watch", "--json"]).args(arguments).args(["--", "sh", "-c", SERVER]);
    command.env("PLACE", place).stdin(Stdio::null());
    done(command.output().unwrap())
}

fn seconds(done: &Done) -> Vec<serde_json::Value> {
    let lines = done.out.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

#[test]
fn two_loads_of_a_server_are_two_patterns_and_are_known_again() {
    let place = tempfile::tempdir().unwrap();
    let known = place.path().join("known.db");
    let arguments = ["--under", place.path().to_str().unwrap(), "--known", known.to_str().unwrap()];
    let first = watch(place.path(), &arguments);
    assert_eq!(first.code, Some(7), "the server's own: {}", first.err);
    let shown = seconds(&first);
    assert!(shown.len() >= 4, "{}", first.out);
    assert_eq!(shown[0]["known"], false);
    assert_ne!(shown[0]["pattern"], shown[shown.len() - 1]["pattern"], "{}", first.out);
    assert!(shown.iter().all(|second| second["requests_per_s"].as_u64() > Some(0)));
    let again = watch(place.path(), &arguments);
    let known_now = seconds(&again).iter().filter(|second| second["known"] == true).count();
    assert!(known_now >= 3, "{}", again.out);
}

#[test]
fn options_are_applied_and_failures_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let tune = place.path().join("tune.toml");
    let applied = place.path().join("applied");
    let text = format!(
        "period_s = 0.5\nsettle_s = 0\ntimeout_s = 1\n\
         [[option]]\nname = \"hangs\"\napply = \"sleep 100\"\n\
         [[option]]\nname = \"works\"\napply = \"echo $IORACLE_OPTION >> {}\"\n\
         [[option]]\nname = \"missing\"\napply = \"/no/such/command\"\n",
        applied.display()
    );
    fs::write(&tune, text).unwrap();
    let done = watch(place.path(), &["--tune", tune.to_str().unwrap()]);
    assert_eq!(done.code, Some(7), "{}", done.err);
    assert!(
        done.err.contains("the command of option 'hangs': it did not end within 1 s"),
        "{}",
        done.err
    );
    fs::write(&tune, "[[option]]\nname = 1\n").unwrap();
    let refused = watch(place.path(), &["--tune", tune.to_str().unwrap()]);
    refused.fails_saying(1, &["tune.toml', line 2"]);
    assert!(refused.out.is_empty(), "the server was not started");
}

/// Joins a job; with all that is said.
fn join(job: &str, arguments: &[&str]) -> Done {
    let mut command = command();
    command.args(["pattern", "watch", "--job", job]).args(arguments).stdin(Stdio::null());
    done(command.output().unwrap())
}

/// Below `ioracle run`, as a process of its own.
fn run_server(place: &Path) -> Child {
    let mut command = command();
    command.args(["run", "--quiet", "--", "sh", "-c", SERVER]).env("PLACE", place);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a job can be joined.
fn wait_for(server: &Child) {
    for _ in 0..500 {
        let mut jobs = command();
        let listed = done(jobs.args(["jobs", "--json"]).output().unwrap()).json();
        let is_there =
            |job: &serde_json::Value| job["pid"] == server.id() && job["state"] == "running";
        if listed["jobs"].as_array().unwrap().iter().any(is_there) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the job never began");
}

#[test]
fn a_running_job_is_joined_and_watched_until_it_ends() {
    let place = tempfile::tempdir().unwrap();
    let mut server = run_server(place.path());
    wait_for(&server);
    let under = place.path().to_str().unwrap();
    let joined = join(&server.id().to_string(), &["--json", "--under", under]);
    assert_eq!(joined.code, Some(0), "{}", joined.err);
    assert!(joined.err.contains("the job has ended"), "{}", joined.err);
    let shown = seconds(&joined);
    assert!(shown.len() >= 3, "{}{}", joined.out, joined.err);
    assert_ne!(shown[0]["pattern"], shown[shown.len() - 1]["pattern"], "{}", joined.out);
    assert_eq!(server.wait().unwrap().code(), Some(7), "the server was not disturbed");
}

#[test]
fn whoever_leaves_a_job_leaves_it_running() {
    let place = tempfile::tempdir().unwrap();
    let known = place.path().join("known.db");
    let mut server = run_server(place.path());
    wait_for(&server);
    let mut joining = command();
    joining.args(["pattern", "watch", "--job", &server.id().to_string()]);
    joining.args(["--known", known.to_str().unwrap()]).stdin(Stdio::null()).stderr(Stdio::piped());
    let joined = joining.spawn().unwrap();
    thread::sleep(Duration::from_millis(2500));
    let pid = rustix::process::Pid::from_raw(joined.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let left = done(joined.wait_with_output().unwrap());
    assert_eq!(left.code, Some(0), "{}", left.err);
    assert!(left.err.contains("patterns in") && !left.err.contains("has ended"), "{}", left.err);
    assert!(known.exists(), "what was learned is kept");
    assert_eq!(server.wait().unwrap().code(), Some(7));
}

#[test]
fn jobs_that_cannot_be_joined_are_refused_in_one_sentence() {
    join("4194304", &[]).fails_saying(1, &["process 4194304", "'ioracle jobs' lists them"]);
    join("no-such-application", &[]).fails_saying(1, &["'no-such-application'"]);
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("ioracle-1-1");
    join(directory.to_str().unwrap(), &[]).fails_saying(1, &["is no directory of a job"]);
    if !rustix::process::geteuid().is_root() {
        return ioracle_testing::skip("only root can make files of another user");
    }
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("job"), "").unwrap();
    std::os::unix::fs::chown(&directory, Some(65534), Some(65534)).unwrap();
    join(directory.to_str().unwrap(), &[]).fails_saying(1, &["it belongs to another user"]);
    assert_eq!(directory.read_dir().unwrap().count(), 1, "nothing was left there");
}
