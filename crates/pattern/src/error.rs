// SPDX-License-Identifier: MIT OR Apache-2.0

//! What can be wrong with files that are read, each in one sentence that says
//! where and what to do.

use std::io;
use std::sync::Arc;

use thiserror::Error;

/// Why requests could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A file could not be opened or read.
    #[error("could not read '{path}': {source}; name a file of requests that may be read")]
    Unreadable {
        /// The file.
        path: Arc<str>,
        /// What the system said.
        source: io::Error,
    },
    /// The first line is not the names of the columns.
    #[error(
        "'{path}', line 1: '{found}' is not the header; a table of requests begins with '{expected}'"
    )]
    Header {
        /// The file.
        path: Arc<str>,
        /// What should stand there.
        expected: &'static str,
        /// What does.
        found: Box<str>,
    },
    /// A row is not as it should be.
    #[error("'{path}', line {line}: {fault}; correct the line, or remove it")]
    Row {
        /// The file.
        path: Arc<str>,
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        fault: RequestFault,
    },
    /// A compressed file is damaged, cut off or not compressed at all.
    #[error("'{path}' is damaged after line {line} ({reason}); copy or compress it again")]
    Damaged {
        /// The file.
        path: Arc<str>,
        /// The last whole line.
        line: u64,
        /// What is wrong.
        reason: Box<str>,
    },
}

/// What is wrong with a row of requests.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestFault {
    /// Fields are missing.
    #[error("only {found} of 5 fields (time_ns,file,op,offset,size)")]
    FieldCount {
        /// How many there are.
        found: usize,
    },
    /// A field should be a number.
    #[error("{column} is '{found}', which is not a whole number from 0 to 2^64 - 1")]
    NotANumber {
        /// The column.
        column: &'static str,
        /// What stands there.
        found: Box<str>,
    },
    /// A request reads or writes.
    #[error("op is '{found}', which is neither 'r' nor 'w'")]
    UnknownKind {
        /// What stands there.
        found: Box<str>,
    },
    /// The line is longer than any real one.
    #[error("the line is longer than {limit} bytes")]
    LineTooLong {
        /// The most bytes a line may have.
        limit: usize,
    },
}

/// What stands in a file, made fit for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> Box<str> {
    const MAX_CHARACTERS: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_CHARACTERS)]);
    text.chars().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect::<String>().into()
}
