// SPDX-License-Identifier: MIT OR Apache-2.0

//! At which height of the I/O stack a stream is looked at.

use crate::event::Event;
use crate::operation::{Operation, OperationFilter};
use crate::variable::Variables;

/// Which events of a stream are its operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The atomic requests: bytes of files.
    #[default]
    Bytes,
    /// Data calls of HDF5, netCDF and PnetCDF: parts of variables.
    Variables,
}

/// Picks the operations of a level out of the events of one stream, in order.
#[derive(Clone, Debug)]
pub enum Picker {
    /// See [`Level::Bytes`].
    Bytes(OperationFilter),
    /// See [`Level::Variables`].
    Variables(Box<Variables>),
}

impl Picker {
    /// A picker that has seen nothing.
    pub fn new(level: Level) -> Picker {
        match level {
            Level::Bytes => Picker::Bytes(OperationFilter::default()),
            Level::Variables => Picker::Variables(Box::default()),
        }
    }

    /// Takes the next event and hands each operation that is now known to `emit`.
    pub fn push(&mut self, event: &Event, emit: impl FnMut(Operation)) {
        match self {
            Picker::Bytes(filter) => filter.push(event, emit),
            Picker::Variables(variables) => variables.access(event).into_iter().for_each(emit),
        }
    }

    /// Hands over what is still held back at the end of the stream.
    pub fn finish(&mut self, emit: impl FnOnce(Operation)) {
        if let Picker::Bytes(filter) = self {
            filter.finish(emit);
        }
    }

    /// The variables that operations name in the place of files.
    pub fn variables(&self) -> Option<&Variables> {
        match self {
            Picker::Bytes(_) => None,
            Picker::Variables(variables) => Some(variables),
        }
    }
}
