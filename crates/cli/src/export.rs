// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle export`: a trace in a form that other tools read.

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use ioracle_trace::{Encoding, Options, Trace, export_csv};

use crate::shared::converted;
use crate::shared::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  ioracle export trace --to csv                      tables of text in ./trace-csv
  ioracle export trace --to csv -o tables --plain    not compressed
  ioracle export trace --to csv -o tables --rank 3   one rank of it

Tables are read again like any other trace, or become one: ioracle import csv tables -o trace";

/// Write a trace in another form
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The directory of the trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The form to write
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Format,
    /// Where to write it (default: the name of the trace and of the form, here)
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only this rank (default: all of them)
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Do not compress what is written
    #[arg(long)]
    plain: bool,
    /// Skip and count what cannot be read instead of ending there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What can be written.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Tables of text, see docs/csv-traces.md
    Csv,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<()> {
    let Format::Csv = arguments.to;
    let trace = Trace::open(&arguments.trace, Options { lenient: arguments.lenient })?;
    let default = || PathBuf::from(format!("{}-csv", trace.name()));
    let output = arguments.output.clone().unwrap_or_else(default);
    let encoding = if arguments.plain { Encoding::Plain } else { Encoding::Zstd };
    let progress = Progress::new();
    progress.expect(trace.meta().events.unwrap_or(0));
    let advance = &mut |n| progress.advance(n);
    let written = export_csv(&trace, &output, arguments.rank, encoding, advance);
    progress.finish();
    converted::tell(&arguments.trace, &written?, arguments.json)
}
