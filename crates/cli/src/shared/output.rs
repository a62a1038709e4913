// SPDX-License-Identifier: MIT OR Apache-2.0

//! Standard output.

use std::io::{self, BufWriter, Write};

use anyhow::Result;
use serde::Serialize;

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
