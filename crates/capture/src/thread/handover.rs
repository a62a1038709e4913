// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the entry of a call has found out, for the hook that it goes on to.

use core::sync::atomic::Ordering::Relaxed;

use super::{cell, is_caller_of_this};

/// Keeps the real function of the call that has just come to a row, which is known
/// by its address.
pub(crate) fn keep_real(row: usize, real: usize) {
    let cell = cell();
    cell.real.store(real, Relaxed);
    cell.real_row.store(row, Relaxed);
    cell.real_sp.store(cell.caller_sp.load(Relaxed), Relaxed);
}

/// The real function of this call of the row, once. None if the entry had no need
/// to find it, or a handler that came in between has made calls of its own.
pub(crate) fn take_real(row: usize) -> Option<usize> {
    let cell = cell();
    let sp = cell.caller_sp.load(Relaxed);
    let is_of_this = cell.real_row.load(Relaxed) == row && cell.real_sp.load(Relaxed) == sp;
    if !is_of_this || !is_caller_of_this(sp) {
        return None;
    }
    cell.real_row.store(0, Relaxed);
    Some(cell.real.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_entry_found_is_taken_once_and_by_this_call_alone() {
        let here = 0_u8;
        let set_sp = |sp| cell().caller_sp.store(sp, Relaxed);
        let sp = &raw const here as usize + 256;
        set_sp(sp);
        keep_real(7, 1000);
        assert_eq!((take_real(8), take_real(7), take_real(7)), (None, Some(1000), None));
        // A handler has come in between: it left where it was called.
        keep_real(7, 2000);
        set_sp(sp - 64 * 1024);
        assert_eq!(take_real(7), None);
        keep_real(7, 3000);
        assert_eq!(take_real(7), None);
    }
}
