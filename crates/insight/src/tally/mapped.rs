// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of a file was mapped. What a program then reads and writes in memory is not
//! seen, so only an upper bound is known.

use ioracle_events::{Event, MappedFor};

/// Bytes of a file that were mapped, between the first and the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct MappedBytes {
    reading: Option<(u64, u64)>,
    writing: Option<(u64, u64)>,
}

impl MappedBytes {
    /// Counts an event, if it is a mapping.
    pub fn add(&mut self, event: &Event) {
        let Some(mapped_for) = event.mapped_for() else { return };
        let start = event.offset.unwrap_or(0);
        let end = start.saturating_add(event.requested);
        let extent = match mapped_for {
            MappedFor::Reading => &mut self.reading,
            MappedFor::Writing => &mut self.writing,
        };
        let (first, last) = extent.unwrap_or((start, end));
        *extent = Some((first.min(start), last.max(end)));
    }

    /// Bytes that may have been read only.
    pub fn for_reading(&self) -> u64 {
        length(self.reading)
    }

    /// Bytes that may have been written.
    pub fn for_writing(&self) -> u64 {
        length(self.writing)
    }
}

fn length(extent: Option<(u64, u64)>) -> u64 {
    extent.map_or(0, |(first, end)| end - first)
}
