// SPDX-License-Identifier: MIT OR Apache-2.0

//! Accesses to variables: data calls of HDF5, netCDF and PnetCDF as operations
//! of a stream of their own, above the one of bytes.
//!
//! A variable takes the place of the file, so that all that is known of files
//! (order, names with counters, positions) holds for variables too; its name is
//! the file's path and its own. The offset is where the selection begins when
//! the variable lies row by row. Its shape is not told, so it is taken to reach
//! as far as any access has, which is right once the program has been through
//! one round of it.
//!
//! A loop over all variables of a file makes its calls in one place. The place
//! and the variable together are the context here, so that what is learned is
//! the order of variables; digits in a name do not count, since `/step_12/x` is
//! the same thing as `/step_11/x` one step later.

use std::collections::HashMap;

use crate::event::{ContextId, Event, FileId};
use crate::function::Layer;
use crate::operation::Operation;

/// Stands between the path of a file and the name of a variable in it. Neither
/// can hold it.
pub const SEPARATOR: char = '\0';

/// Variables told apart, and contexts; accesses beyond them are not told.
const MAX_VARIABLES: usize = 1 << 16;

/// Dimensions looked at; the first ones of a variable with more.
const MAX_DIMENSIONS: usize = 32;

/// The variables of a job by number, and their accesses.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    numbers: HashMap<FileId, HashMap<Box<str>, FileId>>,
    known: Vec<Variable>,
    contexts: Vec<VariableContext>,
    context_numbers: HashMap<VariableContext, ContextId>,
}

/// Where variables are accessed, and which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariableContext {
    /// The call stack.
    pub stack: ContextId,
    /// The name without its digits.
    pub pattern: Box<str>,
}

#[derive(Clone, Debug)]
struct Variable {
    file: FileId,
    name: Box<str>,
    /// How far accesses have reached, by dimension.
    extents: Vec<u64>,
}

impl Variables {
    /// An event as an access to a variable; None if it is none.
    pub fn access(&mut self, event: &Event) -> Option<Operation> {
        let is_access = event.function.layer() == Layer::HighLevel
            && event.function.access().is_data()
            && !event.failed();
        let name = event.object().filter(|_| is_access)?;
        let number = self.number(event.file, name)?;
        let variable = self.known.get_mut(place(number)?)?;
        let offset = variable.offset(event.selection().unwrap_or_default(), event.requested);
        let context = self.context_number(event.context, name)?;
        Some(Operation { file: number, context, offset, ..Operation::from(event) })
    }

    /// What the context of an access stands for.
    pub fn context(&self, number: ContextId) -> Option<&VariableContext> {
        self.contexts.get((number.0 as usize).checked_sub(1)?)
    }

    /// The file of a variable, and its name there.
    pub fn get(&self, number: FileId) -> Option<(FileId, &str)> {
        let variable = self.known.get(place(number)?)?;
        Some((variable.file, &variable.name))
    }

    fn context_number(&mut self, stack: ContextId, name: &str) -> Option<ContextId> {
        let pattern: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
        let context = VariableContext { stack, pattern: pattern.into() };
        if let Some(number) = self.context_numbers.get(&context) {
            return Some(*number);
        }
        if self.contexts.len() >= MAX_VARIABLES {
            return None;
        }
        self.contexts.push(context.clone());
        let number = ContextId(self.contexts.len() as u32);
        self.context_numbers.insert(context, number);
        Some(number)
    }

    fn number(&mut self, file: FileId, name: &str) -> Option<FileId> {
        if let Some(number) = self.numbers.get(&file).and_then(|names| names.get(name)) {
            return Some(*number);
        }
        if self.known.len() >= MAX_VARIABLES {
            return None;
        }
        let variable = Variable { file, name: name.into(), extents: Vec::new() };
        self.known.push(variable);
        let number = FileId(self.known.len() as u32);
        self.numbers.entry(file).or_default().insert(name.into(), number);
        Some(number)
    }
}

impl Variable {
    /// Where an access of so many bytes begins.
    fn offset(&mut self, selection: &str, bytes: u64) -> Option<u64> {
        let (start, count) = (numbers(selection, "start="), numbers(selection, "count="));
        let n_elements = count.iter().fold(1, |n: u64, count| n.saturating_mul(*count));
        let element = bytes.checked_div(n_elements)?;
        self.extents.resize(self.extents.len().max(start.len()), 0);
        let mut offset = 0_u64;
        for (n, (extent, first)) in self.extents.iter_mut().zip(&start).enumerate() {
            let end = first.saturating_add(count.get(n).copied().unwrap_or(1));
            *extent = (*extent).max(end);
            offset = offset.saturating_mul(*extent).saturating_add(*first);
        }
        Some(offset.saturating_mul(element))
    }
}

fn place(number: FileId) -> Option<usize> {
    (number.0 as usize).checked_sub(1)
}

/// The numbers of a part of a selection, as `start=0:12:4`.
fn numbers(selection: &str, part: &str) -> Vec<u64> {
    let text = selection.split(' ').find_map(|word| word.strip_prefix(part)).unwrap_or_default();
    text.split(':').take(MAX_DIMENSIONS).map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ContextId, StreamId};
    use crate::function::Function;

    fn event(layer: Layer, name: &str, detail: &str, bytes: u64) -> Event {
        Event {
            stream: StreamId { rank: 0, thread: 0 },
            sequence: 0,
            function: Function::from_name(layer, name).unwrap(),
            context: ContextId(1),
            file: FileId(7),
            handle: 1,
            offset: None,
            requested: bytes,
            result: 0,
            start_ns: 0,
            end_ns: 1,
            depth: 0,
            detail: detail.into(),
        }
    }

    #[test]
    fn slices_of_a_variable_are_at_their_place_in_it() {
        let mut variables = Variables::default();
        let mut offset = |detail: &str, bytes| {
            let access = variables.access(&event(Layer::HighLevel, "nc_put_vara", detail, bytes));
            access.map(|access| (access.file.0, access.offset))
        };
        assert_eq!(offset("T start=0:0:0 count=1:10:20", 800), Some((1, Some(0))));
        assert_eq!(offset("T start=1:0:0 count=1:10:20", 800), Some((1, Some(800))));
        assert_eq!(offset("time start=1 count=1", 8), Some((2, Some(8))));
        assert_eq!(offset("T start=2:5:0 count=1:5:20", 400), Some((1, Some(2000))));
        assert_eq!(offset("scalar", 8), Some((3, Some(0))));
        assert_eq!(offset("T start=2:0 count=0:0", 0), Some((1, None)));
        assert_eq!(offset("T start=x:y count=1:1", 8), Some((1, Some(0))));
        assert_eq!(variables.get(FileId(2)), Some((FileId(7), "time")));
        assert_eq!(variables.get(FileId(0)), None);
        assert_eq!(variables.context(ContextId(0)), None);
    }

    #[test]
    fn contexts_are_variables_at_places_whatever_their_counters() {
        let mut variables = Variables::default();
        let mut context = |name: &str, stack| {
            let event = event(Layer::HighLevel, "H5Dwrite", name, 8);
            let access = variables.access(&Event { context: ContextId(stack), ..event });
            access.unwrap().context.0
        };
        let numbers = [("/s_1/x", 5), ("/s_1/y", 5), ("/s_12/x", 5), ("/s_2/x", 6)]
            .map(|(name, stack)| context(name, stack));
        assert_eq!(numbers, [1, 2, 1, 3]);
        let third = VariableContext { stack: ContextId(6), pattern: "/s_/x".into() };
        assert_eq!(variables.context(ContextId(3)), Some(&third));
    }

    #[test]
    fn only_data_calls_of_libraries_that_succeeded_are_accesses() {
        let mut variables = Variables::default();
        let mut is_access = |event: &Event| variables.access(event).is_some();
        assert!(is_access(&event(Layer::HighLevel, "H5Dread", "/x", 8)));
        assert!(!is_access(&event(Layer::HighLevel, "H5Dopen", "/x", 0)));
        assert!(!is_access(&event(Layer::HighLevel, "H5Dread", "", 8)));
        assert!(!is_access(&event(Layer::MpiIo, "mpi_read_at", "", 8)));
        let failed = Event { result: -1, ..event(Layer::HighLevel, "H5Dread", "/x", 8) };
        assert!(!is_access(&failed));
    }
}
