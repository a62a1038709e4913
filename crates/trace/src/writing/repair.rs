// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finishes traces that lost their end.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::native::{ChunkWriter, Chunks, EVENTS, EventOrder, Storage, StoredDefinitions, error};
use crate::writing::description::{Counts, Description};
use crate::writing::earlier::{cut_off, write_salvaged};
use crate::writing::finish::{About, Written, describe};
use crate::writing::part::unwritable;
use crate::writing::recorder::{LOG, TraceRecorder};

/// Finishes a recording whose writer ended before that, or a trace that was cut
/// off. `events.ioracle` is only added to: if this fails, nothing is lost.
pub fn repair(directory: &Path) -> Result<Written, Error> {
    match (directory.join(LOG).exists(), open_import(directory)?) {
        (false, Some((file, chunks))) => finish_import(directory, file, &chunks),
        _ => TraceRecorder::reopen(directory)?.finish(&Description::default()),
    }
}

/// Opens a trace if it was imported and not recorded.
fn open_import(directory: &Path) -> Result<Option<(File, Chunks)>, Error> {
    let path = directory.join(EVENTS);
    let text: Arc<str> = path.to_string_lossy().into();
    let unreadable = |source| Error::Unreadable { path: text.clone(), source };
    let file = match File::options().read(true).write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(unreadable)?,
    };
    let storage = Storage::File(file.try_clone().map_err(unreadable)?);
    let chunks = Chunks::examine(storage).ok();
    Ok(chunks
        .filter(|chunks| chunks.head().order == EventOrder::Numbered)
        .map(|chunks| (file, chunks)))
}

fn finish_import(directory: &Path, mut file: File, chunks: &Chunks) -> Result<Written, Error> {
    let path = directory.join(EVENTS);
    let text: Arc<str> = path.to_string_lossy().into();
    let fail = |source| unwritable(&path, source);
    let mut definitions = StoredDefinitions::new();
    let mut n_damaged = chunks.content().n_damaged_inside();
    definitions.load(chunks, |damage| match damage {
        damage @ crate::native::Damage::Unreadable(_) => Err(error(&text, damage)),
        _ => {
            n_damaged += 1;
            Ok(())
        }
    })?;
    let end = file.seek(SeekFrom::End(0)).map_err(fail)?;
    let entries = chunks.content().entries.clone();
    let mut out = ChunkWriter::resume(Storage::File(file), end, entries);
    write_salvaged(chunks, None, &mut out).and_then(|()| out.finish()).map_err(fail)?;
    let about = About {
        directory,
        processes: &definitions.processes,
        counts: Counts::of_trace(directory)?,
        n_contexts: definitions.contexts.len() as u64,
        n_files: definitions.files.len() as u64,
        n_damaged,
        incomplete: cut_off(chunks),
    };
    describe(about, &Description::default())
}
