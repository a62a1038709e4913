// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which files a call of the program works on, by its call stack and function. A
//! loop of the grammar is made of such calls, so its files can be named.

use ioracle_events::{ContextId, FastMap, FileId, Function, Operation};

use super::entry;

/// Calls that are distinguished, and files that are kept of each.
const MAX_CALLS: usize = 1 << 14;
const MAX_FILES: usize = 64;

/// The files of each call.
#[derive(Debug, Default)]
pub struct FilesByCall(FastMap<(ContextId, Function), Vec<FileId>>);

impl FilesByCall {
    /// Takes in an operation.
    pub fn add(&mut self, operation: &Operation) {
        let call = (operation.context, operation.function);
        let Some(files) = entry(&mut self.0, call, MAX_CALLS) else { return };
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
