// SPDX-License-Identifier: MIT OR Apache-2.0

//! Texts that callers pass: read only up to a bound, and checked.

use std::ffi::c_char;

use crate::result::ApiFailure;

/// Paths beyond what the kernel takes are refused.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// A text that must be there.
///
/// # Safety
///
/// `text` is NULL or ends in NUL and lives as long as the answer is used.
pub(crate) unsafe fn required<'a>(
    text: *const c_char,
    name: &str,
    max_bytes: usize,
) -> Result<&'a str, ApiFailure> {
    // SAFETY: the caller promises the same.
    unsafe { optional(text, name, max_bytes) }?
        .ok_or_else(|| ApiFailure::invalid(format!("{name} is NULL; give a text that ends in NUL")))
}

/// A text that may be NULL. At most `max_bytes` are looked at for its end.
///
/// # Safety
///
/// `text` is NULL or ends in NUL and lives as long as the answer is used.
pub(crate) unsafe fn optional<'a>(
    text: *const c_char,
    name: &str,
    max_bytes: usize,
) -> Result<Option<&'a str>, ApiFailure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it ends in NUL, and nothing behind that is looked at.
    let length = unsafe { libc::strnlen(text, max_bytes + 1) };
    if length > max_bytes {
        return Err(ApiFailure::invalid(format!("{name} is longer than {max_bytes} bytes")));
    }
    // SAFETY: that many bytes were just looked at.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(ApiFailure::invalid(format!(
            "{name} is not UTF-8 from byte {} on; use an id instead",
            error.valid_up_to()
        ))),
    }
}

/// A path that can name a file: not empty, and not one of our internal names.
pub(crate) fn path(path: &str) -> Result<&str, ApiFailure> {
    if path.is_empty() || path.starts_with('\u{1}') {
        return Err(ApiFailure::invalid("the path is empty or begins with the byte 1"));
    }
    Ok(path)
}
