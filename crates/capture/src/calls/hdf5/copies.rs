// SPDX-License-Identifier: MIT OR Apache-2.0

//! The copies of HDF5 in the process, and where each has the functions that we
//! call ourselves. Python wheels bring one each; identifiers of one mean nothing
//! to another.
//!
//! A copy is known by where it is loaded. After something was unloaded another
//! may be at its place, so that everything is looked up again.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::handles;
use crate::library::{Module, Scope};
use crate::stack;

/// Copies that are told apart; calls of further ones pass through.
pub(super) const COPIES: usize = 16;
/// Real functions whose copy is remembered; beyond, they share and look again.
const PLACES: usize = 256;

static LOADED: [Loaded; COPIES] = [const { Loaded::none() }; COPIES];
static COPY_OF: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];

/// An identifier of HDF5: an int before 1.10, whose upper half may hold anything
/// when it comes in a register, and 64 bits since.
pub(super) type Id = i64;

/// A copy of the library.
#[derive(Clone, Copy)]
pub(super) struct Hdf5 {
    number: usize,
    loaded: &'static Loaded,
}

/// Names the functions we call, and writes where to find them in a table.
macro_rules! symbols {
    ($($symbol:ident $name:literal)*) => {
        /// What is looked up.
        #[derive(Clone, Copy)]
        pub(super) enum Symbol { $($symbol,)* }

        const NAMES: &[&CStr] = &[$($name,)*];
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
    // There since 1.10, like identifiers of 64 bits.
    FlushDataset c"H5Dflush"
}

impl Hdf5 {
    /// The copy that a real function lies in.
    #[inline]
    pub(super) fn of(real: usize) -> Option<Hdf5> {
        let modules = stack::modules_generation();
        let place = COPY_OF.get((real >> 4) % PLACES)?;
        // The number of the copy in the lowest bits of a word that only fits here.
        let key = (real ^ (modules as usize).rotate_left(40)) << 8;
        let kept = place.load(Ordering::Acquire) ^ key;
        if kept <= COPIES && kept != 0 {
            return Hdf5::numbered(kept - 1);
        }
        let found = find(real, modules)?;
        place.store(key | (found.number + 1), Ordering::Release);
        Some(found)
    }

    pub(super) fn numbered(number: usize) -> Option<Hdf5> {
        LOADED.get(number).map(|loaded| Hdf5 { number, loaded })
    }

    /// Tells the copies apart; below [`COPIES`].
    pub(super) fn number(self) -> usize {
        self.number
    }

    /// Where a function is.
    pub(super) fn address(self, symbol: Symbol) -> Option<usize> {
        let address = self.loaded.addresses.get(symbol as usize)?.load(Ordering::Relaxed);
        (address != 0).then_some(address)
    }

    /// An identifier or code as it came in a register.
    pub(super) fn id(self, register: Id) -> Id {
        match self.address(Symbol::FlushDataset) {
            Some(_) => register,
            None => Id::from(register as i32),
        }
    }
}

struct Loaded {
    /// Where the module is; 0: free.
    base: AtomicUsize,
    /// The generation of modules that the addresses were found in.
    modules: AtomicU32,
    addresses: [AtomicUsize; NAMES.len()],
}

impl Loaded {
    const fn none() -> Loaded {
        Loaded {
            base: AtomicUsize::new(0),
            modules: AtomicU32::new(0),
            addresses: [const { AtomicUsize::new(0) }; NAMES.len()],
        }
    }
}

/// Several threads may look at once: they find the same.
#[cold]
fn find(real: usize, modules: u32) -> Option<Hdf5> {
    let module = Module::of(real)?;
    let found = Hdf5::numbered(place_for(module.base(), modules)?)?;
    if found.loaded.modules.load(Ordering::Acquire) != modules {
        let look = |scope: &Scope| {
            for (place, name) in found.loaded.addresses.iter().zip(NAMES) {
                place.store(scope.find(name), Ordering::Relaxed);
            }
        };
        module.with_scope(look)?;
        found.loaded.modules.store(modules, Ordering::Release);
    }
    Some(found)
}

/// The number of the copy at a place: the one it has, a free one, or that of a
/// copy that was not called since something was unloaded and may be gone.
fn place_for(base: usize, modules: u32) -> Option<usize> {
    let mut known = LOADED.iter();
    if let Some(number) = known.position(|it| it.base.load(Ordering::Relaxed) == base) {
        return Some(number);
    }
    let number = LOADED.iter().position(|loaded| {
        let before = loaded.base.load(Ordering::Relaxed);
        let is_old = before == 0 || loaded.modules.load(Ordering::Relaxed) != modules;
        let taken = Ordering::Relaxed;
        is_old && loaded.base.compare_exchange(before, base, taken, taken).is_ok()
    })?;
    handles::forget_copy(number);
    Some(number)
}
