// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading ahead: the operations on a path of the grammar, each supposed to
//! have happened before the next is looked at.
//!
//! Files, positions and names move along on top of the real ones, so the tenth
//! write of a loop is predicted ten sizes further, and a file that is opened on
//! the path is written afterwards. A step costs the same at any distance.

use ioracle_events::{Access, Prediction};

use crate::file_motion::FileMotion;
use crate::hash::Map;
use crate::knowledge::{ExpectedNames, Outlook};
use crate::motion::{Motions, Move, NONE};
use crate::names::Opener;
use crate::oracle::Oracle;
use crate::supposed_motions::SupposedMotions;

/// New files on one path that are told apart; further ones count as the last.
const MAX_NEW_FILES: usize = 1024;

/// A file that is opened on the path for the first time.
struct NewFile {
    name: String,
    /// How certain its name is, given those on the path before it.
    certainty: f64,
}

/// The oracle with supposed operations on top.
pub struct Supposed<'a> {
    oracle: &'a Oracle,
    motions: SupposedMotions<'a>,
    openers: Map<u32, Opener>,
    new_files: Vec<NewFile>,
    outlook: Outlook,
    /// From now to the end of the last supposed operation.
    elapsed_ns: u64,
    /// That everything up to here comes as supposed.
    probability: f64,
}

impl<'a> Supposed<'a> {
    /// Nothing supposed yet.
    pub fn new(oracle: &'a Oracle) -> Supposed<'a> {
        Supposed {
            oracle,
            motions: SupposedMotions::new(&oracle.motions),
            openers: Map::default(),
            new_files: Vec::new(),
            outlook: Outlook::default(),
            elapsed_ns: 0,
            probability: 1.0,
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
            self.new_files.get(n_new as usize).map(|new| new.name.clone())
        });
        // A name that goes on from one that was only supposed is less certain.
        let known_so_far = match file {
            NONE => self.certainty(self.motions.now().file),
            file => self.certainty(file),
        };
        if let (NONE, Some(name)) = (file, &expected.new_name) {
            file = self.add_file(name, known_so_far * expected.file_certainty);
        }
        self.probability *= probability;
        let interarrival_ns = expected.interarrival_ns;
        let prediction = self.oracle.prediction(symbol, &expected, new_name);
        let prediction = Prediction {
            probability: self.probability,
            place_probability: prediction.place_probability * known_so_far,
            from_now_ns: self.elapsed_ns.saturating_add(interarrival_ns),
            ..prediction
        };
        self.elapsed_ns = prediction.from_now_ns.saturating_add(expected.io_time_ns);
        let access = prediction.function.access();
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
        if self.oracle.config.naming.is_by(access) {
            self.advance_opener(symbol, file);
        }
        Some(prediction)
    }

    fn expected_names(&self, symbol: u32) -> ExpectedNames {
        if !self.oracle.config.improvements.name_templates {
            return ExpectedNames::default();
        }
        let real = || self.oracle.knowledge.openers.get(&symbol);
        let opener = self.openers.get(&symbol).or_else(real);
        let supposed = |name: &str| {
            let n_new = self.new_files.iter().position(|new| new.name == name)?;
            Some(self.oracle.files.len() + n_new as u32)
        };
        let name_of = |file| self.name(file);
        self.oracle.names_by(opener, &self.motions, symbol, name_of, supposed)
    }

    fn name(&self, file: u32) -> Option<&str> {
        match file.checked_sub(self.oracle.files.len()) {
            Some(n_new) => self.new_files.get(n_new as usize).map(|new| new.name.as_str()),
            None => self.oracle.files.name(file),
        }
    }

    /// How certain it is that there is this file, as it is named.
    fn certainty(&self, file: u32) -> f64 {
        let n_new = file.checked_sub(self.oracle.files.len());
        n_new.and_then(|n_new| self.new_files.get(n_new as usize)).map_or(1.0, |new| new.certainty)
    }

    fn add_file(&mut self, name: &str, certainty: f64) -> u32 {
        if self.new_files.len() < MAX_NEW_FILES {
            self.new_files.push(NewFile { name: name.to_string(), certainty });
        }
        let file = self.oracle.files.len() + self.new_files.len() as u32 - 1;
        *self.motions.file_mut(file) = FileMotion::NEW;
        file
    }

    fn advance_opener(&mut self, symbol: u32, file: u32) {
        let Some(name) = self.name(file).map(str::to_string) else { return };
        let real = || self.oracle.knowledge.openers.get(&symbol).cloned().unwrap_or_default();
        self.openers.entry(symbol).or_insert_with(real).advance(&name);
    }
}
