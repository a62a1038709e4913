// SPDX-License-Identifier: MIT OR Apache-2.0

//! Chooses an option by the pattern a server is under: 'given this pattern,
//! which of these options; this was the reward'.

mod arm;
mod bandit;

pub use arm::ArmEstimate;
pub use bandit::{ChoiceConfig, DecisionMaker, OptionOrder, RewardError};
