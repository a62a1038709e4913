// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts the calls that query or change metadata ([`Function::is_metadata`]). They are
//! not operations, and included in no other count except the times.

use ioracle_events::{Event, Function};

use super::{TransferTally, calls_of, duration_ns};

/// Calls on metadata so far.
#[derive(Debug, Default)]
pub struct MetadataTally {
    /// By function; the time is that of all calls, also inside calls of libraries.
    pub calls: Vec<(Function, TransferTally)>,
    /// Those that failed, mostly because there was no such file.
    pub failed: u64,
}

impl MetadataTally {
    /// Counts a call.
    pub fn add(&mut self, event: &Event) {
        calls_of(&mut self.calls, event.function).add(0, duration_ns(event));
        self.failed += u64::from(event.failed());
    }

    /// All of them.
    pub fn total(&self) -> TransferTally {
        let mut total = TransferTally::default();
        self.calls.iter().for_each(|(_, calls)| total.join(calls));
        total
    }

    /// Those that each query the file system: directory entries come many at a time,
    /// and `fstat` needs no path lookup.
    pub fn requests(&self) -> TransferTally {
        let is_request = |function: Function| {
            !matches!(function, Function::Readdir | Function::Closedir | Function::Fstat)
        };
        let mut total = TransferTally::default();
        let requests = self.calls.iter().filter(|(function, _)| is_request(*function));
        requests.for_each(|(_, calls)| total.join(calls));
        total
    }
}

#[cfg(test)]
mod tests {
    use super::super::JobTally;
    use super::super::tests::event;
    use super::*;

    #[test]
    fn calls_on_metadata_are_counted_apart() {
        let mut tally = JobTally::default();
        tally.add(&event("stat", 1, None));
        tally.add(&Event { result: -1, ..event("access", 2, None) });
        tally.add(&event("readdir", 3, None));
        assert_eq!((tally.events, tally.operations, tally.failed), (3, 0, 0));
        assert!(tally.files.is_empty());
        let counted = (tally.metadata.total().operations, tally.metadata.requests().operations);
        assert_eq!((counted, tally.metadata.failed), ((3, 2), 1));
        assert!(tally.io_ns > 0);
    }
}
