// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle predict` for people: what is predicted, beside what came.

use ioracle_engine::Score;
use ioracle_events::{
    Burst, ContextSymbol, Operation, PredictedFile, Prediction, VariablePart, readable,
};

use super::{Outlook, parts};
use crate::shared::numbers::{bytes, counted, grouped, nanoseconds, none, noun_for};
use crate::shared::table::{Alignment, Cell, Colours, TextTable, Tone};
use crate::shared::text::shorten_start;

/// Longer paths are shown by their end.
const PATH_WIDTH: usize = 30;

/// Columns of a file and a variable in it.
const VARIABLE_WIDTH: usize = 36;

/// Confidence below which a burst is not worth mentioning.
const LEAST_CONFIDENCE: f64 = 0.05;

/// The predictions as text.
pub fn render(outlook: &Outlook, colours: Colours) -> String {
    let mut text = headline(outlook);
    let with_observed = !outlook.observed.is_empty();
    let (file, place) = if outlook.is_of_variables() {
        (("file: variable", Alignment::Left), ("part", Alignment::Left))
    } else {
        (("file", Alignment::Left), ("offset", Alignment::Right))
    };
    let mut columns = vec![
        ("step", Alignment::Right),
        ("operation", Alignment::Left),
        file,
        place,
        ("size", Alignment::Right),
        ("when", Alignment::Right),
        ("I/O time", Alignment::Right),
        ("probability", Alignment::Right),
    ];
    if with_observed {
        columns.extend([
            ("│ observed", Alignment::Left),
            file,
            place,
            ("size", Alignment::Right),
            ("when", Alignment::Right),
        ]);
    }
    let mut table = TextTable::new(&columns);
    for (step, prediction) in outlook.ahead.iter().enumerate() {
        let observed = outlook.observed.get(step);
        let mut row = predicted(outlook, step, prediction, observed);
        if let Some(operation) = observed {
            row.extend(seen(outlook, step, operation));
        }
        table.push(row);
    }
    text.push_str(&table.render(colours));
    text.push_str(&footer(outlook));
    if let Some(graph) = &outlook.graph {
        text.push_str(&super::graph::render(graph, colours));
    }
    text
}

fn headline(outlook: &Outlook) -> String {
    let Some(learned) = &outlook.learned else {
        let what = if outlook.from_start { "to begin with" } else { "next" };
        let whose = outlook.whose.as_ref().map_or_else(String::new, |whose| format!(" of {whose}"));
        return format!("{}: what the saved model expects{whose} {what}\n\n", outlook.source);
    };
    let is_of_variables = outlook.is_of_variables();
    let of_a_new_run = if outlook.from_start { "at the start of a new run, " } else { "" };
    let others = match learned.other_streams {
        0 => String::new(),
        others => format!(" (thread {}, the busiest of {})", learned.thread, others + 1),
    };
    let position = if outlook.is_default_position {
        ", half of them all; choose another position with --after"
    } else {
        ""
    };
    format!(
        "{}, rank {}{others}: {of_a_new_run}after {} {}{}{position}\n\n",
        outlook.source,
        learned.rank,
        grouped(learned.operations),
        noun_for(learned.operations, if is_of_variables { "access" } else { "operation" }),
        if is_of_variables { " to variables" } else { "" }
    )
}

fn predicted(
    outlook: &Outlook,
    step: usize,
    prediction: &Prediction,
    observed: Option<&Operation>,
) -> Vec<Cell> {
    let path = outlook.path_of(&prediction.file);
    let is_data = prediction.function.access().is_data();
    // Green where it came true, yellow where it did not.
    let tone = |came_true: &dyn Fn(&Operation) -> bool| match observed {
        Some(operation) if came_true(operation) => Tone::Good,
        Some(_) => Tone::Bad,
        None => Tone::Plain,
    };
    let same_path = |operation: &Operation| path == outlook.path_at(operation) && path.is_some();
    vec![
        (step + 1).to_string().into(),
        Cell::new(
            operation_name(prediction),
            tone(&|operation| operation.function == prediction.function),
        ),
        Cell::new(short(path.as_deref()), tone(&same_path)),
        Cell::new(
            place(
                outlook,
                &prediction.file,
                prediction.offset.filter(|_| is_data),
                prediction.size,
            ),
            tone(&|operation| !is_data || operation.offset == prediction.offset),
        ),
        Cell::new(
            size(is_data, prediction.size),
            tone(&|operation| !is_data || operation.size == prediction.size),
        ),
        wait(prediction).into(),
        io_time(prediction.io_time_ns).into(),
        probability(prediction).into(),
    ]
}

fn seen(outlook: &Outlook, step: usize, operation: &Operation) -> [Cell; 5] {
    let is_data = operation.access().is_data();
    let file = PredictedFile::Known(operation.file);
    [
        format!("│ {}", operation.function.name()).into(),
        short(outlook.path_at(operation).as_deref()).into(),
        place(outlook, &file, operation.offset.filter(|_| is_data), operation.size).into(),
        size(is_data, operation.size).into(),
        outlook.interarrival_ns(step).map_or_else(none, nanoseconds).into(),
    ]
}

/// What to say below the table, one line per sentence.
fn footer(outlook: &Outlook) -> String {
    let mut lines = vec!["when: time from the end of the previous operation.".to_owned()];
    if outlook.is_of_variables() {
        lines.push("part: elements counted from 0; the second number is excluded.".to_owned());
    }
    lines.push("probability: chance of this operation, at this file and offset.".to_owned());
    if outlook.ahead.iter().any(is_unseen) {
        lines.push(
            "new: any operation not seen before, assumed to continue like the last one; its \
             probability is that nothing known comes."
                .to_owned(),
        );
    }
    lines.extend(outlook.learned.as_ref().and_then(|learned| so_far(outlook, &learned.score)));
    lines.extend(outlook.oracle.next_burst().and_then(|burst| burst_in_words(&burst)));
    match outlook.oracle.predict().len().saturating_sub(1) {
        0 => {}
        1 => lines.push("One less probable alternative; --json shows it.".to_owned()),
        n => lines.push(format!("{n} less probable alternatives; --json shows them.")),
    }
    format!("\n{}\n", lines.join("\n"))
}

/// How well what was learned had been predicted.
fn so_far(outlook: &Outlook, score: &Score) -> Option<String> {
    let (files, places) = match outlook.is_of_variables() {
        true => ("the variables", "the parts of them"),
        false => ("the files", "the offsets"),
    };
    (score.operations > 0).then(|| {
        format!(
            "So far {:.1} % of {files} and {:.1} % of {places} were predicted.",
            score.file_accuracy(),
            score.offset_accuracy()
        )
    })
}

/// The next burst, unless it is too uncertain.
fn burst_in_words(burst: &Burst) -> Option<String> {
    let least = if burst.is_cut { "at least " } else { "" };
    (burst.confidence >= LEAST_CONFIDENCE).then(|| {
        format!(
            "The next burst: {least}{}, {}, from {} to {least}{} from now (confidence {}).",
            counted(burst.operations, "operation"),
            bytes(burst.bytes),
            nanoseconds(burst.starts_in_ns),
            nanoseconds(burst.ends_in_ns),
            share(burst.confidence, 2)
        )
    })
}

/// An operation from a place in the program never seen is only assumed to continue like
/// the last one.
fn operation_name(prediction: &Prediction) -> String {
    let name = prediction.function.name();
    if is_unseen(prediction) { format!("new: {name}?") } else { name.to_owned() }
}

fn is_unseen(prediction: &Prediction) -> bool {
    prediction.symbol == ContextSymbol::UNSEEN
}

/// An operation never seen has no time of its own.
fn wait(prediction: &Prediction) -> String {
    if is_unseen(prediction) { none() } else { nanoseconds(prediction.interarrival_ns) }
}

/// Every call takes some time: if the trace has 0, it is unknown.
fn io_time(ns: u64) -> String {
    if ns == 0 { none() } else { nanoseconds(ns) }
}

/// What of a variable or where in a file.
fn place(outlook: &Outlook, file: &PredictedFile, offset: Option<u64>, size: u64) -> String {
    match (outlook.part_of(file, offset, size), offset) {
        (Some(part), _) => in_words(&part),
        (None, Some(0)) if outlook.is_of_variables() => "the whole".to_owned(),
        (None, Some(offset)) => grouped(offset),
        (None, None) => none(),
    }
}

/// A part as `5, 0:32, 0:48`: one element along the first dimension, and of the
/// others those from the first number to before the second.
fn in_words(part: &VariablePart) -> String {
    let list = |texts: Vec<String>| texts.join(", ");
    let Some(counts) = &part.counts else {
        return format!("from {}", list(part.starts.iter().map(u64::to_string).collect()));
    };
    let along = |(start, count): (&u64, &u64)| match count {
        1 => start.to_string(),
        _ => format!("{start}:{}", start.saturating_add(*count)),
    };
    list(part.starts.iter().zip(counts).map(along).collect())
}

/// There is no position for an operation that was never seen.
fn probability(prediction: &Prediction) -> String {
    let shown = match is_unseen(prediction) {
        true => prediction.operation_probability,
        false => prediction.probability,
    };
    share(shown, 3)
}

/// A share of 1; 100 % is only printed if nothing is missing.
fn share(share: f64, decimals: i32) -> String {
    let scale = 10_f64.powi(decimals);
    let shown = if share < 1.0 { (share * scale).floor() / scale } else { 1.0 };
    format!("{shown:.*}", decimals as usize)
}

fn size(is_data: bool, size: u64) -> String {
    if is_data { grouped(size) } else { none() }
}

fn short(path: Option<&str>) -> String {
    let shown = |path| match parts(path) {
        (path, None) => shorten_start(&readable(path), PATH_WIDTH),
        (path, Some(variable)) => {
            let variable = shorten_start(variable, VARIABLE_WIDTH / 2);
            let room = VARIABLE_WIDTH - variable.chars().count();
            format!("{}: {variable}", shorten_start(&readable(path), room))
        }
    };
    path.map_or_else(none, shown)
}
