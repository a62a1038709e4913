// SPDX-License-Identifier: MIT OR Apache-2.0

//! What kind of program a command is, determined before it is started: preloading a
//! library would keep a musl program from starting, and has no effect on a static one.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::elf::Elf;

/// Interpreters followed from script to script, as many as Linux allows.
const MAX_INTERPRETERS: usize = 5;
/// Bytes of a `#!` line that Linux looks at.
const MAX_LINE: u64 = 256;
const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// What capture can do with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableKind {
    /// Dynamically linked against glibc, or unknown: it is tried.
    Ordinary,
    /// Statically linked: no library can be preloaded.
    Static,
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
        None => ExecutableKind::Static,
        Some(linker) if linker.contains("ld-musl") => ExecutableKind::Musl,
        Some(_) if file.metadata().is_ok_and(|about| gains_privileges(path, &about)) => {
            ExecutableKind::Privileged
        }
        Some(_) => ExecutableKind::Ordinary,
    }
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
