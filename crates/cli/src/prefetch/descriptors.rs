// SPDX-License-Identifier: MIT OR Apache-2.0

//! Descriptors that the program has open, for file systems where opening a file
//! once more would drop what is cached of it.
//!
//! A descriptor is found by its link below `/proc`, which asks nothing of the file
//! system, and copied with `pidfd_getfd`. That takes the right to trace the program,
//! which its parent has unless the system forbids it altogether.

use std::collections::HashMap;
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Descriptors of a process that are looked at.
const MAX_DESCRIPTORS: usize = 4096;

/// Why there is no descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDescriptor {
    /// The process does not have the file open, or has ended.
    NotOpen,
    /// The system does not allow it.
    Forbidden,
}

/// Where descriptors were found.
#[derive(Default)]
pub struct ProgramDescriptors {
    places: HashMap<(u32, PathBuf), RawFd>,
}

impl ProgramDescriptors {
    /// A copy of a descriptor that a process has of a file.
    pub fn copy(&mut self, pid: u32, path: &Path) -> Result<OwnedFd, NoDescriptor> {
        let key = (pid, path.to_owned());
        let known = self.places.get(&key).copied();
        let number = known
            .filter(|&number| is_link_to(pid, number, path))
            .or_else(|| find(pid, path))
            .ok_or(NoDescriptor::NotOpen)?;
        if self.places.len() >= MAX_DESCRIPTORS {
            self.places.clear();
        }
        self.places.insert(key, number);
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(NoDescriptor::NotOpen)?;
        let no_descriptor = |error: Errno| match error {
            Errno::PERM | Errno::ACCESS | Errno::NOSYS => NoDescriptor::Forbidden,
            _ => NoDescriptor::NotOpen,
        };
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(no_descriptor)?;
        pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).map_err(no_descriptor)
    }
}

fn is_link_to(pid: u32, number: RawFd, path: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/fd/{number}")).is_ok_and(|target| target == path)
}

fn find(pid: u32, path: &Path) -> Option<RawFd> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let numbers = entries.take(MAX_DESCRIPTORS).filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<RawFd>().ok()
    });
    numbers.into_iter().find(|&number| is_link_to(pid, number, path))
}

/// Which file systems are mounted where, as it was when this was made.
#[derive(Default)]
pub struct MountPoints(Vec<MountPoint>);

struct MountPoint {
    place: PathBuf,
    /// Its type and what it shows: mounts of the same kind behave alike.
    kind: String,
}

impl MountPoints {
    /// Those of this process.
    pub fn of_system() -> MountPoints {
        MountPoints::parse(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &[u8]) -> MountPoints {
        use std::os::unix::ffi::OsStringExt;
        let mounts = text.split(|&byte| byte == b'\n').filter_map(|line| {
            let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
            let place = std::ffi::OsString::from_vec(octal_unescaped(fields.get(4)?)).into();
            let end = fields.iter().position(|field| field == b"-")?;
            let kind = String::from_utf8_lossy(&fields.get(end + 1..end + 3)?.join(&b' ')).into();
            Some(MountPoint { place, kind })
        });
        MountPoints(mounts.collect())
    }

    /// The kind of the mount that a path lies on.
    pub fn kind(&self, path: &Path) -> Option<&str> {
        self.number(path).map(|number| &*self.0[number].kind)
    }

    /// The number of the mount that a path lies on.
    pub fn number(&self, path: &Path) -> Option<usize> {
        let holding = self.0.iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.place));
        let nearest = holding.max_by_key(|(_, mount)| mount.place.as_os_str().len());
        nearest.map(|(number, _)| number)
    }
}

/// Spaces and the like stand as a backslash and three octal digits.
fn octal_unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let digits = tail.first_chunk::<3>().filter(|_| *first == b'\\');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_descriptor_of_a_process_is_found_by_its_path() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"some bytes").unwrap();
        file.seek(SeekFrom::Start(3)).unwrap();
        let path = file.path().canonicalize().unwrap();
        let mut descriptors = ProgramDescriptors::default();
        let pid = std::process::id();
        for _ in 0..2 {
            let copy = descriptors.copy(pid, &path).map(std::fs::File::from);
            let Ok(copy) = copy else {
                assert_eq!(copy.err(), Some(NoDescriptor::Forbidden));
                return;
            };
            let mut bytes = [0; 4];
            copy.read_exact_at(&mut bytes, 5).unwrap();
            assert_eq!(&bytes, b"byte");
        }
        assert_eq!(file.stream_position().unwrap(), 3, "the program's own place is untouched");
        drop(file);
        assert_eq!(descriptors.copy(pid, &path).err(), Some(NoDescriptor::NotOpen));
        assert_eq!(descriptors.copy(u32::MAX, &path).err(), Some(NoDescriptor::NotOpen));
    }

    #[test]
    fn a_path_lies_on_the_nearest_mount() {
        let text = b"1 0 0:1 / / rw shared:1 - ext4 /dev/x rw\n2 1 0:2 / /a rw - fuse y rw\n\
                     3 2 0:3 / /a/b\\040c rw - fuse.z z rw\nbroken\n";
        let mounts = MountPoints::parse(text);
        for (path, kind) in [
            ("/x", "ext4 /dev/x"),
            ("/a/x", "fuse y"),
            ("/ab", "ext4 /dev/x"),
            ("/a/b c/d", "fuse.z z"),
        ] {
            assert_eq!(mounts.kind(Path::new(path)), Some(kind), "{path}");
        }
    }
}
