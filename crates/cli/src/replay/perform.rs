// SPDX-License-Identifier: MIT OR Apache-2.0

//! One process of a replay: makes the calls of its plan, a thread per stream, and
//! measures them.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ioracle_bench::CallTimes;
use ioracle_forecast::{Action, CacheAdvice, OpenMode, Step, SyncDepth};
use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::Errno;

use super::data::{CacheFiller, Data};
use super::place::ReplayPlace;
use super::protocol::{ReplayOrders, ReplayResult, monotonic_ns, receive_orders};
use super::stream::{OpenFile, ServedBy};

/// A wait for another process that takes longer is given up: it may have failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is read in pauses: more than the caches of one processor hold.
const FILLER_BYTES: usize = 4 << 20;
/// Calls between two reports of progress.
const PROGRESS_STEP: u64 = 1024;

/// Serves standard input.
pub fn run() -> Result<ExitCode> {
    let mut input = io::stdin().lock();
    let orders = receive_orders(&mut input).context("could not receive the orders")?;
    let place = ReplayPlace::enter(&orders.place)?;
    let data = Data::new(largest(&orders), orders.compress_ratio);
    let worker = Arc::new(Worker::new(orders, place, data));
    say("ready");
    let mut line = String::new();
    input.read_line(&mut line).context("could not read when to begin")?;
    let begin = line.trim().strip_prefix("go ").and_then(|time| time.parse().ok());
    let Some(begin) = begin else { bail!("the replay was called off") };
    drop(input);
    let listener = Arc::clone(&worker);
    thread::spawn(move || listener.listen());
    let threads: Vec<_> = (0..worker.orders.process.streams.len())
        .map(|stream| {
            let worker = Arc::clone(&worker);
            thread::spawn(move || worker.replay(stream, begin))
        })
        .collect();
    let mut result = worker.empty_result();
    for thread in threads {
        let Ok(done) = thread.join() else { bail!("a thread of the replay failed") };
        add(&mut result, done);
    }
    say(&format!("result {}", serde_json::to_string(&result)?));
    Ok(ExitCode::SUCCESS)
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn add(sum: &mut ReplayResult, part: ReplayResult) {
    for (sum, part) in sum.classes.iter_mut().zip(&part.classes) {
        sum.merge(part);
    }
    sum.waiting.merge(&part.waiting);
    sum.order_lost += part.order_lost;
    sum.failures += part.failures;
    sum.first_failure = sum.first_failure.take().or(part.first_failure);
}

fn largest(orders: &ReplayOrders) -> u64 {
    let sizes = orders.process.streams.iter().flatten().map(|step| match step.action {
        Action::Read { bytes, .. } | Action::Write { bytes, .. } => bytes,
        _ => 0,
    });
    sizes.max().unwrap_or(0)
}

/// Set once the file was opened, or could not be; empty again when it is closed.
type Slot = OnceLock<Mutex<Option<Arc<OpenFile>>>>;

struct Worker {
    orders: ReplayOrders,
    place: ReplayPlace,
    data: Data,
    slots: Vec<Slot>,
    released: Mutex<HashSet<u32>>,
    changed: Condvar,
    filler: CacheFiller,
}

impl Worker {
    fn new(orders: ReplayOrders, place: ReplayPlace, data: Data) -> Worker {
        let slots = (0..orders.process.slots).map(|_| Slot::new()).collect();
        let (released, changed) = (Mutex::default(), Condvar::new());
        let filler = CacheFiller::new(FILLER_BYTES);
        Worker { orders, place, data, slots, released, changed, filler }
    }

    /// Takes in which signals were given.
    fn listen(&self) {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(Ok(number)) = line.strip_prefix("release ").map(str::parse) {
                self.released().insert(number);
                self.changed.notify_all();
            }
        }
    }

    fn released(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.released.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes the calls of a stream.
    fn replay(&self, stream: usize, begin_ns: u64) -> ReplayResult {
        let steps = self.orders.process.streams.get(stream).map_or(&[][..], Vec::as_slice);
        let mut result = self.empty_result();
        let end_ns = self.orders.time_limit_ns.map(|limit| begin_ns.saturating_add(limit));
        let mut buffer = self.data.read_buffer();
        let scaled = |ns: u64| (ns as f64 * self.orders.think_scale) as u64;
        let start_ns = begin_ns.saturating_add(scaled(self.orders.process.start_ns));
        self.pause_until(start_ns);
        let mut calls = 0;
        for step in steps {
            if end_ns.is_some_and(|end| monotonic_ns() >= end) {
                break;
            }
            if step.think_ns > 0 && self.orders.think_scale > 0.0 {
                self.pause_until(monotonic_ns().saturating_add(scaled(step.think_ns)));
            }
            let start = Instant::now();
            let done = self.perform(step, &mut buffer, end_ns, &mut result);
            let took = start.elapsed().as_nanos() as u64;
            // What a buffer serves, here as when it was recorded, is no call.
            let is_call = !step.is_buffered || matches!(done, Ok(ServedBy::System));
            if let Some(times) = step.class.and_then(|it| result.classes.get_mut(usize::from(it)))
                && is_call
            {
                times.add(took);
                calls += u64::from(!step.is_buffered);
                if calls % PROGRESS_STEP == 0 && !step.is_buffered {
                    say(&format!("calls {PROGRESS_STEP}"));
                }
            }
            match done {
                Ok(_) => {}
                // Other threads may wait for what this one cannot do any more.
                Err(Errno::NOSPC | Errno::DQUOT) => {
                    say("failed the storage is full; free some space, or name another directory");
                    std::process::exit(1);
                }
                Err(error) => {
                    result.failures += 1;
                    let describe = || format!("{:?}: {error}", step.action);
                    result.first_failure.get_or_insert_with(describe);
                }
            }
        }
        say(&format!("calls {}", calls % PROGRESS_STEP));
        result
    }

    fn perform(
        &self,
        step: &Step,
        buffer: &mut [u8],
        end_ns: Option<u64>,
        result: &mut ReplayResult,
    ) -> Result<ServedBy, Errno> {
        let done = match step.action {
            Action::Open { slot, file, mode } => {
                let opened = self.open(file, mode);
                let (kept, done) = match opened {
                    Ok(opened) => (Some(Arc::new(opened)), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                if let Some(slot) = self.slots.get(slot as usize) {
                    let _ = slot.set(Mutex::new(kept));
                }
                done
            }
            Action::Probe { file } => {
                let _ = self.place.open(self.name(file), OFlags::RDONLY);
                Ok(())
            }
            Action::Close { slot } => match self.take(slot) {
                Some(file) => {
                    file.flush(&self.data)?;
                    drop(file);
                    Ok(())
                }
                None => Err(Errno::BADF),
            },
            Action::Read { slot, offset, bytes } => {
                return self.file(slot)?.read(buffer, offset, bytes);
            }
            Action::Write { slot, offset, bytes } => {
                return self.file(slot)?.write(&self.data, offset, bytes);
            }
            Action::Sync { slot, depth } => {
                let file = self.file(slot)?;
                file.flush(&self.data)?;
                match depth {
                    SyncDepth::Buffer => Ok(()),
                    SyncDepth::Data => rustix::fs::fdatasync(file.descriptor()),
                    SyncDepth::All => rustix::fs::fsync(file.descriptor()),
                }
            }
            Action::Truncate { file, bytes } => {
                let opened = self.place.open(self.name(file), OFlags::WRONLY)?;
                rustix::fs::ftruncate(&opened, bytes)
            }
            Action::Resize { slot, bytes } => {
                rustix::fs::ftruncate(self.file(slot)?.descriptor(), bytes)
            }
            Action::Allocate { slot, offset, bytes, keeps_length } => {
                let mut flags = FallocateFlags::empty();
                flags.set(FallocateFlags::KEEP_SIZE, keeps_length);
                let file = self.file(slot)?;
                match rustix::fs::fallocate(file.descriptor(), flags, offset, bytes) {
                    // Programs go on without it.
                    Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
                    done => done,
                }
            }
            Action::Advise { slot, offset, bytes, advice } => {
                let file = self.file(slot)?;
                let length = NonZeroU64::new(bytes);
                let _ = rustix::fs::fadvise(file.descriptor(), offset, length, advised(advice));
                Ok(())
            }
            Action::Delete { file } => self.place.remove(self.name(file)),
            Action::Rename { file, number } => {
                let name = self.name(file);
                self.place.rename(name, &format!("{name}.renamed-{number}"))
            }
            Action::Stat { file } => {
                // Programs ask about files that are not there.
                self.place.stat(self.name(file));
                Ok(())
            }
            Action::StatOpen { slot } => {
                rustix::fs::fstat(self.file(slot)?.descriptor()).map(|_| ())
            }
            Action::Signal(number) => {
                say(&format!("signal {number}"));
                Ok(())
            }
            Action::Wait(number) => {
                self.wait(number, end_ns, result);
                Ok(())
            }
            Action::Meet(number) => {
                let start = Instant::now();
                self.wait(number, end_ns, result);
                result.waiting.add(start.elapsed().as_nanos() as u64);
                Ok(())
            }
        };
        done.map(|()| ServedBy::System)
    }

    fn pause_until(&self, time_ns: u64) {
        let left = time_ns.saturating_sub(monotonic_ns());
        if left > self.orders.busy_ns {
            thread::sleep(Duration::from_nanos(left - self.orders.busy_ns));
        }
        while monotonic_ns() < time_ns {
            self.filler.read_some();
        }
    }

    /// Waits for a signal, until the replay is to end.
    fn wait(&self, number: u32, end_ns: Option<u64>, result: &mut ReplayResult) {
        let left = end_ns.map(|end| Duration::from_nanos(end.saturating_sub(monotonic_ns())));
        let patience = left.map_or(PATIENCE, |left| left.min(PATIENCE));
        let released = self.released();
        let wait = self
            .changed
            .wait_timeout_while(released, patience, |released| !released.contains(&number));
        let is_lost = wait.map_or(true, |(_, waited)| waited.timed_out());
        result.order_lost += u64::from(is_lost && patience == PATIENCE);
    }

    fn empty_result(&self) -> ReplayResult {
        let classes = vec![CallTimes::default(); self.orders.n_classes];
        ReplayResult { classes, ..ReplayResult::default() }
    }

    fn open(&self, file: u32, mode: OpenMode) -> Result<OpenFile, Errno> {
        let mut flags = if mode.write { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::CREATE, mode.create);
        flags.set(OFlags::TRUNC, mode.truncate);
        flags.set(OFlags::DIRECT, mode.direct);
        flags.set(OFlags::DSYNC, mode.durable);
        let name = self.name(file);
        let mut opened = self.place.open(name, flags);
        if opened.as_ref().is_err_and(|error| *error == Errno::INVAL) && mode.direct {
            // Not every file system bypasses the cache.
            opened = self.place.open(name, flags.difference(OFlags::DIRECT));
        }
        if opened.as_ref().is_err_and(|error| *error == Errno::NOENT) {
            opened = self.place.open(name, flags | OFlags::CREATE | OFlags::RDWR);
        }
        OpenFile::new(opened?, mode.buffered)
    }

    fn name(&self, file: u32) -> &str {
        self.orders.files.get(file as usize).map_or("", |file| file.name.as_str())
    }

    /// The file of a slot, which another thread may be about to open.
    fn file(&self, slot: u32) -> Result<Arc<OpenFile>, Errno> {
        let slot = self.slots.get(slot as usize).ok_or(Errno::BADF)?;
        let file = slot.wait().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.clone().ok_or(Errno::BADF)
    }

    fn take(&self, slot: u32) -> Option<Arc<OpenFile>> {
        let slot = self.slots.get(slot as usize)?;
        slot.wait().lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

fn advised(advice: CacheAdvice) -> Advice {
    match advice {
        CacheAdvice::Normal => Advice::Normal,
        CacheAdvice::Random => Advice::Random,
        CacheAdvice::Sequential => Advice::Sequential,
        CacheAdvice::WillNeed => Advice::WillNeed,
        CacheAdvice::DontNeed => Advice::DontNeed,
        CacheAdvice::NoReuse => Advice::NoReuse,
    }
}
