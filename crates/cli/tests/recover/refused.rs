// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is refused, and what is then left as it was.

use std::fs;
use std::mem::offset_of;
use std::os::unix::fs::symlink;

use ioracle_spool::layout::JobPage;

use crate::support::ioracle;
use crate::support::spool::{NOBODY, Spool, Stream};
use crate::{TRACE, Target, names};

#[test]
fn a_job_whose_processes_still_run_is_kept() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(std::process::id(), NOBODY, 2, "/out"));
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--remove"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("was not removed: process "), "{}", done.err);
    assert!(done.out.contains("1  process with 1 thread"), "{}", done.out);
    assert!(!done.out.contains("--remove"), "{}", done.out);
    assert!(spool.path().exists());
    assert_eq!(names(&target.path()), TRACE);
}

#[test]
fn a_job_that_is_being_read_is_left_alone_unless_forced() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    let reader = std::process::id();
    spool.set_page(&[(offset_of!(JobPage, reader_pid), &reader.to_ne_bytes())]);
    let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
    done.fails_saying(1, &[spool.name(), &format!("read by process {reader}"), "--force"]);
    assert_eq!(names(&target.path()), [""; 0]);
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--force"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    ioracle(["recover", spool.name(), "-o", &target.name(), "--force", "--remove"]);
    assert!(spool.path().exists());
}

#[test]
fn what_is_no_job_is_refused_in_one_sentence() {
    let target = Target::new();
    let check = |spool: &Spool, part: &str| {
        let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
        done.fails_saying(1, &[spool.name(), part]);
        assert_eq!(names(&target.path()), [""; 0]);
    };
    let spool = Spool::new();
    spool.set_page(&[(offset_of!(JobPage, version), &77_u32.to_ne_bytes())]);
    check(&spool, "version");
    spool.set_page(&[(offset_of!(JobPage, magic), b"elephant")]);
    check(&spool, "not the directory of a job");
    fs::write(spool.path().join("job"), "short").unwrap();
    check(&spool, "not the directory of a job");
    fs::remove_file(spool.path().join("job")).unwrap();
    check(&spool, "not the directory of a job");
    let missing = ioracle(["recover", "/no/such/job", "-o", &target.name()]);
    missing.fails_saying(1, &["/no/such/job"]);
}

#[test]
fn wrong_use_is_kept_separate_from_failure() {
    let spool = Spool::new();
    ioracle(["recover", spool.name()]).fails_saying(2, &["-o"]);
    assert_eq!(ioracle(["recover"]).code, Some(2));
}

#[test]
fn a_directory_that_holds_a_trace_is_not_touched() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    fs::create_dir(target.path()).unwrap();
    fs::write(target.path().join("events.csv"), "mine").unwrap();
    let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
    done.fails_saying(1, &[&target.name(), "already holds a trace"]);
    assert_eq!(names(&target.path()), ["events.csv"]);
}

#[test]
fn no_room_for_the_trace_leaves_nothing_of_it_and_all_of_the_job() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    fs::create_dir(target.path()).unwrap();
    symlink("/dev/full", target.path().join("meta.json.part")).unwrap();
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--remove"]);
    done.fails_saying(1, &["meta.json", "No space left on device", "free some space"]);
    assert_eq!(names(&target.path()), [""; 0]);
    assert_eq!(names(spool.path()).len(), 2);
}
