// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an unwinding depended on, in the order in which it was looked at: the
//! words of the stack, and the frame pointer that the intercepted function was
//! entered with, if a rule used it.
//!
//! A word is noted when it is used: each return address, and a saved frame
//! pointer only if a rule further out needs it. Which word comes next follows
//! from the words before it, because unwinding looks at nothing else.

/// Words that a trail can hold: a return address and a frame pointer per frame,
/// and some frames whose address is a word.
const MAX_WORDS: usize = 256;

/// A trail; empty when all zero.
pub(super) struct Trail {
    offsets: [u32; MAX_WORDS],
    values: [u64; MAX_WORDS],
    n_words: usize,
    /// How many words had been looked at when the frame pointer was, plus one; 0 for never.
    fp_before: usize,
    /// Some word cannot be looked at again: it is not on the thread's own stack above
    /// the stack pointer, or there were too many.
    is_unrepeatable: bool,
}

impl Trail {
    pub(super) fn clear(&mut self) {
        (self.n_words, self.fp_before, self.is_unrepeatable) = (0, 0, false);
    }

    /// Notes a word by its distance from the stack pointer.
    #[inline]
    pub(super) fn word(&mut self, offset: usize, value: usize) {
        let place = self.offsets.get_mut(self.n_words).zip(self.values.get_mut(self.n_words));
        match (place, u32::try_from(offset)) {
            (Some((offset_place, value_place)), Ok(offset)) => {
                (*offset_place, *value_place) = (offset, value as u64);
                self.n_words += 1;
            }
            _ => self.is_unrepeatable = true,
        }
    }

    /// Notes that the incoming frame pointer was used.
    pub(super) fn incoming_fp(&mut self) {
        self.fp_before = self.n_words + 1;
    }

    pub(super) fn unrepeatable(&mut self) {
        self.is_unrepeatable = true;
    }

    pub(super) fn is_repeatable(&self) -> bool {
        !self.is_unrepeatable
    }

    /// Offsets and values, and where among them the frame pointer was used.
    pub(super) fn parts(&self) -> (&[u32], &[u64], Option<usize>) {
        (
            self.offsets.get(..self.n_words).unwrap_or_default(),
            self.values.get(..self.n_words).unwrap_or_default(),
            self.fp_before.checked_sub(1),
        )
    }
}
