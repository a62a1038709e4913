// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle predict`: what comes next, as a table.

mod graph;
mod json;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use ioracle_engine::Score;
use ioracle_events::{
    Level, Operation, PredictedFile, Prediction, SEPARATOR, VariablePart, Variables,
};
use ioracle_oracle::{Model, Oracle, Role};
use ioracle_trace::{ReadOptions, Trace};

use self::graph::GraphOutlook;
use crate::shared::failure::WrongUse;
use crate::shared::learn::{LearnLimits, LearnUntil, LearnedTrace, learn, variable_name};
use crate::shared::numbers::counted;
use crate::shared::table::Colours;
use crate::shared::{models, output};

/// Longer tables are of no use to anyone.
const MAX_STEPS: u32 = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  ioracle predict traces/cm1                   learn half of the trace, compare the next 10
                                               operations with what actually came
  ioracle predict traces/cm1 --after 4000      the same after 4000 operations
  ioracle predict traces/cm1 --after all       what would follow the end of the trace
  ioracle predict traces/ncea --variables      the next variables, and which part of them
  ioracle predict traces/ncea --knowledge runs.db  also what earlier runs with other inputs say
  ioracle predict cm1.model --json             what a saved model expects next
  ioracle predict cm1.model --from-start       what a new run will start with";

/// Predict the next operations
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PredictArguments {
    /// Directory of a recorded trace, or a saved model
    #[arg(value_name = "TRACE|MODEL")]
    source: PathBuf,
    /// Learn this many operations of the trace, or 'all', and predict what comes after them (default:
    /// half of them, so that the predictions can be compared with what actually came; all of them
    /// with --from-start)
    #[arg(long, value_name = "N|all", value_parser = position)]
    after: Option<LearnUntil>,
    /// Predict the start of a new run instead of what follows the learned operations. A model saved
    /// by 'ioracle run --model' is at the start already
    #[arg(long)]
    from_start: bool,
    /// Oracle of the model, by its number in 'ioracle model show' (default: the one that has seen the
    /// most operations)
    #[arg(long, value_name = "NUMBER")]
    oracle: Option<usize>,
    /// Predict accesses to variables (HDF5, netCDF and PnetCDF calls) instead of bytes in files. Only
    /// for traces: those of a saved model cannot be shown
    #[arg(long)]
    variables: bool,
    /// Also show what the knowledge graph of the application expects, which runs with any inputs
    /// have taught. Only for traces
    #[arg(long, value_name = "FILE")]
    knowledge: Option<PathBuf>,
    /// Name of the application in the knowledge repository (default: that of the trace)
    #[arg(long, value_name = "APP", requires = "knowledge")]
    name: Option<String>,
    /// How many operations to predict
    #[arg(short = 'n', long = "steps", value_name = "STEPS", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STEPS)))]
    steps: u32,
    /// Rank of the trace (default: the first); its busiest thread is used
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Skip bad rows and count them instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What is known when the predictions are shown.
struct Outlook {
    source: String,
    oracle: Oracle,
    /// Whose oracle it is, where a model has several.
    whose: Option<String>,
    /// The predictions are for the start of a new run, not for what follows what was learned.
    from_start: bool,
    /// The position was not chosen by the user.
    is_default_position: bool,
    /// The trace, unless a saved model was asked.
    learned: Option<LearnedFrom>,
    ahead: Vec<Prediction>,
    observed: Vec<Operation>,
    /// What the third source expects, if it was asked.
    graph: Option<GraphOutlook>,
}

struct LearnedFrom {
    trace: Trace,
    rank: u32,
    thread: u32,
    other_streams: usize,
    operations: u64,
    end_ns: u64,
    /// How well they were predicted.
    score: Score,
    /// What operations name instead of files, if asked for.
    variables: Option<Variables>,
}

/// Runs the subcommand.
pub fn run(arguments: &PredictArguments) -> Result<()> {
    let outlook =
        if arguments.source.is_file() { from_model(arguments)? } else { from_trace(arguments)? };
    if arguments.json {
        output::print_json(&json::document(&outlook))
    } else {
        output::print_text(&table::render(&outlook, Colours::for_stdout()))
    }
}

fn from_model(arguments: &PredictArguments) -> Result<Outlook> {
    let source = arguments.source.display().to_string();
    let is_for_traces = arguments.after.is_some()
        || arguments.rank.is_some()
        || arguments.variables
        || arguments.knowledge.is_some();
    if is_for_traces {
        let message = format!(
            "'{source}' is a saved model, but --after, --rank, --variables and --knowledge are for traces; leave them out or name a trace directory"
        );
        return Err(WrongUse(message).into());
    }
    let model = models::read(&arguments.source)?;
    let whose = whose(&model, arguments.oracle);
    let mut oracle = models::one_of(&arguments.source, model, arguments.oracle)?;
    let from_start = arguments.from_start;
    if from_start {
        oracle.begin_run();
    }
    let ahead = oracle.ahead(0).take(arguments.steps as usize).collect();
    Ok(Outlook {
        source,
        oracle,
        whose,
        from_start,
        is_default_position: false,
        learned: None,
        ahead,
        observed: Vec::new(),
        graph: None,
    })
}

fn from_trace(arguments: &PredictArguments) -> Result<Outlook> {
    if arguments.oracle.is_some() {
        let message = "--oracle is for saved models; leave it out, or choose with --rank";
        return Err(WrongUse(message.to_owned()).into());
    }
    let steps = arguments.steps as usize;
    let level = if arguments.variables { Level::Variables } else { Level::Bytes };
    let from_start = arguments.from_start;
    let default = if from_start { LearnUntil::End } else { LearnUntil::Half };
    let until = arguments.after.unwrap_or(default);
    let extent = LearnLimits { rank: arguments.rank, until, rest: steps, level };
    let options = ReadOptions { lenient: arguments.lenient };
    let learned = learn(&arguments.source, options, extent)?;
    let LearnedTrace {
        trace,
        stream,
        other_streams,
        operations,
        end_ns,
        mut oracle,
        score,
        mut rest,
        variables,
    } = learned;
    if from_start {
        oracle.begin_run();
        // The observed operations are not the predicted ones.
        rest.clear();
    }
    let ahead = oracle.ahead(0).take(steps).collect();
    let until_ns = if from_start { 0 } else { end_ns };
    let expect = |file: &PathBuf| {
        let knowledge = (file.as_path(), arguments.name.as_deref());
        graph::expect(&trace, (stream, until_ns), knowledge, steps)
    };
    let graph = arguments.knowledge.as_ref().map(expect).transpose()?;
    let source = trace.name().to_owned();
    let learned = Some(LearnedFrom {
        trace,
        rank: stream.rank,
        thread: stream.thread,
        other_streams,
        operations,
        end_ns,
        score,
        variables,
    });
    Ok(Outlook {
        source,
        oracle,
        whose: None,
        from_start,
        is_default_position: arguments.after.is_none() && !from_start,
        learned,
        ahead,
        observed: rest,
        graph,
    })
}

/// Reads the value of `--after`.
fn position(text: &str) -> Result<LearnUntil, String> {
    match text {
        "all" => Ok(LearnUntil::End),
        number => number
            .parse()
            .map(LearnUntil::Operations)
            .map_err(|_| "give a number of operations, or 'all'".to_owned()),
    }
}

/// Whose oracle it is: the one of this number, or else the busiest; none if there is
/// only one.
fn whose(model: &Model, number: Option<usize>) -> Option<String> {
    let number = number.or_else(|| model.busiest())?;
    if model.roles().all(|view| view.number == number) {
        return None;
    }
    let roles: Vec<_> = model.roles().filter(|view| view.number == number).collect();
    let Role { program, rank, process, thread } = roles.first()?.role;
    let rank = rank.map_or_else(String::new, |rank| format!(", rank {rank}"));
    let others = match roles.len() - 1 {
        0 => String::new(),
        n => format!(" and {} that did the same", counted(n as u64, "other")),
    };
    Some(format!("{program}{rank}, process {process}, thread {thread} (oracle {number}){others}"))
}

/// A path, and the variable in the file if it names one.
fn parts(name: &str) -> (&str, Option<&str>) {
    match name.split_once(SEPARATOR) {
        Some((path, variable)) => (path, Some(variable)),
        None => (name, None),
    }
}

impl Outlook {
    /// Whether accesses to variables are shown.
    fn is_of_variables(&self) -> bool {
        self.learned.as_ref().is_some_and(|learned| learned.variables.is_some())
    }

    /// The path of a predicted file, as far as it is known.
    fn path_of(&self, file: &PredictedFile) -> Option<String> {
        match file {
            PredictedFile::New(name) => Some(name.clone()),
            PredictedFile::Known(id) => self.oracle.file_path(*id).map(str::to_owned),
        }
    }

    /// The path of an observed file.
    fn path_at(&self, operation: &Operation) -> Option<String> {
        let learned = self.learned.as_ref()?;
        match &learned.variables {
            Some(variables) => variable_name(&learned.trace, variables, operation.file),
            None => learned.trace.files().get(operation.file).map(str::to_owned),
        }
    }

    /// The part of a variable that an access is about, as far as it is known.
    fn part_of(
        &self,
        file: &PredictedFile,
        offset: Option<u64>,
        size: u64,
    ) -> Option<VariablePart> {
        self.learned.as_ref()?.variables.as_ref()?.part(file, offset?, size)
    }

    /// From the end of the operation before to the start of the observed one.
    fn interarrival_ns(&self, step: usize) -> Option<u64> {
        let operation = self.observed.get(step)?;
        let before_ns = match step.checked_sub(1) {
            Some(before) => self.observed.get(before)?.end_ns,
            None => self.learned.as_ref()?.end_ns,
        };
        Some(operation.start_ns.saturating_sub(before_ns))
    }
}
