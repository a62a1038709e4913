// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes any trace as the tables of the CSV form.

use std::path::Path;

use ioracle_events::Event;
use serde_json::json;

use crate::error::Error;
use crate::provenance;
use crate::row;
use crate::source::Encoding;
use crate::table::{self, TableId};
use crate::trace::Trace;
use crate::writing::PROGRESS_STEP;
use crate::writing::directory::Directory;
use crate::writing::finish::{Written, first_skipped};
use crate::writing::part::{TableWriter, TemporaryFile};
use crate::writing::recorder::refuse_trace;

/// Writes a trace, or one rank of it, as tables into a directory of its own.
///
/// `progress` is called with the number of events from time to time.
pub fn export_csv(
    trace: &Trace,
    directory: &Path,
    rank: Option<u32>,
    encoding: Encoding,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, Error> {
    // Dropped last, after the files that failed are removed.
    let _made = Directory::create(directory)?;
    refuse_trace(directory)?;
    let stacks = write_texts(trace.contexts(), directory, "stacks", encoding)?;
    let files = write_texts(trace.files(), directory, "files", encoding)?;
    let mut events = TableWriter::create(directory, "events", row::HEADER, encoding)?;
    let mut written = Written {
        directory: directory.into(),
        n_events: 0,
        n_ranks: 0,
        n_contexts: trace.contexts().len() as u64,
        n_files: trace.files().len() as u64,
        n_damaged: 0,
        n_skipped: 0,
        first_skipped: None,
        incomplete: trace.incomplete().map(str::to_owned),
    };
    let mut last_rank = None;
    let mut read = trace.events(rank)?;
    for event in read.by_ref() {
        let event = event?;
        written.n_events += 1;
        written.n_ranks +=
            usize::from(last_rank.replace(event.stream.rank) != Some(event.stream.rank));
        write_event(&mut events, &event)?;
        if written.n_events.is_multiple_of(PROGRESS_STEP) {
            progress(PROGRESS_STEP);
        }
    }
    written.n_skipped = trace.skipped() + read.skipped();
    written.first_skipped = first_skipped(trace, &read);
    let threads = read.into_origins();
    let optional =
        provenance::export(trace.provenance(), threads.into_iter(), directory, encoding)?;
    let incomplete = || Some(json!({ "incomplete": trace.incomplete()? }).to_string().into_bytes());
    let meta = trace.meta_bytes().map(<[u8]>::to_vec).or_else(incomplete);
    let meta =
        meta.map(|bytes| TemporaryFile::of_bytes(directory, "meta.json", &bytes)).transpose()?;
    // The events last: without them there is no trace.
    for part in [stacks, files].into_iter().chain(optional).chain(meta).chain([events.finish()?]) {
        part.appear()?;
    }
    Ok(written)
}

fn write_texts<Id: TableId>(
    texts: &table::IdTable<Id>,
    directory: &Path,
    name: &str,
    encoding: Encoding,
) -> Result<TemporaryFile, Error> {
    let mut table = TableWriter::create(directory, name, Id::HEADER, encoding)?;
    for (id, text) in texts.iter() {
        table.push(format_args!("{},{text}", id.number()))?;
    }
    table.finish()
}

fn write_event(table: &mut TableWriter, event: &Event) -> Result<(), Error> {
    // -1 stands for none; larger numbers than fit are not read.
    let offset = event.offset.map_or(-1, |offset| offset as i64);
    table.push(format_args!(
        "{rank},{thread},{sequence},{level},{op},{stack},{file},{handle},{offset},{size},{ret},{start_ns},{end_ns},{depth},{detail}",
        rank = event.stream.rank,
        thread = event.stream.thread,
        sequence = event.sequence,
        level = event.function.layer().name(),
        op = event.function.name(),
        stack = event.context.0,
        file = event.file.0,
        handle = event.handle,
        size = event.requested,
        ret = event.result,
        start_ns = event.start_ns,
        end_ns = event.end_ns,
        depth = event.depth,
        detail = event.detail,
    ))
}
