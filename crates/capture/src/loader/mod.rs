// SPDX-License-Identifier: MIT OR Apache-2.0

//! The modules that are loaded and the functions that they define, found without
//! the dynamic linker's main lock.
//!
//! `dlsym`, `dladdr` and `dlopen` wait for the lock that a thread holds while it loads
//! a library and runs its constructors. Binding a function at its first call, which our
//! functions replace, does not: a constructor may wait for a thread that makes such a
//! call. So names are looked up here, in the modules' own hash tables. What is asked of
//! the linker is `dl_iterate_phdr`, whose lock is held only while its list of modules
//! is changed, as C++ exceptions rely on; meanwhile no module is unloaded.
//!
//! Nothing here allocates. Each search of all modules takes some microseconds, so keep
//! what is found.

mod module;

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicUsize};

pub(crate) use module::{LoadedModule, SymbolFound, SymbolName};

/// Modules that are distinguished when dependencies are followed; further ones are
/// ignored.
const MAX_MODULES: usize = 1024;

/// How many modules there were before the program could load any: those that it was
/// linked with, and preloaded ones. They come first in the linker's list, stay,
/// and are the beginning of the global scope.
static N_INITIAL: AtomicUsize = AtomicUsize::new(0);
/// The program has loaded something.
static HAS_LOADED: AtomicBool = AtomicBool::new(false);
/// And made it part of the global scope.
static HAS_LOADED_GLOBALLY: AtomicBool = AtomicBool::new(false);

/// Counts the modules that are there from the beginning. Called by our constructor;
/// where one before it has loaded something, they are not known.
pub(crate) fn set_up() {
    let mut n_modules = 0;
    each(|_, _| {
        n_modules += 1;
        false
    });
    if !HAS_LOADED.load(Relaxed) {
        N_INITIAL.store(n_modules, Relaxed);
    }
}

/// The program is about to load a library. Not noticed where `dlopen` is not intercepted.
pub(crate) fn note_load(flags: c_int) {
    HAS_LOADED.store(true, Relaxed);
    if flags & libc::RTLD_GLOBAL != 0 {
        HAS_LOADED_GLOBALLY.store(true, Relaxed);
    }
}

/// Whether the global scope may be larger than it was in the beginning: only the
/// linker knows it then.
pub(crate) fn may_global_scope_have_grown() -> bool {
    const IS_TOLD: bool = cfg!(all(target_arch = "x86_64", not(feature = "portable")));
    !IS_TOLD || HAS_LOADED_GLOBALLY.load(Relaxed)
}

/// What the modules after ours define under a name.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct NameDefinitions {
    /// The first definition of the global scope, as it was in the beginning.
    pub(crate) initial: Option<usize>,
    /// The first of all.
    pub(crate) first: Option<usize>,
    pub(crate) n_definitions: usize,
}

/// Looks a name up in all modules that come after ours.
pub(crate) fn definitions(name: &CStr) -> NameDefinitions {
    let here = definitions as *const () as usize;
    let n_initial = N_INITIAL.load(Relaxed);
    let mut found = NameDefinitions::default();
    let mut is_behind_ours = false;
    each(|number, module| {
        if !is_behind_ours {
            is_behind_ours = module.contains(here);
        } else if let Some(address) = module.symbol(name) {
            found.n_definitions += 1;
            found.first = found.first.or(Some(address));
            if number < n_initial {
                found.initial = found.initial.or(Some(address));
            }
        }
        false
    });
    found
}

/// Looks names up in the modules that come after ours, as the linker would (`RTLD_NEXT`)
/// but all at once, in a fifth of the time: `visit` gets a lookup for each module. False,
/// and nothing is visited, where only the linker knows which modules were there in the
/// beginning.
pub(crate) fn look_behind_ours(mut visit: impl FnMut(&dyn Fn(SymbolName) -> SymbolFound)) -> bool {
    let here = set_up as *const () as usize;
    let n_initial = N_INITIAL.load(Relaxed);
    let mut is_behind_ours = false;
    each(|number, module| {
        let is_searched = is_behind_ours && number < n_initial;
        if let Some(symbols) = module.symbols().filter(|_| is_searched) {
            visit(&|name| symbols.find(name));
        }
        is_behind_ours |= module.contains(here);
        false
    });
    n_initial > 0
}

/// Whether a module of the global scope, as it was in the beginning, defines a name.
pub(crate) fn is_initial(name: &CStr) -> bool {
    let n_initial = N_INITIAL.load(Relaxed);
    let mut is_found = false;
    each(|number, module| {
        is_found = number < n_initial && module.symbol(name).is_some();
        is_found || number >= n_initial
    });
    is_found
}

/// Where the module begins that an address lies in.
pub(crate) fn base_of(address: usize) -> Option<usize> {
    let mut base = None;
    each(|_, module| {
        base = module.contains(address).then(|| module.base());
        base.is_some()
    });
    base
}

/// Looks names up in the module that an address lies in, and in what it depends on. The
/// answers are consistent: no module is unloaded in between.
pub(crate) fn with_dependencies<R>(
    address: usize,
    work: impl FnOnce(&Dependencies) -> R,
) -> Option<R> {
    let mut work = Some(work);
    let mut result = None;
    // No module is unloaded during the outer search.
    each(|_, _| {
        if let (Some(work), Some(modules)) = (work.take(), Dependencies::of(address)) {
            result = Some(work(&modules));
        }
        true
    });
    result
}

/// A module and all that it depends on, by their numbers.
pub(crate) struct Dependencies {
    module: usize,
    members: [u64; MAX_MODULES / 64],
}

impl Dependencies {
    fn of(address: usize) -> Option<Dependencies> {
        let mut module = None;
        each(|number, loaded| {
            module = loaded.contains(address).then_some(number);
            module.is_some()
        });
        let mut found = Dependencies { module: module?, members: [0; MAX_MODULES / 64] };
        found.add(found.module);
        let mut followed = [0; MAX_MODULES / 64];
        while let Some(next) = found.first_beyond(&followed) {
            set(&mut followed, next);
            found.add_needed_by(next);
        }
        Some(found)
    }

    /// The address of a function; 0 if there is none.
    pub(crate) fn find(&self, name: &CStr) -> usize {
        let mut address = 0;
        each(|number, module| {
            if number == self.module {
                address = module.symbol(name).unwrap_or(0);
            }
            number == self.module
        });
        if address == 0 {
            each(|number, module| {
                if self.has(number) {
                    address = module.symbol(name).unwrap_or(0);
                }
                address != 0
            });
        }
        address
    }

    fn add_needed_by(&mut self, number: usize) {
        each(|other, module| {
            if other == number {
                each(|needed, candidate| {
                    if !self.has(needed) && module.needs(candidate) {
                        self.add(needed);
                    }
                    false
                });
            }
            other == number
        });
    }

    fn add(&mut self, number: usize) {
        set(&mut self.members, number);
    }

    fn has(&self, number: usize) -> bool {
        self.members.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// The first member that is not in another set.
    fn first_beyond(&self, others: &[u64; MAX_MODULES / 64]) -> Option<usize> {
        let words = self.members.iter().zip(others).map(|(member, other)| member & !other);
        let mut left = words.enumerate().filter(|(_, word)| *word != 0);
        left.next().map(|(place, word)| place * 64 + word.trailing_zeros() as usize)
    }
}

fn set(bits: &mut [u64; MAX_MODULES / 64], number: usize) {
    if let Some(word) = bits.get_mut(number / 64) {
        *word |= 1 << (number % 64);
    }
}

/// Visits all modules in the linker's order, with their numbers, until the callback
/// returns true. Calls may be nested.
fn each<F: FnMut(usize, &LoadedModule) -> bool>(look: F) {
    unsafe extern "C-unwind" {
        // As in the libc crate, except for the callback: one that must not unwind would
        // pull in an unwinding runtime to make sure.
        fn dl_iterate_phdr(
            callback: unsafe extern "C-unwind" fn(
                *mut libc::dl_phdr_info,
                libc::size_t,
                *mut c_void,
            ) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }

    struct Visit<F> {
        number: usize,
        look: F,
    }

    unsafe extern "C-unwind" fn visit<F: FnMut(usize, &LoadedModule) -> bool>(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: both are what `each` and the linker gave.
        let (module, visit) = unsafe { (LoadedModule::new(&*info), &mut *data.cast::<Visit<F>>()) };
        let number = visit.number;
        visit.number += 1;
        c_int::from((visit.look)(number, &module))
    }

    let mut visit_all = Visit { number: 0, look };
    // SAFETY: the callback gets back what is given here.
    unsafe { dl_iterate_phdr(visit::<F>, (&raw mut visit_all).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libc_function() -> usize {
        libc::getppid as *const () as usize
    }

    #[test]
    fn functions_are_found_where_the_linker_finds_them() {
        let by_linker = |name: &CStr| {
            // SAFETY: a C string.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
        };
        let names = [c"getppid", c"strtol", c"pthread_create", c"environ", c"no_such_function"];
        let found = with_dependencies(libc_function(), |libc| names.map(|name| libc.find(name)));
        assert_eq!(found, Some(names.map(by_linker)));
        assert_eq!(base_of(libc_function()).map(|base| base % 4096), Some(0));
        assert_eq!(base_of(1), None);
    }

    #[test]
    fn a_module_does_not_depend_on_what_depends_on_it() {
        let test = a_module_does_not_depend_on_what_depends_on_it as *const () as usize;
        let number = |address| Dependencies::of(address).map(|found| found.module);
        let (libc, program) = (number(libc_function()).unwrap(), number(test).unwrap());
        assert!(Dependencies::of(test).unwrap().has(libc));
        assert!(!Dependencies::of(libc_function()).unwrap().has(program));
    }

    #[test]
    fn what_was_there_in_the_beginning_is_the_global_scope() {
        set_up();
        assert!(is_initial(c"getppid") && !is_initial(c"no_such_function"));
        let found = definitions(c"getppid");
        assert_eq!((found.initial, found.n_definitions), (Some(libc_function()), 1));
        assert_eq!(definitions(c"no_such_function"), NameDefinitions::default());
    }
}
