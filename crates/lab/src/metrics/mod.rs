// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is measured beside the score that an engine keeps.

pub mod cost;
pub mod horizon;
