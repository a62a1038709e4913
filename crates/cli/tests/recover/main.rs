// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle recover` on jobs and recordings that were left behind.

#[path = "../support/mod.rs"]
mod support;

mod cut;
mod hostile;
mod interrupted;
mod refused;

use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use ioracle_spool::layout::JobPage;
use support::ioracle;
use support::spool::{NOBODY, Spool, Stream};
use tempfile::{TempDir, tempdir};

/// The names in a directory, sorted; none if it is not there.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A table of a trace, exported.
fn table(directory: &Path, name: &str) -> String {
    let tables = tempdir().unwrap();
    let output = tables.path().to_str().unwrap();
    let done =
        ioracle(["export", directory.to_str().unwrap(), "--to", "csv", "--plain", "-o", output]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    fs::read_to_string(tables.path().join(format!("{name}.csv"))).unwrap()
}

struct Target {
    directory: TempDir,
}

impl Target {
    fn new() -> Target {
        Target { directory: tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("trace")
    }

    fn name(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

const TRACE: [&str; 2] = ["events.ioracle", "meta.json"];

#[test]
fn what_a_dead_job_left_becomes_a_trace_that_can_be_evaluated() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 50, "/data/run/out.dat"));
    spool.add(&Stream::writing(NOBODY, NOBODY + 1, 50, "/data/run/out.dat"));
    let before = names(spool.path());
    let arguments = ["recover", spool.name(), "-o", &target.name(), "--relative-to", "/data/run"];
    let done = ioracle(arguments);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.err, "");
    for part in ["600  events of 1 rank", "3  call stacks", "1  file", "1  process with 2 threads"]
    {
        assert!(done.out.contains(part), "'{part}' is not in: {}", done.out);
    }
    assert_eq!(names(&target.path()), TRACE);
    assert_eq!(names(spool.path()), before);
    assert_eq!(table(&target.path(), "files"), "id,path\n1,out.dat\n");
    assert_eq!(table(&target.path(), "stacks").lines().nth(1), Some("1,app+0x10;app+0x99"));
    let events = table(&target.path(), "events");
    let rows: Vec<&str> = events.lines().skip(1).take(3).collect();
    let expected = [
        "0,0,0,posix,open,1,1,3,0,0,3,0,200,0,WRONLY|CREAT|TRUNC",
        "0,1,1,posix,open,1,1,3,0,0,3,0,200,0,WRONLY|CREAT|TRUNC",
        "0,0,2,posix,write,2,1,3,0,100,100,1000,1200,0,",
    ];
    assert_eq!(rows, expected);
    let evaluated = ioracle(["eval", &target.name(), "--json"]);
    assert_eq!(evaluated.code, Some(0), "{}", evaluated.err);
    assert_eq!(evaluated.json()[0]["operations"], 600);
}

#[test]
fn json_counts_what_was_found_and_what_is_missing() {
    let (spool, target) = (Spool::new(), Target::new());
    let mut stream = Stream::writing(NOBODY, NOBODY, 2, "/a,b\n.dat");
    stream.rank = 3;
    stream.unrecorded[1] = 17;
    spool.add(&stream);
    spool.set_page(&[(offset_of!(JobPage, n_io_uring), &5_u64.to_ne_bytes())]);
    fs::write(spool.path().join("1-1-1.stream"), "no stream at all, and far too short").unwrap();
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let document = done.json();
    assert_eq!(document["events"], 12);
    assert_eq!(document["ranks"], 1);
    assert_eq!(document["trace"], target.name());
    assert_eq!(document["job"]["processes"], 1);
    assert_eq!(document["job"]["streams"], 1);
    assert_eq!(document["job"]["not_recorded"], serde_json::json!({ "limit": 17 }));
    assert_eq!(document["job"]["io_uring"], 5);
    assert_eq!(document["job"]["n_damaged"], 1);
    assert_eq!(document["job"]["damaged"].as_array().unwrap().len(), 1);
    assert_eq!(document["removed"], false);
    assert_eq!(table(&target.path(), "files"), "id,path\n1,/a%2Cb%0A.dat\n");
    assert!(
        table(&target.path(), "events").lines().nth(1).unwrap().starts_with("3,0,0,posix,open,")
    );
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(target.path().join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["application"], "app");
    assert_eq!(meta["command"], "app -v");
    assert_eq!(meta["not_recorded"], serde_json::json!({ "limit": 17 }));
}

#[test]
fn the_job_is_deleted_only_when_that_is_asked_for() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--remove"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(!spool.path().exists());
}
