// SPDX-License-Identifier: MIT OR Apache-2.0

//! The variables that took most time. Programs make new ones for every step,
//! `/step_17/x` or `x` in `out_0017.nc`: those that differ only by numbers in their
//! names are grouped.

use std::collections::{HashMap, HashSet};

use ioracle_events::{FileId, Function, readable};

use crate::names::{common, without_numbers};
use crate::summarise::{busiest_calls, in_seconds};
use crate::summary::BusyVariable;
use crate::tally::{SelectionPattern, Touched, TransferTally, VariableTallies, VariableTally};

/// Variables that a summary holds.
const MAX_VARIABLES: usize = 10;
/// From this many on, variables form a series. If there are fewer, the numbers in their
/// names may mean something: T2 is the temperature at 2 m.
const SERIES: usize = 8;

/// A variable and the path of its file.
type Variable<'a> = (String, &'a VariableTally);

/// A variable, or many of which a `*` in name or path stands for the number.
#[derive(Debug, Default)]
pub struct VariableGroup {
    pub name: String,
    pub path: String,
    /// How many they are.
    pub variables: usize,
    /// In how many files.
    pub files: usize,
    pub read: TransferTally,
    pub written: TransferTally,
    pub calls: Vec<(Function, TransferTally)>,
    pub touched: Touched,
    /// Bytes of files that the accesses turned into.
    pub from_file: u64,
    pub to_file: u64,
    /// What is said of each of them, if it is the same for all.
    pub part: Option<SelectionPattern>,
    pub counts: Option<Vec<u64>>,
    pub chunk: Option<Vec<u64>>,
}

/// All that were accessed, those that took most time first.
pub fn series(variables: &VariableTallies, path: &dyn Fn(FileId) -> String) -> Vec<VariableGroup> {
    let mut alike: HashMap<(String, String), Vec<Variable>> = HashMap::new();
    for (file, variable) in variables.iter() {
        let path = path(file);
        let key = (without_numbers(&path), without_numbers(&readable(&variable.name)));
        alike.entry(key).or_default().push((path, variable));
    }
    let mut all: Vec<VariableGroup> = Vec::new();
    for group in alike.into_values() {
        if group.len() >= SERIES {
            all.push(VariableGroup::of(&group));
        } else {
            all.extend(group.into_iter().map(|variable| VariableGroup::of(&[variable])));
        }
    }
    all.sort_by(|a, b| {
        let name = |series: &VariableGroup| (series.path.clone(), series.name.clone());
        b.io_ns().cmp(&a.io_ns()).then_with(|| name(a).cmp(&name(b)))
    });
    all
}

/// The first of them, for the summary.
pub fn busiest_variables(series: &[VariableGroup]) -> Vec<BusyVariable> {
    series.iter().take(MAX_VARIABLES).map(busy_variable).collect()
}

fn busy_variable(series: &VariableGroup) -> BusyVariable {
    BusyVariable {
        name: series.name.clone(),
        path: series.path.clone(),
        variables: series.variables,
        reads: series.read.operations,
        bytes_read: series.read.bytes,
        writes: series.written.operations,
        bytes_written: series.written.bytes,
        bytes_from_file: series.from_file,
        bytes_to_file: series.to_file,
        io_time_s: in_seconds(series.io_ns()),
        part: series.part,
        counts: series.counts.clone(),
        chunk: series.chunk.clone(),
        calls: busiest_calls(&series.calls),
    }
}

impl VariableGroup {
    fn of(row: &[Variable]) -> VariableGroup {
        let mut sum = VariableGroup {
            name: common(row.iter().map(|(_, variable)| readable(&variable.name))),
            path: common(row.iter().map(|(path, _)| path.as_str().into())),
            variables: row.len(),
            files: row.iter().map(|(path, _)| path).collect::<HashSet<_>>().len(),
            part: the_same(row, |variable| variable.parts.common()),
            counts: the_same(row, |variable| variable.parts.counts()).map(<[u64]>::to_vec),
            chunk: the_same(row, |variable| variable.chunk.as_deref()).map(<[u64]>::to_vec),
            ..VariableGroup::default()
        };
        for (_, variable) in row {
            sum.read.join(&variable.read);
            sum.written.join(&variable.written);
            sum.touched.join(&variable.touched);
            sum.from_file = sum.from_file.saturating_add(variable.from_file);
            sum.to_file = sum.to_file.saturating_add(variable.to_file);
            for (function, moved) in &variable.calls {
                match sum.calls.iter_mut().find(|(other, _)| other == function) {
                    Some((_, sum)) => sum.join(moved),
                    None => sum.calls.push((*function, *moved)),
                }
            }
        }
        // Other functions may access the same part each time.
        let is_whole = sum.calls.iter().all(|(function, _)| function.is_of_whole_variables());
        if sum.part == Some(SelectionPattern::Same) && is_whole {
            sum.part = Some(SelectionPattern::Whole);
        }
        sum
    }

    /// Time in all calls.
    pub fn io_ns(&self) -> u64 {
        self.read.io_ns.saturating_add(self.written.io_ns)
    }
}

/// What is said of all variables of a row, if it is the same.
fn the_same<'a, T: PartialEq>(
    row: &[Variable<'a>],
    of: impl Fn(&'a VariableTally) -> Option<T>,
) -> Option<T> {
    let first = of(row.first()?.1)?;
    row.iter().all(|(_, variable)| of(variable).as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use ioracle_events::Event;
    use ioracle_trace::{ReadOptions, Trace};

    use super::*;
    use crate::tally::tests::event;
    use crate::tally::{CountedLibrary, JobTally};

    fn grouped(events: impl Iterator<Item = (u32, String)>) -> Vec<(String, String, usize, u64)> {
        let mut tally = JobTally::default();
        for (file, detail) in events {
            let call = event("nc_put_vara", file, Some((0, 100)));
            tally.add(&Event { detail: detail.into(), ..call });
        }
        let path = |file: FileId| format!("out_{}.nc", file.0);
        busiest_variables(&series(&tally.variables, &path))
            .into_iter()
            .map(|it| (it.name, it.path, it.variables, it.bytes_written))
            .collect()
    }

    fn row(name: &str, path: &str, variables: usize, bytes: u64) -> (String, String, usize, u64) {
        (name.to_owned(), path.to_owned(), variables, bytes)
    }

    #[test]
    fn variables_of_many_steps_are_one_row() {
        let steps = (0..20).flat_map(|n| [(1, format!("/step_{n}/x")), (1, "T2".to_owned())]);
        let others = [(1, "T10".to_owned()), (2, "T2".to_owned())];
        let expected = [
            row("/step_*/x", "out_1.nc", 20, 2000),
            row("T2", "out_1.nc", 1, 2000),
            row("T10", "out_1.nc", 1, 100),
            row("T2", "out_2.nc", 1, 100),
        ];
        assert_eq!(grouped(steps.chain(others)), expected);
    }

    #[test]
    fn a_variable_of_many_files_is_one_row() {
        let files = (0..9).map(|file| (file, "T2".to_owned()));
        assert_eq!(grouped(files), [row("T2", "out_*.nc", 9, 900)]);
        let named = (0..9).map(|file| (file, "at%202%20m".to_owned()));
        assert_eq!(grouped(named), [row("at 2 m", "out_*.nc", 9, 900)]);
        let many = (0..50).map(|n| (1, format!("{}", char::from(b'A' + n))));
        assert_eq!(grouped(many).len(), MAX_VARIABLES);
    }

    #[test]
    fn parts_are_reported_where_all_of_a_row_have_them_in_common() {
        let part = |steps: u32| {
            let mut tally = JobTally::default();
            for n in 0..steps * 10 {
                let detail = format!("x{} start={}:0 count=1:5", n / 10, n % 10);
                let call = event("nc_get_vara", 1, Some((0, 40)));
                tally.add(&Event { detail: detail.into(), ..call });
            }
            let whole = Event { detail: "x0".into(), ..event("nc_get_var", 1, Some((0, 400))) };
            tally.add(&whole);
            let rows = busiest_variables(&series(&tally.variables, &|_| "a.nc".to_owned()));
            rows.into_iter().map(|row| (row.part, row.counts)).collect::<Vec<_>>()
        };
        let irregular = (Some(SelectionPattern::Irregular), None);
        assert_eq!(part(2), [irregular, (Some(SelectionPattern::Slices(1)), Some(vec![1, 5]))]);
        assert_eq!(part(8), [(None, None)]);
    }

    /// Two ranks of h5bench that write 8 datasets in each of 160 steps.
    #[test]
    fn datasets_of_a_real_trace_are_reported_by_their_series() {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces/h5bench-write");
        let trace = Trace::open(&place, ReadOptions::default()).unwrap();
        let mut tally = JobTally::default();
        for event in trace.events(None).unwrap() {
            tally.add(&event.unwrap());
        }
        let hdf5 = tally.libraries.of(CountedLibrary::Hdf5);
        assert_eq!((hdf5.calls, hdf5.written.operations), (7686, 2560));
        let rows = busiest_variables(&series(&tally.variables, &|file| format!("file{}", file.0)));
        // Two of the eight, id_1 and id_2, are one series.
        assert_eq!(
            rows.iter().map(|row| row.variables).collect::<BTreeSet<_>>(),
            [160, 320].into()
        );
        assert_eq!(rows.len(), 7);
        for row in rows {
            assert!(row.name.starts_with("/Timestep_*/"), "{}", row.name);
            assert_eq!(
                (row.writes, row.bytes_written >> 20),
                (2 * row.variables as u64, row.variables as u64)
            );
            assert_eq!(row.part, Some(SelectionPattern::Whole));
        }
    }
}
