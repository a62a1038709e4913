// SPDX-License-Identifier: MIT OR Apache-2.0

//! Recognises the load a server is under, and chooses by it.

// One call of a function that is compiled for newer processors cannot be avoided
// (`dtw::striped`).
#![deny(unsafe_code)]

mod builder;
mod choice;
mod config;
mod error;
mod files;
mod matcher;
mod pattern;
mod profile;
mod random;
mod request;
mod requests;
mod sequence;
mod series;
mod similarity;
mod slicer;
#[cfg(feature = "persistence")]
mod store;
mod streams;
mod watcher;

pub mod dtw;
pub mod evaluation;

pub use builder::PatternBuilder;
pub use choice::{ArmEstimate, ChoiceConfig, DecisionMaker, OptionOrder, RewardError};
pub use config::PatternConfig;
pub use error::{PatternError, RequestFault};
pub use matcher::{
    AdaptiveConfig, AdaptiveMatcher, CountsMatcher, FeaturesMatcher, KnownPattern, MergedPatterns,
    PaperMatcher, PatternId, PatternMatcher, Recognition,
};
pub use pattern::{Pattern, PatternCounts};
pub use profile::LoadProfile;
pub use request::{Request, RequestKind};
pub use requests::{REQUESTS_HEADER, RequestReader};
pub use sequence::{NextPattern, PatternSequence};
pub use slicer::Slicer;
#[cfg(feature = "persistence")]
pub use store::{PatternStore, StoreError};
pub use watcher::{PatternWatcher, RecognisedSlice};
