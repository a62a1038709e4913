// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of the files that took most time.

use ioracle_events::readable;
use ioracle_insight::{BusyGroup, Calls};

use super::TextPage;
use super::page::Column;
use crate::shared::numbers::{bytes, grouped, seconds};

/// Adds the table to a page.
pub fn files(groups: &[BusyGroup], page: &mut TextPage) {
    let shown = &groups[..groups.len().min(page.room.files)];
    let names: Vec<String> = shown.iter().map(name).collect();
    let cells = |of: &dyn Fn(&BusyGroup) -> String| shown.iter().map(of).collect();
    let columns = vec![
        Column::numbers("read", cells(&|group| bytes(group.bytes_read))),
        Column::numbers("written", cells(&|group| bytes(group.bytes_written))),
        Column::numbers("time", cells(&|group| seconds(Some(group.io_time_s)))),
    ];
    page.table("busiest files", &names, columns, ("calls", &|row, room| calls(&shown[row], room)));
}

/// `dump_*.sdf ×21`.
fn name(group: &BusyGroup) -> String {
    let path = readable(&group.path);
    match group.files {
        1 => path.into_owned(),
        n => format!("{path} ×{}", grouped(n)),
    }
}

/// The calls that took most time, as many as there is room for: those of a library
/// first, if it took most of the time.
fn calls(group: &BusyGroup, room: usize) -> String {
    let library_s: f64 = group.library_calls.iter().map(|calls| calls.io_time_s).sum();
    let of_library = group.library_calls.iter().filter(|_| library_s * 2.0 > group.io_time_s);
    let mut text = String::new();
    for calls in of_library.chain(&group.calls) {
        let separator = if text.is_empty() { "" } else { ", " };
        let fits =
            |more: &str| text.chars().count() + separator.len() + more.chars().count() <= room;
        let times = format!("{} ×{}", calls.function, grouped(calls.calls));
        let more = Some(in_words(&times, calls)).filter(|more| fits(more));
        let Some(more) = more.or_else(|| Some(times).filter(|more| fits(more))) else { break };
        text.push_str(separator);
        text.push_str(&more);
    }
    text
}

/// `write ×1,200 of 48 B`.
fn in_words(times: &str, calls: &Calls) -> String {
    match calls.bytes.saturating_add(calls.calls / 2) / calls.calls.max(1) {
        0 => times.to_owned(),
        mean => format!("{times} of {}", bytes(mean)),
    }
}
