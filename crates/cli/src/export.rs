// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle export`: a trace in a form that other tools read.

use std::path::PathBuf;

use anyhow::Result;
use ioracle_trace::{Encoding, ReadOptions, export_csv};

use crate::shared::converted::{self, TableFormat};
use crate::shared::failure::open_trace;
use crate::shared::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  ioracle export trace --to csv                      CSV tables in ./trace-csv
  ioracle export trace --to csv -o tables --plain    uncompressed
  ioracle export trace --to csv -o tables --rank 3   one rank only

All commands read these tables like any other trace; 'ioracle import csv' converts them back.";

/// Convert a trace to another format
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArguments {
    /// The directory of the trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: TableFormat,
    /// Where to write it (default: TRACE-FORMAT in the current directory)
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only this rank (default: all of them)
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Do not compress the output
    #[arg(long)]
    plain: bool,
    /// Skip and count what cannot be read instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &ExportArguments) -> Result<()> {
    let TableFormat::Csv = arguments.to;
    let trace = open_trace(&arguments.trace, ReadOptions { lenient: arguments.lenient })?;
    let default = || PathBuf::from(format!("{}-csv", trace.name()));
    let output = arguments.output.clone().unwrap_or_else(default);
    let encoding = if arguments.plain { Encoding::Plain } else { Encoding::Zstd };
    let progress = Progress::new();
    progress.expect(trace.meta().events.unwrap_or(0));
    let advance = &mut |n| progress.advance(n);
    let written = export_csv(&trace, &output, arguments.rank, encoding, advance);
    progress.finish();
    converted::report(&arguments.trace, &written?, arguments.json)
}
