// SPDX-License-Identifier: MIT OR Apache-2.0

//! The loaded module that an address belongs to, as the dynamic linker knows it.
//!
//! `_dl_find_object` (glibc 2.35) answers without a lock, so that it may be
//! asked from a signal handler. Where it is missing, `dl_iterate_phdr` is asked,
//! which takes the linker's own recursive lock, as C++ exceptions do there.
//!
//! A module is looked at where it is loaded, by its program headers; its file
//! is not opened.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr};

/// A module as it lies in memory. Valid as long as it is not unloaded, which cannot
/// happen while one of its functions is on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    /// First address.
    pub(super) low: usize,
    /// Address after the last.
    pub(super) high: usize,
    /// What is added to the addresses of the file.
    pub(super) load_address: usize,
    /// Path, as a C string; empty for the program itself.
    pub(super) name: *const c_char,
    headers: *const Elf64_Phdr,
    n_headers: usize,
}

/// `struct dl_find_object` of <dlfcn.h>.
#[repr(C)]
struct Found {
    flags: u64,
    map_start: usize,
    map_end: usize,
    link_map: *const LinkMap,
    eh_frame: usize,
    reserved: [u64; 7],
}

/// The public beginning of `struct link_map` of <link.h>.
#[repr(C)]
struct LinkMap {
    load_address: usize,
    name: *const c_char,
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// The linker's function, null if it has none, or the address of this static
/// as long as nobody has asked for it.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(ptr::dangling_mut());

/// Asks the linker for its function, and finds out where this library is.
pub(super) fn prepare() {
    look_up_find_object();
    locate_own();
}

fn look_up_find_object() {
    // SAFETY: a name that ends with zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(found, Ordering::Relaxed);
}

fn find_object() -> Option<FindObject> {
    if FIND_OBJECT.load(Ordering::Relaxed) == ptr::dangling_mut() {
        look_up_find_object();
    }
    let found = FIND_OBJECT.load(Ordering::Relaxed);
    // SAFETY: null, or the function that <dlfcn.h> declares so.
    unsafe { core::mem::transmute::<*mut c_void, Option<FindObject>>(found) }
}

/// The module whose mapping contains an address.
pub(super) fn containing(address: usize) -> Option<Object> {
    match find_object() {
        Some(find_object) => ask_lock_free(find_object, address),
        None => ask_iterating(address),
    }
}

fn ask_lock_free(find_object: FindObject, address: usize) -> Option<Object> {
    let mut found = MaybeUninit::<Found>::uninit();
    // SAFETY: the linker fills the structure if it answers with 0; the link map
    // and the first page of the module are there as long as the module is.
    unsafe {
        if find_object(address as *mut c_void, found.as_mut_ptr()) != 0 {
            return None;
        }
        let found = found.assume_init_ref();
        let link_map = found.link_map.as_ref()?;
        let (headers, n_headers) = headers_of(found, link_map).unwrap_or((ptr::null(), 0));
        let object = Object {
            low: found.map_start,
            high: found.map_end,
            load_address: link_map.load_address,
            name: link_map.name,
            headers,
            n_headers,
        };
        Some(object.with_all_parts())
    }
}

/// Where a module's program headers are, and how many; None if unknown.
///
/// # Safety
///
/// The values come from the linker, and the module is still loaded.
unsafe fn headers_of(found: &Found, link_map: &LinkMap) -> Option<(*const Elf64_Phdr, usize)> {
    // SAFETY: the first page of what the linker calls a mapping is there, and so
    // is the module's name.
    unsafe {
        let header = &*(found.map_start as *const Elf64_Ehdr);
        if header.e_ident.starts_with(b"\x7fELF") {
            let headers = found.map_start.wrapping_add(header.e_phoff as usize);
            return Some((headers as *const Elf64_Phdr, usize::from(header.e_phnum)));
        }
        // The kernel leaves holes between the parts of a program, and the linker
        // then knows each part as a mapping of its own. It closes those of all
        // other modules.
        let is_program = link_map.name.is_null() || *link_map.name == 0;
        let headers = libc::getauxval(libc::AT_PHDR) as *const Elf64_Phdr;
        let n_headers = libc::getauxval(libc::AT_PHNUM) as usize;
        (is_program && !headers.is_null()).then_some((headers, n_headers))
    }
}

/// What is asked of `dl_iterate_phdr`, and its answer.
struct Question {
    address: usize,
    answer: Option<Object>,
}

fn ask_iterating(address: usize) -> Option<Object> {
    let mut question = Question { address, answer: None };
    // SAFETY: the callback gets back what is given here.
    unsafe { libc::dl_iterate_phdr(Some(consider), (&raw mut question).cast()) };
    question.answer
}

unsafe extern "C" fn consider(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    question: *mut c_void,
) -> c_int {
    // SAFETY: both are what `ask_iterating` and the linker gave.
    let (info, question) = unsafe { (&*info, &mut *question.cast::<Question>()) };
    let object = Object {
        low: usize::MAX,
        high: 0,
        load_address: info.dlpi_addr as usize,
        name: info.dlpi_name,
        headers: info.dlpi_phdr,
        n_headers: usize::from(info.dlpi_phnum),
    };
    let object = object.with_all_parts();
    let is_it = (object.low..object.high).contains(&question.address);
    if is_it {
        question.answer = Some(object);
    }
    c_int::from(is_it)
}

impl Object {
    /// From its first loaded part to its last.
    fn with_all_parts(mut self) -> Object {
        let (mut low, mut high) = (self.low, self.high);
        for (start, end) in self.parts(libc::PT_LOAD) {
            low = low.min(start & !4095);
            high = high.max(end);
        }
        (self.low, self.high) = (low, high);
        self
    }

    fn headers(&self) -> &[Elf64_Phdr] {
        if self.n_headers == 0 {
            return &[];
        }
        // SAFETY: the linker has mapped the headers with the module.
        unsafe { core::slice::from_raw_parts(self.headers, self.n_headers) }
    }

    fn range(&self, header: &Elf64_Phdr) -> (usize, usize) {
        let start = self.load_address.wrapping_add(header.p_vaddr as usize);
        (start, start.wrapping_add(header.p_memsz as usize))
    }

    /// Bytes of the module from an address to the end of the loaded part that
    /// it lies in. Empty if it lies in none that can be read.
    pub(super) fn bytes_from(&self, address: usize) -> &[u8] {
        for header in self.headers() {
            let (start, end) = self.range(header);
            let readable = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0;
            if readable && (start..end).contains(&address) {
                // SAFETY: loaded, readable, and not unloaded while we look.
                return unsafe { core::slice::from_raw_parts(address as *const u8, end - address) };
            }
        }
        &[]
    }

    /// Where its parts of a kind begin and end.
    pub(super) fn parts(&self, kind: u32) -> impl Iterator<Item = (usize, usize)> {
        let of_kind = self.headers().iter().filter(move |header| header.p_type == kind);
        of_kind.map(|header| self.range(header))
    }

    /// The build-id that the link editor wrote; empty if there is none.
    pub(super) fn build_id(&self) -> &[u8] {
        self.parts(libc::PT_NOTE)
            .find_map(|(start, end)| {
                build_id_in(self.bytes_from(start).get(..end.wrapping_sub(start))?)
            })
            .unwrap_or(&[])
    }

    /// Path as the linker knows it; empty for the program itself.
    pub(super) fn path(&self) -> &[u8] {
        if self.name.is_null() {
            return &[];
        }
        // SAFETY: the linker keeps the name as long as the module is loaded.
        unsafe { CStr::from_ptr(self.name) }.to_bytes()
    }
}

/// Looks for the note "GNU" of type 3 among notes.
fn build_id_in(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: usize = 3;
    let word = |bytes: &[u8], place: usize| {
        let bytes = bytes.get(place..place + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?) as usize)
    };
    loop {
        let (n_name, n_value, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let name = notes.get(12..12 + n_name)?;
        let rest = notes.get(12 + n_name.next_multiple_of(4)..)?;
        let value = rest.get(..n_value)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Some(value);
        }
        notes = rest.get(n_value.next_multiple_of(4)..)?;
    }
}

/// Frames of this library that are left out of a context: a call that the program makes
/// through a library (`pwrite` inside `H5Dwrite`) comes through our hook of the outer
/// call, and must have the same context whatever we were built from. In a program that
/// links us (tests) no frame counts as ours; otherwise the program's own would.
///
/// At most this many are skipped in a stack; one with more ends there. A hook has less
/// than ten, and few libraries stand on each other.
pub(super) const MAX_OWN_FRAMES: usize = 64;

static LOW: AtomicUsize = AtomicUsize::new(0);
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// Finds out where this library is.
fn locate_own() {
    let here = locate_own as *const () as usize;
    if let Some(object) = containing(here).filter(|object| !object.path().is_empty()) {
        LOW.store(object.low, Ordering::Relaxed);
        HIGH.store(object.high, Ordering::Relaxed);
    }
}

/// Whether a return address is one of this library.
pub(super) fn is_own(address: usize) -> bool {
    (LOW.load(Ordering::Relaxed)..HIGH.load(Ordering::Relaxed)).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_asking_find_the_same_module() {
        let address = build_id_in as *const () as usize;
        let iterating = ask_iterating(address).expect("the test is a module");
        let asked = containing(address).expect("the test is a module");
        assert_eq!(asked.load_address, iterating.load_address);
        assert_eq!((asked.low, asked.high), (iterating.low, iterating.high));
        assert!(asked.parts(libc::PT_GNU_EH_FRAME).eq(iterating.parts(libc::PT_GNU_EH_FRAME)));
        assert_eq!(asked.build_id(), iterating.build_id());
        assert_eq!(asked.path(), iterating.path());
    }

    #[test]
    fn memory_that_is_no_code_belongs_to_no_module() {
        let boxed = Box::new(0);
        let address = &raw const *boxed as usize;
        assert!(containing(address).is_none());
        assert!(ask_iterating(address).is_none());
    }

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        for (name, kind, value) in [(*b"GNU\0", 1_u32, &[0_u8; 16][..]), (*b"GNU\0", 3, b"abcde")] {
            notes.extend([4, value.len() as u32, kind].map(u32::to_ne_bytes).concat());
            notes.extend(name);
            notes.extend(value);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id_in(&notes), Some(&b"abcde"[..]));
        for length in 0..notes.len() - 8 {
            assert_eq!(build_id_in(&notes[..length]), None);
        }
    }
}
