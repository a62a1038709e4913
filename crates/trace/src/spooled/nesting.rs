// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls in the order in which they began.
//!
//! A call is recorded when it ends, so the calls inside another one come before it.
//! They wait here until a call comes that nothing encloses; then all of them are passed
//! on in the order in which they began. A thread that makes no nested calls pays one
//! comparison. At [`MAX_WAITING`] calls those that wait are passed on without the
//! enclosing call, which then comes after them.
//!
//! For a thread that someone acts on, each nested call is also shown when it ends,
//! because acting cannot wait for the end of the outermost call.

use ioracle_spool::layout::Call;
use ioracle_spool::selection::{CONTINUATION, Selection};

/// Maximum of calls of a thread that wait for the enclosing one.
pub const MAX_WAITING: usize = 1 << 14;

/// The calls of one thread that wait.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    waiting: Vec<Finished>,
    /// A selection whose call is still to come, and the number of that call.
    selection: Option<(u64, Box<Selection>)>,
    /// Calls inside others are shown at once.
    pub(crate) is_acted_on: bool,
}

/// Whether it is a call's turn among those of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Now,
    /// It is only shown, and will be given again.
    Later,
}

/// A call that has ended, and the part of an object that it accessed.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) call: Call,
    pub(crate) selection: Option<Box<Selection>>,
}

impl Nesting {
    /// Takes the next record, and passes on the calls whose turn it is; before that,
    /// the call itself, if it has to wait and someone acts on the thread.
    pub(crate) fn push(&mut self, record: &Call, mut emit: impl FnMut(&Finished, Turn)) {
        if record.function == CONTINUATION {
            return self.select(record);
        }
        let call = Finished { call: *record, selection: self.selection_of(record) };
        if record.depth == 0 && self.waiting.is_empty() {
            return emit(&call, Turn::Now);
        }
        if self.is_acted_on && record.depth > 0 {
            emit(&call, Turn::Later);
        }
        self.waiting.push(call);
        if record.depth == 0 || self.waiting.len() >= MAX_WAITING {
            self.release(emit);
        }
    }

    /// Whether anything waits.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.selection.is_some()
    }

    /// Passes on all that wait: the thread has ended, and the enclosing call never did.
    pub(crate) fn release(&mut self, mut emit: impl FnMut(&Finished, Turn)) {
        self.waiting.sort_by_key(|finished| finished.call.began);
        self.waiting.iter().for_each(|finished| emit(finished, Turn::Now));
        self.waiting.clear();
    }

    fn select(&mut self, record: &Call) {
        match &mut self.selection {
            Some((began, selection)) if *began == record.began => {
                selection.take(record);
            }
            selection => {
                let begun = Selection::begin(record).map(Box::new);
                *selection = begun.map(|begun| (record.began, begun));
            }
        }
    }

    /// What was selected for a call. A signal handler's call may come in between.
    fn selection_of(&mut self, call: &Call) -> Option<Box<Selection>> {
        self.selection.take_if(|(began, _)| *began == call.began).map(|(_, selection)| selection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes `(began, depth)` and notes what comes out, `|` after each push.
    fn check(calls: &[(u64, u8)], expected: &str) {
        let mut nesting = Nesting::default();
        let mut text = String::new();
        for &(began, depth) in calls {
            let call = Call { began, depth, ..Call::default() };
            nesting.push(&call, |it, _| text.push_str(&it.call.began.to_string()));
            text.push('|');
        }
        nesting.release(|it, _| text.push_str(&it.call.began.to_string()));
        assert_eq!(text, expected);
    }

    #[test]
    fn calls_that_are_not_nested_pass_through() {
        check(&[(0, 0), (1, 0), (2, 0)], "0|1|2|");
    }

    #[test]
    fn enclosing_calls_come_before_those_inside_them() {
        check(&[(2, 2), (3, 2), (1, 1), (4, 1), (0, 0), (5, 0)], "||||01234|5|");
    }

    #[test]
    fn calls_whose_enclosing_call_never_ends_come_at_the_end() {
        check(&[(0, 0), (3, 2), (2, 1)], "0|||23");
        check(&[(2, 1), (3, 0)], "|23|");
    }

    #[test]
    fn calls_inside_others_are_shown_at_once_where_someone_acts() {
        let mut nesting = Nesting { is_acted_on: true, ..Nesting::default() };
        let mut text = String::new();
        for (began, depth) in [(0, 0), (2, 1), (4, 2), (3, 1), (1, 0)] {
            let call = Call { began, depth, ..Call::default() };
            nesting.push(&call, |it, turn| {
                text.push_str(&it.call.began.to_string());
                text.push_str(if turn == Turn::Later { "? " } else { " " });
            });
        }
        assert_eq!(text, "0 2? 4? 3? 1 2 3 4 ");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut nesting = Nesting::default();
        let mut n_out = 0;
        for began in 0..3 * MAX_WAITING as u64 {
            nesting.push(&Call { began, depth: 1, ..Call::default() }, |_, _| n_out += 1);
            assert!(nesting.waiting.len() < MAX_WAITING);
        }
        assert_eq!(n_out, 3 * MAX_WAITING);
    }

    #[test]
    fn a_selection_goes_with_the_call_of_its_number() {
        use ioracle_spool::selection::SelectionPart;

        let mut selection = Selection::new(5);
        selection.set(SelectionPart::Start, |dimension| dimension as i64);
        selection.set(SelectionPart::Count, |_| 9);
        let mut nesting = Nesting::default();
        let mut finished = Vec::new();
        let mut push = |call: &Call| {
            nesting.push(call, |it, _| finished.push((it.call.began, it.selection.clone())));
        };
        let call = |began, depth| Call { began, depth, ..Call::default() };
        // One whose call never came, one with a handler's call between, one inside another.
        selection.records().for_each(|record| push(&Call { began: 1, ..record }));
        selection.records().for_each(|record| push(&Call { began: 2, ..record }));
        push(&call(3, 0));
        push(&call(2, 0));
        selection.records().for_each(|record| push(&Call { began: 5, ..record }));
        push(&call(5, 1));
        push(&call(4, 0));
        let whole = Some(Box::new(selection));
        assert_eq!(finished, [(3, None), (2, whole.clone()), (4, None), (5, whole)]);
    }
}
