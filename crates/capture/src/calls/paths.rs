// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls on paths.

use core::ffi::{c_char, c_int};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::files::NamedPath;
use crate::observe::{call, is_on, observe};

/// A call on a path relative to a directory.
pub(super) fn on_path(
    function: Function,
    directory: c_int,
    path: *const c_char,
    requested: u64,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !is_on() {
        return real();
    }
    observe(real, |result| {
        let file = NamedPath { directory, path }.identity()?;
        Some(Call { requested, ..call(function, file, -1, result.into()) })
    })
}

/// `unlinkat`, which also removes directories; those are not recorded.
pub(super) fn unlink_at(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if flags & libc::AT_REMOVEDIR != 0 {
        return real();
    }
    on_path(Function::Unlink, directory, path, 0, real)
}
