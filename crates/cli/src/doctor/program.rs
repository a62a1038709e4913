// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a program can be watched, and what cannot be seen of it.

use std::ffi::OsStr;
use std::path::Path;

use super::finding::Diagnosis;
use crate::shared::executable::{ExecutableKind, missing_interpreter};
use crate::shared::find::{NotStarted, find};
use crate::shared::linked::{Module, linked_into};

/// Findings on a program that 'ioracle run' would start by this name.
pub fn examine(name: &OsStr) -> Vec<Diagnosis> {
    match find(name, std::env::var_os("PATH").as_deref()) {
        Ok(path) => examine_file(&path),
        Err(not_started) => vec![Diagnosis::problem("program", not_started)],
    }
}

fn examine_file(path: &Path) -> Vec<Diagnosis> {
    if let Some(interpreter) = missing_interpreter(path) {
        let why = NotStarted::without_interpreter(path, &interpreter);
        return vec![Diagnosis::problem("program", why)];
    }
    let name = path.display();
    let found = match hindrance(ExecutableKind::of(path)) {
        None => Diagnosis::ok("program", format_args!("'{name}' can be watched")),
        Some(why) => {
            Diagnosis::problem("program", format_args!("'{name}' cannot be watched: {why}"))
        }
    };
    let linked = linked_into(path, Module::Program);
    let linked = linked.into_iter().map(|it| Diagnosis::warning("program", it.sentence));
    std::iter::once(found).chain(linked).collect()
}

fn hindrance(kind: ExecutableKind) -> Option<&'static str> {
    match kind {
        ExecutableKind::Ordinary => None,
        ExecutableKind::Static => Some("it is statically linked; link it dynamically"),
        ExecutableKind::Go => {
            Some("it is written in Go, which makes system calls without the C library")
        }
        ExecutableKind::Musl => Some("it is linked against musl; build it against glibc"),
        ExecutableKind::Foreign => {
            Some("it is for another architecture or word size; build it for this machine")
        }
        ExecutableKind::Privileged => {
            Some("it is set-user-ID, set-group-ID or has capabilities; use a copy without them")
        }
    }
}
