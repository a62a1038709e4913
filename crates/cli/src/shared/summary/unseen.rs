// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why nothing of a program's I/O was seen, and what to do about it.

use serde::Serialize;

use crate::shared::executable::ExecutableKind;

/// A reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// The library was there and had nothing to record. What the program started
    /// without it may have done more.
    NoFileIo,
    /// `IORACLE_DISABLE` is set.
    Disabled,
    /// The program is statically linked.
    Static,
    /// The program is written in Go, which makes system calls itself.
    Go,
    /// The program is linked against musl and was run without the library.
    Musl,
    /// The program is for another architecture and was run without the library.
    Foreign,
    /// The program runs with additional privileges.
    Privileged,
    /// The library was not loaded, for an unknown reason.
    NotLoaded,
    /// Calls were made, none could be recorded.
    NothingRecorded,
}

/// What is known when nothing was seen.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    pub kind: ExecutableKind,
    pub disabled: bool,
    /// Processes that loaded the library.
    pub processes: u64,
    /// Calls made and not recorded.
    pub unrecorded: u64,
}

impl Unseen {
    /// The most likely reason.
    pub fn why(circumstances: &Circumstances) -> Unseen {
        match circumstances {
            Circumstances { disabled: true, .. } => Unseen::Disabled,
            Circumstances { kind: ExecutableKind::Musl, .. } => Unseen::Musl,
            Circumstances { kind: ExecutableKind::Foreign, .. } => Unseen::Foreign,
            Circumstances { unrecorded: 1.., .. } => Unseen::NothingRecorded,
            Circumstances { kind: ExecutableKind::Go, .. } => Unseen::Go,
            Circumstances { processes: 1.., .. } => Unseen::NoFileIo,
            Circumstances { kind: ExecutableKind::Static, .. } => Unseen::Static,
            Circumstances { kind: ExecutableKind::Privileged, .. } => Unseen::Privileged,
            Circumstances { kind: ExecutableKind::Ordinary, .. } => Unseen::NotLoaded,
        }
    }

    /// What happened, and what to do.
    pub fn sentence(self) -> &'static str {
        match self {
            Unseen::NoFileIo => {
                "no I/O on regular files was seen; not watched are terminals, pipes, sockets, /proc, \
                 /sys, files that --include or --exclude leaves out, and programs that are static, \
                 set-user-ID, written in Go, for musl or started with a cleared environment"
            }
            Unseen::Disabled => "IORACLE_DISABLE is set; unset it to record",
            Unseen::Static => {
                "the program is statically linked, so no library can be preloaded into it; link \
                 it dynamically, or use 'strace -f'"
            }
            Unseen::Go => {
                "the program is written in Go, which makes system calls without the C library, so \
                 they are not seen; use 'strace -f'"
            }
            Unseen::Musl => {
                "the program is linked against musl, and a library for glibc would keep it from \
                 starting; it was run without capture; build it against glibc"
            }
            Unseen::Foreign => {
                "the program is for another architecture or word size, which the capture library \
                 does not fit; it was run without capture; build it for this machine"
            }
            Unseen::Privileged => {
                "the program is set-user-ID, set-group-ID or has capabilities, and the dynamic \
                 linker then ignores preloaded libraries; run a copy without them"
            }
            Unseen::NotLoaded => {
                "the capture library was not loaded; the program may start others with a cleared \
                 environment, or in a container; 'ioracle doctor' checks what works here"
            }
            Unseen::NothingRecorded => "its calls could not be recorded, see below",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_follows_from_the_circumstances() {
        let check = |kind, processes, expected| {
            let circumstances = Circumstances { kind, disabled: false, processes, unrecorded: 0 };
            assert_eq!(Unseen::why(&circumstances), expected);
            let disabled = Circumstances { disabled: true, ..circumstances };
            assert_eq!(Unseen::why(&disabled), Unseen::Disabled);
        };
        check(ExecutableKind::Ordinary, 1, Unseen::NoFileIo);
        check(ExecutableKind::Ordinary, 0, Unseen::NotLoaded);
        check(ExecutableKind::Static, 0, Unseen::Static);
        // A static program may start others that are not.
        check(ExecutableKind::Static, 1, Unseen::NoFileIo);
        // The runtime of Go loads the library with libc, and passes both by.
        check(ExecutableKind::Go, 1, Unseen::Go);
        check(ExecutableKind::Go, 0, Unseen::Go);
        check(ExecutableKind::Musl, 0, Unseen::Musl);
        check(ExecutableKind::Foreign, 0, Unseen::Foreign);
        check(ExecutableKind::Privileged, 0, Unseen::Privileged);
    }
}
