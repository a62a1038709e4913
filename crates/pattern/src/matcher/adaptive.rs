// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching by load profiles, with scales and a threshold that are found while
//! it runs.
//!
//! Nobody tells which slices belong together, but slices that follow each other
//! mostly do. So how far consecutive slices are apart, aspect by aspect, says how
//! much of a difference is noise ([`AspectScales`]): the distance of two patterns
//! counts in units of that. And the distances of consecutive slices against those
//! of any two known patterns say where 'the same' ends ([`ThresholdFinder`]).
//! Neither needs constants that fit one machine.
//!
//! A pattern is known by the slice it was first seen in. The pattern of the slice
//! before is preferred a little: loads last.

use crate::matcher::learned::{AspectScales, ThresholdFinder};
use crate::matcher::{MergedPatterns, PatternId, PatternMatcher, Recognition};
use crate::pattern::{Pattern, PatternCounts};
use crate::random::Random;
use crate::request::RequestKind;
use crate::similarity::{Aspects, ProfileVector};

/// How much nearer the pattern of the slice before counts.
const CONTINUITY: f32 = 0.9;

/// Known patterns per slice whose distance tells how different patterns are.
const N_SAMPLES: u64 = 3;

/// Patterns nearer than this share of the threshold are merged.
const MERGE_SHARE: f32 = 0.5;

/// Known patterns are compared again when the threshold has changed by this.
const SETTLED: f32 = 0.1;

/// A pattern that was seen before.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPattern {
    /// Its name.
    pub id: PatternId,
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
    pub(crate) profile: Box<ProfileVector>,
}

/// What an [`AdaptiveMatcher`] may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveConfig {
    /// Known patterns of each kind at most. Beyond it those are discarded that
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
}

/// What is known of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdaptiveSide {
    pub known: Vec<KnownPattern>,
    pub scales: AspectScales,
    pub threshold: ThresholdFinder,
    /// The slice before, and which known pattern it was.
    previous: Option<(ProfileVector, PatternId)>,
    /// Pairs before this one were compared again; `None` if there is no need.
    recompared: Option<(usize, usize)>,
    /// The threshold when known patterns were last compared.
    settled_at: f32,
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

    /// Patterns that were discarded since this was last asked.
    pub fn take_discarded(&mut self) -> Vec<PatternId> {
        std::mem::take(&mut self.discarded)
    }

    /// Below this distance two slices of the kind are the same.
    pub fn threshold(&self, kind: RequestKind) -> f64 {
        f64::from(self.sides[kind.index()].threshold.threshold())
    }

    /// Compares known patterns again if the threshold has changed, at most so
    /// many pairs, and merges those that are the same. To be called in the
    /// background now and then.
    pub fn recompare(&mut self, n_pairs: usize) -> Vec<MergedPatterns> {
        let mut merged = Vec::new();
        self.sides.iter_mut().for_each(|side| side.recompare(n_pairs, &mut merged));
        merged
    }

    /// Puts patterns back that were known in an earlier life.
    pub(crate) fn restore(&mut self, patterns: Vec<KnownPattern>, now: u64) {
        self.now = now;
        for pattern in patterns {
            self.n_ids = self.n_ids.max(pattern.id.0.saturating_add(1));
            self.sides[pattern.kind.index()].known.push(pattern);
        }
    }

    fn discard(&mut self, kind: RequestKind) {
        let known = &mut self.sides[kind.index()].known;
        if known.len() <= self.config.max_known.max(1) {
            return;
        }
        // A hundredth at a time, so that it is rarely done.
        let n_gone = 1 + self.config.max_known / 100;
        let now = self.now;
        let worth = |pattern: &KnownPattern| {
            pattern.n_seen as f64 / (1 + now.saturating_sub(pattern.last_seen)) as f64
        };
        let mut order: Vec<(f64, PatternId)> =
            known.iter().map(|pattern| (worth(pattern), pattern.id)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let gone: Vec<PatternId> = order.iter().take(n_gone).map(|(_, id)| *id).collect();
        known.retain(|pattern| !gone.contains(&pattern.id));
        self.sides[kind.index()].recompared = None;
        self.discarded.extend(gone);
    }
}

impl PatternMatcher for AdaptiveMatcher {
    fn recognise(&mut self, pattern: Pattern) -> Recognition {
        self.now += 1;
        let kind = pattern.kind;
        let side = &mut self.sides[kind.index()];
        let profile = ProfileVector::new(&pattern.profile);
        let recognition = match side.find(&profile, &mut self.random) {
            Some((index, score)) => {
                let known = &mut side.known[index];
                known.n_seen += 1;
                known.last_seen = self.now;
                Recognition::matched(known.id, score)
            }
            None => {
                let id = PatternId(self.n_ids);
                self.n_ids = self.n_ids.saturating_add(1);
                side.known.push(KnownPattern {
                    id,
                    kind,
                    counts: pattern.counts,
                    series: pattern.series,
                    n_seen: 1,
                    first_seen: self.now,
                    last_seen: self.now,
                    profile: Box::new(profile.clone()),
                });
                Recognition::new_pattern(id)
            }
        };
        side.previous = Some((profile, recognition.id));
        self.discard(kind);
        recognition
    }

    fn known(&self) -> usize {
        self.patterns().count()
    }

    fn memory_bytes(&self) -> usize {
        size_of::<AdaptiveMatcher>()
            + self.patterns().map(KnownPattern::memory_bytes).sum::<usize>()
    }
}

impl KnownPattern {
    /// Memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<KnownPattern>() + size_of_val(&*self.series) + size_of::<ProfileVector>()
    }

    /// Numbers that are stored of it: the series and the profile.
    pub fn n_values(&self) -> usize {
        self.series.len() + size_of::<ProfileVector>() / size_of::<f32>()
    }
}

impl AdaptiveSide {
    /// The known pattern that a slice is, and how sure that is. Learns from the
    /// distances it sees.
    fn find(&mut self, profile: &ProfileVector, random: &mut Random) -> Option<(usize, f64)> {
        let previous = self.previous.as_ref().map(|(before, id)| (profile.compare(before), *id));
        if let Some((aspects, _)) = &previous {
            self.scales.observe_consecutive(aspects);
            self.threshold.observe_consecutive(self.scales.distance(aspects));
        }
        let mut nearest: Option<(usize, f32, Aspects)> = None;
        for (index, known) in self.known.iter().enumerate() {
            let aspects = profile.compare(&known.profile);
            let mut distance = self.scales.distance(&aspects);
            if previous.is_some_and(|(_, id)| id == known.id) {
                distance *= CONTINUITY;
            }
            if nearest.is_none_or(|(_, least, _)| distance < least) {
                nearest = Some((index, distance, aspects));
            }
        }
        let (index, distance, aspects) = nearest?;
        self.sample_others(profile, index, random);
        let threshold = self.threshold.threshold();
        if distance >= threshold {
            return None;
        }
        if previous.is_some_and(|(_, id)| id != self.known[index].id) {
            self.scales.observe_recurrence(&aspects);
        }
        Some((index, f64::from(1.0 - distance / threshold)))
    }

    /// Distances to some known patterns that the slice is not.
    fn sample_others(&mut self, profile: &ProfileVector, nearest: usize, random: &mut Random) {
        if self.known.len() < 2 {
            return;
        }
        for _ in 0..N_SAMPLES {
            let other = random.below(self.known.len() as u64 - 1) as usize;
            let other = if other >= nearest { other + 1 } else { other };
            let aspects = profile.compare(&self.known[other].profile);
            self.threshold.observe_other(self.scales.distance(&aspects));
        }
    }

    fn recompare(&mut self, n_pairs: usize, merged: &mut Vec<MergedPatterns>) {
        let threshold = self.threshold.threshold();
        if self.recompared.is_none() && (threshold / self.settled_at - 1.0).abs() > SETTLED {
            self.recompared = (self.known.len() > 1).then_some((0, 1));
            self.settled_at = threshold;
        }
        for _ in 0..n_pairs {
            let Some((older, newer)) = self.recompared else { return };
            if newer >= self.known.len() {
                let next = older + 1;
                self.recompared = (next + 1 < self.known.len()).then_some((next, next + 1));
                continue;
            }
            let aspects = self.known[older].profile.compare(&self.known[newer].profile);
            if self.scales.distance(&aspects) < MERGE_SHARE * threshold {
                merged.push(self.merge(older, newer));
            } else {
                self.recompared = Some((older, newer + 1));
            }
        }
    }

    fn merge(&mut self, older: usize, newer: usize) -> MergedPatterns {
        let gone = self.known.remove(newer);
        let kept = &mut self.known[older];
        kept.n_seen += gone.n_seen;
        kept.last_seen = kept.last_seen.max(gone.last_seen);
        let merged = MergedPatterns { kept: kept.id, gone: gone.id };
        if let Some((_, id)) = self.previous.as_mut().filter(|(_, id)| *id == gone.id) {
            *id = merged.kept;
        }
        merged
    }
}
