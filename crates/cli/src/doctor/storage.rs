// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether reading ahead helps in a directory, measured on a file of its own.
//!
//! Four questions: how long a read takes that comes from the storage, how long one
//! that comes from the cache, how fast the storage delivers, and whether bytes stay
//! in the cache when their file is opened again (FUSE file systems may drop them).

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::{Advice, fadvise};
use tempfile::NamedTempFile;

use super::finding::Diagnosis;
use crate::knowledge::FileInquiry;
use crate::shared::failure::sentence;
use crate::shared::numbers::{bytes, seconds};

const PAGE: usize = 4096;
const FILE_BYTES: usize = 16 << 20;
/// Pages that are read one by one, far apart.
const PROBES: usize = 32;
/// Reading ahead is worth it where the cache is this much faster.
const FASTER: f64 = 4.0;
/// If reads from the storage take less than this, there is nothing to gain.
const SHORT: Duration = Duration::from_micros(20);

/// How long a file system may take to answer at all, and to be measured.
const PATIENCE: Duration = Duration::from_secs(3);
const MEASURED_WITHIN: Duration = Duration::from_secs(60);

/// The one finding on a file system that does not answer; none if it does.
pub fn without_answer(path: &Path) -> Option<Diagnosis> {
    // Another process asks, so that it can be left behind.
    let inquiry = FileInquiry::start(Arc::new(AtomicBool::new(false))).ok()?;
    let text = format!("the file system of '{}' does not answer", path.display());
    (!inquiry.answers(path, PATIENCE)).then(|| Diagnosis::problem("storage", text))
}

/// Findings on the storage below a directory.
pub fn examine(directory: &Path) -> Vec<Diagnosis> {
    // On a thread that is left behind when this process ends: the file system may stop
    // answering.
    let (sender, measured) = mpsc::channel();
    let place = directory.to_owned();
    thread::spawn(move || sender.send(Measured::of(&place)));
    let problem = |text: &str| vec![Diagnosis::problem("storage", text)];
    match measured.recv_timeout(MEASURED_WITHIN) {
        Ok(Ok(measured)) => measured.findings(directory),
        Ok(Err(error)) => problem(&sentence(&error)),
        Err(_) => problem(&format!(
            "'{}' was not measured: that takes more than {} s here",
            directory.display(),
            MEASURED_WITHIN.as_secs()
        )),
    }
}

#[derive(Debug)]
struct Measured {
    /// A page from the storage, median.
    cold: Duration,
    /// A page that was read ahead through another descriptor.
    warm: Duration,
    /// The same after the file was opened again.
    reopened: Duration,
    bytes_per_s: f64,
}

impl Measured {
    fn of(directory: &Path) -> Result<Measured> {
        if !directory.is_dir() {
            bail!("'{}' is not a directory", directory.display());
        }
        let place = || format!("could not write a test file in '{}'", directory.display());
        let mut file = NamedTempFile::new_in(directory).with_context(place)?;
        let block = [0x5a; 1 << 16];
        for _ in 0..FILE_BYTES / block.len() {
            file.write_all(&block).with_context(place)?;
        }
        file.as_file().sync_all().with_context(place)?;
        let path = file.path().to_owned();
        let program = File::open(&path).with_context(place)?;
        let evict = || {
            let _ = fadvise(&program, 0, None, Advice::DontNeed);
            let _ = fadvise(&program, 0, None, Advice::Random);
        };
        evict();
        let cold = probe(&program)?;
        evict();
        // Like the process that reads ahead: through its own descriptor.
        let ahead = File::open(&path).with_context(place)?;
        let started = Instant::now();
        let mut buffer = vec![0; 1 << 20];
        for place in 0..FILE_BYTES / buffer.len() {
            ahead.read_exact_at(&mut buffer, (place << 20) as u64)?;
        }
        let bytes_per_s = FILE_BYTES as f64 / started.elapsed().as_secs_f64();
        let warm = probe(&program)?;
        let reopened = probe(&File::open(&path).with_context(place)?)?;
        Ok(Measured { cold, warm, reopened, bytes_per_s })
    }

    fn findings(&self, directory: &Path) -> Vec<Diagnosis> {
        let shown = |time: Duration| seconds(Some(time.as_secs_f64()));
        let speed = Diagnosis::ok(
            "storage",
            format_args!(
                "'{}': a read takes {}, one from the cache {}; {}/s one after the other",
                directory.display(),
                shown(self.cold),
                shown(self.warm),
                bytes(self.bytes_per_s as u64)
            ),
        );
        let is_faster = |time: Duration| self.cold.as_secs_f64() >= FASTER * time.as_secs_f64();
        let verdict = if self.cold < SHORT {
            Diagnosis::note(
                "prefetching",
                "would not help here: files cannot be evicted from the cache, or reads are as fast \
                 as from it",
            )
        } else if !is_faster(self.warm) {
            Diagnosis::warning(
                "prefetching",
                "cannot help here: the file system does not cache what is read",
            )
        } else if !is_faster(self.reopened) {
            Diagnosis::note(
                "prefetching",
                "helps only for files that are open: opening a file drops its cached data",
            )
        } else {
            Diagnosis::ok("prefetching", "helps here: 'ioracle run --prefetch'")
        };
        vec![speed, verdict]
    }
}

/// Median time of reads of single pages, each far from the last.
fn probe(file: &File) -> Result<Duration> {
    let mut page = [0; PAGE];
    let mut times = Vec::with_capacity(PROBES);
    for n in 0..PROBES {
        // A stride that is prime to the number of probes, so none follows another.
        let offset = (n * 13 % PROBES) * (FILE_BYTES / PROBES);
        let started = Instant::now();
        file.read_exact_at(&mut page, offset as u64).context("could not read the test file")?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Ok(times[PROBES / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::DiagnosisLevel;

    #[test]
    fn the_verdict_follows_from_the_times() {
        let us = Duration::from_micros;
        for (cold, warm, reopened, level, word) in [
            (1000, 5, 5, DiagnosisLevel::Ok, "helps here"),
            (1000, 5, 900, DiagnosisLevel::Note, "only for files that are open"),
            (1000, 900, 900, DiagnosisLevel::Warning, "does not cache"),
            (4, 2, 2, DiagnosisLevel::Note, "would not help"),
        ] {
            let measured = Measured {
                cold: us(cold),
                warm: us(warm),
                reopened: us(reopened),
                bytes_per_s: 2e8,
            };
            let findings = measured.findings(Path::new("/data"));
            assert_eq!(findings[1].level, level, "{}", findings[1].text);
            assert!(findings[1].text.contains(word), "{}", findings[1].text);
        }
    }

    #[test]
    fn what_is_no_directory_is_a_problem() {
        let findings = examine(Path::new("/nonexistent"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].level, DiagnosisLevel::Problem);
    }
}
