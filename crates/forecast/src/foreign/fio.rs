// SPDX-License-Identifier: MIT OR Apache-2.0

//! Results of fio, versions 3: `--output-format=json`.
//!
//! A job, or a group with `group_reporting`, has the latency of its reads,
//! writes and syncs, with percentiles.

use serde_json::Value;

use super::Sample;
use crate::class::{Api, ClassPattern, IoClass, Kind, SizeBin};
use crate::system::{Percentiles, System};

/// Reads a JSON result.
pub(super) fn parse(bytes: &[u8]) -> Result<System, String> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let jobs = document["jobs"].as_array().ok_or("it is of fio, but has no jobs")?;
    let mut samples = Vec::new();
    for job in jobs {
        let options = JobOptions { global: &document["global options"], own: &job["job options"] };
        for (kind, name) in [(Kind::Read, "read"), (Kind::Write, "write")] {
            samples.extend(data_sample(&job[name], kind, &options));
        }
        samples.extend(sync_sample(&job["sync"], &options));
    }
    let version = document["fio version"].as_str().unwrap_or("fio");
    let name = jobs.first().and_then(|job| job["jobname"].as_str()).unwrap_or("fio");
    let warnings = vec![
        "fio evicts its files before it reads them unless told otherwise; its buffered reads are \
         taken for reads from the storage"
            .to_owned(),
        "results of fio have no calls on whole files (opening, closing, deleting)".to_owned(),
    ];
    super::system(name, version, &samples, warnings)
}

/// Options of a job, which those of all jobs stand behind.
struct JobOptions<'a> {
    global: &'a Value,
    own: &'a Value,
}

impl JobOptions<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.own[name].as_str().or_else(|| self.global[name].as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.trim().parse().ok()
    }

    fn bytes(&self, name: &str) -> Option<u64> {
        bytes(self.text(name)?)
    }

    /// An option without a value is on.
    fn is_set(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value != "0")
    }

    fn class(&self, kind: Kind, size: u64) -> IoClass {
        let rw = self.text("rw").or_else(|| self.text("readwrite")).unwrap_or("read");
        let n_jobs = self.number("numjobs").unwrap_or(1).clamp(1, 1 << 15) as u32;
        let file_bytes = self.bytes("size").or_else(|| self.bytes("filesize")).unwrap_or(0);
        let is_data = kind.is_data();
        IoClass {
            api: Api::Posix,
            pattern: if rw.starts_with("rand") && is_data {
                ClassPattern::Random { distance: SizeBin::of((file_bytes as f64 * 0.29) as u64) }
            } else {
                ClassPattern::Sequential
            },
            // Jobs that name a file have it in common.
            shared: n_jobs > 1 && self.text("filename").is_some(),
            concurrency: n_jobs.next_power_of_two() as u16,
            synchronous: !is_data || self.number("iodepth").unwrap_or(1) <= 1,
            direct: self.is_set("direct"),
            durable: is_data && kind == Kind::Write && self.is_set("sync"),
            ..IoClass::new(kind, SizeBin::of(size))
        }
    }
}

fn data_sample(result: &Value, kind: Kind, options: &JobOptions<'_>) -> Option<Sample> {
    let calls = result["total_ios"].as_u64().filter(|calls| *calls > 0)?;
    let transfer_bytes = result["io_bytes"].as_u64()? / calls;
    let class = options.class(kind, transfer_bytes);
    sample(class, transfer_bytes, calls, &result["lat_ns"], &result["clat_ns"]["percentile"])
}

fn sync_sample(result: &Value, options: &JobOptions<'_>) -> Option<Sample> {
    let calls = result["total_ios"].as_u64().filter(|calls| *calls > 0)?;
    let every = options.number("fsync").or_else(|| options.number("fdatasync"))?.max(1);
    let block = options.bytes("bs").or_else(|| options.bytes("blocksize")).unwrap_or(4096);
    let waiting = every.checked_mul(block)?;
    let class = options.class(Kind::Sync, waiting);
    sample(class, waiting, calls, &result["lat_ns"], &result["lat_ns"]["percentile"])
}

fn sample(
    class: IoClass,
    transfer_bytes: u64,
    calls: u64,
    latency: &Value,
    percentiles: &Value,
) -> Option<Sample> {
    let seconds = |value: &Value| value.as_f64().filter(|ns| ns.is_finite()).map(|ns| ns * 1e-9);
    let mean_s = seconds(&latency["mean"]).filter(|mean| *mean > 0.0)?;
    let percentile = |name: &str| seconds(&percentiles[name]);
    // fio has no quartiles unless asked; its neighbours stand for them.
    let percentiles_s = percentile("5.000000").and_then(|p5| {
        let p25 = percentile("25.000000").or_else(|| percentile("20.000000"))?;
        let p75 = percentile("75.000000").or_else(|| percentile("80.000000"))?;
        let (p50, p95) = (percentile("50.000000")?, percentile("95.000000")?);
        let p99 = percentile("99.000000")?;
        [p5, p25, p50, p75, p95, p99].is_sorted().then_some(Percentiles {
            p5,
            p25,
            p50,
            p75,
            p95,
            p99,
        })
    });
    let deviation_s = seconds(&latency["stddev"]);
    Some(Sample { class, transfer_bytes, calls, mean_s, deviation_s, percentiles_s })
}

/// `4k`, `1m`, `2g`: powers of 1,024, as fio has them by default.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.split([',', '-']).next()?;
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let shift = match text[end..].chars().next() {
        None | Some('b') => 0,
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with fio 3.33: two writers of 64 KiB blocks, and random reads and
    /// writes of 4 KiB with O_DIRECT and an fsync after 16 writes.
    const WRITES: &str = include_str!("samples/fio-write.json");
    const RANDOM: &str = include_str!("samples/fio-randrw.json");

    fn parsed(text: &str) -> System {
        System::parse("fio.json".as_ref(), text.as_bytes()).unwrap()
    }

    #[test]
    fn jobs_become_points() {
        let system = parsed(WRITES);
        assert_eq!(system.measured_by, "fio-3.33");
        let [write] = &system.points[..] else { panic!("{:?}", system.points) };
        assert_eq!((write.class.kind, write.transfer_bytes), (Kind::Write, 65536));
        assert_eq!((write.class.concurrency, write.calls), (2, 128));
    }

    #[test]
    fn random_direct_and_synced_jobs_keep_their_class() {
        let system = parsed(RANDOM);
        let kinds: Vec<Kind> = system.points.iter().map(|point| point.class.kind).collect();
        assert_eq!(kinds, [Kind::Read, Kind::Write, Kind::Sync]);
        let read = &system.points[0];
        assert!(read.class.direct && matches!(read.class.pattern, ClassPattern::Random { .. }));
        assert!((read.mean_s - 62_828.493_952e-9).abs() < 1e-15);
        assert_eq!(system.points[2].transfer_bytes, 16 * 4096);
    }

    #[test]
    fn damaged_results_are_one_sentence() {
        for end in (0..RANDOM.len()).step_by(97) {
            let _ = System::parse("fio.json".as_ref(), &RANDOM.as_bytes()[..end]);
        }
        let without = RANDOM.replace("\"jobs\"", "\"jobz\"");
        let error = System::parse("f".as_ref(), without.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("it is of fio, but has no jobs"), "{error}");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("4k"), Some(4096));
        assert_eq!(bytes("1M"), Some(1 << 20));
        assert_eq!(bytes("512"), Some(512));
        assert_eq!(bytes("4k,8k"), Some(4096));
        assert_eq!(bytes("99999999999999999999t"), None);
        assert_eq!(bytes("x"), None);
    }
}
