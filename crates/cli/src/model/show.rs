// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle model show`: what a saved model has learned.

use std::path::PathBuf;

use anyhow::Result;
use ioracle_oracle::Oracle;
use serde::Serialize;

use crate::shared::numbers::{bytes, grouped};
use crate::shared::{models, output};

/// Say what is in a saved model
#[derive(clap::Args)]
#[command(after_help = "Example:\n  ioracle model show cm1.model")]
pub struct Arguments {
    /// A saved model
    #[arg(value_name = "FILE")]
    model: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    symbols: usize,
    one_size_symbols: usize,
    grammar_size: usize,
    memory_bytes: usize,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<()> {
    let oracle = models::read(&arguments.model)?;
    let document = document(&oracle);
    if arguments.json {
        return output::print_json(&document);
    }
    output::print_text(&format!(
        "{}: {} context symbols ({} with one size), a grammar of {} symbols, {} in memory\n",
        arguments.model.display(),
        grouped(document.symbols as u64),
        grouped(document.one_size_symbols as u64),
        grouped(document.grammar_size as u64),
        bytes(document.memory_bytes as u64)
    ))
}

fn document(oracle: &Oracle) -> Document {
    Document {
        symbols: oracle.symbols(),
        one_size_symbols: oracle.one_size_symbols(),
        grammar_size: oracle.grammar().size(),
        memory_bytes: oracle.memory_bytes(),
    }
}
