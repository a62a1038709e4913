// SPDX-License-Identifier: MIT OR Apache-2.0

//! The functions of a program or library, by address: its symbol table, or what
//! it exports where that was stripped.
//!
//! Only the tables are read, and the code of functions that are asked for. A
//! file that is not the one that was loaded (it was rebuilt since) is not used.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem;
use object::elf::FileHeader64;
use object::read::elf::{ElfFile64, ElfSymbolIterator, Sym, SymbolTable};
use object::{
    Architecture, Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind,
};

use super::module_file::{ModuleCache, ModuleFile};

/// Functions that are kept, and bytes of one whose calls are counted.
const MAX_FUNCTIONS: usize = 1 << 20;
const MAX_CODE_BYTES: u64 = 1 << 20;
/// Larger files are not read, nor longer tables of names.
const MAX_FILE_BYTES: u64 = 1 << 32;
const MAX_NAME_TABLE_BYTES: u64 = 1 << 28;

type ElfModule<'a> = ElfFile64<'a, Endianness, &'a ModuleCache>;
type ElfSymbolTable<'a> = SymbolTable<'a, FileHeader64<Endianness>, &'a ModuleCache>;
type ElfSymbols<'a, 'b> = ElfSymbolIterator<'a, 'b, FileHeader64<Endianness>, &'a ModuleCache>;

/// The functions of a module.
pub struct Symbols {
    file: File,
    /// Sorted by address, no two at the same.
    functions: Vec<Function>,
    names: Names,
    segments: Vec<Segment>,
    architecture: Architecture,
}

struct Function {
    address: u64,
    /// 0 if the table does not have it.
    size: u64,
    /// Where its name begins.
    name: u32,
}

/// The names of symbols, as the file has them. Of thousands, a few are asked for.
#[derive(Default)]
struct Names(Vec<u8>);

impl Names {
    /// Those of a symbol table.
    fn of(table: &ElfSymbolTable<'_>, elf: &ElfModule<'_>) -> Option<Names> {
        let section = elf.section_by_index(table.string_section()).ok()?;
        let is_bearable = section.size() <= MAX_NAME_TABLE_BYTES;
        is_bearable.then(|| section.data().ok()).flatten().map(|bytes| Names(bytes.to_vec()))
    }

    /// The name that begins there; none if there is none.
    fn at(&self, place: u32) -> Option<&str> {
        let rest = self.0.get(place as usize..)?;
        let name = &rest[..memchr::memchr(0, rest)?];
        std::str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }
}

struct Segment {
    address: u64,
    file_range: (u64, u64),
}

/// Where a return address points to.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedCallSite<'a> {
    pub function: &'a str,
    /// How many calls of the same callee stand before it in the function.
    pub call: u32,
}

impl Symbols {
    /// Reads the tables of a file; `None` if it is not of this build, or has none.
    pub fn read(path: &Path, build_id: &[u8]) -> Option<Symbols> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
            return None;
        }
        let cache = ModuleFile::cache(file.try_clone().ok()?);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        if elf.build_id().ok()?.unwrap_or_default() != build_id {
            return None;
        }
        let (functions, names) = functions(elf.symbols(), elf.elf_symbol_table(), &elf)
            .or_else(|| functions(elf.dynamic_symbols(), elf.elf_dynamic_symbol_table(), &elf))?;
        let segments = elf.segments().map(|segment| Segment {
            address: segment.address(),
            file_range: segment.file_range(),
        });
        let (segments, architecture) = (segments.collect(), elf.architecture());
        Some(Symbols { file, functions, names, segments, architecture })
    }

    /// The function that a return address leads back to.
    pub fn find(&self, return_address: u64) -> Option<NamedCallSite<'_>> {
        // The call itself: what follows it may be another function.
        let call = return_address.checked_sub(1)?;
        let after = self.functions.partition_point(|function| function.address <= call);
        let function = self.functions.get(after.checked_sub(1)?)?;
        let end = function.address.saturating_add(function.size);
        if function.size > 0 && call >= end {
            return None;
        }
        let code = self.code(function, return_address);
        let call = code.map_or(0, |code| n_calls_before(&code, self.architecture));
        Some(NamedCallSite { function: self.names.at(function.name)?, call })
    }

    /// The code of a function up to an address in it.
    fn code(&self, function: &Function, end: u64) -> Option<Vec<u8>> {
        let length = end - function.address;
        let segment = self.segments.iter().find(|segment| {
            let (_, size) = segment.file_range;
            segment.address <= function.address && end <= segment.address.saturating_add(size)
        })?;
        let offset = segment.file_range.0.checked_add(function.address - segment.address)?;
        let mut code = vec![0; usize::try_from(length.min(MAX_CODE_BYTES)).ok()?];
        let begin = offset + (length - code.len() as u64);
        read_at(&self.file, &mut code, begin).ok()?;
        Some(code)
    }
}

/// The name of the application that a program exports, as the KNOWAC paper has it:
/// the text that the symbol `ACCUM_APP_NAME` is, or points to.
pub fn exported_name(path: &Path) -> Option<String> {
    const SYMBOL: &str = "ACCUM_APP_NAME";
    const MAX_NAME_BYTES: u64 = 256;
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    let cache = ModuleFile::cache(file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    // Hardly any program has one, and each process is looked at.
    let names = Names::of(elf.elf_dynamic_symbol_table(), &elf)?;
    memmem::find(&names.0, SYMBOL.as_bytes())?;
    let mut symbols = elf.dynamic_symbols().take(MAX_FUNCTIONS);
    let symbol = symbols.find(|symbol| symbol.is_definition() && symbol.name() == Ok(SYMBOL))?;
    let bytes_at = |address: u64| {
        elf.segments().find_map(|segment| {
            let end = segment.address().checked_add(segment.file_range().1)?;
            let length = end.checked_sub(address)?.min(MAX_NAME_BYTES);
            segment.data_range(address, length).ok()?
        })
    };
    let text = |address: u64| {
        let bytes = bytes_at(address)?;
        let name = bytes.split(|&byte| byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?;
        let is_name = !name.is_empty() && !name.contains(char::is_control);
        is_name.then(|| name.to_owned())
    };
    // A pointer is as long as an address; where the program can lie anywhere, what
    // it points to is in the relocation.
    let pointer = || {
        let mut relocations = elf.dynamic_relocations()?.take(MAX_FUNCTIONS);
        let found = relocations.find(|(address, _)| *address == symbol.address());
        let relocated = found.and_then(|(_, relocation)| u64::try_from(relocation.addend()).ok());
        let stored = || {
            let bytes = bytes_at(symbol.address())?.first_chunk().copied()?;
            Some(u64::from_le_bytes(bytes))
        };
        text(relocated.or_else(stored)?)
    };
    match symbol.size() {
        8 => pointer().or_else(|| text(symbol.address())),
        _ => text(symbol.address()),
    }
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// The functions of a symbol table and the names in it; `None` if it has none.
fn functions<'a>(
    symbols: ElfSymbols<'a, '_>,
    table: &ElfSymbolTable<'a>,
    elf: &ElfModule<'a>,
) -> Option<(Vec<Function>, Names)> {
    let names = Names::of(table, elf)?;
    let functions = symbols.filter(|symbol| {
        symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.address() > 0
    });
    let mut functions: Vec<Function> = functions
        .map(|symbol| {
            let name = symbol.elf_symbol().st_name(elf.endian());
            Function { address: symbol.address(), size: symbol.size(), name }
        })
        .filter(|function| names.0.get(function.name as usize).is_some_and(|byte| *byte != 0))
        .take(MAX_FUNCTIONS)
        .collect();
    // Of several names for one place always the same one.
    functions.sort_unstable_by(|one, other| {
        let by_name = || names.at(one.name).cmp(&names.at(other.name));
        one.address.cmp(&other.address).then_with(by_name)
    });
    functions.dedup_by_key(|function| function.address);
    (!functions.is_empty()).then_some((functions, names))
}

/// How many calls of the same callee come before the one that the code ends with; 0
/// where the instruction does not name the callee.
///
/// Instructions are not decoded: it is next to impossible that five bytes look like a
/// call of the same place by chance.
fn n_calls_before(code: &[u8], architecture: Architecture) -> u32 {
    if architecture != Architecture::X86_64 {
        return 0;
    }
    // A direct call, or one through the table of imported functions.
    const CALLS: [&[u8]; 2] = [&[0xE8], &[0xFF, 0x15]];
    let target = |end: usize| -> Option<(usize, i64)> {
        let (before, distance) = code.get(..end)?.split_last_chunk::<4>()?;
        let kind = CALLS.iter().position(|opcode| before.ends_with(opcode))?;
        Some((kind, end as i64 + i64::from(i32::from_le_bytes(*distance))))
    };
    let Some(last) = target(code.len()) else { return 0 };
    (5..code.len()).filter(|end| target(*end) == Some(last)).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `call` of a place `target` bytes from the start of the code.
    fn call(code: &mut Vec<u8>, target: i32) {
        let end = code.len() as i32 + 5;
        code.push(0xE8);
        code.extend((target - end).to_le_bytes());
    }

    #[test]
    fn calls_of_the_same_callee_are_counted() {
        let mut code = vec![0x55];
        let mut seen = Vec::new();
        for target in [1000, 2000, 1000, 1000, 2000] {
            call(&mut code, target);
            seen.push(n_calls_before(&code, Architecture::X86_64));
            code.push(0x90);
        }
        assert_eq!(seen, [0, 0, 1, 2, 1]);
    }

    #[test]
    fn a_call_through_a_register_is_the_first() {
        assert_eq!(n_calls_before(&[0x55, 0xFF, 0xD0], Architecture::X86_64), 0);
        assert_eq!(n_calls_before(&[], Architecture::X86_64), 0);
        assert_eq!(n_calls_before(&[0xE8; 64], Architecture::Aarch64), 0);
    }

    #[test]
    fn this_very_program_has_functions() {
        let path = std::env::current_exe().unwrap();
        let cache = ModuleFile::cache(File::open(&path).unwrap());
        let elf = ElfFile64::<Endianness, _>::parse(&cache).unwrap();
        let build_id = elf.build_id().unwrap().unwrap_or_default();
        let symbols = Symbols::read(&path, build_id).expect("tests are not stripped");
        let is_main = |function: &&Function| symbols.names.at(function.name) == Some("main");
        let main = symbols.functions.iter().find(is_main).unwrap();
        assert_eq!(symbols.find(main.address + 1).unwrap().function, "main");
        assert!(Symbols::read(&path, b"another build").is_none());
    }

    #[test]
    fn what_is_no_module_has_no_symbols() {
        for path in ["/dev/null", "/", "/no/such/file", "/proc/self/status"] {
            assert!(Symbols::read(path.as_ref(), b"").is_none(), "{path}");
        }
    }
}
