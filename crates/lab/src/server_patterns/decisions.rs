// SPDX-License-Identifier: MIT OR Apache-2.0

//! What choosing by pattern is worth (sections VI-C and VI-D of the paper).
//!
//! One decision per slice. Its outcome is the throughput that the benchmark of
//! the slice has under the chosen option, against that under the baseline; only
//! differences above 5 % count.

use std::collections::HashMap;

use ioracle_pattern::evaluation::LabelledRun;
use ioracle_pattern::{ChoiceConfig, DecisionMaker, PatternId, PatternMatcher, PatternSequence};

use super::data::PatternDataSet;

/// Smaller differences are none.
const DIFFERENCE: f64 = 0.05;
/// Rewards are this uncertain, up or down.
const NOISE: f64 = 0.1;

/// Throughputs of all options for each label.
#[derive(Clone, Debug)]
pub struct OptionRewards {
    /// Names of what can be chosen.
    pub options: Vec<String>,
    /// By label, then by option, as a factor of the baseline.
    factors: Vec<Vec<f64>>,
}

impl OptionRewards {
    /// Of a set with so many forwarding nodes. Labels without a throughput
    /// under every option and the baseline count as if all were equal.
    pub fn new(
        set: &PatternDataSet,
        n_nodes: u32,
        options: &[&str],
        baseline: &str,
    ) -> OptionRewards {
        let speed = |label: usize, option: &str| {
            let rows = set.throughputs.iter().filter(|row| row.n_nodes == n_nodes);
            rows.filter(|row| row.label as usize == label && row.option == option)
                .map(|row| row.mb_per_s)
                .find(|speed| *speed > 0.0)
        };
        let factors = (0..set.labels.len()).map(|label| {
            let base = speed(label, baseline);
            let factor = |option: &&str| Some(speed(label, option)? / base?);
            options.iter().map(factor).collect::<Option<Vec<f64>>>()
        });
        let factors = factors.map(|row| row.unwrap_or_else(|| vec![1.0; options.len()])).collect();
        OptionRewards { options: options.iter().map(|it| (*it).to_owned()).collect(), factors }
    }

    /// The throughput of a label under an option, as a factor of the baseline.
    pub fn factor(&self, label: u32, option: usize) -> f64 {
        self.factors.get(label as usize).and_then(|row| row.get(option)).copied().unwrap_or(1.0)
    }

    /// The fastest option of a label.
    pub fn best(&self, label: u32) -> usize {
        let options = 0..self.options.len();
        let faster =
            |a: &usize, b: &usize| self.factor(label, *a).total_cmp(&self.factor(label, *b));
        options.rev().max_by(faster).unwrap_or(0)
    }

    /// The option that improves most decisions over all runs, less those that
    /// it worsens.
    pub fn best_static(&self, runs: &[LabelledRun]) -> usize {
        let balance = |option: &usize| {
            let of_run = |run: &LabelledRun| {
                run.patterns.len() as i64 * verdict(self.factor(run.label, *option)) as i64
            };
            runs.iter().map(of_run).sum::<i64>()
        };
        (0..self.options.len()).rev().max_by_key(balance).unwrap_or(0)
    }
}

/// 1 for an improvement, −1 for the opposite.
fn verdict(factor: f64) -> i8 {
    i8::from(factor > 1.0 + DIFFERENCE) - i8::from(factor < 1.0 - DIFFERENCE)
}

/// What came of decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionTally {
    /// All of them.
    pub decisions: u64,
    /// Those where the best option is an improvement.
    pub improvable: u64,
    /// Of these, where the chosen one is.
    pub improved: u64,
    /// All where the chosen one is worse than the baseline.
    pub worsened: u64,
}

impl DecisionTally {
    /// Improvements among those that were possible, in percent.
    pub fn improved_percent(&self) -> f64 {
        100.0 * self.improved as f64 / self.improvable.max(1) as f64
    }

    /// Decisions that made things worse, in percent.
    pub fn worsened_percent(&self) -> f64 {
        100.0 * self.worsened as f64 / self.decisions.max(1) as f64
    }

    fn count(&mut self, rewards: &OptionRewards, label: u32, option: usize) {
        let is_improvable = verdict(rewards.factor(label, rewards.best(label))) > 0;
        let verdict = verdict(rewards.factor(label, option));
        self.decisions += 1;
        self.improvable += u64::from(is_improvable);
        self.improved += u64::from(is_improvable && verdict > 0);
        self.worsened += u64::from(verdict < 0);
    }

    pub(super) fn add(&mut self, other: &DecisionTally) {
        self.decisions += other.decisions;
        self.improvable += other.improvable;
        self.improved += other.improved;
        self.worsened += other.worsened;
    }
}

/// Decisions by a rule that knows the label.
pub(super) fn by_label(
    runs: &[LabelledRun],
    rewards: &OptionRewards,
    rule: impl Fn(u32) -> usize,
) -> DecisionTally {
    let mut tally = DecisionTally::default();
    for run in runs {
        run.patterns.iter().for_each(|_| tally.count(rewards, run.label, rule(run.label)));
    }
    tally
}

/// The paper's offline way: a match selects what is best for the benchmark that
/// the known pattern came from, no match the fixed option.
pub(super) fn offline(
    matcher: &mut dyn PatternMatcher,
    runs: &[LabelledRun],
    order: &[usize],
    rewards: &OptionRewards,
    fixed: usize,
) -> DecisionTally {
    let mut tally = DecisionTally::default();
    let mut labels: HashMap<PatternId, u32> = HashMap::new();
    for run in order.iter().filter_map(|&index| runs.get(index)) {
        for pattern in &run.patterns {
            let found = matcher.recognise(pattern.clone());
            let known = labels.get(&found.id).filter(|_| found.is_match);
            let option = known.map_or(fixed, |label| rewards.best(*label));
            tally.count(rewards, run.label, option);
            labels.entry(found.id).or_insert(run.label);
        }
    }
    tally
}

/// Learning from nothing: the option that was chosen at the end of a slice is
/// in force during the next one, whose reward it gets under the pattern that is
/// recognised then. The data are gone through `n_rounds` times; the tallies are
/// those of the first round and of the last.
pub(super) fn online(
    matcher: &mut dyn PatternMatcher,
    runs: &[LabelledRun],
    orders: &[Vec<usize>],
    rewards: &OptionRewards,
    config: ChoiceConfig,
) -> (DecisionTally, DecisionTally) {
    let mut maker = DecisionMaker::new(rewards.options.len(), config);
    let mut noise = Noise(1);
    let mut option = maker.choose_unknown();
    let mut tallies = Vec::new();
    for order in orders {
        let mut tally = DecisionTally::default();
        for run in order.iter().filter_map(|&index| runs.get(index)) {
            for pattern in &run.patterns {
                let found = matcher.recognise(pattern.clone());
                let reward = rewards.factor(run.label, option) * noise.factor();
                // Finite by construction, and the option exists.
                let _ = maker.reward(found.family, option, reward);
                option = maker.choose(found.family);
                tally.count(rewards, run.label, option);
            }
        }
        tallies.push(tally);
    }
    let last = tallies.last().copied().unwrap_or_default();
    (tallies.first().copied().unwrap_or_default(), last)
}

/// Which pattern the option of the next slice is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceFor {
    /// The one of the slice that has just ended.
    PresentPattern,
    /// The one that the sequence of patterns predicts, where that is certain.
    ExpectedPattern,
}

/// Two loads with opposite best options take turns; the share of slices in the
/// second half, in percent, that ran under the right option. Learning starts from
/// nothing, and a turn is the next run of its load.
pub fn alternating(
    matcher: &mut dyn PatternMatcher,
    loads: [&[&LabelledRun]; 2],
    rewards: &OptionRewards,
    n_turns: usize,
    choice: ChoiceFor,
) -> f64 {
    let mut maker = DecisionMaker::new(rewards.options.len(), ChoiceConfig::default());
    let mut sequence = PatternSequence::new();
    let mut noise = Noise(2);
    let mut option = maker.choose_unknown();
    let (mut n_right, mut n) = (0_u64, 0_u64);
    for turn in 0..n_turns {
        let runs = loads[turn % 2];
        let Some(run) = runs.get(turn / 2 % runs.len().max(1)) else { return 0.0 };
        for pattern in &run.patterns {
            if turn >= n_turns / 2 {
                n += 1;
                n_right += u64::from(option == rewards.best(run.label));
            }
            let found = matcher.recognise(pattern.clone());
            let reward = rewards.factor(run.label, option) * noise.factor();
            let _ = maker.reward(found.family, option, reward);
            sequence.observe(found.family);
            option = match choice {
                ChoiceFor::PresentPattern => maker.choose(found.family),
                ChoiceFor::ExpectedPattern => {
                    maker.choose(sequence.expected().unwrap_or(found.family))
                }
            };
        }
    }
    100.0 * n_right as f64 / n.max(1) as f64
}

/// Measured rewards are not exact (splitmix64).
struct Noise(u64);

impl Noise {
    fn factor(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let unit = ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        1.0 + NOISE * (2.0 * unit - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewards(factors: &[&[f64]]) -> OptionRewards {
        let options = (0..factors[0].len()).map(|option| option.to_string()).collect();
        OptionRewards { options, factors: factors.iter().map(|row| row.to_vec()).collect() }
    }

    #[test]
    fn only_differences_above_five_percent_count() {
        let rewards = rewards(&[&[1.04, 0.96], &[1.5, 0.5]]);
        let mut tally = DecisionTally::default();
        for (label, option) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            tally.count(&rewards, label, option);
        }
        let expected = DecisionTally { decisions: 4, improvable: 2, improved: 1, worsened: 1 };
        assert_eq!(tally, expected);
    }

    #[test]
    fn rewards_are_factors_of_the_baseline() {
        let row = |option: &str, mb_per_s| super::super::data::OptionThroughput {
            label: 0,
            option: option.to_owned(),
            n_nodes: 0,
            mb_per_s,
        };
        let set = PatternDataSet {
            labels: vec!["a".to_owned(), "b".to_owned()],
            servers: Vec::new(),
            throughputs: vec![row("baseline", 100.0), row("to", 150.0), row("sjf", 80.0)],
        };
        let rewards = OptionRewards::new(&set, 0, &["to", "sjf"], "baseline");
        assert_eq!((rewards.factor(0, 0), rewards.factor(0, 1)), (1.5, 0.8));
        assert_eq!(rewards.best(0), 0);
        // Nothing is known about the second label.
        assert_eq!((rewards.factor(1, 0), rewards.factor(9, 9)), (1.0, 1.0));
    }
}
