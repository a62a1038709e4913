// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compares contexts with what `backtrace()` finds. Slow and, like `backtrace()`, not
//! safe in signal handlers: for tests, and for users who ask for it.

use core::ffi::{c_int, c_void};
use core::mem::transmute;

use super::object::{MAX_OWN_FRAMES, is_own};
use super::{Caller, MAX_FRAMES, Walker};

type Backtrace = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;

/// The C library's function; null where it has none.
pub(super) fn backtrace() -> Option<Backtrace> {
    // SAFETY: a name that ends with zero; the type is that of <execinfo.h>.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"backtrace".as_ptr());
        transmute::<*mut c_void, Option<Backtrace>>(found)
    }
}

/// Whether the context that was found for a call is that of the return
/// addresses that a walk without known paths finds, and these are the ones that
/// `backtrace()` finds. To be called from the function that `caller` has called.
pub fn agrees_with_backtrace(walker: &mut Walker, caller: Caller, context: u64) -> bool {
    let Some(backtrace) = backtrace() else { return false };
    let mut found = [core::ptr::null_mut(); MAX_FRAMES + MAX_OWN_FRAMES];
    // SAFETY: the length is that of the array.
    let n_found = unsafe { backtrace(found.as_mut_ptr(), found.len() as c_int) };
    let found = found.get(..n_found as usize).unwrap_or_default();
    let (walked, addresses) = walker.addresses(caller);
    let Some(first) = addresses.first() else { return false };
    let Some(start) = found.iter().position(|&address| address as usize == *first) else {
        return false;
    };
    let expected = found.iter().skip(start).map(|&address| address as usize);
    let expected = expected.filter(|&address| !is_own(address)).take(MAX_FRAMES);
    walked == context && expected.eq(addresses.iter().copied())
}
