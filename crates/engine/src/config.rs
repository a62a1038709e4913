// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an engine may use, and what it learns.

use ioracle_events::Level;

/// Limits of an engine, and the configuration of each oracle.
#[derive(Clone, Debug)]
pub struct Config {
    /// For each stream's oracle.
    pub oracle: ioracle_oracle::Config,
    /// Streams followed. Events of further ones are counted as dropped: each stream
    /// takes memory, and predicting every thousandth thread helps nobody.
    pub max_streams: usize,
    /// Frames and paths kept in memory. Further definitions are ignored, and what they
    /// would have named is known only by its number.
    pub max_definitions: usize,
    /// A stream that ends with fewer operations is forgotten: little was learned from
    /// it, and thousands of short processes and threads leave room for those that last.
    pub min_remembered: u64,
    /// What is learned about each stream.
    pub levels: Levels,
}

/// Which operations are learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// Those of [`Level::Bytes`] and [`Level::Variables`].
    #[default]
    All,
    /// Those of one level.
    Only(Level),
}

impl Levels {
    pub(crate) fn includes(self, level: Level) -> bool {
        self == Levels::All || self == Levels::Only(level)
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            oracle: ioracle_oracle::Config::default(),
            max_streams: 1024,
            max_definitions: 1 << 18,
            min_remembered: 64,
            levels: Levels::All,
        }
    }
}
