// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether output has the form that a document shows.

use crate::page::Command;

/// What follows a number and may differ with it.
const UNITS: [&str; 13] =
    ["ns", "µs", "ms", "s", "min", "h", "B", "KB", "MB", "GB", "KiB", "MiB", "GiB"];

/// Compares what a command printed with what its document shows.
pub fn compare(command: &Command, printed: &str) -> Result<(), String> {
    let Some(shown) = &command.shown else { return Ok(()) };
    let shown = forms(shown.iter().map(String::as_str));
    let forms = forms(printed.lines());
    if matches(&shown, &forms) {
        return Ok(());
    }
    let differs = shown.iter().find(|line| *line != "…" && !forms.contains(line));
    let differs = differs.map_or("the order of lines", |line| line.as_str());
    Err(format!("shown, but not printed: {differs}\nprinted:\n{printed}"))
}

/// Whether lines fit others, of which `…` is any number.
fn matches(shown: &[String], printed: &[String]) -> bool {
    match shown {
        [] => printed.is_empty(),
        [any, rest @ ..] if any == "…" => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        [line, rest @ ..] => printed.first() == Some(line) && matches(rest, &printed[1..]),
    }
}

/// Lines without what differs from run to run. A sentence that goes on in
/// further lines is one: where it is wrapped depends on its numbers.
fn forms<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        match joined.last_mut() {
            Some(last) if line.starts_with("              ") => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => joined.push(line.to_owned()),
        }
    }
    joined.iter().map(|line| form(line)).collect()
}

fn form(line: &str) -> String {
    // A row of a prediction: which operations come depends on the library's version.
    if line.contains('│') && line.trim_start().starts_with(|it: char| it.is_ascii_digit()) {
        let n_cells = line.split("  ").filter(|cell| !cell.trim().is_empty()).count();
        return format!("a row of {n_cells} cells");
    }
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', '.', ')']);
        match words.last_mut() {
            Some(last) if last.ends_with('#') && UNITS.contains(&bare) => {
                last.push_str(&word[bare.len()..]);
            }
            Some(last) if last.ends_with('#') => words.push(singular(word)),
            _ => words.push(without_numbers(word)),
        }
    }
    words.join(" ")
}

/// What is counted, as if it were one: how many there are may differ.
fn singular(word: &str) -> String {
    let noun = word.trim_end_matches([',', ';', '.', ')']);
    let one = match noun.strip_suffix("es") {
        Some(one) if one.ends_with("ss") => one,
        _ if noun.ends_with("ss") => noun,
        _ => noun.strip_suffix('s').unwrap_or(noun),
    };
    format!("{}{}", without_numbers(one), &word[noun.len()..])
}

/// Each number, with its commas and its point, as one sign.
fn without_numbers(word: &str) -> String {
    let mut form = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(|it: char| it.is_ascii_digit()) {
        form.push_str(&rest[..at]);
        form.push('#');
        let number = rest[at..].find(|it: char| !it.is_ascii_digit() && it != ',' && it != '.');
        let number = &rest[at..number.map_or(rest.len(), |length| at + length)];
        let digits = number.trim_end_matches([',', '.']).len();
        rest = &rest[at + digits..];
    }
    form.push_str(rest);
    form
}

#[test]
fn numbers_and_units_may_differ_and_words_may_not() {
    let check = |shown: &str, printed: &str| {
        let shown = Some(shown.lines().map(str::to_owned).collect());
        compare(&Command { line: 1, text: String::new(), shown }, printed).is_ok()
    };
    assert!(check("  I/O  5,905 operations in 54.4 ms;", "  I/O     7 operations in 1.2 s;"));
    assert!(check("by 3 processes and 2 threads; x", "by 1 process and 1 thread; x"));
    assert!(check("month_13.nc", "month_9.nc"));
    assert!(check("a\n…\nb 1", "a\nx\ny\nb 2"));
    assert!(check("data  1 MB,\n                more", "data  12 MB, more"));
    assert!(!check("  I/O  5,905 operations", "  I/O  5,905 calls"));
    assert!(!check("a\nb", "a\nx\nb"));
    assert!(!check("step  file  size", "step  size  file"));
    assert!(!check("   1  read  a  5  │ read", "   1  read  a  │ read"));
}
