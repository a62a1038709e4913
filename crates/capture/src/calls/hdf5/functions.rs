// SPDX-License-Identifier: MIT OR Apache-2.0

//! A copy of HDF5, and the functions in it that we call.

use core::ffi::CStr;

use crate::calls::copies::{LibraryCopy, MAX_FUNCTIONS};
use crate::thread::NestedLibrary;

/// An identifier of HDF5: an int before 1.10, whose upper half may hold anything
/// when it comes in a register, and 64 bits since.
pub(super) type Id = i64;

/// A copy of the library.
#[derive(Clone, Copy)]
pub(super) struct Hdf5 {
    copy: LibraryCopy,
}

/// Names the functions we call, and writes where to find them in a table.
macro_rules! symbols {
    ($($symbol:ident $name:literal)*) => {
        /// What is looked up.
        #[derive(Clone, Copy)]
        pub(super) enum HdfSymbol { $($symbol,)* }

        static NAMES: &[&CStr] = &[$($name,)*];
        const _: () = assert!([$($name,)*].len() <= MAX_FUNCTIONS);
    };
}

symbols! {
    ErrorsPrintedBy2 c"H5Eauto_is_v2"
    GetErrorPrinter1 c"H5Eget_auto1"
    GetErrorPrinter2 c"H5Eget_auto2"
    SetErrorPrinter1 c"H5Eset_auto1"
    SetErrorPrinter2 c"H5Eset_auto2"
    ErrorCount c"H5Eget_num"
    ClearErrors c"H5Eclear2"
    IdentifierType c"H5Iget_type"
    IsValid c"H5Iis_valid"
    ObjectName c"H5Iget_name"
    FileName c"H5Fget_name"
    AttributeName c"H5Aget_name"
    AttributeBytes c"H5Aget_storage_size"
    DatasetSpace c"H5Dget_space"
    DatasetProperties c"H5Dget_create_plist"
    ChunkBytes c"H5Dget_chunk_storage_size"
    CloseSpace c"H5Sclose"
    CloseProperties c"H5Pclose"
    Layout c"H5Pget_layout"
    Chunk c"H5Pget_chunk"
    FilterCount c"H5Pget_nfilters"
    Filter c"H5Pget_filter2"
    Rank c"H5Sget_simple_extent_ndims"
    Extent c"H5Sget_simple_extent_dims"
    SelectionType c"H5Sget_select_type"
    SelectedPoints c"H5Sget_select_npoints"
    SelectionBounds c"H5Sget_select_bounds"
    IsRegular c"H5Sis_regular_hyperslab"
    Regular c"H5Sget_regular_hyperslab"
    TypeSize c"H5Tget_size"
    ConnectorName c"H5VLget_connector_name"
    // Exists since 1.10, like 64-bit identifiers.
    FlushDataset c"H5Dflush"
}

impl Hdf5 {
    /// The copy that a real function lies in.
    #[inline]
    pub(super) fn of(real: usize) -> Option<Hdf5> {
        LibraryCopy::of(NestedLibrary::Hdf5, NAMES, real).map(|copy| Hdf5 { copy })
    }

    #[cfg(test)]
    pub(super) fn numbered(number: usize) -> Hdf5 {
        Hdf5 { copy: LibraryCopy::numbered(number).expect("a number of a copy") }
    }

    /// Distinguishes the copies; see [`LibraryCopy::number`].
    pub(super) fn number(self) -> u64 {
        self.copy.number()
    }

    /// Where a function is.
    #[inline]
    pub(super) fn address(self, symbol: HdfSymbol) -> Option<usize> {
        self.copy.function(symbol as usize)
    }

    /// An identifier or code as it came in a register.
    pub(super) fn id(self, register: Id) -> Id {
        match self.address(HdfSymbol::FlushDataset) {
            Some(_) => register,
            None => Id::from(register as i32),
        }
    }
}
