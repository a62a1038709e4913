// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run` below a shell on a terminal: ctrl-C, ctrl-Z, fg, background.

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// An interactive shell on a terminal of its own.
struct Shell {
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    child: Child,
}

impl Shell {
    fn new() -> Shell {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave: OwnedFd = File::options().read(true).write(true).open(name).unwrap().into();
        let ioracle = support::command();
        // Who ignores a signal, as a background job does, hands that on.
        let mut command = Command::new("env");
        command
            .args(["--default-signal", "setsid", "--ctty", "--wait", "sh", "-i"])
            .env("PS1", "")
            .env("NO_COLOR", "1");
        command.env("IORACLE", ioracle.get_program());
        command.envs(ioracle.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(slave.try_clone().unwrap());
        command.stdout(Stdio::from(slave.try_clone().unwrap())).stderr(Stdio::from(slave));
        let child = command.spawn().unwrap();
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, screen) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Shell { keyboard, screen, seen: String::new(), child }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows a text, after what was awaited before.
    fn shows(&mut self, text: &str) {
        assert!(self.shows_within(text, Duration::from_secs(20)), "no '{text}' in: {}", self.seen);
    }

    fn shows_within(&mut self, text: &str, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(place) = self.seen.find(text) {
                self.seen.drain(..place + text.len());
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => return false,
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Counts interrupts for a while after the first, so that a second one shows.
const COUNTS: &str = "'n=0; trap \"n=\\$((n+1))\" INT; echo re''ady; \
                      while [ $n = 0 ]; do sleep 0.1; done; sleep 0.3; echo $n interr''upts; exit 9'";

#[test]
fn ctrl_c_reaches_the_program_once_and_the_summary_is_printed() {
    let mut shell = Shell::new();
    shell.press(&format!("$IORACLE run -- sh -c {COUNTS}; echo code=$?\n"));
    shell.shows("ready");
    shell.press("\x03");
    shell.shows("1 interrupts");
    shell.shows("ended with exit code 9");
    shell.shows("code=9");
}

#[test]
fn ctrl_c_ends_what_does_not_mind_it() {
    let mut shell = Shell::new();
    shell.press("$IORACLE run -- sh -c 'echo re''ady; exec sleep 60'; echo code=$?\n");
    shell.shows("ready");
    shell.press("\x03");
    shell.shows("was killed by SIGINT");
}

#[test]
fn ctrl_z_stops_both_and_fg_continues_both() {
    let mut shell = Shell::new();
    shell.press("$IORACLE run -- sh -c 'echo re''ady; read line; echo got $line; exit 4'\n");
    shell.shows("ready");
    shell.press("\x1a");
    shell.shows("Stopped");
    shell.press("fg\n");
    shell.shows("run");
    shell.press("word\n");
    shell.shows("got word");
    shell.shows("ended with exit code 4");
    shell.press("echo code=$?\n");
    shell.shows("code=4");
}

/// The kernel sends SIGTTIN to the whole group; we once stopped twice for it,
/// and `fg` continued only the first time.
#[test]
fn a_program_in_the_background_that_reads_stops_once() {
    let mut shell = Shell::new();
    shell.press("$IORACLE run -- sh -c 'read line; echo got $line' &\n");
    let stopped = (0..40).any(|_| {
        shell.press("jobs\n");
        shell.shows_within("Stopped", Duration::from_millis(500))
    });
    assert!(stopped, "{}", shell.seen);
    shell.press("fg\n");
    shell.shows("run");
    shell.press("word\n");
    shell.shows("got word");
    shell.shows("ran for");
}
