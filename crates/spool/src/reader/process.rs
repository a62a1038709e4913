// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a thread or process still exists, according to `/proc`.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

/// How far clocks of the kernel may be apart.
const SLACK_NS: u64 = 1_000_000_000;

/// Whether the thread that began something at `begin_ns` (CLOCK_MONOTONIC) is
/// known to be gone. Where `/proc` cannot be asked, it is not.
pub(super) fn thread_is_gone(pid: u32, tid: u32, begin_ns: u64) -> bool {
    let mut text = [0; 1024];
    match read(&format!("/proc/{pid}/task/{tid}/stat"), &mut text) {
        Ok(length) => match parse(&text[..length]) {
            // Another thread may have been given the number.
            Some((state, start_ns)) => {
                matches!(state, b'Z' | b'X') || start_ns > begin_ns.saturating_add(SLACK_NS)
            }
            None => false,
        },
        // A process that ends between opening and reading gives the second.
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => read("/proc/self/stat", &mut text).is_ok(),
            _ => false,
        },
    }
}

/// Whether a thread of this number exists, at a small part of the cost; None if the
/// kernel does not say. It may have ended without anybody having waited for it, or be
/// another one.
pub(super) fn thread_is_there(pid: u32, tid: u32) -> Option<bool> {
    // SAFETY: signal 0 only asks.
    match unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) } {
        0 => Some(true),
        _ => (io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)).then_some(false),
    }
}

/// Whether the process that did something at `when_ns` (CLOCK_MONOTONIC) is known to be
/// gone and reaped.
pub(super) fn process_is_gone(pid: u32, when_ns: u64) -> bool {
    let mut text = [0; 1024];
    match read(&format!("/proc/{pid}/stat"), &mut text) {
        Ok(length) => parse(&text[..length])
            .is_some_and(|(_, start_ns)| start_ns > when_ns.saturating_add(SLACK_NS)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => read("/proc/self/stat", &mut text).is_ok(),
            _ => false,
        },
    }
}

/// The PID namespace of this process, as the number of its file.
pub(super) fn pid_namespace() -> Option<u64> {
    std::fs::metadata("/proc/self/ns/pid").ok().map(|metadata| metadata.ino())
}

/// Whether a process of this user exists.
pub(super) fn process_is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    libc::pid_t::try_from(pid).is_ok_and(|pid| pid > 0 && unsafe { libc::kill(pid, 0) } == 0)
}

fn read(path: &str, text: &mut [u8]) -> io::Result<usize> {
    File::open(path)?.read(text)
}

/// State and CLOCK_MONOTONIC of the start of a thread.
fn parse(stat: &[u8]) -> Option<(u8, u64)> {
    // The name stands in parentheses and may hold anything.
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let start_ticks: u64 = fields.nth(18)?.parse().ok()?;
    // SAFETY: it only answers.
    let ticks_per_s = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    let start_ns = u128::from(start_ticks) * 1_000_000_000 / u128::from(ticks_per_s.max(1));
    // The start counts time asleep, CLOCK_MONOTONIC does not.
    let asleep_ns =
        clock_ns(libc::CLOCK_BOOTTIME)?.saturating_sub(clock_ns(libc::CLOCK_MONOTONIC)?);
    Some((state, u64::try_from(start_ns).ok()?.saturating_sub(asleep_ns)))
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to memory of ours.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_thread_is_there_and_one_that_began_before_it_is_gone() {
        let pid = std::process::id();
        let now_ns = clock_ns(libc::CLOCK_MONOTONIC).unwrap();
        assert!(!thread_is_gone(pid, pid, now_ns));
        assert_eq!(thread_is_there(pid, pid), Some(true));
        assert!(thread_is_gone(pid, pid, 0), "the number was given to another thread");
    }

    #[test]
    fn a_thread_that_was_joined_is_gone() {
        // SAFETY: it only answers.
        let tid = std::thread::spawn(|| unsafe { libc::gettid() }).join().unwrap();
        assert!(thread_is_gone(std::process::id(), tid as u32, u64::MAX));
        assert_eq!(thread_is_there(std::process::id(), tid as u32), Some(false));
    }

    #[test]
    fn a_process_not_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while !thread_is_gone(child.id(), child.id(), u64::MAX) {
            std::thread::yield_now();
        }
        assert!(!process_is_gone(child.id(), u64::MAX), "it may yet be asked about");
        child.wait().unwrap();
        assert!(process_is_gone(child.id(), u64::MAX));
    }

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let stat = b"12 (a) Z 1) S 1 12 12 0 -1 4194560 9 0 0 0 0 0 0 0 20 0 1 0 500 1 1";
        assert_eq!(parse(stat).map(|(state, _)| state), Some(b'S'));
    }
}
