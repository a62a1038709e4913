// SPDX-License-Identifier: MIT OR Apache-2.0

//! `run --live`: the view beside the program, in a process of its own.
//!
//! The view has the terminal, so the program gets another one, whose output goes to a
//! file that the view shows the end of. When the view is closed, by the user or because
//! the program has ended, all of the output is written to the terminal, and more as it
//! comes. A file instead of a terminal would count as the program's data in the
//! summary.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

use crate::live;
use crate::shared::output::say;

/// Time between two looks at the view and at the output.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the view may take to restore the terminal.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of output that are copied at once.
const CHUNK: usize = 64 * 1024;

/// Where the program's output goes while the view has the terminal.
pub struct LiveOutput {
    /// Without a name, so that nothing is left of it whichever process is killed.
    file: File,
    /// The program's terminal, and our end of it.
    slave: OwnedFd,
    master: File,
    /// The terminal that the view has.
    tty: File,
    /// What the program reads instead of it.
    nothing: File,
}

impl LiveOutput {
    /// A new terminal, and an empty file among the temporary ones.
    pub fn create() -> Result<LiveOutput> {
        let file = tempfile::tempfile();
        let file = file.context("could not make a file for the program's output")?;
        let tty = File::options().read(true).write(true).open("/dev/tty");
        let tty = tty.context("could not open the terminal")?;
        let nothing = File::open("/dev/null").context("could not open '/dev/null'")?;
        let (master, slave) = new_terminal(&tty).context("could not make a terminal")?;
        Ok(LiveOutput { file, slave, master, tty, nothing })
    }

    /// What the program gets in place of its descriptors that are the terminal.
    pub fn redirects(&self) -> Vec<(BorrowedFd<'_>, i32)> {
        let all = [
            (io::stdin().is_terminal(), self.nothing.as_fd(), 0),
            (io::stdout().is_terminal(), self.slave.as_fd(), 1),
            (io::stderr().is_terminal(), self.slave.as_fd(), 2),
        ];
        let taken = all.into_iter().filter(|(is_terminal, ..)| *is_terminal);
        taken.map(|(_, descriptor, number)| (descriptor, number)).collect()
    }

    /// Shows the job in its directory, and then the output, until the program has ended.
    pub fn show(&self, directory: &Path, ended: &AtomicBool) {
        thread::scope(|scope| {
            let taking = scope.spawn(|| self.take_output(ended));
            let modes = tcgetattr(&self.tty).ok();
            match self.start_view(directory) {
                Ok(view) => wait(view, (&self.tty, modes), ended),
                Err(error) => say(format_args!("could not start the live view: {error}")),
            }
            let mut n_copied = 0;
            loop {
                let is_over = taking.is_finished();
                if copy(&self.file, &mut n_copied).is_err() || is_over {
                    return;
                }
                thread::sleep(LOOK_EVERY);
            }
        });
    }

    /// Moves what the program prints to the file, until it has ended. Processes that it
    /// leaves behind may go on printing; they are not waited for. If the file cannot grow,
    /// the rest is dropped, so that the program is not held up.
    fn take_output(&self, ended: &AtomicBool) {
        let mut chunk = vec![0; CHUNK];
        let (mut ended_at, mut lost) = (None, None);
        loop {
            if ended.load(Ordering::Acquire) {
                ended_at.get_or_insert_with(Instant::now);
            }
            let is_over = ended_at.is_some_and(|at: Instant| at.elapsed() > PATIENCE);
            match (&self.master).read(&mut chunk) {
                Ok(n @ 1..) if !is_over => {
                    lost = lost.or((&self.file).write_all(&chunk[..n]).err());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && ended_at.is_none() => {
                    let mut awaited = [PollFd::new(&self.master, PollFlags::IN)];
                    let at_most = Timespec::try_from(LOOK_EVERY).ok();
                    let _ = poll(&mut awaited, at_most.as_ref());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        if let Some(error) = lost {
            say(format_args!("not all of the program's output could be stored: {error}"));
        }
    }

    fn start_view(&self, directory: &Path) -> io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("live").arg(directory).arg("--output").stdin(self.file.try_clone()?);
        command.spawn()
    }
}

/// A terminal of the size of ours, which leaves the ends of lines as they are: both ends
/// of it, ours not waiting for anything.
fn new_terminal(ours: &File) -> io::Result<(File, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let no_tty = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(&name, no_tty, rustix::fs::Mode::empty())?;
    let mut modes = tcgetattr(&slave)?;
    modes.output_modes.remove(OutputModes::OPOST);
    tcsetattr(&slave, OptionalActions::Now, &modes)?;
    if let Ok(size) = tcgetwinsize(ours) {
        tcsetwinsize(&slave, size)?;
    }
    fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
    Ok((File::from(master), slave))
}

/// Waits for the view to be closed; closes it when the program has ended.
fn wait(mut view: Child, (tty, modes): (&File, Option<Termios>), ended: &AtomicBool) {
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
        thread::sleep(LOOK_EVERY);
    }
    // If it was killed, it has not restored the terminal.
    if let (Ok(Some(status)), Some(modes)) = (view.try_wait(), modes)
        && status.code().is_none()
    {
        live::leave(tty);
        let _ = tcsetattr(tty, OptionalActions::Now, &modes);
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
