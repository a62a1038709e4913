// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known about variables, so that the library is asked only once for each while
//! its file is open and nothing is renamed. About two thousand are known at a time;
//! beyond that, older ones are asked for again.

use core::ffi::c_int;

use super::files;
use super::inquiry::Cdf;
use crate::calls::seqlock_table::SeqlockTable;
use crate::files::object_identity;

static KNOWN: SeqlockTable<2048, 3> = SeqlockTable::empty();

/// A variable of an open file.
#[derive(Clone, Copy, Default)]
pub(super) struct Variable {
    /// Identity of its name.
    pub(super) object: u64,
    pub(super) n_dims: usize,
    /// Bytes of an item in the file.
    pub(super) item_bytes: u64,
}

/// A variable that the library has just accepted.
pub(super) fn find(cdf: Cdf, ncid: c_int, varid: c_int) -> Option<Variable> {
    known(cdf, ncid, varid).or_else(|| ask(cdf, ncid, varid))
}

/// A variable as far as it is known already.
pub(super) fn known(cdf: Cdf, ncid: c_int, varid: c_int) -> Option<Variable> {
    let [object, n_dims, item_bytes] = KNOWN.get(key(cdf, ncid, varid)?)?;
    Some(Variable { object, n_dims: n_dims as usize, item_bytes })
}

/// What is known about a file's variables may have changed.
pub(super) fn forget(cdf: Cdf, ncid: c_int) {
    KNOWN.forget(|key| {
        key >> COPY_BIT == cdf.copy.number() && files::is_in((key >> VARIABLE_BITS) as c_int, ncid)
    });
}

/// Forgets all variables of a copy.
pub(super) fn forget_copy(number: u64) {
    KNOWN.forget(|key| key >> COPY_BIT == number);
}

#[cold]
fn ask(cdf: Cdf, ncid: c_int, varid: c_int) -> Option<Variable> {
    let object = cdf.with_variable_name(ncid, varid, object_identity)?;
    let n_dims = cdf.n_dims(ncid, varid)?;
    let item_bytes = cdf.item_bytes(ncid, varid).unwrap_or(0);
    if object != 0
        && let Some(key) = key(cdf, ncid, varid)
    {
        KNOWN.put_anyway(key, [object, n_dims as u64, item_bytes]);
    }
    Some(Variable { object, n_dims, item_bytes })
}

const VARIABLE_BITS: u32 = 28;
const COPY_BIT: u32 = 60;

/// Copy, file and variable in one word; None for numbers that are too large.
fn key(cdf: Cdf, ncid: c_int, varid: c_int) -> Option<u64> {
    let varid = u64::try_from(varid).ok().filter(|varid| varid >> VARIABLE_BITS == 0)?;
    Some(cdf.copy.number() << COPY_BIT | u64::from(ncid as u32) << VARIABLE_BITS | varid)
}
