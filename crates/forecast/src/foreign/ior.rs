// SPDX-License-Identifier: MIT OR Apache-2.0

//! Results of IOR, versions 3.2 to 4: `-O summaryFormat=JSON` and `CSV`.
//!
//! IOR reports for each repetition how long all transfers of the slowest task
//! took (`wrRdTime`), so the time of a call is that divided by the calls of a
//! task. How many those are follows from bandwidth, time and transfer size,
//! also where a stonewall cut the repetition short.

use serde_json::Value;

use super::Sample;
use crate::class::{Api, ClassPattern, IoClass, Kind, SizeBin};
use crate::system::System;

const MIB: f64 = 1024.0 * 1024.0;

/// The first columns of a CSV; later ones differ between versions.
const CSV_START: &str = "access,bw(MiB/s),";

/// One repetition, as both formats have it.
struct Repetition {
    is_write: bool,
    transfer_bytes: f64,
    n_tasks: f64,
    bw_mib_s: f64,
    data_s: f64,
    total_s: f64,
}

impl Repetition {
    fn sample(&self, class: &IoClass) -> Option<Sample> {
        let bytes = self.bw_mib_s * MIB * self.total_s;
        let calls = (bytes / self.transfer_bytes).round();
        let mean_s = self.data_s / (calls / self.n_tasks);
        let is_usable = [calls, mean_s, self.transfer_bytes].iter().all(|it| it.is_finite())
            && calls >= 1.0
            && mean_s > 0.0
            && self.transfer_bytes >= 1.0
            && (1.0..=65_536.0).contains(&self.n_tasks);
        is_usable.then(|| {
            let transfer_bytes = self.transfer_bytes as u64;
            Sample {
                class: IoClass {
                    kind: if self.is_write { Kind::Write } else { Kind::Read },
                    size: SizeBin::of(transfer_bytes),
                    concurrency: (self.n_tasks as u32).next_power_of_two().min(1 << 15) as u16,
                    shared: class.shared && self.n_tasks > 1.0,
                    ..*class
                },
                transfer_bytes,
                calls: calls as u64,
                mean_s,
                deviation_s: None,
                percentiles_s: None,
            }
        })
    }
}

/// Reads a JSON summary.
pub(super) fn parse(bytes: &[u8]) -> Result<System, String> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let tests = document["tests"].as_array().ok_or("it is of IOR, but has no tests")?;
    let mut samples = Vec::new();
    let mut syncs = false;
    for test in tests {
        let parameters = &test["Parameters"];
        let n_tasks = number(&test["Options"]["tasks"]).or_else(|| number(&parameters["numTasks"]));
        let class = class_of(parameters);
        syncs |= is_set(&parameters["fsync"]) || is_set(&parameters["fsyncperwrite"]);
        let mut found = Vec::new();
        repetitions(test, n_tasks.unwrap_or(1.0), 0, &mut found);
        samples.extend(found.iter().filter_map(|repetition| repetition.sample(&class)));
    }
    let version = document["Version"].as_str().unwrap_or("of unknown version");
    let machine = document["Machine"].as_str().unwrap_or("IOR");
    super::system(machine, &format!("IOR-{version}"), &samples, warnings(syncs))
}

/// What results of IOR leave open.
fn warnings(syncs: bool) -> Vec<String> {
    let mut warnings = vec![
        "IOR does not say what was cached; its reads are taken for reads from the storage"
            .to_owned(),
        "IOR's results have no calls on whole files (opening, closing, syncing, deleting)"
            .to_owned(),
    ];
    if syncs {
        warnings.push("the time of IOR's writes includes that of fsync".to_owned());
    }
    warnings
}

fn class_of(parameters: &Value) -> IoClass {
    let api = match parameters["api"].as_str().map(str::to_ascii_uppercase).as_deref() {
        Some("MPIIO") => Api::MpiIo,
        Some("HDF5") => Api::Hdf5,
        Some("NCMPI" | "NC4" | "NETCDF") => Api::NetCdf,
        _ => Api::Posix,
    };
    let block_bytes = number(&parameters["blockSize"]).unwrap_or(0.0).max(0.0);
    IoClass {
        api,
        pattern: if is_set(&parameters["randomOffset"]) {
            // The median distance of two random places in a block.
            ClassPattern::Random { distance: SizeBin::of((block_bytes * 0.29) as u64) }
        } else {
            ClassPattern::Sequential
        },
        shared: !is_set(&parameters["filePerProc"]),
        direct: is_set(&parameters["useO_DIRECT"]),
        durable: false,
        ..IoClass::new(Kind::Read, SizeBin::EMPTY)
    }
}

/// Repetitions of a test wherever they are: versions differ in how deep.
fn repetitions(value: &Value, n_tasks: f64, depth: usize, found: &mut Vec<Repetition>) {
    const DEEPEST: usize = 6;
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Array(values) => {
            values.iter().for_each(|value| repetitions(value, n_tasks, depth + 1, found));
        }
        Value::Object(fields) => {
            let get = |name: &str| number(&value[name]);
            let access = value["access"].as_str();
            let is_write = match access {
                Some("write") => true,
                Some("read") => false,
                _ => {
                    fields.values().for_each(|it| repetitions(it, n_tasks, depth + 1, found));
                    return;
                }
            };
            if let (Some(bw_mib_s), Some(kib), Some(data_s), Some(total_s)) =
                (get("bwMiB"), get("xferKiB"), get("wrRdTime"), get("totalTime"))
            {
                let transfer_bytes = kib * 1024.0;
                let n_tasks = get("numTasks").unwrap_or(n_tasks);
                found.push(Repetition {
                    is_write,
                    transfer_bytes,
                    n_tasks,
                    bw_mib_s,
                    data_s,
                    total_s,
                });
            }
        }
        _ => {}
    }
}

/// Numbers may be written as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn is_set(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| number(value).is_some_and(|number| number != 0.0))
}

/// The text of a CSV of IOR, if it is one.
pub(super) fn csv_rows(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.trim_start().starts_with(CSV_START).then_some(text)
}

/// Reads a CSV summary.
pub(super) fn from_csv(text: &str) -> Result<System, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header: Vec<&str> =
        lines.next().map(|(_, line)| line.trim().split(',').collect()).unwrap_or_default();
    let column = |name: &str| {
        let at = header.iter().position(|it| *it == name);
        at.ok_or_else(|| format!("it is a CSV of IOR without the column '{name}'"))
    };
    let (access, bw, xfer) = (column("access")?, column("bw(MiB/s)")?, column("xfer(KiB)")?);
    let (data, total, tasks) = (column("wr/rd(s)")?, column("total(s)")?, column("numTasks")?);
    let class = IoClass { shared: true, ..IoClass::new(Kind::Read, SizeBin::EMPTY) };
    let mut samples = Vec::new();
    for (at, line) in lines {
        let fields: Vec<&str> = line.trim().split(',').collect();
        let is_write = match fields.get(access) {
            Some(&"write") => true,
            Some(&"read") => false,
            _ => continue,
        };
        let get = |column: usize| {
            let number = fields.get(column).and_then(|field| field.trim().parse::<f64>().ok());
            number.ok_or_else(|| {
                format!("line {} of the CSV has no number in column {}", at + 1, column + 1)
            })
        };
        let repetition = Repetition {
            is_write,
            transfer_bytes: get(xfer)? * 1024.0,
            n_tasks: get(tasks)?,
            bw_mib_s: get(bw)?,
            data_s: get(data)?,
            total_s: get(total)?,
        };
        samples.extend(repetition.sample(&class));
    }
    let mut warnings = warnings(false);
    warnings.push(
        "a CSV of IOR does not say how it was run; sequential POSIX accesses to a shared file are \
         assumed (summaryFormat=JSON says it)"
            .to_owned(),
    );
    super::system("IOR", "IOR", &samples, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_becomes_points_with_the_time_of_a_call() {
        // As IOR 3.3 prints it.
        let text = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),\
                    total(s),numTasks,iter\n\
                    write,32.0,32.0,1.5,131072.0000,1024.0000,0.1,192.0,0.1,192.0,48,0\n\
                    write,32.0,32.0,1.5,131072.0000,1024.0000,0.1,192.0,0.1,192.0,48,1\n\
                    read,2048.0,2048.0,0.02,131072.0000,1024.0000,0.1,3.0,0.1,3.0,48,0\n\
                    remove,-,-,-,-,-,-,-,-,0.1,48,0\n";
        let system = from_csv(csv_rows(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(system.points.len(), 2);
        let write = &system.points[0];
        // 48 tasks write 128 transfers each, in 192 seconds.
        assert_eq!((write.calls, write.repetitions), (2 * 48 * 128, 2));
        assert!((write.mean_s - 1.5).abs() < 1e-9);
        assert_eq!(write.class.concurrency, 64);
        assert!((system.points[1].mean_s - 3.0 / 128.0).abs() < 1e-9);
        assert_eq!(System::parse("s".as_ref(), text.as_bytes()).unwrap(), system);
        let error = from_csv("access,bw(MiB/s),x\n").unwrap_err();
        assert!(error.contains("without the column 'xfer(KiB)'"), "{error}");
        let cut = text.replace("48,0", "");
        assert!(from_csv(&cut).unwrap_err().contains("line 2 of the CSV has no number"));
    }

    #[test]
    fn results_are_found_however_deep_a_version_nests_them() {
        let result = r#"{"access": "write", "bwMiB": 100.0, "blockKiB": 102400.0, "xferKiB": 1024.0,
            "openTime": 0.001, "wrRdTime": 1.0, "closeTime": 0.001, "totalTime": 1.0}"#;
        let document = |results: &str| {
            format!(
                r#"{{"Version": "3.3.0", "Began": "x", "Command line": "ior -F", "Machine":
                "Linux node1", "tests": [{{"TestID": 0, "Parameters": {{"api": "POSIX",
                "filePerProc": 1, "randomOffset": 1, "blockSize": 104857600, "useO_DIRECT": 1,
                "fsync": 1}}, "Options": {{"api": "POSIX", "tasks": 1}}, "Results": {results}}}],
                "summary": [{{"operation": "write", "segmentCount": 1, "segmentCount": 1}}],
                "Finished": "x"}}"#
            )
        };
        let parsed = |text: String| System::parse("s".as_ref(), text.as_bytes()).unwrap();
        let flat = parsed(document(&format!("[{result}]")));
        let nested = parsed(document(&format!("[[{result}]]")));
        assert_eq!(flat, nested);
        let point = &flat.points[0];
        assert!((point.mean_s - 0.01).abs() < 1e-9);
        assert!(point.class.direct && !point.class.shared);
        assert_eq!(point.class.pattern, ClassPattern::Random { distance: SizeBin::of(30_408_704) });
        assert!(flat.warnings.iter().any(|warning| warning.contains("includes that of fsync")));
        let empty = System::parse("s".as_ref(), document("[]").as_bytes()).unwrap_err();
        assert!(empty.to_string().contains("no results of reads or writes"), "{empty}");
    }
}
