// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the doctor says of one thing.

use std::fmt::Display;

use serde::Serialize;

use crate::shared::table::{Cell, Colours, Tone};
use crate::shared::text::wrap;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
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
pub struct Finding {
    pub level: Level,
    /// What it is about.
    pub about: &'static str,
    /// What was found, and what to do.
    pub text: String,
}

impl Finding {
    pub fn ok(about: &'static str, text: impl Display) -> Finding {
        Finding { level: Level::Ok, about, text: text.to_string() }
    }

    pub fn note(about: &'static str, text: impl Display) -> Finding {
        Finding { level: Level::Note, about, text: text.to_string() }
    }

    pub fn warning(about: &'static str, text: impl Display) -> Finding {
        Finding { level: Level::Warning, about, text: text.to_string() }
    }

    pub fn problem(about: &'static str, text: impl Display) -> Finding {
        Finding { level: Level::Problem, about, text: text.to_string() }
    }
}

/// All findings, then whether capture works.
pub fn findings_as_text(findings: &[Finding], colours: Colours) -> String {
    const WIDTH: usize = 100;
    const INDENT: usize = 24;
    let mut text = String::new();
    for finding in findings {
        let (word, tone) = match finding.level {
            Level::Ok => ("ok", Tone::Good),
            Level::Note => ("note", Tone::Dim),
            Level::Warning => ("warning", Tone::Bad),
            Level::Problem => ("problem", Tone::Bad),
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
    let n_problems = findings.iter().filter(|finding| finding.level == Level::Problem).count();
    text.push_str(match n_problems {
        0 => "\nPrograms can be watched here: ioracle run -- COMMAND\n",
        1 => "\nPrograms cannot be watched here until the problem is solved.\n",
        _ => "\nPrograms cannot be watched here until the problems are solved.\n",
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
            Finding::ok("kernel", "6.1.0"),
            Finding::warning("clock", "hpet takes 1.2 µs a look; choose another clock source"),
            Finding::problem("preloading", ["the library was not loaded"; 5].join(", ")),
        ];
        expect![["
            ok       kernel         6.1.0
            warning  clock          hpet takes 1.2 µs a look; choose another clock source
            problem  preloading     the library was not loaded, the library was not loaded, the library was not
                                    loaded, the library was not loaded, the library was not loaded

            Programs cannot be watched here until the problem is solved.
        "]]
        .assert_eq(&findings_as_text(&findings, Colours::Off));
    }
}
