// SPDX-License-Identifier: MIT OR Apache-2.0

//! Commands that stand in a sentence: what they name must exist.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use crate::support::ioracle;

pub fn check(root: &Path, mention: &str) -> Result<(), String> {
    let words: Vec<&str> = mention.split_whitespace().collect();
    match words[..] {
        ["ioracle", ref more @ ..] => check_ioracle(more),
        ["make", target, ..] => {
            let makefile = std::fs::read_to_string(root.join("Makefile")).expect("the Makefile");
            let is_there = makefile.contains(&format!("\n{target}:"));
            is_there.then_some(()).ok_or_else(|| "the Makefile has no such target".to_owned())
        }
        ["cargo", "test" | "bench", ref more @ ..] => check_cargo(root, more),
        _ => Ok(()),
    }
}

/// A subcommand, and options that its help mentions.
fn check_ioracle(words: &[&str]) -> Result<(), String> {
    let is_name = |word: &&str| word.chars().all(|it| it.is_ascii_lowercase());
    let Some(subcommand) = words.first().filter(|word| is_name(word)) else { return Ok(()) };
    let mut path = vec![*subcommand];
    if ["model", "pattern"].contains(subcommand) {
        path.extend(words.get(1).filter(|word| is_name(word)));
    }
    let help = help(&path).ok_or("there is no such subcommand")?;
    let ours = words[path.len()..].iter().take_while(|word| **word != "--");
    for word in ours.filter(|word| word.starts_with('-')) {
        let option = word.split('=').next().unwrap_or_default();
        let is_there = help.split([' ', ',', '\n', '=', '<', '[', ']']).any(|it| it == option);
        if !is_there {
            return Err(format!("its help does not mention {option}"));
        }
    }
    Ok(())
}

fn help(path: &[&str]) -> Option<String> {
    static HELP: LazyLock<Mutex<HashMap<String, Option<String>>>> = LazyLock::new(Mutex::default);
    let mut known = HELP.lock().expect("no test failed here");
    let help = known.entry(path.join(" ")).or_insert_with(|| {
        let done = ioracle(path.iter().copied().chain(["--help"]));
        (done.code == Some(0)).then_some(done.out)
    });
    help.clone()
}

/// A package, and a test or bench of it.
fn check_cargo(root: &Path, words: &[&str]) -> Result<(), String> {
    let after = |names: &[&str]| {
        let at = words.iter().position(|word| names.contains(word))?;
        words.get(at + 1).copied()
    };
    let package = after(&["-p", "--package"]).unwrap_or("ioracle-cli");
    let directory = root.join("crates").join(package.trim_start_matches("ioracle-"));
    if !directory.is_dir() {
        return Err(format!("there is no package '{package}'"));
    }
    for (option, folder) in [("--test", "tests"), ("--bench", "benches")] {
        let Some(name) = after(&[option]) else { continue };
        let place = directory.join(folder).join(name);
        if !place.is_dir() && !place.with_extension("rs").is_file() {
            return Err(format!("'{package}' has no '{name}' in {folder}"));
        }
    }
    Ok(())
}
