// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading ahead: the operations on a path of the grammar, each supposed to
//! have happened before the next is looked at.
//!
//! Files, positions and names move along on top of the real ones, so the tenth
//! write of a loop is predicted ten sizes further, and a file that is opened on
//! the path is written afterwards. A step costs the same at any distance.

use ioracle_events::{Access, Prediction};

use crate::file_motion::FileMotion;
use crate::hash::SeedlessMap;
use crate::knowledge::{ExpectationSource, ExpectedNames};
use crate::motion::{Motions, Move, NONE};
use crate::names::Opener;
use crate::oracle::Oracle;
use crate::supposed_motions::SupposedMotions;

/// New files on one path that are told apart; further ones count as the last.
const MAX_NEW_FILES: usize = 1024;

/// The oracle with supposed operations on top.
pub struct Supposed<'a> {
    oracle: &'a Oracle,
    motions: SupposedMotions<'a>,
    openers: SeedlessMap<u32, Opener>,
    /// Names of files that are used on the path for the first time.
    new_files: Vec<String>,
    /// How certain it is of files named on the path that they are the right ones.
    certainties: SeedlessMap<u32, f64>,
    outlook: ExpectationSource,
    /// From now to the end of the last supposed operation.
    elapsed_ns: u64,
    /// That all operations up to here come.
    operation_probability: f64,
    /// That the new files up to here have the supposed names.
    names_certainty: f64,
}

impl<'a> Supposed<'a> {
    /// Nothing supposed yet.
    pub fn new(oracle: &'a Oracle) -> Supposed<'a> {
        Supposed {
            oracle,
            motions: SupposedMotions::new(&oracle.motions),
            openers: SeedlessMap::default(),
            new_files: Vec::new(),
            certainties: SeedlessMap::default(),
            outlook: ExpectationSource::default(),
            elapsed_ns: 0,
            operation_probability: 1.0,
            names_certainty: 1.0,
        }
    }

    /// What the next operation will be if it is of this symbol, which has this
    /// probability; then supposes that it happened.
    pub fn step(&mut self, symbol: u32, probability: f64) -> Option<Prediction> {
        let names = self.expected_names(symbol);
        let knowledge = &self.oracle.knowledge;
        let expected = knowledge.expect(&self.motions, symbol, names, &mut self.outlook)?;
        let mut file = expected.file;
        let new_name = expected.new_name.clone().or_else(|| {
            let n_new = file.checked_sub(self.oracle.files.len())?;
            self.new_files.get(n_new as usize).cloned()
        });
        let claim = expected.file_certainty * expected.offset_certainty;
        let places = &self.oracle.places;
        let mut place_probability = places.probability(places.cell(Some(symbol), claim));
        let mut is_first_use = self.motions.file(file).n_open == 0;
        if let (NONE, Some(name)) = (file, &expected.new_name) {
            // A name goes on from those before it, which are only supposed too.
            place_probability *= self.names_certainty;
            self.names_certainty = place_probability;
            file = self.add_file(name);
            is_first_use = true;
        }
        let access = self.oracle.knowledge.symbols[symbol as usize].function.access();
        let names_its_file = self.oracle.config.learns_names_of(access, is_first_use);
        if names_its_file {
            self.certainties.insert(file, place_probability);
        } else {
            place_probability *= self.certainties.get(&file).copied().unwrap_or(1.0);
        }
        self.operation_probability *= probability;
        let interarrival_ns = expected.interarrival_ns;
        let prediction = self.oracle.prediction(symbol, &expected, new_name);
        let prediction = Prediction {
            probability: self.operation_probability * place_probability,
            operation_probability: self.operation_probability,
            from_now_ns: self.elapsed_ns.saturating_add(interarrival_ns),
            ..prediction
        };
        self.elapsed_ns = prediction.from_now_ns.saturating_add(expected.io_time_ns);
        let own = *self.motions.symbol(symbol);
        let opens = access == Access::Open;
        self.motions.advance(&Move {
            symbol,
            access,
            file,
            offset: expected.offset,
            size: expected.size,
            append: opens && own.appends,
            truncated_to: (opens && own.truncates).then_some(0),
            after_quiet: self.oracle.quiet.is_quiet(interarrival_ns),
        });
        if names_its_file {
            self.advance_opener(symbol, file);
        }
        Some(prediction)
    }

    fn expected_names(&self, symbol: u32) -> ExpectedNames {
        if !self.oracle.may_name(symbol) {
            return ExpectedNames::default();
        }
        let real = || self.oracle.knowledge.openers.get(&symbol);
        let opener = self.openers.get(&symbol).or_else(real);
        let supposed = |name: &str| {
            let n_new = self.new_files.iter().position(|new| new == name)?;
            Some(self.oracle.files.len() + n_new as u32)
        };
        let name_of = |file| self.name(file);
        self.oracle.names_by(opener, &self.motions, symbol, name_of, supposed)
    }

    fn name(&self, file: u32) -> Option<&str> {
        match file.checked_sub(self.oracle.files.len()) {
            Some(n_new) => self.new_files.get(n_new as usize).map(String::as_str),
            None => self.oracle.files.name(file),
        }
    }

    fn add_file(&mut self, name: &str) -> u32 {
        if self.new_files.len() < MAX_NEW_FILES {
            self.new_files.push(name.to_string());
        }
        let file = self.oracle.files.len() + self.new_files.len() as u32 - 1;
        *self.motions.file_mut(file) = FileMotion::NEW;
        file
    }

    fn advance_opener(&mut self, symbol: u32, file: u32) {
        let Some(name) = self.name(file).map(str::to_string) else { return };
        let real = || self.oracle.knowledge.openers.get(&symbol).cloned().unwrap_or_default();
        let opener = self.openers.entry(symbol).or_insert_with(real);
        opener.advance(&name);
        opener.prepare();
    }
}
