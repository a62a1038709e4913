// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names as traces hold them: what a table cannot hold is written as `%` and two
//! hexadecimal digits per byte.

use std::borrow::Cow;
use std::path::Path;

/// The bytes that a text of a trace stands for; what is not an escape stays as it is.
pub fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.first_chunk::<2>().filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    bytes
}

/// The same as text, for programs: a name that is not UTF-8 stays escaped.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    String::from_utf8(unescaped(text)).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The same for people; what a terminal could not show stays escaped.
pub fn readable(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let name = plain(text);
    if name.contains(char::is_control) { Cow::Borrowed(text) } else { name }
}

/// Bytes of the application piece by piece as a table holds them, until no more are
/// taken: what would break a row, or is not text, is escaped, and so is `%` itself, so
/// that nothing is lost.
pub fn escape_into(bytes: &[u8], mut take: impl FnMut(&str) -> bool) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let is_plain = !character.is_control() && !matches!(character, '%' | ',' | '"');
            let mut buffer = [0; 4];
            let encoded = character.encode_utf8(&mut buffer);
            let is_taken = match is_plain {
                true => take(encoded),
                false => take_hexadecimal(&mut take, encoded.as_bytes()),
            };
            if !is_taken {
                return;
            }
        }
        if !take_hexadecimal(&mut take, chunk.invalid()) {
            return;
        }
    }
}

fn take_hexadecimal(take: &mut impl FnMut(&str) -> bool, bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| take(&format!("%{byte:02X}")))
}

/// A path as JSON has it: text is itself, anything else is escaped as a whole.
pub fn path_text(path: &Path) -> Cow<'_, str> {
    path.to_str().map_or_else(
        || {
            let mut text = String::new();
            escape_into(path.as_os_str().as_encoded_bytes(), |piece| {
                text.push_str(piece);
                true
            });
            Cow::Owned(text)
        },
        Cow::Borrowed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_are_unless_they_would_do_harm() {
        let check = |text, shown: &str| assert_eq!(readable(text), shown);
        check("/step%201/a%2Cb%25", "/step 1/a,b%");
        check("100%", "100%");
        check("a%1B[2J", "a%1B[2J");
        check("a%00b", "a%00b");
        check("a%FF", "a%FF");
    }

    #[test]
    fn programs_get_every_name_that_is_text() {
        let check = |text, given: &str| assert_eq!(plain(text), given);
        check("/step%201/a%2Cb%25", "/step 1/a,b%");
        check("a%0Ab", "a\nb");
        check("a%FF", "a%FF");
    }

    #[test]
    fn a_path_is_itself_unless_it_is_no_text() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let check = |bytes: &[u8], given: &str| {
            assert_eq!(path_text(Path::new(OsStr::from_bytes(bytes))), given);
        };
        check("/Läufe, 1/100%".as_bytes(), "/Läufe, 1/100%");
        check(b"/a,b/100%/try\xff", "/a%2Cb/100%25/try%FF");
    }
}
