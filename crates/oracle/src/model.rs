// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saved models: a checked header, then the whole oracle.
//!
//! The format is described in `docs/model-format.md`. Reading trusts nothing:
//! length and checksum are checked first, then every part says whether it could
//! have been made by this code, so that bytes with a right checksum but made up
//! content are refused as well.

use ioracle_grammar::StarSequitur;
use serde::{Deserialize, Serialize};

use crate::burst::QuietLine;
use crate::config::Config;
use crate::contexts::Contexts;
use crate::contiguity::Contiguity;
use crate::error::Error;
use crate::files::Files;
use crate::knowledge::Knowledge;
use crate::motion::RealMotions;
use crate::oracle::{Clock, Oracle};

const MAGIC: &[u8; 8] = b"ioracle\x1A";
const VERSION: u32 = 1;
/// Magic, version, length of the body, checksum of the body.
const HEADER_BYTES: usize = 8 + 4 + 8 + 4;

/// What is written; borrowed for writing, owned after reading.
#[derive(Serialize, Deserialize)]
struct Model<Limits, Grammar, Names, Table, Trackers, State, Assumption, Line> {
    config: Limits,
    grammar: Grammar,
    contexts: Names,
    files: Table,
    knowledge: Trackers,
    motions: State,
    contiguity: Assumption,
    quiet: Line,
    clock: Clock,
}

type Read =
    Model<Config, StarSequitur, Contexts, Files, Knowledge, RealMotions, Contiguity, QuietLine>;

impl Oracle {
    /// The whole model as bytes.
    pub fn save(&self) -> Vec<u8> {
        let model = Model {
            config: &self.config,
            grammar: &self.grammar,
            contexts: &self.contexts,
            files: &self.files,
            knowledge: &self.knowledge,
            motions: &self.motions,
            contiguity: &self.contiguity,
            quiet: &self.quiet,
            clock: self.clock,
        };
        // Writing to memory cannot fail, and all parts have known lengths.
        let body = postcard::to_stdvec(&model).unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// The oracle that was saved as these bytes. It goes on as if it had never
    /// been saved; for a new run of the program call
    /// [`begin_run`](Oracle::begin_run) first.
    pub fn load(bytes: &[u8]) -> Result<Oracle, Error> {
        let model: Read = postcard::from_bytes(body_of(bytes)?)
            .map_err(|error| Error::Content(format!("its content cannot be read ({error})")))?;
        check(&model)?;
        let mut oracle = Oracle {
            config: model.config,
            grammar: model.grammar,
            contexts: model.contexts,
            files: model.files,
            knowledge: model.knowledge,
            motions: model.motions,
            contiguity: model.contiguity,
            quiet: model.quiet,
            clock: model.clock,
            predictions: Vec::new(),
            candidates: Vec::new(),
            outlook: Box::default(),
            other_outlook: Box::default(),
        };
        oracle.contexts.index();
        oracle.files.index();
        oracle.knowledge.transitions.index();
        oracle.prepare();
        Ok(oracle)
    }
}

/// The body, once header and checksum are in order.
fn body_of(bytes: &[u8]) -> Result<&[u8], Error> {
    let (magic, rest) = bytes.split_first_chunk::<8>().ok_or(Error::NotAModel)?;
    if magic != MAGIC {
        return Err(Error::NotAModel);
    }
    let too_short = || Error::Length { found: bytes.len() as u64, expected: HEADER_BYTES as u64 };
    let (version, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(Error::Version { found: version, supported: VERSION });
    }
    let (length, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
    let (checksum, body) = rest.split_first_chunk().ok_or_else(too_short)?;
    let (expected, found) = (u64::from_le_bytes(*length), body.len() as u64);
    if expected != found {
        return Err(Error::Length { found, expected });
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(Error::Checksum);
    }
    Ok(body)
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
        (model.quiet.is_valid(), "its bursts are out of range"),
    ];
    match in_order.into_iter().find(|(valid, _)| !valid) {
        Some((_, what)) => Err(Error::Content(what.to_string())),
        None => Ok(()),
    }
}
