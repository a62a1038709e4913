// SPDX-License-Identifier: MIT OR Apache-2.0

//! The profile of a trace, as a table and as JSON.

use std::fmt::Write;

use ioracle_events::{ContextId, readable};
use ioracle_forecast::{Direction, IoClass, Kind, OwnTime, Profile};
use ioracle_trace::Trace;
use serde::Serialize;

use crate::shared::numbers::{bytes, counted, duration, grouped, share};
use crate::shared::table::{Alignment, Colours, TextTable};

/// Classes that the table shows.
const MAX_ROWS: usize = 24;
/// Places that JSON names for each class.
const MAX_PLACES: usize = 8;

const OWN: [(OwnTime, &str, &str); 6] = [
    (OwnTime::Waiting, "waiting", "collective calls, waiting for other ranks"),
    (OwnTime::Library, "library", "work of libraries inside their own calls"),
    (OwnTime::Memory, "memory", "calls that touch no storage"),
    (OwnTime::Buffered, "buffered", "calls that the buffers of streams serve"),
    (OwnTime::Elsewhere, "elsewhere", "files on other storage"),
    (OwnTime::Unclassified, "unclassified", "calls of too many classes"),
];

#[derive(Serialize)]
pub struct ProfileDocument {
    format: u32,
    trace: String,
    application: String,
    storage: String,
    total_s: f64,
    read_s: f64,
    write_s: f64,
    metadata_s: f64,
    wall_s: Option<f64>,
    /// Time that is in no class, by cause.
    other_s: std::collections::BTreeMap<&'static str, f64>,
    processes: Vec<ProcessRow>,
    classes: Vec<ClassRow>,
}

#[derive(Serialize)]
struct ProcessRow {
    process: u32,
    rank: Option<u32>,
    read_s: f64,
    write_s: f64,
    metadata_s: f64,
    other_s: f64,
}

#[derive(Serialize)]
struct ClassRow {
    name: String,
    class: IoClass,
    calls: u64,
    bytes: u64,
    time_s: f64,
    median_s: f64,
    p95_s: f64,
    /// Of reads: the share that was clearly faster than the others.
    likely_cached_share: Option<f64>,
    places: Vec<PlaceRow>,
}

#[derive(Serialize)]
struct PlaceRow {
    function: String,
    source: Option<String>,
    line: Option<u32>,
    calls: u64,
    time_s: f64,
}

/// The profile for scripts.
pub fn document(trace: &Trace, profile: &Profile) -> ProfileDocument {
    let s = |ns: u64| ns as f64 * 1e-9;
    ProfileDocument {
        format: 1,
        trace: profile.trace.clone(),
        application: profile.application.clone(),
        storage: profile.storage.clone(),
        total_s: profile.total_s(),
        read_s: profile.direction_s(Direction::Read),
        write_s: profile.direction_s(Direction::Write),
        metadata_s: profile.direction_s(Direction::Metadata),
        wall_s: profile.wall_s,
        other_s: OWN.iter().map(|(own, name, _)| (*name, profile.own_s(*own))).collect(),
        processes: (profile.processes.iter())
            .map(|(number, time)| ProcessRow {
                process: *number,
                rank: time.rank,
                read_s: s(time.read_ns),
                write_s: s(time.write_ns),
                metadata_s: s(time.metadata_ns),
                other_s: s(time.other_ns),
            })
            .collect(),
        classes: (profile.classes.iter())
            .map(|row| ClassRow {
                name: row.class.to_string(),
                class: row.class,
                calls: row.calls,
                bytes: row.bytes,
                time_s: row.time_s(),
                median_s: s(row.percentiles_ns.0),
                p95_s: s(row.percentiles_ns.1),
                likely_cached_share: (row.two_speeds)
                    .filter(|_| row.class.kind == Kind::Read)
                    .map(|speeds| speeds.fast_share),
                places: (row.call_sites.iter().take(MAX_PLACES))
                    .map(|site| {
                        let place = Place::of(trace, site.context);
                        let (calls, time_s) = (site.calls, s(site.time_ns));
                        let Place { function, source, line } = place;
                        PlaceRow { function, source, line, calls, time_s }
                    })
                    .collect(),
            })
            .collect(),
    }
}

/// The profile for people.
pub fn render(trace: &Trace, profile: &Profile) -> String {
    let total = profile.total_s();
    let mut text = format!(
        "{} in I/O calls of {}: {} reading, {} writing, {} other calls on storage ({})\n\n",
        duration(total),
        counted(profile.processes.len() as u64, "process"),
        duration(profile.direction_s(Direction::Read)),
        duration(profile.direction_s(Direction::Write)),
        duration(profile.direction_s(Direction::Metadata)),
        profile.storage,
    );
    let mut table = TextTable::new(&[
        ("time", Alignment::Right),
        ("share", Alignment::Right),
        ("calls", Alignment::Right),
        ("data", Alignment::Right),
        ("median", Alignment::Right),
        ("class", Alignment::Left),
        ("mostly from", Alignment::Left),
    ]);
    for row in profile.classes.iter().take(MAX_ROWS) {
        let place = row.call_sites.first().map(|site| Place::of(trace, site.context).short());
        let class = match row.two_speeds {
            Some(it) if row.class.kind == Kind::Read => {
                format!("{}, {} likely cached", row.class, share(it.fast_share))
            }
            _ => row.class.to_string(),
        };
        table.push(vec![
            duration(row.time_s()).into(),
            share(row.time_s() / total.max(f64::MIN_POSITIVE)).into(),
            grouped(row.calls).into(),
            bytes(row.bytes).into(),
            duration(row.percentiles_ns.0 as f64 * 1e-9).into(),
            class.into(),
            place.unwrap_or_default().into(),
        ]);
    }
    text.push_str(&table.render(Colours::for_stdout()));
    let hidden = profile.classes.len().saturating_sub(MAX_ROWS);
    if hidden > 0 {
        let _ = writeln!(text, "{} more classes in --json", grouped(hidden as u64));
    }
    for (own, _, words) in OWN {
        if profile.own_s(own) > 0.0 {
            let _ = writeln!(text, "{} {words}", duration(profile.own_s(own)));
        }
    }
    text
}

/// Where in the program a call was made, as far as the trace says it.
struct Place {
    function: String,
    source: Option<String>,
    line: Option<u32>,
}

impl Place {
    /// The innermost frame of the program itself if its source is known, else the
    /// innermost frame.
    fn of(trace: &Trace, context: ContextId) -> Place {
        let frames = trace.contexts().get(context).unwrap_or("");
        for frame in frames.split(';') {
            let Some(place) = trace.provenance().source_places(frame).first() else { continue };
            if place.line > 0 && !place.source.is_empty() {
                return Place {
                    function: readable(&place.function).into_owned(),
                    source: Some(readable(&place.source).into_owned()),
                    line: Some(place.line),
                };
            }
        }
        let first = frames.split(';').next().unwrap_or("");
        let named = trace.provenance().source_places(first).first();
        let function = named.map(|place| place.function.to_string()).filter(|it| !it.is_empty());
        Place { function: function.unwrap_or_else(|| first.to_owned()), source: None, line: None }
    }

    fn short(&self) -> String {
        match (&self.source, self.line) {
            (Some(source), Some(line)) => {
                let file = source.rsplit('/').next().unwrap_or(source);
                format!("{} ({file}:{line})", self.function)
            }
            _ => self.function.clone(),
        }
    }
}
