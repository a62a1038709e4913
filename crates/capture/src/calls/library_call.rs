// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done around a call of a library that is found at run time.
//!
//! A call is recorded with its return code: 0, or -1 for any failure. What it requested
//! counts as moved, as in all traces of these layers; the POSIX calls inside it show
//! what was really moved.

use ioracle_spool::layout::Call;

use crate::clock;
use crate::observe::{SavedErrno, is_on};
use crate::thread::{Begun, NestedLibrary, begin_in, learning};

/// The result that is recorded.
pub(super) fn code(is_success: bool) -> i64 {
    if is_success { 0 } else { -1 }
}

/// Begins a call of a library; None: it is not recorded.
pub(super) fn begin(library: NestedLibrary) -> Option<Begun> {
    if is_on() { begin_in(library) } else { None }
}

/// Makes a real call that has begun and records it as described.
pub(super) fn observe<R: Copy>(
    library: NestedLibrary,
    mut begun: Begun,
    real: impl FnOnce() -> R,
    describe: impl FnOnce(R, &Begun, u64) -> Option<Call>,
) -> R {
    begun.restart_clock();
    let result = real();
    let end_ns = clock::now_ns();
    let errno = SavedErrno::keep();
    let call = describe(result, &begun, end_ns);
    let is_outermost = begun.is_outermost();
    begun.leave(library, end_ns, call);
    if is_outermost {
        learning::learn();
    }
    errno.put_back();
    result
}
