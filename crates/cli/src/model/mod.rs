// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle model`: save, show and merge what was learned.

mod show;

use std::path::{Path, PathBuf};

use anyhow::Result;
use ioracle_events::Level;
use ioracle_oracle::{Model, Oracle};
use ioracle_trace::ReadOptions;
use serde::Serialize;

use crate::shared::learn::{LearnLimits, LearnUntil, LearnedTrace, learn, learn_all};
use crate::shared::numbers::{bytes, counted};
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
pub struct ModelArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Save(Save),
    Show(show::ModelShowArguments),
    Merge(Merge),
}

/// Learn a trace and write the model to a file
#[derive(clap::Args)]
#[command(after_help = "Example:\n  ioracle model save traces/cm1 --rank 0 -o cm1.model")]
struct Save {
    /// Directory of a recorded trace
    trace: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Learn only the threads of this rank (default: those of all ranks)
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Learn only this many operations, of the busiest thread of the rank (default: the first rank)
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Skip bad rows and count them instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Merge what two models have learned
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
pub fn run(arguments: &ModelArguments) -> Result<()> {
    match &arguments.command {
        Command::Save(save) => save.run(),
        Command::Show(show) => show::run(show),
        Command::Merge(merge) => merge.run(),
    }
}

/// What was written. Symbols and grammar are those of the oracle that has seen
/// most operations.
#[derive(Serialize)]
struct Written {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    file: PathBuf,
    bytes: u64,
    roles: usize,
    runs: u32,
    operations: u64,
    symbols: usize,
    grammar_size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
}

impl Save {
    fn run(&self) -> Result<()> {
        let options = ReadOptions { lenient: self.lenient };
        if let Some(operations) = self.after {
            return self.save_stream(options, operations);
        }
        let (trace, model) = learn_all(&self.trace, options, self.rank)?;
        let written = Written { rank: self.rank, ..write(&self.output, model)? };
        let of_rank = self.rank.map_or_else(String::new, |rank| format!(", rank {rank}"));
        self.report(&written, &format!("{}{of_rank}", trace.name()))
    }

    /// A model in the middle of a stream, as it was then.
    fn save_stream(&self, options: ReadOptions, operations: u64) -> Result<()> {
        let extent = LearnLimits {
            rank: self.rank,
            until: LearnUntil::Operations(operations),
            rest: 0,
            level: Level::Bytes,
        };
        let LearnedTrace { trace, stream, other_streams, oracle, .. } =
            learn(&self.trace, options, extent)?;
        let written = Written {
            rank: Some(stream.rank),
            thread: Some(stream.thread),
            ..write(&self.output, oracle.into())?
        };
        let others = match other_streams {
            0 => String::new(),
            others => format!(", thread {}, the busiest of {}", stream.thread, others + 1),
        };
        self.report(&written, &format!("{}, rank {}{others}", trace.name(), stream.rank))
    }

    fn report(&self, written: &Written, source: &str) -> Result<()> {
        if self.json {
            return output::print_json(written);
        }
        output::print_text(&format!(
            "wrote '{}': {}, learned from {} of {source}\n",
            self.output.display(),
            bytes(written.bytes),
            counted(written.operations, "operation"),
        ))
    }
}

impl Merge {
    fn run(&self) -> Result<()> {
        let mut model = models::read(&self.first)?;
        model.merge(&models::read(&self.second)?);
        let written = write(&self.output, model)?;
        if self.json {
            return output::print_json(&written);
        }
        output::print_text(&format!(
            "wrote '{}': {}, {} in {}; the largest has {}, a grammar of {}\n",
            self.output.display(),
            bytes(written.bytes),
            counted(written.operations, "operation"),
            counted(written.roles as u64, "role"),
            counted(written.symbols as u64, "context symbol"),
            counted(written.grammar_size as u64, "symbol")
        ))
    }
}

/// Writes a model and counts what is in it.
fn write(file: &Path, model: Model) -> Result<Written> {
    let largest = model.busiest();
    let largest = model.roles().find(|view| Some(view.number) == largest).map(|view| view.oracle);
    Ok(Written {
        file: file.to_owned(),
        roles: model.roles().count(),
        runs: model.runs(),
        operations: model.operations(),
        symbols: largest.map_or(0, Oracle::symbols),
        grammar_size: largest.map_or(0, |oracle| oracle.grammar().size()),
        rank: None,
        thread: None,
        bytes: models::write(file, &model.save())?,
    })
}
