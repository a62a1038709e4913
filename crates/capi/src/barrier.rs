// SPDX-License-Identifier: MIT OR Apache-2.0

//! The border that every entry point runs behind: no panic crosses it, and the
//! reason of a failure stays with the thread until its next one.
//!
//! A call that succeeds costs nothing here: neither the message nor any other
//! thread-local memory is touched.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::result::{ApiFailure, ioracle_result};

/// Why this thread's last failed call failed: one sentence in UTF-8, empty if none has
/// failed. It is valid until the next call of this thread that fails, and belongs to
/// the library.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_last_error() -> *const c_char {
    // At the end of a thread its memory is gone already.
    LAST.try_with(|last| last.borrow().as_ref().map(|message| message.as_ptr()))
        .ok()
        .flatten()
        .unwrap_or(c"".as_ptr())
}

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs an entry point. A fault becomes its code and the thread's message; a
/// panic becomes `IORACLE_INTERNAL`.
pub(crate) fn guarded(body: impl FnOnce() -> Result<ioracle_result, ApiFailure>) -> ioracle_result {
    stopped(body).unwrap_or_else(|fault| {
        remember(&fault.message);
        fault.code
    })
}

/// Runs an entry point that returns a value; `otherwise` if it fails.
pub(crate) fn guarded_value<T>(otherwise: T, body: impl FnOnce() -> Result<T, ApiFailure>) -> T {
    stopped(body).unwrap_or_else(|fault| {
        remember(&fault.message);
        otherwise
    })
}

/// Turns a panic into a fault. Broken invariants do not matter: whatever was
/// being changed is behind a lock that is poisoned now.
fn stopped<T>(body: impl FnOnce() -> Result<T, ApiFailure>) -> Result<T, ApiFailure> {
    keep_panics_off_stderr();
    let outcome = quietly(|| panic::catch_unwind(AssertUnwindSafe(body)));
    outcome.unwrap_or_else(|payload| {
        let what = words_of(&*payload);
        Err(ApiFailure::new(
            ioracle_result::IORACLE_INTERNAL,
            format!("ioracle met a fault of its own ({what}); free the object and report it"),
        ))
    })
}

/// Does something whose panics are not reported. Allocates nothing once
/// [`keep_panics_off_stderr`] has been called.
pub(crate) fn quietly<T>(body: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let result = body();
    INSIDE.set(before);
    result
}

/// The application's standard error is not ours: panics behind the barrier are
/// reported by [`ioracle_last_error`] alone. Others, in a Rust program that uses
/// this crate, go to the panic hook that was set before.
pub(crate) fn keep_panics_off_stderr() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !INSIDE.get() {
                before(info);
            }
        }));
    });
}

fn words_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}

fn remember(message: &str) {
    let message = CString::new(message.replace('\0', "?")).unwrap_or_default();
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(message));
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn last_error() -> String {
        // SAFETY: the text is valid until the next failure of this thread.
        let text = unsafe { CStr::from_ptr(ioracle_last_error()) };
        text.to_str().expect("messages are UTF-8").to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        let result = guarded(|| panic!("the sky fell"));
        assert_eq!(result, ioracle_result::IORACLE_INTERNAL);
        assert!(last_error().contains("the sky fell"), "{}", last_error());
    }

    #[test]
    fn a_message_belongs_to_its_thread_and_outlives_calls_that_succeed() {
        assert_eq!(last_error(), "");
        guarded(|| Err(ApiFailure::invalid("one\0two")));
        guarded(|| Ok(ioracle_result::IORACLE_OK));
        assert_eq!(last_error(), "one?two");
        let elsewhere = std::thread::spawn(last_error).join().expect("no panic");
        assert_eq!(elsewhere, "");
    }
}
