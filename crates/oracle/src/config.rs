// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an oracle may use, and which of its improvements are switched on.

use ioracle_events::Access;
use serde::{Deserialize, Serialize};

/// Ceilings and switches of an oracle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Ceilings and switches of the grammar of context symbols.
    pub grammar: ioracle_grammar::Config,
    /// Predictions that [`predict`](crate::Oracle::predict) gives at most.
    pub max_predictions: usize,
    /// Context symbols distinguished; later ones share one symbol per kind of
    /// operation.
    pub max_symbols: usize,
    /// Files remembered; beyond, the one unused for longest is forgotten.
    pub max_files: usize,
    /// Transitions tracked; beyond, new ones replace old ones that hash alike.
    pub max_transitions: usize,
    /// Contexts of offsets remembered (of sizes half, of files a quarter as
    /// many); at the ceiling those that were right least often give way.
    pub max_contexts: usize,
    /// What goes beyond the paper, each can be switched off.
    pub improvements: Improvements,
    /// Which operations choose a file anew. Not part of a saved model.
    #[serde(skip)]
    pub naming: Naming,
}

/// Which operations name the file that they work on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Opens do; the others work on what is open.
    #[default]
    Opens,
    /// Every one does, as accesses to variables.
    All,
}

impl Naming {
    /// Whether an operation of this kind names its file.
    pub(crate) fn is_by(self, access: Access) -> bool {
        self == Naming::All || access == Access::Open
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            grammar: ioracle_grammar::Config::new(),
            max_predictions: 8,
            max_symbols: 1 << 14,
            max_files: 1 << 10,
            max_transitions: 1 << 14,
            max_contexts: 1 << 14,
            improvements: Improvements::default(),
            naming: Naming::default(),
        }
    }
}

impl Config {
    /// Whether names of files are learned from operations of this kind. Who has
    /// files without opening them names them by the first use: those who pass
    /// operations themselves, and libraries whose opens are no operations.
    pub(crate) fn learns_names_of(&self, access: Access, is_first_use: bool) -> bool {
        self.improvements.name_templates && (is_first_use || self.naming.is_by(access))
    }

    /// Whether a loaded model may ask for this much.
    pub(crate) fn is_valid(&self) -> bool {
        let ceilings = [
            self.max_symbols,
            self.max_files,
            self.max_transitions,
            self.max_contexts,
            self.grammar.max_occurrences,
        ];
        self.max_predictions <= 1 << 10 && ceilings.iter().all(|&ceiling| ceiling <= 1 << 20)
    }
}

/// The improvements over the Omnisc'IO report; all on by default. Switching one
/// off shows what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Improvements {
    /// Hypotheses on offsets side by side, instead of relative ones only.
    pub absolute_or_relative: bool,
    /// New files predicted by name.
    pub name_templates: bool,
    /// A position per file, instead of one for all.
    pub interleaved_files: bool,
    /// Sizes that follow another quantity.
    pub following_sizes: bool,
    /// Times by the hypothesis that was nearest, instead of the halving mean.
    pub competing_times: bool,
    /// No wait where what few waits suggest has been worse than that.
    pub trusted_waits: bool,
    /// Ends of files found by reads that got less than they asked for.
    pub ends_of_files: bool,
    /// What follows a read, by whether it has reached the end of its file.
    pub ends_decide: bool,
    /// Lengths of files as the system says when it opens them.
    pub sizes_at_open: bool,
    /// The middle of the sizes where no hypothesis is right.
    pub middle_sizes: bool,
    /// Call stacks taken for a relative until they behave otherwise, which engines do.
    pub relatives: bool,
    /// Files that have another name than in earlier runs.
    pub renamed_files: bool,
    /// What is stated of operation and place together, by how often that held.
    pub stated_together: bool,
    /// What is called between operations, as clues to the next one.
    pub clues: bool,
}

impl Default for Improvements {
    fn default() -> Improvements {
        Improvements {
            absolute_or_relative: true,
            name_templates: true,
            interleaved_files: true,
            following_sizes: true,
            competing_times: true,
            trusted_waits: true,
            ends_of_files: true,
            ends_decide: true,
            sizes_at_open: true,
            middle_sizes: true,
            relatives: true,
            renamed_files: true,
            stated_together: true,
            clues: true,
        }
    }
}
