// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls in the order in which they began.
//!
//! A call is recorded when it ends, so the calls inside another one come before
//! it. They wait here until a call that nothing encloses comes; all of them are
//! then given out by their beginning. A thread that makes no nested calls pays
//! one comparison. At [`MAX_WAITING`] calls those that wait are given out
//! without the one around them, which then comes after them.

use ioracle_spool::layout::Call;

/// The most calls of a thread that wait for the call around them.
pub const MAX_WAITING: usize = 1 << 14;

/// The calls of one thread that wait.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    waiting: Vec<Call>,
}

impl Nesting {
    /// Takes the next finished call, and gives those whose turn it is.
    pub(crate) fn push(&mut self, call: &Call, emit: impl FnMut(&Call)) {
        if call.depth == 0 && self.waiting.is_empty() {
            return std::iter::once(call).for_each(emit);
        }
        self.waiting.push(*call);
        if call.depth == 0 || self.waiting.len() >= MAX_WAITING {
            self.release(emit);
        }
    }

    /// Gives all that wait: the thread has ended, the call around them never did.
    pub(crate) fn release(&mut self, emit: impl FnMut(&Call)) {
        self.waiting.sort_by_key(|call| call.began);
        self.waiting.iter().for_each(emit);
        self.waiting.clear();
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
            nesting.push(&call, |call| text.push_str(&call.began.to_string()));
            text.push('|');
        }
        nesting.release(|call| text.push_str(&call.began.to_string()));
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
    fn what_waits_is_bounded() {
        let mut nesting = Nesting::default();
        let mut n_out = 0;
        for began in 0..3 * MAX_WAITING as u64 {
            nesting.push(&Call { began, depth: 1, ..Call::default() }, |_| n_out += 1);
            assert!(nesting.waiting.len() < MAX_WAITING);
        }
        assert_eq!(n_out, 3 * MAX_WAITING);
    }
}
