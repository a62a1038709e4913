// SPDX-License-Identifier: MIT OR Apache-2.0

//! What we ask HDF5, through functions of the copy that the real function is in.
//!
//! Only on a thread that is itself inside a call of HDF5, only after that call has
//! succeeded, and only about identifiers that it has just accepted or made. None of the
//! questions reads or writes a file. Every public function of HDF5 clears the program's
//! stack of errors when it begins, as the real call has done too; if that has left
//! something on it anyway, nothing is asked.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::functions::{Hdf5, HdfSymbol, Id};

/// Calls a function of the library; None if it does not have it.
macro_rules! ask {
    ($hdf5:expr, $symbol:ident ($($argument:expr => $type:ty),*) -> $result:ty) => {
        // SAFETY: the function has this signature in all versions that have it,
        // and what is pointed to is ours.
        $hdf5.address(HdfSymbol::$symbol).map(|address| unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>(address)(
                $($argument),*
            )
        })
    };
}

/// Says "this thread's stack" to functions on errors.
const DEFAULT_STACK: Id = 0;

/// As many dimensions as HDF5 has.
pub(super) const MAX_RANK: usize = 32;

/// A number per dimension.
pub(super) type Extents = [u64; MAX_RANK];

/// How a dataspace is selected (`H5S_sel_type`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Selecting {
    Nothing,
    Points,
    Hyperslabs,
    All,
}

/// A regular selection: blocks at equal distances.
pub(super) struct Hyperslab {
    pub(super) start: Extents,
    pub(super) stride: Extents,
    pub(super) count: Extents,
    pub(super) block: Extents,
}

impl Hdf5 {
    /// Whether the program has no errors left to read, which a question would clear.
    pub(super) fn may_be_asked(self) -> bool {
        ask!(self, ErrorCount(DEFAULT_STACK => Id) -> isize) == Some(0)
    }

    /// Asks something that may fail, without printing anything or leaving errors on the
    /// stack. Some libraries below HDF5 (connectors) do not answer everything.
    pub(super) fn quietly<R>(self, questions: impl FnOnce(Hdf5) -> R) -> Option<R> {
        if !self.may_be_asked() {
            return None;
        }
        let printer = self.error_printer()?;
        self.set_error_printer(Printer { function: core::ptr::null(), ..printer });
        let answers = questions(self);
        if !self.may_be_asked() {
            ask!(self, ClearErrors(DEFAULT_STACK => Id) -> c_int);
        }
        self.set_error_printer(printer);
        Some(answers)
    }

    fn error_printer(self) -> Option<Printer> {
        let mut is_2: c_uint = 1;
        ask!(self, ErrorsPrintedBy2(DEFAULT_STACK => Id, &raw mut is_2 => *mut c_uint) -> c_int)?;
        let (mut function, mut data) = (core::ptr::null(), core::ptr::null());
        let place: (*mut Pointer, *mut Pointer) = (&raw mut function, &raw mut data);
        let code = if is_2 != 0 {
            ask!(self, GetErrorPrinter2(
                DEFAULT_STACK => Id, place.0 => *mut Pointer, place.1 => *mut Pointer
            ) -> c_int)
        } else {
            ask!(self, GetErrorPrinter1(place.0 => *mut Pointer, place.1 => *mut Pointer) -> c_int)
        };
        (code? >= 0).then_some(Printer { is_2: is_2 != 0, function, data })
    }

    fn set_error_printer(self, printer: Printer) {
        let Printer { is_2, function, data } = printer;
        if is_2 {
            ask!(self, SetErrorPrinter2(
                DEFAULT_STACK => Id, function => Pointer, data => Pointer
            ) -> c_int);
        } else {
            ask!(self, SetErrorPrinter1(function => Pointer, data => Pointer) -> c_int);
        }
    }

    /// Whether an open object is a dataset.
    pub(super) fn is_dataset(self, object: Id) -> bool {
        const DATASET: c_int = 5;
        ask!(self, IdentifierType(object => Id) -> c_int) == Some(DATASET)
    }

    /// Whether an object lies in a file that HDF5 keeps itself: versions before 1.12
    /// have nothing else.
    pub(super) fn is_native(self, object: Id) -> bool {
        let mut room = [0_u8; 16];
        let (place, length) = (room.as_mut_ptr().cast::<c_char>(), room.len());
        let written = ask!(self, ConnectorName(
            object => Id, place => *mut c_char, length => usize
        ) -> isize);
        written.is_none_or(|written| text(&room, written) == Some(b"native"))
    }

    /// The path of an object in its file, as it was opened. Not for objects that
    /// were opened without a name: HDF5 would search the whole file for one.
    pub(super) fn object_name(self, object: Id, room: &mut [u8]) -> Option<&[u8]> {
        let (place, length) = (room.as_mut_ptr().cast::<c_char>(), room.len());
        let written = ask!(self, ObjectName(
            object => Id, place => *mut c_char, length => usize
        ) -> isize)?;
        text(room, written)
    }

    /// The name that the file of an object was opened by.
    pub(super) fn file_name(self, object: Id, room: &mut [u8]) -> Option<&[u8]> {
        let (place, length) = (room.as_mut_ptr().cast::<c_char>(), room.len());
        let written =
            ask!(self, FileName(object => Id, place => *mut c_char, length => usize) -> isize)?;
        text(room, written)
    }

    /// The name of an attribute.
    pub(super) fn attribute_name(self, attribute: Id, room: &mut [u8]) -> Option<&[u8]> {
        let (place, length) = (room.as_mut_ptr().cast::<c_char>(), room.len());
        let written = ask!(self, AttributeName(
            attribute => Id, length => usize, place => *mut c_char
        ) -> isize)?;
        text(room, written)
    }

    /// Whether an identifier still stands for something. For one that does not, HDF5
    /// says so without an error.
    pub(super) fn is_open(self, id: Id) -> bool {
        ask!(self, IsValid(id => Id) -> c_int).is_some_and(|is_valid| is_valid > 0)
    }

    /// Bytes that an attribute takes in the file.
    pub(super) fn attribute_bytes(self, attribute: Id) -> Option<u64> {
        ask!(self, AttributeBytes(attribute => Id) -> u64)
    }

    /// Bytes of an item of a type, in memory.
    pub(super) fn type_size(self, datatype: Id) -> Option<u64> {
        ask!(self, TypeSize(datatype => Id) -> usize).map(|size| size as u64)
    }

    /// Bytes that a chunk takes in the file, which was just read.
    pub(super) fn chunk_bytes(self, dataset: Id, offset: *const u64) -> Option<u64> {
        let mut bytes = 0;
        let code = ask!(self, ChunkBytes(
            dataset => Id, offset => *const u64, &raw mut bytes => *mut u64
        ) -> c_int)?;
        (code >= 0).then_some(bytes)
    }

    /// The extent of a dataset as it is now; None also for a null dataspace.
    pub(super) fn extent_of_dataset(self, dataset: Id) -> Option<(usize, Extents)> {
        let space = ask!(self, DatasetSpace(dataset => Id) -> Id)?;
        if self.id(space) < 0 {
            return None;
        }
        // Without dimensions, null dataspaces look like scalars, but have no items.
        let has_items = |rank| rank > 0 || self.selected_points(space) != Some(0);
        let extent = self.extent(space).filter(|&(rank, _)| has_items(rank));
        ask!(self, CloseSpace(space => Id) -> c_int);
        extent
    }

    /// The extent of a dataspace; no dimensions for a scalar.
    pub(super) fn extent(self, space: Id) -> Option<(usize, Extents)> {
        let mut extents = [0; MAX_RANK];
        let rank = self.rank(space)?;
        if rank > 0 {
            let (place, none) = (extents.as_mut_ptr(), core::ptr::null_mut());
            ask!(self, Extent(space => Id, place => *mut u64, none => *mut u64) -> c_int)?;
        }
        Some((rank, extents))
    }

    /// The dimensions of a dataspace.
    pub(super) fn rank(self, space: Id) -> Option<usize> {
        let rank = usize::try_from(ask!(self, Rank(space => Id) -> c_int)?).ok()?;
        (rank <= MAX_RANK).then_some(rank)
    }

    /// How a dataspace is selected.
    pub(super) fn selecting(self, space: Id) -> Option<Selecting> {
        match ask!(self, SelectionType(space => Id) -> c_int)? {
            0 => Some(Selecting::Nothing),
            1 => Some(Selecting::Points),
            2 => Some(Selecting::Hyperslabs),
            3 => Some(Selecting::All),
            _ => None,
        }
    }

    /// Items that are selected.
    pub(super) fn selected_points(self, space: Id) -> Option<u64> {
        u64::try_from(ask!(self, SelectedPoints(space => Id) -> i64)?).ok()
    }

    /// The first and the last item of the box around what is selected, which
    /// must be something.
    pub(super) fn bounds(self, space: Id, first: &mut Extents, last: &mut Extents) -> Option<()> {
        let code = ask!(self, SelectionBounds(
            space => Id, first.as_mut_ptr() => *mut u64, last.as_mut_ptr() => *mut u64
        ) -> c_int)?;
        (code >= 0).then_some(())
    }

    /// The selection of a dataspace that is selected by hyperslabs, if it is
    /// regular. Versions before 1.10 cannot say.
    pub(super) fn hyperslab(self, space: Id, slab: &mut Hyperslab) -> Option<()> {
        if ask!(self, IsRegular(space => Id) -> c_int)? <= 0 {
            return None;
        }
        let code = ask!(self, Regular(
            space => Id,
            slab.start.as_mut_ptr() => *mut u64,
            slab.stride.as_mut_ptr() => *mut u64,
            slab.count.as_mut_ptr() => *mut u64,
            slab.block.as_mut_ptr() => *mut u64
        ) -> c_int)?;
        (code >= 0).then_some(())
    }

    /// Looks at how a dataset was made.
    pub(super) fn with_properties<R>(
        self,
        dataset: Id,
        look: impl FnOnce(Properties) -> R,
    ) -> Option<R> {
        let id = ask!(self, DatasetProperties(dataset => Id) -> Id)?;
        if self.id(id) < 0 {
            return None;
        }
        let result = look(Properties { hdf5: self, id });
        ask!(self, CloseProperties(id => Id) -> c_int);
        Some(result)
    }
}

/// How a dataset was made.
pub(super) struct Properties {
    hdf5: Hdf5,
    id: Id,
}

impl Properties {
    /// The shape of its chunks, if it has any.
    pub(super) fn chunk(&self) -> Option<(usize, Extents)> {
        const CHUNKED: c_int = 2;
        if ask!(self.hdf5, Layout(self.id => Id) -> c_int)? != CHUNKED {
            return None;
        }
        let mut extents = [0; MAX_RANK];
        let rank = ask!(self.hdf5, Chunk(
            self.id => Id, MAX_RANK as c_int => c_int, extents.as_mut_ptr() => *mut u64
        ) -> c_int)?;
        Some((usize::try_from(rank).ok()?.min(MAX_RANK), extents))
    }

    /// The numbers of its filters, in the order in which data passes them.
    pub(super) fn filters(&self) -> impl Iterator<Item = i32> {
        let n_filters = ask!(self.hdf5, FilterCount(self.id => Id) -> c_int).unwrap_or(0);
        (0..n_filters.max(0) as c_uint).map_while(|place| {
            let none = core::ptr::null_mut();
            let filter = ask!(self.hdf5, Filter(
                self.id => Id, place => c_uint, none => *mut c_void, none => *mut c_void,
                none => *mut c_void, 0 => usize, none => *mut c_void, none => *mut c_void
            ) -> c_int)?;
            (filter >= 0).then_some(filter)
        })
    }
}

type Pointer = *const c_void;

/// What the program has set to be called with errors.
#[derive(Clone, Copy)]
struct Printer {
    /// Of the present kind, not that of 1.6.
    is_2: bool,
    function: Pointer,
    data: Pointer,
}

/// What HDF5 has written into a buffer, if it is not empty and complete.
fn text(room: &[u8], written: isize) -> Option<&[u8]> {
    let length = usize::try_from(written).ok()?;
    if length == 0 || length >= room.len() { None } else { room.get(..length) }
}
