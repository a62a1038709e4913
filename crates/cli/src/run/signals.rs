// SPDX-License-Identifier: MIT OR Apache-2.0

//! The signals that reach `ioracle run`, and which of them the program gets.
//!
//! They are blocked and read from a signalfd, so that no handler runs and every
//! disposition stays as it was inherited: what `nohup` ignores is ignored in the
//! program, too. The siginfo says who sent a signal. What the kernel sends
//! because of the terminal (ctrl-C, ctrl-\, ctrl-Z, a changed window) goes to
//! the whole process group, so the program has it already; what a process sent
//! to us alone is passed on. A signal that was sent to the group by `kill`
//! cannot be distinguished from one that was sent to us, and reaches the program twice.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use rustix::fs::OFlags;

/// Generations from a sender up to the program.
const MAX_GENERATIONS: usize = 64;

/// Faults of our own code; blocking them would end the process without a message.
const FAULTS: [Signal; 7] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGABRT,
    Signal::SIGSYS,
];

/// Signals by which people and batch systems ask a program to end.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// All signals that are not faults, taken over from their default actions.
pub struct Signals {
    fd: SignalFd,
    inherited: SigSet,
}

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub signal: Signal,
    pub sender: Sender,
}

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kernel, mostly because of the terminal.
    Kernel,
    Process(Pid),
}

impl Signals {
    /// Blocks the signals. Threads begun later inherit that, so this comes first.
    pub fn take_over() -> io::Result<Signals> {
        if is_ignored(Signal::SIGCHLD) {
            // Otherwise the kernel would discard the program's exit code.
            signal_hook::flag::register(Signal::SIGCHLD as i32, Arc::new(AtomicBool::new(false)))?;
        }
        let mut taken = SigSet::all();
        FAULTS.into_iter().for_each(|fault| taken.remove(fault));
        let inherited = SigSet::thread_get_mask()?;
        taken.thread_block()?;
        let fd = SignalFd::with_flags(&taken, SfdFlags::SFD_CLOEXEC)?;
        Ok(Signals { fd, inherited })
    }

    /// The mask that the program starts with.
    pub fn inherited_mask(&self) -> &SigSet {
        &self.inherited
    }

    /// Whether a signal has come that asks us to end. Does not wait, and takes signals
    /// away, so call it only after the program has ended.
    pub fn ask_to_end(&self) -> bool {
        if rustix::fs::fcntl_setfl(&self.fd, OFlags::NONBLOCK).is_err() {
            return false;
        }
        while let Ok(Some(info)) = self.fd.read_signal() {
            let signal = Signal::try_from(info.ssi_signo as i32);
            if signal.is_ok_and(|signal| ENDING.contains(&signal)) {
                return true;
            }
        }
        false
    }

    /// Waits for the next signal. Real-time signals do not end us, and are not passed
    /// on.
    pub fn next(&self) -> io::Result<Arrived> {
        loop {
            match self.fd.read_signal() {
                Ok(Some(info)) => {
                    let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
                    let sender = match info.ssi_code {
                        1.. => Sender::Kernel,
                        _ => Sender::Process(Pid::from_raw(info.ssi_pid as i32)),
                    };
                    return Ok(Arrived { signal, sender });
                }
                Ok(None) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What is known about the program when a signal comes.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    pub program: Pid,
    pub is_stopped: bool,
    /// Whether we lead the session: then a hang-up of the terminal comes to us
    /// alone.
    pub leads_session: bool,
}

impl Arrived {
    /// Whether the program would miss it if it were not passed on.
    pub fn is_for(&self, receiver: &Receiver) -> bool {
        match (self.signal, self.sender) {
            // The shell continues the whole group; then nothing is stopped.
            (Signal::SIGCONT, _) => receiver.is_stopped,
            (Signal::SIGHUP, Sender::Kernel) => receiver.leads_session,
            (_, Sender::Kernel) => false,
            // A program that signals its own group means itself and us.
            (_, Sender::Process(sender)) => !descends_from(sender, receiver.program),
        }
    }
}

/// Whether a process is the program or was begun by it.
fn descends_from(process: Pid, program: Pid) -> bool {
    let mut process = process;
    for _ in 0..MAX_GENERATIONS {
        if process == program {
            return true;
        }
        match parent_of(process) {
            Some(parent) if parent.as_raw() > 1 => process = parent,
            _ => return false,
        }
    }
    false
}

fn parent_of(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything, also parentheses.
    let after_name = stat.rsplit_once(") ")?.1;
    after_name.split(' ').nth(1)?.parse().ok().map(Pid::from_raw)
}

/// Whether a signal is ignored by this process.
fn is_ignored(signal: Signal) -> bool {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return false };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(signal: Signal, sender: Sender, passed_on: bool) {
        let program = Pid::from_raw(i32::MAX);
        let receiver = Receiver { program, is_stopped: false, leads_session: false };
        let arrived = Arrived { signal, sender };
        assert_eq!(arrived.is_for(&receiver), passed_on, "{arrived:?}");
    }

    #[test]
    fn only_some_signals_ask_to_end() {
        let signals = Signals::take_over().unwrap();
        assert!(!signals.ask_to_end());
        // To this thread alone, where it waits to be read.
        nix::sys::signal::raise(Signal::SIGWINCH).unwrap();
        assert!(!signals.ask_to_end());
        nix::sys::signal::raise(Signal::SIGTERM).unwrap();
        assert!(signals.ask_to_end());
        assert!(!signals.ask_to_end());
    }

    #[test]
    fn what_the_terminal_sends_is_not_passed_on() {
        check(Signal::SIGINT, Sender::Kernel, false);
        check(Signal::SIGTSTP, Sender::Kernel, false);
        check(Signal::SIGWINCH, Sender::Kernel, false);
    }

    #[test]
    fn what_another_process_sends_is_passed_on() {
        let other = Sender::Process(Pid::parent());
        check(Signal::SIGTERM, other, true);
        check(Signal::SIGUSR1, other, true);
        check(Signal::SIGINT, other, true);
        // A sender in another container has no process number here.
        check(Signal::SIGTERM, Sender::Process(Pid::from_raw(0)), true);
    }

    #[test]
    fn what_the_program_itself_sends_to_its_group_is_not_passed_back() {
        check(Signal::SIGTERM, Sender::Process(Pid::from_raw(i32::MAX)), false);
        let program = Pid::parent();
        let receiver = Receiver { program, is_stopped: false, leads_session: false };
        let sender = Sender::Process(Pid::this());
        assert!(!Arrived { signal: Signal::SIGUSR1, sender }.is_for(&receiver));
    }

    #[test]
    fn a_stopped_program_is_continued() {
        let receiver = Receiver { program: Pid::this(), is_stopped: true, leads_session: false };
        let sender = Sender::Process(Pid::parent());
        assert!(Arrived { signal: Signal::SIGCONT, sender }.is_for(&receiver));
    }

    #[test]
    fn a_hang_up_reaches_the_program_of_a_session_leader() {
        let receiver = Receiver { program: Pid::this(), is_stopped: false, leads_session: true };
        let arrived = Arrived { signal: Signal::SIGHUP, sender: Sender::Kernel };
        assert!(arrived.is_for(&receiver));
        assert!(!arrived.is_for(&Receiver { leads_session: false, ..receiver }));
    }
}
