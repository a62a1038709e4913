// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names that are others in this run: a session directory with the number of a
//! process, another file for standard output, another input.
//!
//! When a file comes in the place of one that only earlier runs have used, the
//! pieces in which the two paths differ are remembered. They are replaced in the
//! names of all other files that earlier runs have used and this one has not, so
//! that a session path is learned once and not by every call stack.

use serde::{Deserialize, Serialize};

use crate::stamp::{StampToken, tokens};

/// Pieces that are remembered; the oldest is forgotten.
const MAX_PIECES: usize = 16;
/// Digits from which on a number identifies something by itself, as that of a
/// process does.
const MIN_DIGITS: usize = 3;

/// What is called otherwise than in earlier runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Renames {
    /// What it was, and what it is; the latest first.
    pieces: Vec<(Box<str>, Box<str>)>,
}

impl Renames {
    /// Nothing is called otherwise.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Takes in that a file of this name has that one now.
    pub fn learn(&mut self, before: &str, now: &str) {
        let (parts_before, parts_now) = (before.split('/'), now.split('/'));
        if parts_before.clone().count() != parts_now.clone().count() {
            return;
        }
        for (before, now) in parts_before.zip(parts_now).filter(|(before, now)| before != now) {
            if self.learn_numbers(before, now).is_none() {
                let ((stem_before, end_before), (stem_now, end_now)) = (stem(before), stem(now));
                match end_before == end_now {
                    true => self.add(stem_before, stem_now),
                    false => self.add(before, now),
                }
            }
        }
    }

    /// The same of two parts of a path that differ in long numbers only; `None` if
    /// they do not.
    fn learn_numbers(&mut self, before: &str, now: &str) -> Option<()> {
        let mut pairs = Vec::new();
        let mut tokens_now = tokens(now);
        for before in tokens(before) {
            match (before, tokens_now.next()?) {
                (before, now) if before.text() == now.text() => {}
                (StampToken::Number(before), StampToken::Number(now))
                    if before.len().min(now.len()) >= MIN_DIGITS =>
                {
                    pairs.push((before, now));
                }
                _ => return None,
            }
        }
        if tokens_now.next().is_some() {
            return None;
        }
        pairs.into_iter().for_each(|(before, now)| self.add(before, now));
        Some(())
    }

    fn add(&mut self, before: &str, now: &str) {
        self.pieces.retain(|(known, _)| **known != *before);
        self.pieces.truncate(MAX_PIECES - 1);
        self.pieces.insert(0, (before.into(), now.into()));
    }

    /// What a file of this name is called now; `None` if as ever.
    pub fn now(&self, before: &str) -> Option<String> {
        let now = |piece: &str| self.pieces.iter().find(|it| *it.0 == *piece).map(|it| &*it.1);
        if self.pieces.is_empty() { None } else { replaced(before, now) }
    }

    /// What a file that has this name now was called.
    pub fn before(&self, now: &str) -> Option<String> {
        let before = |piece: &str| self.pieces.iter().find(|it| *it.1 == *piece).map(|it| &*it.0);
        if self.pieces.is_empty() { None } else { replaced(now, before) }
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.pieces.len() <= MAX_PIECES
    }
}

/// A path with those of its pieces replaced that have a replacement; `None` if none
/// has.
fn replaced<'a>(path: &str, replacement: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let mut result = String::with_capacity(path.len() + 8);
    let mut is_changed = false;
    for (n, part) in path.split('/').enumerate() {
        if n > 0 {
            result.push('/');
        }
        let (stem, end) = stem(part);
        if let Some(other) = replacement(part) {
            result.push_str(other);
            is_changed = true;
        } else if let Some(other) = replacement(stem) {
            result.push_str(other);
            result.push_str(end);
            is_changed = true;
        } else {
            for token in tokens(part) {
                let other = match token {
                    StampToken::Number(digits) => replacement(digits),
                    _ => None,
                };
                is_changed |= other.is_some();
                result.push_str(other.unwrap_or(token.text()));
            }
        }
    }
    is_changed.then_some(result)
}

/// A part of a path before its last dot, and the rest.
fn stem(part: &str) -> (&str, &str) {
    match part.rfind('.').filter(|&at| at > 0) {
        Some(at) => part.split_at(at),
        None => (part, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the second name becomes once it is known what the first pair is.
    fn check((before, now): (&str, &str), other: &str, expected: Option<&str>) {
        let mut renames = Renames::default();
        renames.learn(before, now);
        assert_eq!(renames.now(other).as_deref(), expected);
        if let Some(expected) = expected {
            assert_eq!(renames.before(expected).as_deref(), Some(other));
        }
    }

    #[test]
    fn the_number_of_a_process_is_replaced_wherever_it_stands() {
        let session = ("/tmp/ompi.host.0/pid.4711/0/shm", "/tmp/ompi.host.0/pid.815/0/shm");
        check(session, "/tmp/ompi.host.0/pid.4711/1/log", Some("/tmp/ompi.host.0/pid.815/1/log"));
        check(("/dev/shm/a.4711", "/dev/shm/a.815"), "trace_4711.out", Some("trace_815.out"));
        check(session, "/tmp/ompi.host.0/pid.4712/1/log", None);
    }

    #[test]
    fn another_directory_holds_the_other_files_too() {
        check(
            ("/scratch/run1/in.nc", "/scratch/b/in.nc"),
            "/scratch/run1/out.nc",
            Some("/scratch/b/out.nc"),
        );
    }

    #[test]
    fn files_that_share_a_stem_are_renamed_together() {
        check(("src/writer.c", "src/reader.c"), "obj/writer.o", Some("obj/reader.o"));
    }

    #[test]
    fn counters_are_no_numbers_of_processes() {
        check(("in0.nc", "in10.nc"), "out0.dat", None);
    }

    #[test]
    fn what_differs_in_depth_teaches_nothing() {
        check(("/a/b/c", "/x/c"), "/a/b/d", None);
    }

    #[test]
    fn few_pieces_are_remembered() {
        let mut renames = Renames::default();
        for n in 0..100 {
            renames.learn(&format!("old{n}.x"), &format!("new{n}.x"));
        }
        assert!(renames.is_valid());
        assert_eq!(renames.now("old99.x").as_deref(), Some("new99.x"));
        assert_eq!(renames.now("old1.x"), None);
    }
}
