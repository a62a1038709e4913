// SPDX-License-Identifier: MIT OR Apache-2.0

//! What can be wrong with a trace, each in one sentence that says where and
//! what to do.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// Why a trace, or a row of it, could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory does not exist or may not be read.
    #[error("could not open the trace '{}': {source}; name a directory that contains a recorded trace", path.display())]
    Directory {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file was named where a directory is meant.
    #[error("'{}' is not a directory; name the directory that holds events.ioracle or events.csv", path.display())]
    NotADirectory {
        /// What was asked for.
        path: PathBuf,
    },
    /// A table is missing from the directory.
    #[error(
        "'{}' contains no events.ioracle, and neither {table}.csv.zst nor {table}.csv; add the file, or name a directory that contains a recorded trace",
        directory.display()
    )]
    MissingTable {
        /// The directory that was asked for.
        directory: PathBuf,
        /// `events`, `stacks` or `files`.
        table: &'static str,
    },
    /// A directory contains traces, but is not one itself.
    #[error("'{}' holds no trace itself but those of {names}; name one of them", directory.display())]
    SeveralTraces {
        /// The directory that was asked for.
        directory: PathBuf,
        /// Some of them, in words.
        names: String,
    },
    /// Something of the right name is a directory, a pipe or a device.
    #[error("'{path}' is not a regular file; put the table itself in its place")]
    NotAFile {
        /// The file.
        path: Arc<str>,
    },
    /// The system could not read a file.
    #[error("could not read '{path}': {source}; check its permissions and its storage")]
    Unreadable {
        /// The file.
        path: Arc<str>,
        /// What the system said.
        source: io::Error,
    },
    /// The name ends in `.zst`, the content is something else.
    #[error("'{path}' is not a zstd stream; compress it with zstd, or remove .zst from its name")]
    NotZstd {
        /// The file.
        path: Arc<str>,
    },
    /// The compressed stream is cut off.
    #[error(
        "'{path}' is cut off after line {line}; copy it again, or read what is there with --lenient"
    )]
    CutOff {
        /// The file.
        path: Arc<str>,
        /// The last whole line.
        line: u64,
    },
    /// The compressed stream cannot be decoded.
    #[error(
        "'{path}' is damaged after line {line} ({reason}); copy it again, or read what is there with --lenient"
    )]
    Damaged {
        /// The file.
        path: Arc<str>,
        /// The last whole line.
        line: u64,
        /// What the decoder said.
        reason: Box<str>,
    },
    /// The first line is not the one that the table must have.
    #[error(
        "{path}:1: the header is '{found}' instead of '{expected}'; give the table the columns of the CSV form"
    )]
    Header {
        /// The file.
        path: Arc<str>,
        /// The header that the table must have.
        expected: &'static str,
        /// What stands there.
        found: Box<str>,
    },
    /// A row is wrong.
    #[error("{path}:{line}: {fault}; correct the row, or skip bad rows with --lenient")]
    Row {
        /// The file.
        path: Arc<str>,
        /// The line, counted from 1, the header included.
        line: u64,
        /// What is wrong with it.
        fault: RowFault,
    },
    /// Raw records of another machine or version, or something else.
    #[error(
        "'{path}' contains no raw records that this ioracle can read; finish the recording with 'ioracle recover' of the version and on the kind of machine that wrote it"
    )]
    ForeignRaw {
        /// The file.
        path: Arc<str>,
    },
    /// Raw records beside a trace, or its log, are damaged.
    #[error(
        "raw records beside '{path}' are damaged; read the others with --lenient, or keep them with 'ioracle recover'"
    )]
    DamagedRaw {
        /// The trace.
        path: Arc<str>,
    },
    /// A file of the native form is something else.
    #[error("'{path}' is not a trace of ioracle; name a directory that contains a recorded trace")]
    NotATrace {
        /// The file.
        path: Arc<str>,
    },
    /// A trace was written by a newer version.
    #[error(
        "'{path}' has version {found} of the format, this ioracle reads versions up to {known}; export it to CSV with the ioracle that wrote it"
    )]
    OtherVersion {
        /// The file.
        path: Arc<str>,
        /// The version it has.
        found: u32,
        /// The newest version that is read.
        known: u32,
    },
    /// A trace in the native form is cut off.
    #[error(
        "'{path}' is cut off at byte {position}; finish it with 'ioracle recover' on its directory, or read what is there with --lenient"
    )]
    CutAt {
        /// The file.
        path: Arc<str>,
        /// Where the part begins that is not whole.
        position: u64,
    },
    /// A part of a trace in the native form is damaged.
    #[error(
        "'{path}' is damaged at byte {position} ({reason}); copy it again, or read what is there with --lenient"
    )]
    DamagedAt {
        /// The file.
        path: Arc<str>,
        /// Where the part begins.
        position: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// `meta.json` is not a description of a trace.
    #[error("'{path}' is not a description of a trace ({reason}); correct it or remove it")]
    Meta {
        /// The file.
        path: Arc<str>,
        /// What the parser said, with line and column.
        reason: Box<str>,
    },
    /// There is not a single event.
    #[error("'{path}' contains no events{}; 'ioracle doctor PROGRAM' says whether the program can be watched", but_skipped(*.skipped))]
    Empty {
        /// The file.
        path: Arc<str>,
        /// How many rows were skipped.
        skipped: u64,
    },
    /// There is not a single event, but there may be some soon.
    #[error(
        "'{path}' contains no events yet; read it when the program that is recorded has made some calls, or finish the recording with 'ioracle recover' on its directory if it has ended"
    )]
    EmptyYet {
        /// The file.
        path: Arc<str>,
    },
    /// The rank that was asked for made no recorded call.
    #[error(
        "'{path}' contains no events of rank {rank}; {}", ranks_there(*.n_ranks, *.lowest, *.highest)
    )]
    RankNotFound {
        /// The file.
        path: Arc<str>,
        /// The rank that was asked for.
        rank: u32,
        /// How many ranks there are.
        n_ranks: usize,
        /// The lowest of them.
        lowest: u32,
        /// The highest of them.
        highest: u32,
    },
    /// A directory for a new trace already has one.
    #[error("'{}' already holds a trace; name another directory, or remove it", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// A directory for a new trace is something else.
    #[error("'{}' is there and is not a directory; name another one for the trace", path.display())]
    NoPlace {
        /// What was named.
        path: PathBuf,
    },
    /// A directory for a new trace has a recording that was never finished.
    #[error(
        "'{}' contains a recording that was not finished; finish it with 'ioracle recover', or name another directory",
        path.display()
    )]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// The recording is not finished because a process is still writing it.
    #[error("'{path}' is being written by process {pid}; wait for its end")]
    StillWritten {
        /// The log.
        path: Arc<str>,
        /// Who writes it.
        pid: u32,
    },
    /// The log of a recording is something else, or of another version.
    #[error("'{path}' is not a recording of this version of ioracle; name another directory")]
    NotARecording {
        /// The log.
        path: Arc<str>,
    },
    /// A part of a trace could not be written.
    #[error("could not write '{path}': {source}; {}name another directory", or_free_space(.source))]
    Unwritable {
        /// The file.
        path: Arc<str>,
        /// What the system said.
        source: io::Error,
    },
    /// The spool of a job could not be made or read.
    #[error(transparent)]
    Spool(#[from] ioracle_spool::Error),
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RowFault {
    /// A field is missing.
    #[error("only {found} of {expected} fields")]
    FieldCount {
        /// How many columns the table has.
        expected: usize,
        /// How many the row has.
        found: usize,
    },
    /// A field should be a number.
    #[error("{column} is '{found}', which is not a whole number")]
    NotANumber {
        /// The column.
        column: &'static str,
        /// What stands there.
        found: Box<str>,
    },
    /// A number is too small or too large for its column.
    #[error("{column} is {found}, which is out of range ({lowest} to {highest})")]
    OutOfRange {
        /// The column.
        column: &'static str,
        /// What stands there.
        found: Box<str>,
        /// The least number allowed.
        lowest: i64,
        /// The greatest number allowed.
        highest: i64,
    },
    /// A size is negative.
    #[error("size is {found}, which is negative")]
    NegativeSize {
        /// What stands there.
        found: Box<str>,
    },
    /// The `level` has no such layer.
    #[error("level is '{found}', which is none of posix, stdio, mpiio and hl")]
    UnknownLayer {
        /// What stands there.
        found: Box<str>,
    },
    /// The layer has no such operation.
    #[error("op is '{found}', which {layer} does not have")]
    UnknownOperation {
        /// The layer, as traces name it.
        layer: &'static str,
        /// What stands there.
        found: Box<str>,
    },
    /// A call ended before it began.
    #[error("end_ns {end_ns} is before start_ns {start_ns}")]
    EndBeforeStart {
        /// When the call began.
        start_ns: u64,
        /// When it ended.
        end_ns: u64,
    },
    /// A call began before the one that the same thread made before it.
    #[error("time runs backwards in thread {thread}: start_ns {start_ns} after {previous_ns}")]
    TimeRunsBackwards {
        /// The thread.
        thread: u32,
        /// When the call began.
        start_ns: u64,
        /// When the call before it began.
        previous_ns: u64,
    },
    /// The rows of a rank are sorted by `seq`, each number once.
    #[error("seq {sequence} does not increase, the row before it has {previous}")]
    SequenceNotIncreasing {
        /// The number in this row.
        sequence: u64,
        /// The number in the last row of the same rank.
        previous: u64,
    },
    /// The rows of a rank stand together.
    #[error("rank {rank} comes again after the rows of another rank")]
    RankNotGrouped {
        /// The rank.
        rank: u32,
    },
    /// A context that `stacks.csv` does not hold.
    #[error("stack {id} is not in the table of stacks")]
    UnknownStack {
        /// The number in the row.
        id: u32,
    },
    /// A file that `files.csv` does not hold.
    #[error("file {id} is not in the table of files")]
    UnknownFile {
        /// The number in the row.
        id: u32,
    },
    /// A number that another table does not have.
    #[error("{column} {number} is not defined in its table")]
    NotDefined {
        /// The column.
        column: &'static str,
        /// The number in the row.
        number: u32,
    },
    /// A row that already exists, or is out of order.
    #[error("{column} does not follow the row before it; each must occur once, in order")]
    NotInOrder {
        /// The column.
        column: &'static str,
    },
    /// A field should be a hexadecimal number, as short as it can be.
    #[error("{column} is '{found}', which is not lower-case hexadecimal")]
    NotHexadecimal {
        /// The column.
        column: &'static str,
        /// What stands there.
        found: Box<str>,
    },
    /// A table gives the same id twice.
    #[error("id {id} is there twice")]
    DuplicateId {
        /// The id.
        id: u32,
    },
    /// A table is sorted by id.
    #[error("id {id} comes after {previous}, ids must increase")]
    IdOutOfOrder {
        /// The id.
        id: u32,
        /// The one before it.
        previous: u32,
    },
    /// The field is not text.
    #[error("{column} is not valid UTF-8")]
    InvalidUtf8 {
        /// The column.
        column: &'static str,
    },
    /// The line is too long.
    #[error("the line is longer than {limit} bytes")]
    LineTooLong {
        /// The most bytes a line may have.
        limit: usize,
    },
    /// The table is too large.
    #[error("the table is larger than {rows} rows or {bytes} bytes of text")]
    TableFull {
        /// The most rows.
        rows: usize,
        /// The most bytes of text.
        bytes: usize,
    },
    /// Too many ranks.
    #[error("there are more than {limit} ranks")]
    TooManyRanks {
        /// The most ranks.
        limit: usize,
    },
    /// Too many threads in a rank.
    #[error("rank {rank} has more than {limit} threads")]
    TooManyThreads {
        /// The rank.
        rank: u32,
        /// The most threads.
        limit: usize,
    },
}

/// The first half of the advice, where it helps.
fn or_free_space(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space there, or ",
        _ => "",
    }
}

fn ranks_there(n_ranks: usize, lowest: u32, highest: u32) -> String {
    match n_ranks {
        1 => format!("it is of rank {lowest} alone"),
        _ => format!("ask for one of its {n_ranks} ranks, from {lowest} to {highest}"),
    }
}

fn but_skipped(n_skipped: u64) -> String {
    match n_skipped {
        0 => String::new(),
        _ => format!(" (bad rows skipped: {n_skipped})"),
    }
}

/// What stands in a file, made fit for a message: short, without control
/// characters.
pub(crate) fn excerpt(bytes: &[u8]) -> Box<str> {
    const MAX_CHARACTERS: usize = 40;
    let text = String::from_utf8_lossy(bytes.get(..4 * MAX_CHARACTERS).unwrap_or(bytes));
    let mut excerpt: String =
        text.chars().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        excerpt.push('…');
    }
    excerpt.into()
}
