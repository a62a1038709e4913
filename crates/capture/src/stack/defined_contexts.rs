// SPDX-License-Identifier: MIT OR Apache-2.0

//! The identities that have been defined already: a set of fixed size, of which a part
//! is used at first, because a short process pays for every page that it touches. When
//! it is three quarters full it starts over, in a larger part; what was in it is then
//! defined again, which is harmless.

const SLOTS: usize = 4096;
/// Slots that are used at first.
const FIRST_SLOTS: usize = 256;

/// A set of identities; empty when all zero.
pub(super) struct DefinedContexts {
    slots: [u64; SLOTS],
    n_used: usize,
    /// The bits that the numbers of slots have beyond those of [`FIRST_SLOTS`].
    grown: usize,
}

impl DefinedContexts {
    /// Whether an identity, which is never 0, is in the set.
    pub(super) fn contains(&self, id: u64) -> bool {
        self.slots.get(self.slot(id)) == Some(&id)
    }

    /// Puts an identity in.
    pub(super) fn insert(&mut self, id: u64) {
        let n_slots = self.last_slot() + 1;
        if self.n_used >= n_slots / 4 * 3 {
            self.clear();
            self.grown = (n_slots * 4).min(SLOTS) - 1;
        }
        let slot = self.slot(id);
        if let Some(place) = self.slots.get_mut(slot) {
            self.n_used += usize::from(*place == 0);
            *place = id;
        }
    }

    /// Takes all out. An empty set is not written to, so that it takes no memory.
    pub(super) fn clear(&mut self) {
        if self.n_used > 0 {
            let last_slot = self.last_slot();
            self.slots.iter_mut().take(last_slot + 1).for_each(|slot| *slot = 0);
            self.n_used = 0;
        }
    }

    /// The place of an identity: where it is, or could be. Ends because there
    /// is always a free slot.
    fn slot(&self, id: u64) -> usize {
        let last_slot = self.last_slot();
        let mut slot = id as usize & last_slot;
        while self.slots.get(slot).is_some_and(|&other| other != 0 && other != id) {
            slot = (slot + 1) & last_slot;
        }
        slot
    }

    fn last_slot(&self) -> usize {
        (FIRST_SLOTS - 1) | self.grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_kept_until_the_set_starts_anew() {
        let mut seen = DefinedContexts { slots: [0; SLOTS], n_used: 0, grown: 0 };
        for id in 1..=10_000 {
            assert!(!seen.contains(id));
            seen.insert(id * SLOTS as u64);
            assert!(seen.contains(id * SLOTS as u64));
            seen.insert(id * SLOTS as u64);
            assert!(seen.n_used <= SLOTS / 4 * 3);
        }
        seen.clear();
        assert!((1..=10_000).all(|id| !seen.contains(id * SLOTS as u64)));
    }
}
