// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of the variables that took most time.

use ioracle_events::readable;

use super::super::summary::BusyVariable;
use super::super::tally::Part;
use super::Page;
use crate::shared::numbers::{bytes, grouped, seconds};
use crate::shared::table::{Side, Table};
use crate::shared::text::shorten_start;

/// Columns of name and file, and of the numbers behind them.
const NAME: usize = 28;
const NUMBERS: usize = 4 * 11;

/// Adds the table to a page.
pub fn variables(variables: &[BusyVariable], page: &mut Page) {
    let columns = [
        ("  busiest variables", Side::Left),
        ("read", Side::Right),
        ("written", Side::Right),
        ("time", Side::Right),
        ("calls", Side::Right),
        ("of", Side::Left),
    ];
    let mut table = Table::new(&columns);
    let before = 2 + NAME + NUMBERS + 2;
    for variable in variables.iter().take(page.room.variables) {
        table.push(vec![
            format!("  {}", name_and_file(variable)).into(),
            bytes(variable.bytes_read).into(),
            bytes(variable.bytes_written).into(),
            seconds(Some(variable.io_time_s)).into(),
            grouped(variable.reads + variable.writes).into(),
            part(variable, page.width().saturating_sub(before)).into(),
        ]);
    }
    page.table(&table);
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

/// What each call was about, in words, as many as there is room for.
fn part(variable: &BusyVariable, room: usize) -> String {
    let counts: Vec<String> = variable.counts.iter().flatten().map(u64::to_string).collect();
    let counts = counts.join("×");
    let is_once = variable.reads + variable.writes == variable.variables as u64;
    let (shaped, plain) = match variable.part {
        Some(Part::Same) if is_once => (format!("{counts} at once"), "in one call".to_owned()),
        Some(Part::Whole) => (format!("the whole {counts}"), "the whole".to_owned()),
        Some(Part::Same) => (format!("{counts} each time"), "the same each time".to_owned()),
        Some(Part::Slices(along)) => {
            (format!("{counts} along dim. {along}"), format!("slices along dim. {along}"))
        }
        Some(Part::Points) => (String::new(), "single elements".to_owned()),
        Some(Part::Blocks) => (format!("blocks of {counts}"), "blocks".to_owned()),
        Some(Part::Irregular) => (String::new(), "different parts".to_owned()),
        None if variable.variables > 1 => (String::new(), "different parts".to_owned()),
        None => return String::new(),
    };
    let fits = !counts.is_empty() && !shaped.is_empty() && shaped.chars().count() <= room;
    if fits { shaped } else { plain }
}
