// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the events of one stream become bytes, and come back.
//!
//! A block is a stretch of one stream. Which call came when is a sequence of symbols
//! (function, context, depth) and is kept as its grammar ([`rules`]). The rest of an
//! event is what the grammar does not determine: each column is coded relative to what
//! is already known, by adaptive models per symbol ([`columns`]), through a range coder
//! ([`range`]).
//!
//! Nothing here knows about files on disk. Memory grows with the symbols, files and
//! handles of a block, which its events bound.

mod block;

mod columns;
mod details;
mod number;
mod range;
mod rules;
mod times;

pub(crate) use block::{
    BlockEncoder, BlockEvents, BlockFault, Functions, MAX_BLOCK_EVENTS, N_SECTIONS, Sections,
};
pub(crate) use columns::{EventOrder, First};
pub(crate) use times::Precision;
