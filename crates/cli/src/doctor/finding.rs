// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the doctor reports about one thing.

use std::ffi::OsStr;
use std::fmt::Display;

use serde::Serialize;

use crate::shared::table::{Cell, Colours, Tone};
use crate::shared::text::{shell_quoted, wrap};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosisLevel {
    /// As it should be.
    Ok,
    /// Good to know.
    Note,
    /// Capture works, but not as well as it could.
    Warning,
    /// Capture does not work.
    Problem,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub level: DiagnosisLevel,
    /// What it is about.
    pub about: &'static str,
    /// What was found, and what to do.
    pub text: String,
}

impl Diagnosis {
    pub fn ok(about: &'static str, text: impl Display) -> Diagnosis {
        Diagnosis { level: DiagnosisLevel::Ok, about, text: text.to_string() }
    }

    pub fn note(about: &'static str, text: impl Display) -> Diagnosis {
        Diagnosis { level: DiagnosisLevel::Note, about, text: text.to_string() }
    }

    pub fn warning(about: &'static str, text: impl Display) -> Diagnosis {
        Diagnosis { level: DiagnosisLevel::Warning, about, text: text.to_string() }
    }

    pub fn problem(about: &'static str, text: impl Display) -> Diagnosis {
        Diagnosis { level: DiagnosisLevel::Problem, about, text: text.to_string() }
    }
}

/// All findings, one below the other.
pub fn findings_below_each_other(findings: &[Diagnosis], colours: Colours) -> String {
    const WIDTH: usize = 100;
    const INDENT: usize = 24;
    let mut text = String::new();
    for finding in findings {
        let (word, tone) = match finding.level {
            DiagnosisLevel::Ok => ("ok", Tone::Good),
            DiagnosisLevel::Note => ("note", Tone::Dim),
            DiagnosisLevel::Warning => ("warning", Tone::Bad),
            DiagnosisLevel::Problem => ("problem", Tone::Bad),
        };
        let word = colours.paint(&Cell::new(format!("{word:<8}"), tone));
        for (n, line) in wrap(&finding.text, WIDTH - INDENT).into_iter().enumerate() {
            let before = match n {
                0 => format!("{word} {:<15}", finding.about),
                _ => " ".repeat(INDENT),
            };
            text.push_str(&format!("{before}{line}\n"));
        }
    }
    text
}

/// All findings, then whether capture works: for a program if one was named.
pub fn findings_as_text(
    findings: &[Diagnosis],
    program: Option<&OsStr>,
    colours: Colours,
) -> String {
    let mut text = findings_below_each_other(findings, colours);
    let n_problems =
        findings.iter().filter(|finding| finding.level == DiagnosisLevel::Problem).count();
    let (what, command) = match program {
        Some(program) => (format!("'{}'", program.display()), shell_quoted(program)),
        None => ("Programs".to_owned(), "COMMAND".to_owned()),
    };
    text.push_str(&match n_problems {
        0 => format!("\n{what} can be watched here: ioracle run -- {command}\n"),
        1 => format!("\n{what} cannot be watched here until the problem is solved.\n"),
        _ => format!("\n{what} cannot be watched here until the problems are solved.\n"),
    });
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn findings_stand_below_each_other_with_what_to_do() {
        let findings = [
            Diagnosis::ok("kernel", "6.1.0"),
            Diagnosis::warning("clock", "hpet takes 1.2 µs a look; choose another clock source"),
            Diagnosis::problem("preloading", ["the library was not loaded"; 5].join(", ")),
        ];
        expect![["
            ok       kernel         6.1.0
            warning  clock          hpet takes 1.2 µs a look; choose another clock source
            problem  preloading     the library was not loaded, the library was not loaded, the library was not
                                    loaded, the library was not loaded, the library was not loaded

            Programs cannot be watched here until the problem is solved.
        "]]
        .assert_eq(&findings_as_text(&findings, None, Colours::Off));
    }

    #[test]
    fn the_verdict_is_about_the_program_that_was_named() {
        let verdict = |findings: &[Diagnosis]| {
            let text = findings_as_text(findings, Some(OsStr::new("./my app")), Colours::Off);
            text.lines().last().map(str::to_owned)
        };
        let well = verdict(&[Diagnosis::ok("program", "")]);
        let expected = "'./my app' can be watched here: ioracle run -- \"./my app\"";
        assert_eq!(well.as_deref(), Some(expected));
        let badly = verdict(&[Diagnosis::problem("program", "it is statically linked")]);
        assert!(badly.is_some_and(|line| line.starts_with("'./my app' cannot be watched")));
    }
}
