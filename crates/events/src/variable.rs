// SPDX-License-Identifier: MIT OR Apache-2.0

//! Accesses to variables: data calls of HDF5, netCDF and PnetCDF as operations
//! of a stream of their own, above the one of bytes.
//!
//! Only calls of the program itself count. A netCDF-4 variable is a dataset of HDF5,
//! and `nc_put_vara` calls `H5Dwrite`: that is the library's own business, and counting
//! both would make two accesses of one. Attributes are not variables.
//!
//! A variable takes the place of the file, so that everything known about files (order,
//! names with counters, positions) holds for variables too; its name is the file's path
//! and its own. The offset is where the selection begins when the variable lies row by
//! row. Its shape is not recorded, so it is taken to reach as far as any access has, to
//! it or to the last one of its name, which is right once the program has gone through
//! it once.
//!
//! A loop over all variables of a file makes its calls in one place. The place
//! and the variable together are the context here, so that what is learned is
//! the order of variables; digits in a name do not count, since `/step_12/x` is
//! the same thing as `/step_11/x` one step later.
//!
//! Nor do files: `x` in `out_12.nc` is what `x` in `out_11.nc` was. So that it can be
//! learned when a program goes on to the next file, however many accesses each file
//! takes, the first access to a variable since its file was opened is a separate
//! context, once one of its name was accessed more than once.

mod shape;

use std::collections::VecDeque;

pub use self::shape::VariablePart;

use self::shape::Shape;
use crate::escape::readable;
use crate::event::{ContextId, Event, FileId, StreamId};
use crate::map::{FastMap, FastSet};
use crate::operation::Operation;
use crate::prediction::PredictedFile;
use ioracle_functions::{Access, Layer};

/// Stands between the path of a file and the name of a variable in it. Neither
/// can hold it.
pub const SEPARATOR: char = '\0';

/// Variables distinguished; beyond, the one that was new first is forgotten, and
/// gets a new number when it comes again.
const MAX_VARIABLES: usize = 1 << 16;

/// Contexts distinguished; accesses in further ones are left out.
const MAX_CONTEXTS: usize = 1 << 16;

/// Variables and names of open files that are held; at the bound all are forgotten.
const MAX_ACCESSED: usize = 1 << 16;

/// The variables of a job by number, and their accesses.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    numbers: FastMap<FileId, FastMap<Box<str>, FileId>>,
    known: VecDeque<Variable>,
    /// Variables with numbers below this are forgotten.
    n_forgotten: u32,
    /// The variable accessed last, by its name without digits.
    latest: FastMap<Box<str>, FileId>,
    contexts: Vec<VariableContext>,
    context_numbers: FastMap<VariableContext, ContextId>,
    opened: OpenFileVariables,
}

/// Where variables are accessed, and which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariableContext {
    /// The call stack.
    pub stack: ContextId,
    /// The name without its digits.
    pub pattern: Box<str>,
    /// Whether they are accessed there for the first time since their files were
    /// opened, and more than once is usual.
    pub is_first: bool,
}

impl VariableContext {
    /// What distinguishes contexts of one call stack, the same in every run.
    pub fn mark(&self) -> String {
        let first = if self.is_first { "first" } else { "" };
        format!("{}{SEPARATOR}{first}", self.pattern)
    }
}

#[derive(Clone, Debug)]
struct Variable {
    file: FileId,
    name: Box<str>,
    shape: Shape,
}

impl Variables {
    /// An event as an access to a variable; None if it is not one.
    pub fn access(&mut self, event: &Event) -> Option<Operation> {
        if event.function.layer() != Layer::HighLevel || event.depth > 0 || event.failed() {
            return None;
        }
        match event.function.access() {
            Access::Open | Access::Close => {
                self.opened.begin(event.stream, event.file);
                None
            }
            Access::Read | Access::Write => self.data_access(event, &readable(event.variable()?)),
            _ => None,
        }
    }

    /// What the context of an access stands for.
    pub fn context(&self, number: ContextId) -> Option<&VariableContext> {
        self.contexts.get((number.0 as usize).checked_sub(1)?)
    }

    /// The file of a variable, and its name there.
    pub fn get(&self, number: FileId) -> Option<(FileId, &str)> {
        let variable = self.known.get(self.place(number)?)?;
        Some((variable.file, &variable.name))
    }

    /// The part of a variable that an access to it is about, as far as earlier accesses
    /// show; for a variable never seen, those to the last one of its name.
    pub fn part(&self, variable: &PredictedFile, offset: u64, bytes: u64) -> Option<VariablePart> {
        let number = match variable {
            PredictedFile::Known(number) => *number,
            PredictedFile::New(name) => {
                let (_, name) = name.split_once(SEPARATOR)?;
                *self.latest.get(pattern(name).as_str())?
            }
        };
        self.known.get(self.place(number)?)?.shape.part(offset, bytes)
    }

    fn data_access(&mut self, event: &Event, name: &str) -> Option<Operation> {
        let pattern = pattern(name);
        let number = self.number(event.file, name, &pattern)?;
        let is_first = self.opened.is_first(event.stream, (event.file, number), &pattern);
        let context =
            VariableContext { stack: event.context, pattern: pattern.as_str().into(), is_first };
        let context = self.context_number(context)?;
        match self.latest.get_mut(pattern.as_str()) {
            Some(latest) => *latest = number,
            None => drop(self.latest.insert(pattern.into(), number)),
        }
        let place = self.place(number)?;
        let shape = &mut self.known.get_mut(place)?.shape;
        let offset = shape.offset(event.selection().unwrap_or_default(), event.requested);
        Some(Operation { file: number, context, offset, ..Operation::from(event) })
    }

    fn context_number(&mut self, context: VariableContext) -> Option<ContextId> {
        if let Some(number) = self.context_numbers.get(&context) {
            return Some(*number);
        }
        if self.contexts.len() >= MAX_CONTEXTS {
            return None;
        }
        self.contexts.push(context.clone());
        let number = ContextId(self.contexts.len() as u32);
        self.context_numbers.insert(context, number);
        Some(number)
    }

    fn number(&mut self, file: FileId, name: &str, pattern: &str) -> Option<FileId> {
        if let Some(number) = self.numbers.get(&file).and_then(|names| names.get(name)) {
            return Some(*number);
        }
        if self.known.len() >= MAX_VARIABLES {
            self.forget_oldest();
        }
        let like_last =
            self.latest.get(pattern).and_then(|last| self.known.get(self.place(*last)?));
        let shape = like_last.map(|last| last.shape.clone()).unwrap_or_default();
        let number = FileId(self.n_forgotten.checked_add(self.known.len() as u32)?.checked_add(1)?);
        self.known.push_back(Variable { file, name: name.into(), shape });
        self.numbers.entry(file).or_default().insert(name.into(), number);
        Some(number)
    }

    fn forget_oldest(&mut self) {
        let Some(Variable { file, name, .. }) = self.known.pop_front() else { return };
        self.n_forgotten += 1;
        if let Some(names) = self.numbers.get_mut(&file) {
            names.remove(&name);
            if names.is_empty() {
                self.numbers.remove(&file);
            }
        }
    }

    fn place(&self, number: FileId) -> Option<usize> {
        Some(number.0.checked_sub(self.n_forgotten)?.checked_sub(1)? as usize)
    }
}

/// A name without its digits.
fn pattern(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Which variables a stream has accessed since it opened their files.
#[derive(Clone, Debug, Default)]
struct OpenFileVariables {
    accessed: FastMap<(StreamId, FileId), FastSet<FileId>>,
    n_accessed: usize,
    /// Names without digits of which a variable was accessed more than once.
    repeated: FastMap<StreamId, FastSet<Box<str>>>,
    n_repeated: usize,
}

impl OpenFileVariables {
    /// A stream has opened or closed a file.
    fn begin(&mut self, stream: StreamId, file: FileId) {
        let before = self.accessed.remove(&(stream, file));
        self.n_accessed -= before.map_or(0, |before| before.len());
    }

    /// Whether an access to a variable of the file is the first since then, where
    /// several are expected, because one of its name was accessed again before.
    fn is_first(
        &mut self,
        stream: StreamId,
        (file, variable): (FileId, FileId),
        name: &str,
    ) -> bool {
        if self.n_accessed.max(self.n_repeated) >= MAX_ACCESSED {
            *self = OpenFileVariables::default();
        }
        let is_new = self.accessed.entry((stream, file)).or_default().insert(variable);
        self.n_accessed += usize::from(is_new);
        let repeated = self.repeated.entry(stream).or_default();
        let is_repeated = repeated.contains(name);
        if !is_new && !is_repeated {
            repeated.insert(name.into());
            self.n_repeated += 1;
        }
        is_new && is_repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ContextId, StreamId};
    use ioracle_functions::Function;

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
        // The first of several accesses has its own context, once there were several.
        let numbers = [("/s_2/x", 5), ("/s_3/x", 5), ("/s_3/x", 5), ("/s_3/y", 5)]
            .map(|(name, stack)| context(name, stack));
        assert_eq!(numbers, [1, 4, 1, 2]);
        let fourth =
            VariableContext { stack: ContextId(5), pattern: "/s_/x".into(), is_first: true };
        assert_eq!(variables.context(ContextId(4)), Some(&fourth));
    }

    /// A program that keeps making new variables was once not followed beyond a certain
    /// number.
    #[test]
    fn of_too_many_variables_the_oldest_are_forgotten() {
        let mut variables = Variables::default();
        let mut number = |step: usize| {
            let name = format!("/step_{step}/x");
            variables.access(&event(Layer::HighLevel, "H5Dwrite", &name, 8)).unwrap().file.0
        };
        let last = MAX_VARIABLES + 9;
        assert!((0..=last).all(|step| number(step) as usize == step + 1));
        assert_eq!(number(last) as usize, last + 1, "it is known");
        assert_eq!(number(0) as usize, last + 2, "it is known no more");
        let file = FileId(7);
        assert_eq!(
            variables.get(FileId(last as u32 + 1)),
            Some((file, &*format!("/step_{last}/x")))
        );
        assert_eq!(variables.get(FileId(last as u32 + 2)), Some((file, "/step_0/x")));
        assert_eq!(variables.get(FileId(9)), None);
        assert_eq!(variables.known.len(), MAX_VARIABLES);
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
