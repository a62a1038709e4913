// SPDX-License-Identifier: MIT OR Apache-2.0

//! What we ask MPI, through the `PMPI_` names of the library that the real function is
//! in.
//!
//! Only local, cheap questions, on the thread that is itself inside a call of
//! MPI, and on handles that a call has just accepted: a question about a bad
//! datatype would run the error handler of MPI_COMM_WORLD, which ends programs.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::loader::{self, Dependencies};
use crate::stack;

/// A handle as it travels in a register: a pointer in Open MPI; in MPICH an int,
/// whose upper half may hold anything, or a pointer for files.
pub(super) type Handle = usize;

/// What is looked up.
#[derive(Clone, Copy)]
enum Symbol {
    Finalized,
    Position,
    ByteOffset,
    TypeSize,
    FileOfFortran,
    TypeOfFortran,
    RequestOfFortran,
    Initialized,
    Rank,
    Size,
    CommOfFortran,
    OpenMpi,
    Mpich,
    Abi,
}

/// In the order of [`Symbol`]. Of the last three, Open MPI has a variable for
/// the world, libraries with the interface of MPICH a function that its `mpi.h`
/// names, and those with the interface of MPI-5 that one.
const NAMES: [&CStr; 14] = [
    c"PMPI_Finalized",
    c"PMPI_File_get_position",
    c"PMPI_File_get_byte_offset",
    c"PMPI_Type_size_x",
    c"PMPI_File_f2c",
    c"PMPI_Type_f2c",
    c"PMPI_Request_f2c",
    c"PMPI_Initialized",
    c"PMPI_Comm_rank",
    c"PMPI_Comm_size",
    c"PMPI_Comm_f2c",
    c"ompi_mpi_comm_world",
    c"MPIR_Dup_fn",
    c"PMPI_Abi_get_version",
];

static ADDRESSES: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
/// The generation of modules that the addresses were found in; 0: none.
static FOUND: AtomicU32 = AtomicU32::new(0);

/// The MPI library of the process. There is one: two cannot be initialised.
#[derive(Clone, Copy)]
pub(super) struct MpiLibrary(());

impl MpiLibrary {
    /// The library that a real function lies in.
    pub(super) fn of(real: usize) -> Option<MpiLibrary> {
        let modules = stack::modules_generation();
        if FOUND.load(Ordering::Acquire) == modules {
            return Some(MpiLibrary(()));
        }
        find(real, modules)
    }

    /// Handles are pointers, and a request is 8 bytes.
    pub(super) fn is_open_mpi(self) -> bool {
        address(Symbol::OpenMpi).is_some()
    }

    /// The rank of this process in MPI_COMM_WORLD, and how many there are. To be
    /// asked after a call that has succeeded; None where there is no world (a
    /// program that uses sessions only) or its handle is not known.
    pub(super) fn rank_in_world(self) -> Option<(u32, u32)> {
        type Initialized = unsafe extern "C" fn(*mut c_int) -> c_int;
        type Ask = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
        let world = self.world()?;
        let (mut is_there, mut rank, mut size) = (0, -1, -1);
        // SAFETY: the functions have these signatures; the first may always be
        // called, the others once it has said yes, and not after MPI_Finalize,
        // where no call succeeds.
        let answered = unsafe {
            let initialized: Initialized = core::mem::transmute(address(Symbol::Initialized)?);
            let ask_rank: Ask = core::mem::transmute(address(Symbol::Rank)?);
            let ask_size: Ask = core::mem::transmute(address(Symbol::Size)?);
            initialized(&raw mut is_there) == 0
                && is_there != 0
                && ask_rank(world, &raw mut rank) == 0
                && ask_size(world, &raw mut size) == 0
        };
        let (rank, size) = (u32::try_from(rank).ok()?, u32::try_from(size).ok()?);
        answered.then_some((rank, size))
    }

    /// MPI_COMM_WORLD. A wrong handle would end the program.
    fn world(self) -> Option<Handle> {
        /// The same in all libraries with the interface of MPICH.
        const OF_MPICH: Handle = 0x4400_0000;
        /// Fortran's in Open MPI. C's is the address of a variable, but not of
        /// the library's own where the program was linked with a copy of it.
        const OF_FORTRAN: c_int = 0;
        if address(Symbol::Abi).is_some() {
            None
        } else if self.is_open_mpi() {
            convert(address(Symbol::CommOfFortran)?, OF_FORTRAN)
        } else {
            address(Symbol::Mpich).map(|_| OF_MPICH)
        }
    }

    /// The byte of the file that an offset in units of the view's etype means.
    pub(super) fn byte_offset(self, file: Handle, offset: i64) -> Option<i64> {
        type Ask = unsafe extern "C" fn(Handle, i64, *mut i64) -> c_int;
        let mut answer = -1;
        // SAFETY: the function has this signature; the file is open.
        let code = unsafe {
            core::mem::transmute::<usize, Ask>(address(Symbol::ByteOffset)?)(
                file,
                offset,
                &raw mut answer,
            )
        };
        (code == 0 && answer >= 0).then_some(answer)
    }

    /// Where the file's own pointer stands, in units of the view's etype.
    pub(super) fn position(self, file: Handle) -> Option<i64> {
        type Ask = unsafe extern "C" fn(Handle, *mut i64) -> c_int;
        type Finalized = unsafe extern "C" fn(*mut c_int) -> c_int;
        let (mut answer, mut is_over) = (-1, 0);
        // SAFETY: the functions have these signatures; the first may always be
        // called, the file is open.
        let code = unsafe {
            core::mem::transmute::<usize, Finalized>(address(Symbol::Finalized)?)(&raw mut is_over);
            if is_over != 0 {
                return None;
            }
            core::mem::transmute::<usize, Ask>(address(Symbol::Position)?)(file, &raw mut answer)
        };
        (code == 0).then_some(answer)
    }

    /// Bytes of data that an item of a type has.
    pub(super) fn type_size(self, datatype: Handle) -> Option<u64> {
        type Ask = unsafe extern "C" fn(Handle, *mut i64) -> c_int;
        let mut answer = -1_i64;
        // SAFETY: the function has this signature; a call has just used the type.
        let code = unsafe {
            core::mem::transmute::<usize, Ask>(address(Symbol::TypeSize)?)(
                datatype,
                &raw mut answer,
            )
        };
        if code == 0 { u64::try_from(answer).ok() } else { None }
    }

    /// The C handle of a file that Fortran knows by a number.
    pub(super) fn file_of_fortran(self, number: c_int) -> Option<Handle> {
        convert(address(Symbol::FileOfFortran)?, number)
    }

    /// The C handle of a type. MPICH has the same numbers in both languages.
    pub(super) fn type_of_fortran(self, number: c_int) -> Option<Handle> {
        match address(Symbol::TypeOfFortran) {
            Some(f2c) => convert(f2c, number),
            None => Some(number as Handle),
        }
    }

    /// The C handle of a request.
    pub(super) fn request_of_fortran(self, number: c_int) -> Option<Handle> {
        match address(Symbol::RequestOfFortran) {
            Some(f2c) => convert(f2c, number),
            None => Some(number as u32 as Handle),
        }
    }
}

fn convert(f2c: usize, number: c_int) -> Option<Handle> {
    // SAFETY: the function has this signature, and takes any number.
    let handle = unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(c_int) -> Handle>(f2c)(number)
    };
    (handle != 0).then_some(handle)
}

fn address(symbol: Symbol) -> Option<usize> {
    ADDRESSES
        .get(symbol as usize)
        .map(|address| address.load(Ordering::Relaxed))
        .filter(|&it| it != 0)
}

/// Several threads may look it up at once: they find the same.
#[cold]
fn find(real: usize, modules: u32) -> Option<MpiLibrary> {
    let look = |modules: &Dependencies| {
        for (place, name) in ADDRESSES.iter().zip(NAMES) {
            place.store(modules.find(name), Ordering::Relaxed);
        }
    };
    loader::with_dependencies(real, look)?;
    FOUND.store(modules, Ordering::Release);
    Some(MpiLibrary(()))
}
