// SPDX-License-Identifier: MIT OR Apache-2.0

//! What calls do, and their names.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use ioracle_events::{Access, Function, Layer};

use crate::barrier::guarded_value;
use crate::result::ApiFailure;
use crate::text;

/// What a call does.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ioracle_access {
    /// Opens or creates a file.
    IORACLE_OPEN = 1,
    /// Closes a file.
    IORACLE_CLOSE = 2,
    /// Moves data from a file.
    IORACLE_READ = 3,
    /// Moves data to a file.
    IORACLE_WRITE = 4,
    /// Forces data to storage.
    IORACLE_SYNC = 5,
    /// Sets the length of a file.
    IORACLE_TRUNCATE = 6,
    /// Only moves a position; never predicted.
    IORACLE_SEEK = 7,
    /// Works on an object, moves no data itself; never predicted.
    IORACLE_DEFINE = 8,
}

/// The rows of all tables on accesses: name and the plain POSIX call.
const ACCESSES: [(ioracle_access, Access, &CStr, &str); 8] = [
    (ioracle_access::IORACLE_OPEN, Access::Open, c"open", "open"),
    (ioracle_access::IORACLE_CLOSE, Access::Close, c"close", "close"),
    (ioracle_access::IORACLE_READ, Access::Read, c"read", "pread"),
    (ioracle_access::IORACLE_WRITE, Access::Write, c"write", "pwrite"),
    (ioracle_access::IORACLE_SYNC, Access::Sync, c"sync", "fsync"),
    (ioracle_access::IORACLE_TRUNCATE, Access::Truncate, c"truncate", "ftruncate"),
    (ioracle_access::IORACLE_SEEK, Access::Seek, c"seek", "lseek"),
    (ioracle_access::IORACLE_DEFINE, Access::Define, c"define", "posix_fadvise"),
];

/// The word for an access, such as "read"; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_access_name(access: u32) -> *const c_char {
    let row = ACCESSES.iter().find(|(code, ..)| *code as u32 == access);
    row.map_or(c"unknown", |(_, _, name, _)| name).as_ptr()
}

/// The code of a function by the name it has in traces, such as "pread",
/// "fwrite", "mpi_read_at" or "H5Dwrite"; 0 if there is none of that name.
/// Codes stay the same within a version of the interface.
///
/// # Safety
///
/// `name` is NULL or a text that ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_function(name: *const c_char) -> u32 {
    guarded_value(0, || {
        // SAFETY: the caller promises it.
        let name = unsafe { text::required(name, "name", 256) }?;
        let function = Function::all().find(|function| function.name() == name);
        function.map(code_of_function).ok_or_else(|| {
            ApiFailure::invalid(format!("there is no function '{name}'; docs/c-api.md lists them"))
        })
    })
}

/// The name of a function by its code; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_function_name(function: u32) -> *const c_char {
    // Rust strings do not end in NUL; these do.
    static NAMES: OnceLock<String> = OnceLock::new();
    let Some(wanted) = function_of_code(function) else { return c"unknown".as_ptr() };
    let names = NAMES
        .get_or_init(|| Function::all().map(|function| format!("{}\0", function.name())).collect());
    let position = Function::all()
        .take_while(|function| *function != wanted)
        .map(|function| function.name().len() + 1)
        .sum::<usize>();
    names[position..].as_ptr().cast()
}

/// What a function does, an ioracle_access; 0 for a number that is not a code.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_function_access(function: u32) -> u32 {
    function_of_code(function).map_or(0, |function| code_of_access(function.access()))
}

/// The code of an access.
pub(crate) fn code_of_access(access: Access) -> u32 {
    let row = ACCESSES.iter().find(|(_, ours, ..)| *ours == access);
    row.map_or(0, |(code, ..)| *code as u32)
}

/// The code of a function: 0 is free to mean none.
pub(crate) fn code_of_function(function: Function) -> u32 {
    u32::from(u16::from(function)) + 1
}

/// The function of a code.
pub(crate) fn function_of_code(code: u32) -> Option<Function> {
    let row = u16::try_from(code.checked_sub(1)?).ok()?;
    Function::try_from(row).ok()
}

/// The function that an observation means: the one it names, which must do
/// what it says, or the plain POSIX call.
pub(crate) fn observed_function(access: u32, function: u32) -> Result<Function, ApiFailure> {
    if function == 0 {
        let row = ACCESSES.iter().find(|(code, ..)| *code as u32 == access);
        let plain = row.and_then(|(.., name)| Function::from_name(Layer::Posix, name));
        return plain.ok_or_else(|| {
            ApiFailure::invalid(format!("access {access} is none of enum ioracle_access"))
        });
    }
    let named = function_of_code(function).ok_or_else(|| {
        ApiFailure::invalid(format!("function {function} is no code that ioracle_function() gives"))
    })?;
    if access != 0 && access != code_of_access(named.access()) {
        return Err(ApiFailure::invalid(format!(
            "the access is {access}, yet {} is of access {}; set access to 0 to go by the function",
            named.name(),
            code_of_access(named.access())
        )));
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: *const c_char) -> &'static str {
        // SAFETY: names are static.
        unsafe { CStr::from_ptr(text) }.to_str().expect("names are UTF-8")
    }

    #[test]
    fn every_function_has_a_code_a_name_and_an_access() {
        for function in Function::all() {
            let code = code_of_function(function);
            assert_eq!(words(ioracle_function_name(code)), function.name());
            assert_eq!(
                words(ioracle_access_name(ioracle_function_access(code))),
                function.access().name()
            );
            assert_eq!(observed_function(0, code).unwrap(), function);
        }
    }

    #[test]
    fn an_access_alone_means_the_plain_call() {
        for (code, access, ..) in ACCESSES {
            assert_eq!(observed_function(code as u32, 0).unwrap().access(), access);
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for (access, function) in [(0, 0), (9, 0), (u32::MAX, 0), (0, u32::MAX), (0, 60_000)] {
            assert!(observed_function(access, function).is_err(), "{access} {function}");
        }
        assert_eq!(words(ioracle_function_name(0)), "unknown");
        assert_eq!(words(ioracle_access_name(99)), "unknown");
        // SAFETY: the texts are static.
        let codes =
            unsafe { [ioracle_function(std::ptr::null()), ioracle_function(c"x".as_ptr())] };
        assert_eq!(codes, [0, 0]);
    }

    #[test]
    fn a_function_that_does_something_else_is_refused() {
        // SAFETY: the text is static.
        let read = unsafe { ioracle_function(c"fread".as_ptr()) };
        assert!(observed_function(ioracle_access::IORACLE_WRITE as u32, read).is_err());
        assert!(observed_function(ioracle_access::IORACLE_READ as u32, read).is_ok());
    }
}
