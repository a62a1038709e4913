// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle predict` for people: what is predicted, beside what came.

use ioracle_events::{ContextSymbol, Operation, Prediction};

use super::{Outlook, parts};
use crate::shared::numbers::{bytes, counted, grouped, nanoseconds, none, noun_for};
use crate::shared::table::{Cell, Colours, Side, Table, Tone};
use crate::shared::text::shorten_start;

/// Longer paths are shown by their end.
const PATH_WIDTH: usize = 30;

/// The predictions as text.
pub fn render(outlook: &Outlook, colours: Colours) -> String {
    let mut text = headline(outlook);
    let with_observed = !outlook.observed.is_empty();
    let where_to = if outlook.is_of_variables() { "file: variable" } else { "file" };
    let mut columns = vec![
        ("step", Side::Right),
        ("operation", Side::Left),
        (where_to, Side::Left),
        ("offset", Side::Right),
        ("size", Side::Right),
        ("when", Side::Right),
        ("I/O time", Side::Right),
        ("probability", Side::Right),
    ];
    if with_observed {
        columns.extend([
            ("│ observed", Side::Left),
            (where_to, Side::Left),
            ("offset", Side::Right),
            ("size", Side::Right),
            ("when", Side::Right),
        ]);
    }
    let mut table = Table::new(&columns);
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
    format!(
        "{}, rank {}{others}: {of_a_new_run}after {} {}{}\n\n",
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
            offset(prediction.offset.filter(|_| is_data)),
            tone(&|operation| !is_data || operation.offset == prediction.offset),
        ),
        Cell::new(
            size(is_data, prediction.size),
            tone(&|operation| !is_data || operation.size == prediction.size),
        ),
        nanoseconds(prediction.interarrival_ns).into(),
        nanoseconds(prediction.io_time_ns).into(),
        format!("{:.3}", prediction.probability).into(),
    ]
}

fn seen(outlook: &Outlook, step: usize, operation: &Operation) -> [Cell; 5] {
    let is_data = operation.access().is_data();
    [
        format!("│ {}", operation.function.name()).into(),
        short(outlook.path_at(operation).as_deref()).into(),
        offset(operation.offset.filter(|_| is_data)).into(),
        size(is_data, operation.size).into(),
        outlook.interarrival_ns(step).map_or_else(none, nanoseconds).into(),
    ]
}

fn footer(outlook: &Outlook) -> String {
    let mut text = String::from("\n'when' is from the end of the operation before.");
    if outlook.is_of_variables() {
        text.push_str(" 'offset' is that in the variable, as it lies row by row.");
    }
    if let Some(burst) = outlook.oracle.next_burst() {
        text.push_str(&format!(
            " The next burst: {}, {}, from {} to {} from now (confidence {:.2}).",
            counted(burst.operations, "operation"),
            bytes(burst.bytes),
            nanoseconds(burst.starts_in_ns),
            nanoseconds(burst.ends_in_ns),
            burst.confidence
        ));
    }
    if outlook.ahead.iter().any(is_unseen) {
        text.push_str(
            " 'new' is any operation that was not seen before, supposed to go on like the last \
             one: its probability is that nothing known comes.",
        );
    }
    let alternatives = outlook.oracle.predict().len().saturating_sub(1);
    match alternatives {
        0 => {}
        1 => text.push_str(" Another way on is less probable; --json shows it."),
        n => text.push_str(&format!(" {n} other ways on are less probable; --json shows them.")),
    }
    text.push('\n');
    text
}

/// An operation from a place in the program never seen is only supposed to go
/// on like the last one.
fn operation_name(prediction: &Prediction) -> String {
    let name = prediction.function.name();
    if is_unseen(prediction) { format!("new: {name}?") } else { name.to_owned() }
}

fn is_unseen(prediction: &Prediction) -> bool {
    prediction.symbol == ContextSymbol::UNSEEN
}

fn offset(offset: Option<u64>) -> String {
    offset.map_or_else(none, grouped)
}

fn size(is_data: bool, size: u64) -> String {
    if is_data { grouped(size) } else { none() }
}

fn short(path: Option<&str>) -> String {
    let shown = |path| match parts(path) {
        (path, None) => shorten_start(path, PATH_WIDTH),
        (path, Some(variable)) => shorten_start(&format!("{path}: {variable}"), PATH_WIDTH),
    };
    path.map_or_else(none, shown)
}
