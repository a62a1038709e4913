// SPDX-License-Identifier: MIT OR Apache-2.0

//! Limits of processes that can keep calls from being recorded.

use rustix::process::{Resource, getrlimit};

use super::finding::Diagnosis;
use crate::shared::numbers::{bytes, grouped};

/// Size of the file that a thread's records need to begin with.
const ENOUGH_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Descriptors below which programs themselves run short.
const ENOUGH_DESCRIPTORS: u64 = 64;
/// Address space below which mapped records may not find room.
const ENOUGH_ADDRESS_SPACE: u64 = 1024 * 1024 * 1024;

/// One finding for all limits, or one for each that is low.
pub fn examine() -> Vec<Diagnosis> {
    let low: Vec<Diagnosis> = [
        file_size(getrlimit(Resource::Fsize).current),
        descriptors(getrlimit(Resource::Nofile).current),
        address_space(getrlimit(Resource::As).current),
    ]
    .into_iter()
    .flatten()
    .collect();
    if low.is_empty() {
        return vec![Diagnosis::ok("limits", "file size, descriptors and address space suffice")];
    }
    low
}

fn file_size(limit: Option<u64>) -> Option<Diagnosis> {
    let limit = limit.filter(|limit| *limit < ENOUGH_FILE_BYTES)?;
    let remedy = "threads that make many calls will lose records; raise it with 'ulimit -f'";
    let found = format!("files may be at most {} large (RLIMIT_FSIZE): {remedy}", bytes(limit));
    Some(Diagnosis::warning("limits", found))
}

fn descriptors(limit: Option<u64>) -> Option<Diagnosis> {
    let limit = limit.filter(|limit| *limit < ENOUGH_DESCRIPTORS)?;
    let remedy = "new threads may be unable to record; raise it with 'ulimit -n'";
    let found = format!("at most {} open files (RLIMIT_NOFILE): {remedy}", grouped(limit));
    Some(Diagnosis::warning("limits", found))
}

fn address_space(limit: Option<u64>) -> Option<Diagnosis> {
    let limit = limit.filter(|limit| *limit < ENOUGH_ADDRESS_SPACE)?;
    let remedy = "records are mapped and may not fit; raise it with 'ulimit -v'";
    let found = format!("address space of {} (RLIMIT_AS): {remedy}", bytes(limit));
    Some(Diagnosis::warning("limits", found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_low_limits_are_reported() {
        assert_eq!(file_size(None), None);
        assert_eq!(file_size(Some(1 << 40)), None);
        assert!(file_size(Some(1_000_000)).is_some_and(|finding| finding.text.contains("1.0 MB")));
        assert_eq!(descriptors(Some(1024)), None);
        assert!(descriptors(Some(10)).is_some() && address_space(Some(1 << 20)).is_some());
    }
}
