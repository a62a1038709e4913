// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the spool would be.

use std::path::Path;

use super::finding::Diagnosis;
use crate::shared::jobs;
use crate::shared::numbers::{bytes, counted};

/// Room below which a busy job may lose records: the default space limit.
const ENOUGH_BYTES: u64 = 256 * 1024 * 1024;

/// File systems by the number that statfs gives: name, and whether mapped files
/// in it are in local memory or on a local disk.
const FILE_SYSTEMS: [(i64, &str, FileSystemKind); 12] = [
    (0x0102_1994, "tmpfs", FileSystemKind::Memory),
    (0x8584_58f6, "ramfs", FileSystemKind::Memory),
    (0xef53, "ext4", FileSystemKind::Disk),
    (0x5846_5342, "xfs", FileSystemKind::Disk),
    (0x9123_683e, "btrfs", FileSystemKind::Disk),
    (0x2fc1_2fc1, "zfs", FileSystemKind::Disk),
    (0x794c_7630, "overlayfs", FileSystemKind::Disk),
    (0x6969, "NFS", FileSystemKind::Network),
    (0x0bd0_0bd0, "Lustre", FileSystemKind::Network),
    (0x4750_4653, "GPFS", FileSystemKind::Network),
    (0x1983_0326, "BeeGFS", FileSystemKind::Network),
    (0x00c3_6400, "Ceph", FileSystemKind::Network),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileSystemKind {
    Memory,
    Disk,
    Network,
}

/// Findings on the directory for jobs.
pub fn examine(base: &Path) -> Vec<Diagnosis> {
    let mut findings = vec![match rustix::fs::statfs(base) {
        Ok(about) => {
            let free = about.f_bavail.saturating_mul(about.f_bsize as u64);
            judge(base, about.f_type, free)
        }
        Err(error) => Diagnosis::warning(
            "spool",
            format_args!("'{}' could not be checked for free space: {error}", base.display()),
        ),
    }];
    let left = jobs::left_behind(base);
    if let Some(first) = left.first() {
        findings.push(Diagnosis::note(
            "earlier jobs",
            format_args!(
                "{} left records behind; for the first, {}",
                counted(left.len() as u64, "job"),
                jobs::how_to_recover(first)
            ),
        ));
    }
    findings
}

fn judge(base: &Path, number: i64, free: u64) -> Diagnosis {
    let known = FILE_SYSTEMS.into_iter().find(|(other, ..)| *other == number);
    let (name, kind) = match known {
        Some((_, name, kind)) => (name.to_owned(), kind),
        None => (format!("file system {number:#x}"), FileSystemKind::Disk),
    };
    let found = format!("'{}' on {name}, {} free", base.display(), bytes(free));
    if free < ENOUGH_BYTES {
        let remedy = "a busy job may lose records; choose a directory with more space with --dir";
        return Diagnosis::warning("spool", format_args!("{found}: {remedy}"));
    }
    match kind {
        FileSystemKind::Memory => Diagnosis::ok("spool", found),
        FileSystemKind::Disk => {
            let remedy = "works; a directory in memory (/dev/shm) would avoid disk writes";
            Diagnosis::ok("spool", format_args!("{found}; {remedy}"))
        }
        FileSystemKind::Network => {
            let remedy = "records would cross the network; name a local directory with --dir";
            Diagnosis::warning("spool", format_args!("{found}: {remedy}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::DiagnosisLevel;
    use super::*;

    #[test]
    fn little_room_and_network_file_systems_are_warned_of() {
        let check = |number, free, expected| {
            assert_eq!(judge(Path::new("/x"), number, free).level, expected);
        };
        check(0x0102_1994, 1 << 30, DiagnosisLevel::Ok);
        check(0x0102_1994, 1 << 20, DiagnosisLevel::Warning);
        check(0xef53, 1 << 30, DiagnosisLevel::Ok);
        check(0x6969, 1 << 40, DiagnosisLevel::Warning);
        check(12345, 1 << 40, DiagnosisLevel::Ok);
    }
}
