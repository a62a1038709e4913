// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every command in the README and in `docs/` works, and prints what the
//! document shows.
//!
//! Commands stand in fenced blocks: `console` (a prompt, the command and its
//! output) or `sh` (commands only). They run in the order of the page, in one
//! directory per page that has what they need: a small program, traces, a killed
//! job. Output is compared by its form: numbers and units may differ, words and
//! columns may not. A line with `…` stands for any lines. Commands in a sentence
//! may only name subcommands, options and targets that exist, and links must lead
//! somewhere.

#[path = "../support/mod.rs"]
mod support;

mod form;
mod links;
mod mentions;
mod page;
mod place;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use page::{Command, Page};
use place::Place;

/// Commands that are not run here: the page, how they begin, and why.
const NOT_RUN: [(&str, &str, &str); 12] = [
    ("docs/live.md", "ioracle live", "needs a terminal"),
    ("docs/live.md", "ioracle run --live", "needs a terminal"),
    ("docs/run.md", "ioracle run --live", "needs a terminal"),
    ("docs/report-compared.md", "python3 -m venv", "needs a network"),
    ("docs/report-compared.md", "DARSHAN_PYTHON", "needs what the line above installs"),
    ("README.md", "make install", "builds a release; `tests/install` covers the script"),
    ("README.md", "make demo", "builds a release; its command stands above and is run"),
    ("README.md", "make test", "would run this test"),
    ("docs/pattern.md", "ioracle run", "needs a GlusterFS server"),
    ("docs/pattern.md", "ioracle pattern requests", "needs the trace of that server"),
    ("docs/pattern.md", "ioracle pattern learn", "`tests/pattern` runs it on requests of its own"),
    ("docs/pattern.md", "ioracle pattern match", "`tests/pattern` runs it on requests of its own"),
];

/// The root of the source tree.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the source tree")
}

/// The README and all pages in `docs/`.
fn pages() -> Vec<Page> {
    let docs = std::fs::read_dir(root().join("docs")).expect("the pages");
    let mut names: Vec<String> = docs
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    names.sort();
    names.insert(0, "README.md".to_owned());
    names.iter().map(|name| Page::read(&root(), name)).collect()
}

fn is_not_run(page: &Page, command: &Command) -> bool {
    NOT_RUN.iter().any(|(name, start, _)| page.name == *name && command.text.starts_with(start))
}

#[test]
fn commands_print_what_the_documents_show() {
    let mut n_run = 0;
    let mut faults = Vec::new();
    for page in pages() {
        let commands: Vec<Command> =
            page.commands().into_iter().filter(|command| !is_not_run(&page, command)).collect();
        let Some(place) = (!commands.is_empty()).then(|| Place::new(&page)) else { continue };
        for command in commands {
            let Some(output) = place.run(&command) else { continue };
            n_run += 1;
            if let Err(fault) = output.and_then(|output| form::compare(&command, &output)) {
                let Command { line, text, .. } = command;
                faults.push(format!("{}:{line}: $ {text}\n{fault}", page.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(n_run >= 10, "only {n_run} commands were found");
}

/// So the list cannot outlive what it excuses.
#[test]
fn every_exception_stands_for_one_command() {
    for (name, start, _) in NOT_RUN {
        let page = Page::read(&root(), name);
        let n = page.commands().iter().filter(|it| it.text.starts_with(start)).count();
        assert_eq!(n, 1, "'{start}' in {name}");
    }
}

/// Else they would not be run.
#[test]
fn no_block_without_a_language_holds_commands() {
    for page in pages() {
        assert_eq!(page.unmarked_commands(), Vec::<String>::new(), "{}", page.name);
    }
}

#[test]
fn commands_in_sentences_name_what_exists() {
    let mut faults = BTreeSet::new();
    for page in pages() {
        for mention in page.mentions() {
            if let Err(fault) = mentions::check(&root(), &mention) {
                faults.insert(format!("{}: `{mention}`: {fault}", page.name));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn links_lead_somewhere() {
    let mut names: Vec<String> = pages().into_iter().map(|page| page.name).collect();
    names.extend(["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(str::to_owned));
    for folder in std::fs::read_dir(root().join("crates")).expect("the crates").flatten() {
        let name = format!("crates/{}/README.md", folder.file_name().display());
        names.extend(root().join(&name).exists().then_some(name));
    }
    let broken: Vec<String> = names.iter().flat_map(|name| links::broken(&root(), name)).collect();
    assert_eq!(broken, Vec::<String>::new());
}

/// The README names each slowdown that misses its goal.
#[test]
fn the_readme_names_the_slowdowns_that_miss_their_goal() {
    let text = |name: &str| std::fs::read_to_string(root().join(name)).expect(name);
    let (readme, overhead) = (text("README.md"), text("docs/overhead.md"));
    let section = overhead.split("\n## ").find(|it| it.starts_with("Slowdown of applications"));
    let costs = readme.split("\n## ").find(|it| it.starts_with("What it costs")).expect("costs");
    let rows = section.expect("a section on slowdown").lines().filter(|it| it.starts_with("| "));
    let mut n_missed = 0;
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some(upper) = cells.get(6).and_then(|cell| cell.parse::<f64>().ok()) else { continue };
        if upper > 1.03 {
            n_missed += 1;
            let named = format!("{:.1}", 100.0 * (upper - 1.0));
            assert!(costs.contains(&named), "{named} % is not named for {}", cells[1]);
        }
    }
    assert!(n_missed > 0 || !costs.contains("missed"), "nothing is missed any more");
}
