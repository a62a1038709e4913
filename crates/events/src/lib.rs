// SPDX-License-Identifier: MIT OR Apache-2.0

//! The vocabulary of ioracle: plain values that every other crate uses.
//!
//! An [`Event`] is one finished I/O call of the application, whatever its
//! layer. An [`Operation`] is an event that enters the symbol stream: an atomic
//! request, successful, no seek. A [`Prediction`] is a ranked statement on one
//! future operation.
//!
//! Nothing here reads a file, a clock or the environment.

#![forbid(unsafe_code)]

mod application;
mod buffered;
mod classic_netcdf;
mod clue;
mod escape;
mod event;
mod extent;
mod map;
mod mpi;
mod operation;
mod prediction;
mod variable;

pub use application::{APPLICATION_VARIABLES, ProcessIdentity, application, is_interpreter};
pub use classic_netcdf::{ClassicHeader, ClassicHeaderError, ClassicVariable};
pub use clue::Clue;
pub use escape::{escape_into, path_text, plain, readable, unescaped};
pub use event::{ContextId, Event, FileId, MappedFor, StreamId, Whence};
pub use extent::{AccessExtents, Extent, ExtentSet, LibraryAccess};
pub use ioracle_functions::{Access, Function, Layer};
pub use map::{FastMap, FastSet};
pub use mpi::MpiInternals;
pub use operation::{Level, Operation, OperationFilter};
pub use prediction::{
    Burst, ContextSymbol, PredictedFile, Prediction, PredictionSource, Spread, WithinTime,
};
pub use variable::{SEPARATOR, VariableContext, VariablePart, Variables};
