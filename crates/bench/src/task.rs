// SPDX-License-Identifier: MIT OR Apache-2.0

//! What one task does in one phase: prepare, wait until all are ready, then make
//! its calls and time each.
//!
//! An order and an outcome are values that survive a pipe, so that a task can be
//! a thread, a process that reads orders from its standard input, or a rank.

use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ioracle_forecast::{Api, Kind};
use serde::{Deserialize, Serialize};

use crate::cache;
use crate::file::{self, DataFile, TransferBuffer};
use crate::times::CallTimes;
use crate::workload::{
    CacheState, DataDirection, FileLayout, MetadataWorkload, SyncRule, Workload,
};

/// Pauses shorter than this are spent spinning: the kernel's timers are late by
/// about as much.
const SHORTEST_SLEEP: Duration = Duration::from_micros(200);

/// Files of calls on whole files that are synced when nothing waits; more would
/// only take time.
const N_SYNCED: u32 = 4;

/// What a task is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskOrder {
    /// The number of the task, from 0.
    pub task: u32,
    /// Where the files are.
    #[serde(with = "crate::path_bytes")]
    pub directory: PathBuf,
    /// Names the order of random accesses.
    pub seed: u64,
    /// The work.
    pub step: TaskStep,
}

/// The work of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TaskStep {
    /// Reads or writes, timed.
    Data(Workload),
    /// Writes the whole files that a workload reads or overwrites, and syncs
    /// them; not timed.
    Fill(Workload),
    /// Creates, opens, looks at, renames and deletes files, timed.
    Metadata(MetadataWorkload),
}

/// What a task has measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskOutcome {
    /// Times of the data calls.
    pub data: CallTimes,
    /// Times of other calls, with the bytes that waited to be written.
    pub other: Vec<(Kind, u64, CallTimes)>,
    /// From the common start to the end of the last call.
    pub elapsed_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// The share of the file that was cached when a cold read began.
    pub resident: Option<f64>,
}

/// The file of a workload with a number.
pub(crate) fn data_path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("data-{number}"))
}

/// Performs an order. `wait` returns when all tasks are ready to start.
pub(crate) fn perform(
    order: &TaskOrder,
    interrupted: &AtomicBool,
    wait: impl FnOnce() -> io::Result<()>,
) -> io::Result<TaskOutcome> {
    match &order.step {
        TaskStep::Data(workload) => perform_data(order, workload, interrupted, wait),
        TaskStep::Fill(workload) => {
            let filled = fill(order, workload, interrupted);
            wait()?;
            filled.map(|()| TaskOutcome::default())
        }
        TaskStep::Metadata(workload) => perform_metadata(order, workload, interrupted, wait),
    }
}

fn perform_data(
    order: &TaskOrder,
    workload: &Workload,
    interrupted: &AtomicBool,
    wait: impl FnOnce() -> io::Result<()>,
) -> io::Result<TaskOutcome> {
    let mut outcome = TaskOutcome::default();
    let is_shared = workload.layout == FileLayout::Shared;
    let mut prepare = || -> io::Result<_> {
        let path = data_path(&order.directory, workload.file_of(order.task));
        let offsets = workload.offsets(order.task, order.seed);
        let opened = Instant::now();
        let mut file = file::open(&path, workload)?;
        let open_ns = elapsed_ns(opened);
        let mut buffer = TransferBuffer::new(workload.transfer_bytes as usize, order.seed);
        if workload.direction == DataDirection::Read {
            match workload.cache {
                // Of tasks that share a file one asks: the others would take what
                // its questions bring in for what has stayed.
                CacheState::Cold if is_shared && order.task > 0 => {
                    cache::evict(&File::open(&path)?)
                }
                CacheState::Cold => outcome.resident = make_cold(&path)?,
                CacheState::Warm => {
                    for offset in &offsets {
                        stop_if(interrupted)?;
                        file.read_at(buffer.bytes(), *offset)?;
                    }
                }
            }
        }
        Ok((offsets, file, buffer, open_ns))
    };
    let prepared = prepare();
    // Even who cannot go on lets the others start, or they would wait for ever.
    wait()?;
    let (offsets, mut file, mut buffer, open_ns) = prepared?;
    let start = Instant::now();
    let mut calls = Calls { workload, interrupted, start, unsynced: 0, outcome: &mut outcome };
    match file.posix() {
        Some(shared) if workload.depth > 1 => calls.perform_many(shared, &offsets, order.seed)?,
        None if workload.depth > 1 => calls.submit_many(&mut *file, &offsets, order.seed)?,
        _ => calls.perform(&mut *file, &offsets, &mut buffer)?,
    }
    if workload.direction == DataDirection::Write && workload.sync == SyncRule::End {
        calls.sync(&mut *file)?;
    }
    let unsynced = calls.unsynced;
    let closed = Instant::now();
    file.close()?;
    let close_ns = elapsed_ns(closed);
    outcome.elapsed_ns = elapsed_ns(start);
    let opened_as = match workload.direction {
        DataDirection::Write if !workload.in_place => Kind::Create,
        _ => Kind::Open,
    };
    add_other(&mut outcome.other, opened_as, 0, open_ns);
    add_other(&mut outcome.other, Kind::Close, unsynced, close_ns);
    Ok(outcome)
}

/// Evicts a file and says what remained.
fn make_cold(path: &Path) -> io::Result<Option<f64>> {
    let file = File::open(path)?;
    cache::evict(&file);
    let resident = cache::residency(path);
    // Asking brought some pages back.
    cache::evict(&file);
    Ok(resident)
}

/// The calls of a task, and what has come of them so far.
struct Calls<'a> {
    workload: &'a Workload,
    interrupted: &'a AtomicBool,
    start: Instant,
    /// Bytes written since the last sync.
    unsynced: u64,
    outcome: &'a mut TaskOutcome,
}

impl Calls<'_> {
    fn perform(
        &mut self,
        file: &mut dyn DataFile,
        offsets: &[u64],
        buffer: &mut TransferBuffer,
    ) -> io::Result<()> {
        for (at, offset) in offsets.iter().enumerate() {
            stop_if(self.interrupted)?;
            if at > 0 {
                if self.is_over() {
                    break;
                }
                pause(self.workload.think_ns);
            }
            let started;
            match self.workload.direction {
                DataDirection::Read => {
                    started = Instant::now();
                    file.read_at(buffer.bytes(), *offset)?;
                }
                DataDirection::Write => {
                    buffer.stamp(*offset);
                    started = Instant::now();
                    file.write_at(buffer.bytes(), *offset)?;
                }
            }
            self.outcome.data.add(elapsed_ns(started));
            self.outcome.bytes += self.workload.transfer_bytes;
            if self.workload.direction == DataDirection::Write {
                self.unsynced += self.workload.transfer_bytes;
                let is_due = match self.workload.sync {
                    SyncRule::Each => true,
                    SyncRule::Every(bytes) => self.unsynced >= bytes,
                    SyncRule::Never | SyncRule::End => false,
                };
                if is_due {
                    self.sync(file)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps several calls under way, a thread for each, as the asynchronous I/O
    /// of the C library does. The time of a call is from its submission to its
    /// completion.
    fn perform_many(&mut self, file: &File, offsets: &[u64], seed: u64) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        let done: Mutex<(CallTimes, io::Result<()>)> = Mutex::new((CallTimes::default(), Ok(())));
        let (workload, interrupted, start) = (self.workload, self.interrupted, self.start);
        let is_over = || workload.stonewall_ns.is_some_and(|most| elapsed_ns(start) >= most);
        thread::scope(|scope| {
            for _ in 0..workload.depth {
                scope.spawn(|| {
                    let mut times = CallTimes::default();
                    let mut buffer = TransferBuffer::new(workload.transfer_bytes as usize, seed);
                    let mut result: io::Result<()> = Ok(());
                    while result.is_ok() {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(offset) = offsets.get(at) else { break };
                        if at > 0 && is_over() {
                            break;
                        }
                        result = stop_if(interrupted)
                            .and_then(|()| timed_call(file, workload, &mut buffer, *offset))
                            .map(|ns| times.add(ns));
                        pause(workload.think_ns);
                    }
                    let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    done.0.merge(&times);
                    if done.1.is_ok() {
                        done.1 = result;
                    }
                });
            }
        });
        let (times, result) = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        result?;
        self.outcome.bytes += times.n() * workload.transfer_bytes;
        if workload.direction == DataDirection::Write {
            self.unsynced += times.n() * workload.transfer_bytes;
        }
        self.outcome.data.merge(&times);
        Ok(())
    }

    /// Leaves it to the interface to have several calls under way.
    fn submit_many(
        &mut self,
        file: &mut dyn DataFile,
        offsets: &[u64],
        seed: u64,
    ) -> io::Result<()> {
        let length = self.workload.transfer_bytes as usize;
        let depth = self.workload.depth as usize;
        let mut buffer = TransferBuffer::new(length * depth, seed);
        let is_write = self.workload.direction == DataDirection::Write;
        // In parts, so that time limits and signals are seen.
        for (at, part) in offsets.chunks(16 * depth).enumerate() {
            stop_if(self.interrupted)?;
            if at > 0 && self.is_over() {
                break;
            }
            let times = file
                .many(is_write, buffer.bytes(), length, part)
                .unwrap_or_else(|| Err(io::ErrorKind::Unsupported.into()))?;
            times.iter().for_each(|ns| self.outcome.data.add(*ns));
            let bytes = (part.len() * length) as u64;
            self.outcome.bytes += bytes;
            self.unsynced += if is_write { bytes } else { 0 };
        }
        Ok(())
    }

    fn sync(&mut self, file: &mut dyn DataFile) -> io::Result<()> {
        let started = Instant::now();
        file.sync()?;
        add_other(&mut self.outcome.other, Kind::Sync, self.unsynced, elapsed_ns(started));
        self.unsynced = 0;
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.workload.stonewall_ns.is_some_and(|most| elapsed_ns(self.start) >= most)
    }
}

/// One call, and how long it took.
fn timed_call(
    file: &File,
    workload: &Workload,
    buffer: &mut TransferBuffer,
    offset: u64,
) -> io::Result<u64> {
    buffer.stamp(offset);
    let started = Instant::now();
    match workload.direction {
        DataDirection::Read => file.read_exact_at(buffer.bytes(), offset)?,
        DataDirection::Write => file.write_all_at(buffer.bytes(), offset)?,
    }
    Ok(elapsed_ns(started))
}

fn add_other(other: &mut Vec<(Kind, u64, CallTimes)>, kind: Kind, bytes: u64, ns: u64) {
    let at = other.iter().position(|(known, size, _)| (*known, *size) == (kind, bytes));
    let at = at.unwrap_or_else(|| {
        other.push((kind, bytes, CallTimes::default()));
        other.len() - 1
    });
    other[at].2.add(ns);
}

/// Writes the files that the task will read, from beginning to end.
fn fill(order: &TaskOrder, workload: &Workload, interrupted: &AtomicBool) -> io::Result<()> {
    let whole = Workload {
        direction: DataDirection::Write,
        pattern: crate::AccessPattern::Sequential,
        transfer_bytes: workload.block_bytes.min(1 << 20),
        alignment_bytes: 1,
        direct: false,
        durable: false,
        // Files with a structure have to be made; others may be there already,
        // with the parts of other tasks.
        in_place: !matches!(workload.api, Api::Hdf5 | Api::NetCdf),
        depth: 1,
        max_calls: None,
        reorder: false,
        ..workload.clone()
    };
    let path = data_path(&order.directory, whole.file_of(order.task));
    let mut file = file::open(&path, &whole)?;
    let mut buffer = TransferBuffer::new(whole.transfer_bytes as usize, order.seed);
    for offset in whole.offsets(order.task, order.seed) {
        stop_if(interrupted)?;
        buffer.stamp(offset);
        file.write_at(buffer.bytes(), offset)?;
    }
    // What is left of the blocks when transfers do not divide them.
    let rest = (whole.block_bytes % whole.transfer_bytes) as usize;
    if rest > 0 {
        let last = whole.block_bytes - rest as u64;
        let blocks = Workload { transfer_bytes: whole.block_bytes, ..whole.clone() };
        for block in blocks.offsets(order.task, order.seed) {
            file.write_at(&buffer.bytes()[..rest], block + last)?;
        }
    }
    file.sync()?;
    file.close()
}

fn perform_metadata(
    order: &TaskOrder,
    workload: &MetadataWorkload,
    interrupted: &AtomicBool,
    wait: impl FnOnce() -> io::Result<()>,
) -> io::Result<TaskOutcome> {
    let directory = order.directory.join(format!("files-{}", order.task));
    let made = fs::create_dir(&directory);
    wait()?;
    made?;
    let mut outcome = TaskOutcome::default();
    let start = Instant::now();
    let result = on_files(&directory, workload, order.seed, interrupted, &mut outcome.other);
    outcome.elapsed_ns = elapsed_ns(start);
    // What a task that failed has left is removed with the whole place.
    result?;
    fs::remove_dir(&directory)?;
    Ok(outcome)
}

fn on_files(
    directory: &Path,
    workload: &MetadataWorkload,
    seed: u64,
    interrupted: &AtomicBool,
    other: &mut Vec<(Kind, u64, CallTimes)>,
) -> io::Result<()> {
    let path = |number: u32| directory.join(format!("f{number}"));
    let renamed = |number: u32| directory.join(format!("g{number}"));
    let size = workload.file_bytes;
    let mut buffer = TransferBuffer::new(size.clamp(1, 1 << 20) as usize, seed);
    let mut timed = |kind: Kind, bytes: u64, call: &mut dyn FnMut() -> io::Result<()>| {
        stop_if(interrupted)?;
        let started = Instant::now();
        call()?;
        add_other(other, kind, bytes, elapsed_ns(started));
        Ok::<(), io::Error>(())
    };
    for number in 0..workload.n_files {
        let mut file = None;
        timed(Kind::Create, 0, &mut || {
            file = Some(File::create_new(path(number))?);
            Ok(())
        })?;
        let Some(mut file) = file else { continue };
        let mut left = size;
        while left > 0 {
            let n = left.min(buffer.bytes().len() as u64);
            file.write_all(&buffer.bytes()[..n as usize])?;
            left -= n;
        }
        let mut file = Some(file);
        timed(Kind::Close, size, &mut || {
            drop(file.take());
            Ok(())
        })?;
    }
    for number in 0..workload.n_files {
        let mut file = None;
        timed(Kind::Open, 0, &mut || {
            file = Some(File::options().read(true).write(true).open(path(number))?);
            Ok(())
        })?;
        let Some(file) = file else { continue };
        if number < N_SYNCED {
            // What the first one finds to do is measured with writes.
            file.sync_all()?;
            timed(Kind::Sync, 0, &mut || file.sync_all())?;
        }
        timed(Kind::Truncate, 0, &mut || file.set_len(size / 2))?;
        let mut file = Some(file);
        timed(Kind::Close, 0, &mut || {
            drop(file.take());
            Ok(())
        })?;
    }
    for number in 0..workload.n_files {
        timed(Kind::Stat, 0, &mut || fs::metadata(path(number)).map(|_| ()))?;
    }
    for number in 0..workload.n_files {
        timed(Kind::Rename, 0, &mut || fs::rename(path(number), renamed(number)))?;
    }
    for number in 0..workload.n_files {
        timed(Kind::Delete, 0, &mut || fs::remove_file(renamed(number)))?;
    }
    Ok(())
}

fn stop_if(interrupted: &AtomicBool) -> io::Result<()> {
    if interrupted.load(Ordering::Relaxed) {
        return Err(io::Error::other("interrupted"));
    }
    Ok(())
}

fn pause(ns: u64) {
    let pause = Duration::from_nanos(ns);
    if pause >= SHORTEST_SLEEP {
        thread::sleep(pause);
    } else if ns > 0 {
        let start = Instant::now();
        while start.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
}

fn elapsed_ns(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

/// A message of a process that performs orders.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum TaskMessage {
    /// It waits for the start.
    Ready,
    /// It has ended.
    Done(TaskOutcome),
    /// It could not do it.
    Failed {
        /// Why.
        reason: String,
        /// Whether the file system is full.
        is_full: bool,
    },
}

impl TaskMessage {
    pub(crate) fn of(result: io::Result<TaskOutcome>) -> TaskMessage {
        match result {
            Ok(outcome) => TaskMessage::Done(outcome),
            Err(error) => TaskMessage::Failed {
                reason: error.to_string(),
                is_full: matches!(
                    error.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ),
            },
        }
    }
}

/// Serves orders, a line of JSON each, until there are no more: what a process
/// does that was started as a task. Each order is followed by an empty line when
/// all tasks may start.
pub fn serve_orders(mut orders: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let never = AtomicBool::new(false);
    let mut line = String::new();
    loop {
        line.clear();
        if orders.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let order: TaskOrder = serde_json::from_str(&line)?;
        let done = perform(&order, &never, || {
            answer(&mut answers, &TaskMessage::Ready)?;
            line.clear();
            match orders.read_line(&mut line)? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(()),
            }
        });
        answer(&mut answers, &TaskMessage::of(done))?;
    }
}

fn answer(answers: &mut impl Write, message: &TaskMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    answers.write_all(&line)?;
    answers.flush()
}
