// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which local file a name given to netCDF means.

use core::ffi::c_char;

use crate::sys;

/// The path of a local file; None for what is on a network (`https://…`, `s3://…`).
/// `file://` is not part of the path.
pub(super) fn local(path: *const c_char) -> Option<*const c_char> {
    let mut start = [0_u8; 16];
    let n_copied = sys::copy_memory(path as usize, &mut start).unwrap_or(0);
    let name = start.get(..n_copied).unwrap_or_default();
    let scheme = name.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(0);
    match name.split_at_checked(scheme) {
        Some((b"", _)) | None => Some(path),
        Some((b"file", rest)) if rest.starts_with(b"://") => Some(path.wrapping_add(7)),
        Some((_, rest)) if rest.starts_with(b"://") => None,
        Some(_) => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::CStr;

    use super::*;

    #[test]
    fn only_local_names_are_paths() {
        let check = |path: &CStr, expected: Option<&str>| {
            // SAFETY: points into the C string.
            let found = local(path.as_ptr()).map(|path| unsafe { CStr::from_ptr(path) });
            assert_eq!(found.map(|path| path.to_str().unwrap()), expected, "{path:?}");
        };
        for path in [c"a.nc", c"/scratch/run/a.nc", c"run:7.nc", c"a", c"", c"s3:/b"] {
            check(path, path.to_str().ok());
        }
        check(c"file:///scratch/a.nc", Some("/scratch/a.nc"));
        check(c"https://server/a.nc", None);
        check(c"s3://bucket/a.nc", None);
        assert_eq!(local(core::ptr::null()), Some(core::ptr::null()));
    }
}
