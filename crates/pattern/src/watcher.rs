// SPDX-License-Identifier: MIT OR Apache-2.0

//! All parts together, as a server uses them: requests in, once per slice the
//! pattern the server is under, an option for the next slice, and the reward.

#[cfg(feature = "persistence")]
use std::path::Path;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::builder::PatternBuilder;
use crate::choice::{ChoiceConfig, DecisionMaker, RewardError};
use crate::config::PatternConfig;
use crate::matcher::{AdaptiveConfig, AdaptiveMatcher, MergedPatterns, PatternId, PatternMatcher};
use crate::pattern::{Pattern, PatternCounts};
use crate::request::{Request, RequestKind};
use crate::sequence::{NextPattern, PatternSequence};
#[cfg(feature = "persistence")]
use crate::store::{PatternStore, StoreError};

/// Pairs of known patterns that are compared again per slice.
const N_RECOMPARED: usize = 2_000;

/// Files whose users are remembered at most; beyond it all are forgotten.
const MAX_USED_FILES: usize = 4096;

/// What a slice was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecognisedSlice {
    /// The pattern the server is under.
    pub id: PatternId,
    /// The first known pattern that it resembles: options are chosen and loads
    /// predicted by it.
    pub family: PatternId,
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
    /// The family of the last slice.
    current: Option<PatternId>,
    /// Which family used a file last.
    users: HashMap<u64, PatternId, FixedState>,
    /// The family of the load that has just begun, as its files say.
    begun: Option<PatternId>,
}

impl PatternWatcher {
    /// Nothing known yet, and no options.
    pub fn new(config: PatternConfig) -> PatternWatcher {
        PatternWatcher {
            builder: PatternBuilder::new(PatternConfig { splits_at_loads: true, ..config }),
            matcher: AdaptiveMatcher::new(AdaptiveConfig::default()),
            sequence: PatternSequence::new(),
            options: Vec::new(),
            decisions: DecisionMaker::new(1, ChoiceConfig::default()),
            option: 0,
            option_of_slice: 0,
            current: None,
            users: HashMap::with_hasher(FixedState::default()),
            begun: None,
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

    /// Requests in the slice so far.
    pub fn requests(&self) -> u64 {
        self.builder.requests()
    }

    /// Whether another load has begun since the slice began: a good moment to
    /// [`cut`](Self::cut) it, so that the load is recognised by a slice of its own.
    #[inline]
    pub fn load_has_changed(&self) -> bool {
        self.builder.load_has_changed()
    }

    /// Ends the slice early, after so long a time.
    pub fn cut(&mut self, elapsed_ns: u64) -> Option<RecognisedSlice> {
        let pattern = self.builder.cut(elapsed_ns)?;
        Some(self.recognise_own(pattern))
    }

    /// Ends the slice; `None` if there were no requests.
    pub fn tick(&mut self) -> Option<RecognisedSlice> {
        let pattern = self.builder.tick()?;
        Some(self.recognise_own(pattern))
    }

    /// Whether a load has just begun: a good moment to
    /// [guess](Self::guess_by_files) which one it is.
    #[inline]
    pub fn load_has_begun(&self) -> bool {
        self.builder.load_has_begun()
    }

    /// The family of the load that has just begun, if its files were last used by one.
    /// It is [expected](Self::expected) until the slice has ended and shows what the
    /// load is: most loads come again on the same files, and an option that is set now
    /// helps a second longer.
    pub fn guess_by_files(&mut self) -> Option<PatternId> {
        self.begun = self.user_of(self.builder.first_files());
        self.begun
    }

    /// The family that used all of these files last. Files of several loads say nothing.
    fn user_of(&self, files: &[u64]) -> Option<PatternId> {
        let mut users = files.iter().map(|file| self.users.get(file));
        let first = users.next().flatten().copied()?;
        users.all(|user| user == Some(&first)).then_some(first)
    }

    /// A slice of our own requests has ended. A load that begins as none that is known
    /// is of the family that used its files last: noise and options change how it
    /// looks, and what was learned would have to be learned again.
    fn recognise_own(&mut self, pattern: Pattern) -> RecognisedSlice {
        let user = self.user_of(self.builder.files_before());
        let slice = self.recognise_used_by(pattern, user);
        if self.users.len() >= MAX_USED_FILES {
            self.users.clear();
        }
        for file in self.builder.files_before() {
            self.users.insert(*file, slice.family);
        }
        slice
    }

    /// The same for a pattern that was built elsewhere.
    pub fn recognise(&mut self, pattern: Pattern) -> RecognisedSlice {
        self.recognise_used_by(pattern, None)
    }

    /// `user` is the family that used its files last.
    fn recognise_used_by(&mut self, pattern: Pattern, user: Option<PatternId>) -> RecognisedSlice {
        let (kind, counts) = (pattern.kind, pattern.counts);
        let found = self.matcher.recognise(pattern);
        let discarded = self.matcher.take_discarded();
        if !discarded.is_empty() {
            // Others of the family may still be known.
            let mut families: Vec<PatternId> =
                self.matcher.patterns().map(|known| known.family).collect();
            families.sort_unstable();
            for gone in discarded {
                if families.binary_search(&gone).is_err() {
                    self.decisions.forget(gone);
                }
            }
        }
        let (mut id, mut family) = (found.id, found.family);
        if let Some(user) = user.filter(|user| self.matcher.join_family(kind, id, *user)) {
            family = user;
        }
        for merged in self.matcher.recompare(N_RECOMPARED) {
            let kept = self.matcher.patterns().find(|known| known.id == merged.kept);
            let into = kept.map_or(merged.kept, |known| known.family);
            self.decisions.merge(MergedPatterns { kept: into, gone: merged.gone });
            self.rename_user(merged.gone, into);
            id = if id == merged.gone { merged.kept } else { id };
            family = if family == merged.gone { into } else { family };
        }
        for joined in self.matcher.take_joined_families() {
            self.decisions.merge(joined);
            self.rename_user(joined.gone, joined.kept);
            family = if family == joined.gone { joined.kept } else { family };
        }
        self.sequence.observe(family);
        self.begun = None;
        self.current = Some(family);
        self.option_of_slice = self.option;
        RecognisedSlice {
            id,
            family,
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
        let option = self.propose();
        self.set_option(option);
        option
    }

    /// The same, where it takes time to set an option or may fail:
    /// [`set_option`](Self::set_option) says when it is done.
    pub fn propose(&mut self) -> usize {
        match self.expected() {
            Some(id) => self.decisions.choose(id),
            None => self.decisions.choose_unknown(),
        }
    }

    /// The family of patterns that the next slice is expected to be of, or this one if
    /// its load is [known by its files](Self::guess_by_files); none before the first
    /// slice.
    pub fn expected(&self) -> Option<PatternId> {
        self.begun.or_else(|| self.sequence.expected())
    }

    fn rename_user(&mut self, gone: PatternId, kept: PatternId) {
        self.users.values_mut().filter(|user| **user == gone).for_each(|user| *user = kept);
    }

    /// An option has been set, the one chosen or another.
    pub fn set_option(&mut self, option: usize) {
        if std::mem::replace(&mut self.option, option) != option {
            self.matcher.set_option(option);
        }
    }

    /// Learns the reward of the last slice. It belongs to the option that was
    /// set when the slice began and the pattern recognised at its end.
    pub fn reward(&mut self, reward: f64) -> Result<(), RewardError> {
        match self.current {
            Some(id) => self.decisions.reward(id, self.option_of_slice, reward),
            None => Ok(()),
        }
    }

    /// The same for a reward that comes later than its slice, of this family.
    pub fn reward_of(
        &mut self,
        family: PatternId,
        option: usize,
        reward: f64,
    ) -> Result<(), RewardError> {
        self.decisions.reward(family, option, reward)
    }

    /// What is known.
    pub fn matcher(&self) -> &AdaptiveMatcher {
        &self.matcher
    }

    /// What was learned of the options.
    pub fn decisions(&self) -> &DecisionMaker {
        &self.decisions
    }

    /// Restores what an earlier run has saved. Options are set before.
    #[cfg(feature = "persistence")]
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
    #[cfg(feature = "persistence")]
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        PatternStore::open(path)?.save(&self.matcher, Some((&self.decisions, &self.options)))
    }

    /// Memory of all parts.
    pub fn memory_bytes(&self) -> usize {
        self.builder.memory_bytes()
            + self.matcher.memory_bytes()
            + self.sequence.memory_bytes()
            + self.users.capacity() * size_of::<(u64, PatternId)>()
    }
}
