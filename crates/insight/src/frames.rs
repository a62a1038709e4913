// SPDX-License-Identifier: MIT OR Apache-2.0

//! The frames of call stacks, and the functions and source lines behind them.

use std::collections::HashMap;

use ioracle_events::{ContextId, is_interpreter};
use serde::Serialize;

/// Call stacks that are kept; those beyond have no frames in findings and reports.
const MAX_CONTEXTS: usize = 1 << 18;
/// Frames whose place in the source is kept.
const MAX_SOURCES: usize = 1 << 18;
/// Frames of a stack that a finding names.
const MAX_STACK: usize = 6;
/// Libraries that do I/O for programs: what to change is in their callers.
const IO_LIBRARIES: [&str; 18] = [
    "libc.so",
    "libc-",
    "ld-linux",
    "libpthread",
    "libhdf5",
    "libnetcdf",
    "libpnetcdf",
    "libmpi",
    "libmpich",
    "libopen-pal",
    "libopen-rte",
    "mca_",
    "libgfortran",
    "libstdc++",
    "libgomp",
    "libucp",
    "libfabric",
    "libioracle",
];

/// The call stacks of a job.
#[derive(Debug, Default)]
pub struct Frames {
    contexts: HashMap<ContextId, Box<str>>,
    sources: HashMap<Box<str>, FrameSource>,
}

/// Where in the source a frame is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSource {
    /// The function, if it has a name.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

/// A frame of a call stack, with what is known about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackFrame {
    /// `module+0xoffset`.
    pub frame: String,
    /// The function.
    pub function: Option<String>,
    /// Source file and line, `solve.c:42`.
    pub source: Option<String>,
}

impl Frames {
    /// Defines the frames of a call stack, innermost first, separated by `;`.
    pub fn define(&mut self, id: ContextId, frames: &str) {
        if self.contexts.len() < MAX_CONTEXTS {
            self.contexts.insert(id, frames.into());
        }
    }

    /// Defines where a frame, as call stacks name it, is in the source.
    pub fn define_source(&mut self, frame: &str, source: FrameSource) {
        if self.sources.len() < MAX_SOURCES {
            self.sources.insert(frame.into(), source);
        }
    }

    /// The frames of a call stack as text.
    pub fn text(&self, id: ContextId) -> &str {
        self.contexts.get(&id).map_or("", |frames| &**frames)
    }

    /// The frames of a call stack.
    pub fn outermost_first(&self, id: ContextId) -> impl Iterator<Item = &str> {
        self.text(id).rsplit(';').filter(|frame| !frame.is_empty() && *frame != "?")
    }

    /// A frame as people read it, and its source file and line.
    pub fn described(&self, frame: &str) -> (String, Option<String>) {
        let StackFrame { frame, function, source } = self.frame(frame);
        (function.unwrap_or(frame), source)
    }

    /// Who makes the calls of a context: the innermost frame that is in no library for
    /// I/O, and those that called it; but not all if there are many. If all are in
    /// libraries, the innermost ones. Empty if an interpreter makes them: lines of its
    /// source are not places in the program that it runs.
    pub fn stack(&self, id: ContextId) -> Vec<StackFrame> {
        let frames =
            || self.text(id).split(';').filter(|it| !it.is_empty() && !it.starts_with('?'));
        let own = frames().skip_while(|frame| is_in_library(frame));
        if own.clone().next().is_some_and(is_in_interpreter) {
            return Vec::new();
        }
        // Startup code is of no interest.
        let mut stack: Vec<&str> = own.take(MAX_STACK).collect();
        while stack.len() > 1 && stack.last().is_some_and(|last| is_in_library(last)) {
            stack.pop();
        }
        if stack.is_empty() {
            stack = frames().take(MAX_STACK).collect();
        }
        stack.into_iter().map(|frame| self.frame(frame)).collect()
    }

    /// A frame, with what is known about it.
    pub(crate) fn frame(&self, frame: &str) -> StackFrame {
        let known = self.sources.get(frame);
        let source = known.and_then(|known| {
            let line = known.line.map(|line| format!(":{line}")).unwrap_or_default();
            Some(format!("{}{line}", known.file.as_ref()?))
        });
        let function = known.and_then(|known| known.function.clone());
        StackFrame { frame: frame.to_owned(), function, source }
    }
}

impl StackFrame {
    /// `solve (solve.c:42)`, as far as it is known.
    pub fn in_words(&self) -> Option<String> {
        let function = self.function.as_ref()?;
        Some(match &self.source {
            Some(source) => format!("{function} ({source})"),
            None => function.clone(),
        })
    }
}

fn is_in_interpreter(frame: &str) -> bool {
    frame.rsplit_once("+0x").is_some_and(|(module, _)| is_interpreter(module))
}

fn is_in_library(frame: &str) -> bool {
    IO_LIBRARIES.iter().any(|library| frame.starts_with(library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_begins_where_the_program_calls_the_library() {
        let mut frames = Frames::default();
        let id = ContextId(1);
        frames.define(id, "libc.so.6+0x1;libhdf5.so.103+0x2;app+0x3;app+0x4;libc.so.6+0x5");
        let source =
            FrameSource { function: Some("save".into()), file: Some("a.c".into()), line: Some(7) };
        frames.define_source("app+0x3", source);
        let stack = frames.stack(id);
        assert_eq!(stack.len(), 2);
        assert_eq!(stack[0].in_words().as_deref(), Some("save (a.c:7)"));
        assert_eq!((stack[1].frame.as_str(), stack[1].in_words()), ("app+0x4", None));
        frames.define(ContextId(2), "libc.so.6+0x1;libc.so.6+0x2");
        assert_eq!(frames.stack(ContextId(2)).len(), 2);
        assert_eq!(frames.stack(ContextId(3)), []);
    }

    /// Advice on a Python script once named a line of CPython's `fileutils.c`.
    #[test]
    fn an_interpreter_is_no_place_in_the_program() {
        let mut frames = Frames::default();
        frames.define(ContextId(1), "libc.so.6+0x1;python3.11+0x2;python3.11+0x3");
        frames.define(ContextId(2), "libhdf5.so.103+0x1;h5d.cpython-311.so+0x2;python3+0x3");
        assert_eq!(frames.stack(ContextId(1)), []);
        assert_eq!(frames.stack(ContextId(2)), []);
    }
}
