// SPDX-License-Identifier: MIT OR Apache-2.0

//! Text that fits where it goes.

/// Breaks a text at spaces into lines of at most `width` characters. A word
/// that is longer stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text of at most `width` characters; of a longer one the end is shown, as
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
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("a bb ccc dddddd e", 6), ["a bb", "ccc", "dddddd", "e"]);
        assert_eq!(wrap("", 6), [""]);
    }

    #[test]
    fn a_long_path_is_shown_by_its_end() {
        let shown = shorten_start("a/very/long/way/down/to/the/file/of/results.nc", 30);
        assert_eq!(shown.chars().count(), 30);
        assert!(shown.starts_with('…') && shown.ends_with("results.nc"));
    }
}
