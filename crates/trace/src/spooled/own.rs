// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a [`Follower`](crate::Follower) does for all streams of a job, for one stream
//! whose records and definitions come from elsewhere: a thread that reads its own.

use ioracle_events::{FileId, StreamId};
use ioracle_spool::layout::{Call, DefinitionKind};

use crate::spooled::convert::{self, CallOrigin};
use crate::spooled::definitions::DefinitionNumbers;
use crate::spooled::nesting::{Finished, Nesting};
use crate::spooled::observer::{Observer, ProcessNumber};

/// One stream, from records to events.
#[derive(Debug)]
pub struct OwnStream {
    definitions: DefinitionNumbers,
    nesting: Nesting,
}

impl OwnStream {
    /// A stream of which nothing is known.
    pub fn new() -> OwnStream {
        let definitions = DefinitionNumbers::default();
        OwnStream { definitions, nesting: Nesting::default() }
    }

    /// Takes a definition; it must come before the records that name it.
    pub fn define(
        &mut self,
        kind: DefinitionKind,
        id: u64,
        payload: &[u8],
        observer: &mut impl Observer,
    ) {
        self.definitions.define(kind, id, payload, observer);
    }

    /// Takes the next record, and passes on the events whose turn it is. Times are
    /// those of the record.
    pub fn record(&mut self, call: &Call, observer: &mut impl Observer) {
        let OwnStream { definitions, nesting } = self;
        nesting.push(call, |Finished { call, selection }, _| {
            let origin = CallOrigin {
                stream: StreamId { rank: 0, thread: 0 },
                context: definitions.context(call.context, observer),
                file: definitions.file(call.file),
                object: definitions.object(call.object),
                selection: selection.as_deref(),
                process_start_ns: 0,
            };
            if let Some(event) = convert::event(call, origin) {
                observer.event(ProcessNumber(0), &event);
            }
        });
    }

    /// The identity that a file has in records; 0 for none.
    pub fn file_identity(&self, file: FileId) -> u64 {
        self.definitions.file_identity(file)
    }

    /// A path as the application has it: nothing escaped.
    pub fn path_in_application(&self, path: &str) -> Vec<u8> {
        self.definitions.untold(path)
    }
}

impl Default for OwnStream {
    fn default() -> OwnStream {
        OwnStream::new()
    }
}
