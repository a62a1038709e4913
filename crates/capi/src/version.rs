// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which version of the interface this is.

use std::ffi::c_char;

/// Changes when programs must be compiled again.
pub const IORACLE_VERSION_MAJOR: u32 = 0;
/// Changes when something was added.
pub const IORACLE_VERSION_MINOR: u32 = 1;
/// Changes with bug fixes.
pub const IORACLE_VERSION_PATCH: u32 = 0;

/// The version of the library that is loaded, such as "0.1.0"; compare it with
/// the macros to find out whether header and library belong together.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macros_are_the_version_of_the_package() {
        let macros =
            format!("{IORACLE_VERSION_MAJOR}.{IORACLE_VERSION_MINOR}.{IORACLE_VERSION_PATCH}");
        assert_eq!(macros, env!("CARGO_PKG_VERSION"));
    }
}
