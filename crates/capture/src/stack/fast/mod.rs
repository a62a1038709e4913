// SPDX-License-Identifier: MIT OR Apache-2.0

//! The walk for processors whose registers and stack layout are known: a path
//! cache over cached rules over the modules' unwind tables.

mod cfi;
mod cursor;
mod expression;
mod maps;
mod memory;
mod paths;
mod rules;
mod trail;
mod walker;

pub use walker::Walker;
