// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names of files never seen: `wrfout_0010.nc` follows `wrfout_0009.nc`.
//!
//! An [`Opener`] keeps the last names that one context symbol opened. For every
//! period up to 8 it supposes that the name `p` opens ago moves on as it did
//! between `2p` and `p` opens ago: text stays, counters and time stamps make
//! the same step again. So names that cycle through letters (`_s`, `_u`, `_v`)
//! while a counter moves once per cycle need no case of their own. One more
//! hypothesis takes over the counters of the file that another symbol opened
//! last (`out.0012.xmf` after `out.0012.h5`). The one right most often lately
//! is believed. At the beginning of a run there is a better one, as long as it
//! is right: the names that the last run began with.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::derivation::Derivations;
use crate::stamp::{DateStamp, StampToken, tokens};

const MAX_PERIOD: usize = 8;
/// First names of a run that are remembered for the next.
const MAX_FIRST: usize = 8;
/// From here on the names that the last run began with go before all else.
const TRUSTED: u16 = 1 << 15;
/// Longer names are not remembered, so that a hostile path costs no memory.
const MAX_NAME_BYTES: usize = 1024;

/// The names that one context symbol opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opener {
    /// The latest last; at most two of the longest periods.
    names: VecDeque<Box<str>>,
    /// How often each period was right lately, in 1/65536; then the companion.
    rates: [u16; MAX_PERIOD + 1],
    /// The names that this run, and the last one, began with.
    first: Vec<Box<str>>,
    last_first: Vec<Box<str>>,
    /// How often the latter were right lately, in 1/65536.
    first_rate: u16,
    /// What is expected next, where it is asked for far more often than names
    /// come: see [`prepare`](Opener::prepare).
    upcoming: Option<Box<str>>,
    /// Names that were made from others.
    pub made: Derivations,
}

impl Default for Opener {
    fn default() -> Opener {
        Opener {
            names: VecDeque::new(),
            rates: [0; MAX_PERIOD + 1],
            first: Vec::new(),
            last_first: Vec::new(),
            first_rate: TRUSTED + (TRUSTED >> 1),
            upcoming: None,
            made: Derivations::default(),
        }
    }
}

impl Opener {
    /// A new run of the program begins.
    pub fn begin_run(&mut self) {
        if !self.first.is_empty() {
            self.last_first = std::mem::take(&mut self.first);
        }
    }

    /// The name expected next; `companion` is the name opened last by anyone.
    pub fn expect(&self, companion: Option<&str>) -> Option<String> {
        if let Some(name) = self.as_last_run().filter(|_| self.first_rate >= TRUSTED) {
            return Some(name.into());
        }
        let mut order: Vec<usize> = (0..=MAX_PERIOD).collect();
        order.sort_by_key(|&hypothesis| std::cmp::Reverse(self.rates[hypothesis]));
        order.into_iter().find_map(|hypothesis| self.suggest(hypothesis, companion))
    }

    /// Finds out what is expected next until another name is taken in.
    pub fn prepare(&mut self) {
        self.upcoming = self.expect(None).map(String::into_boxed_str);
    }

    /// What was found out.
    pub fn upcoming(&self) -> Option<&str> {
        self.upcoming.as_deref()
    }

    /// Learns which hypotheses were right on the name that was opened; `former` is
    /// what its file was called in earlier runs, if otherwise.
    pub fn learn(&mut self, name: &str, companion: Option<&str>, former: Option<&str>) {
        for hypothesis in 0..=MAX_PERIOD {
            let Some(suggested) = self.suggest(hypothesis, companion) else { continue };
            learn_rate(&mut self.rates[hypothesis], suggested == name);
        }
        if let Some(suggested) = self.as_last_run() {
            let is_right = suggested == name || Some(suggested) == former;
            learn_rate(&mut self.first_rate, is_right);
        }
        self.advance(name);
    }

    /// Takes a name in without judging the hypotheses, as when reading ahead.
    pub fn advance(&mut self, name: &str) {
        if name.len() > MAX_NAME_BYTES {
            return;
        }
        if self.names.len() == 2 * MAX_PERIOD {
            self.names.pop_front();
        }
        self.names.push_back(name.into());
        if self.first.len() < MAX_FIRST {
            self.first.push(name.into());
        }
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.names.len() <= 2 * MAX_PERIOD
            && self.first.len().max(self.last_first.len()) <= MAX_FIRST
            && self.all_names().all(|name| name.len() <= MAX_NAME_BYTES)
            && self.made.is_valid()
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Opener>()
            + self.names.capacity() * size_of::<Box<str>>()
            + (self.first.capacity() + self.last_first.capacity()) * size_of::<Box<str>>()
            + self.all_names().map(str::len).sum::<usize>()
            + self.made.memory_bytes()
    }

    fn all_names(&self) -> impl Iterator<Item = &str> {
        let first = self.first.iter().chain(&self.last_first).chain(&self.upcoming);
        self.names.iter().chain(first).map(|name| &**name)
    }

    /// The name that the last run opened at this place, near its beginning.
    fn as_last_run(&self) -> Option<&str> {
        self.last_first.get(self.first.len()).map(|name| &**name)
    }

    fn suggest(&self, hypothesis: usize, companion: Option<&str>) -> Option<String> {
        if hypothesis == MAX_PERIOD {
            return with_counters_of(companion?, self.names.back()?);
        }
        let period = hypothesis + 1;
        let n_names = self.names.len();
        let last = self.names.get(n_names.checked_sub(period)?)?;
        let before = self.names.get(n_names.checked_sub(2 * period)?)?;
        move_on(before, last)
    }
}

pub(crate) fn learn_rate(rate: &mut u16, is_right: bool) {
    if is_right {
        *rate += (u16::MAX - *rate) >> 2;
    } else {
        *rate -= *rate >> 2;
    }
}

/// The name that follows `last` as `last` followed `before`.
fn move_on(before: &str, last: &str) -> Option<String> {
    if before == last {
        return Some(last.to_string());
    }
    let mut next = String::with_capacity(last.len() + 1);
    let mut earlier = tokens(before);
    for token in tokens(last) {
        match (earlier.next()?, token) {
            (StampToken::Text(a), StampToken::Text(b)) if a == b => next.push_str(b),
            (StampToken::Number(a), StampToken::Number(b)) => push_counter(&mut next, a, b)?,
            (StampToken::Date(a), StampToken::Date(b)) => {
                next.push_str(&DateStamp::move_on(&a, &b)?)
            }
            _ => return None,
        }
    }
    earlier.next().is_none().then_some(next)
}

/// Appends the number that follows `last` as it followed `before`, with as many
/// zeros in front as the name had.
fn push_counter(next: &mut String, before: &str, last: &str) -> Option<()> {
    if before == last {
        next.push_str(last);
        return Some(());
    }
    let (a, b): (u64, u64) = (before.parse().ok()?, last.parse().ok()?);
    let value = b.checked_add(b)?.checked_sub(a)?;
    let padded = before.len() == last.len() && (before.starts_with('0') || last.starts_with('0'));
    let width = if padded { last.len() } else { 1 };
    next.push_str(&format!("{value:0width$}"));
    Some(())
}

/// `name` with its counters replaced by those of `source`, in order. Where one
/// name has more of them (`.h5` ends in one), the rest stays as it is.
fn with_counters_of(source: &str, name: &str) -> Option<String> {
    let mut counters = tokens(source).filter(|token| !matches!(token, StampToken::Text(_)));
    let mut result = String::with_capacity(name.len());
    for token in tokens(name) {
        let replacement = match token {
            StampToken::Text(_) => None,
            StampToken::Number(_) | StampToken::Date(_) => counters.next(),
        };
        result.push_str(replacement.unwrap_or(token).text());
    }
    (result != name).then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens all names but the last, and expects the last.
    fn check(names: &[&str]) {
        let (last, first) = names.split_last().expect("names");
        let mut opener = Opener::default();
        for name in first {
            opener.learn(name, None, None);
        }
        assert_eq!(opener.expect(None).as_deref(), Some(*last));
    }

    #[test]
    fn counters_make_the_same_step_again() {
        check(&["wrfout_0008.nc", "wrfout_0009.nc", "wrfout_0010.nc"]);
        check(&["dump.0.custom", "dump.100.custom", "dump.200.custom"]);
        check(&["a.9", "a.10", "a.11"]);
        check(&["plt00098", "plt00099", "plt00100"]);
        check(&["out.30.txt", "out.20.txt", "out.10.txt"]);
        check(&["r3/s0001_0005.dat", "r3/s0002_0010.dat", "r3/s0003_0015.dat"]);
    }

    #[test]
    fn a_run_begins_like_the_last_one_unless_names_go_on() {
        let mut opener = Opener::default();
        let mut hits = |numbers: std::ops::Range<u32>| {
            opener.begin_run();
            let name = |number| format!("dump_{number:04}.bin");
            numbers
                .map(|number| {
                    let is_right = opener.expect(None) == Some(name(number));
                    opener.learn(&name(number), None, None);
                    usize::from(is_right)
                })
                .sum::<usize>()
        };
        hits(1..40);
        assert_eq!(hits(1..40), 39, "the same names again");
        assert_eq!(hits(40..80), 37, "it had to notice");
        assert_eq!(hits(80..120), 40, "it knows now");
    }

    #[test]
    fn a_name_that_was_opened_again_is_expected_again() {
        check(&["log", "log", "log"]);
    }

    #[test]
    fn letters_that_cycle_while_a_counter_moves_once_per_cycle() {
        check(&["r_01_s", "r_01_u", "r_01_v", "r_02_s", "r_02_u", "r_02_v", "r_03_s", "r_03_u"]);
        check(&["a", "b", "c", "a", "b", "c", "a"]);
    }

    #[test]
    fn time_stamps_carry_over_days_months_and_years() {
        check(&[
            "wrfout_d01_2000-02-28_12:00:00",
            "wrfout_d01_2000-02-29_00:00:00",
            "wrfout_d01_2000-02-29_12:00:00",
        ]);
        check(&["h0.1999-11.nc", "h0.1999-12.nc", "h0.2000-01.nc"]);
        check(&["h0.1999-11-01.nc", "h0.1999-12-01.nc", "h0.2000-01-01.nc"]);
        check(&["gfs.20201230.nc", "gfs.20201231.nc", "gfs.20210101.nc"]);
    }

    #[test]
    fn the_counters_of_a_companion_are_taken_over() {
        let mut opener = Opener::default();
        for number in [4200, 7560, 13160, 13990, 17000] {
            opener.learn(&format!("step{number}.xmf"), Some(&format!("step{number}.h5")), None);
        }
        assert_eq!(opener.expect(Some("step18840.h5")).as_deref(), Some("step18840.xmf"));
    }

    #[test]
    fn numbers_that_do_not_fit_are_no_counters() {
        let huge = "9".repeat(40);
        let mut opener = Opener::default();
        opener.learn("a1", None, None);
        opener.learn(&format!("a{huge}"), None, None);
        assert_eq!(opener.expect(None), None);
    }
}
