// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern watch` on servers that are small shell programs.

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use support::{Done, command, done};

/// Writes a file in blocks for some seconds, first large ones, then small ones to
/// another file.
const SERVER: &str = "
end=$(($(date +%s) + 3))
while [ $(date +%s) -lt $end ]; do dd if=/dev/zero of=$PLACE/one bs=64k count=400; done
end=$(($(date +%s) + 3))
while [ $(date +%s) -lt $end ]; do dd if=/dev/zero of=$PLACE/two bs=512 count=2000; done
exit 7
";

fn watch(place: &Path, arguments: &[&str]) -> Done {
    let mut command = command();
    command.args(["pattern", "watch", "--json"]).args(arguments).args(["--", "sh", "-c", SERVER]);
    command.env("PLACE", place).stdin(Stdio::null());
    done(command.output().unwrap())
}

fn seconds(done: &Done) -> Vec<serde_json::Value> {
    let lines = done.out.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

#[test]
fn two_loads_of_a_server_are_two_patterns_and_are_known_again() {
    let place = tempfile::tempdir().unwrap();
    let known = place.path().join("known.db");
    let arguments = ["--under", place.path().to_str().unwrap(), "--known", known.to_str().unwrap()];
    let first = watch(place.path(), &arguments);
    assert_eq!(first.code, Some(7), "the server's own: {}", first.err);
    let shown = seconds(&first);
    assert!(shown.len() >= 4, "{}", first.out);
    assert_eq!(shown[0]["known"], false);
    assert_ne!(shown[0]["pattern"], shown[shown.len() - 1]["pattern"], "{}", first.out);
    assert!(shown.iter().all(|second| second["requests_per_s"].as_u64() > Some(0)));
    let again = watch(place.path(), &arguments);
    let known_now = seconds(&again).iter().filter(|second| second["known"] == true).count();
    assert!(known_now >= 3, "{}", again.out);
}

#[test]
fn options_are_applied_and_failures_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let tune = place.path().join("tune.toml");
    let applied = place.path().join("applied");
    let text = format!(
        "period_s = 0.5\nsettle_s = 0\ntimeout_s = 1\n\
         [[option]]\nname = \"hangs\"\napply = \"sleep 100\"\n\
         [[option]]\nname = \"works\"\napply = \"echo $IORACLE_OPTION >> {}\"\n\
         [[option]]\nname = \"missing\"\napply = \"/no/such/command\"\n",
        applied.display()
    );
    fs::write(&tune, text).unwrap();
    let done = watch(place.path(), &["--tune", tune.to_str().unwrap()]);
    assert_eq!(done.code, Some(7), "{}", done.err);
    assert!(
        done.err.contains("the command of option 'hangs': it did not end within 1 s"),
        "{}",
        done.err
    );
    fs::write(&tune, "[[option]]\nname = 1\n").unwrap();
    let refused = watch(place.path(), &["--tune", tune.to_str().unwrap()]);
    refused.fails_saying(1, &["tune.toml', line 2"]);
    assert!(refused.out.is_empty(), "the server was not started");
}
