// SPDX-License-Identifier: MIT OR Apache-2.0

//! A file system that is soon full.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::skip;

/// A small file system in memory, which only root can mount. It is unmounted
/// when dropped, also by a test that fails.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
    _place: TempDir,
}

impl SmallDisk {
    /// Mounts one of this size, as `mount -t tmpfs` takes it; skips the test
    /// where that is not allowed.
    pub fn mount(size: &str) -> Option<SmallDisk> {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("disk");
        std::fs::create_dir(&path).expect("a directory to mount at");
        let options = format!("size={size},mode=0777");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&path)
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            skip("a small file system cannot be mounted here; root can");
            return None;
        }
        Some(SmallDisk { path, _place: place })
    }

    /// Gives it another size.
    pub fn resize(&self, size: &str) {
        let options = format!("remount,size={size}");
        let resized = Command::new("mount").args(["-o", &options]).arg(&self.path).status();
        assert!(resized.is_ok_and(|status| status.success()), "the disk has no other size");
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that a failed test left behind may still hold it.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}
