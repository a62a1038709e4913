// SPDX-License-Identifier: MIT OR Apache-2.0

//! The `ioracle` command: one file per subcommand, and what they share in
//! `shared`.

#![forbid(unsafe_code)]

mod eval;
mod shared;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Learns a program's I/O while it runs and says what I/O comes next.
#[derive(Parser)]
#[command(name = "ioracle", version, about, long_about = None, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 success, 1 failure, 2 wrong use.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Eval(eval::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Eval(arguments) => eval::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => shared::failure::report(&error),
    }
}
