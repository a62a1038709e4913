// SPDX-License-Identifier: MIT OR Apache-2.0

//! One oracle as bytes: a checked header, then all it has learned.
//!
//! The format is described in `docs/model-format.md`. Reading trusts nothing:
//! length and checksum are checked first, then every part says whether it could
//! have been made by this code, so that bytes with a right checksum but made up
//! content are refused as well.

use ioracle_grammar::StarSequitur;
use serde::{Deserialize, Serialize};

use crate::burst::QuietLine;
use crate::clues::Clues;
use crate::config::Config;
use crate::contexts::Contexts;
use crate::contiguity::Contiguity;
use crate::endings::Endings;
use crate::error::Error;
use crate::files::KnownFiles;
use crate::header;
use crate::knowledge::Knowledge;
use crate::model::Model;
use crate::motion::RealMotions;
use crate::oracle::{Oracle, RunState};
use crate::place_calibration::PlaceCalibration;
use crate::time::{ExpectedWait, WaitTrust};

/// The version of a file that holds one oracle.
pub(crate) const VERSION: u32 = 10;

/// What is written; borrowed for writing, owned after reading.
#[derive(Serialize, Deserialize)]
struct Saved<
    Limits,
    Grammar,
    Names,
    Table,
    Trackers,
    State,
    Assumption,
    Ends,
    Between,
    Places,
    Line,
> {
    config: Limits,
    grammar: Grammar,
    contexts: Names,
    files: Table,
    knowledge: Trackers,
    motions: State,
    contiguity: Assumption,
    endings: Ends,
    clues: Between,
    places: Places,
    quiet: Line,
    wait_trust: WaitTrust,
    clock: RunState,
}

type Read = Saved<
    Config,
    StarSequitur,
    Contexts,
    KnownFiles,
    Knowledge,
    RealMotions,
    Contiguity,
    Endings,
    Clues,
    PlaceCalibration,
    QuietLine,
>;

impl Oracle {
    /// The whole model as bytes.
    pub fn save(&self) -> Vec<u8> {
        let saved = Saved {
            config: &self.config,
            grammar: &self.grammar,
            contexts: &self.contexts,
            files: &self.files,
            knowledge: &self.knowledge,
            motions: &self.motions,
            contiguity: &self.contiguity,
            endings: &self.endings,
            clues: &self.clues,
            places: &self.places,
            quiet: &self.quiet,
            wait_trust: self.wait_trust,
            clock: self.clock,
        };
        // Writing to memory cannot fail, and all parts have known lengths.
        let body = postcard::to_stdvec(&saved).unwrap_or_default();
        header::put_before(VERSION, &body)
    }

    /// The oracle that was saved as these bytes. It goes on as if it had never
    /// been saved; for a new run of the program call
    /// [`begin_run`](Oracle::begin_run) first. Of the [`Model`] of a whole job
    /// it is the one that has seen most operations.
    pub fn load(bytes: &[u8]) -> Result<Oracle, Error> {
        match header::body_of(bytes)? {
            (VERSION, body) => Oracle::from_body(body),
            _ => Ok(Model::load(bytes)?.into_busiest()),
        }
    }

    /// The oracle of a checked body.
    pub(crate) fn from_body(body: &[u8]) -> Result<Oracle, Error> {
        let model: Read = postcard::from_bytes(body).map_err(Error::unreadable)?;
        check(&model)?;
        let mut oracle = Oracle {
            config: model.config,
            grammar: model.grammar,
            contexts: model.contexts,
            files: model.files,
            knowledge: model.knowledge,
            motions: model.motions,
            contiguity: model.contiguity,
            endings: model.endings,
            clues: model.clues,
            places: model.places,
            quiet: model.quiet,
            wait_trust: model.wait_trust,
            expected_wait: ExpectedWait::default(),
            clock: model.clock,
            predictions: Vec::new(),
            weighed: Vec::new(),
            place_cells: Vec::new(),
            stated: 0.0,
            outlook: Box::default(),
            other_outlook: Box::default(),
            path: None,
            made_in_this_run: None,
        };
        oracle.contexts.index();
        oracle.files.index();
        oracle.clues.index();
        oracle.knowledge.transitions.index();
        oracle.prepare();
        Ok(oracle)
    }
}

fn check(model: &Read) -> Result<(), Error> {
    let n_symbols = model.contexts.identities().len();
    let functions = model.contexts.identities().iter().map(|identity| identity.function);
    let known = model.knowledge.symbols.iter().map(|symbol| symbol.function);
    let in_order = [
        (model.config.is_valid(), "its ceilings are out of range"),
        (model.contexts.is_valid() && functions.eq(known), "its contexts do not fit together"),
        (model.motions.symbols.len() == n_symbols, "its symbols do not fit together"),
        (model.files.is_valid(), "its files are out of range"),
        (model.motions.files.len() == model.files.len() as usize, "its files do not fit together"),
        (model.motions.roles.is_valid(), "its positions are out of range"),
        (model.knowledge.is_valid(), "its trackers are out of range"),
        (model.contiguity.is_valid(n_symbols), "its contiguous accesses are out of range"),
        (model.endings.is_valid(n_symbols), "its ends of files are out of range"),
        (model.clues.is_valid(n_symbols), "its clues are out of range"),
        (model.places.is_valid(n_symbols), "its probabilities of places are out of range"),
        (model.quiet.is_valid(), "its bursts are out of range"),
        (model.wait_trust.is_valid(), "its waits are out of range"),
    ];
    match in_order.into_iter().find(|(valid, _)| !valid) {
        Some((_, what)) => Err(Error::Content(what.to_string())),
        None => Ok(()),
    }
}
