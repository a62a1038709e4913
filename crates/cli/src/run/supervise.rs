// SPDX-License-Identifier: MIT OR Apache-2.0

//! Stands between the program and the caller of `ioracle run`: waits for the program,
//! passes signals on, stops when it stops, and ends the way it ended.

use std::io;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getpid, getsid};
use rustix::process::{WaitOptions, waitpid};

use super::signals::{Receiver, Signals};
use crate::shared::summary::Ending;

impl Ending {
    /// The exit code that a shell shows for it.
    pub fn shell_code(self) -> u8 {
        match self {
            Ending::Exited(code) => code as u8,
            Ending::Killed(signal) => 128u8.wrapping_add(signal as u8),
        }
    }

    /// Ends this process the same way, so that its caller sees what it would have seen
    /// without us. Returns if that is impossible, for example for real-time signals.
    pub fn imitate(self) {
        if let Ending::Killed(signal) = self {
            // One core dump, the program's, is enough.
            let _ = nix::sys::prctl::set_dumpable(false);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Waits until the program has ended.
pub fn supervise(program: Pid, signals: &Signals) -> io::Result<Ending> {
    let leads_session = getsid(None).is_ok_and(|leader| leader == getpid());
    let mut receiver = Receiver { program, is_stopped: false, leads_session };
    loop {
        let arrived = signals.next()?;
        if arrived.signal == Signal::SIGCHLD {
            if let Some(ending) = take_changes(&mut receiver)? {
                return Ok(ending);
            }
        } else if arrived.is_for(&receiver) {
            // After its end, before we notice it, there is no process to signal.
            let _ = kill(program, arrived.signal);
        }
    }
}

/// Takes what has happened to the program: it may have stopped, gone on and
/// ended since we last looked, and one signal stands for all of it.
fn take_changes(receiver: &mut Receiver) -> io::Result<Option<Ending>> {
    let pid = rustix::process::Pid::from_raw(receiver.program.as_raw());
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    while let Some((_, status)) = waitpid(pid, options)? {
        if let Some(code) = status.exit_status() {
            return Ok(Some(Ending::Exited(code)));
        }
        if let Some(signal) = status.terminating_signal() {
            return Ok(Some(Ending::Killed(signal)));
        }
        if let Some(signal) = status.stopping_signal() {
            receiver.is_stopped = true;
            stop_by(signal);
        } else {
            receiver.is_stopped = false;
        }
    }
    Ok(None)
}

/// Stops this process until it is continued, so that the shell that waits for
/// it sees a stopped job.
fn stop_by(signal: i32) {
    let signal = Signal::try_from(signal).unwrap_or(Signal::SIGSTOP);
    let mut one = SigSet::empty();
    one.add(signal);
    // Sent to the process before it is let through: the terminal may have sent it to
    // us, too, and then one is already pending and they merge.
    let _ = kill(getpid(), signal);
    let _ = one.thread_unblock();
    let _ = one.thread_block();
}
