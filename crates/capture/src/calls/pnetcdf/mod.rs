// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of PnetCDF. The Fortran functions of the same library call these.

mod record;

use core::ffi::{c_char, c_int};

use ioracle_spool::Function;

use crate::calls::cdf::{
    self, Arrays, Chosen, Dialect, NOT_THERE, Numbers, array, function, typed,
};
use crate::calls::mpi::without_driver;
use crate::library::{foreign, library};
use crate::thread::NestedLibrary;
pub(super) use record::forget_copy;
use record::{Many, RequestList, Waited};

static PNETCDF: Dialect = Dialect {
    library: NestedLibrary::PnetCdf,
    names: &[
        c"ncmpi_inq_varname",
        c"ncmpi_inq_varndims",
        c"ncmpi_inq_vartype",
        c"ncmpi_inq_vardimid",
        c"ncmpi_inq_dimlen",
        c"",
        c"",
        c"ncmpi_inq_get_size",
        c"ncmpi_inq_put_size",
    ],
    local_path: |path| Some(without_driver(path)),
};

/// An argument that only passes through; also a handle of MPI, which is a
/// pointer or an int.
type Word = usize;
/// Where the number of an opened file is stored.
type Out = *const c_int;

library! {
    missing NOT_THERE;

    [ncmpi_create] (comm: Word, path: *const c_char, mode: c_int, info: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&PNETCDF, library), Function::NcmpiCreate, path, ncid, &real);
    [ncmpi_open] (comm: Word, path: *const c_char, mode: c_int, info: Word, ncid: Out) -> c_int
        => |library, real| cdf::open((&PNETCDF, library), Function::NcmpiOpen, path, ncid, &real);
    [ncmpi_close] (ncid: c_int) -> c_int
        => |library, real| record::close(library, Function::NcmpiClose, ncid, &real);
    [ncmpi_abort] (ncid: c_int) -> c_int
        => |library, real| record::close(library, Function::NcmpiAbort, ncid, &real);
    [ncmpi_sync] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiSync, ncid, &real);
    [ncmpi_flush] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiFlush, ncid, &real);
    [ncmpi_enddef] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiEnddef, ncid, &real);
    [ncmpi__enddef] (ncid: c_int, header: i64, alignment: i64, room: i64, records: i64) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiEnddefPadded, ncid, &real);
    [ncmpi_redef] (ncid: c_int) -> c_int
        => |library, real| cdf::redefine((&PNETCDF, library), Function::NcmpiRedef, ncid, &real);
    [ncmpi_begin_indep_data] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiBeginIndepData, ncid, &real);
    [ncmpi_end_indep_data] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiEndIndepData, ncid, &real);
    [ncmpi_buffer_attach] (ncid: c_int, bytes: i64) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiBufferAttach, ncid, &real);
    [ncmpi_buffer_detach] (ncid: c_int) -> c_int
        => |library, real| cdf::on_file((&PNETCDF, library), Function::NcmpiBufferDetach, ncid, &real);
    [ncmpi_rename_var] (ncid: c_int, varid: c_int, name: Word) -> c_int
        => |library, real| cdf::forgetting((&PNETCDF, library), ncid, &real);

    [ncmpi_wait] (ncid: c_int, count: c_int, list: RequestList, statuses: RequestList) -> c_int
        => |library, real| record::complete(library, Function::NcmpiWait, ncid, Waited { count, list, statuses }, &real);
    [ncmpi_wait_all] (ncid: c_int, count: c_int, list: RequestList, statuses: RequestList) -> c_int
        => |library, real| record::complete(library, Function::NcmpiWaitAll, ncid, Waited { count, list, statuses }, &real);
    [ncmpi_cancel] (ncid: c_int, count: c_int, list: RequestList, statuses: RequestList) -> c_int
        => |library, real| record::complete(library, Function::NcmpiCancel, ncid, Waited { count, list, statuses }, &real);

    [ncmpi_get_vard] (ncid: c_int, varid: c_int, filetype: Word, data: Word, count: i64, datatype: Word) -> c_int
        => |library, real| record::by_filetype(library, Function::NcmpiGetVard, (ncid, varid), &real);
    [ncmpi_get_vard_all] (ncid: c_int, varid: c_int, filetype: Word, data: Word, count: i64, datatype: Word) -> c_int
        => |library, real| record::by_filetype(library, Function::NcmpiGetVardAll, (ncid, varid), &real);
    [ncmpi_put_vard] (ncid: c_int, varid: c_int, filetype: Word, data: Word, count: i64, datatype: Word) -> c_int
        => |library, real| record::by_filetype(library, Function::NcmpiPutVard, (ncid, varid), &real);
    [ncmpi_put_vard_all] (ncid: c_int, varid: c_int, filetype: Word, data: Word, count: i64, datatype: Word) -> c_int
        => |library, real| record::by_filetype(library, Function::NcmpiPutVardAll, (ncid, varid), &real);
}

/// Rows of one family: with a datatype of MPI (`ncmpi_put_vara_all`), and one
/// for each type of C (`ncmpi_put_vara_int_all`).
macro_rules! family {
    ($module:ident, $before:expr, $after:literal,
        ($($argument:ident: $type:ty),*) ($($flexible:ident: $flexible_type:ty),*) ($($last:ident: $last_type:ty)?)
        => |$library:ident, $real:ident| $body:expr) => {
        mod $module {
            use super::*;

            const FUNCTION: Function = function(concat!($before, $after));

            foreign! {
                flexible = concat!($before, $after),
                ($($argument: $type,)* data: Word, $($flexible: $flexible_type),* $(, $last: $last_type)?) -> c_int,
                NOT_THERE => |$library, $real| $body
            }
            typed! {
                $before,
                [text schar uchar short int long float double ushort uint longlong ulonglong], $after,
                ($($argument: $type,)* data: Word $(, $last: $last_type)?)
                => |$library, $real| $body
            }
        }
    };
}

/// A kind of part of a variable: read and written, collectively and not, at once
/// and later.
macro_rules! accesses {
    ($($kind:ident ($($argument:ident: $type:ty),*) => $chosen:expr;)*) => {
        $(
            mod $kind {
                use super::*;
                accesses!(now get "ncmpi_get_" $kind "", ($($argument: $type),*) => $chosen);
                accesses!(now get_all "ncmpi_get_" $kind "_all", ($($argument: $type),*) => $chosen);
                accesses!(now put "ncmpi_put_" $kind "", ($($argument: $type),*) => $chosen);
                accesses!(now put_all "ncmpi_put_" $kind "_all", ($($argument: $type),*) => $chosen);
                accesses!(later iget "ncmpi_iget_" $kind, ($($argument: $type),*) => $chosen);
                accesses!(later iput "ncmpi_iput_" $kind, ($($argument: $type),*) => $chosen);
                accesses!(later bput "ncmpi_bput_" $kind, ($($argument: $type),*) => $chosen);
            }
        )*
    };
    (now $module:ident $way:literal $kind:ident $after:literal, ($($argument:ident: $type:ty),*) => $chosen:expr) => {
        family! {
            $module, concat!($way, stringify!($kind)), $after,
            (ncid: c_int, varid: c_int $(, $argument: $type)*) (count: i64, datatype: Word) ()
            => |library, real| cdf::access((&PNETCDF, library), FUNCTION, (ncid, varid), &$chosen, &real)
        }
    };
    (later $module:ident $way:literal $kind:ident, ($($argument:ident: $type:ty),*) => $chosen:expr) => {
        family! {
            $module, concat!($way, stringify!($kind)), "",
            (ncid: c_int, varid: c_int $(, $argument: $type)*) (count: i64, datatype: Word) (request: RequestList)
            => |library, real| record::submit(library, FUNCTION, (ncid, varid), &$chosen, request, &real)
        }
    };
}

accesses! {
    var () => Chosen::whole();
    var1 (start: Numbers) => Chosen::one(start);
    vara (start: Numbers, count: Numbers) => Chosen::counted(start, count);
    vars (start: Numbers, count: Numbers, stride: Numbers) => Chosen::strided(start, count, stride);
    varm (start: Numbers, count: Numbers, stride: Numbers, imap: Numbers) => Chosen::mapped(start, count, stride, imap);
    varn (n_parts: c_int, starts: Arrays, counts: Arrays) => Chosen::parts(n_parts, starts, counts);
}

/// The same for several variables in one call.
macro_rules! accesses_of_many {
    ($($module:ident $kind:ident ($($argument:ident),*) => |$place:ident| $chosen:expr;)*) => {
        $(
            mod $module {
                use super::*;
                accesses_of_many!(get "ncmpi_mget_" $kind "", ($($argument),*) => |$place| $chosen);
                accesses_of_many!(get_all "ncmpi_mget_" $kind "_all", ($($argument),*) => |$place| $chosen);
                accesses_of_many!(put "ncmpi_mput_" $kind "", ($($argument),*) => |$place| $chosen);
                accesses_of_many!(put_all "ncmpi_mput_" $kind "_all", ($($argument),*) => |$place| $chosen);
            }
        )*
    };
    ($module:ident $way:literal $kind:ident $after:literal, ($($argument:ident),*) => |$place:ident| $chosen:expr) => {
        family! {
            $module, concat!($way, stringify!($kind)), $after,
            (ncid: c_int, n_variables: c_int, varids: Out $(, $argument: Arrays)*) (counts_of_items: Word, datatypes: Word) ()
            => |library, real| record::access_many(
                library,
                FUNCTION,
                &Many { ncid, n_variables, varids, chosen: &|$place| $chosen },
                &real,
            )
        }
    };
}

accesses_of_many! {
    many_var var () => |_place| Chosen::whole();
    many_var1 var1 (starts) => |place| Chosen::one(array(starts, place));
    many_vara vara (starts, counts) => |place| Chosen::counted(array(starts, place), array(counts, place));
    many_vars vars (starts, counts, strides) => |place| Chosen::strided(
        array(starts, place), array(counts, place), array(strides, place));
    many_varm varm (starts, counts, strides, imaps) => |place| Chosen::mapped(
        array(starts, place), array(counts, place), array(strides, place), array(imaps, place));
}
