// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much memory there is to use.

use std::fs;

/// Bytes that may be used without taking them from others: what the kernel calls
/// available, or what is left of the limit of this control group if that is less.
pub fn available_bytes() -> u64 {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let of_group = group_limit();
    of_machine.unwrap_or(u64::MAX).min(of_group.unwrap_or(u64::MAX))
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// What is left of the limit of the control group (version 2), and of those that
/// it is in. Pages of files do not count: they can be given up.
fn group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut left = None;
    let mut directory = std::path::Path::new("/sys/fs/cgroup").join(group);
    while directory.starts_with("/sys/fs/cgroup") {
        let number = |name: &str| {
            let text = fs::read_to_string(directory.join(name)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        if let (Some(limit), Some(used)) = (number("memory.max"), number("memory.current")) {
            let stat = fs::read_to_string(directory.join("memory.stat")).unwrap_or_default();
            let cached = stat.lines().find_map(|line| line.strip_prefix("file "));
            let cached = cached.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            let here = limit.saturating_sub(used.saturating_sub(cached));
            left = Some(left.map_or(here, |left: u64| left.min(here)));
        }
        if !directory.pop() {
            break;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_kernel_calls_available() {
        let text = "MemTotal:  100 kB\nMemAvailable:    42 kB\n";
        assert_eq!(available(text), Some(42 * 1024));
        assert_eq!(available("MemTotal: 1 kB"), None);
        assert!(available_bytes() > 0);
    }
}
