// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a program can be watched, and what of it cannot be seen.

use std::ffi::OsStr;
use std::path::Path;

use super::finding::Finding;
use crate::shared::executable::{Kind, missing_interpreter};
use crate::shared::find::{NotStarted, find};
use crate::shared::linked::{Module, linked_into};

/// Findings on a program that 'ioracle run' would start by this name.
pub fn examine(name: &OsStr) -> Vec<Finding> {
    match find(name, std::env::var_os("PATH").as_deref()) {
        Ok(path) => examine_file(&path),
        Err(not_started) => vec![Finding::problem("program", not_started)],
    }
}

fn examine_file(path: &Path) -> Vec<Finding> {
    if let Some(interpreter) = missing_interpreter(path) {
        let why = NotStarted::without_interpreter(path, &interpreter);
        return vec![Finding::problem("program", why)];
    }
    let name = path.display();
    let found = match hindrance(Kind::of(path)) {
        None => Finding::ok("program", format_args!("'{name}' can be watched")),
        Some(why) => Finding::problem("program", format_args!("'{name}' cannot be watched: {why}")),
    };
    let linked = linked_into(path, Module::Program);
    let linked = linked.into_iter().map(|it| Finding::warning("program", it.sentence));
    std::iter::once(found).chain(linked).collect()
}

fn hindrance(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Ordinary => None,
        Kind::Static => Some("it is statically linked; link it dynamically"),
        Kind::Musl => Some("it is linked against musl; build it against glibc"),
        Kind::Foreign => {
            Some("it is for another architecture or word size; build it for this machine")
        }
        Kind::Privileged => {
            Some("it is set-user-ID, set-group-ID or has capabilities; use a copy without them")
        }
    }
}
