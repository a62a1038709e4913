// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern simulate`: labelled request traces and throughputs from a
//! simulated storage cluster.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use ioracle_simulator::{
    BASELINE_WINDOW_NS, BenchmarkSet, ClusterConfig, Recording, SchedulingPolicy,
    SimulatedBenchmark, SimulatedRequest, SimulationRng, WINDOWS_NS, simulate,
};
use serde_json::json;

use crate::shared::failure::WrongUse;
use crate::shared::numbers::counted;
use crate::shared::output;
use crate::shared::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  ioracle pattern simulate --set server -o runs                     28 benchmarks at 4 data servers
  ioracle pattern simulate --set io-node --scale 0.1 -o small       a tenth of the data
  ioracle pattern simulate --set server --policy sjf -o sjf         requests and speed under one policy

Writes DIR/<label>/<repetition>/<server>.csv.zst (time_ns,file,op,offset,size) and
DIR/throughput.csv. Without --policy or --window the requests are those under the baseline, and the
throughput of every policy or window is measured. The same seed gives the same bytes.
docs/simulator.md describes the model.";

/// Simulate a storage cluster and write the requests that its servers receive
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArguments {
    /// Which benchmarks and where they are observed: server or io-node
    #[arg(long, value_name = "SET")]
    set: BenchmarkSet,
    /// Scheduling policy of the servers: baseline, to, to-agg, sjf, mlf, aioli, song or noop
    #[arg(long, value_name = "P")]
    policy: Option<SchedulingPolicy>,
    /// Time window of TWINS at the forwarding nodes, such as 125us or 8ms
    #[arg(long, value_name = "W", value_parser = parse_window)]
    window: Option<u64>,
    /// Seed of the run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Each process moves this share of what it moved in the paper
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = parse_scale)]
    scale: f64,
    /// The directory to write, which must be empty or new
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print one JSON document about what was written
    #[arg(long)]
    json: bool,
}

fn parse_window(text: &str) -> Result<u64, String> {
    let wrong = || "a window is a number of us or ms, from 1us to 1000ms, such as 125us".to_owned();
    let units = [("us", 1e3), ("ms", 1e6)];
    let (number, unit_ns) = units
        .iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))
        .ok_or_else(wrong)?;
    let ns = number.trim().parse::<f64>().map_err(|_| wrong())? * unit_ns;
    if (1e3..=1e9).contains(&ns) { Ok(ns as u64) } else { Err(wrong()) }
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale > 0.0 && scale <= 100.0 => Ok(scale),
        _ => Err("a scale is a number above 0, up to 100".to_owned()),
    }
}

/// What is chosen at the servers or forwarding nodes.
#[derive(Clone, Copy, PartialEq)]
enum Setting {
    Policy(SchedulingPolicy),
    Window(u64),
}

impl Setting {
    fn name(self) -> String {
        match self {
            Setting::Policy(policy) => policy.name().to_owned(),
            Setting::Window(ns) if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
            Setting::Window(ns) => format!("{}us", ns as f64 / 1e3),
        }
    }

    fn cluster(self, set: BenchmarkSet, n_nodes: u32) -> ClusterConfig {
        match self {
            Setting::Policy(policy) => set.cluster(policy),
            Setting::Window(window_ns) => set.forwarding_cluster(n_nodes, window_ns),
        }
    }
}

/// One run of one benchmark.
struct Run<'a> {
    number: usize,
    benchmark: &'a SimulatedBenchmark,
    label: &'a str,
    repetition: u32,
    n_nodes: u32,
    setting: Setting,
    recording: Recording,
    seed: u64,
}

/// Runs the subcommand.
pub fn run(arguments: &SimulateArguments) -> Result<()> {
    let (recorded, measured) = settings(arguments)?;
    prepare(&arguments.output)?;
    let benchmarks = arguments.set.benchmarks(arguments.scale);
    let labels: Vec<String> = benchmarks.iter().map(SimulatedBenchmark::label).collect();
    let runs = plan(arguments, &benchmarks, &labels, recorded, &measured);
    let progress = Progress::new();
    progress.expect(runs.iter().map(|run| n_pieces(run.benchmark)).sum());
    let outcomes = perform(arguments, &runs, &progress);
    progress.finish();
    let outcomes = outcomes?;
    let table = throughputs(arguments.set, &runs, &outcomes);
    output::write_file(&arguments.output.join("throughput.csv"), table.as_bytes())?;
    tell(arguments, &labels, &runs, &outcomes)
}

/// The setting whose requests are written, and all whose throughput is measured.
fn settings(arguments: &SimulateArguments) -> Result<(Setting, Vec<Setting>)> {
    match (arguments.set, arguments.policy, arguments.window) {
        (BenchmarkSet::Server, _, Some(_)) => Err(WrongUse(
            "--window is for --set io-node, where there are forwarding nodes; --set server takes --policy"
                .to_owned(),
        )
        .into()),
        (BenchmarkSet::IoNode, Some(_), _) => Err(WrongUse(
            "--policy is for --set server; --set io-node takes --window".to_owned(),
        )
        .into()),
        (BenchmarkSet::Server, Some(policy), None) => {
            Ok((Setting::Policy(policy), vec![Setting::Policy(policy)]))
        }
        (BenchmarkSet::IoNode, None, Some(window_ns)) => {
            Ok((Setting::Window(window_ns), vec![Setting::Window(window_ns)]))
        }
        (BenchmarkSet::Server, None, None) => Ok((
            Setting::Policy(SchedulingPolicy::Baseline),
            SchedulingPolicy::ALL.map(Setting::Policy).to_vec(),
        )),
        (BenchmarkSet::IoNode, None, None) => {
            Ok((Setting::Window(BASELINE_WINDOW_NS), WINDOWS_NS.map(Setting::Window).to_vec()))
        }
    }
}

/// A directory with files of another run would be read as one set with ours.
fn prepare(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| {
        format!("could not create '{}'; name another directory", directory.display())
    })?;
    let mut entries = fs::read_dir(directory)
        .with_context(|| format!("could not read the directory '{}'", directory.display()))?;
    if entries.next().is_some() {
        bail!("'{}' is not empty; name a new directory with -o", directory.display());
    }
    Ok(())
}

/// Runs differ in their seeds, except that all settings of a repetition share
/// one: they are compared on the same disks.
fn plan<'a>(
    arguments: &SimulateArguments,
    benchmarks: &'a [SimulatedBenchmark],
    labels: &'a [String],
    recorded: Setting,
    measured: &[Setting],
) -> Vec<Run<'a>> {
    let mut seeds = SimulationRng::new(arguments.seed, 1);
    let mut runs = Vec::new();
    for (benchmark, label) in benchmarks.iter().zip(labels) {
        for &n_nodes in arguments.set.node_counts() {
            for repetition in 1..=arguments.set.repetitions() {
                let seed = seeds.bits();
                for &setting in measured {
                    let recording =
                        if setting == recorded { Recording::Requests } else { Recording::Nothing };
                    let number = runs.len();
                    runs.push(Run {
                        number,
                        benchmark,
                        label,
                        repetition,
                        n_nodes,
                        setting,
                        recording,
                        seed,
                    });
                }
            }
        }
    }
    runs
}

/// Pieces of requests that a run will have, near enough for a progress bar.
fn n_pieces(benchmark: &SimulatedBenchmark) -> u64 {
    benchmark.total_bytes() / benchmark.request_bytes.min(256 << 10)
}

/// What is kept of a run.
struct Measured {
    mb_per_s: f64,
    n_requests: u64,
    elapsed_ns: u64,
}

/// Runs are independent, so they are spread over the processors; what comes out
/// does not depend on how.
fn perform(
    arguments: &SimulateArguments,
    runs: &[Run<'_>],
    progress: &Progress,
) -> Result<Vec<Measured>> {
    let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).get().min(runs.len());
    let next = Mutex::new(runs.iter());
    let results = Mutex::new(Vec::with_capacity(runs.len()));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let Some(run) = lock(&next).next() else { break };
                    let result = perform_one(arguments, run);
                    progress.advance(n_pieces(run.benchmark));
                    let failed = result.is_err();
                    lock(&results).push((run.number, result));
                    if failed {
                        // The others would fail likewise.
                        lock(&next).by_ref().for_each(drop);
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn perform_one(arguments: &SimulateArguments, run: &Run<'_>) -> Result<Measured> {
    let cluster = run.setting.cluster(arguments.set, run.n_nodes);
    let outcome = simulate(&cluster, run.benchmark, run.seed, run.recording);
    if run.recording == Recording::Requests {
        let directory = arguments.output.join(run.label).join(run.repetition.to_string());
        fs::create_dir_all(&directory)
            .with_context(|| format!("could not create '{}'", directory.display()))?;
        for (number, requests) in outcome.observed.iter().enumerate() {
            let name = match run.n_nodes {
                0 => format!("server-{number}.csv.zst"),
                n_nodes => format!("nodes{n_nodes}-{number}.csv.zst"),
            };
            output::write_file(&directory.join(name), &compressed(requests)?)?;
        }
    }
    Ok(Measured {
        mb_per_s: outcome.mb_per_s(),
        n_requests: outcome.n_requests,
        elapsed_ns: outcome.elapsed_ns,
    })
}

fn compressed(requests: &[SimulatedRequest]) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    let mut text = String::from("time_ns,file,op,offset,size\n");
    for request in requests {
        use std::fmt::Write as _;
        let SimulatedRequest { time_ns, file, kind, offset, bytes } = request;
        writeln!(text, "{time_ns},{file},{},{offset},{bytes}", kind.letter())?;
        if text.len() >= 1 << 16 {
            encoder.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    encoder.write_all(text.as_bytes())?;
    Ok(encoder.finish()?)
}

/// Mean throughputs over the repetitions, as a table.
fn throughputs(set: BenchmarkSet, runs: &[Run<'_>], outcomes: &[Measured]) -> String {
    let mut text = match set {
        BenchmarkSet::Server => "label,policy,mb_per_s\n".to_owned(),
        BenchmarkSet::IoNode => "label,window,mb_per_s,nodes\n".to_owned(),
    };
    for run in runs.iter().filter(|run| run.repetition == 1) {
        let same = |other: &&Run<'_>| {
            (other.label, other.n_nodes) == (run.label, run.n_nodes) && other.setting == run.setting
        };
        let speeds = runs.iter().filter(same).map(|other| outcomes[other.number].mb_per_s);
        let mean = speeds.sum::<f64>() / f64::from(set.repetitions());
        text.push_str(&format!("{},{},{mean:.3}", run.label, run.setting.name()));
        if set == BenchmarkSet::IoNode {
            text.push_str(&format!(",{}", run.n_nodes));
        }
        text.push('\n');
    }
    text
}

fn tell(
    arguments: &SimulateArguments,
    labels: &[String],
    runs: &[Run<'_>],
    outcomes: &[Measured],
) -> Result<()> {
    let recorded = runs.iter().filter(|run| run.recording == Recording::Requests);
    let written: Vec<&Measured> = recorded.map(|run| &outcomes[run.number]).collect();
    let requests: u64 = written.iter().map(|outcome| outcome.n_requests).sum();
    let simulated: u64 = outcomes.iter().map(|outcome| outcome.n_requests).sum();
    let seconds = written.iter().map(|outcome| outcome.elapsed_ns as f64 * 1e-9).sum::<f64>();
    let directory = arguments.output.display();
    if arguments.json {
        return output::print_json(&json!({
            "directory": directory.to_string(),
            "labels": labels.len(),
            "runs": written.len(),
            "requests": requests,
            "simulated_s": seconds,
            "measured_runs": runs.len(),
            "measured_requests": simulated,
        }));
    }
    output::print_text(&format!(
        "{directory}: {} of {} with {} in {seconds:.0} simulated seconds; throughput.csv is from {}\n",
        counted(written.len() as u64, "run"),
        counted(labels.len() as u64, "benchmark"),
        counted(requests, "request"),
        counted(runs.len() as u64, "run"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_and_named() {
        for (text, ns) in [("125us", 125_000), ("1ms", 1_000_000), ("8 ms", 8_000_000)] {
            assert_eq!(parse_window(text), Ok(ns));
        }
        assert_eq!(Setting::Window(125_000).name(), "125us");
        assert_eq!(Setting::Window(8_000_000).name(), "8ms");
        for text in ["", "us", "0us", "-1ms", "nanms", "2s", "1e9ms", "0.1us"] {
            assert!(parse_window(text).is_err(), "{text}");
        }
    }

    #[test]
    fn scales_are_positive() {
        assert_eq!(parse_scale("0.1"), Ok(0.1));
        for text in ["0", "-1", "nan", "inf", "x", "1000"] {
            assert!(parse_scale(text).is_err(), "{text}");
        }
    }
}
