// SPDX-License-Identifier: MIT OR Apache-2.0

//! The directory that is measured: whether it may be used, what it is, and the
//! one directory in it that a benchmark writes to and removes.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use ioracle_forecast::SystemDescription;
use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags, accessat, statvfs};

use crate::BenchError;

/// A directory of our own in the one that is measured. It is removed when
/// dropped, with all that is in it.
#[derive(Debug)]
pub struct BenchPlace {
    path: PathBuf,
}

impl BenchPlace {
    /// Checks a directory and makes one of our own in it.
    pub fn prepare(directory: &Path) -> Result<BenchPlace, BenchError> {
        check(directory)?;
        let name = format!("ioracle-bench-{}", std::process::id());
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        // A process of another host may have the same number.
        for attempt in 0..100 {
            let name = if attempt == 0 { name.clone() } else { format!("{name}-{attempt}") };
            let path = directory.join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(BenchPlace { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => {
                    let action = "make a directory for test files";
                    return Err(BenchError::io(action, directory)(error));
                }
            }
        }
        Err(BenchError::io("make a directory for test files", directory)(last))
    }

    /// Where test files go.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses work that would fill the file system: half of what is free stays so.
    pub fn check_room(&self, needed: u64) -> Result<(), BenchError> {
        let (free, capacity) = room(&self.path)?;
        // Some FUSE file systems say nothing.
        let is_known = capacity > 0;
        if is_known && needed > free / 2 {
            let path = self.path.parent().unwrap_or(&self.path).to_owned();
            return Err(BenchError::NoRoom { path, needed, free });
        }
        Ok(())
    }

    /// Bytes that may lie here at a time, within a limit: at most half of what is free.
    pub fn usable_bytes(&self, limit: u64) -> Result<u64, BenchError> {
        let (free, capacity) = room(&self.path)?;
        Ok(if capacity > 0 { limit.min(free / 2) } else { limit })
    }

    /// Removes the files in it.
    pub fn clear(&self) -> Result<(), BenchError> {
        let failed = BenchError::io("remove test files", &self.path);
        for entry in fs::read_dir(&self.path).map_err(&failed)? {
            let path = entry.map_err(&failed)?.path();
            // Symbolic links are not followed, so nothing outside is touched.
            let is_directory = path.symlink_metadata().map_err(&failed)?.is_dir();
            let removed =
                if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(&failed)?;
        }
        Ok(())
    }
}

impl Drop for BenchPlace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Bytes that are free for us, and all there are.
fn room(path: &Path) -> Result<(u64, u64), BenchError> {
    let failed = BenchError::io("find out how much room there is", path);
    let stat = statvfs(path).map_err(|errno| failed(errno.into()))?;
    Ok((stat.f_bavail.saturating_mul(stat.f_frsize), stat.f_blocks.saturating_mul(stat.f_frsize)))
}

/// Refuses what is no directory of ours to write to.
fn check(directory: &Path) -> Result<(), BenchError> {
    let metadata =
        directory.symlink_metadata().map_err(|_| BenchError::NoDirectory(directory.to_owned()))?;
    if metadata.is_symlink() {
        let target = fs::canonicalize(directory)
            .map_err(|_| BenchError::NoDirectory(directory.to_owned()))?;
        return Err(BenchError::Link { link: directory.to_owned(), target });
    }
    if !metadata.is_dir() {
        return Err(BenchError::NoDirectory(directory.to_owned()));
    }
    let refuse = |reason: &str| {
        Err(BenchError::NotWritable { path: directory.to_owned(), reason: reason.to_owned() })
    };
    if statvfs(directory).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        return refuse("its file system is read-only");
    }
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    match accessat(CWD, directory, rights, AtFlags::EACCESS) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::ROFS) => refuse("its file system is read-only"),
        Err(_) => {
            let ours = rustix::process::geteuid().as_raw();
            if metadata.uid() == ours {
                refuse("its permissions do not allow it")
            } else {
                refuse("it belongs to another user")
            }
        }
    }
}

/// What the kernel says about a directory and this machine.
pub fn describe(directory: &Path) -> SystemDescription {
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = mount_of(&mounts, &directory).unwrap_or_default();
    let uname = rustix::system::uname();
    let processors = std::thread::available_parallelism().map_or(0, |n| n.get() as u32);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    SystemDescription {
        host: uname.nodename().to_string_lossy().into_owned(),
        directory: directory.to_string_lossy().into_owned(),
        file_system: mount.file_system,
        device: mount.device,
        mount_options: mount.options,
        capacity_bytes: room(&directory).map_or(0, |(_, capacity)| capacity),
        memory_bytes: total_memory(&meminfo).unwrap_or(0),
        processors,
        kernel: uname.release().to_string_lossy().into_owned(),
    }
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct MountedAt {
    file_system: String,
    device: String,
    options: String,
}

/// The mount that a directory lies in: the longest mount point that it begins
/// with, of equal ones the last.
fn mount_of(mountinfo: &str, directory: &Path) -> Option<MountedAt> {
    let mut found: Option<(usize, MountedAt)> = None;
    for line in mountinfo.lines() {
        let Some((mount, file_system)) = line.split_once(" - ") else { continue };
        let mut mount = mount.split(' ').skip(4);
        let (Some(point), Some(options)) = (mount.next(), mount.next()) else { continue };
        let mut file_system = file_system.split(' ');
        let (Some(kind), Some(device)) = (file_system.next(), file_system.next()) else { continue };
        let point = unescaped(point);
        let length = point.len();
        if directory.starts_with(&point) && found.as_ref().is_none_or(|(most, _)| length >= *most) {
            let mount = MountedAt {
                file_system: kind.to_owned(),
                device: unescaped(device),
                options: options.to_owned(),
            };
            found = Some((length, mount));
        }
    }
    found.map(|(_, mount)| mount)
}

/// The kernel writes spaces and the like in octal.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_belongs_to_the_innermost_mount() {
        let mounts = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 22 0:5 / /scratch rw,nosuid shared:1 - tmpfs tmpfs rw
31 30 0:6 / /scratch/my\\040data rw - fuse.gluster host:/vol rw
";
        let check = |path: &str, kind: &str, device: &str| {
            let mount = mount_of(mounts, Path::new(path)).unwrap();
            assert_eq!((&*mount.file_system, &*mount.device), (kind, device));
        };
        check("/home/me", "ext4", "/dev/vda");
        check("/scratch", "tmpfs", "tmpfs");
        check("/scratchy", "ext4", "/dev/vda");
        check("/scratch/my data/x", "fuse.gluster", "host:/vol");
    }

    #[test]
    fn the_place_goes_with_everything_in_it_and_nothing_else() {
        let outer = tempfile::tempdir().unwrap();
        let precious = outer.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("kept"), "x").unwrap();
        let place = BenchPlace::prepare(outer.path()).unwrap();
        let second = BenchPlace::prepare(outer.path()).unwrap();
        assert_ne!(place.path(), second.path());
        fs::create_dir(place.path().join("deep")).unwrap();
        fs::write(place.path().join("deep/file"), "x").unwrap();
        std::os::unix::fs::symlink(&precious, place.path().join("link")).unwrap();
        place.clear().unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        std::os::unix::fs::symlink(&precious, place.path().join("link")).unwrap();
        drop((place, second));
        let left: Vec<_> = fs::read_dir(outer.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1);
        assert!(precious.join("kept").exists());
    }

    #[test]
    fn places_that_are_not_ours_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        let link = outer.path().join("link");
        std::os::unix::fs::symlink(outer.path(), &link).unwrap();
        let error = |path: &Path| BenchPlace::prepare(path).unwrap_err().to_string();
        assert!(error(&link).contains("is a symbolic link to"));
        assert!(error(&outer.path().join("none")).contains("there is no directory"));
        assert!(error(Path::new("/proc/version")).contains("there is no directory"));
    }

    #[test]
    fn a_file_system_is_not_filled() {
        let Some(disk) = ioracle_testing::SmallDisk::mount("10m") else { return };
        let place = BenchPlace::prepare(disk.path()).unwrap();
        assert!(place.check_room(4 << 20).is_ok());
        let error = place.check_room(6 << 20).unwrap_err().to_string();
        assert!(error.contains("takes at most half of that"), "{error}");
        let usable = place.usable_bytes(1 << 30).unwrap();
        assert!(usable <= 5 << 20 && place.check_room(usable).is_ok(), "{usable}");
        assert_eq!(place.usable_bytes(1 << 20).unwrap(), 1 << 20);
    }
}
