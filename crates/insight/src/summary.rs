// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known about a job's I/O in the end, as plain values: text, JSON and
//! reports are made of it. The names of the fields are a contract; `docs/run.md`
//! explains them.

use serde::Serialize;

pub use crate::file_groups::FileKind;
pub use crate::frames::StackFrame;
pub use crate::tally::SelectionPattern;

/// The I/O of a job.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Only where there are several.
    pub ranks: Option<RankGroups>,
    /// All of it together.
    pub io: Io,
    /// Files mapped into memory; None: none was.
    pub mapped: Option<MappedTotals>,
    /// What MPI did for itself, which is not part of [`Io`]; None: nothing.
    pub mpi_own: Option<MpiInternalTotals>,
    /// Calls on metadata, which are not operations; None: there were none.
    pub metadata: Option<MetadataTotals>,
    /// Calls of MPI-IO, if it is used.
    pub mpi_io: Option<LibraryCalls>,
    /// The same of HDF5.
    pub hdf5: Option<LibraryCalls>,
    /// The same of netCDF.
    pub netcdf: Option<LibraryCalls>,
    /// The same of PnetCDF.
    pub pnetcdf: Option<LibraryCalls>,
    /// Those that took most time first.
    pub busiest_files: Vec<BusyFile>,
    /// Files that are treated alike, as one; those that took most time first.
    pub file_groups: Vec<BusyGroup>,
    /// The same for variables and datasets.
    pub busiest_variables: Vec<BusyVariable>,
    /// Those that cover most operations first.
    pub loops: Vec<LoopSeen>,
    /// How well operations were predicted.
    pub predicted: Option<Predicted>,
    /// The same for accesses to variables.
    pub predicted_variables: Option<Predicted>,
    /// Of the busiest thread, if it has any.
    pub bursts: Option<Bursts>,
    /// The most severe first.
    pub advice: Vec<Finding>,
}

/// Ranks that make the same calls in the same order are listed together.
#[derive(Clone, Debug, Serialize)]
pub struct RankGroups {
    /// Ranks that were seen, and how many different ones.
    pub ranks: usize,
    /// How many different ones.
    pub kinds: usize,
    /// Those with most ranks first; not all if there are very many.
    pub groups: Vec<RankGroup>,
}

/// Ranks that behave alike.
#[derive(Clone, Debug, Serialize)]
pub struct RankGroup {
    /// First and last one of each run of neighbours.
    pub ranks: Vec<(u32, u32)>,
    /// How many they are.
    pub n_ranks: usize,
    /// Operations.
    pub operations: Between<u64>,
    /// Bytes read.
    pub bytes_read: Between<u64>,
    /// Bytes written.
    pub bytes_written: Between<u64>,
    /// Seconds in calls that no other recorded call encloses.
    pub io_time_s: Between<f64>,
}

/// The minimum and the maximum of several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Between<T> {
    /// The least.
    pub least: T,
    /// The most.
    pub most: T,
}

/// All I/O together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Io {
    /// Operations.
    pub operations: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Files.
    pub files: u64,
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Over all threads.
    pub io_time_s: f64,
    /// In calls of libraries, with what they compute themselves (compression).
    pub library_time_s: f64,
    /// In POSIX and stdio calls, including those that libraries make.
    pub file_system_time_s: f64,
    /// Of the thread that spent most.
    pub busiest_thread_s: f64,
}

/// What may have been read and written through mappings, which is not part of [`Io`].
/// For each file, the bytes between the first and the last one mapped.
#[derive(Clone, Debug, Serialize)]
pub struct MappedTotals {
    /// Files.
    pub files: u64,
    /// Bytes mapped for reading only.
    pub bytes_for_reading: u64,
    /// Bytes mapped shared and writable.
    pub bytes_for_writing: u64,
    /// The most mapped ones first; not all if there are many.
    pub largest: Vec<MappedFile>,
}

/// Paths are escaped in traces, and plain in JSON wherever they are UTF-8.
fn plain_path<S: serde::Serializer>(path: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&ioracle_events::plain(path))
}

/// A file that was mapped.
#[derive(Clone, Debug, Serialize)]
pub struct MappedFile {
    /// The path.
    #[serde(serialize_with = "plain_path")]
    pub path: String,
    /// Bytes mapped for reading only.
    pub bytes_for_reading: u64,
    /// Bytes mapped shared and writable.
    pub bytes_for_writing: u64,
}

/// Shared memory between ranks, files of a session, configuration.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MpiInternalTotals {
    /// Operations.
    pub operations: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Files.
    pub files: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Over all threads.
    pub io_time_s: f64,
}

/// Calls that query or change metadata of files and directories: the `stat` family,
/// `access`, `mkdir`, `readdir` and others. Their time is part of that in [`Io`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct MetadataTotals {
    /// How many.
    pub n_calls: u64,
    /// Those that failed, mostly because there was no such file.
    pub failed: u64,
    /// Over all threads.
    pub io_time_s: f64,
    /// By function; those that took most time first.
    pub calls: Vec<Calls>,
}

/// Calls of a library; what happens inside them is part of [`Io`].
#[derive(Clone, Debug, Serialize)]
pub struct LibraryCalls {
    /// How many.
    pub calls: u64,
    /// Those that all ranks of a group make together.
    pub collective_calls: u64,
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Over all threads.
    pub io_time_s: f64,
    /// Calls that move no data, such as opens and closes; those that took most time
    /// first.
    pub other_calls: Vec<Calls>,
}

/// A file that took much of the time.
#[derive(Clone, Debug, Serialize)]
pub struct BusyFile {
    /// The path.
    #[serde(serialize_with = "plain_path")]
    pub path: String,
    /// Operations.
    pub operations: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Seconds in calls that no other recorded call encloses.
    pub io_time_s: f64,
    /// Those that took most time first.
    pub calls: Vec<Calls>,
}

/// Files that a program treats alike, or a single one.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BusyGroup {
    /// The path, with a `*` in place of what differs.
    #[serde(serialize_with = "plain_path")]
    pub path: String,
    /// How many files that is.
    pub files: u64,
    /// What they hold.
    pub kind: FileKind,
    /// Operations.
    pub operations: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Seconds in calls that no other recorded call encloses.
    pub io_time_s: f64,
    /// Seconds in POSIX and stdio calls, including those that libraries make.
    pub file_system_time_s: f64,
    /// Opens.
    pub opens: u64,
    /// Syncs.
    pub syncs: u64,
    /// POSIX and stdio calls; those that took most time first.
    pub calls: Vec<Calls>,
    /// Calls of libraries that the program itself makes; likewise.
    pub library_calls: Vec<Calls>,
}

/// A variable or dataset that took much of the time; or many of them, as
/// programs make them for every step, where a `*` stands for the number.
#[derive(Clone, Debug, Serialize)]
pub struct BusyVariable {
    /// Its name.
    pub name: String,
    /// The path.
    #[serde(serialize_with = "plain_path")]
    pub path: String,
    /// How many they are.
    pub variables: usize,
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes of files that its accesses turned into: none where the library had them in
    /// memory, more than were read where it reads whole chunks.
    pub bytes_from_file: u64,
    /// The same for writes.
    pub bytes_to_file: u64,
    /// Seconds in calls that no other recorded call encloses.
    pub io_time_s: f64,
    /// What the accesses to each have in common, if it is the same for all.
    pub part: Option<SelectionPattern>,
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
    /// The function.
    pub function: &'static str,
    /// How many.
    pub calls: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Seconds in calls that no other recorded call encloses.
    pub io_time_s: f64,
}

/// A loop of the busiest thread.
#[derive(Clone, Debug, Serialize)]
pub struct LoopSeen {
    /// What one turn does.
    pub turn: String,
    /// Operations.
    pub operations: u64,
    /// The least number of turns in a run of the loop.
    pub turns_min: u64,
    /// The largest.
    pub turns_max: u64,
    /// How often the loop was run.
    pub runs: u64,
    /// The files, or groups of them, that it works on; not all if there are many.
    pub files: Vec<String>,
}

/// How well every operation was predicted before it came, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Predicted {
    /// Operations.
    pub operations: u64,
    /// Weight that was given to what came.
    pub context_accuracy: f64,
    /// Files predicted.
    pub file_accuracy: f64,
    /// Offsets predicted, with their files.
    pub offset_accuracy: f64,
    /// Equation 3 of the Omnisc'IO report.
    pub hit_ratio: f64,
    /// Mean error of the wait before an operation.
    pub time_error_s: f64,
    /// The same by where the most probable prediction came from.
    pub by_source: PredictedBySource,
}

/// How well each source of predictions did; none where it made none.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PredictedBySource {
    /// The grammar of this run.
    pub grammar: Option<SourceScore>,
    /// A model of earlier runs.
    pub model: Option<SourceScore>,
}

/// The score of one source, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SourceScore {
    /// Operations that it predicted.
    pub operations: u64,
    /// Weight that was given to what came.
    pub context_accuracy: f64,
    /// Offsets predicted, with their files.
    pub offset_accuracy: f64,
    /// Equation 3 of the Omnisc'IO report.
    pub hit_ratio: f64,
}

/// The bursts of the busiest thread.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bursts {
    /// How many there were.
    pub seen: u64,
    /// Operations of one, on average.
    pub operations: f64,
    /// Bytes of one, on average.
    pub bytes: f64,
    /// From the start of one burst to the start of the next, on average.
    pub period_s: f64,
    /// Whether they came at regular times; if not, that average is not a period.
    pub is_periodic: bool,
    /// The burst expected at the end.
    pub next: Option<NextBurst>,
}

/// A burst that was expected after the last operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NextBurst {
    /// Operations.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// From the end of the last operation.
    pub starts_in_s: f64,
    /// How sure that is, up to 1.
    pub confidence: f64,
    /// Whether its end lies beyond the look-ahead.
    pub at_least: bool,
}

/// Something that is slow, and what can be done about it.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its name for programs; `docs/advice.md` lists them.
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The file, or a group with a `*` for what differs.
    pub path: Option<String>,
    /// How many files that is.
    pub files: u64,
    /// The variable or dataset, or a group of them.
    pub variable: Option<String>,
    /// The functions called most.
    pub functions: Vec<&'static str>,
    /// The calls that it is about.
    pub calls: u64,
    /// Bytes that these calls moved.
    pub bytes: u64,
    /// Time that these calls took, over all threads: at most this much can be saved.
    pub io_time_s: f64,
    /// Seconds of the run that are saved at most: of several threads side by side,
    /// those of one of them.
    pub saves_at_most_s: f64,
    /// What share of the run that is, in percent; of several threads side by side,
    /// of one of them.
    pub share_of_run: f64,
    /// Whether the reason is what the calls cost on other file systems.
    pub is_cheap_here: bool,
    /// What was seen.
    pub seen: String,
    /// What to do.
    pub remedy: String,
    /// Code that does it, to be adapted.
    pub snippet: Option<&'static str>,
    /// Where most of the calls come from: the place in the program, and its callers.
    pub stack: Vec<StackFrame>,
    /// Both in one sentence, with the time.
    pub sentence: String,
    /// Whether the share is that of several threads side by side.
    #[serde(skip)]
    pub is_of_several: bool,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// A good part of the run.
    High,
}
