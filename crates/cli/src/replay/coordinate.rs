// SPDX-License-Identifier: MIT OR Apache-2.0

//! Prepares the files of a replay, starts its processes and brings them together.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ioracle_bench::{CallTimes, MemoryLimit};
use ioracle_forecast::ReplayPlan;
use rustix::fs::{Advice, OFlags};

use super::data::{CacheFiller, Data};
use super::place::ReplayPlace;
use super::protocol::{ReplayOrders, ReplayResult, monotonic_ns, send_orders};
use crate::shared::progress::Progress;

/// Bytes that are written at a time when files are prepared.
const CHUNK: u64 = 4 << 20;
/// What is read before the start: more than the caches that processors share hold.
const FILLER_BYTES: usize = 64 << 20;
/// From "go" to the beginning, so that all processes have read it.
const HEAD_START_NS: u64 = 20_000_000;
/// Sleeping ends late by about this much, so the rest of a pause is spent busily.
const SLEEP_SLACK_NS: u64 = 100_000;
/// The same if each thread has a processor of its own: a program that computes between its
/// calls keeps it from the servers of the storage, and finds it awake.
const BUSY_NS: u64 = 20_000_000;
/// How often a ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(50);

/// How a replay is made.
pub struct ReplaySettings {
    /// Pauses are multiplied by it.
    pub think_scale: f64,
    /// Nothing is cached at the start.
    pub is_cold: bool,
    /// Of the data.
    pub compress_ratio: f64,
    /// When to end, if not at the end of the plan.
    pub time_limit: Option<Duration>,
    /// What the processes may have of the memory.
    pub memory_limit: Option<MemoryLimit>,
    /// Whether there is a bar.
    pub shows_progress: bool,
}

/// What all processes did.
pub struct Performed {
    /// Times of the calls by class.
    pub classes: Vec<CallTimes>,
    /// How long collective calls waited for each other.
    pub waiting: CallTimes,
    /// Waits that were given up.
    pub order_lost: u64,
    /// Calls that failed although the recorded ones did not.
    pub failures: u64,
    /// The first of them.
    pub first_failure: Option<String>,
    /// From the beginning to the end.
    pub wall_s: f64,
}

/// Whether the user wants it to end.
pub struct Interrupted(pub Arc<AtomicBool>);

impl Interrupted {
    /// From now on, ctrl-C and SIGTERM are only noted.
    pub fn watch() -> Result<Interrupted> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .context("could not watch for signals")?;
        }
        Ok(Interrupted(flag))
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Performs a plan; `None` if the user has interrupted it.
pub fn perform(
    plan: &ReplayPlan,
    place: &ReplayPlace,
    settings: &ReplaySettings,
    interrupted: &Interrupted,
) -> Result<Option<Performed>> {
    if !prepare(plan, place, settings, interrupted)? {
        return Ok(None);
    }
    let mut processes = Processes::start(plan, place, settings)?;
    let progress = settings.shows_progress.then(Progress::new);
    if let Some(progress) = &progress {
        progress.expect(plan.n_calls() as u64);
    }
    let performed = processes.follow(plan, interrupted, |calls| {
        if let Some(progress) = &progress {
            progress.advance(calls);
        }
    });
    if let Some(progress) = &progress {
        progress.finish();
    }
    performed
}

/// Makes the directories, and the files that must be there before.
fn prepare(
    plan: &ReplayPlan,
    place: &ReplayPlace,
    settings: &ReplaySettings,
    interrupted: &Interrupted,
) -> Result<bool> {
    let data = Data::new(CHUNK, settings.compress_ratio);
    for file in &plan.files {
        let name = file.name.as_str();
        let fail = || format!("could not make '{name}' in the directory of the replay");
        place.make_parents(name).with_context(fail)?;
        let Some(bytes) = file.before else { continue };
        let made = place.open(name, OFlags::WRONLY | OFlags::CREATE).with_context(fail)?;
        let mut done = 0;
        while done < bytes {
            if interrupted.is_set() {
                return Ok(false);
            }
            let piece = data.piece(bytes - done);
            done += rustix::io::pwrite(&made, piece, done).with_context(fail)? as u64;
        }
        // Else the first sync of the replay would find them to write.
        rustix::fs::fsync(&made).with_context(fail)?;
        if settings.is_cold {
            let _ = rustix::fs::fadvise(&made, 0, None, Advice::DontNeed);
        }
    }
    place.settle();
    // What is cached in memory is not in the processor's caches when a program starts.
    CacheFiller::new(FILLER_BYTES).read_all();
    Ok(!interrupted.is_set())
}

/// Ends what is still running when the command gives up.
struct Processes {
    children: Vec<Child>,
    inputs: Vec<ChildStdin>,
    answers: mpsc::Receiver<(usize, Option<String>)>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Processes {
    fn start(
        plan: &ReplayPlan,
        place: &ReplayPlace,
        settings: &ReplaySettings,
    ) -> Result<Processes> {
        let program = std::env::current_exe().context("could not find the command itself")?;
        let (sender, answers) = mpsc::channel();
        let mut all = Processes { children: Vec::new(), inputs: Vec::new(), answers };
        let n_threads: usize = plan.processes.iter().map(|process| process.streams.len()).sum();
        let n_processors = thread::available_parallelism().map_or(1, |n| n.get());
        let busy_ns = if n_threads <= n_processors { BUSY_NS } else { SLEEP_SLACK_NS };
        for (number, process) in plan.processes.iter().enumerate() {
            let mut child = Command::new(&program)
                .arg("perform-replay")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .context("could not start a process of the replay")?;
            let (input, output) = (child.stdin.take(), child.stdout.take());
            let pid = child.id();
            all.children.push(child);
            if let Some(limit) = &settings.memory_limit {
                limit.admit(pid)?;
            }
            let (Some(mut input), Some(output)) = (input, output) else {
                bail!("could not talk to a process of the replay");
            };
            let orders = ReplayOrders {
                place: place.path().to_owned(),
                files: plan.files.clone(),
                process: process.clone(),
                n_classes: plan.classes.len(),
                think_scale: settings.think_scale,
                busy_ns,
                compress_ratio: settings.compress_ratio,
                time_limit_ns: settings
                    .time_limit
                    .map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)),
            };
            send_orders(&mut input, &orders)
                .context("could not send a process of the replay its orders")?;
            all.inputs.push(input);
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send((number, Some(line))).is_err() {
                        return;
                    }
                }
                let _ = sender.send((number, None));
            });
        }
        Ok(all)
    }

    fn tell_all(&mut self, line: &str) -> Result<()> {
        for input in &mut self.inputs {
            // One that has finished its part needs no signals any more.
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
        Ok(())
    }

    fn follow(
        &mut self,
        plan: &ReplayPlan,
        interrupted: &Interrupted,
        progress: impl Fn(u64),
    ) -> Result<Option<Performed>> {
        let mut performed = Performed {
            classes: vec![CallTimes::default(); plan.classes.len()],
            waiting: CallTimes::default(),
            order_lost: 0,
            failures: 0,
            first_failure: None,
            wall_s: 0.0,
        };
        let mut missing = plan.signals.clone();
        let (mut n_ready, mut n_done) = (0, 0);
        let mut is_done = vec![false; self.children.len()];
        let mut begin = Instant::now();
        while n_done < self.children.len() {
            let (number, line) = match self.answers.recv_timeout(TICK) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout) if interrupted.is_set() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => bail!("the processes of the replay ended"),
            };
            if interrupted.is_set() {
                return Ok(None);
            }
            let Some(line) = line else {
                if is_done.get(number).copied().unwrap_or(false) {
                    continue;
                }
                let number = plan.processes.get(number).map_or(0, |process| process.number);
                bail!("the process that replays process {number} of the trace died");
            };
            let (word, rest) = line.split_once(' ').unwrap_or((line.as_str(), ""));
            match word {
                "ready" => {
                    n_ready += 1;
                    if n_ready == self.children.len() {
                        begin = Instant::now();
                        self.tell_all(&format!("go {}", monotonic_ns() + HEAD_START_NS))?;
                    }
                }
                "signal" => {
                    let number = rest.parse::<usize>().ok();
                    if let Some(missing) = number.and_then(|number| missing.get_mut(number)) {
                        *missing = missing.saturating_sub(1);
                        if *missing == 0 {
                            self.tell_all(&format!("release {rest}"))?;
                        }
                    }
                }
                "calls" => progress(rest.parse().unwrap_or(0)),
                "result" => {
                    n_done += 1;
                    if let Some(is_done) = is_done.get_mut(number) {
                        *is_done = true;
                    }
                    let part: ReplayResult = serde_json::from_str(rest)
                        .context("a process of the replay gave a result that makes no sense")?;
                    performed.add(part);
                }
                "failed" => bail!("{rest}"),
                _ => bail!("a process of the replay said '{line}'"),
            }
        }
        performed.wall_s = begin.elapsed().as_secs_f64() - HEAD_START_NS as f64 * 1e-9;
        Ok(Some(performed))
    }
}

impl Performed {
    fn add(&mut self, part: ReplayResult) {
        for (sum, part) in self.classes.iter_mut().zip(&part.classes) {
            sum.merge(part);
        }
        self.waiting.merge(&part.waiting);
        self.order_lost += part.order_lost;
        self.failures += part.failures;
        self.first_failure = self.first_failure.take().or(part.first_failure);
    }
}
