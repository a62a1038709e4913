// SPDX-License-Identifier: MIT OR Apache-2.0

//! A loaded module: its dynamic section, and the symbols that it defines.

use core::ffi::{CStr, c_char};

use libc::{Elf64_Phdr, Elf64_Sym};

const DT_NULL: i64 = 0;
const DT_NEEDED: i64 = 1;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_SONAME: i64 = 14;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const STT_GNU_IFUNC: u8 = 10;

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// A module as the linker describes it. Valid as long as it is not unloaded.
pub(crate) struct LoadedModule<'a> {
    info: &'a libc::dl_phdr_info,
}

impl<'a> LoadedModule<'a> {
    /// # Safety
    ///
    /// What the linker gives to a callback, and there is such a module meanwhile.
    pub(super) unsafe fn new(info: &'a libc::dl_phdr_info) -> LoadedModule<'a> {
        LoadedModule { info }
    }

    /// What is added to the addresses of its file.
    pub(crate) fn base(&self) -> usize {
        self.info.dlpi_addr as usize
    }

    /// Whether an address lies in it.
    pub(super) fn contains(&self, address: usize) -> bool {
        self.headers().iter().any(|header| {
            let start = self.base().wrapping_add(header.p_vaddr as usize);
            let end = start.wrapping_add(header.p_memsz as usize);
            header.p_type == libc::PT_LOAD && (start..end).contains(&address)
        })
    }

    /// Whether it lists another one as a dependency.
    pub(super) fn needs(&self, other: &LoadedModule<'_>) -> bool {
        let (Some(own), soname) = (self.strings(), other.soname()) else { return false };
        let path = other.path();
        let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        self.entries().filter(|entry| entry.tag == DT_NEEDED).any(|entry| {
            // SAFETY: a text of the module's.
            let needed = unsafe { CStr::from_ptr(own.wrapping_add(entry.value)) }.to_bytes();
            Some(needed) == soname || (!needed.is_empty() && (needed == file || needed == path))
        })
    }

    /// The address of what it defines under a name: functions and variables, not
    /// indirect functions (`STT_GNU_IFUNC`) or thread-locals.
    pub(super) fn symbol(&self, name: &CStr) -> Option<usize> {
        match self.symbols()?.find(SymbolName::new(name)) {
            SymbolFound::At(address) => Some(address),
            SymbolFound::Nothing | SymbolFound::Indirect => None,
        }
    }

    /// What it defines.
    pub(super) fn symbols(&self) -> Option<Symbols> {
        Some(Symbols {
            base: self.base(),
            table: self.table(DT_SYMTAB)? as *const Elf64_Sym,
            strings: self.strings()?,
            versions: self.table(DT_VERSYM).map(|at| at as *const u16),
            by_gnu_hash: self.table(DT_GNU_HASH),
            by_hash: self.table(DT_HASH),
        })
    }

    fn path(&self) -> &'a [u8] {
        if self.info.dlpi_name.is_null() {
            return &[];
        }
        // SAFETY: the linker's text.
        unsafe { CStr::from_ptr(self.info.dlpi_name) }.to_bytes()
    }

    fn soname(&self) -> Option<&'a [u8]> {
        let place = self.entries().find(|entry| entry.tag == DT_SONAME)?.value;
        // SAFETY: a text of the module's.
        Some(unsafe { CStr::from_ptr(self.strings()?.wrapping_add(place)) }.to_bytes())
    }

    fn strings(&self) -> Option<*const c_char> {
        self.table(DT_STRTAB).map(|at| at as *const c_char)
    }

    /// Where a table lies. The linker has replaced offsets by addresses where it may
    /// write.
    fn table(&self, tag: i64) -> Option<usize> {
        let value = self.entries().find(|entry| entry.tag == tag)?.value;
        let base = self.base();
        Some(if value < base { base.wrapping_add(value) } else { value })
    }

    fn headers(&self) -> &'a [Elf64_Phdr] {
        if self.info.dlpi_phdr.is_null() {
            return &[];
        }
        let n_headers = usize::from(self.info.dlpi_phnum);
        // SAFETY: the linker says where they are and how many.
        unsafe { core::slice::from_raw_parts(self.info.dlpi_phdr, n_headers) }
    }

    fn entries(&self) -> impl Iterator<Item = &'a Dynamic> {
        let header = self.headers().iter().find(|header| header.p_type == libc::PT_DYNAMIC);
        let start = header.map_or(core::ptr::null(), |header| {
            self.base().wrapping_add(header.p_vaddr as usize) as *const Dynamic
        });
        (0..)
            // SAFETY: null, or the section, which is not left: its end is marked.
            .map_while(move |place| unsafe {
                start.as_ref()?;
                start.add(place).as_ref()
            })
            .take_while(|entry| entry.tag != DT_NULL)
    }
}

/// A name to look for, and its hash.
#[derive(Clone, Copy)]
pub(crate) struct SymbolName<'a> {
    text: &'a CStr,
    gnu_hash: u32,
}

impl<'a> SymbolName<'a> {
    pub(crate) const fn new(text: &'a CStr) -> SymbolName<'a> {
        SymbolName { text, gnu_hash: gnu_hash(text) }
    }

    pub(crate) fn text(self) -> &'a CStr {
        self.text
    }
}

/// What a module defines under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolFound {
    Nothing,
    /// It is at this address.
    At(usize),
    /// An indirect function (`STT_GNU_IFUNC`), which only the linker may resolve.
    Indirect,
}

/// A module's table of symbols.
pub(super) struct Symbols {
    base: usize,
    table: *const Elf64_Sym,
    strings: *const c_char,
    versions: Option<*const u16>,
    /// The module's `DT_GNU_HASH` and `DT_HASH`.
    by_gnu_hash: Option<usize>,
    by_hash: Option<usize>,
}

impl Symbols {
    pub(super) fn find(&self, name: SymbolName) -> SymbolFound {
        let found = match (self.by_gnu_hash, self.by_hash) {
            // SAFETY: the module's own tables.
            (Some(table), _) => unsafe { self.find_by_gnu_hash(table, name) },
            // SAFETY: as above.
            (None, Some(table)) => unsafe { self.find_by_hash(table, name) },
            (None, None) => CandidateSymbols::default(),
        };
        match found.default.or(found.hidden) {
            _ if found.is_indirect => SymbolFound::Indirect,
            Some(value) => SymbolFound::At(self.base.wrapping_add(value)),
            None => SymbolFound::Nothing,
        }
    }

    /// # Safety
    ///
    /// The address of the module's `DT_GNU_HASH`.
    unsafe fn find_by_gnu_hash(&self, table: usize, name: SymbolName) -> CandidateSymbols {
        let hash = name.gnu_hash;
        let mut found = CandidateSymbols::default();
        let words = table as *const u32;
        // SAFETY: the caller's promise: four numbers, the filter, a bucket for each
        // hash, and a chain whose end is marked.
        unsafe {
            let (n_buckets, first) = (*words, *words.add(1));
            let (n_filter, shift) = (*words.add(2), *words.add(3));
            if n_buckets == 0 || n_filter == 0 {
                return found;
            }
            let filter = words.add(4).cast::<u64>();
            let word = *filter.add((hash / 64 % n_filter) as usize);
            if word >> (hash % 64) & word >> (hash.wrapping_shr(shift) % 64) & 1 == 0 {
                return found;
            }
            let buckets = filter.add(n_filter as usize).cast::<u32>();
            let chains = buckets.add(n_buckets as usize);
            let mut number = *buckets.add((hash % n_buckets) as usize);
            while number >= first {
                let link = *chains.add((number - first) as usize);
                if link | 1 == hash | 1 {
                    found.consider(self, number, name.text);
                }
                if link & 1 == 1 {
                    break;
                }
                number += 1;
            }
        }
        found
    }

    /// # Safety
    ///
    /// The address of the module's `DT_HASH`.
    unsafe fn find_by_hash(&self, table: usize, name: SymbolName) -> CandidateSymbols {
        let words = table as *const u32;
        let mut found = CandidateSymbols::default();
        // SAFETY: the caller's promise: two numbers, a bucket for each hash, and for
        // each symbol the next one, 0 at the end.
        unsafe {
            let n_buckets = *words;
            if n_buckets == 0 {
                return found;
            }
            let chains = words.add(2 + n_buckets as usize);
            let mut number = *words.add(2 + (elf_hash(name.text) % n_buckets) as usize);
            while number != 0 {
                found.consider(self, number, name.text);
                number = *chains.add(number as usize);
            }
        }
        found
    }
}

/// The symbols of a name; without a requested version, the linker chooses the default one.
#[derive(Default)]
struct CandidateSymbols {
    default: Option<usize>,
    hidden: Option<usize>,
    is_indirect: bool,
}

impl CandidateSymbols {
    /// # Safety
    ///
    /// The number of a symbol of the module.
    unsafe fn consider(&mut self, symbols: &Symbols, number: u32, name: &CStr) {
        const HIDDEN: u16 = 0x8000;
        // SAFETY: the caller's promise.
        let (symbol, is_hidden) = unsafe {
            let versions = symbols.versions;
            let version = versions.map_or(0, |versions| *versions.add(number as usize));
            (&*symbols.table.add(number as usize), version & HIDDEN != 0)
        };
        // Without a type, a variable, a function; global, weak, unique.
        let is_indirect = symbol.st_info & 15 == STT_GNU_IFUNC;
        let is_of_kind = is_indirect || matches!(symbol.st_info & 15, 0..=2);
        let is_bound = matches!(symbol.st_info >> 4, 1 | 2 | 10);
        let is_defined = symbol.st_shndx != 0 && symbol.st_value != 0;
        if !(is_of_kind && is_bound && is_defined) {
            return;
        }
        // SAFETY: a text of the module's.
        if unsafe { CStr::from_ptr(symbols.strings.add(symbol.st_name as usize)) } != name {
            return;
        }
        if is_indirect {
            self.is_indirect = true;
            return;
        }
        let place = if is_hidden { &mut self.hidden } else { &mut self.default };
        place.get_or_insert(symbol.st_value as usize);
    }
}

const fn gnu_hash(name: &CStr) -> u32 {
    let mut rest = name.to_bytes();
    let mut hash: u32 = 5381;
    while let [byte, behind @ ..] = rest {
        hash = hash.wrapping_mul(33).wrapping_add(*byte as u32);
        rest = behind;
    }
    hash
}

fn elf_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(0, |hash: u32, &byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_hashes_of_the_abi() {
        assert_eq!((gnu_hash(c""), gnu_hash(c"printf")), (0x1505, 0x156b_2bb8));
        assert_eq!((elf_hash(c""), elf_hash(c"printf")), (0, 0x077905a6));
    }
}
