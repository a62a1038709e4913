// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle doctor`: whether capture works here, and what could be better.

mod finding;
mod libraries;
mod limits;
mod machine;
mod place;
mod preload;
mod program;
mod storage;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use self::finding::{Diagnosis, DiagnosisLevel, findings_as_text, findings_below_each_other};
use crate::shared::table::Colours;
use crate::shared::{jobs, output};

const EXAMPLES: &str = "\
Examples:
  ioracle doctor              one line for each finding, and what to do
  ioracle doctor ./app        whether this program can be watched, then the same
  ioracle doctor /scratch     how fast this directory's storage is, and whether prefetching helps
  ioracle doctor --json       the same for scripts

Exit codes: 0 capture works here, 1 it does not, 2 wrong use.";

/// Check whether ioracle works on this machine
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArguments {
    /// A program to check, as you would pass it to 'ioracle run', or a directory whose storage to
    /// measure
    #[arg(value_name = "PROGRAM|DIR")]
    program: Option<OsString>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand; the exit code says whether capture works.
pub fn run(arguments: &DoctorArguments) -> Result<ExitCode> {
    let program = arguments.program.as_deref();
    if let Some(dead) = program.and_then(|path| storage::without_answer(Path::new(path))) {
        return report(arguments, &[dead], |findings| {
            findings_below_each_other(findings, Colours::for_stdout())
        });
    }
    if let Some(directory) = program.map(Path::new).filter(|path| path.is_dir()) {
        return report(arguments, &storage::examine(directory), |findings| {
            findings_below_each_other(findings, Colours::for_stdout())
        });
    }
    let of_program = program.into_iter().flat_map(program::examine);
    let findings: Vec<Diagnosis> = of_program.chain(examine()).collect();
    report(arguments, &findings, |findings| {
        findings_as_text(findings, program, Colours::for_stdout())
    })
}

/// Prints findings; the exit code says whether there is a problem.
fn report(
    arguments: &DoctorArguments,
    findings: &[Diagnosis],
    as_text: impl FnOnce(&[Diagnosis]) -> String,
) -> Result<ExitCode> {
    if arguments.json {
        output::print_json(&findings)?;
    } else {
        output::print_text(&as_text(findings))?;
    }
    let works = findings.iter().all(|finding| finding.level != DiagnosisLevel::Problem);
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn examine() -> Vec<Diagnosis> {
    let mut findings = machine::examine();
    match jobs::base(std::env::var_os(ioracle_spool::settings::DIR).as_deref().map(AsRef::as_ref)) {
        Ok(base) => {
            findings.extend(place::examine(&base));
            findings.extend(preload::examine(&base));
        }
        Err(error) => findings.push(Diagnosis::problem("spool", error)),
    }
    findings.extend(libraries::examine());
    findings.extend(limits::examine());
    findings.push(Diagnosis::note(
        "not captured",
        "static and musl programs, set-user-ID programs, programs of another architecture or \
         word size, system calls made without libc; requests to io_uring are only counted",
    ));
    findings
}
