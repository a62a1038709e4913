// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bytes of the application as text that fits into a table.
//!
//! Tables have no quoting, so what would break a row, or is not text, is written as `%`
//! and two hexadecimal digits per byte: control characters, commas, quotes, bytes that
//! are not UTF-8, and `%` itself, so that nothing is lost. Names of files and modules
//! rarely hold any of these, and are then themselves.

use ioracle_events::escape_into;

/// The longest text of a call stack or a path. A line of a table may have 64 KiB.
pub const MAX_TEXT_BYTES: usize = 60_000;

/// Adds `bytes` to `text`, at most up to [`MAX_TEXT_BYTES`] in all.
pub(crate) fn push_escaped(text: &mut String, bytes: &[u8]) {
    escape_into(bytes, |piece| push(text, piece));
}

/// The same as a new text.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(MAX_TEXT_BYTES));
    push_escaped(&mut text, bytes);
    text
}

/// Adds all of `piece`, or nothing and says so if there is no room.
pub(crate) fn push(text: &mut String, piece: &str) -> bool {
    let fits = text.len() + piece.len() <= MAX_TEXT_BYTES;
    if fits {
        text.push_str(piece);
    }
    fits
}

#[cfg(test)]
mod tests {
    use ioracle_events::unescaped;

    use super::*;

    #[test]
    fn usual_names_are_themselves() {
        assert_eq!(escaped("out/Zustand 7.dat;α".as_bytes()), "out/Zustand 7.dat;α");
    }

    #[test]
    fn what_a_table_cannot_hold_is_escaped_and_can_be_read_back() {
        let hostile = b"a,b\"c\nd\r%25\xff\xc3(\x00\x7f\xc2\x85";
        let text = escaped(hostile);
        assert_eq!(text, "a%2Cb%22c%0Ad%0D%2525%FF%C3(%00%7F%C2%85");
        assert_eq!(unescaped(&text), hostile);
        assert_eq!(unescaped("100%, %zz %2"), b"100%, %zz %2");
    }

    #[test]
    fn text_is_cut_at_its_bound_between_characters() {
        assert_eq!(escaped(&vec![b'\n'; MAX_TEXT_BYTES]).len(), MAX_TEXT_BYTES);
        let text = escaped("€".repeat(MAX_TEXT_BYTES).as_bytes());
        assert_eq!(text, "€".repeat(MAX_TEXT_BYTES / 3));
    }
}
