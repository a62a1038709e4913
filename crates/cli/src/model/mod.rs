// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle model`: save, show and merge what was learned.

mod show;

use std::path::PathBuf;

use anyhow::Result;
use ioracle_trace::Options;
use serde::Serialize;

use crate::shared::learn::{Extent, learn};
use crate::shared::numbers::{bytes, grouped};
use crate::shared::{models, output};

const EXAMPLES: &str = "\
Examples:
  ioracle model save traces/cm1 -o cm1.model           learn a trace, keep the model
  ioracle model show cm1.model                         what is in it, loops in words
  ioracle model merge monday.model tuesday.model -o both.model
  ioracle predict cm1.model                            what it expects next";

/// Save, show and merge learned models
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Save(Save),
    Show(show::Arguments),
    Merge(Merge),
}

/// Learn a stream of a trace and write the model to a file
#[derive(clap::Args)]
#[command(after_help = "Example:\n  ioracle model save traces/cm1 --rank 0 -o cm1.model")]
struct Save {
    /// Directory of a recorded trace
    trace: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Rank of the trace (default: its first); of several threads the busiest
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Learn so many operations only
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Skip bad rows and count them instead of ending there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Add up what two models have learned
#[derive(clap::Args)]
#[command(after_help = "Example:\n  ioracle model merge monday.model tuesday.model -o both.model")]
struct Merge {
    /// A saved model
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Another saved model
    #[arg(value_name = "B")]
    second: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Save(save) => save.run(),
        Command::Show(show) => show::run(show),
        Command::Merge(merge) => merge.run(),
    }
}

/// What was written.
#[derive(Serialize)]
struct Written {
    file: PathBuf,
    bytes: u64,
    symbols: usize,
    grammar_size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<u64>,
}

impl Save {
    fn run(&self) -> Result<()> {
        let extent = Extent { rank: self.rank, operations: self.after, rest: 0 };
        let learned = learn(&self.trace, Options { lenient: self.lenient }, extent)?;
        let written = Written {
            file: self.output.clone(),
            bytes: models::write(&self.output, &learned.oracle.save())?,
            symbols: learned.oracle.symbols(),
            grammar_size: learned.oracle.grammar().size(),
            rank: Some(learned.stream.rank),
            thread: Some(learned.stream.thread),
            operations: Some(learned.operations),
        };
        if self.json {
            return output::print_json(&written);
        }
        let others = match learned.other_streams {
            0 => String::new(),
            others => format!(
                "; thread {}, the busiest of {}: a model follows one thread",
                learned.stream.thread,
                others + 1
            ),
        };
        output::print_text(&format!(
            "wrote '{}': {}, learned from {} operations of {}, rank {}{others}\n",
            self.output.display(),
            bytes(written.bytes),
            grouped(learned.operations),
            learned.trace.name(),
            learned.stream.rank
        ))
    }
}

impl Merge {
    fn run(&self) -> Result<()> {
        let mut oracle = models::read(&self.first)?.into_busiest();
        oracle.merge(&models::read(&self.second)?.into_busiest());
        let written = Written {
            file: self.output.clone(),
            bytes: models::write(&self.output, &oracle.save())?,
            symbols: oracle.symbols(),
            grammar_size: oracle.grammar().size(),
            rank: None,
            thread: None,
            operations: None,
        };
        if self.json {
            return output::print_json(&written);
        }
        output::print_text(&format!(
            "wrote '{}': {}, {} context symbols, a grammar of {} symbols\n",
            self.output.display(),
            bytes(written.bytes),
            grouped(written.symbols as u64),
            grouped(written.grammar_size as u64)
        ))
    }
}
