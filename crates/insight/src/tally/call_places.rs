// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which places in the program access a file, so that a finding can name them; which
//! blocks of it several processes write; how many files are open at once. And which files
//! a call of the program works on: a loop of the grammar is made of such calls, so its
//! files can be named.

use std::collections::HashMap;

use ioracle_events::{Access, ContextId, Event, FastMap, FastSet, FileId, Function, Operation};

use super::{RowTable, TransferTally, duration_ns, entry};

/// Calls in files that are counted separately.
const MAX_PLACES: usize = 1 << 16;
/// Blocks of files that are followed.
const MAX_BLOCKS: usize = 1 << 16;
/// Open files that are followed.
const MAX_OPEN: usize = 1 << 16;
/// Calls whose files are kept, and files that are kept of each.
const MAX_CALLS: usize = 1 << 14;
const MAX_FILES: usize = 64;
/// What file systems lock at a time: the usual stripe.
pub const LOCKED_BYTES: u64 = 1 << 20;

/// Calls by file, call stack and function.
#[derive(Debug, Default)]
pub struct CallPlaces(RowTable<(FileId, ContextId, Function), TransferTally>);

impl CallPlaces {
    /// Counts a call that has not failed.
    pub fn add(&mut self, event: &Event) {
        self.add_on(event.file, event);
    }

    /// Counts a call whose file does not matter.
    pub fn add_on_any_file(&mut self, event: &Event) {
        self.add_on(FileId::UNKNOWN, event);
    }

    fn add_on(&mut self, file: FileId, event: &Event) {
        let key = (file, event.context, event.function);
        if let Some(calls) = self.0.entry(key, MAX_PLACES) {
            calls.add(event.transferred(), duration_ns(event));
        }
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, ContextId, Function, &TransferTally)> {
        self.0.iter().map(|(&(file, context, function), calls)| (file, context, function, calls))
    }
}

/// Which processes write each block of the files. The answer does not depend on the
/// order in which processes are looked at.
#[derive(Debug, Default)]
pub struct WrittenBlocks(RowTable<(FileId, u64), BlockWriters>);

#[derive(Debug, Default)]
struct BlockWriters {
    first: Option<u32>,
    is_shared: bool,
    writes: TransferTally,
}

impl WrittenBlocks {
    /// Counts a write, with the block that it begins in.
    pub fn add(&mut self, event: &Event, bytes: u64, own_ns: u64) {
        let Some(offset) = event.offset else { return };
        let key = (event.file, offset / LOCKED_BYTES);
        let Some(block) = self.0.entry(key, MAX_BLOCKS) else { return };
        let first = *block.first.get_or_insert(event.stream.rank);
        block.is_shared |= first != event.stream.rank;
        block.writes.add(bytes, own_ns);
    }

    /// Writes to blocks of a file that several processes write.
    pub fn shared(&self) -> HashMap<FileId, TransferTally> {
        let mut shared: HashMap<FileId, TransferTally> = HashMap::new();
        for ((file, _), block) in self.0.iter().filter(|(_, block)| block.is_shared) {
            shared.entry(*file).or_default().join(&block.writes);
        }
        shared
    }
}

/// How many files each process has open.
#[derive(Debug, Default)]
pub struct OpenFiles {
    open: FastSet<(u32, i64)>,
    n_open: FastMap<u32, u64>,
    most: u64,
}

impl OpenFiles {
    /// Counts an open or a close that has not failed.
    pub fn add(&mut self, event: &Event) {
        let key = (event.stream.rank, event.handle);
        let Some(n_open) = entry(&mut self.n_open, key.0, MAX_OPEN) else { return };
        match event.function.access() {
            Access::Open if event.handle >= 0 && self.open.len() < MAX_OPEN => {
                *n_open += u64::from(self.open.insert(key));
                self.most = self.most.max(*n_open);
            }
            Access::Close => *n_open -= u64::from(self.open.remove(&key)),
            _ => {}
        }
    }

    /// The most that a process had open at once.
    pub fn most(&self) -> u64 {
        self.most
    }
}

/// The files of each call.
#[derive(Debug, Default)]
pub struct FilesByCall(RowTable<(ContextId, Function), Vec<FileId>>);

impl FilesByCall {
    /// Takes in an operation.
    pub fn add(&mut self, operation: &Operation) {
        let call = (operation.context, operation.function);
        let Some(files) = self.0.entry(call, MAX_CALLS) else { return };
        let is_known = files.last() == Some(&operation.file) || files.contains(&operation.file);
        if !is_known && files.len() < MAX_FILES {
            files.push(operation.file);
        }
    }

    /// The files of a call.
    pub fn of(&self, context: ContextId, function: Function) -> &[FileId] {
        self.0.get(&(context, function)).map_or(&[], Vec::as_slice)
    }

    /// Each call with its files, at most [`MAX_FILES`].
    pub fn iter(&self) -> impl Iterator<Item = (ContextId, Function, &[FileId])> {
        self.0.iter().map(|(&(context, function), files)| (context, function, files.as_slice()))
    }
}
