// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a stream did in one run, as one number: equal numbers, equal behaviour.
//! Times are left out. So ranks that do the same are stored once.

use ioracle_events::{Access, Operation};

use crate::hash::{self, combine};
use crate::oracle::Oracle;

/// A hash over the operations of a run, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour(u64);

impl Behaviour {
    /// One more operation, which the oracle has taken in already.
    pub fn observe(&mut self, oracle: &Oracle, operation: &Operation, path: Option<&str>) {
        let symbol = oracle.symbol_of(operation).map_or(0, |symbol| oracle.contexts.tag(symbol.0));
        let offset = operation.offset.map_or(0, |offset| offset.wrapping_add(1));
        let parts = [u64::from(symbol), offset, operation.size];
        self.0 = parts.into_iter().fold(self.0, combine);
        // What follows an open is on files that were named before.
        if operation.access() == Access::Open {
            self.0 = combine(self.0, path.map_or(0, hash::text));
        }
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn from_number(number: u64) -> Behaviour {
        Behaviour(number)
    }
}
