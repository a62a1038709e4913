// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names that differ only by numbers, like those of steps and ranks.

use std::borrow::Cow;

/// The name that all have, or what they have in common: a `*` in place of the
/// numbers that differ, so that of `ck_01.h5` and `ck_02.h5` it is `ck_*.h5`.
pub fn common<'a>(names: impl Iterator<Item = Cow<'a, str>>) -> String {
    let names: Vec<Cow<str>> = names.collect();
    let mut split = names.iter().map(|name| pieces(name).collect::<Vec<_>>());
    let Some(first) = split.next() else { return String::new() };
    let mut differs = vec![false; first.len()];
    for other in split {
        if other.len() != first.len() {
            return without_numbers(&names[0]);
        }
        for (differs, (a, b)) in differs.iter_mut().zip(first.iter().zip(&other)) {
            *differs |= a != b;
        }
    }
    let shown = first.iter().zip(differs).map(|(piece, differs)| if differs { "*" } else { piece });
    shown.collect()
}

/// A name with a `*` in place of every number.
pub fn without_numbers(name: &str) -> String {
    pieces(name).map(|piece| if is_number(piece) { "*" } else { piece }).collect()
}

/// The numbers of a name and what is between them.
fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()).scan(
        0,
        move |from, piece| {
            let piece = &name[*from..*from + piece.len()];
            *from += piece.len();
            Some(piece)
        },
    )
}

fn is_number(piece: &str) -> bool {
    piece.starts_with(|character: char| character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files `ck_01.h5` and so on were once called `ck_*.h*`.
    #[test]
    fn only_numbers_that_differ_are_left_out_of_a_name() {
        let check = |names: &[&str], shown: &str| {
            assert_eq!(common(names.iter().map(|name| Cow::Borrowed(*name))), shown);
        };
        check(&["ck_01.h5", "ck_02.h5"], "ck_*.h5");
        check(&["3d/u1é", "3d/u12é"], "3d/u*é");
        check(&["7", "8"], "*");
        check(&["T2", "T2"], "T2");
        check(&["a*", "a1"], "a*");
        check(&[], "");
    }
}
