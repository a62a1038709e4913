// SPDX-License-Identifier: MIT OR Apache-2.0

//! A recorded trace: its small tables in memory, its events on demand.

use std::path::Path;

use ioracle_events::{ContextId, FileId};

use crate::error::Error;
use crate::events::Events;
use crate::meta::Meta;
use crate::source::{Parts, Source};
use crate::table::Table;
use crate::tally::Tally;

/// How to read a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Skip and count what is wrong instead of ending there.
    pub lenient: bool,
}

/// A recorded trace.
#[derive(Debug)]
pub struct Trace {
    name: String,
    meta: Meta,
    contexts: Table<ContextId>,
    files: Table<FileId>,
    events: Source,
    options: Options,
    tally: Tally,
}

impl Trace {
    /// Opens a directory in the CSV form and reads all but its events.
    pub fn open(directory: &Path, options: Options) -> Result<Trace, Error> {
        let fail = |source| Error::Directory { path: directory.into(), source };
        // The real path, because '.' has no name.
        let real_path = directory.canonicalize().map_err(fail)?;
        if !real_path.is_dir() {
            return Err(Error::NotADirectory { path: directory.into() });
        }
        let name = real_path.file_name().unwrap_or(real_path.as_os_str());
        let sources = Sources {
            events: Source::in_directory(directory, "events")?,
            stacks: Source::in_directory(directory, "stacks")?,
            files: Source::in_directory(directory, "files")?,
        };
        let meta = Meta::in_directory(directory);
        Trace::read(name.to_string_lossy().into_owned(), sources, meta, options)
    }

    /// The same for a trace in memory.
    pub fn from_parts(name: &str, parts: Parts, options: Options) -> Result<Trace, Error> {
        let sources = Sources {
            events: Source::in_memory("events", parts.encoding, parts.events),
            stacks: Source::in_memory("stacks", parts.encoding, parts.stacks),
            files: Source::in_memory("files", parts.encoding, parts.files),
        };
        let meta = match parts.meta {
            Some(bytes) => Meta::parse(&"meta.json".into(), &bytes),
            None => Ok(Meta::default()),
        };
        Trace::read(name.to_owned(), sources, meta, options)
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
    pub fn contexts(&self) -> &Table<ContextId> {
        &self.contexts
    }

    /// The path of each file.
    pub fn files(&self) -> &Table<FileId> {
        &self.files
    }

    /// The events of one rank, or of all, in the order of the trace.
    ///
    /// The whole table is read and checked in either case. A rank that is not
    /// there is known, and is an error, at the end.
    pub fn events(&self, rank: Option<u32>) -> Result<Events<'_>, Error> {
        Events::new(self, rank)
    }

    /// The ranks that made recorded calls, sorted. Reads all events.
    pub fn ranks(&self) -> Result<Vec<u32>, Error> {
        self.events(None)?.into_ranks()
    }

    /// How many rows of the tables of stacks and files, and descriptions, were
    /// skipped. Skipped events are counted where they are read.
    pub fn skipped(&self) -> u64 {
        self.tally.skipped()
    }

    /// Why the first of them was.
    pub fn first_skipped(&self) -> Option<&Error> {
        self.tally.first()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.events
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    fn read(
        name: String,
        sources: Sources,
        meta: Result<Meta, Error>,
        options: Options,
    ) -> Result<Trace, Error> {
        let mut tally = Tally::new(options.lenient);
        let meta = match meta {
            Ok(meta) => meta,
            Err(error) => {
                tally.skip(error)?;
                Meta::default()
            }
        };
        let contexts = Table::read(&sources.stacks, &mut tally)?;
        let files = Table::read(&sources.files, &mut tally)?;
        Ok(Trace { name, meta, contexts, files, events: sources.events, options, tally })
    }
}

struct Sources {
    events: Source,
    stacks: Source,
    files: Source,
}
