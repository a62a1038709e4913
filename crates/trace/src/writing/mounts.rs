// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which mounted file system a file is on.
//!
//! The table of mounts is that of this process, which is the program's unless it has
//! made a mount namespace of its own. It is read when the first file comes, and again,
//! a bounded number of times, when a file is on a device that it does not have. A file
//! is on the mount of its device whose mount point is the longest beginning of its
//! path. Some file systems (btrfs, overlayfs) report other device numbers for files
//! than for the mount: then only the path decides.

use std::fs;

use crate::provenance::Mount;
use crate::spooled::escaped;

/// How often the table is read, and how many rows are kept, at most.
const MAX_READS: usize = 64;
const MAX_MOUNTS: usize = 1 << 16;

/// Finds the mounts of files.
#[derive(Debug, Default)]
pub(crate) struct MountTable {
    rows: Vec<Row>,
    n_reads: usize,
}

#[derive(Debug)]
struct Row {
    device: u64,
    point: Vec<u8>,
    mount: Mount,
}

impl MountTable {
    /// The mount of a file, by the device that the system reports and by its path.
    pub(crate) fn find(&mut self, device: u64, path: &[u8]) -> Option<Mount> {
        let is_known = self.rows.iter().any(|row| row.device == device);
        if !is_known && self.n_reads < MAX_READS {
            self.n_reads += 1;
            self.rows =
                fs::read("/proc/self/mountinfo").map(|text| parse(&text)).unwrap_or_default();
        }
        let of_device = || self.rows.iter().filter(|row| row.device == device);
        let found = longest(of_device(), path)
            .or_else(|| longest(self.rows.iter(), path))
            // Paths may be hidden, devices are not.
            .or_else(|| of_device().min_by_key(|row| row.point.len()));
        found.map(|row| row.mount.clone())
    }
}

/// The row with the longest mount point that a path lies in; of several the last
/// one, which hides the others.
fn longest<'a>(rows: impl Iterator<Item = &'a Row>, path: &[u8]) -> Option<&'a Row> {
    let holds = |row: &&Row| {
        let rest = path.strip_prefix(row.point.as_slice());
        rest.is_some_and(|rest| {
            row.point.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/")
        })
    };
    rows.filter(holds).max_by_key(|row| row.point.len())
}

/// The rows of `/proc/PID/mountinfo`.
fn parse(text: &[u8]) -> Vec<Row> {
    text.split(|&byte| byte == b'\n').filter_map(row).take(MAX_MOUNTS).collect()
}

fn row(line: &[u8]) -> Option<Row> {
    // 36 35 98:0 /root /mount/point options optional… - type source options
    let mut fields = line.split(|&byte| byte == b' ');
    let device = fields.nth(2)?;
    let point = unescaped(fields.nth(1)?);
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let (kind, source) = (rest.next()?, rest.next()?);
    let (major, minor) = std::str::from_utf8(device).ok()?.split_once(':')?;
    let device = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    let mount = Mount {
        kind: escaped(kind).into(),
        device: escaped(&unescaped(source)).into(),
        point: escaped(&point).into(),
    };
    Some(Row { device, point, mount })
}

/// Blanks, tabs, line feeds and backslashes are written as `\` and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let digits = tail.first_chunk::<3>().filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = code.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[3..] } else { tail };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &[u8] = b"\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
23 22 0:5 / /proc rw - proc proc rw\n\
30 22 0:40 / /scratch rw shared:7 master:1 - lustre 10.0.0.1@tcp:/fs rw\n\
31 30 0:41 / /scratch/my\\040runs,1 rw - nfs4 server:/my\\040runs rw\n\
32 22 8:1 /home /home rw - ext4 /dev/sda1 rw\n\
a line that is none\n";

    fn find(device: u64, path: &str) -> Option<String> {
        let mut table = MountTable { rows: parse(MOUNTINFO), n_reads: MAX_READS };
        let Mount { kind, device, point } = table.find(device, path.as_bytes())?;
        Some(format!("{kind} {device} {point}"))
    }

    #[test]
    fn a_file_is_on_the_longest_mount_point_of_its_device() {
        let (disk, lustre) = (libc::makedev(8, 1), libc::makedev(0, 40));
        assert_eq!(find(disk, "/etc/passwd").unwrap(), "ext4 /dev/sda1 /");
        assert_eq!(find(disk, "/home/a").unwrap(), "ext4 /dev/sda1 /home");
        assert_eq!(find(lustre, "/scratch/a").unwrap(), "lustre 10.0.0.1@tcp:/fs /scratch");
        assert_eq!(find(disk, "/homes/a").unwrap(), "ext4 /dev/sda1 /");
    }

    #[test]
    fn where_devices_say_nothing_the_path_does() {
        let other = libc::makedev(0, 99);
        let found = find(other, "/scratch/my runs,1/a").unwrap();
        assert_eq!(found, "nfs4 server:/my runs /scratch/my runs%2C1");
        assert_eq!(find(other, "anonymous-0123"), None);
    }

    #[test]
    fn where_paths_are_hidden_the_device_says_it() {
        let found = find(libc::makedev(8, 1), "anonymous-0123").unwrap();
        assert_eq!(found, "ext4 /dev/sda1 /");
    }

    #[test]
    fn the_mounts_of_this_process_can_be_read() {
        let mut table = MountTable::default();
        assert_eq!(&*table.find(0, b"/proc/self/maps").unwrap().kind, "proc");
    }
}
