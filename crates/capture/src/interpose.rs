// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns rows of a table into intercepted functions.
//!
//! A row names the functions, their signature and what is done around the real
//! call. It becomes, per name, an exported entry, the hook behind it, and the
//! address of the real function.
//!
//! The compiler checks the signature against the system's declaration: that of
//! the `libc` crate for rows that begin with `libc` or `variadic`, that of the
//! C headers for `header` rows (by C code that the build script makes of them).
//! `exported` rows are functions that the C library has and declares nowhere, or
//! with a variable number of arguments.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::loader::{self, SymbolFound, SymbolName};

/// The next definition of a function after ours in the search order.
pub(crate) struct Real {
    name: SymbolName<'static>,
    address: AtomicPtr<libc::c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Real {
        Real { name: SymbolName::new(name), address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// Its address; None where this C library does not have it.
    #[inline]
    pub(crate) fn address(&self) -> Option<*mut libc::c_void> {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.find() } else { Some(address) }
    }

    /// Looks it up. The constructor does this for all rows; a call that comes
    /// even earlier, from another library's constructor, does it for itself.
    #[cold]
    pub(crate) fn find(&self) -> Option<*mut libc::c_void> {
        // SAFETY: the name is a C string.
        let mut address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.text().as_ptr()) };
        if is_ours(address as usize) {
            // A `dlsym` defined by the program searches from the program's own
            // position.
            address = self.find_in_libc();
        }
        self.address.store(address, Ordering::Relaxed);
        (!address.is_null()).then_some(address)
    }

    /// Looks it up in the next module after ours, if it was not found before.
    pub(crate) fn find_by(&self, find: &dyn Fn(SymbolName) -> SymbolFound) {
        if !self.address.load(Ordering::Relaxed).is_null() {
            return;
        }
        match find(self.name) {
            SymbolFound::At(address) => self.address.store(address as *mut _, Ordering::Relaxed),
            SymbolFound::Indirect => _ = self.find(),
            SymbolFound::Nothing => {}
        }
    }

    /// Its address as far as it was looked up.
    #[cfg(test)]
    pub(crate) fn known_address(&self) -> *mut libc::c_void {
        self.address.load(Ordering::Relaxed)
    }

    fn find_in_libc(&self) -> *mut libc::c_void {
        let in_libc = libc::__errno_location as *const () as usize;
        let found = loader::with_dependencies(in_libc, |libc| libc.find(self.name.text()));
        found.unwrap_or(0) as *mut libc::c_void
    }
}

/// Whether an address is in this library.
pub(crate) fn is_ours(address: usize) -> bool {
    unsafe extern "C" {
        static __ehdr_start: u8;
        static _end: u8;
    }
    let start = &raw const __ehdr_start as usize;
    let end = &raw const _end as usize;
    (start..end).contains(&address)
}

/// What a function returns, with ENOSYS, if this C library does not have it: a program
/// may have found it only because we define it.
pub(crate) trait MissingResult {
    const MISSING: Self;
}

impl MissingResult for i32 {
    const MISSING: i32 = -1;
}

impl MissingResult for i64 {
    const MISSING: i64 = -1;
}

impl MissingResult for isize {
    const MISSING: isize = -1;
}

impl MissingResult for usize {
    const MISSING: usize = 0;
}

impl MissingResult for () {
    const MISSING: () = ();
}

impl<T> MissingResult for *mut T {
    const MISSING: *mut T = core::ptr::null_mut();
}

/// See the module.
macro_rules! interpose {
    ($($source:ident [$($name:ident),*] $arguments:tt -> $result:ty => |$real:ident| $body:expr;)*) => {
        $($(
            $crate::interpose::intercepted! {
                $source $name $arguments -> $result => |$real| $body
            }
        )*)*

        /// The real functions of all rows.
        pub(crate) static REALS: &[&$crate::interpose::Real] = &[$($(&$name::REAL),*),*];
    };
}
pub(crate) use interpose;

/// One name of a row.
macro_rules! intercepted {
    ($source:ident $name:ident ($($argument:ident: $type:ty),*) -> $result:ty
        => |$real:ident| $body:expr) => {
        #[allow(non_snake_case, reason = "the name is the C library's")]
        mod $name {
            #[allow(unused_imports, reason = "not every row needs all that its table does")]
            use super::*;

            pub(super) static REAL: $crate::interpose::Real =
                $crate::interpose::Real::new($crate::interpose::c_name!(stringify!($name)));

            $crate::interpose::check!($source $name ($($type),*) -> $result);
            $crate::arch::entry!(entry = stringify!($name), hook ($($argument: $type),*) -> $result);

            pub(super) unsafe extern "C-unwind" fn hook($($argument: $type),*) -> $result {
                type Signature = unsafe extern "C-unwind" fn($($type),*) -> $result;
                let $real = || match REAL.address() {
                    // SAFETY: the row has the function's signature, and the
                    // arguments are the program's own.
                    Some(address) => unsafe {
                        core::mem::transmute::<*mut libc::c_void, Signature>(address)($($argument),*)
                    },
                    None => {
                        $crate::observe::SavedErrno::set(libc::ENOSYS);
                        <$result as $crate::interpose::MissingResult>::MISSING
                    }
                };
                $body
            }
        }
    };
}
pub(crate) use intercepted;

macro_rules! c_name {
    ($name:expr) => {
        match core::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name has no zero byte"),
        }
    };
}
pub(crate) use c_name;

/// The compiler compares the row with the system's declaration.
macro_rules! check {
    (libc $name:ident ($($type:ty),*) -> $result:ty) => {
        const _: unsafe extern "C" fn($($type),*) -> $result = libc::$name;
    };
    (variadic $name:ident ($first:ty, $second:ty, $($type:ty),*) -> $result:ty) => {
        const _: unsafe extern "C" fn($first, $second, ...) -> $result = libc::$name;
    };
    (variadic_at $name:ident ($first:ty, $second:ty, $third:ty, $($type:ty),*) -> $result:ty) => {
        const _: unsafe extern "C" fn($first, $second, $third, ...) -> $result = libc::$name;
    };
    (header $($row:tt)*) => {};
    (exported $($row:tt)*) => {};
}
pub(crate) use check;
