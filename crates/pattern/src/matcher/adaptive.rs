// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching by load profiles, with scales and thresholds that are found while it
//! runs.
//!
//! A load is an *episode* of several slices: it starts, lasts, fades. Slices of
//! one episode differ much (the first has the opening of files, the last is cut
//! off), while the first slices of two episodes of the same load are nearly
//! equal. So an episode is recognised by its first slice, compared with the first
//! slices of known patterns, and its later slices belong to it until something
//! else begins:
//! - The requests of a slice go to files that nobody used shortly before: an
//!   episode has begun, unless the load replaces its files all the time, does not
//!   pause, and the slice looks about as the one before. How far first slices are from the nearest known one
//!   says how much of a difference is noise ([`RecurrenceScales`]). How near it must
//!   be to be the same load is learned from second slices ([`StartThreshold`]). A
//!   slice that is as near to one known pattern as to many others is none of them
//!   ([`NearestStart`]).
//! - The files are the same but the slice resembles nothing the episode has shown
//!   so far: if it resembles another known pattern, it is that one; if the next
//!   slice looks the same way, it is a new one. What counts as resembling comes
//!   from how far consecutive slices are apart ([`AspectScales`]) against other
//!   pairs ([`ThresholdFinder`]).
//!
//! An option that was just set may change the requests themselves, as read-ahead
//! does. The episode goes on through such a change, and how it looks then is
//! remembered as another appearance of the pattern
//! ([`set_option`](AdaptiveMatcher::set_option)). Where that appearance is already
//! known as a pattern of its own, because the load has once begun under that
//! option, the two become one family.

use crate::matcher::learned::{AspectScales, RecurrenceScales, StartThreshold, ThresholdFinder};
use crate::matcher::{MergedPatterns, PatternId, PatternMatcher, Recognition};
use crate::pattern::{Pattern, PatternCounts};
use crate::random::Random;
use crate::request::RequestKind;
use crate::similarity::{Aspects, ProfileVector};

/// Below this share of requests to files of the slice before, a slice begins an
/// episode.
const CARRIED: f32 = 0.25;

/// Above this turnover of files in it or in the slice before, it may also go on with the
/// one that it is in.
const TURNED_OVER: f32 = 0.2;

/// Known starts near a slice are apart from the others if those are further by this
/// factor. Else the slice is between loads that cannot be told apart, and to guess
/// which one it is would be wrong more often than right.
const APART: f32 = 2.0;

/// If they are further by this factor, the load is known for certain, and
/// [`CERTAIN_START`] is near enough; [`CERTAIN_AT_FIRST`] until it has shown that starts
/// tell loads apart here, because everything is far from the first few.
const FAR_APART: f32 = 4.0;
const CERTAIN_START: f32 = 1.5;
const CERTAIN_AT_FIRST: f32 = 0.7;

/// Known starts that are apart from others are all nearer than this.
const NEAR: f32 = 2.0;

/// A second slice goes on as a known one does if it is nearer than this, in units
/// of what is usual between slices that follow each other.
const ALIKE: f32 = 1.5;

/// One that is nearer than this is of the family of the known pattern: what was
/// learned of the options there holds here.
const SAME_FAMILY: f32 = 2.0;

/// A slice has left its episode if it is this many thresholds from all of it.
const LEFT: f32 = 1.5;

/// It is another pattern if it is nearer to that one by this factor, and within
/// the threshold.
const NEARER: f32 = 0.5;

/// Slices in a row that have left an episode and are a new pattern.
const N_LEFT: u32 = 2;

/// Slices after an option was set that are no new pattern: settings take some
/// seconds to show.
const N_TOLERATED: u32 = 3;

/// Appearances under other options that are remembered of a pattern; the oldest
/// makes room.
pub(crate) const MAX_APPEARANCES: usize = 4;

/// Known patterns per slice whose distance shows how different patterns are.
const N_SAMPLES: u64 = 3;

/// Patterns whose first slices are nearer than this are merged.
const MERGED: f32 = 0.25;

/// Patterns and families that are merged in one go at most.
const MERGED_AT_ONCE: usize = 16;

/// Known patterns are compared again when this many episodes have changed the
/// scales.
const N_UNSETTLED: u32 = 16;

/// A pattern that was seen before.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPattern {
    /// Its name.
    pub id: PatternId,
    /// The first pattern that it resembles; itself if there was none.
    pub family: PatternId,
    /// What most of its requests do.
    pub kind: RequestKind,
    /// How many of what it had when it was first seen.
    pub counts: PatternCounts,
    /// Its offset distances then.
    pub series: Box<[f32]>,
    /// How often it was seen.
    pub n_seen: u64,
    /// The slice in which it was first seen, counted over all lives.
    pub first_seen: u64,
    /// The one in which it was last seen.
    pub last_seen: u64,
    /// Its first slice.
    pub(crate) onset: Box<ProfileVector>,
    /// Its second one, once there was one.
    pub(crate) steady: Option<Box<ProfileVector>>,
    /// How it looked after options were set, where that was different.
    pub(crate) appearances: Vec<ProfileVector>,
    /// The options under which it was seen in this life, a bit each.
    pub(crate) seen_under: u64,
}

/// What an [`AdaptiveMatcher`] may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveConfig {
    /// Known patterns at most, of both kinds. Beyond it those are discarded that
    /// were seen rarely and not for long.
    pub max_known: usize,
}

impl Default for AdaptiveConfig {
    fn default() -> AdaptiveConfig {
        AdaptiveConfig { max_known: 10_000 }
    }
}

/// Matches by load profiles.
#[derive(Clone, Debug)]
pub struct AdaptiveMatcher {
    config: AdaptiveConfig,
    pub(crate) sides: [AdaptiveSide; 2],
    n_ids: u32,
    /// Slices so far.
    now: u64,
    random: Random,
    discarded: Vec<PatternId>,
    /// The option that is set, and the one before.
    option: usize,
    option_before: usize,
    /// Slices to come until the option shows for certain.
    n_settling: u32,
}

/// What is known of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdaptiveSide {
    pub known: Vec<KnownPattern>,
    pub recurrences: RecurrenceScales,
    pub scales: AspectScales,
    pub threshold: ThresholdFinder,
    pub starts: StartThreshold,
    episode: Option<Episode>,
    /// Pairs before this one were compared again; `None` if there is no need.
    recompared: Option<(usize, usize)>,
    /// Episodes since known patterns were last compared.
    n_unsettled: u32,
    joined_families: Vec<MergedPatterns>,
}

/// The option that is in force.
#[derive(Clone, Copy, Debug)]
struct OptionInForce {
    /// Its bit, and that of the one before.
    bit: u64,
    bit_before: u64,
}

/// The load that goes on.
#[derive(Clone, Debug)]
struct Episode {
    id: PatternId,
    previous: ProfileVector,
    /// How much that slice replaced its files.
    turnover: f32,
    n_slices: u32,
    /// Slices in a row that resemble nothing of it.
    n_left: u32,
    /// Slices to come that may look different from all that is known.
    n_tolerated: u32,
    /// Whether its first slice was that of a load.
    began: bool,
    /// Whether its pattern became known with it.
    is_new: bool,
}

/// The known pattern whose start is nearest to a slice.
struct NearestStart {
    index: usize,
    distance: f32,
    aspects: Aspects,
    /// How many times further the other known starts are than those near the slice,
    /// where that is most. Several may be near: a load may have become several
    /// patterns.
    gap: f32,
}

/// What a slice was found to be.
enum Found {
    /// The known pattern at this index, and how sure that is.
    Known(usize, f64),
    /// A new one, of the family of a known one if it resembles that.
    New { family: Option<PatternId> },
    /// A new one that has begun with the slice before.
    NewSinceBefore(Box<ProfileVector>),
}

impl AdaptiveMatcher {
    /// Nothing known yet.
    pub fn new(config: AdaptiveConfig) -> AdaptiveMatcher {
        AdaptiveMatcher {
            config,
            sides: Default::default(),
            n_ids: 0,
            now: 0,
            random: Random::new(0),
            discarded: Vec::new(),
            option: 0,
            option_before: 0,
            n_settling: 0,
        }
    }

    /// The known patterns, in the order in which they were first seen, those
    /// that read before those that write.
    pub fn patterns(&self) -> impl Iterator<Item = &KnownPattern> {
        self.sides.iter().flat_map(|side| &side.known)
    }

    /// Slices so far.
    pub fn slices(&self) -> u64 {
        self.now
    }

    /// An option was set, which may change how the present load looks: the slices
    /// to come belong to it as long as they access its files and resemble no
    /// other known pattern.
    pub fn set_option(&mut self, option: usize) {
        self.option_before = std::mem::replace(&mut self.option, option);
        self.n_settling = N_TOLERATED;
        for episode in self.sides.iter_mut().filter_map(|side| side.episode.as_mut()) {
            episode.n_tolerated = N_TOLERATED;
        }
    }

    /// Patterns that were discarded since this was last asked.
    pub fn take_discarded(&mut self) -> Vec<PatternId> {
        std::mem::take(&mut self.discarded)
    }

    /// Families that turned out to be one since this was last asked.
    pub fn take_joined_families(&mut self) -> Vec<MergedPatterns> {
        self.sides.iter_mut().flat_map(|side| std::mem::take(&mut side.joined_families)).collect()
    }

    /// A pattern that has just begun and resembles no other is of this family; says
    /// whether that could be done.
    pub(crate) fn join_family(
        &mut self,
        kind: RequestKind,
        id: PatternId,
        family: PatternId,
    ) -> bool {
        let AdaptiveSide { known, episode, .. } = &mut self.sides[kind.index()];
        let has_begun = |episode: &Episode| {
            episode.id == id && episode.began && episode.is_new && episode.n_slices == 1
        };
        let joins = episode.as_ref().is_some_and(has_begun)
            && known.iter().any(|known| known.family == family && known.id != id);
        match known.iter_mut().find(|known| known.id == id && known.family == id) {
            Some(known) if joins => {
                known.family = family;
                true
            }
            _ => false,
        }
    }

    /// Slices of the kind that are further apart than this do not follow each
    /// other in one load.
    pub fn threshold(&self, kind: RequestKind) -> f64 {
        f64::from(self.sides[kind.index()].threshold.threshold())
    }

    /// Compares known patterns again if the scales may have changed, at most so
    /// many pairs, and merges those that are the same. To be called in the
    /// background now and then.
    pub fn recompare(&mut self, n_pairs: usize) -> Vec<MergedPatterns> {
        let mut merged = Vec::new();
        for side in &mut self.sides {
            side.recompare(n_pairs, &mut merged);
        }
        merged
    }

    /// Restores patterns that an earlier run knew.
    pub(crate) fn restore(&mut self, patterns: Vec<KnownPattern>, now: u64) {
        self.now = now;
        for pattern in patterns {
            self.n_ids = self.n_ids.max(pattern.id.0.saturating_add(1));
            self.sides[pattern.kind.index()].known.push(pattern);
        }
    }

    fn discard(&mut self) {
        let max_known = self.config.max_known.max(1);
        if self.known() <= max_known {
            return;
        }
        // A hundredth at a time, so that it is rarely done.
        let n_gone = 1 + max_known / 100;
        let now = self.now;
        let worth = |pattern: &KnownPattern| {
            pattern.n_seen as f64 / (1 + now.saturating_sub(pattern.last_seen)) as f64
        };
        let mut order: Vec<(f64, PatternId)> =
            self.patterns().map(|pattern| (worth(pattern), pattern.id)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut gone: Vec<PatternId> = order.iter().take(n_gone).map(|(_, id)| *id).collect();
        gone.sort_unstable();
        for side in &mut self.sides {
            side.known.retain(|pattern| gone.binary_search(&pattern.id).is_err());
            side.recompared = None;
        }
        self.discarded.extend(gone);
    }
}

impl PatternMatcher for AdaptiveMatcher {
    fn recognise(&mut self, pattern: Pattern) -> Recognition {
        self.now += 1;
        let kind = pattern.kind;
        let side = &mut self.sides[kind.index()];
        let profile = ProfileVector::new(&pattern.profile);
        let turnover = pattern.profile.turnover;
        let begins = pattern.profile.carried < CARRIED
            && (pattern.profile.after_pause || !side.goes_on_elsewhere(&profile, turnover));
        // Options beyond the number of bits share the last one, and are then never
        // taken for the cause of a change.
        let bit = |option: usize| 1 << option.min(63);
        let option = OptionInForce { bit: bit(self.option), bit_before: bit(self.option_before) };
        let found = side.find(&profile, begins, option, &mut self.random);
        let is_settled = self.n_settling == 0;
        self.n_settling = self.n_settling.saturating_sub(1);
        let recognition = match found {
            Found::Known(index, score) => {
                let known = &mut side.known[index];
                known.n_seen += 1;
                known.last_seen = self.now;
                known.seen_under |= if is_settled { option.bit } else { 0 };
                Recognition { family: known.family, ..Recognition::matched(known.id, score) }
            }
            Found::New { .. } | Found::NewSinceBefore(_) => {
                let id = PatternId(self.n_ids);
                self.n_ids = self.n_ids.saturating_add(1);
                let (family, onset, steady) = match found {
                    Found::NewSinceBefore(onset) => (id, onset, Some(Box::new(profile.clone()))),
                    Found::New { family: Some(family) } => {
                        (family, Box::new(profile.clone()), None)
                    }
                    _ => (id, Box::new(profile.clone()), None),
                };
                side.known.push(KnownPattern {
                    id,
                    family,
                    kind,
                    counts: pattern.counts,
                    series: pattern.series,
                    n_seen: 1,
                    first_seen: self.now,
                    last_seen: self.now,
                    onset,
                    steady,
                    appearances: Vec::new(),
                    seen_under: if is_settled { option.bit } else { 0 },
                });
                Recognition { family, ..Recognition::new_pattern(id) }
            }
        };
        side.advance(profile, turnover, recognition, begins);
        self.discard();
        recognition
    }

    fn known(&self) -> usize {
        self.sides.iter().map(|side| side.known.len()).sum()
    }

    fn memory_bytes(&self) -> usize {
        size_of::<AdaptiveMatcher>()
            + self.patterns().map(KnownPattern::memory_bytes).sum::<usize>()
    }
}

impl KnownPattern {
    /// Memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let profiles = (1 + self.steady.iter().len() + self.appearances.capacity())
            * size_of::<ProfileVector>();
        size_of::<KnownPattern>() + size_of_val(&*self.series) + profiles
    }

    /// Numbers that are stored of it: the series and the profiles.
    pub fn n_values(&self) -> usize {
        self.series.len() + self.profiles().count() * ProfileVector::LEN
    }

    /// All that it looked like.
    fn profiles(&self) -> impl Iterator<Item = &ProfileVector> {
        self.starts().chain(self.steady.as_deref())
    }

    /// What an episode of it may begin with.
    fn starts(&self) -> impl Iterator<Item = &ProfileVector> {
        std::iter::once(&*self.onset).chain(&self.appearances)
    }

    /// How far a profile is from the nearest of its own.
    fn distance(&self, profile: &ProfileVector, scales: &AspectScales) -> f32 {
        let to = |other: &ProfileVector| scales.distance(&profile.compare(other));
        self.profiles().map(to).fold(f32::INFINITY, f32::min)
    }

    /// Remembers how it looks under an option.
    fn add_appearance(&mut self, profile: &ProfileVector) {
        if self.appearances.len() == MAX_APPEARANCES {
            self.appearances.remove(0);
        }
        self.appearances.reserve_exact(1);
        self.appearances.push(profile.clone());
    }
}

impl AdaptiveSide {
    /// What a slice is. Learns from the distances it sees.
    fn find(
        &mut self,
        profile: &ProfileVector,
        begins: bool,
        option: OptionInForce,
        random: &mut Random,
    ) -> Found {
        match (begins, self.current()) {
            (false, Some(current)) => self.continue_episode(profile, current, option, random),
            _ => self.find_start(profile),
        }
    }

    /// Whether a slice on other files goes on with the present load, which replaces
    /// its files all the time: it looks about as the slice before did.
    fn goes_on_elsewhere(&self, profile: &ProfileVector, turnover: f32) -> bool {
        self.episode.as_ref().is_some_and(|episode| {
            episode.turnover.max(turnover) > TURNED_OVER
                && self.scales.distance(&profile.compare(&episode.previous))
                    < LEFT * self.threshold.threshold()
        })
    }

    /// The known pattern of the present episode; none if it was discarded.
    fn current(&self) -> Option<usize> {
        let id = self.episode.as_ref()?.id;
        self.known.iter().position(|known| known.id == id)
    }

    fn start_distance(&self, one: &ProfileVector, other: &ProfileVector) -> f32 {
        self.recurrences.distance(&one.compare(other), &self.scales)
    }

    /// An episode begins with this slice.
    fn find_start(&mut self, profile: &ProfileVector) -> Found {
        let Some(nearest) = self.nearest_start(profile) else {
            return Found::New { family: None };
        };
        self.recurrences.observe(&nearest.aspects);
        self.n_unsettled += 1;
        let NearestStart { index, distance, gap, .. } = nearest;
        let same = match gap {
            FAR_APART.. => match self.starts.is_learned() {
                true => self.starts.threshold().max(CERTAIN_START),
                false => CERTAIN_AT_FIRST,
            },
            APART.. => self.starts.threshold(),
            _ => 0.0,
        };
        match distance {
            _ if distance < same => Found::Known(index, f64::from(1.0 - distance / same)),
            ..SAME_FAMILY => Found::New { family: Some(self.known[index].family) },
            _ => Found::New { family: None },
        }
    }

    /// The known pattern whose start is nearest; none if nothing is known.
    fn nearest_start(&self, profile: &ProfileVector) -> Option<NearestStart> {
        let mut nearest: Option<(usize, f32, Aspects)> = None;
        let mut distances = Vec::with_capacity(self.known.len());
        for (index, known) in self.known.iter().enumerate() {
            let mut least_of_known = f32::INFINITY;
            for start in known.starts() {
                let aspects = profile.compare(start);
                let distance = self.recurrences.distance(&aspects, &self.scales);
                least_of_known = least_of_known.min(distance);
                if nearest.is_none_or(|(_, least, _)| distance < least) {
                    nearest = Some((index, distance, aspects));
                }
            }
            // Beyond it there is nothing to be apart from.
            if least_of_known < FAR_APART * NEAR {
                distances.push(least_of_known);
            }
        }
        let (index, distance, aspects) = nearest?;
        distances.sort_unstable_by(f32::total_cmp);
        distances.push(f32::INFINITY);
        let near = NEAR.max(self.starts.threshold());
        let pairs = distances.windows(2).take_while(|pair| pair[0] < near);
        let gap = pairs.map(|pair| pair[1] / pair[0].max(f32::MIN_POSITIVE)).fold(0.0, f32::max);
        Some(NearestStart { index, distance, aspects, gap })
    }

    /// The slice accesses files of the one before.
    fn continue_episode(
        &mut self,
        profile: &ProfileVector,
        current: usize,
        option: OptionInForce,
        random: &mut Random,
    ) -> Found {
        let Some(episode) = &mut self.episode else { return Found::New { family: None } };
        let aspects = profile.compare(&episode.previous);
        let is_tolerated = episode.n_tolerated > 0;
        let is_last_tolerated = episode.n_tolerated == 1;
        if is_tolerated {
            // What the option changes is not the usual noise.
            episode.n_tolerated -= 1;
        } else {
            self.scales.observe_consecutive(&aspects);
            self.threshold.observe_consecutive(self.scales.distance(&aspects));
        }
        let from_previous = self.scales.distance(&aspects);
        let from_known = self.known[current].distance(profile, &self.scales);
        // A slice like one that has left may have left, too.
        let distance = match episode.n_left {
            0 => from_previous.min(from_known),
            _ => from_known,
        };
        let n_left = episode.n_left + 1;
        self.sample_others(profile, current, random);
        let threshold = self.threshold.threshold();
        let left = LEFT * threshold;
        let looks_other = from_previous >= left;
        if looks_other && !is_tolerated && self.split_appearance(profile, current) {
            return Found::New { family: None };
        }
        if from_known < left {
            self.set_left(0);
            return Found::Known(current, f64::from(1.0 - from_known / left));
        }
        let others = self.known.iter().enumerate().filter(|(index, _)| *index != current);
        let others = others.map(|(index, known)| (index, known.distance(profile, &self.scales)));
        let nearest = others.min_by(|a, b| a.1.total_cmp(&b.1));
        let limit = (NEARER * from_known).min(threshold);
        if let Some((index, other)) = nearest.filter(|(_, other)| *other < limit) {
            if is_tolerated {
                self.join_appearances(current, index, option);
            }
            return Found::Known(index, f64::from(1.0 - other / limit));
        }
        if distance < left || is_tolerated {
            if is_last_tolerated {
                self.known[current].add_appearance(profile);
            }
            self.set_left(0);
            return Found::Known(current, f64::from(1.0 - distance / left).max(0.0));
        }
        if n_left >= N_LEFT && from_previous < threshold {
            return self.episode.as_ref().map_or(Found::New { family: None }, |episode| {
                Found::NewSinceBefore(Box::new(episode.previous.clone()))
            });
        }
        self.set_left(n_left);
        Found::Known(current, 0.0)
    }

    /// An option was set, and now the load looks as another known pattern does. It
    /// is the same load, unless both were seen under one of the two options: then
    /// they looked different, and it is the load that has changed.
    fn join_appearances(&mut self, from: usize, to: usize, option: OptionInForce) {
        let (from, to) = (&self.known[from], &self.known[to]);
        let is_appearance = option.bit != option.bit_before
            && from.seen_under & option.bit == 0
            && to.seen_under & option.bit != 0
            && to.seen_under & option.bit_before == 0;
        if is_appearance && from.family != to.family {
            let (kept, gone) = (from.family.min(to.family), from.family.max(to.family));
            self.join_families(kept, gone);
        }
    }

    /// The load looks different although no option was set. If it changes between
    /// two appearances of its pattern, the later one was another load, which has
    /// begun just when an option was set: forgets that appearance, and says whether
    /// it is what the load looks like now.
    fn split_appearance(&mut self, profile: &ProfileVector, current: usize) -> bool {
        let Some(episode) = &self.episode else { return false };
        let known = &self.known[current];
        let nearest = |profile: &ProfileVector| {
            let to = |other: &ProfileVector| self.scales.distance(&profile.compare(other));
            let own = to(&known.onset).min(known.steady.as_deref().map_or(f32::INFINITY, to));
            let appearances = known.appearances.iter().map(to).enumerate();
            let (index, least) = appearances.min_by(|a, b| a.1.total_cmp(&b.1))?;
            (least < own).then_some(index)
        };
        let (before, now) = (nearest(&episode.previous), nearest(profile));
        if before == now {
            return false;
        }
        if let Some(gone) = now.or(before) {
            self.known[current].appearances.remove(gone);
        }
        now.is_some()
    }

    fn set_left(&mut self, n_left: u32) {
        if let Some(episode) = &mut self.episode {
            episode.n_left = n_left;
        }
    }

    /// The slice was recognised.
    fn advance(
        &mut self,
        profile: ProfileVector,
        turnover: f32,
        recognition: Recognition,
        begins: bool,
    ) {
        let id = recognition.id;
        match self.episode.take() {
            Some(before) if before.id == id && !begins => {
                let n_slices = before.n_slices.saturating_add(1);
                // What an option changes is no other load.
                if n_slices == 2 && before.began && before.n_tolerated == 0 {
                    self.judge_starts(&before, &profile);
                }
                let known = self.known.iter_mut().find(|known| known.id == id);
                if let Some(known) = known.filter(|known| n_slices == 2 && known.steady.is_none()) {
                    known.steady = Some(Box::new(profile.clone()));
                }
                self.episode = Some(Episode { previous: profile, turnover, n_slices, ..before });
            }
            // What was reached in the middle of a load has no second slice.
            _ => {
                let n_slices = if begins || !recognition.is_match { 1 } else { 2 };
                let (n_left, n_tolerated) = (0, 0);
                let (previous, began, is_new) = (profile, begins, !recognition.is_match);
                self.episode = Some(Episode {
                    id,
                    previous,
                    turnover,
                    n_slices,
                    n_left,
                    n_tolerated,
                    began,
                    is_new,
                });
            }
        }
    }

    /// The second slice of an episode tells whether the known pattern whose start was
    /// nearest is the right one: then it is also the one that goes on in the same way.
    /// How far that start was says which starts are the same.
    fn judge_starts(&mut self, episode: &Episode, second: &ProfileVector) {
        let nearest_by = |distance: &dyn Fn(&KnownPattern, &ProfileVector) -> f32| {
            let known = self.known.iter().filter(|known| !episode.is_new || known.id != episode.id);
            let steady = known.filter_map(|known| Some((known, known.steady.as_deref()?)));
            let distances = steady.map(|(known, steady)| (distance(known, steady), known.id));
            distances.min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let by_start = nearest_by(&|known, _| self.start_distance(&episode.previous, &known.onset));
        let by_second = nearest_by(&|_, steady| self.scales.distance(&second.compare(steady)));
        let (Some((start, begins_as)), Some((distance, goes_on_as))) = (by_start, by_second) else {
            return;
        };
        let is_right = begins_as == goes_on_as && distance < ALIKE;
        self.starts.observe(start, is_right);
    }

    /// Distances to some known patterns that the slice is not.
    fn sample_others(&mut self, profile: &ProfileVector, current: usize, random: &mut Random) {
        if self.known.len() < 2 {
            return;
        }
        for _ in 0..N_SAMPLES {
            let other = random.below(self.known.len() as u64 - 1) as usize;
            let other = if other >= current { other + 1 } else { other };
            let known = &self.known[other];
            let aspects = profile.compare(known.steady.as_ref().unwrap_or(&known.onset));
            self.threshold.observe_other(self.scales.distance(&aspects));
        }
    }

    fn recompare(&mut self, n_pairs: usize, merged: &mut Vec<MergedPatterns>) {
        if self.recompared.is_none() && self.n_unsettled >= N_UNSETTLED {
            self.recompared = (self.known.len() > 1).then_some((0, 1));
            self.n_unsettled = 0;
        }
        let n_before = merged.len() + self.joined_families.len();
        for _ in 0..n_pairs {
            let Some((older, newer)) = self.recompared else { return };
            // Each of these looks at all known patterns.
            if merged.len() + self.joined_families.len() >= n_before + MERGED_AT_ONCE {
                return;
            }
            if newer >= self.known.len() {
                let next = older + 1;
                self.recompared = (next + 1 < self.known.len()).then_some((next, next + 1));
                continue;
            }
            let (one, other) = (&self.known[older], &self.known[newer]);
            let distance = self.start_distance(&one.onset, &other.onset);
            if distance < MERGED {
                merged.push(self.merge(older, newer));
                continue;
            }
            // Only the first patterns of families are compared: joining whatever
            // has two neighbours in common would join everything in the end.
            let are_first = one.id == one.family && other.id == other.family;
            if are_first && distance < SAME_FAMILY {
                let (kept, gone) = (one.family, other.family);
                self.join_families(kept, gone);
            }
            self.recompared = Some((older, newer + 1));
        }
    }

    fn join_families(&mut self, kept: PatternId, gone: PatternId) {
        self.rename_family(gone, kept);
        self.joined_families.push(MergedPatterns { kept, gone });
    }

    fn rename_family(&mut self, gone: PatternId, kept: PatternId) {
        for known in self.known.iter_mut().filter(|known| known.family == gone) {
            known.family = kept;
        }
    }

    fn merge(&mut self, older: usize, newer: usize) -> MergedPatterns {
        let gone = self.known.remove(newer);
        let kept = &mut self.known[older];
        kept.n_seen += gone.n_seen;
        kept.last_seen = kept.last_seen.max(gone.last_seen);
        let merged = MergedPatterns { kept: kept.id, gone: gone.id };
        let family = kept.family;
        if let Some(episode) = self.episode.as_mut().filter(|episode| episode.id == gone.id) {
            episode.id = merged.kept;
        }
        self.rename_family(gone.id, family);
        merged
    }
}
