// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done to the variables and datasets of files.
//!
//! Only calls of the program itself count: a netCDF variable that HDF5 stores
//! as a dataset is one. What HDF5 tells of the dataset, its chunks, is taken
//! from the calls inside.

mod part;

use std::collections::HashMap;

use ioracle_events::{Access, Event, FileId, Function, Layer};

use self::part::Selected;
pub use self::part::{Part, Parts};
use super::{Moved, count_call, duration_ns};

/// Variables counted apart, and bytes of their names.
const MAX_VARIABLES: usize = 1 << 16;
const MAX_NAME_BYTES: usize = 1 << 24;

/// All variables that were seen.
#[derive(Debug, Default)]
pub struct Variables {
    /// By file, and name without the slash before it, which only HDF5 writes.
    files: HashMap<FileId, HashMap<Box<str>, VariableTally>>,
    n_variables: usize,
    n_name_bytes: usize,
}

/// What was done to one variable.
#[derive(Clone, Debug, Default)]
pub struct VariableTally {
    /// As the program calls it.
    pub name: Box<str>,
    pub read: Moved,
    pub written: Moved,
    /// By function.
    pub calls: Vec<(Function, Moved)>,
    /// What parts of it are accessed.
    pub parts: Parts,
    /// Elements of a chunk along each dimension, where there are chunks.
    pub chunk: Option<Box<[u64]>>,
    pub touched: Touched,
}

/// Chunks that accesses have touched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touched {
    pub accesses: u64,
    pub chunks: u64,
    /// Elements of these chunks, and those among them that were asked for.
    pub elements: f64,
    pub selected: f64,
    pub io_ns: u64,
}

impl Variables {
    /// Takes an event in, if it is of a variable.
    pub fn add(&mut self, event: &Event) {
        let access = event.function.access();
        let is_of_attribute = event.function.name().starts_with("H5A");
        if event.function.layer() != Layer::HighLevel || event.failed() || is_of_attribute {
            return;
        }
        let Some(name) = event.object().filter(|name| !matches!(*name, "" | "?")) else { return };
        let told = event.selection().unwrap_or_default();
        if access.is_data() && event.depth == 0 {
            if let Some(variable) = self.variable(event.file, name) {
                variable.add(event, name, told);
            }
        } else if access == Access::Define
            && let Some(chunk) = part::numbers(told, "chunk")
            && let Some(variable) = self.variable(event.file, name)
        {
            variable.chunk = Some(chunk.into());
        }
    }

    /// All with their files, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &VariableTally)> {
        let files = self.files.iter();
        files
            .flat_map(|(file, variables)| variables.values().map(|variable| (*file, variable)))
            .filter(|(_, variable)| !variable.calls.is_empty())
    }

    fn variable(&mut self, file: FileId, name: &str) -> Option<&mut VariableTally> {
        let key = name.trim_start_matches('/');
        let is_known = self.files.get(&file).is_some_and(|names| names.contains_key(key));
        if !is_known {
            if self.n_variables >= MAX_VARIABLES || self.n_name_bytes + key.len() > MAX_NAME_BYTES {
                return None;
            }
            self.n_variables += 1;
            self.n_name_bytes += key.len();
            let names = self.files.entry(file).or_default();
            names.insert(key.into(), VariableTally::default());
        }
        self.files.get_mut(&file)?.get_mut(key)
    }
}

impl VariableTally {
    fn add(&mut self, event: &Event, name: &str, selection: &str) {
        if self.name.is_empty() {
            self.name = name.into();
        }
        let (bytes, io_ns) = (event.transferred(), duration_ns(event));
        match event.function.access() {
            Access::Read => self.read.add(bytes, io_ns),
            _ => self.written.add(bytes, io_ns),
        }
        count_call(&mut self.calls, event.function, bytes, io_ns);
        let selected = self.parts.add(selection);
        if let (Some(selected), Some(chunk)) = (&selected, &self.chunk) {
            self.touched.add(selected, chunk, io_ns);
        }
    }
}

impl Touched {
    fn add(&mut self, selected: &Selected, chunk: &[u64], io_ns: u64) {
        let Some((chunks, elements)) = selected.chunks(chunk) else { return };
        self.accesses += 1;
        self.chunks = self.chunks.saturating_add(chunks);
        self.elements += elements;
        self.selected += selected.n_elements();
        self.io_ns = self.io_ns.saturating_add(io_ns);
    }

    /// Adds what was touched of another variable.
    pub fn join(&mut self, other: &Touched) {
        self.accesses += other.accesses;
        self.chunks = self.chunks.saturating_add(other.chunks);
        self.elements += other.elements;
        self.selected += other.selected;
        self.io_ns = self.io_ns.saturating_add(other.io_ns);
    }

    /// How much more the chunks hold than what was asked for.
    pub fn excess(&self) -> f64 {
        if self.selected > 0.0 { self.elements / self.selected } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::event;
    use super::*;

    fn call(name: &str, file: u32, bytes: u64, detail: &str) -> Event {
        Event { detail: detail.into(), ..event(name, file, Some((0, bytes))) }
    }

    #[test]
    fn calls_are_counted_by_file_and_variable_and_only_the_programs_own() {
        let mut variables = Variables::default();
        for step in 0..4 {
            let detail = format!("T start={step}:0 count=1:100");
            variables.add(&call("nc_put_vara", 1, 800, &detail));
            let inner = call("H5Dwrite", 1, 800, &format!("/{detail}"));
            variables.add(&Event { depth: 1, ..inner });
        }
        variables.add(&call("nc_get_var", 2, 30, "T"));
        variables.add(&Event { result: -1, ..call("nc_get_var", 2, 30, "T") });
        variables.add(&call("ncmpi_wait_all", 1, 0, "request=3"));
        variables.add(&call("H5Aread", 2, 8, "/T@units"));
        variables.add(&call("nc_get_vara", 2, 30, "? start=0 count=1"));
        let mut told: Vec<_> =
            variables.iter().map(|(file, it)| (file.0, &*it.name, it.read, it.written)).collect();
        told.sort_unstable_by_key(|row| row.0);
        let moved = |operations, bytes| Moved { operations, bytes, io_ns: operations * 10_000 };
        let none = Moved::default();
        assert_eq!(told, [(1, "T", none, moved(4, 3200)), (2, "T", moved(1, 30), none)]);
    }

    /// netCDF names a variable `T` and HDF5 the dataset that it is `/T`.
    #[test]
    fn chunks_that_hdf5_tells_are_those_of_the_variable() {
        let mut variables = Variables::default();
        let inner = call("H5Dopen", 1, 0, "/T chunk=10:10 filters=deflate");
        variables.add(&Event { depth: 1, ..inner });
        assert_eq!(variables.iter().count(), 0);
        for row in 0..5 {
            let detail = format!("T start={row}:0 count=1:100");
            variables.add(&call("nc_get_vara", 1, 400, &detail));
        }
        let (_, variable) = variables.iter().next().unwrap();
        let touched = variable.touched;
        assert_eq!((touched.accesses, touched.chunks, touched.excess()), (5, 50, 10.0));
    }

    #[test]
    fn names_beyond_the_bound_are_not_kept() {
        let mut variables = Variables::default();
        let long = "x".repeat(MAX_NAME_BYTES - 1);
        variables.add(&call("nc_get_var", 1, 8, &long));
        variables.add(&call("nc_get_var", 1, 8, "ab"));
        variables.add(&call("nc_get_var", 1, 8, "a"));
        variables.add(&call("nc_get_var", 1, 8, "a"));
        let names: Vec<_> = variables.iter().map(|(_, it)| it.calls[0].1.operations).collect();
        assert_eq!(names.iter().sum::<u64>(), 3);
    }
}
