// SPDX-License-Identifier: MIT OR Apache-2.0

//! What kind of program a command is, determined before it is started: preloading a
//! library would keep a musl program from starting, and has no effect on a static one.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::read::elf::ElfFile64;
use object::{Endianness, Object};

use super::elf::Elf;
use super::module_file::ModuleFile;

/// Interpreters followed from script to script, as many as Linux allows.
const MAX_INTERPRETERS: usize = 5;
/// Bytes of a `#!` line that Linux looks at.
const MAX_LINE: u64 = 256;
const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
/// The section that the linker of Go leaves in every program, even a stripped one.
const GO_SECTION: &str = ".note.go.buildid";

/// What capture can do with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableKind {
    /// Dynamically linked against glibc, or unknown: it is tried.
    Ordinary,
    /// Statically linked: no library can be preloaded.
    Static,
    /// Written in Go: its runtime makes system calls itself, so at most what it does
    /// through C libraries passes the capture library.
    Go,
    /// Linked against musl: with a glibc library preloaded it would not start.
    Musl,
    /// For another architecture or word size; the library does not fit into it.
    Foreign,
    /// Set-user-ID, set-group-ID or with capabilities: the dynamic linker
    /// ignores what is preloaded.
    Privileged,
}

impl ExecutableKind {
    /// For the program that the kernel starts for this file: for a script, its
    /// interpreter.
    pub fn of(path: &Path) -> ExecutableKind {
        let mut path = path.to_owned();
        for _ in 0..MAX_INTERPRETERS {
            let Ok(file) = File::open(&path) else { return ExecutableKind::Ordinary };
            match script_interpreter(&file) {
                Some(interpreter) => path = interpreter,
                None => return of_program(&path, &file),
            }
        }
        ExecutableKind::Ordinary
    }

    /// Whether preloading the library can do no harm.
    pub fn bears_preloading(self) -> bool {
        !matches!(self, ExecutableKind::Musl | ExecutableKind::Foreign)
    }
}

/// The missing interpreter of a file that exists although the kernel says it does not:
/// that of a script, or the dynamic linker of a program.
pub fn missing_interpreter(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_INTERPRETERS {
        let file = File::open(&path).ok()?;
        let linker = || Elf::read(&file)?.interpreter.map(PathBuf::from);
        let interpreter = script_interpreter(&file).or_else(linker)?;
        if !interpreter.exists() {
            return Some(interpreter);
        }
        path = interpreter;
    }
    None
}

fn of_program(path: &Path, file: &File) -> ExecutableKind {
    let Some(elf) = Elf::read(file) else { return ExecutableKind::Ordinary };
    if !elf.is_native {
        return ExecutableKind::Foreign;
    }
    match elf.interpreter {
        None if is_in_go(file) => ExecutableKind::Go,
        None => ExecutableKind::Static,
        Some(linker) if linker.contains("ld-musl") => ExecutableKind::Musl,
        Some(_) if file.metadata().is_ok_and(|about| gains_privileges(path, &about)) => {
            ExecutableKind::Privileged
        }
        Some(_) if is_in_go(file) => ExecutableKind::Go,
        Some(_) => ExecutableKind::Ordinary,
    }
}

fn is_in_go(file: &File) -> bool {
    let Ok(file) = file.try_clone() else { return false };
    let cache = ModuleFile::cache(file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache);
    elf.is_ok_and(|elf| elf.section_by_name(GO_SECTION).is_some())
}

/// Whether the program runs with more than its caller's rights. For the
/// superuser nothing is gained by capabilities.
fn gains_privileges(path: &Path, about: &Metadata) -> bool {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let as_user = about.mode() & SET_USER_ID != 0 && about.uid() != user.as_raw();
    let as_group = about.mode() & SET_GROUP_ID != 0 && about.gid() != group.as_raw();
    let mut capabilities = [0u8; 64];
    let with_capabilities = !user.is_root()
        && rustix::fs::getxattr(path, "security.capability", &mut capabilities).is_ok();
    as_user || as_group || with_capabilities
}

/// The program that a `#!` line names.
fn script_interpreter(file: &File) -> Option<PathBuf> {
    let mut start = Vec::new();
    file.take(MAX_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.split_whitespace().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::elf::tests::program;
    use super::*;

    const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";

    fn check(bytes: &[u8], mode: u32, expected: ExecutableKind) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        fs::write(&path, bytes).unwrap();
        if mode & SET_USER_ID != 0 {
            // Owned by somebody else, if the tests may do that.
            let _ = std::os::unix::fs::chown(&path, Some(12345), None);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(ExecutableKind::of(&path), expected);
        // The same through two scripts.
        let script = |name: &str, interpreter: &Path| {
            let script = directory.path().join(name);
            fs::write(&script, format!("#! {} -x\n", interpreter.display())).unwrap();
            script
        };
        let outer = script("outer", &script("inner", &path));
        assert_eq!(ExecutableKind::of(&outer), expected);
    }

    #[test]
    fn programs_are_distinguished() {
        check(&program(Some(LINKER)), 0o755, ExecutableKind::Ordinary);
        check(&program(None), 0o755, ExecutableKind::Static);
        check(&program(Some("/lib/ld-musl-x86_64.so.1")), 0o755, ExecutableKind::Musl);
        let mut foreign = program(Some(LINKER));
        foreign[18] ^= 0xff;
        check(&foreign, 0o755, ExecutableKind::Foreign);
        check(b"echo a shell script without a first line", 0o755, ExecutableKind::Ordinary);
    }

    /// A program with one section, of this name.
    fn with_section(mut program: Vec<u8>, name: &str) -> Vec<u8> {
        let names = format!("\0{name}\0");
        let names_at = program.len() as u64;
        program.extend(names.as_bytes());
        program.resize(program.len().next_multiple_of(8), 0);
        program[6] = 1;
        let table_at = program.len() as u64;
        program[40..48].copy_from_slice(&table_at.to_le_bytes());
        // The size of a section header, three of them, the names in the second.
        for (place, number) in [(58, 64u16), (60, 3), (62, 1)] {
            program[place..place + 2].copy_from_slice(&number.to_le_bytes());
        }
        for (name, kind, size) in [(0u32, 0u32, 0u64), (0, 3, names.len() as u64), (1, 7, 0)] {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&names_at.to_le_bytes());
            header[32..40].copy_from_slice(&size.to_le_bytes());
            program.extend(header);
        }
        program
    }

    #[test]
    fn a_program_in_go_is_recognised_whether_it_is_static_or_not() {
        for interpreter in [None, Some(LINKER)] {
            let go = with_section(program(interpreter), GO_SECTION);
            check(&go, 0o755, ExecutableKind::Go);
        }
        let other = with_section(program(Some(LINKER)), ".note.gnu.build-id");
        check(&other, 0o755, ExecutableKind::Ordinary);
    }

    #[test]
    fn a_program_of_another_user_with_the_set_user_id_bit_is_privileged() {
        if rustix::process::geteuid().is_root() {
            check(&program(Some(LINKER)), 0o4755, ExecutableKind::Privileged);
        }
    }

    #[test]
    fn an_interpreter_that_is_missing_is_found_through_scripts() {
        let directory = tempfile::tempdir().unwrap();
        let check = |bytes: &[u8], expected: Option<&str>| {
            let inner = directory.path().join("inner");
            fs::write(&inner, bytes).unwrap();
            let outer = directory.path().join("outer");
            fs::write(&outer, format!("#!{}\n", inner.display())).unwrap();
            for path in [inner, outer] {
                assert_eq!(missing_interpreter(&path), expected.map(PathBuf::from));
            }
        };
        check(b"#!/no/such -x\n", Some("/no/such"));
        check(b"#!/bin/sh\n", None);
        check(&program(Some("/no/linker.so")), Some("/no/linker.so"));
        check(&program(None), None);
    }

    #[test]
    fn scripts_that_name_each_other_end_the_search() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(ExecutableKind::of(&script), ExecutableKind::Ordinary);
    }
}
