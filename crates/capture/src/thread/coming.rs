// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the entry of a call has found out, for the hook that it goes on to.

use super::is_caller_of_this;
use crate::arch;

/// Keeps the real function of the call that has just come to a row, which is known
/// by its address.
pub(crate) fn keep_real(row: usize, real: usize) {
    // SAFETY: the cell is this thread's own, and no reference to it is held.
    let cell = unsafe { &mut *arch::thread_cell() };
    (cell.real, cell.real_row, cell.real_sp) = (real, row, cell.caller_sp);
}

/// The real function of this call of the row, once. None if the entry had no need
/// to find it, or a handler that came in between has made calls of its own.
pub(crate) fn take_real(row: usize) -> Option<usize> {
    // SAFETY: the cell is this thread's own, and no reference to it is held.
    let cell = unsafe { &mut *arch::thread_cell() };
    let is_of_this = cell.real_row == row && cell.real_sp == cell.caller_sp;
    if !is_of_this || !is_caller_of_this(cell.caller_sp) {
        return None;
    }
    cell.real_row = 0;
    Some(cell.real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_entry_found_is_taken_once_and_by_this_call_alone() {
        let here = 0_u8;
        let set_sp = |sp| {
            // SAFETY: the cell is this thread's own.
            unsafe { (*arch::thread_cell()).caller_sp = sp }
        };
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
