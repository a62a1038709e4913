// SPDX-License-Identifier: MIT OR Apache-2.0

//! The commands of a document.

use std::path::Path;

pub struct Page {
    /// Its path from the root of the tree.
    pub name: String,
    text: String,
}

/// A command in a fenced block.
pub struct Command {
    /// Where it stands, from 1.
    pub line: usize,
    pub text: String,
    /// What the document shows of its output; None where it shows none.
    pub shown: Option<Vec<String>>,
}

/// A fenced block.
struct Block<'a> {
    language: &'a str,
    /// Lines with their numbers.
    lines: Vec<(usize, &'a str)>,
}

impl Page {
    pub fn read(root: &Path, name: &str) -> Page {
        let text = std::fs::read_to_string(root.join(name)).expect(name);
        Page { name: name.to_owned(), text }
    }

    /// The commands of its `console` and `sh` blocks, in order.
    pub fn commands(&self) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        for Block { language, lines } in self.blocks() {
            let is_console = match language {
                "console" => true,
                "sh" => false,
                _ => continue,
            };
            for (line, text) in lines {
                if !is_console {
                    if !text.trim().is_empty() && !text.starts_with('#') {
                        commands.push(Command { line, text: text.to_owned(), shown: None });
                    }
                } else if let Some(text) = text.strip_prefix("$ ") {
                    let shown = Some(Vec::new());
                    commands.push(Command { line, text: text.to_owned(), shown });
                } else if let Some(Command { shown: Some(shown), .. }) = commands.last_mut() {
                    shown.push(text.to_owned());
                }
            }
        }
        commands
    }

    /// The first block in a language.
    pub fn first(&self, language: &str) -> Option<String> {
        let block = self.blocks().into_iter().find(|block| block.language == language)?;
        Some(block.lines.iter().map(|(_, line)| format!("{line}\n")).collect())
    }

    /// Lines that look like commands in blocks that are not run.
    pub fn unmarked_commands(&self) -> Vec<String> {
        let starts = ["$ ", "ioracle ", "make ", "cargo ", "cc ", "mpirun ", "srun "];
        let blocks = self.blocks().into_iter().filter(|block| block.language.is_empty());
        blocks
            .flat_map(|block| block.lines)
            .filter(|(_, line)| starts.iter().any(|start| line.starts_with(start)))
            .map(|(number, line)| format!("{number}: {line}"))
            .collect()
    }

    /// Commands of ours that stand in a sentence or a table.
    pub fn mentions(&self) -> Vec<String> {
        let starts = ["ioracle ", "make ", "cargo "];
        let mut is_fenced = false;
        let mut mentions = Vec::new();
        for line in self.text.lines() {
            is_fenced ^= line.starts_with("```");
            if !is_fenced {
                mentions.extend(line.split('`').skip(1).step_by(2).filter_map(|code| {
                    // Of `mpirun -n 4 ioracle run -- app` our part.
                    let ours = code.find("ioracle run").map_or(code, |at| &code[at..]);
                    starts.iter().any(|it| ours.starts_with(it)).then(|| ours.to_owned())
                }));
            }
        }
        mentions
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (line, number) in self.text.lines().zip(1..) {
            match (line.strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(language), None) => open = Some(Block { language, lines: Vec::new() }),
                (None, Some(block)) => block.lines.push((number, line)),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block without an end", self.name);
        blocks
    }
}
