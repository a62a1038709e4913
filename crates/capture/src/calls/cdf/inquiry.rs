// SPDX-License-Identifier: MIT OR Apache-2.0

//! What we ask netCDF and PnetCDF, through functions of the copy that the real function
//! is in.
//!
//! Only what needs no communication, on the thread that is itself inside a call
//! of the library, and only after the library has just accepted a call on the
//! same variable: so it has in memory what it is asked for.

use core::ffi::{CStr, c_char, c_int};

use ioracle_spool::selection::MAX_DIMENSIONS;

use crate::calls::copies::LibraryCopy;
use crate::thread::NestedLibrary;

/// What is asked; the place of the function's name in [`Dialect::names`].
#[derive(Clone, Copy)]
pub(in crate::calls) enum Question {
    VariableName,
    VariableDimensions,
    VariableType,
    DimensionIds,
    DimensionLength,
    /// netCDF's types may be the user's own.
    TypeSize,
    /// Groups are netCDF's.
    GroupName,
    /// PnetCDF counts what it has moved.
    BytesRead,
    BytesWritten,
}

/// One of the two libraries.
pub(in crate::calls) struct Dialect {
    pub(in crate::calls) library: NestedLibrary,
    /// In the order of [`Question`]; empty where there is no such function.
    pub(in crate::calls) names: &'static [&'static CStr],
    /// The path of a local file that a name stands for.
    pub(in crate::calls) local_path: fn(*const c_char) -> Option<*const c_char>,
}

/// A copy of one of the libraries.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Cdf {
    pub(in crate::calls) copy: LibraryCopy,
}

/// Longest name of a variable or a group that is looked at. The libraries allow 256
/// bytes, and copy whatever a damaged file contains instead.
const MAX_NAME: usize = 4096;

impl Cdf {
    /// The copy that a real function lies in.
    pub(in crate::calls) fn of(dialect: &Dialect, real: usize) -> Option<Cdf> {
        LibraryCopy::of(dialect.library, dialect.names, real).map(|copy| Cdf { copy })
    }

    /// Works with the name of a variable, in groups with those of all groups.
    pub(super) fn with_variable_name<R>(
        self,
        ncid: c_int,
        varid: c_int,
        work: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        type Ask = unsafe extern "C" fn(c_int, c_int, *mut u8) -> c_int;
        let mut name = [0; MAX_NAME];
        let length = self.put_group_name(ncid, &mut name)?;
        let rest = name.get_mut(length..)?;
        // SAFETY: the function has this signature, and room for more than a name.
        let code = unsafe {
            core::mem::transmute::<usize, Ask>(self.function(Question::VariableName)?)(
                ncid,
                varid,
                rest.as_mut_ptr(),
            )
        };
        let end = length + rest.iter().position(|&byte| byte == 0)?;
        (code == 0).then(|| work(name.get(..end).unwrap_or_default()))
    }

    /// Writes `/group/`, or nothing for the root; returns its length.
    fn put_group_name(self, ncid: c_int, name: &mut [u8; MAX_NAME]) -> Option<usize> {
        type Ask = unsafe extern "C" fn(c_int, *mut usize, *mut u8) -> c_int;
        let Some(function) = self.function(Question::GroupName) else { return Some(0) };
        let mut length = 0;
        // SAFETY: the function has this signature; it takes null for a name that
        // is not wanted.
        let ask = unsafe { core::mem::transmute::<usize, Ask>(function) };
        // SAFETY: as above.
        let code = unsafe { ask(ncid, &raw mut length, core::ptr::null_mut()) };
        // Files without groups answer with an error in some versions.
        if code != 0 || length <= 1 {
            return Some(0);
        }
        // A variable's name comes behind it.
        if length > MAX_NAME / 2 {
            return None;
        }
        // SAFETY: there is room for that many bytes and the zero.
        let code = unsafe { ask(ncid, core::ptr::null_mut(), name.as_mut_ptr()) };
        *name.get_mut(length)? = b'/';
        (code == 0).then_some(length + 1)
    }

    /// How many dimensions a variable has.
    pub(super) fn n_dims(self, ncid: c_int, varid: c_int) -> Option<usize> {
        usize::try_from(self.number(Question::VariableDimensions, ncid, varid)?).ok()
    }

    /// Bytes that an item of a variable has in the file.
    pub(super) fn item_bytes(self, ncid: c_int, varid: c_int) -> Option<u64> {
        type Ask = unsafe extern "C" fn(c_int, c_int, *mut c_char, *mut usize) -> c_int;
        let datatype = self.number(Question::VariableType, ncid, varid)?;
        // NC_BYTE is 1, NC_STRING 12.
        const BYTES: [u64; 13] = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, 8];
        if let Some(&bytes) = BYTES.get(datatype as usize) {
            return Some(bytes);
        }
        let mut bytes = 0;
        // SAFETY: the function has this signature; it takes null for a name that
        // is not wanted.
        let code = unsafe {
            core::mem::transmute::<usize, Ask>(self.function(Question::TypeSize)?)(
                ncid,
                datatype,
                core::ptr::null_mut(),
                &raw mut bytes,
            )
        };
        (code == 0).then_some(bytes as u64)
    }

    /// The current length of each dimension of a variable.
    pub(super) fn shape(
        self,
        ncid: c_int,
        varid: c_int,
        n_dims: usize,
    ) -> Option<[i64; MAX_DIMENSIONS]> {
        type Ids = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;
        type Length = unsafe extern "C" fn(c_int, c_int, *mut i64) -> c_int;
        let mut shape = [0; MAX_DIMENSIONS];
        let mut ids = [0; MAX_DIMENSIONS];
        if n_dims > MAX_DIMENSIONS {
            return None;
        }
        // SAFETY: the functions have these signatures (a size_t and an
        // MPI_Offset both are 8 bytes), and there is room for the dimensions.
        unsafe {
            let ask = core::mem::transmute::<usize, Ids>(self.function(Question::DimensionIds)?);
            if ask(ncid, varid, ids.as_mut_ptr()) != 0 {
                return None;
            }
            let function = self.function(Question::DimensionLength)?;
            let ask = core::mem::transmute::<usize, Length>(function);
            for (length, &id) in shape.iter_mut().zip(&ids).take(n_dims) {
                if ask(ncid, id, &raw mut *length) != 0 {
                    return None;
                }
            }
        }
        Some(shape)
    }

    /// Bytes that PnetCDF has read or written in a file so far.
    pub(in crate::calls) fn bytes_moved(self, question: Question, ncid: c_int) -> Option<u64> {
        type Ask = unsafe extern "C" fn(c_int, *mut i64) -> c_int;
        let mut bytes = 0;
        // SAFETY: the function has this signature.
        let code = unsafe {
            core::mem::transmute::<usize, Ask>(self.function(question)?)(ncid, &raw mut bytes)
        };
        if code == 0 { u64::try_from(bytes).ok() } else { None }
    }

    fn number(self, question: Question, ncid: c_int, varid: c_int) -> Option<c_int> {
        type Ask = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;
        let mut answer = -1;
        // SAFETY: the function has this signature.
        let code = unsafe {
            core::mem::transmute::<usize, Ask>(self.function(question)?)(
                ncid,
                varid,
                &raw mut answer,
            )
        };
        (code == 0).then_some(answer)
    }

    fn function(self, question: Question) -> Option<usize> {
        self.copy.function(question as usize)
    }
}
