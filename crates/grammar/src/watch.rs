// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a rewrite notifies everything that points into the grammar of what moved where.

use crate::arena::GrammarArena;
use crate::symbol::{Exponent, OccurrenceId, RuleId};

/// Is notified of every change to a place that could be pointed at. The arena shows the
/// state after the change, except where noted.
pub(crate) trait RewriteObserver {
    /// The neighbours `old` are gone; `new` stand for them in the body of the
    /// rule that `used` is a use of, and `used` stands where they stood.
    fn wrapped(&mut self, old: [OccurrenceId; 2], new: [OccurrenceId; 2], used: OccurrenceId);

    /// The same for a single occurrence.
    fn replaced(&mut self, old: OccurrenceId, new: OccurrenceId, used: OccurrenceId);

    /// What stands in the body of the new rule stood where `used` stands now.
    fn extracted(&mut self, rule: RuleId, used: OccurrenceId, arena: &GrammarArena);

    /// `gone` was merged into its twin `kept`, after its `shift` repetitions.
    fn merged(&mut self, kept: OccurrenceId, gone: OccurrenceId, shift: u64);

    /// The body of its rule now stands in place of `used`.
    fn inlined(&mut self, used: OccurrenceId);

    /// `used` was a use of a rule with nothing but `inner`, which stood for
    /// `repeats` repetitions; it now holds their product itself.
    fn folded(&mut self, used: OccurrenceId, inner: OccurrenceId, repeats: Exponent);

    /// The occurrence is about to go, with everything before it.
    fn forgotten(&mut self, id: OccurrenceId, arena: &GrammarArena);
}

/// Nothing points into the grammar.
impl RewriteObserver for () {
    fn wrapped(&mut self, _: [OccurrenceId; 2], _: [OccurrenceId; 2], _: OccurrenceId) {}
    fn replaced(&mut self, _: OccurrenceId, _: OccurrenceId, _: OccurrenceId) {}
    fn extracted(&mut self, _: RuleId, _: OccurrenceId, _: &GrammarArena) {}
    fn merged(&mut self, _: OccurrenceId, _: OccurrenceId, _: u64) {}
    fn inlined(&mut self, _: OccurrenceId) {}
    fn folded(&mut self, _: OccurrenceId, _: OccurrenceId, _: Exponent) {}
    fn forgotten(&mut self, _: OccurrenceId, _: &GrammarArena) {}
}
