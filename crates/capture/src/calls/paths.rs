// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls on paths.

use core::ffi::{c_char, c_int};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::files::NamedPath;
use crate::known_paths;
use crate::observe::{call, is_on, observe};

/// A call on a path relative to a directory.
pub(super) fn on_path<R: Copy + Into<i64>>(
    function: Function,
    directory: c_int,
    path: *const c_char,
    requested: u64,
    real: impl FnOnce() -> R,
) -> R {
    if !is_on() {
        return real();
    }
    observe(real, |result| {
        let result = result.into();
        let file = NamedPath { directory, path }.identity_after(result >= 0)?;
        Some(Call { requested, ..call(function, file, -1, result) })
    })
}

/// `rename`, after which a link that is changed to the new name leads to the same file
/// under another name.
pub(super) fn rename(directory: c_int, from: *const c_char, real: impl FnOnce() -> c_int) -> c_int {
    let result = on_path(Function::Rename, directory, from, 0, real);
    known_paths::forget_all();
    result
}

/// A call after which relative paths lead elsewhere.
pub(super) fn change_directory(real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    known_paths::forget_all();
    result
}

/// `unlinkat`, which also removes directories.
pub(super) fn unlink_at(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let is_directory = flags & libc::AT_REMOVEDIR != 0;
    let function = if is_directory { Function::Rmdir } else { Function::Unlink };
    on_path(function, directory, path, 0, real)
}
