// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs commands of a tune file, each with a time limit.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Between two looks at a running command.
const PAUSE: Duration = Duration::from_millis(10);
/// More than this of its output is not looked at.
const MAX_OUTPUT: u64 = 4096;

/// Runs a command by the shell and gives what it printed. One that fails, or
/// runs longer than `limit`, gives a sentence instead; then it and all that it
/// has started are killed. So they are when `ended` is set.
pub fn run(
    command: &str,
    option: &str,
    limit: Duration,
    ended: &AtomicBool,
) -> Result<String, String> {
    // A file: a pipe would be held open by whatever the command leaves running.
    let mut output = tempfile::tempfile().map_err(|error| format!("could not run it: {error}"))?;
    let child =
        start(command, option, &output).map_err(|error| format!("could not start it: {error}"))?;
    let status = wait(child, limit, ended)?;
    if !status.success() {
        return Err(format!("it failed with {status}"));
    }
    let mut text = Vec::new();
    let read = output.rewind().and_then(|()| output.take(MAX_OUTPUT).read_to_end(&mut text));
    read.map_err(|error| format!("its output could not be read: {error}"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn start(command: &str, option: &str, output: &File) -> std::io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", command])
        .env("IORACLE_OPTION", option)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .process_group(0)
        .spawn()
}

fn wait(mut child: Child, limit: Duration, ended: &AtomicBool) -> Result<ExitStatus, String> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if started.elapsed() < limit && !ended.load(Ordering::Acquire) => {
                thread::sleep(PAUSE);
            }
            Ok(None) => {
                let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
                let _ = child.wait();
                return Err(format!(
                    "it did not end within {} s and was killed",
                    limit.as_secs_f64()
                ));
            }
            Err(error) => return Err(format!("it could not be waited for: {error}")),
        }
    }
}

/// The number that a command printed.
pub fn number(text: &str) -> Result<f64, String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    match first.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("it printed '{}', which is no number", first.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_for(command: &str, limit_ms: u64) -> Result<String, String> {
        run(command, "8", Duration::from_millis(limit_ms), &AtomicBool::new(false))
    }

    #[test]
    fn a_command_is_told_its_option() {
        assert_eq!(run_for("echo got $IORACLE_OPTION", 20_000), Ok("got 8\n".to_owned()));
    }

    #[test]
    fn a_command_that_fails_hangs_or_is_not_there_is_reported() {
        assert!(run_for("exit 3", 20_000).unwrap_err().contains("3"));
        assert!(run_for("/no/such/command", 20_000).unwrap_err().contains("127"));
        let started = Instant::now();
        // What it has started is killed, too, or this would wait for it.
        assert!(run_for("sleep 100 & sleep 100", 100).unwrap_err().contains("killed"));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn only_finite_numbers_are_numbers() {
        assert_eq!(number(" 12.5 MB\n"), Ok(12.5));
        for text in ["", "fast", "nan", "inf", "-"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
