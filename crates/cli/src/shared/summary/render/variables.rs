// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of the variables that took most time.

use ioracle_events::readable;
use ioracle_insight::{BusyVariable, SelectionPattern};

use super::TextPage;
use super::page::Column;
use crate::shared::numbers::{bytes, grouped, seconds};
use crate::shared::text::shorten_start;

/// Columns of a name and its file.
const NAME: usize = 34;

/// Adds the table to a page.
pub fn variables(variables: &[BusyVariable], page: &mut TextPage) {
    let shown = &variables[..variables.len().min(page.room.variables)];
    let names: Vec<String> = shown.iter().map(name_and_file).collect();
    let cells = |of: &dyn Fn(&BusyVariable) -> String| shown.iter().map(of).collect();
    let columns = vec![
        Column::numbers("read", cells(&|it| bytes(it.bytes_read))),
        Column::numbers("written", cells(&|it| bytes(it.bytes_written))),
        Column::numbers("calls", cells(&|it| grouped(it.reads + it.writes))),
        Column::numbers("time", cells(&|it| seconds(Some(it.io_time_s)))),
    ];
    page.table(
        "busiest variables",
        &names,
        columns,
        ("each call", &|row, room| part(&shown[row], room)),
    );
}

/// Name and file; where both are too long, the end of each.
fn name_and_file(variable: &BusyVariable) -> String {
    const BETWEEN: &str = " in ";
    let room = NAME - BETWEEN.len();
    let path = readable(&variable.path);
    let n_name = variable.name.chars().count();
    let for_name = n_name.min(room.saturating_sub(path.chars().count()).max(room / 2));
    let name = shorten_start(&variable.name, for_name);
    format!("{name}{BETWEEN}{}", shorten_start(&path, room - for_name))
}

/// What each call accessed, in as many words as there is room for.
fn part(variable: &BusyVariable, room: usize) -> String {
    let counts: Vec<String> = variable.counts.iter().flatten().map(u64::to_string).collect();
    let counts = counts.join("×");
    let is_once = variable.reads + variable.writes == variable.variables as u64;
    let (shaped, plain) = match variable.part {
        Some(SelectionPattern::Same) if is_once => {
            (format!("{counts} at once"), "in one call".to_owned())
        }
        Some(SelectionPattern::Whole) => (format!("the whole {counts}"), "the whole".to_owned()),
        Some(SelectionPattern::Same) => {
            (format!("{counts} each time"), "the same each time".to_owned())
        }
        Some(SelectionPattern::Slices(along)) => {
            (format!("{counts} along dim. {along}"), format!("slices of dim. {along}"))
        }
        Some(SelectionPattern::Points) => (String::new(), "single elements".to_owned()),
        Some(SelectionPattern::Blocks) => (format!("blocks of {counts}"), "blocks".to_owned()),
        Some(SelectionPattern::Irregular) => (String::new(), "different parts".to_owned()),
        None if variable.variables > 1 => (String::new(), "different parts".to_owned()),
        None => return String::new(),
    };
    let fits = !counts.is_empty() && !shaped.is_empty() && shaped.chars().count() <= room;
    if fits { shaped } else { plain }
}
