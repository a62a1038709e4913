// SPDX-License-Identifier: MIT OR Apache-2.0

//! The copies of libraries in this process, and the functions of theirs that we
//! call ourselves.
//!
//! A handle means something only to the copy that gave it away: the wheels of
//! two Python modules may each bring a libnetcdf, and both number their files
//! from the same number on. A copy keeps its number as long as the process
//! lives. What was found in it is looked up again after something was unloaded.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::library::Module;
use crate::stack;
use crate::thread::Library;

/// Copies that are known; calls into further ones pass through.
const COPIES: usize = 15;
/// Functions of a library that are asked for, at most.
pub(crate) const MAX_FUNCTIONS: usize = 9;
/// Modules lie at multiples of this: the rest of a number is free.
const PAGE: usize = 4096;

static KNOWN: [Known; COPIES] = [const { Known::nothing() }; COPIES];

struct Known {
    /// Where the module begins, and the library that was sought in it.
    place: AtomicUsize,
    end: AtomicUsize,
    /// The generation of modules that the rest was found in; 0: none.
    found: AtomicU32,
    functions: [AtomicUsize; MAX_FUNCTIONS],
}

impl Known {
    const fn nothing() -> Known {
        Known {
            place: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            found: AtomicU32::new(0),
            functions: [const { AtomicUsize::new(0) }; MAX_FUNCTIONS],
        }
    }

    fn contains(&self, library: Library, address: usize) -> bool {
        let place = self.place.load(Ordering::Relaxed);
        let is_within = (place..self.end.load(Ordering::Relaxed)).contains(&address);
        is_within && place % PAGE == library as usize
    }
}

/// A copy of a library.
#[derive(Clone, Copy)]
pub(crate) struct LibraryCopy {
    number: u64,
    known: &'static Known,
}

impl LibraryCopy {
    /// The copy that a real function lies in; `names` are the functions that
    /// will be asked for.
    pub(crate) fn of(
        library: Library,
        names: &[&CStr; MAX_FUNCTIONS],
        real: usize,
    ) -> Option<LibraryCopy> {
        let modules = stack::modules_generation();
        (1..)
            .zip(&KNOWN)
            .find(|(_, known)| {
                known.found.load(Ordering::Acquire) == modules && known.contains(library, real)
            })
            .map(|(number, known)| LibraryCopy { number, known })
            .or_else(|| find(library, names, real, modules))
    }

    /// A small number, at least 1 and at most 15.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// The address of one of the functions, by its place among the names.
    pub(crate) fn function(self, place: usize) -> Option<usize> {
        let address = self.known.functions.get(place)?.load(Ordering::Relaxed);
        (address != 0).then_some(address)
    }
}

/// Several threads may look at once: they find the same.
#[cold]
fn find(
    library: Library,
    names: &[&CStr; MAX_FUNCTIONS],
    real: usize,
    modules: u32,
) -> Option<LibraryCopy> {
    let (start, end) = stack::module_around(real)?;
    let place = start | library as usize;
    // Entries are never given up, so all threads come to the same one.
    let (number, known) = (1..).zip(&KNOWN).find(|(_, known)| {
        let taken = Ordering::Relaxed;
        let was = known.place.compare_exchange(0, place, taken, taken);
        was.is_ok() || was == Err(place)
    })?;
    Module::of(real)?.with_scope(|scope| {
        for (address, name) in known.functions.iter().zip(names) {
            let found = if name.is_empty() { 0 } else { scope.find(name) };
            address.store(found, Ordering::Relaxed);
        }
    })?;
    known.end.store(end, Ordering::Relaxed);
    known.found.store(modules, Ordering::Release);
    Some(LibraryCopy { number, known })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C library is a library as any other.
    #[test]
    fn a_copy_keeps_its_number_and_tells_its_functions() {
        let names = [c"getpid", c"no_such_function", c"", c"", c"", c"", c"", c"", c""];
        let real = libc::getppid as *const () as usize;
        let copy = |library| LibraryCopy::of(library, &names, real).unwrap();
        let first = copy(Library::NetCdf);
        assert!(first.function(0).is_some() && first.function(1).is_none());
        assert!(first.function(2).is_none() && first.function(99).is_none());
        assert_eq!(copy(Library::NetCdf).number(), first.number());
        assert_ne!(copy(Library::PnetCdf).number(), first.number());
        stack::modules_changed();
        assert_eq!(copy(Library::NetCdf).number(), first.number());
        assert!(LibraryCopy::of(Library::NetCdf, &names, 1).is_none());
    }
}
