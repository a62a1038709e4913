// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle bench`: how long I/O calls take in a directory.

mod plot;
mod progress;
mod replays;
mod settings;
mod table;
mod warnings;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use ioracle_bench::{
    BenchError, BenchPlace, CacheState, MeasuredWork, MemoryHog, MemoryLimit, Plan, PlannedWork,
    Session, TaskKind, Team, describe,
};
use ioracle_forecast::{IoClass, Kind, Profile, System};
use ioracle_trace::ReadOptions;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::replay::storage;
use crate::shared::failure::open_trace;
use crate::shared::memory::available_bytes;
use crate::shared::output::{self, say};
use crate::shared::progress::Progress;
use crate::shared::table::Colours;
use progress::BenchProgress;
use replays::{ReplayedTrace, Replays};
pub use settings::BenchArguments;

/// The share of a trace's time in classes that is measured; the rest are many
/// classes with hardly any time.
const MEASURED_SHARE: f64 = 0.995;

/// The share of the time that is left for measuring classes one by one, at least.
const LEAST_SHARE: f64 = 0.25;

/// What is measured, on what, and how it went.
struct Finished {
    system: System,
    measured: Vec<MeasuredWork>,
    replayed: Vec<ReplayedTrace>,
    elapsed_s: f64,
    disk_bytes: u64,
}

/// Runs the subcommand.
pub fn run(arguments: &BenchArguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.output {
        output::check_place(path)?;
    }
    let signals = Interruption::watch().context("could not watch for signals")?;
    let Some(tasks) = Tasks::prepare(arguments, &signals)? else {
        // Another rank says what is done and prints the result.
        return Ok(ExitCode::SUCCESS);
    };
    let finished = match measure(arguments, &signals, tasks) {
        Err(error) if matches!(error.downcast_ref(), Some(BenchError::Interrupted)) => {
            say(format_args!(
                "interrupted; the test files in '{}' have been removed, nothing was written",
                arguments.directory().display()
            ));
            signals.die();
            return Ok(ExitCode::FAILURE);
        }
        finished => finished?,
    };
    if let Some(path) = &arguments.output {
        output::write_file(path, finished.system.to_json().as_bytes())?;
    }
    if arguments.json {
        output::print_json(&document(&finished))?;
    } else {
        output::print_text(&table::render(
            &finished.system,
            &finished.measured,
            &finished.replayed,
            finished.elapsed_s,
            finished.disk_bytes,
            Colours::for_stdout(),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: &BenchArguments, signals: &Interruption, tasks: Tasks) -> Result<Finished> {
    let start = Instant::now();
    let (kind, n_ranks) = (tasks.kind(arguments), tasks.n_ranks());
    let (plan, place) = if arguments.traces.is_empty() {
        (arguments.plan(kind, n_ranks)?, BenchPlace::prepare(arguments.directory())?)
    } else {
        // How much of each class is measured follows from the room there is.
        let classes = classes_to_measure(arguments)?;
        let place = BenchPlace::prepare(arguments.directory())?;
        let usable = place.usable_bytes(arguments.disk_limit)?;
        (arguments.plan_for(&classes, usable, kind, n_ranks)?, place)
    };
    let hog = arguments.hog_memory.map(|bytes| MemoryHog::take(bytes, available_bytes()));
    let hog = hog.transpose()?;
    let memory_bytes =
        arguments.memory_limit.map_or_else(available_bytes, |limit| limit.min(available_bytes()));
    let limit = arguments.memory_limit.map(MemoryLimit::new).transpose()?;
    // Replays start processes of their own, not ranks.
    let replays = match kind {
        TaskKind::Ranks => Replays::default(),
        _ => replays::replay(arguments, &place, limit.as_ref(), signals)?,
    };
    let team = tasks.team(arguments, limit, signals)?;
    let mut rules = arguments.rules();
    // Replays may take longer than they should.
    let least = rules.time_limit.mul_f64(LEAST_SHARE);
    rules.time_limit = rules.time_limit.saturating_sub(start.elapsed()).max(least);
    let mut session = Session::new(place, team, rules);
    let progress = BenchProgress::new();
    let measured = session.perform(&plan, |now| progress.show(now));
    progress.finish();
    let measured = measured?;
    drop((session, hog));
    let disk_bytes = plan.bytes_on_disk().max(replays.disk_bytes);
    let mut system = system(arguments, &plan, &measured, memory_bytes);
    system.points.extend(replays.points);
    system.warnings.extend(replays.warnings.iter().map(ToString::to_string));
    let (replayed, elapsed_s) = (replays.traces, start.elapsed().as_secs_f64());
    Ok(Finished { system, measured, replayed, elapsed_s, disk_bytes })
}

/// The classes of all traces that matter, with their mean bytes per call. Reads
/// are measured cold and warm, as a forecast splits them by what caches served.
fn classes_to_measure(arguments: &BenchArguments) -> Result<Vec<(IoClass, u64)>> {
    let mut classes: Vec<(IoClass, u64)> = Vec::new();
    for path in &arguments.traces {
        for (class, bytes) in classes_of(path, arguments)? {
            add_class(&mut classes, class, bytes);
        }
    }
    for at in 0..classes.len() {
        let (class, bytes) = classes[at];
        if class.kind == Kind::Read && !class.direct {
            add_class(&mut classes, IoClass { cached: !class.cached, ..class }, bytes);
        }
    }
    if arguments.cache_states() == [CacheState::Warm] {
        classes.retain(|(class, _)| class.kind != Kind::Read || class.cached || class.direct);
    }
    Ok(classes)
}

/// Adds a class, unless it is there with about as many bytes per call.
fn add_class(classes: &mut Vec<(IoClass, u64)>, class: IoClass, bytes: u64) {
    let is_like = |known: u64| known.max(bytes) <= known.min(bytes).saturating_mul(5) / 4;
    if !classes.iter().any(|(known, size)| *known == class && is_like(*size)) {
        classes.push((class, bytes));
    }
}

/// The classes of a trace that matter, with their mean bytes per call.
fn classes_of(path: &Path, arguments: &BenchArguments) -> Result<Vec<(IoClass, u64)>> {
    let trace = open_trace(path, ReadOptions::default())?;
    let progress = Progress::new();
    progress.expect(3 * trace.meta().events.unwrap_or(0));
    let wanted = storage(arguments.storage.as_deref());
    let profile = Profile::of(&trace, &wanted, |events| progress.advance(events));
    progress.finish();
    let profile = profile?;
    let classes: Vec<(IoClass, u64)> =
        profile.significant(MEASURED_SHARE).map(|row| (row.class, row.mean_bytes())).collect();
    if classes.is_empty() {
        bail!(
            "the trace '{}' has no calls on {} that take time; name the storage that it used with \
             --storage DIR, or all with --storage /",
            path.display(),
            profile.storage
        );
    }
    Ok(classes)
}

/// Who performs the work.
enum Tasks {
    Local,
    #[cfg(feature = "mpi")]
    Ranks(ioracle_bench::Ranks),
}

impl Tasks {
    /// Finds out whether this is a rank of an MPI job. All but the first work
    /// here until there is no more to do.
    #[cfg(feature = "mpi")]
    fn prepare(arguments: &BenchArguments, signals: &Interruption) -> Result<Option<Tasks>> {
        if !arguments.wants_mpi() {
            return Ok(Some(Tasks::Local));
        }
        let ranks = ioracle_bench::Ranks::start().context("could not start MPI")?;
        if !ranks.is_first() {
            ranks.serve(&signals.interrupted).context("MPI failed")?;
            return Ok(None);
        }
        Ok(Some(Tasks::Ranks(ranks)))
    }

    #[cfg(not(feature = "mpi"))]
    fn prepare(_: &BenchArguments, _: &Interruption) -> Result<Option<Tasks>> {
        Ok(Some(Tasks::Local))
    }

    fn kind(&self, arguments: &BenchArguments) -> TaskKind {
        match self {
            Tasks::Local => arguments.task_kind(),
            #[cfg(feature = "mpi")]
            Tasks::Ranks(_) => TaskKind::Ranks,
        }
    }

    fn n_ranks(&self) -> u32 {
        match self {
            Tasks::Local => 1,
            #[cfg(feature = "mpi")]
            Tasks::Ranks(ranks) => ranks.n(),
        }
    }

    fn team(
        self,
        arguments: &BenchArguments,
        limit: Option<MemoryLimit>,
        signals: &Interruption,
    ) -> Result<Team> {
        let interrupted = Arc::clone(&signals.interrupted);
        match self {
            Tasks::Local => {
                let program = std::env::current_exe().context("could not find this program")?;
                let task = (program, vec!["bench-task".to_owned()]);
                Ok(Team::new(arguments.task_kind(), task, limit, interrupted))
            }
            #[cfg(feature = "mpi")]
            Tasks::Ranks(ranks) => Ok(Team::of_ranks(ranks, interrupted)),
        }
    }
}

fn system(
    arguments: &BenchArguments,
    plan: &Plan,
    measured: &[MeasuredWork],
    memory_bytes: u64,
) -> System {
    let description = describe(arguments.directory());
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(|| format!("{} on {}", description.file_system, description.host));
    let measured_by = format!("ioracle {}", env!("CARGO_PKG_VERSION"));
    let mut system = System::new(&name, &measured_by, description);
    system.measured_at_unix_s =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for point in measured.iter().flat_map(MeasuredWork::points) {
        let is_known = system.points.iter().any(|known| {
            (known.class, known.transfer_bytes) == (point.class, point.transfer_bytes)
        });
        // Closing after one workload is like closing after another.
        if !is_known {
            system.points.push(point);
        }
    }
    system.warnings = warnings::of(arguments, plan, measured, memory_bytes)
        .iter()
        .map(ToString::to_string)
        .collect();
    system
}

fn document(finished: &Finished) -> serde_json::Value {
    let throughput: Vec<_> = finished
        .measured
        .iter()
        .filter_map(|measured| {
            let PlannedWork::Data(workload) = &measured.work else { return None };
            if !measured.work.measures_data() {
                return None;
            }
            let rate = measured.mb_per_s()?;
            Some(json!({
                "workload": workload,
                "mb_per_s": rate.mean,
                "rsd_percent": rate.rsd_percent,
                "repetitions": rate.n,
                "resident": measured.resident(),
            }))
        })
        .collect();
    let replayed: Vec<_> = (finished.replayed.iter())
        .flat_map(|trace| trace.replayed_s.iter().map(move |(cache, time)| (trace, cache, time)))
        .map(|(trace, cache, time)| {
            json!({
                "trace": ioracle_events::path_text(&trace.trace),
                "cache": cache,
                "original_s": trace.original_s,
                "replayed_s": time.mean,
                "rsd_percent": time.rsd_percent,
                "repetitions": time.n,
            })
        })
        .collect();
    json!({
        "system": finished.system,
        "replayed": replayed,
        "throughput": throughput,
        "elapsed_s": finished.elapsed_s,
        "disk_bytes": finished.disk_bytes,
    })
}

/// Signals that end the benchmark, after it has cleaned up.
struct Interruption {
    interrupted: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interruption {
    fn watch() -> std::io::Result<Interruption> {
        let watched = Interruption {
            interrupted: Arc::new(AtomicBool::new(false)),
            signal: Arc::new(AtomicUsize::new(0)),
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(
                signal,
                Arc::clone(&watched.signal),
                signal as usize,
            )?;
            signal_hook::flag::register(signal, Arc::clone(&watched.interrupted))?;
        }
        Ok(watched)
    }

    /// Ends as the signal would have ended us, for the sake of the caller.
    fn die(&self) {
        let signal = self.signal.load(Ordering::Relaxed) as i32;
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

/// Performs orders from standard input, for 'ioracle bench'
#[derive(clap::Args)]
pub struct TaskArguments {}

/// Runs a task.
pub fn run_task(_: &TaskArguments) -> Result<ExitCode> {
    let served = ioracle_bench::serve_orders(std::io::stdin().lock(), std::io::stdout().lock());
    served.context("could not serve the benchmark")?;
    Ok(ExitCode::SUCCESS)
}
