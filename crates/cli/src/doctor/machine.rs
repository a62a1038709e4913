// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kernel, C library, clock, sandbox, tools.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use ioracle_spool::settings;
use rustix::time::{ClockId, clock_gettime};

use super::finding::Diagnosis;
use crate::shared::numbers::nanoseconds;

/// If reading the clock takes longer than this, capture is slow: each call does it
/// twice.
const SLOW_CLOCK_NS: u64 = 100;
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
/// Read without a system call by every x86 kernel.
const FAST_SOURCE: &str = "tsc";
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// All findings on the machine.
pub fn examine() -> Vec<Diagnosis> {
    let mut findings = vec![kernel(), glibc(), clock()];
    findings.extend(switched_off());
    findings.extend(seccomp());
    findings.extend(ptrace_scope());
    findings.push(strace());
    findings
}

fn kernel() -> Diagnosis {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let machine = system.machine().to_string_lossy();
    if machine == "x86_64" {
        Diagnosis::ok("kernel", format_args!("Linux {release} on {machine}"))
    } else {
        Diagnosis::warning(
            "kernel",
            format_args!(
                "Linux {release} on {machine}, where call stacks are found by backtrace(), which \
                 takes microseconds a call"
            ),
        )
    }
}

/// The C library that this command runs with contains its version.
fn glibc() -> Diagnosis {
    let version = libc_file().and_then(|path| glibc_version(&fs::read(path).ok()?));
    match version {
        Some(version) => Diagnosis::ok("C library", format_args!("glibc {version}")),
        None => Diagnosis::warning(
            "C library",
            "the version of glibc could not be determined; the capture library needs glibc",
        ),
    }
}

fn libc_file() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps.lines().filter_map(|line| line.split_once('/')).map(|(_, path)| path);
    path.filter(|path| path.contains("/libc.so") || path.contains("/libc-"))
        .map(|path| PathBuf::from(format!("/{path}")))
        .next()
}

fn glibc_version(library: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = b"release version ";
    let place = library.windows(BEFORE.len()).position(|window| window == BEFORE)?;
    let after = library.get(place + BEFORE.len()..)?.iter();
    let version: Vec<u8> =
        after.copied().take(16).take_while(|byte| byte.is_ascii_digit() || *byte == b'.').collect();
    let version = String::from_utf8(version).ok()?;
    let version = version.trim_end_matches('.');
    (!version.is_empty()).then(|| version.to_owned())
}

fn clock() -> Diagnosis {
    const LOOKS: u32 = 20_000;
    let begin = Instant::now();
    for _ in 0..LOOKS {
        std::hint::black_box(clock_gettime(ClockId::Monotonic));
    }
    let look_ns = begin.elapsed().as_nanos() as u64 / u64::from(LOOKS);
    let source = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
    let available = fs::read_to_string(CLOCK_SOURCES).unwrap_or_default();
    judge_clock(look_ns, source.trim(), &available)
}

fn judge_clock(look_ns: u64, source: &str, available: &str) -> Diagnosis {
    let shown = if source.is_empty() { String::new() } else { format!(" (source {source})") };
    let found = format!("reading it takes {}{shown}", nanoseconds(look_ns));
    if look_ns <= SLOW_CLOCK_NS {
        return Diagnosis::ok("clock", found);
    }
    let has_fast = available.split_whitespace().any(|other| other == FAST_SOURCE);
    let remedy = if has_fast && source != FAST_SOURCE {
        format!("as root, choose the faster one: echo {FAST_SOURCE} >{CLOCK_SOURCE}")
    } else {
        "this machine offers no faster one".to_owned()
    };
    let slow = "each captured call reads it twice, so capture is slower than elsewhere";
    Diagnosis::warning("clock", format_args!("{found}; {slow}; {remedy}"))
}

fn switched_off() -> Option<Diagnosis> {
    let value = std::env::var_os(settings::DISABLE)?;
    (!value.is_empty() && value != "0").then(|| {
        let sentence = "is set, so nothing will be recorded; unset it";
        Diagnosis::problem("switched off", format_args!("{} {sentence}", settings::DISABLE))
    })
}

fn seccomp() -> Option<Diagnosis> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?.trim().to_owned();
    Some(match mode.as_str() {
        "0" => Diagnosis::ok("sandbox", "no seccomp filter"),
        _ => Diagnosis::note(
            "sandbox",
            "a seccomp filter is in force, as usual in containers; if it forbids what the library \
             needs, 'preloading' below fails",
        ),
    })
}

fn ptrace_scope() -> Option<Diagnosis> {
    let scope = fs::read_to_string(PTRACE_SCOPE).ok()?;
    let scope = scope.trim();
    let sentence = "processes may read their own memory, which is all that capture needs";
    Some(Diagnosis::ok("ptrace", format_args!("kernel.yama.ptrace_scope is {scope}; {sentence}")))
}

fn strace() -> Diagnosis {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|place| place.join("strace"));
    match found.into_iter().find(|file| file.is_file()) {
        Some(file) => Diagnosis::ok("tools", format_args!("strace is '{}'", file.display())),
        None => Diagnosis::note(
            "tools",
            "strace is not installed; it would help to see what cannot be captured",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::DiagnosisLevel;
    use super::*;

    #[test]
    fn a_faster_clock_source_is_named_only_if_there_is_another() {
        let judge = |look_ns, source, available| {
            let finding = judge_clock(look_ns, source, available);
            (finding.level, finding.text.contains("echo tsc"))
        };
        assert_eq!(judge(25, "tsc", "tsc hpet"), (DiagnosisLevel::Ok, false));
        assert_eq!(judge(900, "hpet", "tsc hpet acpi_pm\n"), (DiagnosisLevel::Warning, true));
        assert_eq!(judge(900, "tsc", "tsc hpet"), (DiagnosisLevel::Warning, false));
        assert_eq!(judge(900, "hpet", "hpet"), (DiagnosisLevel::Warning, false));
        assert_eq!(judge(900, "", ""), (DiagnosisLevel::Warning, false));
    }

    #[test]
    fn the_version_is_found_in_the_library() {
        let text = b"\0GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopyright";
        assert_eq!(glibc_version(text).as_deref(), Some("2.36"));
        assert_eq!(glibc_version(b"release version "), None);
        assert_eq!(glibc_version(b"something else"), None);
    }
}
