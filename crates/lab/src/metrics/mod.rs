// SPDX-License-Identifier: MIT OR Apache-2.0

//! The papers' metrics, each a small sum that one operation is added to and
//! that two streams of a rank can be merged in.

pub mod context;
pub mod cost;
pub mod horizon;
pub mod place;
pub mod sums;
