// SPDX-License-Identifier: MIT OR Apache-2.0

//! The `ioracle` command: one file per subcommand, and what they share in
//! `shared`.

#![forbid(unsafe_code)]

mod bench;
mod doctor;
mod eval;
mod export;
mod forecast;
mod generate;
mod import;
mod jobs;
mod knowledge;
mod live;
mod model;
mod pattern;
mod predict;
mod prefetch;
mod recover;
mod replay;
mod report;
mod run;
mod shared;
mod show;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  ioracle run -- ./simulation                               watch a program's I/O
  ioracle jobs                                              what is running, and how it is doing
  ioracle live                                              the same, to watch
  ioracle show trace                                        what a recorded program did
  ioracle report trace -o report.html                       the same as an HTML page
  ioracle eval tests/traces/cm1-grads --baselines           how well it is predicted
  ioracle predict tests/traces/cm1-grads --after 5000       what comes next, and what came
  ioracle model save tests/traces/cm1-grads -o cm1.model    keep what was learned
  ioracle export trace --to csv -o trace-csv                convert a recorded trace to CSV
  ioracle pattern evaluate runs                             how well server loads are recognised
  ioracle bench /scratch -o scratch.json                    how fast a file system is
  ioracle forecast trace --profile                          where the I/O time goes
  ioracle replay trace --dir /scratch/me                    the same calls on other storage
  ioracle recover /dev/shm/ioracle-4711-8c2f0a91 -o trace   recover a killed job

Exit codes: 0 success, 1 failure, 2 wrong use.";

/// Learns a program's I/O while it runs and predicts what comes next.
#[derive(Parser)]
#[command(name = "ioracle", version, max_term_width = 100)]
#[command(after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::RunArguments),
    Jobs(jobs::JobsArguments),
    Live(live::LiveArguments),
    Show(show::ShowArguments),
    Report(report::ReportArguments),
    Eval(eval::EvalArguments),
    Predict(predict::PredictArguments),
    Model(model::ModelArguments),
    Knowledge(knowledge::KnowledgeArguments),
    Pattern(pattern::PatternArguments),
    Bench(Box<bench::BenchArguments>),
    Replay(replay::ReplayArguments),
    Forecast(forecast::ForecastArguments),
    Recover(recover::RecoverArguments),
    Import(import::ImportArguments),
    Export(export::ExportArguments),
    Doctor(doctor::DoctorArguments),
    #[command(hide = true)]
    Generate(generate::GenerateArguments),
    #[command(hide = true)]
    BenchTask(bench::TaskArguments),
    #[command(hide = true)]
    PerformPrefetch(prefetch::PerformPrefetchArguments),
    #[command(hide = true)]
    AnswerInquiries(knowledge::AnswerArguments),
    #[command(hide = true)]
    PerformReplay(replay::PerformReplayArguments),
}

fn main() -> ExitCode {
    let arguments = CommandLine::parse();
    let done = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Jobs(arguments) => jobs::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Live(arguments) => live::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Show(arguments) => show::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Report(arguments) => report::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Eval(arguments) => eval::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Predict(arguments) => predict::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Model(arguments) => model::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Knowledge(arguments) => knowledge::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Pattern(arguments) => pattern::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::BenchTask(arguments) => bench::run_task(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Forecast(arguments) => forecast::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Recover(arguments) => recover::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Import(arguments) => import::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Export(arguments) => export::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::PerformPrefetch(arguments) => prefetch::perform(&arguments),
        Command::AnswerInquiries(arguments) => knowledge::answer(&arguments),
        Command::PerformReplay(arguments) => replay::perform(&arguments),
        Command::Generate(arguments) => {
            generate::run(&arguments, CommandLine::command()).map(|()| ExitCode::SUCCESS)
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => shared::failure::report(&error),
    }
}
