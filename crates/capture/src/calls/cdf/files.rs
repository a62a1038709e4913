// SPDX-License-Identifier: MIT OR Apache-2.0

//! The files that are open, by copy of the library and number.
//!
//! netCDF numbers files in the upper half, and their groups in the lower one; a group's
//! number is not here, its file's is. Numbers that are not here are neither asked about
//! nor recorded: they are closed, bad, in memory only, or were opened where we did not
//! see it. About a thousand are known at once.

use core::ffi::c_int;

use super::inquiry::Cdf;
use super::variables;
use crate::calls::seqlock_table::SeqlockTable;

static OPEN: SeqlockTable<2048, 1> = SeqlockTable::empty();

/// A file was opened.
pub(super) fn opened(cdf: Cdf, ncid: c_int, file: u64) {
    // What was there before was closed where we did not see it.
    variables::forget(cdf, ncid);
    OPEN.put(key(cdf, ncid), [file]);
}

/// The identity of the file that a number belongs to.
pub(super) fn find(cdf: Cdf, ncid: c_int) -> Option<u64> {
    let found = OPEN.get(key(cdf, ncid)).or_else(|| OPEN.get(key(cdf, root(ncid)?)));
    found.map(|[file]| file)
}

/// A file is about to be closed. Before the real call: after it another thread
/// may be given the same number.
pub(super) fn forget(cdf: Cdf, ncid: c_int) -> Option<u64> {
    let [file] = OPEN.take(key(cdf, ncid))?;
    variables::forget(cdf, ncid);
    Some(file)
}

/// The number of the file in which a group has a number. Small ones are those of
/// versions without groups.
fn root(ncid: c_int) -> Option<c_int> {
    let root = ncid & 0x7fff_0000;
    (root != 0 && root != ncid).then_some(root)
}

/// The number of the file that a number belongs to.
pub(super) fn number_of_file(cdf: Cdf, ncid: c_int) -> c_int {
    let is_open = OPEN.get(key(cdf, ncid)).is_some();
    root(ncid).filter(|_| !is_open).unwrap_or(ncid)
}

/// Whether a number is a file's own or that of one of its groups.
pub(super) fn is_in(ncid: c_int, file: c_int) -> bool {
    ncid == file || root(ncid) == Some(file)
}

/// Forgets all files of a copy.
pub(super) fn forget_copy(number: u64) {
    OPEN.forget(|key| key >> COPY_BIT == number);
}

const COPY_BIT: u32 = 32;

fn key(cdf: Cdf, ncid: c_int) -> u64 {
    cdf.copy.number() << COPY_BIT | u64::from(ncid as u32)
}
