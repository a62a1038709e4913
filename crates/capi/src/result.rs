// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a call ended.

use std::ffi::{CStr, c_char};

/// How a call ended. Below 0 it failed and changed nothing, and
/// ioracle_last_error() says why.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ioracle_result {
    /// Done.
    IORACLE_OK = 0,
    /// Done, and there is nothing (more) to return: the end of an iteration, no
    /// burst in sight.
    IORACLE_NONE = 1,
    /// The predictions do not include the caller's last operations.
    IORACLE_STALE = 2,
    /// An argument is wrong: NULL, out of range, not UTF-8.
    IORACLE_INVALID = -1,
    /// The handle is not, or no longer, that of such an object.
    IORACLE_DANGLING = -2,
    /// A file could not be read or written.
    IORACLE_IO = -3,
    /// The bytes are not a model, are damaged or of another version.
    IORACLE_MODEL = -4,
    /// No room: too many handles, or no memory.
    IORACLE_LIMIT = -5,
    /// A fault of this library. The object it happened to can only be freed.
    IORACLE_INTERNAL = -6,
    /// No process publishes predictions for this one.
    IORACLE_UNAVAILABLE = -7,
    /// The process that published them has ended.
    IORACLE_ENDED = -8,
    /// The call came in the middle of another one; try again later.
    IORACLE_BUSY = -9,
}

use ioracle_result::{
    IORACLE_BUSY, IORACLE_DANGLING, IORACLE_ENDED, IORACLE_INTERNAL, IORACLE_INVALID, IORACLE_IO,
    IORACLE_LIMIT, IORACLE_MODEL, IORACLE_NONE, IORACLE_OK, IORACLE_STALE, IORACLE_UNAVAILABLE,
};

/// The name of a result, such as "IORACLE_STALE"; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_result_name(result: i32) -> *const c_char {
    const NAMES: [(ioracle_result, &CStr); 12] = [
        (IORACLE_OK, c"IORACLE_OK"),
        (IORACLE_NONE, c"IORACLE_NONE"),
        (IORACLE_STALE, c"IORACLE_STALE"),
        (IORACLE_INVALID, c"IORACLE_INVALID"),
        (IORACLE_DANGLING, c"IORACLE_DANGLING"),
        (IORACLE_IO, c"IORACLE_IO"),
        (IORACLE_MODEL, c"IORACLE_MODEL"),
        (IORACLE_LIMIT, c"IORACLE_LIMIT"),
        (IORACLE_INTERNAL, c"IORACLE_INTERNAL"),
        (IORACLE_UNAVAILABLE, c"IORACLE_UNAVAILABLE"),
        (IORACLE_ENDED, c"IORACLE_ENDED"),
        (IORACLE_BUSY, c"IORACLE_BUSY"),
    ];
    let known = NAMES.iter().find(|(code, _)| *code as i32 == result);
    known.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// Why a call failed: the code that it returns and one sentence for people.
#[derive(Debug)]
pub(crate) struct ApiFailure {
    pub code: ioracle_result,
    pub message: String,
}

impl ApiFailure {
    pub fn new(code: ioracle_result, message: impl Into<String>) -> ApiFailure {
        ApiFailure { code, message: message.into() }
    }

    /// A wrong argument.
    pub fn invalid(message: impl Into<String>) -> ApiFailure {
        ApiFailure::new(IORACLE_INVALID, message)
    }
}
