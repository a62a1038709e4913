// SPDX-License-Identifier: MIT OR Apache-2.0

//! `system.json`: how long calls take on one storage system.
//!
//! `ioracle bench` writes it, `ioracle forecast` reads it, and people may. It has
//! a format name and a version; a file of another version is rejected, since a
//! forecast from misread numbers would look like any other.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::class::IoClass;

/// The most bytes that a `system.json` may have.
pub const MAX_SYSTEM_BYTES: u64 = 64 << 20;

/// The most points that it may have.
pub const MAX_POINTS: usize = 100_000;

const FORMAT: &str = "ioracle-system";
const VERSION: u32 = 1;

/// What was measured on one storage system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Always `ioracle-system`.
    format: String,
    /// Version of the format.
    version: u32,
    /// What people call the system.
    pub name: String,
    /// The program that measured it, with its version: `ioracle 0.1.0`, `IOR-4.0.0`,
    /// `fio-3.36`.
    pub measured_by: String,
    /// When it was measured, seconds since 1970; 0 if that is not known.
    pub measured_at_unix_s: u64,
    /// What it consists of.
    pub description: SystemDescription,
    /// The measurements, at most one for a class and number of bytes, and at most one
    /// more from replays.
    pub points: Vec<Point>,
    /// What the reader should know, a sentence each: data that fitted into memory,
    /// caches that could not be dropped.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A storage system as seen from where it was measured. What is not known is
/// empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SystemDescription {
    /// Name of the machine.
    pub host: String,
    /// The directory in which it was measured.
    pub directory: String,
    /// Type of the file system, as the kernel names it.
    pub file_system: String,
    /// The device or server that it comes from.
    pub device: String,
    /// Options it is mounted with.
    pub mount_options: String,
    /// Size of the file system.
    pub capacity_bytes: u64,
    /// Memory of the machine, or the limit of the control group if that is less.
    pub memory_bytes: u64,
    /// Processors that may be used.
    pub processors: u32,
    /// Version of the kernel.
    pub kernel: String,
}

/// One measurement: calls of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// How the calls were made. [`IoClass::cached`] tells warm from cold.
    pub class: IoClass,
    /// Bytes per call as measured; [`IoClass::size`] is its bin. For
    /// [`Kind::Close`](crate::Kind::Close) and [`Kind::Sync`](crate::Kind::Sync):
    /// the bytes that waited.
    pub transfer_bytes: u64,
    /// How often the whole measurement was repeated, at least 1.
    pub repetitions: u32,
    /// Calls in all repetitions and tasks together.
    pub calls: u64,
    /// Bytes that all of them moved.
    pub bytes: u64,
    /// Mean time of a call, over all repetitions. A call of an asynchronous class
    /// is a submission together with its completion.
    pub mean_s: f64,
    /// Standard deviation of the repetitions' means divided by `mean_s`; 0 if there
    /// was one repetition. A fraction, not percent.
    pub rsd: f64,
    /// How long single calls took.
    pub percentiles_s: Percentiles,
    /// Where the true mean lies with the probability `confidence`: low, high.
    pub interval_s: (f64, f64),
    /// Of `interval_s`, between 0 and 1.
    pub confidence: f64,
    /// Whether these are calls of a replayed program, with everything else that it
    /// does before, between and beside them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// How long single calls took, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Percentiles {
    pub p5: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Why a `system.json` is not accepted.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SystemError {
    #[error("could not read '{}': {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error(
        "'{}' is larger than {MAX_SYSTEM_BYTES} bytes, which no description of a system is",
        path.display()
    )]
    TooLarge { path: PathBuf },
    #[error(
        "'{}' is no description of a storage system ({reason}); make one with ioracle bench -o FILE, \
         or name results of IOR or fio",
        path.display()
    )]
    Malformed { path: PathBuf, reason: String },
    #[error(
        "'{}' has version {version} of the format, this program knows version {VERSION}; \
         measure the system again with this version's ioracle bench",
        path.display()
    )]
    OtherVersion { path: PathBuf, version: u64 },
    #[error(
        "'{}': point {number} ({class}) {fault}; measure the system again", path.display()
    )]
    Point { path: PathBuf, number: usize, class: Box<str>, fault: &'static str },
    #[error("'{}' has no measurements; measure the system again", path.display())]
    Empty { path: PathBuf },
}

/// What is looked at before the rest is believed.
#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u64>,
}

impl System {
    /// A description with no points yet.
    pub fn new(name: &str, measured_by: &str, description: SystemDescription) -> System {
        System {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: name.to_owned(),
            measured_by: measured_by.to_owned(),
            measured_at_unix_s: 0,
            description,
            points: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads and checks a file.
    pub fn load(path: &Path) -> Result<System, SystemError> {
        let unreadable = |source| SystemError::Unreadable { path: path.into(), source };
        let file = File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(MAX_SYSTEM_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        System::parse(path, &bytes)
    }

    /// The same for bytes; `path` is for messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<System, SystemError> {
        if bytes.len() as u64 > MAX_SYSTEM_BYTES {
            return Err(SystemError::TooLarge { path: path.into() });
        }
        let malformed = |reason: String| SystemError::Malformed { path: path.into(), reason };
        if let Some(foreign) = crate::foreign::parse(bytes) {
            let system = foreign.map_err(malformed)?;
            system.check(path)?;
            return Ok(system);
        }
        let header: Header =
            serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        match (header.format.as_deref(), header.version) {
            (Some(FORMAT), Some(version)) if version == u64::from(VERSION) => {}
            (Some(FORMAT), Some(version)) => {
                return Err(SystemError::OtherVersion { path: path.into(), version });
            }
            _ => return Err(malformed(format!("it does not say that its format is {FORMAT}"))),
        }
        let system: System =
            serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        system.check(path)?;
        Ok(system)
    }

    /// The bytes to store, one line per value, so that people can read them.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    fn check(&self, path: &Path) -> Result<(), SystemError> {
        if self.points.is_empty() {
            return Err(SystemError::Empty { path: path.into() });
        }
        if self.points.len() > MAX_POINTS {
            let reason = format!("it has more than {MAX_POINTS} points");
            return Err(SystemError::Malformed { path: path.into(), reason });
        }
        let mut keys: Vec<_> = self.points.iter().map(Point::key).collect();
        keys.sort_unstable();
        let twice = keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        for (position, point) in self.points.iter().enumerate() {
            let is_double = twice == Some(point.key());
            let fault = point.fault().or(is_double.then_some("is there twice"));
            if let Some(fault) = fault {
                return Err(SystemError::Point {
                    path: path.into(),
                    number: position + 1,
                    class: point.class.to_string().into(),
                    fault,
                });
            }
        }
        Ok(())
    }
}

impl Point {
    /// What there is at most one point for.
    pub fn key(&self) -> (IoClass, u64, bool) {
        (self.class, self.transfer_bytes, self.replayed)
    }

    fn fault(&self) -> Option<&'static str> {
        let is_time = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
        let p = self.percentiles_s;
        let percentiles = [p.p5, p.p25, p.p50, p.p75, p.p95, p.p99];
        let (low, high) = self.interval_s;
        if !(self.mean_s.is_finite() && self.mean_s > 0.0) {
            Some("has a mean time that is not positive")
        } else if !is_time(self.rsd) {
            Some("has an RSD that is not a number from 0 up")
        } else if !percentiles.iter().all(|time| is_time(*time)) || !percentiles.is_sorted() {
            Some("has percentiles that are not increasing times")
        } else if !(is_time(low) && is_time(high) && low <= self.mean_s && self.mean_s <= high) {
            Some("has an interval that does not contain its mean")
        } else if !(self.confidence > 0.0 && self.confidence < 1.0) {
            Some("has a confidence that is not between 0 and 1")
        } else if self.repetitions == 0 || self.calls == 0 {
            Some("was never measured")
        } else if self.class.concurrency == 0 {
            Some("was measured by no task")
        } else if self.class.kind.has_size()
            && crate::SizeBin::of(self.transfer_bytes) != self.class.size
        {
            Some("has a transfer size outside its class")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{Kind, SizeBin};

    fn point(bytes: u64) -> Point {
        Point {
            class: IoClass::new(Kind::Read, SizeBin::of(bytes)),
            transfer_bytes: bytes,
            repetitions: 3,
            calls: 300,
            bytes: 300 * bytes,
            mean_s: 1e-3,
            rsd: 0.05,
            percentiles_s: Percentiles {
                p5: 1e-4,
                p25: 2e-4,
                p50: 9e-4,
                p75: 1e-3,
                p95: 2e-3,
                p99: 3e-3,
            },
            interval_s: (9e-4, 1.1e-3),
            confidence: 0.9,
            replayed: false,
        }
    }

    fn system() -> System {
        let mut system = System::new("scratch", "ioracle 0.1.0", SystemDescription::default());
        system.points = vec![point(4096), point(5000)];
        system
    }

    fn error_of(text: &str) -> String {
        System::parse("s.json".as_ref(), text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_description_survives_json() {
        let text = system().to_json();
        assert_eq!(System::parse("s.json".as_ref(), text.as_bytes()).unwrap(), system());
    }

    #[test]
    fn other_versions_and_other_files_are_named() {
        let text = system().to_json();
        let error = error_of(&text.replacen("\"version\": 1", "\"version\": 7", 1));
        assert!(error.contains("has version 7 of the format"), "{error}");
        assert!(error_of("{}").contains("does not say that its format is"));
        assert!(error_of("[1]").contains("no description of a storage system"));
        assert!(error_of(&text[..text.len() / 2]).contains("EOF"));
        assert!(error_of(&text.replace("\"calls\"", "\"call\"")).contains("unknown field"));
    }

    #[test]
    fn impossible_measurements_are_rejected() {
        let check = |change: &dyn Fn(&mut System), expected: &str| {
            let mut system = system();
            change(&mut system);
            let error = error_of(&system.to_json());
            assert!(error.contains(expected), "{error}");
        };
        check(&|s| s.points.clear(), "has no measurements");
        check(&|s| s.points[1].mean_s = 0.0, "point 2 (POSIX read, 8 KiB, sequential) has a mean");
        check(&|s| s.points[0].rsd = -1.0, "RSD");
        check(&|s| s.points[0].percentiles_s.p5 = 9.0, "increasing");
        check(&|s| s.points[0].interval_s.1 = 0.0, "interval");
        check(&|s| s.points[0].confidence = 1.0, "confidence");
        check(&|s| s.points[0].calls = 0, "never measured");
        check(&|s| s.points[0].class.concurrency = 0, "no task");
        check(&|s| s.points[0].transfer_bytes = 9, "outside its class");
        check(&|s| s.points[1] = s.points[0].clone(), "twice");
    }
}
