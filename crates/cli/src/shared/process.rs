// SPDX-License-Identifier: MIT OR Apache-2.0

//! Other processes, as `/proc` shows them.

use std::path::Path;

/// Whether a process exists and has not ended. Ended ones whose parent has not waited
/// for them are zombies.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_has_ended_is_gone_before_its_parent_looks() {
        assert!(is_alive(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        for _ in 0..500 {
            if !is_alive(child.id()) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(Path::new("/proc").join(child.id().to_string()).exists());
        assert!(!is_alive(child.id()));
        child.wait().unwrap();
    }
}
