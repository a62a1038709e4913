// SPDX-License-Identifier: MIT OR Apache-2.0

//! All parts together, as a server uses them: requests in, once per slice the
//! pattern the server is under, an option for the next slice, and the reward.

use std::path::Path;

use crate::builder::PatternBuilder;
use crate::choice::{ChoiceConfig, DecisionMaker, RewardError};
use crate::config::PatternConfig;
use crate::matcher::{AdaptiveConfig, AdaptiveMatcher, PatternId, PatternMatcher};
use crate::pattern::{Pattern, PatternCounts};
use crate::request::{Request, RequestKind};
use crate::sequence::{NextPattern, PatternSequence};
use crate::store::{PatternStore, StoreError};

/// Pairs of known patterns that are compared again per slice.
const N_RECOMPARED: usize = 2_000;

/// What a slice was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecognisedSlice {
    /// The pattern the server is under.
    pub id: PatternId,
    /// Whether it was known before.
    pub is_match: bool,
    /// How sure that is, between 0 and 1.
    pub score: f64,
    /// What most requests did.
    pub kind: RequestKind,
    /// How many of what the slice had.
    pub counts: PatternCounts,
    /// For how many slices the pattern lasts already, this one included.
    pub since: u64,
    /// Which pattern comes next, and when.
    pub next: Option<NextPattern>,
}

/// Watches the requests of a server.
///
/// ```
/// use ioracle_pattern::{PatternConfig, PatternWatcher, Request, RequestKind};
///
/// let mut watcher = PatternWatcher::new(PatternConfig::server());
/// watcher.set_options(vec!["deadline".to_owned(), "none".to_owned()]);
/// for second in 0..3 {
///     let option = watcher.choose();
///     for n in 0..100 {
///         let (time_ns, kind) = (second * 1_000_000_000 + n, RequestKind::Write);
///         watcher.observe(&Request { time_ns, file: 1, kind, offset: n * 512, size: 512 });
///     }
///     let slice = watcher.tick().expect("there were requests");
///     assert_eq!(slice.is_match, second > 0);
///     watcher.reward(if option == 0 { 100.0 } else { 150.0 }).unwrap();
/// }
/// ```
#[derive(Clone, Debug)]
pub struct PatternWatcher {
    builder: PatternBuilder,
    matcher: AdaptiveMatcher,
    sequence: PatternSequence,
    options: Vec<String>,
    decisions: DecisionMaker,
    /// The option that is set now.
    option: usize,
    /// The option that was set when the last slice began.
    option_of_slice: usize,
    current: Option<PatternId>,
}

impl PatternWatcher {
    /// Nothing known yet, and no options.
    pub fn new(config: PatternConfig) -> PatternWatcher {
        PatternWatcher {
            builder: PatternBuilder::new(config),
            matcher: AdaptiveMatcher::new(AdaptiveConfig::default()),
            sequence: PatternSequence::new(),
            options: Vec::new(),
            decisions: DecisionMaker::new(1, ChoiceConfig::default()),
            option: 0,
            option_of_slice: 0,
            current: None,
        }
    }

    /// The options there are, by name; what was learned of others is forgotten.
    pub fn set_options(&mut self, names: Vec<String>) {
        self.set_ordered_options(names, ChoiceConfig::default());
    }

    /// The same, with a say in how they are chosen.
    pub fn set_ordered_options(&mut self, names: Vec<String>, config: ChoiceConfig) {
        self.decisions = DecisionMaker::new(names.len(), config);
        self.options = names;
        self.option = 0;
        self.option_of_slice = 0;
    }

    /// Takes a request in, in constant time.
    #[inline]
    pub fn observe(&mut self, request: &Request) {
        self.builder.observe(request);
    }

    /// Ends the slice; `None` if there were no requests.
    pub fn tick(&mut self) -> Option<RecognisedSlice> {
        let pattern = self.builder.tick()?;
        Some(self.recognise(pattern))
    }

    /// The same for a pattern that was built elsewhere.
    pub fn recognise(&mut self, pattern: Pattern) -> RecognisedSlice {
        let (kind, counts) = (pattern.kind, pattern.counts);
        let found = self.matcher.recognise(pattern);
        for gone in self.matcher.take_discarded() {
            self.decisions.forget(gone);
        }
        let mut id = found.id;
        for merged in self.matcher.recompare(N_RECOMPARED) {
            self.decisions.merge(merged);
            id = if id == merged.gone { merged.kept } else { id };
        }
        self.sequence.observe(id);
        self.current = Some(id);
        self.option_of_slice = self.option;
        RecognisedSlice {
            id,
            is_match: found.is_match,
            score: found.score,
            kind,
            counts,
            since: self.sequence.since(),
            next: self.sequence.predict_change(),
        }
    }

    /// The option to set for the next slice, which is expected to be under the
    /// same pattern as the last one unless the sequence of patterns so far says
    /// otherwise; 0 if there are no options.
    pub fn choose(&mut self) -> usize {
        self.option = match self.sequence.expected() {
            Some(id) => self.decisions.choose(id),
            None => self.decisions.choose_unknown(),
        };
        self.option
    }

    /// Another option was set than the one chosen.
    pub fn set_option(&mut self, option: usize) {
        self.option = option;
    }

    /// Learns the reward of the last slice. It belongs to the option that was
    /// set when the slice began and the pattern recognised at its end.
    pub fn reward(&mut self, reward: f64) -> Result<(), RewardError> {
        match self.current {
            Some(id) => self.decisions.reward(id, self.option_of_slice, reward),
            None => Ok(()),
        }
    }

    /// The same for a reward that comes later than its slice.
    pub fn reward_of(
        &mut self,
        pattern: PatternId,
        option: usize,
        reward: f64,
    ) -> Result<(), RewardError> {
        self.decisions.reward(pattern, option, reward)
    }

    /// What is known.
    pub fn matcher(&self) -> &AdaptiveMatcher {
        &self.matcher
    }

    /// What was learned of the options.
    pub fn decisions(&self) -> &DecisionMaker {
        &self.decisions
    }

    /// Puts back what an earlier life has saved. Options are set before.
    pub fn load(&mut self, path: &Path) -> Result<(), StoreError> {
        let store = PatternStore::open(path)?;
        // Nothing of a file that turns out to be damaged is kept.
        let mut matcher = AdaptiveMatcher::new(AdaptiveConfig::default());
        let mut decisions = self.decisions.clone();
        store.load(&mut matcher, Some((&mut decisions, &self.options)))?;
        (self.matcher, self.decisions) = (matcher, decisions);
        (self.sequence, self.current) = (PatternSequence::new(), None);
        Ok(())
    }

    /// Saves what is known.
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        PatternStore::open(path)?.save(&self.matcher, Some((&self.decisions, &self.options)))
    }

    /// Memory of all parts.
    pub fn memory_bytes(&self) -> usize {
        self.builder.memory_bytes() + self.matcher.memory_bytes() + self.sequence.memory_bytes()
    }
}
