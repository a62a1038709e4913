// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle model show`: what a saved model has learned.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;
use ioracle_events::{Access, ContextSymbol, Spread};
use ioracle_insight::loop_tree::{SymbolFacts, loop_tree, svg};
use ioracle_oracle::{Oracle, SymbolView};
use serde::Serialize;

use crate::shared::loops::loops_of;
use crate::shared::numbers::{bytes, counted, grouped, nanoseconds, none};
use crate::shared::table::{Alignment, Cell, Colours, TextTable, Tone};
use crate::shared::text::without_control_characters;
use crate::shared::{models, output};

/// Rows of a table that are shown without `--all`.
const SHORT: usize = 12;

/// Show what is in a saved model
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  ioracle model show cm1.model\n  ioracle model show cm1.model --all | less\n  ioracle model show cm1.model --svg loops.svg"
)]
pub struct ModelShowArguments {
    /// A saved model
    #[arg(value_name = "FILE")]
    model: PathBuf,
    /// Oracle whose loops, symbols and rules are shown, by its number in the table of roles
    /// (default: the one that has seen most operations)
    #[arg(long, value_name = "NUMBER")]
    oracle: Option<usize>,
    /// Draw the loops of the oracle as nested boxes, an SVG picture, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Show all roles, loops, symbols and rules instead of the first few
    #[arg(long)]
    all: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    application: String,
    runs: u32,
    file_bytes: u64,
    /// Those of the whole job.
    roles: Vec<RoleRow>,
    #[serde(flatten)]
    oracle: OracleDocument,
}

/// A thread of the job that is distinguished.
#[derive(Serialize)]
struct RoleRow {
    program: String,
    rank: Option<u32>,
    process: u32,
    thread: u32,
    runs: u32,
    /// Roles with the same number did the same.
    oracle: usize,
    operations: u64,
}

/// What one oracle has learned.
#[derive(Serialize)]
struct OracleDocument {
    operations: u64,
    symbols: Vec<SymbolRow>,
    one_size_symbols: usize,
    transitions: usize,
    files: Vec<String>,
    grammar_size: usize,
    grammar: Vec<String>,
    loops: Vec<LoopRow>,
    memory_bytes: usize,
}

#[derive(Serialize)]
struct SymbolRow {
    symbol: u32,
    operation: &'static str,
    one_size: bool,
    size_min: f64,
    size_max: f64,
    io_time_min_s: f64,
    io_time_max_s: f64,
}

#[derive(Serialize)]
struct LoopRow {
    turn: String,
    operations: u64,
    turns_min: u64,
    turns_max: u64,
    runs: u64,
}

/// Runs the subcommand.
pub fn run(arguments: &ModelShowArguments) -> Result<()> {
    let model = models::read(&arguments.model)?;
    let file_bytes = std::fs::metadata(&arguments.model).map_or(0, |metadata| metadata.len());
    let roles = model.roles().map(|view| RoleRow {
        program: view.role.program.clone(),
        rank: view.role.rank,
        process: view.role.process,
        thread: view.role.thread,
        runs: view.runs,
        oracle: view.number,
        operations: view.oracle.operations(),
    });
    let roles = roles.collect();
    let (application, runs) = (model.application().to_owned(), model.runs());
    let oracle = models::one_of(&arguments.model, model, arguments.oracle)?;
    if let Some(path) = &arguments.svg {
        output::write_file(path, picture(&oracle, &application).as_bytes())?;
    }
    let document = Document { application, runs, file_bytes, roles, oracle: of_oracle(&oracle) };
    if arguments.json {
        return output::print_json(&document);
    }
    let name = arguments.model.display().to_string();
    let limit = if arguments.all { usize::MAX } else { SHORT };
    output::print_text(&render(&name, &document, limit, Colours::for_stdout()))
}

/// The loops of an oracle, drawn.
fn picture(oracle: &Oracle, application: &str) -> String {
    let facts: HashMap<u32, SymbolFacts> = oracle
        .symbol_views()
        .map(|view| {
            let mean = |spread: Spread| (spread.min + spread.max) / 2.0;
            let facts = SymbolFacts {
                call: view.function.name().to_owned(),
                is_open: view.function.access() == Access::Open,
                bytes: mean(view.size),
                io_time_s: mean(view.io_time_ns) * 1e-9,
                ..SymbolFacts::default()
            };
            (view.symbol.0, facts)
        })
        .collect();
    let tree = loop_tree(oracle.grammar().grammar(), &|symbol| facts.get(&symbol).cloned());
    let title = if application.is_empty() { "Loops of a saved model" } else { application };
    svg::draw(&tree, title)
}

fn of_oracle(oracle: &Oracle) -> OracleDocument {
    let views: Vec<SymbolView> = oracle.symbol_views().collect();
    let grammar = oracle.grammar().grammar();
    let loops = loops_of(oracle).into_iter().map(|found| LoopRow {
        operations: found.operations,
        turns_min: found.turns.0,
        turns_max: found.turns.1,
        runs: found.runs,
        turn: found.turn,
    });
    let symbols = views.iter().map(|view| SymbolRow {
        symbol: view.symbol.0,
        operation: view.function.name(),
        one_size: view.one_size,
        size_min: view.size.min,
        size_max: view.size.max,
        io_time_min_s: view.io_time_ns.min * 1e-9,
        io_time_max_s: view.io_time_ns.max * 1e-9,
    });
    OracleDocument {
        operations: oracle.operations(),
        symbols: symbols.collect(),
        one_size_symbols: oracle.one_size_symbols(),
        transitions: oracle.transitions(),
        files: oracle.file_paths().map(str::to_owned).collect(),
        grammar_size: oracle.grammar().size(),
        grammar: grammar.to_string().lines().map(str::to_owned).collect(),
        loops: loops.collect(),
        memory_bytes: oracle.memory_bytes(),
    }
}

fn render(name: &str, document: &Document, limit: usize, colours: Colours) -> String {
    let title = colours.paint(&Cell::new(name, Tone::Header));
    let oracle = &document.oracle;
    let mut text = format!(
        "{title}: {}{}, {} in {}, {}\n",
        match document.application.as_str() {
            "" => String::new(),
            application => {
                format!("learned from {}, ", without_control_characters(application))
            }
        },
        counted(u64::from(document.runs), "run"),
        counted(document.roles.iter().map(|row| row.operations).sum(), "operation"),
        counted(document.roles.len() as u64, "role"),
        bytes(document.file_bytes),
    );
    let of_oracle = format!(
        "\nThe oracle shown: {}; {} ({} with one size), {}, {}, a grammar of {}; {} in memory\n",
        counted(oracle.operations, "operation"),
        counted(oracle.symbols.len() as u64, "context symbol"),
        grouped(oracle.one_size_symbols as u64),
        counted(oracle.transitions as u64, "transition"),
        counted(oracle.files.len() as u64, "file"),
        counted(oracle.grammar_size as u64, "symbol"),
        bytes(oracle.memory_bytes as u64)
    );
    let sections = [
        ("", "role", role_table(document, limit, colours), document.roles.len()),
        (of_oracle.as_str(), "loop", loop_table(oracle, limit, colours), oracle.loops.len()),
        ("", "symbol", symbol_table(oracle, limit, colours), oracle.symbols.len()),
        ("", "rule", rule_list(oracle, limit), oracle.grammar.len()),
    ];
    for (before, what, table, total) in sections {
        text.push_str(&format!("{before}\n{table}"));
        if total > limit {
            let more = counted((total - limit) as u64, &format!("more {what}"));
            text.push_str(&format!("… and {more}; --all shows all\n"));
        }
    }
    text
}

fn role_table(document: &Document, limit: usize, colours: Colours) -> String {
    let columns = [
        ("program", Alignment::Left),
        ("rank", Alignment::Right),
        ("process", Alignment::Right),
        ("thread", Alignment::Right),
        ("runs", Alignment::Right),
        ("operations", Alignment::Right),
        ("oracle", Alignment::Right),
    ];
    let mut table = TextTable::new(&columns);
    for row in document.roles.iter().take(limit) {
        let program = if row.program.is_empty() { "any" } else { row.program.as_str() };
        table.push(vec![
            program.into(),
            row.rank.map_or_else(none, |rank| rank.to_string()).into(),
            row.process.to_string().into(),
            row.thread.to_string().into(),
            grouped(u64::from(row.runs)).into(),
            grouped(row.operations).into(),
            row.oracle.to_string().into(),
        ]);
    }
    table.render(colours)
}

fn loop_table(document: &OracleDocument, limit: usize, colours: Colours) -> String {
    let columns = [
        ("turns", Alignment::Right),
        ("operations each", Alignment::Right),
        ("runs", Alignment::Right),
        ("loop", Alignment::Left),
    ];
    let mut table = TextTable::new(&columns);
    for row in document.loops.iter().take(limit) {
        let turns = match (row.turns_min, row.turns_max) {
            (least, most) if least == most => grouped(least),
            (least, most) => format!("{} to {}", grouped(least), grouped(most)),
        };
        table.push(vec![
            turns.into(),
            grouped(row.operations).into(),
            grouped(row.runs).into(),
            row.turn.as_str().into(),
        ]);
    }
    table.render(colours)
}

fn symbol_table(document: &OracleDocument, limit: usize, colours: Colours) -> String {
    let columns = [
        ("symbol", Alignment::Right),
        ("operation", Alignment::Left),
        ("size", Alignment::Right),
        ("I/O time", Alignment::Right),
    ];
    let mut table = TextTable::new(&columns);
    for row in document.symbols.iter().take(limit) {
        let size = match (row.size_min as u64, row.size_max as u64) {
            (0, 0) => none(),
            (least, most) if least == most => grouped(least),
            (least, most) => format!("{} to {}", grouped(least), grouped(most)),
        };
        let least = nanoseconds((row.io_time_min_s * 1e9) as u64);
        let most = nanoseconds((row.io_time_max_s * 1e9) as u64);
        let io_time = if least == most { least } else { format!("{least} to {most}") };
        table.push(vec![
            row.symbol.to_string().into(),
            row.operation.into(),
            size.into(),
            io_time.into(),
        ]);
    }
    table.render(colours)
}

/// The grammar, a rule a line; terminals are symbols of the table above.
fn rule_list(document: &OracleDocument, limit: usize) -> String {
    const WIDTH: usize = 110;
    let unseen = ContextSymbol::UNSEEN.0.to_string();
    let lines = document.grammar.iter().take(limit).map(|rule| {
        let rule = rule.replace(&unseen, "start");
        let cut: String = rule.chars().take(WIDTH).collect();
        let shown =
            if cut.len() < rule.len() && limit < usize::MAX { format!("{cut} …") } else { rule };
        format!("{shown}\n")
    });
    lines.collect()
}
