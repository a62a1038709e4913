// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which call stacks and paths the numbers of a source stand for.

use ioracle_events::{ContextId, ContextSymbol, FastMap, FileId, Operation};
use ioracle_oracle::{Candidates, Oracle, Relatives, StackId};

/// What the source defined for its numbers, for all streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) contexts: FastMap<ContextId, Meaning>,
    pub(crate) files: FastMap<FileId, Box<str>>,
    /// Of files that were not empty when they were first opened.
    pub(crate) sizes: FastMap<FileId, u64>,
    pub(crate) relatives: Relatives,
    /// Known stacks that a new one was found to be.
    pub(crate) recognised: FastMap<StackId, StackId>,
}

/// Which call stack a context is.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Is(StackId),
    /// One of these, else a new one; settled when it is first used.
    OneOf {
        new: StackId,
        known: Candidates,
    },
}

/// Probability from which on what is expected says more than the order of calls,
/// which moves when one is inserted.
const STRONG: f64 = 0.8;

/// How it was found out which call stack a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    ByItself,
    /// There were several, and what was expected has decided.
    ByExpectation,
}

impl Names {
    /// Finds out which call stack an operation's context is, at its first use.
    pub(crate) fn settle(&mut self, operation: &Operation, oracle: &Oracle) -> Settled {
        let Some(Meaning::OneOf { new, known }) = self.contexts.get(&operation.context) else {
            return Settled::ByItself;
        };
        // Two call stacks of this build cannot both be the same one of the previous
        // build.
        let fits = |stack: &StackId| {
            !self.recognised.contains_key(stack) && oracle.knows_stack(*stack, operation.function)
        };
        let fitting: Vec<StackId> = known.near.iter().copied().filter(fits).collect();
        let equal = known.equal.filter(fits);
        let least = if equal.is_some() { STRONG } else { 0.0 };
        let likely = oracle.predict().iter().filter(|next| next.operation_probability >= least);
        let mut expected = likely.filter_map(|next| oracle.stack_of(next.symbol));
        let expected = expected.find(|stack| fitting.contains(stack));
        let chosen = expected.or(equal).or(fitting.first().copied());
        let is_certain = chosen == equal || fitting.len() <= 1;
        let new = *new;
        if let Some(chosen) = chosen {
            self.recognised.insert(chosen, new);
        }
        self.contexts.insert(operation.context, Meaning::Is(chosen.unwrap_or(new)));
        if is_certain { Settled::ByItself } else { Settled::ByExpectation }
    }

    /// The call stack that an operation's new one is treated as: a relative that the program has
    /// returned to, which called the same function and always did what this operation does. Of several,
    /// the most expected one, or else the first.
    pub(crate) fn relative(
        &self,
        operation: &Operation,
        oracle: &Oracle,
    ) -> Option<(StackId, Settled)> {
        let mut known: Vec<StackId> = Vec::new();
        for context in self.relatives.of(operation.context) {
            let Some(symbol) = self.symbol_in(context, operation, oracle) else { continue };
            let Some(stack) = oracle.stack_of(symbol) else { continue };
            // Lines that the program has reached only once each are steps of one thing;
            // a routine that it has returned to is called from elsewhere.
            let is_relative = oracle.recurs(symbol) && oracle.keeps_habits(symbol, operation);
            if is_relative && !known.contains(&stack) {
                known.push(stack);
            }
        }
        let same_function = oracle.predict().iter().filter(|it| it.function == operation.function);
        let mut expected = same_function.filter_map(|next| oracle.stack_of(next.symbol));
        let expected = expected.find(|stack| known.contains(stack));
        let is_certain = known.len() <= 1;
        let settled = if is_certain { Settled::ByItself } else { Settled::ByExpectation };
        expected.or(known.first().copied()).map(|stack| (stack, settled))
    }

    /// The symbol of calls of the same function from another context.
    fn symbol_in(
        &self,
        context: ContextId,
        operation: &Operation,
        oracle: &Oracle,
    ) -> Option<ContextSymbol> {
        oracle.symbol_in(context, operation.function).or_else(|| {
            match self.contexts.get(&context) {
                Some(Meaning::Is(stack)) => oracle.symbol_at(*stack, operation.function),
                _ => None,
            }
        })
    }
}
