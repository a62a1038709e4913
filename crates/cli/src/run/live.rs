// SPDX-License-Identifier: MIT OR Apache-2.0

//! `run --live`: the view beside the program, in a process of its own.
//!
//! The view has the terminal, so the program's output goes to a file, whose end the view
//! shows. When the view is closed, by the user or because the program has ended, all of
//! the output is written to the terminal, and more as it comes.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::NamedTempFile;

use crate::shared::output::say;

/// Time between two looks at the view and at the output.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the view has to give the terminal back.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of output that are copied at once.
const CHUNK: usize = 64 * 1024;

/// Where the program's output goes while the view has the terminal.
pub struct LiveOutput {
    file: NamedTempFile,
    /// What the program reads instead of the terminal.
    nothing: File,
}

impl LiveOutput {
    /// An empty file among the temporary ones.
    pub fn create() -> Result<LiveOutput> {
        let named = tempfile::Builder::new().prefix("ioracle-output-").tempfile();
        let file = named.context("could not make a file for the program's output")?;
        let nothing = File::open("/dev/null").context("could not open '/dev/null'")?;
        Ok(LiveOutput { file, nothing })
    }

    /// What the program gets in place of its descriptors that are the terminal.
    pub fn redirects(&self) -> Vec<(BorrowedFd<'_>, i32)> {
        let (file, nothing) = (self.file.as_file().as_fd(), self.nothing.as_fd());
        let all = [
            (io::stdin().is_terminal(), nothing, 0),
            (io::stdout().is_terminal(), file, 1),
            (io::stderr().is_terminal(), file, 2),
        ];
        let taken = all.into_iter().filter(|(is_terminal, ..)| *is_terminal);
        taken.map(|(_, descriptor, number)| (descriptor, number)).collect()
    }

    /// Shows the job in its directory, and then the output, until the program has ended.
    pub fn show(&self, directory: &Path, ended: &AtomicBool) {
        match self.start_view(directory) {
            Ok(view) => wait(view, ended),
            Err(error) => say(format_args!("could not start the live view: {error}")),
        }
        let mut n_copied = 0;
        loop {
            let is_over = ended.load(Ordering::Acquire);
            if copy(self.file.as_file(), &mut n_copied).is_err() || is_over {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn start_view(&self, directory: &Path) -> io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("live").arg(directory).arg("--output").arg(self.file.path());
        command.spawn()
    }
}

/// Waits for the view to be closed; closes it when the program has ended.
fn wait(mut view: Child, ended: &AtomicBool) {
    let mut closing: Option<Instant> = None;
    while let Ok(None) = view.try_wait() {
        match closing {
            None if ended.load(Ordering::Acquire) => {
                let pid = Pid::from_raw(view.id().cast_signed());
                let _ = kill(pid, Signal::SIGTERM);
                closing = Some(Instant::now());
            }
            Some(since) if since.elapsed() > PATIENCE => {
                let _ = view.kill();
            }
            _ => {}
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Writes to the terminal what was added to the output since.
fn copy(file: &File, n_copied: &mut u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = file.read_at(&mut chunk, *n_copied)?;
        if n == 0 {
            return Ok(());
        }
        *n_copied += n as u64;
        if io::stdout().is_terminal() {
            io::stdout().write_all(&chunk[..n]).and_then(|()| io::stdout().flush())?;
        } else {
            io::stderr().write_all(&chunk[..n])?;
        }
    }
}
