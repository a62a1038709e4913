// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performs a plan: repeats each piece of work until its spread is known or its
//! share of the time is used up.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::place::BenchPlace;
use crate::plan::{Plan, PlannedWork};
use crate::points::{MeasuredWork, Repetition};
use crate::spread::RepetitionRule;
use crate::task::{TaskOrder, TaskStep, data_path};
use crate::team::Team;
use crate::workload::{DataDirection, Workload};

/// How far a session may exceed its time before the rest is left out.
const PATIENCE: f64 = 1.1;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct SessionRules {
    /// Of one piece of work.
    pub repetition: RepetitionRule,
    /// Of all together.
    pub time_limit: Duration,
    /// Names the orders of random accesses.
    pub seed: u64,
}

/// How far a session is.
#[derive(Clone, Debug)]
pub struct SessionProgress {
    /// What is being measured.
    pub label: String,
    /// Pieces of work that are done.
    pub n_done: usize,
    /// All there are.
    pub n_works: usize,
    /// How long the rest will take, judged by what is done.
    pub left: Duration,
}

/// A benchmark in one directory.
pub struct Session {
    place: BenchPlace,
    team: Team,
    rules: SessionRules,
    /// The workload whose files are there.
    filled: Option<Workload>,
    n_orders: u64,
}

impl Session {
    /// Nothing is written before work is performed.
    pub fn new(place: BenchPlace, team: Team, rules: SessionRules) -> Session {
        Session { place, team, rules, filled: None, n_orders: 0 }
    }

    /// Performs everything, and says how far it is. On storage so slow that the
    /// time is long over, the last pieces of work are missing in the result.
    pub fn perform(
        &mut self,
        plan: &Plan,
        mut progress: impl FnMut(&SessionProgress),
    ) -> Result<Vec<MeasuredWork>, BenchError> {
        self.place.check_room(plan.bytes_on_disk())?;
        let start = Instant::now();
        let mut measured = Vec::with_capacity(plan.works.len());
        for (n_done, work) in plan.works.iter().enumerate() {
            let n_left = (plan.works.len() - n_done) as u32;
            let left = self.rules.time_limit.saturating_sub(start.elapsed());
            if start.elapsed() > self.rules.time_limit.mul_f64(PATIENCE) {
                break;
            }
            let mut tell = || {
                let per_work = start.elapsed().checked_div(n_done as u32);
                let by_pace = per_work.map_or(left, |per_work| per_work * n_left);
                progress(&SessionProgress {
                    label: work.label(),
                    n_done,
                    n_works: plan.works.len(),
                    left: by_pace.min(left),
                });
            };
            tell();
            measured.push(self.measure(work, left / n_left)?);
        }
        self.clear()?;
        Ok(measured)
    }

    /// Repeats a piece of work until its spread is known, for about so long.
    fn measure(&mut self, work: &PlannedWork, time: Duration) -> Result<MeasuredWork, BenchError> {
        let start = Instant::now();
        let rule = self.rules.repetition;
        let mut repetitions = Vec::new();
        let mut means = Vec::new();
        loop {
            let share = time.saturating_sub(start.elapsed())
                / (rule.min.max(1)).saturating_sub(means.len() as u32).max(1);
            let repetition = self.repeat(work, share.max(Duration::from_millis(50)))?;
            means.push(repetition.main_mean_s(work));
            repetitions.push(repetition);
            let is_late = start.elapsed() > time && means.len() as u32 >= rule.min.min(2);
            if rule.is_enough(&means) || is_late {
                break;
            }
        }
        Ok(MeasuredWork { work: work.clone(), repetitions })
    }

    fn repeat(&mut self, work: &PlannedWork, time: Duration) -> Result<Repetition, BenchError> {
        match work {
            PlannedWork::Metadata(workload) => {
                let step = TaskStep::Metadata(workload.clone());
                self.order(workload.n_tasks, &step)
            }
            PlannedWork::Data(workload) => {
                let mut workload = workload.clone();
                let most = time.as_nanos().min(u128::from(u64::MAX)) as u64;
                workload.stonewall_ns =
                    Some(workload.stonewall_ns.map_or(most, |given| given.min(most)));
                let is_new = workload.direction == DataDirection::Write && !workload.in_place;
                if is_new {
                    self.clear()?;
                } else {
                    self.fill(&workload)?;
                }
                let n_tasks = workload.n_tasks;
                let repetition = self.order(n_tasks, &TaskStep::Data(workload.clone()))?;
                if is_new {
                    // Data that nobody will read need not reach the storage, where
                    // it would disturb what comes next.
                    self.clear()?;
                } else if workload.direction == DataDirection::Write {
                    self.sync(&workload)?;
                }
                Ok(repetition)
            }
        }
    }

    /// Writes the files that a workload needs, unless they are there.
    fn fill(&mut self, workload: &Workload) -> Result<(), BenchError> {
        let files = |it: &Workload| (it.api, it.layout, it.n_tasks, it.block_bytes, it.n_segments);
        if self.filled.as_ref().is_some_and(|filled| files(filled) == files(workload)) {
            return Ok(());
        }
        self.clear()?;
        self.order(workload.n_tasks, &TaskStep::Fill(workload.clone()))?;
        self.filled = Some(workload.clone());
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        self.filled = None;
        self.place.clear()
    }

    fn sync(&self, workload: &Workload) -> Result<(), BenchError> {
        let directory = self.place.path();
        for number in 0..workload.n_files() {
            let synced = File::open(data_path(directory, number)).and_then(|file| file.sync_all());
            synced.map_err(BenchError::io("sync test files", directory))?;
        }
        Ok(())
    }

    fn order(&mut self, n_tasks: u32, step: &TaskStep) -> Result<Repetition, BenchError> {
        // Rather absolute: a task may have another working directory.
        let directory =
            std::path::absolute(self.place.path()).unwrap_or_else(|_| self.place.path().to_owned());
        self.n_orders += 1;
        let seed = self.rules.seed.wrapping_add(self.n_orders);
        let order =
            |task| TaskOrder { task, directory: directory.clone(), seed, step: step.clone() };
        let orders: Vec<TaskOrder> = (0..n_tasks).map(order).collect();
        let outcomes = self.team.perform(&orders).map_err(|error| self.named(error))?;
        Ok(Repetition::of(&outcomes))
    }

    /// Says where it happened by the directory that the user has named.
    fn named(&self, error: BenchError) -> BenchError {
        match error {
            BenchError::Full(_) => {
                BenchError::Full(self.place.path().parent().unwrap_or(Path::new(".")).to_owned())
            }
            other => other,
        }
    }
}
