// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events for tests that write traces.

use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};

/// The `n`th write of a thread: 100 bytes behind the last, for 5 ns.
pub fn write(process: u32, thread: u32, n: u64, start_ns: u64) -> Event {
    Event {
        stream: StreamId { rank: process, thread },
        sequence: n,
        function: Function::from_name(Layer::Posix, "write").unwrap(),
        context: ContextId(1),
        file: FileId(1),
        handle: 3,
        offset: Some(100 * n),
        requested: 100,
        result: 100,
        start_ns,
        end_ns: start_ns + 5,
        depth: 0,
        detail: "".into(),
    }
}
