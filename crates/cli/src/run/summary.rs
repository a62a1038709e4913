// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `ioracle run` says in the end, as plain values: text and JSON are made
//! of it. The names of the fields are a contract; `docs/run.md` explains them.

use std::path::PathBuf;

use serde::Serialize;

use super::supervise::Ending;
use super::tally::Part;
use super::unseen::Unseen;
use crate::shared::linked::LinkedIn;

/// The whole summary.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Changes when a field changes its meaning.
    pub format: u32,
    pub application: String,
    pub command: Vec<String>,
    /// Of this command in a parallel job.
    pub rank: Option<u32>,
    pub world_size: Option<u32>,
    pub ending: Ending,
    pub wall_s: f64,
    pub processes: Processes,
    /// Only where there are several, below this command.
    pub ranks: Option<RanksAlike>,
    pub io: Io,
    /// What MPI did for itself, which is no part of [`Io`]; None: nothing.
    pub mpi_own: Option<MpiOwn>,
    /// Calls of libraries, only of those that are used.
    pub mpi_io: Option<LibraryCalls>,
    pub hdf5: Option<LibraryCalls>,
    pub netcdf: Option<LibraryCalls>,
    pub pnetcdf: Option<LibraryCalls>,
    /// Those that took most time first.
    pub busiest_files: Vec<BusyFile>,
    /// The same for variables and datasets.
    pub busiest_variables: Vec<BusyVariable>,
    /// Those that cover most operations first.
    pub loops: Vec<LoopSeen>,
    pub predicted: Option<Predicted>,
    /// The same for accesses to variables.
    pub predicted_variables: Option<Predicted>,
    pub bursts: Option<Bursts>,
    /// What took most time first.
    pub advice: Vec<Advice>,
    pub unrecorded: Unrecorded,
    /// Libraries whose calls are not seen.
    pub linked_in: Vec<LinkedIn>,
    /// Only when that was asked for.
    pub stacks: Option<StacksCompared>,
    /// Why there is nothing to tell.
    pub unseen: Option<Unseen>,
    /// The recorded trace.
    pub trace: Option<PathBuf>,
    /// Only with `--model`.
    pub model: Option<ModelUse>,
    /// Processor time that this command took itself.
    pub own_cpu_s: f64,
}

/// Who took part.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Processes {
    /// Programs that loaded the library; one that replaces itself (exec) counts
    /// again.
    pub seen: u64,
    /// Threads that made a recorded call.
    pub threads: u64,
    /// Those that live on; what they do now is not recorded.
    pub still_running: u64,
    /// Ranks that a launcher below this command told of.
    pub ranks_expected: u32,
    pub ranks_seen: u32,
}

/// Ranks that make the same calls in the same order are told together.
#[derive(Clone, Debug, Serialize)]
pub struct RanksAlike {
    /// Ranks that were seen, and how many different ones.
    pub ranks: usize,
    pub kinds: usize,
    /// Those with most ranks first; not all, where there are very many.
    pub groups: Vec<RankGroup>,
}

/// Ranks that behave alike.
#[derive(Clone, Debug, Serialize)]
pub struct RankGroup {
    /// First and last one of each run of neighbours.
    pub ranks: Vec<(u32, u32)>,
    pub n_ranks: usize,
    pub operations: Between<u64>,
    pub bytes_read: Between<u64>,
    pub bytes_written: Between<u64>,
    pub io_time_s: Between<f64>,
}

/// The least and the most that one of several has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Between<T> {
    pub least: T,
    pub most: T,
}

/// All I/O together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Io {
    pub operations: u64,
    pub failed_calls: u64,
    pub files: u64,
    pub reads: u64,
    pub bytes_read: u64,
    pub writes: u64,
    pub bytes_written: u64,
    /// Over all threads.
    pub io_time_s: f64,
    /// Of the thread that spent most.
    pub busiest_thread_s: f64,
}

/// Shared memory between ranks, files of a session, configuration.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MpiOwn {
    pub operations: u64,
    pub failed_calls: u64,
    pub files: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Over all threads.
    pub io_time_s: f64,
}

/// Calls of a library; what happens inside them is part of [`Io`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LibraryCalls {
    pub calls: u64,
    pub collective_calls: u64,
    pub reads: u64,
    pub bytes_read: u64,
    pub writes: u64,
    pub bytes_written: u64,
    /// Over all threads.
    pub io_time_s: f64,
}

/// A file that took much of the time.
#[derive(Clone, Debug, Serialize)]
pub struct BusyFile {
    pub path: String,
    pub operations: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub io_time_s: f64,
    /// Those that took most time first.
    pub calls: Vec<Calls>,
}

/// A variable or dataset that took much of the time; or many of them, as
/// programs make them for every step, where a `*` stands for the number.
#[derive(Clone, Debug, Serialize)]
pub struct BusyVariable {
    pub name: String,
    pub path: String,
    /// How many they are.
    pub variables: usize,
    pub reads: u64,
    pub bytes_read: u64,
    pub writes: u64,
    pub bytes_written: u64,
    pub io_time_s: f64,
    /// What the accesses to each have in common, if it is the same for all.
    pub part: Option<Part>,
    /// Elements of every access along each dimension, if they are the same.
    pub counts: Option<Vec<u64>>,
    /// Elements of a chunk.
    pub chunk: Option<Vec<u64>>,
    /// Those that took most time first.
    pub calls: Vec<Calls>,
}

/// Calls of one function on one file.
#[derive(Clone, Debug, Serialize)]
pub struct Calls {
    pub function: &'static str,
    pub calls: u64,
    pub bytes: u64,
    pub io_time_s: f64,
}

/// A loop of the busiest thread.
#[derive(Clone, Debug, Serialize)]
pub struct LoopSeen {
    /// What one turn does.
    pub turn: String,
    pub operations: u64,
    pub turns_min: u64,
    pub turns_max: u64,
    pub runs: u64,
}

/// How well every operation was predicted before it came, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Predicted {
    pub operations: u64,
    pub context_accuracy: f64,
    pub file_accuracy: f64,
    pub offset_accuracy: f64,
    pub hit_ratio: f64,
    /// Mean error of the wait before an operation.
    pub time_error_s: f64,
}

/// What a model was good for, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct ModelUse {
    pub file: PathBuf,
    /// What was loaded; nothing in a first run.
    pub known: Option<ModelKnown>,
    /// Why the file was not used; it stays as it is.
    pub refused: Option<String>,
    /// Call stacks of rebuilt programs that were found again by the names of
    /// functions.
    pub carried_over: usize,
    /// How well the first 100 operations of every thread were predicted.
    pub first: Option<Predicted>,
    pub saved: Option<ModelSaved>,
    pub not_saved: Option<String>,
}

/// What a loaded model knew.
#[derive(Clone, Debug, Serialize)]
pub struct ModelKnown {
    pub application: String,
    pub runs: u32,
    /// Threads of the job that are told apart.
    pub roles: usize,
    pub operations: u64,
}

/// What was saved.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ModelSaved {
    pub bytes: u64,
    pub runs: u32,
    pub roles: usize,
}

/// The bursts of the busiest thread.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bursts {
    /// How many there were.
    pub seen: u64,
    /// Of one burst, on average.
    pub operations: f64,
    pub bytes: f64,
    /// From the start of one burst to the start of the next, on average.
    pub period_s: f64,
    /// What was expected in the end.
    pub next: Option<NextBurst>,
}

/// A burst that was expected after the last operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NextBurst {
    pub operations: u64,
    pub bytes: u64,
    /// From the end of the last operation.
    pub starts_in_s: f64,
    pub confidence: f64,
    /// Whether its end is further away than was looked.
    pub at_least: bool,
}

/// Something that can be done about slow I/O.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    pub kind: &'static str,
    pub path: Option<String>,
    /// Time that it is about.
    pub io_time_s: f64,
    /// What was seen, and what to do.
    pub sentence: String,
}

/// What is missing from all of the above.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Unrecorded {
    /// Calls that were made and not recorded, by cause.
    pub calls: Vec<Missing>,
    /// Calls whose record was begun and never finished.
    pub unfinished: u64,
    /// Requests to io_uring: seen, not recorded.
    pub io_uring: u64,
    /// Recorded calls that nothing was learned from, as the program was faster.
    pub not_learned: u64,
    /// Threads that `--in-process` did not learn to their end.
    pub given_up_threads: u64,
    /// Streams that could not be read to their end, a sentence each.
    pub damaged: Vec<String>,
}

/// Call stacks compared with those that `backtrace()` finds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StacksCompared {
    pub checked: u64,
    pub different: u64,
}

/// Calls that are missing for one cause.
#[derive(Clone, Debug, Serialize)]
pub struct Missing {
    pub cause: &'static str,
    pub calls: u64,
    /// The cause in words, and what to do.
    pub sentence: &'static str,
}
