// SPDX-License-Identifier: MIT OR Apache-2.0

//! What netCDF and PnetCDF have in common: files of variables, known by small
//! numbers, of which parts are read and written. Their tables are `netcdf/` and
//! `pnetcdf/`.

mod files;
mod inquiry;
mod record;
mod selection;
mod variables;

pub(super) use inquiry::{Cdf, Dialect, Question};
pub(super) use record::{
    Real, access, begin_on, close, describe, forgetting, handle, has_moved, on_file, open,
    open_unseen, redefine,
};
pub(super) use selection::{Arrays, Chosen, Numbers, array};

use core::ffi::c_int;
use ioracle_spool::Function;

/// Forgets what a copy of a library has open.
pub(super) fn forget_copy(number: u64) {
    files::forget_copy(number);
    variables::forget_copy(number);
}

/// What a program gets if it finds our functions without having the library:
/// NC_ENOTBUILT, in both.
pub(super) const NOT_THERE: c_int = -128;

/// The function that rows record, by a name that was put together.
pub(super) const fn function(name: &str) -> Function {
    match Function::named(name) {
        Some(function) => function,
        None => panic!("records have no number for this function"),
    }
}

/// Rows of one family, which differ only in the type of the data: `nc_put_vara_int`,
/// `ncmpi_put_vara_int_all`.
macro_rules! typed {
    ($before:expr, [$($type:ident)*], $after:expr, $arguments:tt => |$library:ident, $real:ident| $body:expr) => {
        $(
            $crate::library::foreign! {
                $type = concat!($before, "_", stringify!($type), $after),
                $arguments -> c_int, NOT_THERE => |$library, $real| $body
            }
        )*
    };
}
pub(super) use typed;
