// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether preloading works: a small program is run with the library and must
//! be seen, and its I/O too.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_events::Event;
use ioracle_spool::settings;
use ioracle_trace::{Follower, JobSettings, Observer, ProcessNumber};

use super::finding::Diagnosis;
use crate::shared::failure::sentence;
use crate::shared::library;
use crate::shared::numbers::seconds;

/// Runs with and without the library that are compared.
const ROUNDS: usize = 15;
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// What the library may add to the shortest program.
const MUCH: Duration = Duration::from_millis(1);

/// Findings on the library.
pub fn examine(base: &Path) -> Vec<Diagnosis> {
    let library = match library::find() {
        Ok(library) => library,
        Err(error) => {
            return vec![Diagnosis::problem("library", format_args!("{}", sentence(&error)))];
        }
    };
    let found = Diagnosis::ok("library", format_args!("'{}'", library.display()));
    let tried = match try_out(base, &library) {
        Ok(trial) => trial.judge(),
        Err(error) => Diagnosis::problem("preloading", format_args!("{}", sentence(&error))),
    };
    vec![found, tried]
}

/// What trying it out has shown.
struct Trial {
    /// Programs that loaded the library.
    processes: u64,
    events: u64,
    /// Time that the library added to a program that does nothing.
    added: Duration,
}

impl Trial {
    fn judge(&self) -> Diagnosis {
        if self.processes == 0 {
            return Diagnosis::problem(
                "preloading",
                "the library was not loaded into 'cat'; look for a message of the dynamic linker \
                 above, or for a loader that ignores LD_PRELOAD",
            );
        }
        if self.events == 0 {
            return Diagnosis::problem(
                "preloading",
                "the library was loaded into 'cat' and recorded nothing; look for its warning \
                 above, and check limits and the spool",
            );
        }
        let added = seconds(Some(self.added.as_secs_f64()));
        let found = format!("works; it adds {added} to a program that does nothing");
        if self.added <= MUCH {
            return Diagnosis::ok("preloading", found);
        }
        Diagnosis::warning(
            "preloading",
            format_args!("{found}, which is unusually high; is the node busy?"),
        )
    }
}

/// Only the follower's own counts are of interest.
struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: ProcessNumber, _: &Event) {}
}

fn try_out(base: &Path, library: &Path) -> Result<Trial> {
    let mut follower =
        Follower::create(base, JobSettings { limit_bytes: LIMIT_BYTES, wait_ms: 0 })?;
    let tried = with_job(&mut follower, library);
    follower.remove()?;
    tried
}

fn with_job(follower: &mut Follower, library: &Path) -> Result<Trial> {
    let job = follower.directory().to_owned();
    // A file with something in it that is there on every machine.
    let read = run_watched(Command::new("cat").arg(std::env::current_exe()?), library, &job)?;
    anyhow::ensure!(
        read,
        "'cat' failed with the library; run it by hand with LD_PRELOAD={}",
        library.display()
    );
    let mut added = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        run_watched(&mut Command::new("true"), library, &job)?;
        let watched = begin.elapsed();
        run(&mut Command::new("true"))?;
        added.push((2 * watched).saturating_sub(begin.elapsed()));
    }
    added.sort();
    follower.close();
    follower.finish(&mut Nobody)?;
    let totals = follower.totals();
    let (processes, events) = (totals.spool.n_processes, totals.n_events);
    Ok(Trial { processes, events, added: added[ROUNDS / 2] })
}

fn run_watched(command: &mut Command, library: &Path, job: &Path) -> Result<bool> {
    run(command.env("LD_PRELOAD", library).env(settings::SPOOL, job))
}

fn run(command: &mut Command) -> Result<bool> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let name = command.get_program().display().to_string();
    Ok(status
        .with_context(|| format!("could not start '{name}', which is needed for the check"))?
        .success())
}
