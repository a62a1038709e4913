// SPDX-License-Identifier: MIT OR Apache-2.0

//! The few fields of an ELF file that decide how it is started.
//!
//! Only the file header, the program headers and the interpreter's path are read, each
//! with a bound, so that a hostile file costs a few KiB. What cannot be read as ELF is
//! `None`: starting it is up to the kernel.

use std::fs::File;
use std::os::unix::fs::FileExt;

const EI_CLASS: usize = 4;
const EI_DATA: usize = 5;
const CLASS_32: u8 = 1;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const PT_INTERP: u32 = 3;

#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u16> = Some(62);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u16> = Some(183);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<u16> = None;

/// Program headers looked at; real programs have about a dozen.
const MAX_HEADERS: u16 = 512;
/// Bytes of an interpreter's path (PATH_MAX).
const MAX_INTERPRETER: u64 = 4096;

/// How a program is started.
#[derive(Debug, PartialEq, Eq)]
pub struct Elf {
    /// Built for the architecture and word size of this command.
    pub is_native: bool,
    /// The dynamic linker it asks for; `None`: it is statically linked.
    pub interpreter: Option<String>,
}

impl Elf {
    /// Reads the headers of a file that begins as an ELF file does.
    pub fn read(file: &File) -> Option<Elf> {
        let mut ident = [0; 64];
        // A 32-bit header is shorter, but no such file is shorter than this.
        file.read_exact_at(&mut ident, 0).ok()?;
        if ident[..4] != *b"\x7fELF" {
            return None;
        }
        let little_endian = ident[EI_DATA] == LITTLE_ENDIAN;
        let fields = Fields { little_endian, wide: ident[EI_CLASS] == CLASS_64 };
        if !fields.wide && ident[EI_CLASS] != CLASS_32 {
            return None;
        }
        let is_native = fields.wide
            && little_endian == cfg!(target_endian = "little")
            && MACHINE.is_none_or(|machine| fields.half(&ident, 18) == Some(machine));
        Some(Elf { is_native, interpreter: fields.interpreter(file, &ident) })
    }
}

/// How numbers are stored in the file.
struct Fields {
    little_endian: bool,
    /// 64-bit.
    wide: bool,
}

impl Fields {
    fn interpreter(&self, file: &File, ident: &[u8]) -> Option<String> {
        let (table_at, size_at, count_at) = if self.wide { (32, 54, 56) } else { (28, 42, 44) };
        let table = self.address(ident, table_at)?;
        let size = self.half(ident, size_at)?;
        let count = self.half(ident, count_at)?.min(MAX_HEADERS);
        let (offset_at, length_at, needed) = if self.wide { (8, 32, 56) } else { (4, 16, 32) };
        if usize::from(size) < needed {
            return None;
        }
        for index in 0..u64::from(count) {
            let mut header = [0; 56];
            let place = table.checked_add(index * u64::from(size))?;
            file.read_exact_at(&mut header[..needed], place).ok()?;
            if self.word(&header, 0)? == PT_INTERP {
                let length = self.address(&header, length_at)?.min(MAX_INTERPRETER);
                let mut path = vec![0; length as usize];
                file.read_exact_at(&mut path, self.address(&header, offset_at)?).ok()?;
                path.truncate(path.iter().position(|&byte| byte == 0).unwrap_or(path.len()));
                return Some(String::from_utf8_lossy(&path).into_owned());
            }
        }
        None
    }

    fn half(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(if self.little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// A number as wide as the file's addresses.
    fn address(&self, bytes: &[u8], at: usize) -> Option<u64> {
        if !self.wide {
            return self.word(bytes, at).map(u64::from);
        }
        let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(if self.little_endian { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use super::*;

    /// A 64-bit program of this machine with this interpreter.
    pub fn program(interpreter: Option<&str>) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&MACHINE.unwrap_or(0).to_le_bytes());
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        if let Some(path) = interpreter {
            bytes[56..58].copy_from_slice(&2u16.to_le_bytes());
            let mut header = vec![0; 2 * 56];
            header[0] = 1; // PT_LOAD stands first
            header[56] = PT_INTERP as u8;
            header[56 + 8..56 + 16].copy_from_slice(&176u64.to_le_bytes());
            header[56 + 32..56 + 40].copy_from_slice(&(path.len() as u64 + 1).to_le_bytes());
            bytes.extend(header);
            bytes.extend(path.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Elf> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Elf::read(&file)
    }

    #[test]
    fn a_dynamic_program_names_its_linker() {
        let elf = read(&program(Some("/lib/ld-musl-x86_64.so.1"))).unwrap();
        assert_eq!(elf.interpreter.as_deref(), Some("/lib/ld-musl-x86_64.so.1"));
        assert!(elf.is_native);
    }

    #[test]
    fn a_static_program_has_no_interpreter() {
        assert_eq!(read(&program(None)).unwrap().interpreter, None);
    }

    #[test]
    fn a_32_bit_program_is_foreign() {
        let mut bytes = program(None);
        bytes[EI_CLASS] = CLASS_32;
        assert!(!read(&bytes).unwrap().is_native);
    }

    #[test]
    fn this_very_command_is_native() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(Elf::read(&file).unwrap().is_native);
    }

    #[test]
    fn files_that_lie_or_are_cut_off_are_survived() {
        assert_eq!(read(b"\x7fELF"), None);
        assert_eq!(read(b"#!/bin/sh\n"), None);
        let good = program(Some("/lib64/ld-linux-x86-64.so.2"));
        for length in 64..good.len() {
            read(&good[..length]);
        }
        for place in 0..good.len() {
            let mut bytes = good.clone();
            bytes[place] = 0xff;
            read(&bytes);
        }
    }
}
