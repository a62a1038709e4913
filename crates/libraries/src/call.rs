// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls of shims: their errors, and paths as they take them.

use std::ffi::{CString, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// As in `shims.h`.
const ERROR_BYTES: usize = 256;

/// Calls a shim, which gets room for a sentence on what went wrong.
pub(crate) fn checked(call: impl FnOnce(*mut c_char) -> c_int) -> io::Result<()> {
    let mut error = [0_u8; ERROR_BYTES];
    if call(error.as_mut_ptr().cast()) == 0 {
        return Ok(());
    }
    let length = error.iter().position(|byte| *byte == 0).unwrap_or(ERROR_BYTES);
    Err(io::Error::other(String::from_utf8_lossy(&error[..length]).into_owned()))
}

/// A path for C.
pub(crate) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}
