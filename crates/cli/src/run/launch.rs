// SPDX-License-Identifier: MIT OR Apache-2.0

//! Starts the program: except for a few environment variables, everything is as if it
//! had been started without us.
//!
//! `posix_spawn` is used because it gives the program the signal mask that we were
//! started with; `std::process::Command` would pass on our own.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ioracle_spool::inherited;
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

use crate::shared::executable::missing_interpreter;
use crate::shared::find::NotStarted;

/// Variable that names libraries to load first.
pub const LD_PRELOAD: &str = "LD_PRELOAD";
/// Runs files that the kernel does not know how to start, as `execvp` does.
const SHELL: &str = "/bin/sh";

/// Variables to set in the program's environment.
pub type EnvironmentVariables = Vec<(&'static str, OsString)>;

/// Starts a program and returns at once.
pub fn start(
    path: &Path,
    command: &[OsString],
    variables: &EnvironmentVariables,
    mask: &SigSet,
) -> Result<Pid, NotStarted> {
    start_redirected(path, command, variables, mask, &[])
}

/// The same with descriptors of ours in place of those of these numbers.
pub fn start_redirected(
    path: &Path,
    command: &[OsString],
    variables: &EnvironmentVariables,
    mask: &SigSet,
    redirects: &[(BorrowedFd<'_>, i32)],
) -> Result<Pid, NotStarted> {
    let environment = environment(std::env::vars_os(), variables);
    match spawn(path, command, &environment, mask, redirects) {
        Err(Errno::ENOEXEC) => {
            let mut by_shell = vec![OsString::from(SHELL), path.into()];
            by_shell.extend(command.iter().skip(1).cloned());
            spawn(Path::new(SHELL), &by_shell, &environment, mask, redirects)
        }
        done => done,
    }
    .map_err(|error| match missing_interpreter(path) {
        Some(interpreter) if error == Errno::ENOENT => {
            NotStarted::without_interpreter(path, &interpreter)
        }
        _ => NotStarted::found(path, error.desc()),
    })
}

fn spawn(
    path: &Path,
    command: &[OsString],
    environment: &[CString],
    mask: &SigSet,
    redirects: &[(BorrowedFd<'_>, i32)],
) -> nix::Result<Pid> {
    let mut attributes = PosixSpawnAttr::init()?;
    // The runtime of this command has ignored SIGPIPE and opened what was closed.
    let mut to_default = SigSet::empty();
    if !inherited::sigpipe_was_ignored() {
        to_default.add(Signal::SIGPIPE);
    }
    let mut actions = PosixSpawnFileActions::init()?;
    for descriptor in inherited::closed_descriptors() {
        actions.add_close(descriptor)?;
    }
    for (descriptor, number) in redirects {
        actions.add_dup2(descriptor.as_raw_fd(), *number)?;
    }
    attributes.set_sigdefault(&to_default)?;
    attributes.set_sigmask(mask)?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
    )?;
    // Arguments came from the kernel, which ends them at their first zero byte.
    let arguments: Vec<CString> =
        command.iter().filter_map(|argument| CString::new(argument.as_bytes()).ok()).collect();
    posix_spawn(path, &actions, &attributes, &arguments, environment)
}

/// Our environment in its order, with some variables set.
fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
    set: &EnvironmentVariables,
) -> Vec<CString> {
    let is_set = |name: &OsStr| set.iter().any(|(other, _)| name == OsStr::new(other));
    let kept = ours.filter(|(name, _)| !is_set(name));
    let added = set.iter().map(|(name, value)| (OsString::from(name), value.clone()));
    kept.chain(added)
        .filter_map(|(name, value)| {
            CString::new([name.into_vec(), value.into_vec()].join(&b'=')).ok()
        })
        .collect()
}

/// What `LD_PRELOAD` must be: our libraries, then what others asked for.
pub fn preload(ours: &[PathBuf], others: Option<OsString>) -> OsString {
    let others = others.unwrap_or_default();
    let others = others.as_bytes().split(|byte| b": ".contains(byte)).map(OsStr::from_bytes);
    let others = others.filter(|other| !other.is_empty() && !ours.iter().any(|it| it == other));
    let all: Vec<&OsStr> = ours.iter().map(|it| it.as_os_str()).chain(others).collect();
    all.join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_library_comes_first_and_once() {
        let ours = ["/opt/our.so", "/opt/oracle.so"].map(PathBuf::from);
        assert_eq!(preload(&ours[..1], None), "/opt/our.so");
        let others = || Some("liba.so /opt/our.so:libb.so".into());
        assert_eq!(preload(&ours[..1], others()), "/opt/our.so:liba.so:libb.so");
        assert_eq!(preload(&ours, others()), "/opt/our.so:/opt/oracle.so:liba.so:libb.so");
    }

    #[test]
    fn variables_are_replaced_and_the_others_keep_their_order() {
        let ours = [("B", "1"), ("A", "2"), ("C", "3")];
        let ours = ours.into_iter().map(|(name, value)| (name.into(), value.into()));
        let shown = environment(ours, &vec![("A", "x".into()), ("D", "y".into())]);
        assert_eq!(shown, [c"B=1", c"C=3", c"A=x", c"D=y"].map(CString::from));
    }
}
