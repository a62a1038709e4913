// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a thread does, in one number: threads that make the same calls from the same
//! places of the program in the same order have the same one, regardless of sizes,
//! files and times. Eight bytes per thread, however long it runs.

use ioracle_events::Event;

/// The calls of a thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallsHash(u64);

impl CallsHash {
    /// Adds a call. How many requests a wait finds complete is chance.
    pub fn add(&mut self, event: &Event) {
        if event.is_further_part() {
            return;
        }
        let function = u64::from(u16::from(event.function)) << 1 | u64::from(event.failed());
        self.mix(u64::from(event.context.0) << 32 | function);
    }

    /// The hash of several threads together, independent of the order in which they
    /// began.
    pub fn of_all(mut threads: Vec<CallsHash>) -> CallsHash {
        threads.sort_unstable();
        let mut all = CallsHash::default();
        threads.iter().for_each(|thread| all.mix(thread.0));
        all
    }

    /// One-to-one for each word, and every bit depends on all before: two
    /// different histories have the same number by chance only (2^-64). The
    /// constants are those of splitmix64.
    fn mix(&mut self, word: u64) {
        let mut bits = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = bits ^ bits >> 31;
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::ContextId;

    use super::super::tests::event;
    use super::*;

    fn of(events: &[Event]) -> CallsHash {
        let mut behaviour = CallsHash::default();
        events.iter().for_each(|event| behaviour.add(event));
        behaviour
    }

    #[test]
    fn calls_contexts_and_their_order_make_the_difference_and_nothing_else() {
        let (open, write) = (event("open", 1, None), event("write", 1, Some((0, 100))));
        let same = of(&[open.clone(), write.clone()]);
        let mut other = event("write", 7, Some((5000, 3)));
        (other.start_ns, other.stream.rank, other.handle) = (7, 3, 9);
        assert_eq!(of(&[open.clone(), other]), same);
        let elsewhere = Event { context: ContextId(2), ..write.clone() };
        let failed = Event { result: -1, ..write.clone() };
        for different in [
            vec![write.clone(), open.clone()],
            vec![open.clone(), write.clone(), write.clone()],
            vec![open.clone(), elsewhere],
            vec![open.clone(), failed],
            vec![open.clone(), event("read", 1, Some((0, 100)))],
            vec![open.clone()],
        ] {
            assert_ne!(of(&different), same, "{different:?}");
        }
    }

    #[test]
    fn threads_may_begin_in_any_order() {
        let (one, other) = (of(&[event("open", 1, None)]), of(&[event("close", 1, None)]));
        assert_eq!(CallsHash::of_all(vec![one, other]), CallsHash::of_all(vec![other, one]));
        assert_ne!(CallsHash::of_all(vec![one, other]), CallsHash::of_all(vec![one, one]));
    }
}
