// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names made from other names: `packed/a/b.c.zst` from `a/b.c`,
//! `__pycache__/b.cpython-311.pyc` from `b.py`.
//!
//! Programs that turn one file into another put the name of the second together
//! from that of the first. One pair of names shows how: which part of the
//! directory and of the last component is kept, and what stands around it. The
//! same done to the next name is a guess, and its success rate decides whether it
//! is believed.

use serde::{Deserialize, Serialize};

/// Longer names are not remembered.
const MAX_NAME_BYTES: usize = 1024;

/// What a name may be made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameOrigin {
    /// The name that a call used last which was no operation.
    Hint,
    /// That of the file opened last.
    Companion,
}

/// The last names that were made from others, each behind the one that it was made
/// from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Derivations([Option<(Box<str>, Box<str>)>; 2]);

impl Derivations {
    /// Takes in a name that may have been made from another one.
    pub fn learn(&mut self, origin: NameOrigin, from: Option<&str>, made: &str) {
        let Some(from) = from.filter(|from| from.len().max(made.len()) <= MAX_NAME_BYTES) else {
            return;
        };
        if shows(from, made) {
            self.0[origin as usize] = Some((from.into(), made.into()));
        }
    }

    /// The name made from this one as the last one was made.
    pub fn expect(&self, origin: NameOrigin, from: &str) -> Option<String> {
        let (before, made) = self.0[origin as usize].as_ref()?;
        derive(before, made, from)
    }

    pub fn memory_bytes(&self) -> usize {
        self.0.iter().flatten().map(|(from, made)| from.len() + made.len()).sum()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.0.iter().flatten().all(|(from, made)| from.len().max(made.len()) <= MAX_NAME_BYTES)
    }
}

/// The name that is to `source` as `made` was to `from`; `None` where `made` was not
/// made from `from`, or `source` lies elsewhere.
fn derive(from: &str, made: &str, source: &str) -> Option<String> {
    let (from_directory, from_base) = split(from);
    let (made_directory, made_base) = split(made);
    let (source_directory, source_base) = split(source);
    let is_whole = made_base.contains(from_base);
    let part = |base| if is_whole { base } else { stem(base) };
    let kept = part(from_base);
    if kept.is_empty() || from == made {
        return None;
    }
    let (before, after) = made_base.split_once(kept)?;
    let mut name = derive_directory(from_directory, made_directory, source_directory)?;
    name.extend([before, part(source_base), after]);
    Some(name)
}

/// Whether one name shows how the other is made from it.
fn shows(from: &str, made: &str) -> bool {
    derive(from, made, from).is_some()
}

/// The same for directories, each with the separator behind it: the longest end of
/// `from` that `made` contains is what changes.
fn derive_directory(from: &str, made: &str, source: &str) -> Option<String> {
    let ends = std::iter::once(0).chain(from.match_indices('/').map(|(at, _)| at + 1));
    for at in ends {
        let (dropped, kept) = from.split_at(at);
        let Some(place) = component(made, kept) else { continue };
        let (before, after) = (&made[..place], &made[place + kept.len()..]);
        return Some([before, source.strip_prefix(dropped)?, after].concat());
    }
    None
}

/// Where `part` begins in `directory`, at the beginning of a component.
fn component(directory: &str, part: &str) -> Option<usize> {
    if part.is_empty() {
        return Some(directory.len());
    }
    let is_component = |&at: &usize| at == 0 || directory.as_bytes()[at - 1] == b'/';
    directory.match_indices(part).map(|(at, _)| at).find(is_component)
}

/// A path as its directory, with the separator, and its last component.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

/// A name without its last extension.
fn stem(base: &str) -> &str {
    match base.rfind('.') {
        Some(at) if at > 0 => &base[..at],
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, made: &str, source: &str, expected: Option<&str>) {
        assert_eq!(derive(from, made, source).as_deref(), expected, "{from} -> {made}: {source}");
    }

    #[test]
    fn what_is_added_to_one_name_is_added_to_the_next() {
        check("a.c", "a.o", "b.c", Some("b.o"));
        check("in/a.c", "in/a.c.gz", "in/b.h", Some("in/b.h.gz"));
        check(
            "/lib/a.py",
            "/lib/__pycache__/a.cpython-311.pyc",
            "/lib/x/b.py",
            Some("/lib/x/__pycache__/b.cpython-311.pyc"),
        );
    }

    #[test]
    fn a_tree_is_mirrored_under_another_directory() {
        check(
            "crates/a/b.rs",
            "packed/crates/a/b.rs.zst",
            "crates/c.rs",
            Some("packed/crates/c.rs.zst"),
        );
        check("/w/crates/a/b.rs", "/w/copy/a/b.rs", "/w/crates/c/d.rs", Some("/w/copy/c/d.rs"));
        check("/w/crates/a/b.rs", "/w/copy/a/b.rs", "/etc/d.rs", None);
    }

    #[test]
    fn names_that_have_nothing_in_common_say_nothing() {
        check("a.c", "log", "b.c", None);
        check("a", "a", "b", None);
        check("/", "/x", "/y", None);
        assert!(!shows("in/a", "out/b") && shows("in/a", "out/a"));
    }
}
