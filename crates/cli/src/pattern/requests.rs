// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern requests`: the requests of a server from its trace, as a
//! table that the other subcommands read.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use ioracle_pattern::{REQUESTS_HEADER, RequestKind};
use serde_json::json;

use crate::pattern::source::requests_of_trace;
use crate::shared::numbers::counted;
use crate::shared::output;

const EXAMPLES: &str = "\
Examples:
  ioracle run --record trace -- glusterfsd --no-daemon …
  ioracle pattern requests trace --under /bricks/b1 -o b1.csv.zst";

/// Write the requests of a server from a trace of its process
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PatternRequestsArguments {
    /// Directory of the recorded trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The table to write, compressed if its name ends in .zst
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The process
    #[arg(long, value_name = "R", default_value_t = 0)]
    rank: u32,
    /// Only requests to files below this directory, as the trace names it
    #[arg(long, value_name = "DIR")]
    under: Option<String>,
    /// Write the paths of files instead of numbers
    #[arg(long)]
    paths: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &PatternRequestsArguments) -> Result<()> {
    output::check_place(&arguments.output)?;
    let requests = requests_of_trace(&arguments.trace, arguments.rank, arguments.under.as_deref())?;
    let mut table = format!("{REQUESTS_HEADER}\n");
    for (request, path) in &requests {
        let op = if request.kind == RequestKind::Read { 'r' } else { 'w' };
        let number = request.file.to_string();
        let file = if arguments.paths { path } else { &number };
        // Writing to a string cannot fail.
        let _ =
            writeln!(table, "{},{file},{op},{},{}", request.time_ns, request.offset, request.size);
    }
    let bytes = match arguments.output.extension().is_some_and(|extension| extension == "zst") {
        true => zstd::encode_all(table.as_bytes(), 3).context("could not compress the table")?,
        false => table.into_bytes(),
    };
    output::write_file(&arguments.output, &bytes)?;
    let n_requests = requests.len() as u64;
    if arguments.json {
        let path = arguments.output.to_string_lossy();
        return output::print_json(&json!({ "requests": n_requests, "file": path }));
    }
    let place = arguments.output.display();
    output::print_text(&format!("{place}: {}\n", counted(n_requests, "request")))
}
