// SPDX-License-Identifier: MIT OR Apache-2.0

//! Text that fits where it goes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ioracle_events::path_text;
use serde::Serializer;

/// A path in a JSON document; for `serialize_with`, as serde has no text for those
/// that are not UTF-8.
pub fn as_path<S: Serializer>(path: &impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path_text(path.as_ref()))
}

/// The same where there may be none.
pub fn as_optional_path<S: Serializer>(
    path: &Option<impl AsRef<Path>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => as_path(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// A path as a word of a command line, for hints that people paste into a shell. Double
/// quotes where they suffice, because hints themselves are in single quotes.
pub fn shell_quoted(path: impl AsRef<OsStr>) -> String {
    let bytes = path.as_ref().as_bytes();
    // A word that begins with a dash is taken for an option.
    let before = if bytes.starts_with(b"-") { "./" } else { "" };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => format!("{before}{text}"),
        _ => return format!("$'{before}{}'", ansi_c_escaped(bytes)),
    };
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:@%,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else if !text.contains(['"', '$', '`', '\\', '!']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// What stands between `$'` and `'` for bytes that no terminal shows.
fn ansi_c_escaped(bytes: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        // Always three digits, so that what follows is not taken for one.
        _ => format!("\\{byte:03o}"),
    };
    bytes.iter().map(letter).collect()
}

/// A text in which nothing moves the cursor or turns the direction of writing.
pub fn without_control_characters(text: &str) -> String {
    text.chars().map(|letter| if is_shown(letter) { letter } else { '?' }).collect()
}

fn is_shown(letter: char) -> bool {
    // Marks that change the direction of what follows have no width of their own.
    let is_mark = matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !letter.is_control() && !is_mark
}

/// What stays on the line of the number before it.
const UNITS: [&str; 12] = ["%", "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "s", "ms", "µs", "ns"];

/// Breaks a text at spaces into lines of at most `width` characters. A word
/// that is longer stands alone, and a number stays with its unit.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| ",;:.)".contains(c)));
        match words
            .last_mut()
            .filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit()))
        {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// A text of at most `width` characters; for a longer one the end is shown, because
/// that is where paths differ.
pub fn shorten_start(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - width + 1).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_the_path_that_was_quoted() {
        let check = |path: &[u8], expected: &str| {
            let quoted = shell_quoted(OsStr::from_bytes(path));
            assert_eq!(quoted, expected);
            let script = format!("printf %s {quoted}");
            // Without bash, only the text is compared.
            if let Ok(read) = std::process::Command::new("bash").args(["-c", &script]).output() {
                let same_file = [b"./", path].concat();
                assert!(read.stdout == path || read.stdout == same_file, "{read:?}");
            }
        };
        check(b"run-3/trace.d", "run-3/trace.d");
        check("Ergebnisse/Größe".as_bytes(), "Ergebnisse/Größe");
        check(b"my trace", "\"my trace\"");
        check(b"it's", "\"it's\"");
        check(b"a;b&c|d(e)*?[f]<g>{h}~#", "\"a;b&c|d(e)*?[f]<g>{h}~#\"");
        check(b"$HOME and a's", r"'$HOME and a'\''s'");
        check(b"say \"hi\"!", "'say \"hi\"!'");
        check(b"-x", "./-x");
        check(b"", "\"\"");
        check(b"a\xff1'\n", r"$'a\3771\'\012'");
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_left() {
        assert_eq!(without_control_characters("x\u{1b}]0;t\u{7}\n\u{202e}ü"), "x?]0;t???ü");
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("a bb ccc dddddd e", 6), ["a bb", "ccc", "dddddd", "e"]);
        assert_eq!(wrap("", 6), [""]);
        assert_eq!(wrap("took 12.5 ms, 3 % of it", 10), ["took", "12.5 ms,", "3 % of it"]);
    }

    #[test]
    fn a_long_path_is_shown_by_its_end() {
        let shown = shorten_start("a/very/long/way/down/to/the/file/of/results.nc", 30);
        assert_eq!(shown.chars().count(), 30);
        assert!(shown.starts_with('…') && shown.ends_with("results.nc"));
    }
}
