// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes and threads of which nothing can be recorded, counted and named in
//! the job page: every process of a job has it mapped, so that takes no room.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{JobPage, MAX_NAMED, UnrecordedCause};

/// Bytes of a name that are kept.
pub const MAX_NAME_BYTES: usize = 24;

/// What a process has reported about itself in the job page; the process keeps it, and
/// withdraws it if something can be recorded after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecordedRow(u32);

impl UnrecordedRow {
    const NO_ROW: u32 = MAX_NAMED as u32;

    /// As a word, for an atomic.
    pub fn to_word(self) -> u32 {
        self.0
    }

    /// What such a word was made of.
    pub fn from_word(word: u32) -> UnrecordedRow {
        UnrecordedRow(word)
    }
}

impl JobPage {
    /// Counts a process of which nothing could be recorded so far, and names it
    /// if there is a row left.
    pub fn report_unrecorded(
        &self,
        pid: u32,
        cause: UnrecordedCause,
        name: &[u8],
    ) -> UnrecordedRow {
        self.n_unrecorded_processes.fetch_add(1, Relaxed);
        let is_free = |row: usize| {
            let row = self.unrecorded_processes.get(row)?;
            row.pid.compare_exchange(0, u32::MAX, Acquire, Relaxed).ok().map(|_| row)
        };
        for place in 0..MAX_NAMED {
            let Some(row) = is_free(place) else { continue };
            row.cause.store(cause as u32, Relaxed);
            let mut bytes = name.iter().copied().chain(core::iter::repeat(0));
            for word in &row.name {
                let mut part = [0; 8];
                part.iter_mut().zip(&mut bytes).for_each(|(to, from)| *to = from);
                word.store(u64::from_ne_bytes(part), Relaxed);
            }
            row.pid.store(pid, Release);
            return UnrecordedRow(place as u32);
        }
        UnrecordedRow(UnrecordedRow::NO_ROW)
    }

    /// Withdraws that report.
    pub fn take_back(&self, reported: UnrecordedRow) {
        self.n_unrecorded_processes.fetch_sub(1, Relaxed);
        if let Some(row) = self.unrecorded_processes.get(reported.0 as usize) {
            row.pid.store(0, Release);
        }
    }
}

/// The bytes of a row's name.
#[cfg(feature = "reader")]
pub(crate) fn name_of(words: &[AtomicU64; 3]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    // It may contain anything.
    String::from_utf8_lossy(&bytes[..end]).escape_debug().to_string()
}

const _: () = assert!(MAX_NAME_BYTES == size_of::<[AtomicU64; 3]>());

#[cfg(test)]
mod tests {
    use super::*;

    fn blank() -> Box<JobPage> {
        // SAFETY: a job page is numbers only.
        Box::new(unsafe { core::mem::zeroed() })
    }

    #[test]
    fn more_processes_than_rows_are_counted_and_rows_are_used_again() {
        let page = blank();
        let report = |pid| page.report_unrecorded(pid, UnrecordedCause::NoRoom, b"a program");
        let rows: Vec<UnrecordedRow> = (1..=MAX_NAMED as u32 + 2).map(report).collect();
        assert_eq!(page.n_unrecorded_processes.load(Relaxed), MAX_NAMED as u64 + 2);
        rows.iter().for_each(|row| page.take_back(*row));
        assert_eq!(page.n_unrecorded_processes.load(Relaxed), 0);
        assert!(page.unrecorded_processes.iter().all(|row| row.pid.load(Relaxed) == 0));
        assert_eq!(report(7), UnrecordedRow(0));
    }

    #[test]
    #[cfg(feature = "reader")]
    fn a_name_is_cut_off_at_its_room() {
        let page = blank();
        page.report_unrecorded(1, UnrecordedCause::NoFile, &[b'x'; 100]);
        page.report_unrecorded(2, UnrecordedCause::NoFile, b"nginx");
        let name = |row: usize| name_of(&page.unrecorded_processes[row].name);
        assert_eq!((name(0), name(1)), ("x".repeat(MAX_NAME_BYTES), "nginx".to_owned()));
    }
}
