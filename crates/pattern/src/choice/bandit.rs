// SPDX-License-Identifier: MIT OR Apache-2.0

//! A multi-armed bandit per known pattern: discounted UCB1 (Kocsis and
//! Szepesvári, 2006; Garivier and Moulines, 2008).
//!
//! The option with the highest estimate plus bonus is chosen. The bonus is in
//! units of the deviation of rewards, so that options that are clearly worse are
//! rarely tried again, and grows while an option is not tried, so that each is
//! tried again some time: loads and machines change. Four additions:
//! - A pattern that is new starts from what was best under all others. Rewards of
//!   different patterns are compared relative to the pattern's own level. What was
//!   bad elsewhere is tried here, too, once the level is known.
//! - The usual reward is a median ([`ArmEstimate`]): a wrong match brings the
//!   reward of another load.
//! - A choice whose reward never arrives counts as tried: the next slice may have
//!   been another pattern, which got the reward. Otherwise the option would be
//!   chosen again and again, to learn what cannot be learned here.
//! - Options that are values of a numeric parameter ([`OptionOrder::Ordered`])
//!   are searched from neighbour to neighbour (unimodal bandits, Combes and
//!   Proutière, 2014), with a look elsewhere now and then.
//!
//! Nothing is random: the same rewards give the same choices.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use thiserror::Error;

use crate::choice::arm::ArmEstimate;
use crate::matcher::{MergedPatterns, PatternId};

/// How options relate to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionOrder {
    /// Not at all, as scheduling policies.
    #[default]
    Unrelated,
    /// As values of a parameter in ascending or descending order: neighbours
    /// have similar rewards.
    Ordered,
}

/// How options are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChoiceConfig {
    /// How options relate to each other.
    pub order: OptionOrder,
    /// What a reward counts after the next one under the same pattern.
    pub discount: f64,
    /// Size of the bonus for options that were rarely tried.
    pub exploration: f64,
    /// Patterns that are remembered at most; the one unused for longest goes.
    pub max_patterns: usize,
}

impl Default for ChoiceConfig {
    fn default() -> ChoiceConfig {
        ChoiceConfig {
            order: OptionOrder::Unrelated,
            discount: 0.995,
            exploration: 1.0,
            max_patterns: 20_000,
        }
    }
}

/// Why a reward was not taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewardError {
    /// It is infinite or not a number.
    #[error("the reward is not a finite number; it is ignored")]
    NotFinite,
    /// There is no such option.
    #[error("there is no option {option}, only {n_options} of them from 0 on")]
    NoSuchOption {
        /// The option.
        option: usize,
        /// How many there are.
        n_options: usize,
    },
}

/// Chooses among options, for each pattern on its own.
///
/// ```
/// use ioracle_pattern::{ChoiceConfig, DecisionMaker, PatternId};
///
/// let mut policies = DecisionMaker::new(3, ChoiceConfig::default());
/// for _ in 0..100 {
///     let option = policies.choose(PatternId(7));
///     let throughput = [80.0, 120.0, 95.0][option];
///     policies.reward(PatternId(7), option, throughput).unwrap();
/// }
/// assert_eq!(policies.best(PatternId(7)), Some(1));
/// // A pattern never seen starts from what was best so far.
/// assert_eq!(policies.choose(PatternId(8)), 1);
/// ```
#[derive(Clone, Debug)]
pub struct DecisionMaker {
    config: ChoiceConfig,
    /// Rewards relative to the level of their pattern.
    overall: Vec<ArmEstimate>,
    patterns: HashMap<PatternId, PatternArms, FixedState>,
    /// Counts rewards and choices, to know what was not used for longest.
    now: u64,
}

#[derive(Clone, Debug)]
struct PatternArms {
    arms: Vec<ArmEstimate>,
    /// How often each option was chosen since its last reward.
    n_unrewarded: Vec<u32>,
    n_rewards: u64,
    last_used: u64,
}

/// What the estimate over all patterns counts for a pattern, in rewards.
const PRIOR_WEIGHT: f64 = 0.5;
/// Deviation assumed of an option that was never tried, as a share of the mean.
const UNKNOWN_DEVIATION: f64 = 0.3;
/// Least deviation, likewise.
const LEAST_DEVIATION: f64 = 0.02;
/// A mean below this share of the best is believed after so many rewards.
const DOUBTFUL: f64 = 0.5;
const CONFIRMED: usize = 3;
/// Rewards between two options that were never tried under a pattern.
const TRY_UNTRIED: u64 = 4;
/// An option that was chosen so often in a row without a reward is not tried
/// here any more, because nothing is learned of it.
const MAX_UNREWARDED: u32 = 4;
/// Ordered options: so many rewards between two looks away from the best.
const LOOK_ELSEWHERE: u64 = 64;

impl DecisionMaker {
    /// So many options, 0 to `n_options - 1`, of which nothing is known.
    pub fn new(n_options: usize, config: ChoiceConfig) -> DecisionMaker {
        DecisionMaker {
            config,
            overall: vec![ArmEstimate::default(); n_options.max(1)],
            patterns: HashMap::with_hasher(FixedState::default()),
            now: 0,
        }
    }

    /// How many options there are.
    pub fn n_options(&self) -> usize {
        self.overall.len()
    }

    /// The option to set now, given that the server is under this pattern.
    pub fn choose(&mut self, pattern: PatternId) -> usize {
        self.now += 1;
        let now = self.now;
        let is_known = self.patterns.get(&pattern).is_some_and(|known| known.n_rewards > 0);
        if !is_known {
            return self.best_overall().unwrap_or(0);
        }
        let option = self.choose_known(pattern);
        if let Some(known) = self.patterns.get_mut(&pattern) {
            known.last_used = now;
            known.n_unrewarded[option] = known.n_unrewarded[option].saturating_add(1);
        }
        option
    }

    /// The option to set when nothing is known of the load: the best so far.
    pub fn choose_unknown(&self) -> usize {
        self.best_overall().unwrap_or(0)
    }

    /// Learns what came of an option: the reward of a slice belongs to the
    /// option that was set at its start and the pattern recognised at its end.
    pub fn reward(
        &mut self,
        pattern: PatternId,
        option: usize,
        reward: f64,
    ) -> Result<(), RewardError> {
        let n_options = self.n_options();
        if option >= n_options {
            return Err(RewardError::NoSuchOption { option, n_options });
        }
        // Sums of larger ones would overflow.
        if !reward.is_finite() || reward.abs() > 1e150 {
            return Err(RewardError::NotFinite);
        }
        self.now += 1;
        self.make_room(pattern);
        let (now, discount) = (self.now, self.config.discount.clamp(0.0, 1.0));
        let known = self.patterns.entry(pattern).or_insert_with(|| PatternArms::new(n_options));
        known.last_used = now;
        known.n_rewards += 1;
        known.n_unrewarded[option] = 0;
        known.arms.iter_mut().for_each(|arm| arm.discount(discount));
        known.arms[option].learn(reward);
        let level = known.level();
        if level > 0.0 {
            self.overall.iter_mut().for_each(|arm| arm.discount(discount));
            self.overall[option].learn(reward / level);
        }
        Ok(())
    }

    /// The option with the highest mean reward under a pattern; none if nothing
    /// is known of it.
    pub fn best(&self, pattern: PatternId) -> Option<usize> {
        self.patterns.get(&pattern).and_then(|known| best(&known.arms))
    }

    /// What is known of each option under a pattern; empty if nothing is.
    pub fn estimates(&self, pattern: PatternId) -> &[ArmEstimate] {
        self.patterns.get(&pattern).map_or(&[], |known| &known.arms)
    }

    /// Restores what an earlier run knew of a pattern.
    pub fn restore(&mut self, pattern: PatternId, mut arms: Vec<ArmEstimate>) {
        arms.resize(self.n_options(), ArmEstimate::default());
        let n_rewards = arms.iter().map(|arm| arm.weight()).sum::<f64>().ceil() as u64;
        self.make_room(pattern);
        let n_unrewarded = vec![0; arms.len()];
        let known = PatternArms { arms, n_unrewarded, n_rewards, last_used: self.now };
        let level = known.level();
        if level > 0.0 {
            for (overall, arm) in self.overall.iter_mut().zip(&known.arms) {
                let (mean, deviation) = (arm.mean() / level, arm.deviation() / level);
                overall.merge(&ArmEstimate::new(arm.weight().min(1.0), mean, deviation));
            }
        }
        self.patterns.insert(pattern, known);
    }

    /// Two patterns turned out to be one: their rewards add up.
    pub fn merge(&mut self, merged: MergedPatterns) {
        let Some(gone) = self.patterns.remove(&merged.gone) else { return };
        match self.patterns.get_mut(&merged.kept) {
            Some(kept) => {
                kept.arms.iter_mut().zip(&gone.arms).for_each(|(arm, other)| arm.merge(other));
                kept.n_rewards += gone.n_rewards;
            }
            None => {
                self.patterns.insert(merged.kept, gone);
            }
        }
    }

    /// A pattern was discarded.
    pub fn forget(&mut self, pattern: PatternId) {
        self.patterns.remove(&pattern);
    }

    fn best_overall(&self) -> Option<usize> {
        best(&self.overall)
    }

    fn make_room(&mut self, pattern: PatternId) {
        if self.patterns.len() < self.config.max_patterns || self.patterns.contains_key(&pattern) {
            return;
        }
        // Ids break ties, so that the same calls forget the same pattern.
        let by_use = self.patterns.iter().map(|(id, known)| (known.last_used, *id));
        if let Some((_, oldest)) = by_use.min() {
            self.patterns.remove(&oldest);
        }
    }

    fn choose_known(&self, pattern: PatternId) -> usize {
        let Some(known) = self.patterns.get(&pattern) else { return 0 };
        let level = known.level();
        let n_all = known.arms.iter().map(|arm| arm.weight()).sum::<f64>().max(1.0);
        let deviation = known.deviation().max(LEAST_DEVIATION * level.abs());
        let value = |option: usize| {
            let arm = &known.arms[option];
            // What was best elsewhere counts until the option was tried here. The
            // weight of one that was tried falls towards 0 while it is not tried
            // again, and its bonus grows.
            let (mean, deviation, weight) = match (arm.is_untried(), &self.overall[option]) {
                (false, _) => (arm.mean(), deviation.max(arm.deviation()), arm.weight()),
                (true, overall) => {
                    let relative = if overall.is_untried() { 1.0 } else { overall.mean() };
                    let unknown = deviation.max(UNKNOWN_DEVIATION * level.abs());
                    (relative * level, unknown, PRIOR_WEIGHT)
                }
            };
            let n_tried = weight + f64::from(known.n_unrewarded[option]);
            let bonus = ((1.0 + n_all).ln() / n_tried).sqrt();
            mean + self.config.exploration * deviation * bonus
        };
        let options = (0..self.n_options()).filter(|&option| self.is_open(known, option));
        // One reward far below the others may be that of another load.
        let highest_mean = known.arms.iter().map(ArmEstimate::mean).fold(0.0, f64::max);
        let is_doubtful = |option: &usize| {
            let arm = &known.arms[*option];
            let n_tried = arm.n_recent() + known.n_unrewarded[*option] as usize;
            (1..CONFIRMED).contains(&n_tried) && arm.mean() < DOUBTFUL * highest_mean
        };
        if let Some(option) = options.clone().find(is_doubtful) {
            return option;
        }
        // What was bad under all other patterns may be best here.
        let is_untried =
            |option: &usize| known.arms[*option].is_untried() && known.n_unrewarded[*option] == 0;
        let untried = options.clone().filter(is_untried);
        if known.n_rewards % TRY_UNTRIED == TRY_UNTRIED - 1
            && let Some(option) = highest(untried.map(|option| (option, value(option))))
        {
            return option;
        }
        highest(options.map(|option| (option, value(option)))).unwrap_or(0)
    }

    /// Whether an option may be chosen now: of ordered ones the best and its
    /// neighbours, and all of them now and then.
    fn is_open(&self, known: &PatternArms, option: usize) -> bool {
        let is_best = best(&known.arms) == Some(option);
        if known.n_unrewarded[option] >= MAX_UNREWARDED && !is_best {
            return false;
        }
        if self.config.order == OptionOrder::Unrelated
            || known.n_rewards % LOOK_ELSEWHERE == LOOK_ELSEWHERE - 1
        {
            return true;
        }
        best(&known.arms).is_none_or(|best| best.abs_diff(option) <= 1)
    }
}

impl PatternArms {
    fn new(n_options: usize) -> PatternArms {
        PatternArms {
            arms: vec![ArmEstimate::default(); n_options],
            n_unrewarded: vec![0; n_options],
            n_rewards: 0,
            last_used: 0,
        }
    }

    /// The mean reward of all options that were tried.
    fn level(&self) -> f64 {
        let tried = self.arms.iter().filter(|arm| arm.weight() > 0.0);
        let (sum, n) = tried.fold((0.0, 0.0), |(sum, n), arm| (sum + arm.mean(), n + 1.0));
        if n > 0.0 { sum / n } else { 0.0 }
    }

    /// The mean deviation from an option's mean.
    fn deviation(&self) -> f64 {
        let weight: f64 = self.arms.iter().map(|arm| arm.weight()).sum();
        let sum: f64 = self.arms.iter().map(|arm| arm.weight() * arm.deviation()).sum();
        if weight > 0.0 { sum / weight } else { 0.0 }
    }
}

/// The option with the highest mean among those that were tried.
fn best(arms: &[ArmEstimate]) -> Option<usize> {
    let tried = arms.iter().enumerate().filter(|(_, arm)| arm.weight() > 0.0);
    highest(tried.map(|(option, arm)| (option, arm.mean())))
}

/// The first of the highest.
fn highest(values: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    let better = |best: Option<(usize, f64)>, next: (usize, f64)| match best {
        Some((_, value)) if value >= next.1 => best,
        _ => Some(next),
    };
    values.fold(None, better).map(|(option, _)| option)
}
