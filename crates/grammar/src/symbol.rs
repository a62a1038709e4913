// SPDX-License-Identifier: MIT OR Apache-2.0

//! The names of things in a grammar.

use serde::{Deserialize, Serialize};

/// A symbol of the input stream. Any number will do; they need not be dense.
pub type Terminal = u32;

/// Names a rule for as long as it exists; numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuleId(pub(crate) u32);

impl RuleId {
    /// The rule that derives the whole history.
    pub const START: RuleId = RuleId(0);

    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// Names a place in a rule's body for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct OccurrenceId(pub(crate) u32);

impl OccurrenceId {
    /// No place at all: the end of a list.
    pub(crate) const NONE: OccurrenceId = OccurrenceId(u32::MAX);

    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn is_none(self) -> bool {
        self == OccurrenceId::NONE
    }
}

/// Names the loop counts that were seen at one kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoopId(pub(crate) u32);

impl LoopId {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// What an occurrence holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Symbol {
    /// A symbol of the input.
    Terminal(Terminal),
    /// Everything that a rule derives.
    Rule(RuleId),
}

/// How often an occurrence repeats in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Exponent {
    /// Exactly this often; never 0.
    Times(u64),
    /// As often as the loop counts seen there say, `x^*`; only in summarised mode.
    Varying(LoopId),
}

impl Exponent {
    pub(crate) const ONE: Exponent = Exponent::Times(1);

    /// How much an occurrence with this exponent adds to the uses of its rule.
    /// A varying one counts as two: it is a loop, and a loop is worth a rule.
    pub(crate) fn uses(self) -> u64 {
        match self {
            Exponent::Times(times) => times,
            Exponent::Varying(_) => 2,
        }
    }

    /// The exponent of two twins merged.
    pub(crate) fn plus(self, other: Exponent) -> Exponent {
        match (self, other) {
            (Exponent::Times(a), Exponent::Times(b)) => Exponent::Times(a.saturating_add(b)),
            (varying @ Exponent::Varying(_), _) | (_, varying) => varying,
        }
    }

    /// The exponent of `(x^self)^outer`.
    pub(crate) fn times(self, outer: Exponent) -> Exponent {
        match (self, outer) {
            (Exponent::Times(a), Exponent::Times(b)) => Exponent::Times(a.saturating_mul(b)),
            (varying @ Exponent::Varying(_), _) | (_, varying) => varying,
        }
    }
}
