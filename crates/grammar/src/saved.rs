// SPDX-License-Identifier: MIT OR Apache-2.0

//! What part of a grammar is saved, and how it is checked when loaded.
//!
//! Tables that only speed things up are left out and rebuilt. Loading checks every
//! number before anything follows it, so that a damaged or malicious file is rejected.

use serde::{Deserialize, Serialize};

use crate::arena::GrammarArena;
use crate::config::Config;
use crate::follow::Held;
use crate::grammar::Grammar;
use crate::loops::Loops;
use crate::predictors::Predictors;
use crate::star_sequitur::StarSequitur;
use crate::symbol::{OccurrenceId, RuleId};

/// The state of a [`StarSequitur`] as it is stored.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Saved {
    config: Config,
    arena: GrammarArena,
    loops: Loops,
    indexed: Vec<OccurrenceId>,
    doomed: Vec<RuleId>,
    held: Held,
    run_is_open: bool,
    pushed: u64,
    forgotten: u64,
    predictors: Predictors,
}

impl From<StarSequitur> for Saved {
    fn from(StarSequitur { grammar, predictors }: StarSequitur) -> Saved {
        Saved {
            indexed: grammar.indexed(),
            config: grammar.config,
            arena: grammar.arena,
            loops: grammar.loops,
            doomed: grammar.doomed,
            held: grammar.held,
            run_is_open: grammar.run_is_open,
            pushed: grammar.pushed,
            forgotten: grammar.forgotten,
            predictors,
        }
    }
}

impl TryFrom<Saved> for StarSequitur {
    type Error = String;

    fn try_from(saved: Saved) -> Result<StarSequitur, String> {
        let mut grammar = Grammar {
            arena: saved.arena,
            loops: saved.loops,
            doomed: saved.doomed,
            held: saved.held,
            run_is_open: saved.run_is_open,
            pushed: saved.pushed,
            forgotten: saved.forgotten,
            ..Grammar::new(saved.config)
        };
        if !grammar.loops.reindex() {
            return Err("the loop counts make no sense".to_owned());
        }
        grammar.check_storage()?;
        grammar.reindex(&saved.indexed)?;
        if !saved.predictors.is_sound(&grammar) {
            return Err("a predictor stands nowhere".to_owned());
        }
        Ok(StarSequitur { grammar, predictors: saved.predictors })
    }
}
