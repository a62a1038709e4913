// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of netCDF. Calls of the Fortran library and of netCDF's own older
//! interface come to these functions.
//!
//! Files in memory (`nc_open_mem`) are not files, and calls on them pass through; their
//! rows exist because they may be given the number of a closed file.

use core::ffi::{c_char, c_int};

use ioracle_spool::Function;

use crate::calls::cdf::{self, Chosen, Dialect, NOT_THERE, Numbers, function, typed};
use crate::library::{foreign, library};
use crate::sys;
use crate::thread::NestedLibrary;

static NETCDF: Dialect = Dialect {
    library: NestedLibrary::NetCdf,
    names: &[
        c"nc_inq_varname",
        c"nc_inq_varndims",
        c"nc_inq_vartype",
        c"nc_inq_vardimid",
        c"nc_inq_dimlen",
        c"nc_inq_type",
        c"nc_inq_grpname_full",
        c"",
        c"",
    ],
    local_path,
};

/// An argument that only passes through; also a size or an MPI communicator,
/// which is a pointer or an int.
type Word = usize;
/// Where the number of an opened file is stored.
type Out = *const c_int;

library! {
    missing NOT_THERE;

    [nc_open] (path: *const c_char, mode: c_int, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcOpen, path, ncid, &real);
    [nc__open] (path: *const c_char, mode: c_int, chunk: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcOpenSized, path, ncid, &real);
    [nc__open_mp] (path: *const c_char, mode: c_int, processor: c_int, chunk: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcOpenSized, path, ncid, &real);
    [nc_open_par] (path: *const c_char, mode: c_int, comm: Word, info: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcOpenPar, path, ncid, &real);
    [nc_open_par_fortran] (path: *const c_char, mode: c_int, comm: c_int, info: c_int, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcOpenPar, path, ncid, &real);
    [nc_create] (path: *const c_char, mode: c_int, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcCreate, path, ncid, &real);
    [nc__create] (path: *const c_char, mode: c_int, size: Word, chunk: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcCreateSized, path, ncid, &real);
    [nc__create_mp] (path: *const c_char, mode: c_int, size: Word, processor: c_int, chunk: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcCreateSized, path, ncid, &real);
    [nc_create_par] (path: *const c_char, mode: c_int, comm: Word, info: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcCreatePar, path, ncid, &real);
    [nc_create_par_fortran] (path: *const c_char, mode: c_int, comm: c_int, info: c_int, ncid: Out) -> c_int
        => |library, real| cdf::open((&NETCDF, library), Function::NcCreatePar, path, ncid, &real);

    [nc_close] (ncid: c_int) -> c_int
        => |library, real| cdf::close((&NETCDF, library), Function::NcClose, ncid, &real);
    [nc_close_memio] (ncid: c_int, memory: Word) -> c_int
        => |library, real| cdf::close((&NETCDF, library), Function::NcClose, ncid, &real);
    [nc_open_mem] (path: *const c_char, mode: c_int, size: Word, memory: Word, ncid: Out) -> c_int
        => |library, real| cdf::open_unseen((&NETCDF, library), ncid, &real);
    [nc_open_memio] (path: *const c_char, mode: c_int, memory: Word, ncid: Out) -> c_int
        => |library, real| cdf::open_unseen((&NETCDF, library), ncid, &real);
    [nc_create_mem] (path: *const c_char, mode: c_int, size: Word, ncid: Out) -> c_int
        => |library, real| cdf::open_unseen((&NETCDF, library), ncid, &real);
    [nc_abort] (ncid: c_int) -> c_int
        => |library, real| cdf::close((&NETCDF, library), Function::NcAbort, ncid, &real);
    [nc_sync] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&NETCDF, library), Function::NcSync, ncid, &real);
    [nc_enddef] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&NETCDF, library), Function::NcEnddef, ncid, &real);
    [nc__enddef] (ncid: c_int, header: Word, alignment: Word, room: Word, records: Word) -> c_int
        => |library, real| cdf::on_file((&NETCDF, library), Function::NcEnddefPadded, ncid, &real);
    [nc_redef] (ncid: c_int) -> c_int
        => |library, real| cdf::redefine((&NETCDF, library), Function::NcRedef, ncid, &real);
    [nc_rename_var] (ncid: c_int, varid: c_int, name: Word) -> c_int
        => |library, real| cdf::forgetting((&NETCDF, library), ncid, &real);
    [nc_rename_grp] (ncid: c_int, name: Word) -> c_int
        => |library, real| cdf::forgetting((&NETCDF, library), ncid, &real);
}

/// Reading and writing a kind of part of a variable: `nc_get_vara`,
/// `nc_put_vara`, and both for every type.
macro_rules! accesses {
    ($($kind:ident ($($argument:ident),*) => $chosen:expr;)*) => {
        $(
            mod $kind {
                use super::*;
                accesses!(get $kind "nc_get_", ($($argument),*) => $chosen);
                accesses!(put $kind "nc_put_", ($($argument),*) => $chosen);
            }
        )*
    };
    ($way:ident $kind:ident $name:literal, ($($argument:ident),*) => $chosen:expr) => {
        mod $way {
            use super::*;

            const FUNCTION: Function = function(concat!($name, stringify!($kind)));

            foreign! {
                untyped = concat!($name, stringify!($kind)),
                (ncid: c_int, varid: c_int, $($argument: Numbers,)* data: Word) -> c_int, NOT_THERE
                => |library, real| cdf::access((&NETCDF, library), FUNCTION, (ncid, varid), &$chosen, &real)
            }
            typed! {
                concat!($name, stringify!($kind)),
                [text schar uchar short int long float double ubyte ushort uint longlong ulonglong string], "",
                (ncid: c_int, varid: c_int, $($argument: Numbers,)* data: Word)
                => |library, real| cdf::access((&NETCDF, library), FUNCTION, (ncid, varid), &$chosen, &real)
            }
        }
    };
}

accesses! {
    var () => Chosen::whole();
    var1 (start) => Chosen::one(start);
    vara (start, count) => Chosen::counted(start, count);
    vars (start, count, stride) => Chosen::strided(start, count, stride);
    varm (start, count, stride, imap) => Chosen::mapped(start, count, stride, imap);
}

/// The path of the local file that a name given to netCDF means; None for what is on a
/// network (`https://…`, `s3://…`). `file://` is not part of the path.
fn local_path(path: *const c_char) -> Option<*const c_char> {
    let mut start = [0_u8; 16];
    let n_copied = sys::copy_memory(path as usize, &mut start).unwrap_or(0);
    let name = start.get(..n_copied).unwrap_or_default();
    let scheme = name.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(0);
    match name.split_at_checked(scheme) {
        Some((b"", _)) | None => Some(path),
        Some((b"file", rest)) if rest.starts_with(b"://") => Some(path.wrapping_add(7)),
        Some((_, rest)) if rest.starts_with(b"://") => None,
        Some(_) => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use core::ffi::CStr;

    use super::local_path;

    #[test]
    fn only_local_names_are_paths() {
        let check = |path: &CStr, expected: Option<&str>| {
            // SAFETY: points into the C string.
            let found = local_path(path.as_ptr()).map(|path| unsafe { CStr::from_ptr(path) });
            assert_eq!(found.map(|path| path.to_str().unwrap()), expected, "{path:?}");
        };
        for path in [c"a.nc", c"/scratch/run/a.nc", c"run:7.nc", c"a", c"", c"s3:/b"] {
            check(path, path.to_str().ok());
        }
        check(c"file:///scratch/a.nc", Some("/scratch/a.nc"));
        check(c"https://server/a.nc", None);
        check(c"s3://bucket/a.nc", None);
        assert_eq!(local_path(core::ptr::null()), Some(core::ptr::null()));
    }
}
