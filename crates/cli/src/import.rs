// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle import`: a trace in ioracle's own form from one in another.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use ioracle_trace::{Options, Times, Trace, import};

use crate::shared::converted;
use crate::shared::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  ioracle import csv tables -o trace               a directory with events.csv, stacks.csv, files.csv
  ioracle import csv tables -o trace --times 1us   smaller, with times to the microsecond

The trace is read like any other one: ioracle eval trace";

/// Make a trace of what another tool has recorded
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What it is now
    #[arg(value_name = "FORMAT", value_enum)]
    format: Format,
    /// The directory to read
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// The directory to write, which must not hold a trace
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// How exactly times are kept: exact, 1us or 1%
    #[arg(long, value_name = "PRECISION", default_value_t)]
    times: Times,
    /// Skip bad rows and count them instead of ending there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What can be imported.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Tables of text, see docs/csv-traces.md
    Csv,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<()> {
    let Format::Csv = arguments.format;
    let trace = Trace::open(&arguments.source, Options { lenient: arguments.lenient })?;
    if !trace.is_csv() {
        bail!(
            "'{}' is a trace in ioracle's own form already; read it as it is, or name a directory with events.csv",
            arguments.source.display()
        );
    }
    let progress = Progress::new();
    progress.expect(trace.meta().events.unwrap_or(0));
    let written = import(&trace, &arguments.output, arguments.times, &mut |n| progress.advance(n));
    progress.finish();
    converted::tell(&arguments.source, &written?, arguments.json)
}
