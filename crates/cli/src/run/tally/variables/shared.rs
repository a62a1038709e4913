// SPDX-License-Identifier: MIT OR Apache-2.0

//! The time of a call of several parts, shared by the variables of its parts.
//!
//! A trace has all of it at the first part. How many follow is known when the
//! call is over: with the next one of its thread, or with the thread's end.

use ioracle_events::{Access, Function};

/// Parts that take a share; of calls with more, the first ones do.
const MAX_PARTS: usize = 1 << 12;

/// The call that a thread has made last.
#[derive(Debug, Default)]
pub struct LastCall {
    io_ns: u64,
    parts: Vec<Counted>,
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
    }

    /// A part of it was counted; the first one with all of its time.
    pub fn push(&mut self, part: Counted) {
        if self.parts.len() < MAX_PARTS {
            self.parts.push(part);
        }
    }

    /// What each part takes of the time that the first one was given: by bytes,
    /// which is what time goes with where it matters. Nothing for a call of one
    /// part.
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
