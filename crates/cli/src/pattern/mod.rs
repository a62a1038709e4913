// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern`: which load a server is under, and what to choose by it.

mod document;
mod evaluate;
mod learn;
mod requests;
mod runs;
mod simulate;
mod source;
mod watch;

use std::process::ExitCode;

use anyhow::Result;

pub use self::source::request_of;

const EXAMPLES: &str = "\
Examples:
  ioracle pattern learn monday.csv.zst --known server.db             learn the patterns of a server
  ioracle pattern match tuesday.csv.zst --known server.db            which of them a load is
  ioracle pattern requests trace --under /bricks/b1 -o b1.csv.zst    a server's requests from its trace
  ioracle pattern evaluate runs --json                               precision and recall on labelled runs
  ioracle pattern simulate --set server -o runs                      labelled runs of a simulated cluster
  ioracle pattern watch --tune tune.toml -- glusterfsd -N -f b1.vol  a live server, tuned by its load
  ioracle pattern watch --job 4711                                   the same for one that runs under 'ioracle run'

docs/pattern.md explains patterns and the files they are read from.";

/// Recognise the load a server is under
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PatternArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Learn(learn::LearnArguments),
    Match(learn::MatchArguments),
    #[command(hide = true)]
    Document(document::PatternDocumentArguments),
    Evaluate(evaluate::PatternEvaluateArguments),
    Requests(requests::PatternRequestsArguments),
    Simulate(simulate::SimulateArguments),
    Watch(watch::WatchArguments),
}

/// Runs the subcommand.
pub fn run(arguments: &PatternArguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Learn(arguments) => learn::learn(arguments),
        Command::Match(arguments) => learn::match_known(arguments),
        Command::Watch(watch) => return watch::run(watch),
        Command::Document(document) => document::run(document),
        Command::Evaluate(evaluate) => evaluate::run(evaluate),
        Command::Requests(requests) => requests::run(requests),
        Command::Simulate(simulate) => simulate::run(simulate),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The constants that are used unless they are given one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// What the paper found best at data servers
    #[default]
    Server,
    /// What it found best at I/O forwarding nodes
    IoNode,
}

impl Preset {
    /// The constants.
    pub fn config(self) -> ioracle_pattern::PatternConfig {
        match self {
            Preset::Server => ioracle_pattern::PatternConfig::server(),
            Preset::IoNode => ioracle_pattern::PatternConfig::io_node(),
        }
    }
}
