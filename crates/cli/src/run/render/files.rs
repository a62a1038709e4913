// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of the files that took most time.

use ioracle_events::readable;

use super::super::summary::{BusyFile, Calls};
use super::Page;
use crate::shared::numbers::{bytes, grouped, seconds};
use crate::shared::table::{Side, Table};
use crate::shared::text::shorten_start;

/// Columns of a path.
const PATH: usize = 30;
/// Columns of a number, and of the space behind each column.
const NUMBER: usize = 9;
const GAP: usize = 2;

/// Adds the table to a page.
pub fn files(files: &[BusyFile], page: &mut Page) {
    let columns = [
        ("  busiest files", Side::Left),
        ("read", Side::Right),
        ("written", Side::Right),
        ("time", Side::Right),
        ("calls", Side::Left),
    ];
    let mut table = Table::new(&columns);
    let before = 2 * GAP + PATH + 3 * (NUMBER + GAP);
    for file in files.iter().take(page.room.files) {
        table.push(vec![
            format!("  {}", shorten_start(&readable(&file.path), PATH)).into(),
            bytes(file.bytes_read).into(),
            bytes(file.bytes_written).into(),
            seconds(Some(file.io_time_s)).into(),
            calls(&file.calls, page.width().saturating_sub(before)).into(),
        ]);
    }
    page.table(&table);
}

/// The calls that took most time, as many as there is room for.
fn calls(busiest: &[Calls], room: usize) -> String {
    let mut text = String::new();
    for calls in busiest {
        let separator = if text.is_empty() { "" } else { ", " };
        let times = format!("{separator}{} ×{}", calls.function, grouped(calls.calls));
        let more = match calls.bytes.saturating_add(calls.calls / 2) / calls.calls.max(1) {
            0 => times,
            mean => format!("{times} of {}", bytes(mean)),
        };
        if !text.is_empty() && text.chars().count() + more.chars().count() > room {
            break;
        }
        text.push_str(&more);
    }
    text
}
