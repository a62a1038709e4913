// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links from one document to another, or to a heading in it.

use std::path::Path;

/// The links of a document that lead nowhere.
pub fn broken(root: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root.join(name)).expect(name);
    let directory = root.join(name).parent().expect("a directory").to_owned();
    let mut broken = Vec::new();
    for target in targets(&text) {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        if file.contains("://") {
            continue;
        }
        let linked = if file.is_empty() { root.join(name) } else { directory.join(file) };
        let is_there = match heading {
            "" => linked.exists(),
            heading => std::fs::read_to_string(&linked)
                .is_ok_and(|text| headings(&text).any(|it| it == heading)),
        };
        if !is_there {
            broken.push(format!("{name}: {target}"));
        }
    }
    broken
}

/// What stands behind `](`, up to the closing bracket.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The names by which links know the headings of a document.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    })
}

#[test]
fn a_heading_is_known_by_its_words() {
    let found: Vec<String> = headings("## `recording.part`\ntext\n### With MPI, too").collect();
    assert_eq!(found, ["recordingpart", "with-mpi-too"]);
}
