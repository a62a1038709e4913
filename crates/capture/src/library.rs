// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows of functions that live in libraries we do not link: MPI and what builds on it.
//! Which library has the real function is found out when the program first calls ours,
//! so a program that uses none of them pays nothing.
//!
//! The dynamic linker would have bound the caller to the first definition of the global
//! scope, else to one among the caller's own dependencies: a Python wheel brings its
//! own libhdf5, which no other module sees. We search in the same order. A module that
//! was once given its own copy keeps it: what it holds was made by that copy.
//!
//! Found addresses are kept per place of call, and only as long as nothing is
//! unloaded (`dlclose`), after which another library may be where one was.
//!
//! An application may have a function of its own in one of its libraries that is called
//! like one of ours, `nc_open` for network connections, with any arguments. If nothing
//! indicates the library that we mean, such a call continues with all registers
//! unchanged, before anything looks at its arguments.
//!
//! Looking up does not take the dynamic linker's main lock ([`loader`]), except if
//! several copies are loaded, none of which the program was linked with, and the
//! program has loaded something into the global scope: then only the linker knows which
//! of them it would have chosen.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::interpose::is_ours;
use crate::loader;
use crate::stack;
use crate::thread;

/// Places of call that are remembered; beyond that, they share slots and are looked up
/// again.
const PLACES: usize = 1024;
/// Modules remembered to use a copy of their own; later ones take what the
/// search finds first.
const MODULES: usize = 64;

static LOCAL: [CachedAddress; PLACES] = [const { CachedAddress::empty() }; PLACES];
static JUDGED: [CachedAddress; PLACES] = [const { CachedAddress::empty() }; PLACES];
static OWN_COPY: [AtomicUsize; MODULES] = [const { AtomicUsize::new(0) }; MODULES];

/// A function of a library that is found at run time.
///
/// It does not contain its name: so all of them lie in zeroed memory, and thousands of
/// rows cost a program nothing when it starts.
#[repr(C)]
pub(crate) struct Foreign {
    /// All callers have the same function, and it is the library's: the entry continues
    /// without asking. This is the first field, because the entry reads it.
    is_settled: AtomicBool,
    /// What the global scope has.
    global: CachedAddress,
    /// Some caller was given another copy.
    has_copies: AtomicBool,
    /// What was found last.
    last: AtomicUsize,
}

impl Foreign {
    pub(crate) const fn new() -> Foreign {
        Foreign {
            is_settled: AtomicBool::new(false),
            global: CachedAddress::empty(),
            has_copies: AtomicBool::new(false),
            last: AtomicUsize::new(0),
        }
    }

    /// The real function for the current caller; None if there is none. Ask first in a
    /// hook: the entry has just saved the caller's registers.
    #[inline]
    pub(crate) fn of_caller(&self, name: &CStr) -> Option<usize> {
        let modules = stack::modules_generation() as usize;
        self.of_all(modules)
            .or_else(|| thread::take_real(&raw const *self as usize))
            .or_else(|| self.of_place(name, thread::return_address(), modules))
    }

    /// The real function if it is the same for all callers, and known.
    #[inline]
    fn of_all(&self, modules: usize) -> Option<usize> {
        if self.has_copies.load(Ordering::Relaxed) { None } else { self.global.get(modules) }
    }

    /// Where a new call continues: in our hook, or in a function that only has the same
    /// name. The entry asks this before the hook.
    #[cold]
    pub(crate) fn target(&self, name: &CStr, hook: usize) -> usize {
        let modules = stack::modules_generation() as usize;
        let of_all = self.of_all(modules);
        let of_place = || self.of_place(name, thread::return_address(), modules);
        let Some(address) = of_all.or_else(of_place) else { return hook };
        if !is_of_library(name, address, modules) {
            return address;
        }
        if self.of_all(modules) == Some(address) {
            self.is_settled.store(true, Ordering::Relaxed);
        } else {
            thread::keep_real(&raw const *self as usize, address);
        }
        hook
    }

    #[cold]
    fn of_place(&self, name: &CStr, place: usize, modules: usize) -> Option<usize> {
        let key = place ^ (&raw const *self as usize).rotate_left(17) ^ modules.rotate_left(48);
        let kept = LOCAL.get(spread(key) % PLACES)?;
        if let Some(address) = kept.get(key) {
            return Some(address);
        }
        let address = self.search(name, place, modules)?;
        kept.set(key, address);
        self.last.store(address, Ordering::Relaxed);
        Some(address)
    }

    fn search(&self, name: &CStr, place: usize, modules: usize) -> Option<usize> {
        let found = loader::definitions(name);
        let caller = loader::base_of(place);
        let keeps_own = caller.is_some_and(has_own_copy);
        if let (Some(address), false) = (found.initial, keeps_own) {
            self.global.set(modules, address);
            return Some(address);
        }
        let Some(caller) = caller else {
            // A handler that interrupted the entry has left its own registers.
            return self.found_last().or(found.first);
        };
        self.has_copies.store(true, Ordering::Relaxed);
        let among_several = || {
            let globally = || self.find_globally(name).filter(|_| !keeps_own);
            let global = loader::may_global_scope_have_grown().then(globally).flatten();
            global.or_else(|| real(loader::with_dependencies(place, |it| it.find(name))?))
        };
        let address = match found.n_definitions {
            0 => return None,
            1 => found.first?,
            // Parts of a plug-in may use what only the plug-in as a whole depends
            // on; and a function that ends in the call (a tail call) has left no
            // trace of itself: who called it seems to be the caller.
            _ => among_several().or(found.initial).or(found.first)?,
        };
        keep_own_copy(caller);
        Some(address)
    }

    /// What the linker finds in the global scope, after us.
    fn find_globally(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the name is a C string.
        real(unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize)
    }

    fn found_last(&self) -> Option<usize> {
        real(self.last.load(Ordering::Relaxed))
    }
}

/// Whether the module that begins there was given a copy of its own.
fn has_own_copy(module: usize) -> bool {
    // A program at a fixed address begins at 0, and uses the global one.
    module != 0 && OWN_COPY.iter().any(|base| base.load(Ordering::Relaxed) == module)
}

fn keep_own_copy(module: usize) {
    for base in &OWN_COPY {
        let free = base.compare_exchange(0, module, Ordering::Relaxed, Ordering::Relaxed);
        if free.is_ok() || free == Err(module) {
            return;
        }
    }
}

/// The address, unless it is null or ours: calling ours would come back to us.
fn real(address: usize) -> Option<usize> {
    (address != 0 && !is_ours(address)).then_some(address)
}

/// Whether a function of this name is that of the library we mean: the module that has
/// it, or the program as a whole, has another one that only the library has. (It need
/// not be in the same module: tools that interpose define single functions.)
fn is_of_library(name: &CStr, address: usize, modules: usize) -> bool {
    const YES: usize = 1;
    const NO: usize = 2;
    let key = address ^ modules.rotate_left(48);
    let judged = JUDGED.get(spread(key) % PLACES);
    if let Some(verdict) = judged.and_then(|judged| judged.get(key)) {
        return verdict == YES;
    }
    let sign = sign_of(name);
    let there = || real(loader::with_dependencies(address, |modules| modules.find(sign))?);
    // SAFETY: the name is a C string.
    let globally = || unsafe { libc::dlsym(libc::RTLD_DEFAULT, sign.as_ptr()) as usize };
    let is_there = loader::is_initial(sign)
        || there().is_some()
        || (loader::may_global_scope_have_grown() && real(globally()).is_some());
    if let Some(judged) = judged {
        judged.set(key, if is_there { YES } else { NO });
    }
    is_there
}

/// A function that a library has for certain, and that we do not define.
fn sign_of(name: &CStr) -> &'static CStr {
    match name.to_bytes() {
        [b'H', b'5', ..] => c"H5open",
        [b'n', b'c', b'm', b'p', b'i', b'_', ..] => c"ncmpi_inq_libvers",
        [b'n', b'c', b'_', ..] => c"nc_inq_libvers",
        _ => c"MPI_Initialized",
    }
}

fn spread(key: usize) -> usize {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// An address that holds for a key. Two words that any thread may write, one after the
/// other: the second says whether they belong together.
struct CachedAddress {
    address: AtomicUsize,
    check: AtomicUsize,
}

impl CachedAddress {
    const fn empty() -> CachedAddress {
        CachedAddress { address: AtomicUsize::new(0), check: AtomicUsize::new(0) }
    }

    #[inline]
    fn get(&self, key: usize) -> Option<usize> {
        let address = self.address.load(Ordering::Relaxed);
        let fits = self.check.load(Ordering::Relaxed) == address ^ key;
        (address != 0 && fits).then_some(address)
    }

    fn set(&self, key: usize, address: usize) {
        self.address.store(address, Ordering::Relaxed);
        self.check.store(address ^ key, Ordering::Relaxed);
    }
}

/// Rows like those of `interpose!`, of libraries found at run time. A row's body receives
/// the address of the real function, which identifies the library, and how to call it. If
/// there is no such function after all, the row returns `missing`: a program may have found
/// it only because we define it.
macro_rules! library {
    (missing $missing:expr; $([$($name:ident),*] $arguments:tt -> $result:ty => |$library:ident, $real:ident| $body:expr;)*) => {
        $($(
            $crate::library::foreign! {
                $name = stringify!($name), $arguments -> $result, $missing => |$library, $real| $body
            }
        )*)*
    };
}
pub(crate) use library;

/// One function: the name of its module here, and its own.
macro_rules! foreign {
    ($module:ident = $symbol:expr, ($($argument:ident: $type:ty),*) -> $result:ty, $missing:expr => |$library:ident, $real:ident| $body:expr) => {
        #[allow(non_snake_case, reason = "the name is the library's")]
        mod $module {
            #[allow(unused_imports, reason = "not every row needs all that its table does")]
            use super::*;

            static FOREIGN: $crate::library::Foreign = $crate::library::Foreign::new();

            $crate::arch::asking_entry!(
                entry = $symbol, FOREIGN, target, hook ($($argument: $type),*) -> $result
            );

            extern "C" fn target() -> usize {
                FOREIGN.target($crate::interpose::c_name!($symbol), hook as *const () as usize)
            }

            unsafe extern "C-unwind" fn hook($($argument: $type),*) -> $result {
                type Signature = unsafe extern "C-unwind" fn($($type),*) -> $result;
                let address = FOREIGN.of_caller($crate::interpose::c_name!($symbol));
                let $library = address.unwrap_or(0);
                let $real = || match address {
                    // SAFETY: the row has the function's signature, and the
                    // arguments are the program's own.
                    Some(address) => unsafe {
                        core::mem::transmute::<usize, Signature>(address)($($argument),*)
                    },
                    None => $missing,
                };
                $body
            }
        }
    };
}
pub(crate) use foreign;
