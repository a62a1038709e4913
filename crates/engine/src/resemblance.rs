// SPDX-License-Identifier: MIT OR Apache-2.0

//! Call stacks that are treated as a similar known one, as long as they behave like it.
//!
//! A stack that was never seen before begins with what is known of a relative
//! ([`ioracle_oracle::Relatives`]): the oracle sees the relative in its place. If
//! what the relative leads to does not come, the stack becomes one of its own.

use ioracle_events::{ContextId, ContextSymbol, FastMap, Operation, Prediction};
use ioracle_oracle::{Oracle, StackId};

use crate::score::ObservedOperation;

/// Probability from which on a prediction counts for or against a resemblance.
const STATED: f64 = 0.5;
/// Stacks that are taken for others at once; further ones stand for themselves.
const MAX_RESEMBLANCES: usize = 1 << 14;

/// The stacks of a stream that are taken for others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resemblances {
    all: FastMap<ContextId, Resemblance>,
    /// The last operation had a stack that is one of these.
    last: Option<ContextId>,
}

#[derive(Clone, Copy, Debug)]
struct Resemblance {
    /// Which stack it really is.
    own: StackId,
    right: u32,
    wrong: u32,
}

impl Resemblance {
    fn count(&mut self, is_right: bool) {
        let outcomes = if is_right { &mut self.right } else { &mut self.wrong };
        *outcomes = outcomes.saturating_add(1);
    }

    /// A single wrong prediction may have any cause.
    fn is_refuted(&self) -> bool {
        4 * self.wrong > self.right + 4
    }
}

impl Resemblances {
    /// Whether one more stack may be taken for another.
    pub(crate) fn has_room(&self) -> bool {
        self.all.len() < MAX_RESEMBLANCES
    }

    /// A stack is taken for another from now on.
    pub(crate) fn begin(&mut self, context: ContextId, own: StackId) {
        self.all.insert(context, Resemblance { own, right: 0, wrong: 0 });
    }

    /// An operation is about to come. If its stack is taken for another one that never
    /// did this, it stands for itself from now on.
    pub(crate) fn check(&mut self, operation: &Operation, oracle: &mut Oracle) {
        if self.all.is_empty() || !self.all.contains_key(&operation.context) {
            return;
        }
        let symbol = oracle.symbol_of(operation);
        if symbol.is_some_and(|symbol| !oracle.keeps_habits(symbol, operation)) {
            self.end(operation.context, oracle);
        }
    }

    /// An operation has come that these predictions were made for: were they right
    /// about it, if it has a stack that is taken for another, and about what follows
    /// such a stack?
    pub(crate) fn judge(&mut self, stated: &[Prediction], came: &ObservedOperation<'_>) {
        if self.all.is_empty() {
            return;
        }
        let Some(top) = stated.first().filter(|top| top.probability >= STATED) else { return };
        if top.symbol == ContextSymbol::UNSEEN {
            return;
        }
        let is_right = came.symbol == Some(top.symbol);
        if let Some(known) = self.last.and_then(|last| self.all.get_mut(&last)) {
            known.count(is_right);
        }
        if is_right && let Some(known) = self.all.get_mut(&came.operation.context) {
            known.count(came.is_as_stated(top));
        }
    }

    /// The oracle has learned an operation with this stack.
    pub(crate) fn advance(&mut self, context: ContextId, oracle: &mut Oracle) {
        if self.all.is_empty() {
            return;
        }
        for judged in [self.last, Some(context)].into_iter().flatten() {
            if self.all.get(&judged).is_some_and(Resemblance::is_refuted) {
                self.end(judged, oracle);
            }
        }
        self.last = self.all.contains_key(&context).then_some(context);
    }

    fn end(&mut self, context: ContextId, oracle: &mut Oracle) {
        if let Some(resemblance) = self.all.remove(&context) {
            oracle.define_stack(context, resemblance.own);
        }
    }
}
