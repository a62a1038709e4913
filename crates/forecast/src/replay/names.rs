// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names for the files of a replay.
//!
//! A path of a trace is anybody's text: absolute, full of `..`, or longer than a
//! file system takes. Each becomes a relative path of plain components, different
//! paths different ones.

use std::collections::{BTreeMap, BTreeSet};

use ioracle_events::unescaped;

/// Longer components are cut; file systems take 255 bytes.
const MAX_COMPONENT: usize = 200;
/// Deeper paths keep their last components.
const MAX_DEPTH: usize = 24;
/// Stands for `..`, which would lead out.
const UP: &str = "up";
/// Stands for the root of an absolute path.
const ROOT: &str = "root";

/// Names for paths, in the order of the paths.
pub(super) fn safe_names<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = paths.map(safe_name).collect();
    let directories: BTreeSet<String> = names.iter().flat_map(|name| parents(name)).collect();
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    for name in &mut names {
        // What is a directory for one file cannot be another one.
        if directories.contains(name) {
            name.push_str(".file");
        }
        loop {
            let n_before = taken.entry(name.clone()).or_default();
            *n_before += 1;
            if *n_before == 1 && !directories.contains(name) {
                break;
            }
            *name = format!("{name}.{n_before}");
        }
    }
    names
}

fn safe_name(path: &str) -> String {
    let bytes = unescaped(path);
    let text = String::from_utf8_lossy(&bytes);
    let root = text.starts_with('/').then(|| ROOT.to_owned());
    let mut parts: Vec<String> = root
        .into_iter()
        .chain(text.split('/').filter(|part| !matches!(*part, "" | ".")).map(component))
        .collect();
    if parts.len() > MAX_DEPTH {
        parts.drain(..parts.len() - MAX_DEPTH);
    }
    if parts.is_empty() { "nameless".to_owned() } else { parts.join("/") }
}

fn component(part: &str) -> String {
    if part == ".." {
        return UP.to_owned();
    }
    let mut name: String =
        part.chars().map(|letter| if letter.is_control() { '_' } else { letter }).collect();
    while name.len() > MAX_COMPONENT {
        name.pop();
    }
    name
}

fn parents(name: &str) -> Vec<String> {
    name.match_indices('/').map(|(at, _)| name[..at].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(paths: &[&str], expected: &[&str]) {
        assert_eq!(safe_names(paths.iter().copied()), expected);
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        check(&["../../etc/passwd"], &["up/up/etc/passwd"]);
        check(&["/etc/passwd", "a/../../b"], &["root/etc/passwd", "a/up/up/b"]);
        check(&["", "/", "./.", "%00x"], &["nameless", "root", "nameless.2", "_x"]);
        let long = "x".repeat(4000);
        let name = safe_names([long.as_str()].into_iter()).remove(0);
        assert_eq!(name.len(), MAX_COMPONENT);
    }

    #[test]
    fn different_files_have_different_names() {
        check(&["a", "./a", "a/b"], &["a.file", "a.file.2", "a/b"]);
        check(&["../x", "up/x"], &["up/x", "up/x.2"]);
    }
}
