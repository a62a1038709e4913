// SPDX-License-Identifier: MIT OR Apache-2.0

//! A prediction as callers receive it: a plain value without pointers, so that
//! nothing about it can dangle, whatever is observed in the meantime.

use std::ffi::c_char;

use ioracle_events::{ContextSymbol, Prediction, Spread};

use crate::access::{code_of_access, code_of_function};

/// Room for the path of a predicted file, its final NUL included.
pub const IORACLE_PATH_BYTES: usize = 512;

/// How far a predicted number may be off: what was seen where it was predicted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ioracle_spread {
    /// Smallest value seen.
    pub min: f64,
    /// Largest value seen.
    pub max: f64,
    /// Standard deviation of the values seen.
    pub deviation: f64,
}

/// What one future operation is expected to be.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ioracle_prediction {
    /// What it does, an ioracle_access.
    pub access: u32,
    /// The function it calls; ioracle_function_name() has its name.
    pub function: u32,
    /// Context and function as a small number; UINT32_MAX for one never seen.
    pub symbol: u32,
    /// Whether `offset` is known.
    pub has_offset: bool,
    /// Whether the file is named but was not used before (in this run).
    pub is_new_file: bool,
    /// Whether nothing known is expected: then the prediction is the same file,
    /// contiguous, the last size, at once.
    pub is_unseen: bool,
    /// Reserved, 0.
    pub reserved_byte: u8,
    /// The id that the caller gave the file; 0 for none.
    pub file: u64,
    /// Where a data access starts, if `has_offset`.
    pub offset: u64,
    /// Bytes it moves; 0 for operations that move none.
    pub size: u64,
    /// From now (the end of the last operation) to its start.
    pub from_now_ns: u64,
    /// From the end of the operation before it to its start.
    pub interarrival_ns: u64,
    /// How long the call itself takes.
    pub io_time_ns: u64,
    /// That this operation comes on this file at this place; between 0 and 1.
    /// Further ahead also that all operations up to it come, and that new files
    /// on the way have the expected names.
    pub probability: f64,
    /// Spread of `size`.
    pub size_spread: ioracle_spread,
    /// Spread of the distance between predicted and seen offsets.
    pub offset_spread: ioracle_spread,
    /// Spread of `interarrival_ns`.
    pub interarrival_spread: ioracle_spread,
    /// Spread of `io_time_ns`.
    pub io_time_spread: ioracle_spread,
    /// That this operation comes, on any file, and all up to it; never less than
    /// `probability`. In a set of predictions they add up to at most 1.
    pub operation_probability: f64,
    /// Reserved, 0: later versions put what they add here.
    pub reserved: [u64; 6],
    /// Length of the path; 0 if it is not known. From IORACLE_PATH_BYTES on, `path` is
    /// empty, because half a path would name another file.
    pub path_bytes: u64,
    /// The path of the file, ends in NUL.
    pub path: [c_char; IORACLE_PATH_BYTES],
}

/// The file of a prediction, in the words of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PredictedName<'a> {
    /// The caller's id; 0 for none.
    pub id: u64,
    /// The path; empty if not known.
    pub path: &'a str,
    /// Not used before in this run.
    pub is_new: bool,
}

impl ioracle_prediction {
    /// A prediction in the words of the interface.
    pub(crate) fn new(stated: &Prediction, name: PredictedName<'_>) -> ioracle_prediction {
        ioracle_prediction {
            access: code_of_access(stated.function.access()),
            function: code_of_function(stated.function),
            symbol: stated.symbol.0,
            has_offset: stated.offset.is_some(),
            is_new_file: name.is_new,
            is_unseen: stated.symbol == ContextSymbol::UNSEEN,
            reserved_byte: 0,
            file: name.id,
            offset: stated.offset.unwrap_or(0),
            size: stated.size,
            from_now_ns: stated.from_now_ns,
            interarrival_ns: stated.interarrival_ns,
            io_time_ns: stated.io_time_ns,
            probability: stated.probability,
            size_spread: stated.size_spread.into(),
            offset_spread: stated.offset_spread.into(),
            interarrival_spread: stated.interarrival_spread.into(),
            io_time_spread: stated.io_time_spread.into(),
            operation_probability: stated.operation_probability,
            reserved: [0; 6],
            path_bytes: name.path.len() as u64,
            path: copied(name.path.as_bytes()),
        }
    }
}

impl From<Spread> for ioracle_spread {
    fn from(spread: Spread) -> ioracle_spread {
        ioracle_spread { min: spread.min, max: spread.max, deviation: spread.deviation }
    }
}

/// Sets the path of a prediction; one that does not fit is left out.
pub(crate) fn set_path(prediction: &mut ioracle_prediction, path: &[u8]) {
    prediction.path_bytes = path.len() as u64;
    prediction.path = copied(path);
}

fn copied(path: &[u8]) -> [c_char; IORACLE_PATH_BYTES] {
    let mut room = [0; IORACLE_PATH_BYTES];
    if path.len() < IORACLE_PATH_BYTES {
        for (place, byte) in room.iter_mut().zip(path) {
            *place = *byte as c_char;
        }
    }
    room
}
