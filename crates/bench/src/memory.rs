// SPDX-License-Identifier: MIT OR Apache-2.0

//! Less memory for the page cache, so that data exceeds it: a hog that takes
//! memory away, or a control group whose limit counts cached pages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::BenchError;

/// Memory that is held until dropped.
pub struct MemoryHog {
    pages: Vec<u8>,
}

impl MemoryHog {
    /// Takes so many bytes. At most nine tenths of what is available: beyond that
    /// the kernel would end processes.
    pub fn take(bytes: u64, available: u64) -> Result<MemoryHog, BenchError> {
        if bytes > available / 10 * 9 {
            return Err(BenchError::Unusable(format!(
                "{bytes} bytes of memory cannot be taken, only {available} are available; take at \
                 most nine tenths of that with --hog-memory"
            )));
        }
        let mut pages = vec![0; bytes as usize];
        // Only pages that were written to are there; and equal ones may be merged.
        for (number, page) in pages.chunks_mut(4096).enumerate() {
            page[0] = number as u8 | 1;
        }
        Ok(MemoryHog { pages })
    }

    /// How much it holds.
    pub fn bytes(&self) -> u64 {
        self.pages.len() as u64
    }
}

/// A control group whose processes, with all they have in the page cache, have a
/// limit of memory. It is removed when dropped.
#[derive(Clone, Debug)]
pub struct MemoryLimit {
    group: std::sync::Arc<Group>,
}

#[derive(Debug)]
struct Group(PathBuf);

impl MemoryLimit {
    /// The least that a task can run in.
    const LEAST: u64 = 16 << 20;

    /// Makes a group below that of this process.
    pub fn new(bytes: u64) -> Result<MemoryLimit, BenchError> {
        if bytes < MemoryLimit::LEAST {
            return Err(BenchError::Unusable(format!(
                "a memory limit of {bytes} bytes is too low for a task; take at least {}",
                MemoryLimit::LEAST
            )));
        }
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let (parent, file) = place_of(&groups, Path::new("/sys/fs/cgroup")).ok_or_else(|| {
            BenchError::Unusable(
                "there is no control group for memory here; use --hog-memory instead".to_owned(),
            )
        })?;
        let refuse = |error: std::io::Error| {
            BenchError::Unusable(format!(
                "could not limit the memory with a control group below '{}': {error}; run as \
                 root or in a delegated group, or use --hog-memory",
                parent.display()
            ))
        };
        if file == "memory.max" {
            // Fails where it is on already, or in a group with processes of its
            // own; the write of the limit then says what is missing.
            let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
        }
        let path = parent.join(format!("ioracle-bench-{}", std::process::id()));
        fs::create_dir(&path).map_err(refuse)?;
        let group = std::sync::Arc::new(Group(path));
        fs::write(group.0.join(file), bytes.to_string()).map_err(refuse)?;
        Ok(MemoryLimit { group })
    }

    /// Puts a process under the limit.
    pub fn admit(&self, pid: u32) -> Result<(), BenchError> {
        fs::write(self.group.0.join("cgroup.procs"), pid.to_string()).map_err(|error| {
            BenchError::Unusable(format!(
                "could not put a task under the memory limit: {error}; use --hog-memory"
            ))
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The processes have just ended, and the kernel may still count them.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The directory of this process's control group for memory, and the name of the
/// file that holds its limit. Version 2 first; where it has no memory
/// controller, version 1.
fn place_of(groups: &str, root: &Path) -> Option<(PathBuf, &'static str)> {
    let below = |place: &str, group: &str| root.join(place).join(group.trim_start_matches('/'));
    let second = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let places = second.map(|group| [below("", group), below("unified", group)]);
    for place in places.into_iter().flatten() {
        let controllers = fs::read_to_string(place.join("cgroup.controllers")).unwrap_or_default();
        if controllers.split_whitespace().any(|name| name == "memory") {
            return Some((place, "memory.max"));
        }
    }
    let first = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == "memory").then_some(group)
    })?;
    // In a container the path may be that of the host.
    let named = below("memory", first);
    let place = if named.is_dir() { named } else { root.join("memory") };
    place.join("memory.limit_in_bytes").exists().then_some((place, "memory.limit_in_bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_found() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("user/session");
        fs::create_dir_all(&group).unwrap();
        let groups = "0::/user/session\n";
        assert_eq!(place_of(groups, root.path()), None);
        fs::write(group.join("cgroup.controllers"), "cpu memory\n").unwrap();
        assert_eq!(place_of(groups, root.path()), Some((group, "memory.max")));
        let first = root.path().join("memory/job");
        fs::create_dir_all(&first).unwrap();
        fs::write(first.join("memory.limit_in_bytes"), "1").unwrap();
        let groups = "4:memory:/job\n0::/\n";
        assert_eq!(place_of(groups, root.path()), Some((first, "memory.limit_in_bytes")));
    }

    #[test]
    fn a_hog_does_not_take_everything() {
        assert_eq!(MemoryHog::take(10_000, 100_000).unwrap().bytes(), 10_000);
        assert!(MemoryHog::take(95_000, 100_000).is_err());
    }
}
