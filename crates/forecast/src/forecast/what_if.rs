// SPDX-License-Identifier: MIT OR Apache-2.0

//! What would help most on the target: changes of the program, and the seconds that
//! each would save there.

use super::Forecast;
use crate::class::{ClassPattern, IoClass, Kind, SizeBin};
use crate::lookup::{PairedSystems, Replays};
use crate::profile::{Direction, Profile};
use crate::system::System;

/// What small transfers could become.
const LARGE: u64 = 1 << 20;
/// Savings below this share of the I/O time are not worth a line.
const MIN_SHARE: f64 = 0.005;

/// A change and what it would save.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// The change, in words.
    pub change: String,
    /// Seconds of I/O time, of all processes together.
    pub saves_s: f64,
}

impl Forecast {
    /// Changes that would help on the target, the best first. `others` are further
    /// systems, each with the forecast for it.
    pub fn what_if(
        &self,
        runs: &[Profile],
        reference: &System,
        target: &System,
        others: &[(String, Forecast)],
    ) -> Vec<WhatIf> {
        let mut found = vec![
            self.larger_transfers(target),
            self.sequential(target),
            self.fewer_files(),
            self.overlapped(runs, Direction::Read),
            self.overlapped(runs, Direction::Write),
        ];
        found.extend(others.iter().map(|(name, other)| WhatIf {
            change: format!("run on {name}"),
            saves_s: self.total_s - other.total_s,
        }));
        found.push(WhatIf {
            change: format!("stay on {}", reference.name),
            saves_s: self.total_s - self.reference_s,
        });
        found.retain(|it| it.saves_s > MIN_SHARE * self.total_s);
        found.sort_by(|one, other| other.saves_s.total_cmp(&one.saves_s));
        found
    }

    /// Each class of small transfers in pieces of a mebibyte, as aggregation or
    /// collective calls would make them.
    fn larger_transfers(&self, target: &System) -> WhatIf {
        let systems = PairedSystems::new(target, target, Replays::Ignored);
        let mut is_collective = false;
        let saves_s = (self.classes.iter())
            .filter(|row| row.class.kind.is_data() && row.class.size.bytes() < LARGE)
            .filter(|row| row.calls > 1.0 && row.mean_bytes > 0)
            .map(|row| {
                let large = IoClass { size: SizeBin::of(LARGE), ..row.class };
                let Some(times) = systems.times(&large, LARGE) else { return 0.0 };
                let bytes = row.calls * row.mean_bytes as f64;
                let saved = row.target_s - times.target_s * (bytes / LARGE as f64).max(1.0);
                is_collective |= row.class.shared && saved > 0.0;
                saved.max(0.0)
            })
            .sum();
        let how = if is_collective { ", for example with collective calls" } else { "" };
        WhatIf { change: format!("move data in pieces of 1 MiB{how}"), saves_s }
    }

    /// Every access where the one before it ended.
    fn sequential(&self, target: &System) -> WhatIf {
        let systems = PairedSystems::new(target, target, Replays::Ignored);
        let jumps = |pattern| !matches!(pattern, ClassPattern::Sequential);
        let saves_s = (self.classes.iter())
            .filter(|row| row.class.kind.is_data() && jumps(row.class.pattern))
            .filter_map(|row| {
                let straight = IoClass { pattern: ClassPattern::Sequential, ..row.class };
                let mean_s = row.target_s / row.calls.max(1.0);
                let now = systems.times(&row.class, row.mean_bytes)?;
                let then = systems.times(&straight, row.mean_bytes)?;
                // Only what both were measured for says something.
                let is_known = now.instead.is_none() && then.instead.is_none();
                let share = 1.0 - then.target_s / now.target_s;
                Some(if is_known { (share * mean_s * row.calls).max(0.0) } else { 0.0 })
            })
            .sum();
        WhatIf { change: "access files from beginning to end instead of jumping".into(), saves_s }
    }

    /// One file in the place of many.
    fn fewer_files(&self) -> WhatIf {
        let kinds = [Kind::Open, Kind::Create, Kind::Close, Kind::Delete];
        let rows = || self.classes.iter().filter(|row| kinds.contains(&row.class.kind));
        let opens =
            |row: &&super::ClassForecast| matches!(row.class.kind, Kind::Open | Kind::Create);
        let n_opens: f64 = rows().filter(opens).map(|row| row.calls).sum();
        // A close that writes data back takes its time with one file too.
        let time: f64 = rows()
            .filter(|row| row.class.direction() == Direction::Metadata)
            .map(|row| row.target_s)
            .sum();
        let saves_s = if n_opens > 1.0 { time * (1.0 - 1.0 / n_opens) } else { 0.0 };
        let change = format!("use one file, opened once, instead of {n_opens:.0} opens");
        WhatIf { change, saves_s }
    }

    /// Reading ahead, or writing behind, while the program computes.
    fn overlapped(&self, runs: &[Profile], direction: Direction) -> WhatIf {
        let n = runs.len().max(1) as f64;
        let computing: f64 = runs
            .iter()
            .map(|run| (run.span_ns as f64 * 1e-9 * run.streams as f64 - run.total_s()).max(0.0))
            .sum::<f64>()
            / n;
        let (change, io_s) = match direction {
            Direction::Read => ("read ahead while the program computes (--prefetch)", self.read_s),
            _ => ("write while the program computes (asynchronous I/O)", self.write_s),
        };
        WhatIf { change: change.into(), saves_s: io_s.min(computing) }
    }
}
