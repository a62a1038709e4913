// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which events enter the symbol stream.
//!
//! The atomic requests do: POSIX and stdio opens, closes, data accesses, syncs
//! and truncations, at whatever depth. An MPI-IO or high-level data call is an
//! operation only if no data operation happened inside it, which is known when
//! it has ended: an enclosing call precedes the nested ones in the order of
//! events, so [`OperationFilter`] holds it back until an event comes that it
//! does not enclose. The parts of one call are operations if the first is: what
//! happened inside the call happened for all of them.

use crate::event::{ContextId, Event, FileId};
use crate::function::{Access, Function, Layer};

/// An event that enters the symbol stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The function that was called.
    pub function: Function,
    /// The call stack.
    pub context: ContextId,
    /// The path it worked on.
    pub file: FileId,
    /// Descriptor or library handle; -1 for none.
    pub handle: i64,
    /// Byte position at which a data access starts.
    pub offset: Option<u64>,
    /// Bytes that really moved; 0 for operations that move none.
    pub size: u64,
    /// For opens: every write goes to the end of the file.
    pub append: bool,
    /// For opens: the file was cut to length 0. For truncations: always.
    pub truncated_to: Option<u64>,
    /// Start of the call, nanoseconds since the start of the process.
    pub start_ns: u64,
    /// End of the call.
    pub end_ns: u64,
}

impl Operation {
    /// What the call did.
    pub fn access(&self) -> Access {
        self.function.access()
    }

    /// The byte after the last one accessed, for data accesses with a position.
    pub fn end_offset(&self) -> Option<u64> {
        self.offset.map(|offset| offset.saturating_add(self.size))
    }
}

impl From<&Event> for Operation {
    fn from(event: &Event) -> Operation {
        let truncated_to = match event.function.access() {
            Access::Open if event.opens_truncated() => Some(0),
            Access::Truncate => Some(event.requested),
            _ => None,
        };
        Operation {
            function: event.function,
            context: event.context,
            file: event.file,
            handle: event.handle,
            offset: event.offset.filter(|_| event.function.access().is_data()),
            size: event.transferred(),
            append: event.opens_for_append(),
            truncated_to,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
        }
    }
}

/// Picks the operations out of the events of one stream, in order.
///
/// Only the innermost enclosing data call is held back: a data call inside
/// another one already tells that the outer is no operation.
#[derive(Clone, Debug, Default)]
pub struct OperationFilter {
    held: Option<Held>,
}

/// An enclosing data call that becomes an operation if nothing inside it does.
#[derive(Clone, Debug)]
struct Held {
    depth: u32,
    operation: Operation,
}

impl OperationFilter {
    /// Takes the next event of the stream and hands each operation that is now
    /// known to `emit`.
    pub fn push(&mut self, event: &Event, mut emit: impl FnMut(Operation)) {
        let mut is_operation = !event.is_further_part();
        if let Some(held) = self.held.take_if(|held| held.depth >= event.depth) {
            is_operation |= held.depth == event.depth;
            emit(held.operation);
        }
        if event.failed() {
            return;
        }
        let access = event.function.access();
        match event.function.layer() {
            Layer::Posix | Layer::Stdio if access.is_atomic() => {
                if access.is_data() {
                    self.held = None;
                }
                emit(Operation::from(event));
            }
            Layer::MpiIo | Layer::HighLevel if access.is_data() && is_operation => {
                let operation = Operation::from(event);
                self.held = Some(Held { depth: event.depth, operation });
            }
            _ => {}
        }
    }

    /// Hands over what is still held back at the end of the stream.
    pub fn finish(&mut self, emit: impl FnOnce(Operation)) {
        if let Some(held) = self.held.take() {
            emit(held.operation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StreamId;

    /// Names with a point per enclosing call before them and `+` behind those of
    /// further parts become the names of operations.
    fn check(calls: &str, expected: &str) {
        let mut filter = OperationFilter::default();
        let mut told = Vec::new();
        for call in calls.split(' ') {
            let depth = call.chars().take_while(|&c| c == '.').count();
            let name = call.trim_start_matches('.').trim_end_matches('+');
            let layers = [Layer::Posix, Layer::MpiIo, Layer::HighLevel];
            let function = layers.iter().find_map(|&layer| Function::from_name(layer, name));
            let event = Event {
                stream: StreamId { rank: 0, thread: 0 },
                sequence: 0,
                function: function.expect(name),
                context: ContextId(1),
                file: FileId(1),
                handle: 3,
                offset: None,
                requested: 8,
                result: 0,
                start_ns: 0,
                end_ns: 0,
                depth: depth as u32,
                detail: if call.ends_with('+') { "x part=2" } else { "x" }.into(),
            };
            filter.push(&event, |operation| told.push(operation.function.name()));
        }
        filter.finish(|operation| told.push(operation.function.name()));
        assert_eq!(told.join(" "), expected, "{calls}");
    }

    #[test]
    fn a_call_of_a_library_is_an_operation_if_nothing_inside_it_is() {
        check("H5Dwrite .mpi_write_at ..pwrite H5Dwrite H5Dread", "pwrite H5Dwrite H5Dread");
        check("H5Dwrite .mpi_write_at H5Dwrite", "mpi_write_at H5Dwrite");
    }

    #[test]
    fn parts_of_a_call_are_operations_if_the_first_is() {
        check("H5Dwrite .pwrite H5Dwrite+ H5Dwrite+ close", "pwrite close");
        check("H5Dwrite .mpi_write_at H5Dwrite+ H5Dwrite+", "mpi_write_at");
        check("H5Dwrite H5Dwrite+ H5Dwrite+ close", "H5Dwrite H5Dwrite H5Dwrite close");
        check("H5Dwrite .pwrite H5Dwrite+ H5Dwrite", "pwrite H5Dwrite");
    }
}
