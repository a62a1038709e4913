// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a failure is reported: one sentence on standard error, exit code 1, or 2
//! where the command was used wrongly.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use ioracle_trace::{ReadOptions, Trace};

use crate::shared::output::say;

/// The command was used wrongly, whatever the input.
#[derive(Debug)]
pub struct WrongUse(pub String);

impl fmt::Display for WrongUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUse {}

/// What is wrong with a trace, without the advice to read leniently.
pub fn without_lenient(sentence: &str) -> String {
    ["skip bad rows", "read what is there"].iter().fold(sentence.to_owned(), |sentence, advice| {
        sentence.replace(&format!(", or {advice} with --lenient"), "")
    })
}

/// Opens a trace; if it is read leniently already, the error does not advise that.
pub fn open_trace(path: &Path, options: ReadOptions) -> Result<Trace> {
    Trace::open(path, options).map_err(|error| match options.lenient {
        true => anyhow!(without_lenient(&error.to_string())),
        false => error.into(),
    })
}

/// Prints why the command failed, and returns the code it ends with.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // The reader of our output has seen enough.
        return ExitCode::SUCCESS;
    }
    say(sentence(error));
    if error.is::<WrongUse>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// The causes of a failure in one sentence, from what was tried to why not. An
/// error whose text already includes its cause does not repeat it.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json =
            cause.downcast_ref::<serde_json::Error>().and_then(|error| error.io_error_kind());
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_cause_is_reported_once() {
        let error = anyhow::anyhow!("no space left").context("could not write 'a': no space left");
        assert_eq!(sentence(&error), "could not write 'a': no space left");
        let error = Err::<(), _>(anyhow::anyhow!("it is damaged")).context("could not use 'a'");
        assert_eq!(sentence(&error.unwrap_err()), "could not use 'a': it is damaged");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
