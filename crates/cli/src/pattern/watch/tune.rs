// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sets options by pattern: what a tune file says, and what is learned.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ioracle_pattern::{ChoiceConfig, OptionOrder, PatternId, PatternWatcher};
use serde::Deserialize;

use super::command;
use crate::shared::output::say;

/// An option whose command failed so often in a row is not chosen any more.
const MAX_FAILURES: u32 = 3;
const MAX_OPTIONS: usize = 64;
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A tune file.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TuneFile {
    /// Options are not applied more often than this.
    #[serde(default = "five_seconds")]
    period_s: f64,
    /// A command that runs for longer is killed.
    #[serde(default = "five_seconds")]
    timeout_s: f64,
    /// An option shows in rewards only so long after it was applied.
    #[serde(default = "one_second")]
    settle_s: f64,
    /// Whether the options are values of one parameter, in order.
    #[serde(default)]
    ordered: bool,
    /// Where the reward comes from; the throughput seen by capture if not given.
    #[serde(default)]
    reward: Option<RewardSource>,
    #[serde(rename = "option")]
    options: Vec<TunedOption>,
}

/// A command that prints the reward of the last second.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct RewardSource {
    command: String,
}

/// Something that can be set.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct TunedOption {
    name: String,
    apply: String,
}

fn five_seconds() -> f64 {
    5.0
}

fn one_second() -> f64 {
    1.0
}

impl TuneFile {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<TuneFile> {
        let failed = || format!("could not read the tune file '{}'", path.display());
        let size = std::fs::metadata(path).with_context(failed)?.len();
        if size > MAX_FILE_BYTES {
            bail!(
                "the tune file '{}' has {size} bytes; it should be a few lines of TOML",
                path.display()
            );
        }
        let text = std::fs::read_to_string(path).with_context(failed)?;
        let file: TuneFile = toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let reason = error.message().replace('\n', " ");
            anyhow::anyhow!("'{}', line {line}: {reason}; correct the tune file", path.display())
        })?;
        file.check().with_context(|| format!("the tune file '{}'", path.display()))?;
        Ok(file)
    }

    fn check(&self) -> Result<()> {
        if !(2..=MAX_OPTIONS).contains(&self.options.len()) {
            bail!(
                "the number of its options is {}; give from 2 to {MAX_OPTIONS} to choose from",
                self.options.len()
            );
        }
        for (name, seconds) in [("period_s", self.period_s), ("timeout_s", self.timeout_s)] {
            if !(0.1..=86_400.0).contains(&seconds) {
                bail!("{name} is {seconds}; give seconds from 0.1 to 86400");
            }
        }
        if !(0.0..=86_400.0).contains(&self.settle_s) {
            bail!("settle_s is {}; give seconds from 0 to 86400", self.settle_s);
        }
        for (index, option) in self.options.iter().enumerate() {
            if option.apply.trim().is_empty() || option.name.trim().is_empty() {
                bail!("option {} has no name or no command; give both", index + 1);
            }
            if self.options[..index].iter().any(|other| other.name == option.name) {
                bail!("two options are called '{}'; give each its own name", option.name);
            }
        }
        Ok(())
    }
}

/// Applies options and learns what came of them.
pub struct Tuner {
    file: TuneFile,
    /// What is in force, and since when.
    in_force: Option<(usize, Instant)>,
    failures: Vec<u32>,
    last_started: Option<Instant>,
    applying: Option<usize>,
    to_apply: Sender<usize>,
    applied: Receiver<(usize, Result<String, String>)>,
    measuring: Option<Measuring>,
    trial: Option<OptionTrial>,
    reward_warned: bool,
    /// Options that were set, by number.
    pub n_applied: Vec<u64>,
}

/// An option that was applied and has brought no reward yet. Until it has, no
/// other is tried under the same load: it would be for nothing.
#[derive(Clone, Copy, Debug)]
struct OptionTrial {
    /// What it was chosen for.
    family: Option<PatternId>,
    option: usize,
    /// It is over without a reward then.
    until: Instant,
}

/// Seconds for a reward to come after an option has settled.
const REWARD_WITHIN: Duration = Duration::from_secs(4);

/// The thread that runs the reward's command.
struct Measuring {
    to_measure: Sender<()>,
    measured: Receiver<Result<f64, String>>,
    /// What the number that is being measured will be the reward of.
    of: Option<(PatternId, usize)>,
}

impl Tuner {
    /// Starts the threads that run commands; they end with the tuner.
    pub fn start(file: TuneFile, ended: Arc<AtomicBool>) -> Tuner {
        let (to_apply, orders) = channel::<usize>();
        let (results, applied) = channel();
        let limit = Duration::from_secs_f64(file.timeout_s);
        let (options, flag) = (file.options.clone(), Arc::clone(&ended));
        thread::spawn(move || {
            for option in orders {
                let TunedOption { name, apply } = &options[option];
                let result = command::run(apply, name, limit, &flag);
                if results.send((option, result)).is_err() {
                    break;
                }
            }
        });
        let measuring = file.reward.clone().map(|source| measure(source, limit, ended));
        let n_options = file.options.len();
        Tuner {
            file,
            in_force: None,
            failures: vec![0; n_options],
            last_started: None,
            applying: None,
            to_apply,
            applied,
            measuring,
            trial: None,
            reward_warned: false,
            n_applied: vec![0; n_options],
        }
    }

    /// Tells a watcher what there is to choose from.
    pub fn tell_options(&self, watcher: &mut PatternWatcher) {
        let order = if self.file.ordered { OptionOrder::Ordered } else { OptionOrder::Unrelated };
        let names = self.file.options.iter().map(|option| option.name.clone()).collect();
        watcher.set_ordered_options(names, ChoiceConfig { order, ..ChoiceConfig::default() });
    }

    /// The name of what is in force.
    pub fn in_force(&self) -> Option<&str> {
        self.in_force.map(|(option, _)| self.file.options[option].name.as_str())
    }

    /// The best option of a pattern, as far as is known.
    pub fn best(&self, watcher: &PatternWatcher, pattern: PatternId) -> Option<&str> {
        watcher.decisions().best(pattern).map(|option| self.file.options[option].name.as_str())
    }

    /// A slice has ended: learns its reward and sets what is best now.
    pub fn tick(
        &mut self,
        watcher: &mut PatternWatcher,
        pattern: PatternId,
        slice_began: Instant,
        bytes_per_s: f64,
    ) {
        self.take_applied(watcher);
        self.take_measured(watcher);
        // Only what was in force all the time, and for long enough to show, gets the
        // reward.
        let settle = Duration::from_secs_f64(self.file.settle_s);
        let option = self.in_force.filter(|(_, since)| *since + settle <= slice_began);
        let option = option.filter(|_| self.applying.is_none()).map(|(option, _)| option);
        if let Some(option) = option {
            self.credit(watcher, pattern, option, bytes_per_s);
        }
        self.set(watcher);
    }

    /// A load has begun that is known by its files: sets what is best for it before its
    /// first slice has ended.
    pub fn load_began(&mut self, watcher: &mut PatternWatcher) {
        self.take_applied(watcher);
        self.set(watcher);
    }

    /// The reward of a slice: what capture saw, or what a command will print.
    fn credit(
        &mut self,
        watcher: &mut PatternWatcher,
        pattern: PatternId,
        option: usize,
        bytes_per_s: f64,
    ) {
        match &mut self.measuring {
            None => self.learn(watcher, pattern, option, bytes_per_s),
            Some(measuring) if measuring.of.is_some() => {}
            Some(measuring) => {
                let asked = measuring.to_measure.send(());
                measuring.of = asked.is_ok().then_some((pattern, option));
            }
        }
    }

    /// Sets the best option, unless one was set a short while ago.
    fn set(&mut self, watcher: &mut PatternWatcher) {
        let period = Duration::from_secs_f64(self.file.period_s);
        let is_early = self.last_started.is_some_and(|last| last.elapsed() < period);
        if is_early || self.applying.is_some() {
            // A choice that cannot be applied would count as one that was tried.
            return;
        }
        let family = watcher.expected();
        let is_same = |trial: &OptionTrial| trial.family == family && Instant::now() < trial.until;
        if self.trial.as_ref().is_some_and(is_same) {
            return;
        }
        let wanted = self.usable(watcher.propose());
        let is_set = self.in_force.is_some_and(|(option, _)| Some(option) == wanted);
        if let (Some(option), false) = (wanted, is_set)
            && self.to_apply.send(option).is_ok()
        {
            let (now, file) = (Instant::now(), &self.file);
            let settle = Duration::from_secs_f64(file.timeout_s + file.settle_s);
            self.trial = Some(OptionTrial { family, option, until: now + settle + REWARD_WITHIN });
            self.applying = Some(option);
            self.last_started = Some(now);
        }
    }

    /// The option, or another if its command keeps failing.
    fn usable(&self, option: usize) -> Option<usize> {
        let works = |option: &usize| self.failures[*option] < MAX_FAILURES;
        Some(option).filter(works).or_else(|| (0..self.failures.len()).find(works))
    }

    fn take_applied(&mut self, watcher: &mut PatternWatcher) {
        match self.applied.try_recv() {
            Ok((option, Ok(_))) => {
                self.applying = None;
                self.failures[option] = 0;
                self.n_applied[option] += 1;
                self.in_force = Some((option, Instant::now()));
                watcher.set_option(option);
            }
            Ok((option, Err(reason))) => {
                self.applying = None;
                // Nobody knows what is in force now.
                self.in_force = None;
                self.trial = None;
                self.failures[option] += 1;
                let name = &self.file.options[option].name;
                let left = match self.failures[option] {
                    MAX_FAILURES.. => "; it is left out from now on",
                    _ => "",
                };
                say(format_args!("the command of option '{name}': {reason}{left}"));
                if self.failures.iter().all(|failures| *failures >= MAX_FAILURES) {
                    say(
                        "no option can be applied; nothing is tuned any more, correct the tune file",
                    );
                }
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
    }

    /// The reward's command may have ended since.
    fn take_measured(&mut self, watcher: &mut PatternWatcher) {
        let Some(measuring) = &mut self.measuring else { return };
        let Ok(result) = measuring.measured.try_recv() else { return };
        match (result, measuring.of.take()) {
            (Ok(reward), Some((pattern, option))) => self.learn(watcher, pattern, option, reward),
            (Err(reason), _) if !self.reward_warned => {
                say(format_args!(
                    "the reward's command: {reason}; seconds without a reward teach nothing"
                ));
                self.reward_warned = true;
            }
            _ => {}
        }
    }

    fn learn(
        &mut self,
        watcher: &mut PatternWatcher,
        pattern: PatternId,
        option: usize,
        reward: f64,
    ) {
        // Numbers that are not finite were refused already.
        let _ = watcher.reward_of(pattern, option, reward);
        self.trial = self.trial.filter(|trial| trial.option != option);
    }
}

fn measure(source: RewardSource, limit: Duration, ended: Arc<AtomicBool>) -> Measuring {
    let (to_measure, orders) = channel::<()>();
    let (results, measured) = channel();
    thread::spawn(move || {
        for () in orders {
            let printed = command::run(&source.command, "", limit, &ended);
            if results.send(printed.and_then(|text| command::number(&text))).is_err() {
                break;
            }
        }
    });
    Measuring { to_measure, measured, of: None }
}

#[cfg(test)]
mod tests {
    use ioracle_pattern::PatternConfig;

    use super::*;

    fn read(text: &str) -> Result<TuneFile, String> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("tune.toml");
        std::fs::write(&path, text).unwrap();
        TuneFile::read(&path).map_err(|error| crate::shared::failure::sentence(&error))
    }

    const TWO: &str =
        "[[option]]\nname = \"a\"\napply = \"true\"\n[[option]]\nname = \"b\"\napply = \"true\"\n";

    #[test]
    fn a_tune_file_has_defaults() {
        let file = read(TWO).unwrap();
        assert_eq!((file.period_s, file.timeout_s, file.ordered), (5.0, 5.0, false));
        assert_eq!(file.reward, None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, parts) in [
            ("period_s = 1\nnonsense = 2\n", &["line 2", "nonsense"][..]),
            ("period_s = \"x\"\n", &["line 1"]),
            ("[[option]]\nname = \"a\"\n", &["apply"]),
            ("period_s = 1\n", &["option"]),
            ("[[option]]\nname = \"a\"\napply = \"true\"\n", &["its options is 1", "from 2"]),
            (&format!("period_s = 0\n{TWO}"), &["period_s"]),
            (&format!("timeout_s = nan\n{TWO}"), &["timeout_s"]),
            (&format!("settle_s = -1\n{TWO}"), &["settle_s"]),
            (&format!("{TWO}[[option]]\nname = \"a\"\napply = \"x\"\n"), &["'a'"]),
            ("\u{0}", &["line 1"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text:?}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let missing = TuneFile::read(Path::new("/no/such/tune.toml")).unwrap_err();
        assert!(missing.to_string().contains("/no/such/tune.toml"));
    }

    /// Ticks until something holds, at most some seconds.
    fn tick_until(tuner: &mut Tuner, watcher: &mut PatternWatcher, holds: impl Fn(&Tuner) -> bool) {
        for _ in 0..1000 {
            tuner.tick(watcher, PatternId(1), Instant::now(), 1.0);
            if holds(tuner) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it never held");
    }

    fn tuner(text: &str) -> (Tuner, PatternWatcher) {
        let tuner = Tuner::start(read(text).unwrap(), Arc::new(AtomicBool::new(false)));
        let mut watcher = PatternWatcher::new(PatternConfig::server());
        tuner.tell_options(&mut watcher);
        (tuner, watcher)
    }

    #[test]
    fn options_are_not_applied_more_often_than_the_period() {
        let (mut tuner, mut watcher) = tuner(&format!("period_s = 3600\n{TWO}"));
        tick_until(&mut tuner, &mut watcher, |tuner| tuner.in_force().is_some());
        for _ in 0..50 {
            tuner.tick(&mut watcher, PatternId(1), Instant::now(), 1.0);
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(tuner.n_applied.iter().sum::<u64>(), 1);
    }

    #[test]
    fn an_option_whose_command_keeps_failing_is_left_out() {
        let text = "period_s = 0.1\n[[option]]\nname = \"bad\"\napply = \"exit 1\"\n\
                    [[option]]\nname = \"good\"\napply = \"true\"\n";
        let (mut tuner, mut watcher) = tuner(text);
        tick_until(&mut tuner, &mut watcher, |tuner| tuner.in_force() == Some("good"));
        assert_eq!(tuner.n_applied, [0, 1]);
    }

    #[test]
    fn a_reward_that_is_no_number_teaches_nothing() {
        let (mut tuner, mut watcher) =
            tuner(&format!("period_s = 0.1\n{TWO}[reward]\ncommand = \"echo fast\"\n"));
        tick_until(&mut tuner, &mut watcher, |tuner| tuner.reward_warned);
        assert_eq!(tuner.best(&watcher, PatternId(1)), None);
    }
}
