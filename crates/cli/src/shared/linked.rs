// SPDX-License-Identifier: MIT OR Apache-2.0

//! I/O libraries that are linked into a program itself: their calls never pass the
//! dynamic linker, so that nothing preloaded sees them.
//!
//! A library is recognised by a string constant that nothing else has: most programs
//! have no table of symbols. Only a module's constants are read, piece by piece and up
//! to a bound, from the file on disk.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use serde::Serialize;

use super::module_file::ModuleFile;

/// Bytes of constants that are looked at in one file, and at once.
const MAX_BYTES: u64 = 64 << 20;
const PIECE_BYTES: usize = 1 << 18;

/// A library that programs do their I/O through.
#[derive(Debug, PartialEq, Eq)]
pub struct LinkedLibrary {
    pub name: &'static str,
    /// A string that it contains in all versions, and that its users do not.
    text: &'static [u8],
    /// A function that it exports where it is shared.
    export: &'static [u8],
    /// How to link it shared.
    advice: &'static str,
}

static LIBRARIES: [LinkedLibrary; 3] = [
    LinkedLibrary {
        name: "HDF5",
        text: b"HDF5: infinite loop closing library",
        export: b"H5open",
        advice: "link it shared (h5cc -shlib)",
    },
    LinkedLibrary {
        name: "netCDF",
        text: b"NetCDF: NC_MAX_DIMS exceeded",
        export: b"nc_inq_libvers",
        advice: "link libnetcdf.so instead of libnetcdf.a",
    },
    LinkedLibrary {
        name: "PnetCDF",
        text: b"NC_EMULTIDEFINE_OMODE",
        export: b"ncmpi_inq_libvers",
        advice: "link libpnetcdf.so instead of libpnetcdf.a",
    },
];

/// A module that a library is linked into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkedIn {
    pub library: &'static str,
    /// Name of the module's file.
    pub module: String,
    /// What that means, and what to do.
    pub sentence: String,
}

/// What a file is loaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// Calls inside a program never pass the dynamic linker.
    Program,
    /// A library's own file exports its functions, and calls of them are seen.
    Shared,
}

/// The libraries that are linked into a file; none where it cannot be read.
pub fn linked_into(path: &Path, module: Module) -> Vec<LinkedIn> {
    let name = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let found = found_in(path, module).unwrap_or_default();
    found.into_iter().map(|library| library.linked_into(name())).collect()
}

impl LinkedLibrary {
    fn linked_into(&self, module: String) -> LinkedIn {
        let LinkedLibrary { name, advice, .. } = self;
        let sentence = format!(
            "{name} is linked into '{module}' itself: its calls are not seen, only the file \
             operations inside them; {advice}"
        );
        LinkedIn { library: name, module, sentence }
    }
}

fn found_in(path: &Path, module: Module) -> Option<Vec<&'static LinkedLibrary>> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let cache = ModuleFile::cache(file.try_clone().ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let mut found = Vec::new();
    let mut rest = MAX_BYTES;
    for section in elf.sections() {
        let is_constant = section.name_bytes().is_ok_and(|name| name.starts_with(b".rodata"));
        if let (true, Some((start, size))) = (is_constant, section.file_range()) {
            look_through(&file, start, size.min(rest), &mut found);
            rest = rest.saturating_sub(size);
        }
    }
    if module == Module::Shared && !found.is_empty() {
        let exports = |library: &&LinkedLibrary| {
            let mut symbols = elf.dynamic_symbols();
            symbols.any(|it| it.is_definition() && it.name_bytes() == Ok(library.export))
        };
        found.retain(|library| !exports(library));
    }
    Some(found)
}

/// Looks for all texts in a part of a file.
fn look_through(file: &File, start: u64, size: u64, found: &mut Vec<&'static LinkedLibrary>) {
    let longest = LIBRARIES.iter().map(|library| library.text.len()).max().unwrap_or(1);
    let mut piece = vec![0; size.min(PIECE_BYTES as u64) as usize];
    let mut begin = 0;
    while begin < size {
        piece.truncate((size - begin).min(PIECE_BYTES as u64) as usize);
        let place = start.saturating_add(begin);
        if file.read_exact_at(&mut piece, place).is_err() {
            return;
        }
        for library in &LIBRARIES {
            if !found.contains(&library) && memmem::find(&piece, library.text).is_some() {
                found.push(library);
            }
        }
        if begin + piece.len() as u64 == size {
            return;
        }
        // A text may begin in one piece and end in the next.
        begin += (piece.len() - (longest - 1)) as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_lies() {
        let text = LIBRARIES[0].text;
        for place in [0, 1000, PIECE_BYTES - 10, PIECE_BYTES - text.len(), 3 * PIECE_BYTES + 7] {
            let mut bytes = vec![b'H'; place];
            bytes.extend(text);
            let check = |bytes: &[u8], after: usize, expected: usize| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(bytes).unwrap();
                file.write_all(&vec![0; after]).unwrap();
                let mut found = Vec::new();
                look_through(&file, 0, (bytes.len() + after) as u64, &mut found);
                assert_eq!(found.len(), expected, "at {place}, {after} after it");
            };
            check(&bytes, 0, 1);
            check(&bytes, 1, 1);
            check(&bytes, PIECE_BYTES, 1);
            bytes.pop();
            check(&bytes, 5, 0);
        }
    }

    #[test]
    fn what_is_no_module_has_no_library_inside() {
        for path in ["/dev/null", "/", "/no/such/file", "/proc/self/status"] {
            assert_eq!(linked_into(path.as_ref(), Module::Program), []);
        }
    }

    /// This program contains the strings, because it looks for them.
    #[test]
    fn constants_of_a_program_are_looked_through() {
        let path = std::env::current_exe().unwrap();
        let found = linked_into(&path, Module::Program);
        let names: Vec<_> = found.iter().map(|it| it.library).collect();
        assert_eq!(names, ["HDF5", "netCDF", "PnetCDF"]);
        assert!(found[0].sentence.contains("h5cc -shlib"), "{}", found[0].sentence);
        assert!(!found[0].module.contains('/'), "{}", found[0].module);
    }
}
