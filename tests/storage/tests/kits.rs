// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storage of other makers (`tests/storage/kit`) shows its files, and leaves nothing
//! behind when it ends, is ended or fails.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ioracle_testing::skip;
use tempfile::TempDir;

const KIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kit");
/// Nothing takes longer than this to mount or to end.
const LIMIT: Duration = Duration::from_secs(60);

struct Kit {
    place: TempDir,
    server: Child,
}

impl Kit {
    /// None, with a message, where it cannot work.
    fn new(kind: &str, more: &[&str]) -> Option<Kit> {
        let place = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(place.path().join("data")).unwrap();
        fs::create_dir(place.path().join("mount")).unwrap();
        for (name, byte) in [("one", 1), ("two", 2)] {
            fs::write(place.path().join("data").join(name), vec![byte; 300_000]).unwrap();
        }
        let mut server = Command::new(KIT)
            .arg(kind)
            .args([place.path().join("data"), place.path().join("mount")])
            .args(["--seconds", "50"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let output = server.stdout.take().expect("it is piped");
        let _ = BufReader::new(output).read_line(&mut line);
        if line == "mounted\n" {
            return Some(Kit { place, server });
        }
        let mut why = String::new();
        let _ = server.stderr.take().expect("it is piped").read_to_string(&mut why);
        assert_eq!(server.wait().unwrap().code(), Some(77), "{why}");
        skip(&format!("storage of kind {kind} cannot be mounted here: {}", why.trim()));
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("mount").join(name)
    }

    fn end(&mut self) {
        let _ = Command::new("kill").arg(self.server.id().to_string()).status();
        let started = Instant::now();
        while self.server.try_wait().is_ok_and(|ended| ended.is_none()) {
            assert!(started.elapsed() < LIMIT, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_mounted_below(place: &Path) -> bool {
    fs::read_to_string("/proc/self/mountinfo").unwrap().contains(place.to_str().unwrap())
}

#[test]
fn every_kind_shows_its_files_and_leaves_nothing_behind() {
    for kind in ["nbd", "gluster-1", "gluster-2", "bindfs"] {
        let Some(mut kit) = Kit::new(kind, &[]) else { continue };
        assert!(is_mounted_below(kit.place.path()), "{kind}");
        for (name, byte) in [("one", 1), ("two", 2)] {
            assert!(fs::read(kit.path(name)).unwrap() == vec![byte; 300_000], "{kind}: {name}");
        }
        kit.end();
        assert!(!is_mounted_below(kit.place.path()), "{kind}");
    }
}

#[test]
fn a_time_limit_unmounts_also_while_a_file_is_open() {
    let Some(mut kit) = Kit::new("nbd", &["--seconds", "1"]) else { return };
    let file = fs::File::open(kit.path("one")).unwrap();
    let started = Instant::now();
    while is_mounted_below(kit.place.path()) {
        assert!(started.elapsed() < LIMIT, "it is still mounted");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(file);
    kit.end();
}

#[test]
fn a_kind_that_is_not_there_is_said_in_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new(KIT).arg("tape").args([place.path(); 2]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("KIND is 'tape'"));
}
