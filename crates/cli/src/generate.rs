// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle generate`: man pages and shell completions, made from the same
//! definitions as the help texts. `make install` calls it; users do not need
//! it, so the help does not list it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::shared::output::write_file;

/// Write man pages and shell completions
#[derive(clap::Args)]
pub struct GenerateArguments {
    /// Directory to write 'man/*.1' and 'completions/*' to
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the subcommand for the whole command line `command`.
pub fn run(arguments: &GenerateArguments, mut command: Command) -> Result<()> {
    command.build();
    let man = arguments.directory.join("man");
    create(&man)?;
    write_man_pages(&man, &command)?;
    let completions = arguments.directory.join("completions");
    create(&completions)?;
    for (shell, name) in
        [(Shell::Bash, "ioracle.bash"), (Shell::Zsh, "_ioracle"), (Shell::Fish, "ioracle.fish")]
    {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "ioracle", &mut text);
        write_file(&completions.join(name), &text)?;
    }
    Ok(())
}

fn create(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("could not create '{}'", directory.display()))
}

/// A page for the command and each subcommand at any depth, such as
/// `ioracle-model-save.1`.
fn write_man_pages(directory: &Path, command: &Command) -> Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("could not write a man page")?;
    write_file(&directory.join(page.get_filename()), &text)?;
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    for subcommand in shown {
        write_man_pages(directory, subcommand)?;
    }
    Ok(())
}
