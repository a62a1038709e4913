// SPDX-License-Identifier: MIT OR Apache-2.0

//! The parts of a call that has several: its time is divided among their variables, and
//! it counts once for each of these.
//!
//! In a trace, the first part has all of the time. How many follow is known when the
//! call is over: with the next one of its thread, or with the thread's end.

use ioracle_events::{Access, FastSet, Function};

/// Parts that take a share; of calls with more, the first ones do.
const MAX_PARTS: usize = 1 << 12;

/// The call that a thread has made last.
#[derive(Debug, Default)]
pub struct LastCall {
    io_ns: u64,
    parts: Vec<Counted>,
    /// Numbers of the variables of these parts.
    variables: FastSet<usize>,
}

/// A part as it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Number of the variable.
    pub variable: usize,
    pub function: Function,
    /// Which way the data goes.
    pub way: Access,
    pub bytes: u64,
}

impl LastCall {
    /// A new call begins.
    pub fn begin(&mut self, io_ns: u64) {
        self.io_ns = io_ns;
        self.parts.clear();
        self.variables.clear();
    }

    /// Whether a part that is now counted is the call's first of its variable; of
    /// more variables than there are parts that take a share, none is.
    pub fn is_first_of(&mut self, variable: usize) -> bool {
        self.variables.len() < MAX_PARTS && self.variables.insert(variable)
    }

    /// A part of it was counted; the first one with all of its time.
    pub fn push(&mut self, part: Counted) {
        if self.parts.len() < MAX_PARTS {
            self.parts.push(part);
        }
    }

    /// What each part takes of the time that the first one was given: in proportion to
    /// bytes, which time mostly follows. Nothing for a call of one part.
    pub fn shares(&self) -> impl Iterator<Item = (&Counted, u64)> {
        let weight = |part: &Counted| u128::from(part.bytes) + 1;
        let all: u128 = self.parts.iter().map(weight).sum();
        let further = self.parts.iter().skip(1);
        further.map(move |part| {
            let share = u128::from(self.io_ns) * weight(part) / all;
            (part, u64::try_from(share).unwrap_or(0))
        })
    }

    /// The part that has all of the time so far.
    pub fn first(&self) -> Option<&Counted> {
        self.parts.first()
    }
}
