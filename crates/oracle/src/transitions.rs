// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interarrival times, by transition.

use serde::{Deserialize, Serialize};

use crate::hash::{SeedlessMap, combine};
use crate::motion::{Motions, reserve_some};
use crate::recall::Recall;
use crate::time::{ExpectedWait, TimeStatistics};

/// Two context symbols seen one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transition {
    /// The first.
    pub from: u32,
    /// The one after it.
    pub to: u32,
}

/// The times of all transitions, bounded: at the ceiling a new transition takes
/// the place of an old one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transitions {
    tracked: Vec<(Transition, TimeStatistics)>,
    #[serde(skip)]
    places: SeedlessMap<Transition, u32>,
    /// Halving means under longer contexts.
    recall: Recall,
    max_transitions: usize,
    /// Whose place the next one takes at the ceiling.
    next_victim: usize,
}

impl Transitions {
    /// An empty table for at most so many transitions.
    pub fn new(max_transitions: usize) -> Transitions {
        let max_transitions = max_transitions.clamp(1, 1 << 24);
        Transitions {
            tracked: Vec::new(),
            places: SeedlessMap::default(),
            recall: Recall::new(max_transitions / 4),
            max_transitions,
            next_victim: 0,
        }
    }

    /// The times of a transition, if it was seen.
    pub fn get(&self, transition: Transition) -> Option<&TimeStatistics> {
        let place = *self.places.get(&transition)?;
        self.tracked.get(place as usize).map(|(_, times)| times)
    }

    /// Learns the wait before `to`, which is about to be taken into `motions`.
    pub fn learn(&mut self, motions: &impl Motions, to: u32, interarrival_ns: u64) {
        let place = self.place_of(Transition { from: motions.now().symbol, to });
        let times = &mut self.tracked[place].1;
        // Where one operation always follows at once there is nothing to distinguish
        // apart, and most transitions are so.
        if times.follows_at_once(interarrival_ns) {
            times.learn(interarrival_ns, [None; 3]);
            return;
        }
        let contexts = contexts(motions, to);
        let contextual = self.contextual(contexts);
        self.tracked[place].1.learn(interarrival_ns, contextual);
        let interarrival = i64::try_from(interarrival_ns).unwrap_or(i64::MAX);
        for context in contexts {
            self.recall.learn_mean(context, interarrival);
        }
    }

    /// The wait expected before `to`, if the transition is known.
    pub fn expect(&self, motions: &impl Motions, to: u32) -> Option<ExpectedWait> {
        let times = self.get(Transition { from: motions.now().symbol, to })?;
        let contextual = if times.follows_at_once(0) {
            [None; 3]
        } else {
            self.contextual(contexts(motions, to))
        };
        Some(ExpectedWait::new(times.best(contextual), times))
    }

    /// Adds what another oracle has seen of a transition.
    pub fn merge_one(&mut self, transition: Transition, times: &TimeStatistics) {
        let place = self.place_of(transition);
        self.tracked[place].1.merge(times);
    }

    /// Joins what another model remembers under longer contexts.
    pub fn merge_contexts(&mut self, other: &Transitions) {
        self.recall.merge(&other.recall, Some);
    }

    /// All transitions with their times.
    pub fn iter(&self) -> impl Iterator<Item = &(Transition, TimeStatistics)> {
        self.tracked.iter()
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.tracked.capacity() * size_of::<(Transition, TimeStatistics)>()
            + self.places.capacity() * 13
            + self.recall.memory_bytes()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.recall.is_valid()
            && (1..=1 << 24).contains(&self.max_transitions)
            && self.tracked.len() <= self.max_transitions
            && self.tracked.iter().all(|(_, times)| times.is_valid())
    }

    /// Makes the map that is not saved.
    pub fn index(&mut self) {
        let transitions = self.tracked.iter().map(|&(transition, _)| transition);
        self.places = transitions.zip(0..).collect();
    }

    fn contextual(&self, contexts: [u64; 3]) -> [Option<f32>; 3] {
        let [short, long, last] = contexts;
        let remembered = |context| self.recall.get(context).map(|guess| guess.value as f32);
        [remembered(short), remembered(long), remembered(last)]
    }

    fn place_of(&mut self, transition: Transition) -> usize {
        if let Some(&place) = self.places.get(&transition) {
            return place as usize;
        }
        let place = if self.tracked.len() < self.max_transitions {
            reserve_some(&mut self.tracked);
            self.tracked.push((transition, TimeStatistics::default()));
            self.tracked.len() - 1
        } else {
            let place = self.next_victim % self.tracked.len();
            self.next_victim = place + 1;
            self.places.remove(&self.tracked[place].0);
            self.tracked[place] = (transition, TimeStatistics::default());
            place
        };
        self.places.insert(transition, place as u32);
        place
    }
}

fn contexts(motions: &impl Motions, to: u32) -> [u64; 3] {
    let now = motions.now();
    let seed = combine(5, u64::from(motions.symbol(to).tag));
    [
        combine(seed, now.history_short),
        combine(seed, now.history_long),
        combine(combine(seed, now.last_tag()), u64::from(now.since_quiet)),
    ]
}
