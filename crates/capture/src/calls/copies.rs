// SPDX-License-Identifier: MIT OR Apache-2.0

//! The copies of libraries in this process, and the functions in them that we call.
//!
//! A handle means something only to the copy that issued it: the wheels of two Python
//! modules may each bring an HDF5, and both number their files from the same number on.
//! A copy is known by where it is loaded. After something was unloaded another may be
//! at its place, so that its functions are looked up again; what its handles stand for
//! is in the libraries' tables.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::loader;
use crate::stack;
use crate::thread::NestedLibrary;

/// Copies that can be distinguished; calls of further ones pass through.
pub(super) const COPIES: usize = 15;
/// Maximum of functions looked up in a library.
pub(super) const MAX_FUNCTIONS: usize = 40;
/// Real functions whose copy is remembered; beyond that, they share slots and are
/// looked up again.
const PLACES: usize = 256;
/// Above the number of a copy in a word.
const LIBRARY_BIT: u32 = 4;

static LOADED: [Loaded; COPIES] = [const { Loaded::none() }; COPIES];
static COPY_OF: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];

struct Loaded {
    /// Where the module begins, which is a multiple of a page, plus the library
    /// that is meant in it; 0: free.
    place: AtomicUsize,
    /// The generation of modules that the functions were found in; 0: none.
    modules: AtomicU32,
    functions: [AtomicUsize; MAX_FUNCTIONS],
}

impl Loaded {
    const fn none() -> Loaded {
        Loaded {
            place: AtomicUsize::new(0),
            modules: AtomicU32::new(0),
            functions: [const { AtomicUsize::new(0) }; MAX_FUNCTIONS],
        }
    }
}

/// A copy of a library.
#[derive(Clone, Copy)]
pub(super) struct LibraryCopy {
    number: usize,
    loaded: &'static Loaded,
}

impl LibraryCopy {
    /// The copy that a real function lies in; `names` are the functions that
    /// will be asked for, "" for none.
    #[inline]
    pub(super) fn of(
        library: NestedLibrary,
        names: &'static [&'static CStr],
        real: usize,
    ) -> Option<LibraryCopy> {
        let modules = stack::modules_generation();
        let kept = COPY_OF.get((real >> 4) % PLACES)?;
        // The number of the copy in the lowest bits of a word that only fits here.
        let key =
            (real ^ (modules as usize).rotate_left(40)) << 8 | (library as usize) << LIBRARY_BIT;
        if let Some(copy) = LibraryCopy::numbered(kept.load(Ordering::Acquire) ^ key)
            && copy.loaded.modules.load(Ordering::Acquire) == modules
        {
            return Some(copy);
        }
        let found = find(library, names, real, modules)?;
        kept.store(key | found.number, Ordering::Release);
        Some(found)
    }

    /// The copy that has a number.
    #[inline]
    pub(super) fn numbered(number: usize) -> Option<LibraryCopy> {
        let loaded = LOADED.get(number.wrapping_sub(1))?;
        Some(LibraryCopy { number, loaded })
    }

    /// Distinguishes the copies of all libraries: at least 1 and at most [`COPIES`].
    pub(super) fn number(self) -> u64 {
        self.number as u64
    }

    /// The address of one of the functions, by its place among the names.
    #[inline]
    pub(super) fn function(self, place: usize) -> Option<usize> {
        let address = self.loaded.functions.get(place)?.load(Ordering::Relaxed);
        (address != 0).then_some(address)
    }
}

/// Several threads may look it up at once: they find the same.
#[cold]
fn find(
    library: NestedLibrary,
    names: &'static [&'static CStr],
    real: usize,
    modules: u32,
) -> Option<LibraryCopy> {
    let (start, _) = stack::module_around(real)?;
    let found = LibraryCopy::numbered(number_for(
        &LOADED,
        start | library as usize,
        modules,
        super::forget_copy,
    )?)?;
    if found.loaded.modules.load(Ordering::Acquire) != modules {
        loader::with_dependencies(real, |modules| {
            for (place, address) in found.loaded.functions.iter().enumerate() {
                let name = names.get(place).filter(|name| !name.is_empty());
                address.store(name.map_or(0, |name| modules.find(name)), Ordering::Relaxed);
            }
        })?;
        found.loaded.modules.store(modules, Ordering::Release);
    }
    Some(found)
}

/// The number of the copy at a place: the one it has, a free one, or that of a copy
/// that was not called since something was unloaded and may be gone. Threads that ask
/// for a new place at once get the same number, and none takes a number that another
/// thread is claiming.
fn number_for(
    copies: &[Loaded],
    place: usize,
    modules: u32,
    forget: impl FnOnce(u64),
) -> Option<usize> {
    let mut known = (1..).zip(copies);
    if let Some((number, _)) = known.find(|(_, it)| it.place.load(Ordering::Relaxed) == place) {
        return Some(number);
    }
    for (number, loaded) in (1..).zip(copies) {
        let before = loaded.place.load(Ordering::Relaxed);
        let found_in = loaded.modules.load(Ordering::Relaxed);
        let is_over = before == 0 || (found_in != 0 && found_in != modules);
        let taken = Ordering::Relaxed;
        if before == place {
            return Some(number);
        } else if is_over {
            match loaded.place.compare_exchange(before, place, taken, taken) {
                Ok(_) => {
                    loaded.modules.store(0, Ordering::Release);
                    forget(number as u64);
                    return Some(number);
                }
                Err(now) if now == place => return Some(number),
                Err(_) => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_at_once_find_the_same_copy() {
        static TABLE: [Loaded; 3] = [const { Loaded::none() }; 3];
        for round in 1..500 {
            let place = round << 12;
            let together = std::sync::Barrier::new(4);
            let numbers = std::thread::scope(|scope| {
                let ask = || {
                    together.wait();
                    number_for(&TABLE, place, u32::MAX, |_| ())
                };
                let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                asking.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert!(numbers.iter().all(|number| number.is_some() && *number == numbers[0]));
            // As if it had been found before something was unloaded.
            let loaded = &TABLE[numbers[0].unwrap() - 1];
            loaded.modules.store(round as u32, Ordering::Relaxed);
        }
    }

    /// The C library is a library like any other.
    #[test]
    fn a_copy_keeps_its_number_and_tells_its_functions() {
        static NAMES: [&CStr; 3] = [c"getpid", c"no_such_function", c""];
        let real = libc::getppid as *const () as usize;
        let copy = |library| LibraryCopy::of(library, &NAMES, real).unwrap();
        let first = copy(NestedLibrary::NetCdf);
        assert!(first.function(0).is_some() && first.function(1).is_none());
        assert!(first.function(2).is_none() && first.function(99).is_none());
        assert_eq!(copy(NestedLibrary::NetCdf).number(), first.number());
        assert_ne!(copy(NestedLibrary::PnetCdf).number(), first.number());
        stack::modules_changed();
        assert_eq!(copy(NestedLibrary::NetCdf).number(), first.number());
        assert!(LibraryCopy::of(NestedLibrary::NetCdf, &NAMES, 1).is_none());
    }
}
