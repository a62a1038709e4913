// SPDX-License-Identifier: MIT OR Apache-2.0

//! A recorded trace: its small tables in memory, its events on demand.

use std::path::Path;
use std::sync::Arc;

use ioracle_events::{ContextId, FileId, MpiInternals};

use crate::error::Error;
use crate::events::Events;
use crate::meta::{Meta, MetaFile};
use crate::native::{self, Grouping, Native};
use crate::provenance::{OptionalTables, Provenance};
use crate::source::{Source, TraceFiles};
use crate::table::IdTable;
use crate::tally::SkippedRows;

/// How to read a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Skip and count what is wrong instead of stopping there.
    pub lenient: bool,
}

/// A recorded trace.
#[derive(Debug)]
pub struct Trace {
    name: String,
    meta: Meta,
    meta_bytes: Option<Vec<u8>>,
    contexts: IdTable<ContextId>,
    files: IdTable<FileId>,
    provenance: Provenance,
    form: Form,
    options: ReadOptions,
    tally: SkippedRows,
    incomplete: Option<String>,
}

/// How the events are stored.
#[derive(Debug)]
pub(crate) enum Form {
    Csv(Source),
    Native(Box<Native>),
}

impl Trace {
    /// Opens a directory, in the native or the CSV form, and reads everything except
    /// its events. A trace that is still being recorded is read as far as it goes.
    pub fn open(directory: &Path, options: ReadOptions) -> Result<Trace, Error> {
        let fail = |source| Error::Directory { path: directory.into(), source };
        // The real path, because '.' has no name.
        let real_path = directory.canonicalize().map_err(fail)?;
        if !real_path.is_dir() {
            return Err(Error::NotADirectory { path: directory.into() });
        }
        let name = real_path.file_name().unwrap_or(real_path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let meta = Meta::in_directory(directory);
        if let Some(opened) = native::open(directory)? {
            return Trace::assemble(name, meta, options, |tally| opened.read(tally));
        }
        let sources = Sources {
            events: Source::in_directory(directory, "events")?,
            stacks: Source::in_directory(directory, "stacks")?,
            files: Source::in_directory(directory, "files")?,
            optional: OptionalTables::in_directory(directory)?,
        };
        Trace::assemble(name, meta, options, |tally| sources.read(tally))
    }

    /// The same for a trace in memory.
    pub fn from_parts(
        name: &str,
        mut parts: TraceFiles,
        options: ReadOptions,
    ) -> Result<Trace, Error> {
        let sources = Sources {
            optional: OptionalTables::in_memory(&mut parts),
            events: Source::in_memory("events", parts.encoding, parts.events),
            stacks: Source::in_memory("stacks", parts.encoding, parts.stacks),
            files: Source::in_memory("files", parts.encoding, parts.files),
        };
        let meta = parts.meta.map(|bytes| ("meta.json".into(), bytes));
        Trace::assemble(name.to_owned(), Ok(meta), options, |tally| sources.read(tally))
    }

    /// The same for the bytes of `events.ioracle`.
    pub fn from_bytes(name: &str, bytes: Vec<u8>, options: ReadOptions) -> Result<Trace, Error> {
        let opened = native::in_memory(bytes)?;
        Trace::assemble(name.to_owned(), Ok(None), options, |tally| opened.read(tally))
    }

    /// The name of the directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description of the run.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The frames of each call stack, innermost first, separated by `;`.
    pub fn contexts(&self) -> &IdTable<ContextId> {
        &self.contexts
    }

    /// Recognises the calls that MPI made for itself by their call stacks.
    pub fn mpi_internals(&self) -> MpiInternals {
        let mut mpi = MpiInternals::default();
        self.contexts.iter().for_each(|(id, frames)| mpi.define_context(id, frames));
        mpi
    }

    /// The path of each file.
    pub fn files(&self) -> &IdTable<FileId> {
        &self.files
    }

    /// Who ran, and where code and files lie, as far as the trace says it.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The events of one rank, or of all, in the order of the trace.
    ///
    /// In the CSV form the whole table is read and checked in either case. If the rank
    /// does not exist, that is an error at the end.
    pub fn events(&self, rank: Option<u32>) -> Result<Events<'_>, Error> {
        Events::new(self, rank, Grouping::Ranks)
    }

    /// All events, with the number of the process instead of a rank
    /// ([`Trace::process_ranks`] says which rank it is), process by process; times
    /// count from the start of each. In the CSV form, and after an import from it, they
    /// come in the order and with the times of [`Trace::events`], and have the ranks of
    /// these if the trace does not distinguish the processes of a rank.
    pub fn events_by_process(&self) -> Result<Events<'_>, Error> {
        Events::new(self, None, Grouping::Processes)
    }

    /// Whether [`Trace::events_by_process`] gives one process after the other.
    pub fn is_process_by_process(&self) -> bool {
        !self.is_csv() && !self.provenance.has_threads()
    }

    /// The rank of each process, if it has one, by the number of the process; `None` if
    /// the trace does not distinguish processes.
    pub fn process_ranks(&self) -> Option<Vec<Option<u32>>> {
        match &self.form {
            _ if self.provenance.has_threads() => {
                Some(self.provenance.processes().iter().map(|process| process.rank).collect())
            }
            Form::Csv(_) => None,
            Form::Native(native) => Some(native.process_ranks().collect()),
        }
    }

    /// When a process began, after the first one, as far as the trace knows: what
    /// is added to the times of [`Trace::events_by_process`] to compare processes.
    pub fn process_start_ns(&self, process: u32) -> u64 {
        let of_rank = |rank: u32| self.meta.rank_start_offset_ns.get(&rank).copied();
        match &self.form {
            Form::Native(native) if self.is_process_by_process() => {
                native.process_start_ns(process)
            }
            _ if self.provenance.has_threads() => {
                let known = self.provenance.processes().get(process as usize);
                known.and_then(|process| of_rank(process.rank?)).unwrap_or(0)
            }
            _ => of_rank(process).unwrap_or(0),
        }
    }

    /// The ranks that made recorded calls, sorted. In the CSV form this reads
    /// all events.
    pub fn ranks(&self) -> Result<Vec<u32>, Error> {
        self.events(None)?.into_ranks()
    }

    /// How many rows of the tables of stacks and files, and descriptions, were
    /// skipped. Skipped events are counted where they are read.
    pub fn skipped(&self) -> u64 {
        self.tally.skipped()
    }

    /// Why the first of them was skipped.
    pub fn first_skipped(&self) -> Option<&Error> {
        self.tally.first()
    }

    /// Why it lacks events that the program made and that should have been recorded, in
    /// words that follow "the recording"; `None` if it lacks none, or is still being
    /// written.
    pub fn incomplete(&self) -> Option<&str> {
        self.incomplete.as_deref()
    }

    /// `meta.json` as it is, if it is there.
    pub fn meta_bytes(&self) -> Option<&[u8]> {
        self.meta_bytes.as_deref()
    }

    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    /// Whether it is in the CSV form.
    pub fn is_csv(&self) -> bool {
        matches!(self.form, Form::Csv(_))
    }

    /// Whether it was not finished when it was opened.
    pub(crate) fn is_being_recorded(&self) -> bool {
        matches!(&self.form, Form::Native(native) if native.is_being_recorded())
    }

    /// The file that holds the events.
    pub(crate) fn path(&self) -> &Arc<str> {
        match &self.form {
            Form::Csv(source) => source.path(),
            Form::Native(native) => native.path(),
        }
    }

    pub(crate) fn options(&self) -> ReadOptions {
        self.options
    }

    fn assemble(
        name: String,
        meta: Result<Option<MetaFile>, Error>,
        options: ReadOptions,
        read: impl FnOnce(&mut SkippedRows) -> Result<TraceContent, Error>,
    ) -> Result<Trace, Error> {
        let mut tally = SkippedRows::new(options.lenient);
        let parsed = meta.and_then(|file| match file {
            Some((path, bytes)) => Ok((Meta::parse(&path, &bytes)?, Some(bytes))),
            None => Ok((Meta::default(), None)),
        });
        let (meta, meta_bytes) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                tally.skip(error)?;
                (Meta::default(), None)
            }
        };
        let TraceContent { contexts, files, provenance, form, incomplete } = read(&mut tally)?;
        let incomplete = incomplete.or_else(|| meta.incomplete.clone());
        Ok(Trace {
            name,
            meta,
            meta_bytes,
            contexts,
            files,
            provenance,
            form,
            options,
            tally,
            incomplete,
        })
    }
}

/// Everything in a trace except its description.
pub(crate) struct TraceContent {
    pub(crate) contexts: IdTable<ContextId>,
    pub(crate) files: IdTable<FileId>,
    pub(crate) provenance: Provenance,
    pub(crate) form: Form,
    pub(crate) incomplete: Option<String>,
}

struct Sources {
    events: Source,
    stacks: Source,
    files: Source,
    optional: OptionalTables,
}

impl Sources {
    fn read(self, tally: &mut SkippedRows) -> Result<TraceContent, Error> {
        let contexts = IdTable::read(&self.stacks, tally)?;
        let files = IdTable::read(&self.files, tally)?;
        let provenance = self.optional.read(&files, tally)?;
        let form = Form::Csv(self.events);
        Ok(TraceContent { contexts, files, provenance, form, incomplete: None })
    }
}
