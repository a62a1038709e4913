// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the streams of a job have learned, for the next run of the same job.
//!
//! A job is many streams: ranks, helper threads, the tools that a script
//! starts. Each has a [`Role`], and a [`Model`] holds for each role the oracle
//! that its stream ended with. Roles that did exactly the same share one: an
//! MPI job of equal ranks is stored once. A stream of the next run starts from
//! the oracle of its role, else from that of the nearest one of its program.
//!
//! At the bounds those that have seen least go. The file is described in
//! `docs/model-format.md`; reading trusts nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::behaviour::Behaviour;
use crate::error::Error;
use crate::header;
use crate::oracle::Oracle;
use crate::role::Role;
use crate::saved;
use crate::stacks::{SavedStacks, StackId, Stacks};

/// The version of a file that holds the oracles of a job.
pub(crate) const VERSION: u32 = 6;
/// The same before the last run's reads, and before variables were part of it.
pub(crate) const WITHOUT_READS: u32 = 5;
pub(crate) const WITHOUT_VARIABLES: u32 = 2;
/// Distinct oracles that a model holds, and the roles they are for.
const MAX_ORACLES: usize = 64;
const MAX_ROLES: usize = 1024;
/// Bytes of all oracles of a file.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of what was read last.
const MAX_READ_BYTES: usize = 1 << 20;
/// Bytes of the application's name.
const MAX_NAME_BYTES: usize = 255;

/// The oracles of a job by role.
#[derive(Clone, Debug, Default)]
pub struct Model {
    application: String,
    oracles: Vec<LearnedStream>,
    /// Which oracle is for whom, and how often it was.
    roles: BTreeMap<Role, RoleEntry>,
    /// The call stacks of all oracles.
    stacks: Stacks,
    /// What the same roles have learned about variables.
    variables: Option<Box<Model>>,
    /// What the last run has read, as whoever reads ahead encodes it.
    last_reads: Vec<u8>,
}

/// What one stream, or several that did the same, have learned.
#[derive(Clone, Debug)]
pub struct LearnedStream {
    /// All it has learned, in all runs.
    pub oracle: Oracle,
    /// What it did in the last one.
    pub behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RoleEntry {
    /// Place of its oracle.
    oracle: u32,
    /// Runs in which somebody played the role.
    runs: u32,
}

/// What a role has done in the runs of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Runs in which somebody played it.
    pub runs: u32,
    /// Operations in all of them.
    pub operations: u64,
}

/// A role and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct RoleView<'a> {
    /// The role.
    pub role: &'a Role,
    /// Runs in which it was seen.
    pub runs: u32,
    /// Place of its oracle; roles with the same one did the same.
    pub number: usize,
    /// What was learned.
    pub oracle: &'a Oracle,
}

impl Model {
    /// Knows nothing yet of this application.
    pub fn new(application: &str) -> Model {
        let mut application = application.to_owned();
        while application.len() > MAX_NAME_BYTES {
            application.pop();
        }
        Model { application, ..Model::default() }
    }

    /// Name of the application; empty if it is not known.
    pub fn application(&self) -> &str {
        &self.application
    }

    /// Whether a job that is called so, or begins with a program of this name,
    /// may be the one that was learned.
    pub fn is_of(&self, application: &str) -> bool {
        let is_any = |role: &Role| role.program.is_empty() || role.program == application;
        self.application == application || self.roles.keys().any(is_any)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// Runs that were learned.
    pub fn runs(&self) -> u32 {
        self.roles.values().map(|part| part.runs).max().unwrap_or(0)
    }

    /// Operations that were learned, in all runs.
    pub fn operations(&self) -> u64 {
        let operations = self.roles().map(|view| view.oracle.operations());
        operations.fold(0, u64::saturating_add)
    }

    /// Operations of one role in all runs; 0 if it is new.
    pub fn operations_of(&self, role: &Role) -> u64 {
        let part = self.roles.get(&role.clone().cut());
        let learned = part.and_then(|part| self.oracles.get(part.oracle as usize));
        learned.map_or(0, |learned| learned.oracle.operations())
    }

    /// Its call stacks by name.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// What was found out of the call stacks of a run. Those that no oracle
    /// knows are left out.
    pub fn set_stacks(&mut self, stacks: Stacks) {
        self.stacks = stacks;
        let used = self.stacks_in_use();
        self.stacks.retain(&used);
    }

    /// The call stacks of operations that were learned.
    pub fn stacks_in_use(&self) -> BTreeSet<StackId> {
        self.oracles.iter().flat_map(|learned| learned.oracle.stacks()).collect()
    }

    /// What was learned about accesses to variables, which is then no part of it any
    /// more.
    pub fn take_variables(&mut self) -> Model {
        self.variables.take().map(|variables| *variables).unwrap_or_default()
    }

    /// What a run has learned about variables, its past included.
    pub fn set_variables(&mut self, variables: Model) {
        self.variables = (!variables.is_empty()).then(|| Box::new(variables));
    }

    /// What the last run has read, as whoever reads ahead has encoded it; empty if nothing.
    pub fn last_reads(&self) -> &[u8] {
        &self.last_reads
    }

    /// What this run has read; nothing is kept of what is too large.
    pub fn set_last_reads(&mut self, reads: Vec<u8>) {
        self.last_reads = if reads.len() <= MAX_READ_BYTES { reads } else { Vec::new() };
    }

    /// Accesses to variables that were learned, in all runs.
    pub fn variable_accesses(&self) -> u64 {
        self.variables.as_ref().map_or(0, |variables| variables.operations())
    }

    /// All roles, in order.
    pub fn roles(&self) -> impl Iterator<Item = RoleView<'_>> {
        self.roles.iter().filter_map(|(role, part)| {
            let number = part.oracle as usize;
            let LearnedStream { oracle, .. } = self.oracles.get(number)?;
            Some(RoleView { role, runs: part.runs, number, oracle })
        })
    }

    /// The oracle of a role, else of the nearest one of its program.
    pub fn find(&self, role: &Role) -> Option<RoleView<'_>> {
        let near = self.roles().filter_map(|view| Some((view.role.distance(role)?, view)));
        let nearest = near.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, view)| view);
        nearest.or_else(|| self.roles().find(|view| view.role.program.is_empty()))
    }

    /// The number of the oracle that has seen most.
    pub fn busiest(&self) -> Option<usize> {
        let operations = |number: &usize| self.oracles[*number].oracle.operations();
        // Of several the first one.
        (0..self.oracles.len()).rev().max_by_key(operations)
    }

    /// The oracle that has seen most; of an empty model one that knows nothing.
    pub fn into_busiest(self) -> Oracle {
        let busiest = self.busiest();
        let oracle = busiest.and_then(|busiest| self.into_oracle(busiest));
        oracle.unwrap_or_else(|| Oracle::new(crate::Config::default()))
    }

    /// One of its oracles, by the number in its [`RoleView`].
    pub fn into_oracle(mut self, number: usize) -> Option<Oracle> {
        (number < self.oracles.len()).then(|| self.oracles.swap_remove(number).oracle)
    }

    /// What the stream of a role has learned in a run, its past included,
    /// stands for the role from now on.
    pub fn learn(&mut self, role: Role, learned: LearnedStream) {
        let role = role.cut();
        let runs = self.roles.get(&role).map_or(0, |part| part.runs).saturating_add(1);
        self.play(&role, learned, runs);
        // Not at every step beyond a bound: it looks at all there is.
        if self.oracles.len() > 2 * MAX_ORACLES || self.roles.len() > 2 * MAX_ROLES {
            self.stay_within_bounds();
        }
    }

    /// A new run of the job begins: see [`Oracle::begin_run`].
    pub fn begin_run(&mut self) {
        self.oracles.iter_mut().for_each(|learned| learned.oracle.begin_run());
        if let Some(variables) = &mut self.variables {
            variables.begin_run();
        }
    }

    /// The model as bytes.
    pub fn save(mut self) -> Vec<u8> {
        let variables = self.take_variables().into_body();
        let last_reads = std::mem::take(&mut self.last_reads);
        let body = (self.into_body(), variables, last_reads);
        // Writing to memory cannot fail, and all parts have known lengths.
        header::put_before(VERSION, &postcard::to_stdvec(&body).unwrap_or_default())
    }

    /// The model that was saved as these bytes, also one of a single oracle, or of
    /// the version that knew nothing of variables.
    pub fn load(bytes: &[u8]) -> Result<Model, Error> {
        match header::body_of(bytes)? {
            (saved::VERSION, body) => Oracle::from_body(body).map(Model::from),
            (WITHOUT_VARIABLES, body) => {
                Model::from_body(postcard::from_bytes(body).map_err(Error::unreadable)?)
            }
            (version, body) => {
                let (body, variables, last_reads): (Body, Body, Vec<u8>) = match version {
                    WITHOUT_READS => {
                        let (body, variables) =
                            postcard::from_bytes(body).map_err(Error::unreadable)?;
                        (body, variables, Vec::new())
                    }
                    _ => postcard::from_bytes(body).map_err(Error::unreadable)?,
                };
                let mut model = Model::from_body(body)?;
                model.set_variables(Model::from_body(variables)?);
                model.set_last_reads(last_reads);
                Ok(model)
            }
        }
    }

    /// What each role has done so far.
    pub fn played(&self) -> BTreeMap<Role, Played> {
        let played =
            |view: RoleView| Played { runs: view.runs, operations: view.oracle.operations() };
        self.roles().map(|view| (view.role.clone(), played(view))).collect()
    }

    /// Adds what a run has learned that began with an earlier state of this
    /// model, in which roles had done what `played` says. Where another run has
    /// played a role in the meantime and did something else, both are kept.
    pub fn take_in(&mut self, run: &Model, played: &BTreeMap<Role, Played>) {
        for (role, part) in &run.roles {
            let before = played.get(role).copied().unwrap_or_default();
            let Some(learned) = run.oracles.get(part.oracle as usize) else { continue };
            if part.runs == before.runs {
                continue;
            }
            let own = self.roles.get(role).copied();
            let runs = own.map_or(0, |own| own.runs);
            let both = own.filter(|own| own.runs != before.runs);
            match both.and_then(|own| self.oracles.get(own.oracle as usize)) {
                None => self.play(role, learned.clone(), runs.saturating_add(1)),
                Some(other) => {
                    let mut other = other.clone();
                    let n_new = learned.oracle.operations().saturating_sub(before.operations);
                    let n_operations = other.oracle.operations().saturating_add(n_new);
                    if other.behaviour != learned.behaviour {
                        other.oracle.merge(&learned.oracle);
                    }
                    // What both began with counts once.
                    other.oracle.count_operations(n_operations);
                    self.play(role, other, runs.saturating_add(1));
                }
            }
        }
        if !run.last_reads.is_empty() {
            self.last_reads.clone_from(&run.last_reads);
        }
        self.stacks.merge(&run.stacks);
        self.stay_within_bounds();
        if let Some(run) = &run.variables {
            let mut own = self.take_variables();
            own.take_in(run, played);
            self.set_variables(own);
        }
    }

    /// Adds what another model of the same application has learned.
    pub fn merge(&mut self, other: &Model) {
        if self.application.is_empty() {
            self.application.clone_from(&other.application);
        }
        for (role, part) in &other.roles {
            let Some(theirs) = other.oracles.get(part.oracle as usize) else { continue };
            let own = self.roles.get(role).copied();
            let runs = own.map_or(0, |own| own.runs).saturating_add(part.runs);
            let mut learned = theirs.clone();
            if let Some(own) = own.and_then(|own| self.oracles.get(own.oracle as usize)) {
                learned = own.clone();
                learned.oracle.merge(&theirs.oracle);
            }
            self.play(role, learned, runs);
        }
        if self.last_reads.is_empty() {
            self.last_reads.clone_from(&other.last_reads);
        }
        self.stacks.merge(&other.stacks);
        self.stay_within_bounds();
        if let Some(other) = &other.variables {
            let mut own = self.take_variables();
            own.merge(other);
            self.set_variables(own);
        }
    }

    /// All but what was learned about variables.
    fn into_body(mut self) -> Body {
        self.stay_within_bounds();
        let oracles = self.oracles.iter().map(|learned| SavedOracle {
            behaviour: learned.behaviour.number(),
            file: learned.oracle.save(),
        });
        Body {
            oracles: oracles.collect(),
            stacks: SavedStacks::from(&self.stacks),
            application: self.application,
            roles: self.roles.into_iter().collect(),
        }
    }

    fn from_body(body: Body) -> Result<Model, Error> {
        let n_oracles = body.oracles.len();
        let exists = |part: &RoleEntry| (part.oracle as usize) < n_oracles;
        let is_sound = body.application.len() <= MAX_NAME_BYTES
            && n_oracles <= MAX_ORACLES
            && body.roles.len() <= MAX_ROLES
            && body.roles.iter().all(|(role, part)| role.is_valid() && exists(part));
        if !is_sound {
            return Err(Error::Content("its roles are out of range".to_owned()));
        }
        let oracles = body.oracles.iter().map(|saved| match header::body_of(&saved.file)? {
            (saved::VERSION, body) => Ok(LearnedStream {
                oracle: Oracle::from_body(body)?,
                behaviour: Behaviour::from_number(saved.behaviour),
            }),
            _ => Err(Error::Content("it holds a model inside a model".to_owned())),
        });
        let oracles = oracles.collect::<Result<_, Error>>()?;
        let roles = body.roles.into_iter().collect();
        let stacks = body.stacks.check();
        let stacks =
            stacks.ok_or_else(|| Error::Content("its stacks are out of range".to_owned()))?;
        let application = body.application;
        Ok(Model { application, oracles, roles, stacks, ..Model::default() })
    }

    fn play(&mut self, role: &Role, learned: LearnedStream, runs: u32) {
        let oracle = self.place_of(learned);
        self.roles.insert(role.clone(), RoleEntry { oracle, runs });
    }

    /// Where an oracle is; the same place for those of equal behaviour.
    fn place_of(&mut self, learned: LearnedStream) -> u32 {
        let is_same = |other: &LearnedStream| {
            other.behaviour == learned.behaviour
                && other.oracle.operations() == learned.oracle.operations()
        };
        let place = self.oracles.iter().position(is_same).unwrap_or_else(|| {
            self.oracles.push(learned);
            self.oracles.len() - 1
        });
        place as u32
    }

    /// Drops what no role uses, and what has seen least beyond the bounds.
    fn stay_within_bounds(&mut self) {
        let mut kept: Vec<usize> = (0..self.oracles.len())
            .filter(|number| self.roles.values().any(|part| part.oracle as usize == *number))
            .collect();
        kept.sort_by_key(|number| std::cmp::Reverse(self.oracles[*number].oracle.operations()));
        kept.truncate(MAX_ORACLES);
        let mut bytes = 0;
        kept.retain(|number| {
            bytes += self.oracles[*number].oracle.memory_bytes();
            bytes <= MAX_BYTES
        });
        let mut places = BTreeMap::new();
        let mut oracles = Vec::new();
        for (number, learned) in self.oracles.drain(..).enumerate() {
            if kept.contains(&number) {
                places.insert(number as u32, oracles.len() as u32);
                oracles.push(learned);
            }
        }
        self.oracles = oracles;
        self.roles.retain(|_, part| match places.get(&part.oracle) {
            Some(place) => {
                part.oracle = *place;
                true
            }
            None => false,
        });
        // The first roles of each program are those that the others are like.
        while self.roles.len() > MAX_ROLES {
            self.roles.pop_last();
        }
    }
}

/// An oracle that may be for any stream.
impl From<Oracle> for Model {
    fn from(oracle: Oracle) -> Model {
        let mut model = Model::default();
        model.learn(Role::default(), LearnedStream { oracle, behaviour: Behaviour::default() });
        model
    }
}

#[derive(Serialize, Deserialize)]
struct Body {
    application: String,
    oracles: Vec<SavedOracle>,
    roles: Vec<(Role, RoleEntry)>,
    stacks: SavedStacks,
}

#[derive(Serialize, Deserialize)]
struct SavedOracle {
    behaviour: u64,
    /// As [`Oracle::save`] writes it.
    file: Vec<u8>,
}
