// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading ahead: the operations on a path of the grammar, each supposed to
//! have happened before the next is looked at.
//!
//! KnownFiles, positions and names move along on top of the real ones, so the tenth
//! write of a loop is predicted ten sizes further, and a file that is opened on
//! the path is written afterwards. A step costs the same at any distance.

use ioracle_events::{Access, Prediction};

use crate::file_motion::FileMotion;
use crate::hash::SeedlessMap;
use crate::knowledge::{ExpectationSource, ExpectedNames};
use crate::motion::{Motions, Move, NONE};
use crate::names::Opener;
use crate::oracle::Oracle;
use crate::supposed_motions::{MotionOverlay, SupposedMotions};

/// New files on one path that are distinguished; further ones count as the last.
const MAX_NEW_FILES: usize = 1024;
/// KnownFiles that a path which is kept for long may have used before it is derived
/// anew.
const MAX_FILES: usize = 1 << 15;

/// Supposed operations on top of an oracle.
#[derive(Clone, Debug)]
pub struct Supposed {
    motions: MotionOverlay,
    openers: SeedlessMap<u32, Opener>,
    /// KnownFiles that the oracle knew when the first of `new_files` was supposed.
    n_known_files: u32,
    /// KnownFiles that are used on the path for the first time.
    new_files: Vec<NewFile>,
    /// How certain it is of files named on the path that they are the right ones.
    certainties: SeedlessMap<u32, f64>,
    outlook: ExpectationSource,
    /// From where the path began to the end of the last supposed operation.
    elapsed_ns: u64,
    /// That all operations up to here come.
    operation_probability: f64,
    /// That the new files up to here have the supposed names.
    names_certainty: f64,
}

#[derive(Clone, Debug)]
struct NewFile {
    name: String,
    /// That it and all new files before it have the supposed names.
    certainty: f64,
}

impl Supposed {
    /// Nothing supposed yet.
    pub fn new(oracle: &Oracle) -> Supposed {
        Supposed {
            motions: MotionOverlay::new(&oracle.motions),
            openers: SeedlessMap::default(),
            n_known_files: oracle.files.len(),
            new_files: Vec::new(),
            certainties: SeedlessMap::default(),
            outlook: ExpectationSource::default(),
            elapsed_ns: 0,
            operation_probability: 1.0,
            // Names go on from what is stated first, and are no more certain than it.
            names_certainty: oracle.doubt_of_first(),
        }
    }

    /// What was supposed first has really happened. False if the oracle numbers
    /// files otherwise than was supposed, or so many were supposed that it is
    /// time to begin anew.
    pub fn keep_up(&mut self, oracle: &Oracle) -> bool {
        let n_files = oracle.files.len();
        let Some(n_real) = n_files.checked_sub(self.n_known_files) else { return false };
        let n_supposed = self.new_files.len().min(n_real as usize);
        let mut become_real = (self.n_known_files..).zip(&self.new_files[..n_supposed]);
        let were_right =
            become_real.all(|(file, new)| oracle.files.name(file) == Some(new.name.as_str()));
        if let Some(last) = self.new_files[..n_supposed].last() {
            self.forget_doubt(last.certainty);
        }
        for file in self.n_known_files..n_files {
            self.certainties.remove(&file);
        }
        self.new_files.drain(..n_supposed);
        self.n_known_files = n_files;
        were_right && n_supposed == n_real as usize && self.motions.n_files() < MAX_FILES
    }

    /// What had this certainty is certain now, and what depends on it is more so.
    fn forget_doubt(&mut self, certainty: f64) {
        let certainties = self.certainties.values_mut();
        let new_files = self.new_files.iter_mut().map(|new| &mut new.certainty);
        for doubted in certainties.chain(new_files).chain([&mut self.names_certainty]) {
            *doubted = if certainty > 0.0 { (*doubted / certainty).min(1.0) } else { 0.0 };
        }
    }

    /// Counts times and probabilities from here on: those who keep a path for
    /// long would else run out of numbers.
    pub fn count_from_here(&mut self) {
        (self.elapsed_ns, self.operation_probability) = (0, 1.0);
    }

    /// What the next operation will be if it is of this symbol, which has this
    /// probability; then supposes that it happened.
    pub fn step(&mut self, oracle: &Oracle, symbol: u32, probability: f64) -> Option<Prediction> {
        let names = self.expected_names(oracle, symbol);
        let knowledge = &oracle.knowledge;
        let mut motions = SupposedMotions { real: &oracle.motions, overlay: &mut self.motions };
        let expected = knowledge.expect(&motions, symbol, names, &mut self.outlook)?;
        let mut file = expected.file;
        let new_name = expected.new_name.clone().or_else(|| {
            let n_new = file.checked_sub(oracle.files.len())?;
            self.new_files.get(n_new as usize).map(|new| new.name.clone())
        });
        let claim = expected.file_certainty * expected.offset_certainty;
        let places = &oracle.places;
        let mut place_probability = places.probability(places.cell(Some(symbol), claim));
        let mut is_first_use = motions.file(file).n_open == 0;
        if let (NONE, Some(name)) = (file, &expected.new_name) {
            // A name goes on from those before it, which are only supposed too.
            place_probability *= self.names_certainty;
            self.names_certainty = place_probability;
            if self.new_files.len() < MAX_NEW_FILES {
                let (name, certainty) = (name.clone(), place_probability);
                self.new_files.push(NewFile { name, certainty });
            }
            file = oracle.files.len() + self.new_files.len() as u32 - 1;
            *motions.file_mut(file) = FileMotion::NEW;
            is_first_use = true;
        }
        let access = oracle.knowledge.symbols[symbol as usize].function.access();
        let names_its_file = oracle.config.learns_names_of(access, is_first_use);
        if names_its_file {
            self.certainties.insert(file, place_probability);
        } else {
            place_probability *= self.certainties.get(&file).copied().unwrap_or(1.0);
        }
        self.operation_probability *= probability;
        let interarrival_ns = expected.wait.interarrival_ns;
        let source = oracle.source(motions.now().symbol, symbol);
        let prediction = oracle.prediction(symbol, &expected, new_name, source);
        let prediction = Prediction {
            probability: self.operation_probability * place_probability,
            operation_probability: self.operation_probability,
            from_now_ns: self.elapsed_ns.saturating_add(interarrival_ns),
            ..prediction
        };
        self.elapsed_ns = prediction.from_now_ns.saturating_add(expected.io_time_ns);
        let own = *motions.symbol(symbol);
        let opens = access == Access::Open;
        let mut step = Move {
            symbol,
            access,
            file,
            offset: expected.offset,
            size: expected.size,
            requested: None,
            is_cut_short: false,
            append: opens && own.appends,
            truncated_to: (opens && own.truncates).then_some(0),
            after_quiet: oracle.quiet.is_quiet(interarrival_ns),
        };
        step.is_cut_short = motions.file(file).cuts_short(&step);
        motions.advance(&step);
        if names_its_file {
            self.advance_opener(oracle, symbol, file);
        }
        Some(prediction)
    }

    fn expected_names(&mut self, oracle: &Oracle, symbol: u32) -> ExpectedNames {
        if !oracle.may_name(symbol) {
            return ExpectedNames::default();
        }
        let real = || oracle.knowledge.openers.get(&symbol);
        let opener = self.openers.get(&symbol).or_else(real);
        let new_files = &self.new_files;
        let supposed = |name: &str| {
            let n_new = new_files.iter().position(|new| new.name == name)?;
            Some(oracle.files.len() + n_new as u32)
        };
        let name_of = |file| name_of(oracle, new_files, file);
        let motions = SupposedMotions { real: &oracle.motions, overlay: &mut self.motions };
        oracle.names_by(opener, &motions, symbol, name_of, supposed)
    }

    fn advance_opener(&mut self, oracle: &Oracle, symbol: u32, file: u32) {
        let Some(name) = name_of(oracle, &self.new_files, file) else { return };
        let real = || oracle.knowledge.openers.get(&symbol).cloned().unwrap_or_default();
        let opener = self.openers.entry(symbol).or_insert_with(real);
        opener.advance(name);
        opener.prepare();
    }
}

/// The name of a file that is known or supposed.
fn name_of<'a>(oracle: &'a Oracle, new_files: &'a [NewFile], file: u32) -> Option<&'a str> {
    match file.checked_sub(oracle.files.len()) {
        Some(n_new) => new_files.get(n_new as usize).map(|new| new.name.as_str()),
        None => oracle.files.name(file),
    }
}
