// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a failure is told: one sentence on standard error, exit code 1, or 2
//! where the command was used wrongly.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// The command was used in a way that no input can make right.
#[derive(Debug)]
pub struct WrongUse(pub String);

impl fmt::Display for WrongUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUse {}

/// Tells why the command failed and with which code it ends.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    eprintln!("ioracle: {error:#}");
    if error.is::<WrongUse>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json =
            cause.downcast_ref::<serde_json::Error>().and_then(|error| error.io_error_kind());
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
