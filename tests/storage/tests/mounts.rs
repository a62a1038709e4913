// SPDX-License-Identifier: MIT OR Apache-2.0

//! The slow storage shows its directory, slowly.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ioracle_testing::skip;
use tempfile::TempDir;

/// A mount, which ends when dropped.
struct Mount {
    place: TempDir,
    server: Child,
}

impl Mount {
    fn new(options: &[&str]) -> Option<Mount> {
        let place = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(place.path().join("data")).unwrap();
        fs::create_dir(place.path().join("mount")).unwrap();
        fs::write(place.path().join("data/file"), vec![7; 1 << 20]).unwrap();
        let mut server = Command::new(env!("CARGO_BIN_EXE_slow-storage"))
            .args([place.path().join("data"), place.path().join("mount")])
            .args(["--seconds", "60"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let output = server.stdout.take().expect("it is piped");
        let mounted = BufReader::new(output).read_line(&mut line).is_ok() && line == "mounted\n";
        let mount = Mount { place, server };
        if !mounted {
            skip("a FUSE file system cannot be mounted here");
        }
        mounted.then_some(mount)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("mount").join(name)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.server.id().to_string()).status();
        let _ = self.server.wait();
        let _ = Command::new("umount").arg("-l").arg(self.path("")).output();
    }
}

#[test]
fn files_are_read_written_renamed_and_removed() {
    let Some(mount) = Mount::new(&["--latency-us", "100"]) else { return };
    assert_eq!(fs::read(mount.path("file")).unwrap(), vec![7; 1 << 20]);
    fs::write(mount.path("new"), "some text").unwrap();
    fs::rename(mount.path("new"), mount.path("other")).unwrap();
    assert_eq!(fs::read_to_string(mount.path("other")).unwrap(), "some text");
    fs::create_dir(mount.path("inner")).unwrap();
    let mut names: Vec<String> = fs::read_dir(mount.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["file", "inner", "other"]);
    fs::remove_file(mount.path("other")).unwrap();
    assert!(!mount.path("other").exists());
}

#[test]
fn every_read_that_is_not_cached_takes_its_latency() {
    let Some(mount) = Mount::new(&["--latency-us", "5000", "--direct-io"]) else { return };
    let file = File::open(mount.path("file")).unwrap();
    let started = Instant::now();
    for n in 0..10 {
        file.read_exact_at(&mut [0; 100], n * 8192).unwrap();
    }
    assert!(started.elapsed() >= Duration::from_millis(50));
}
