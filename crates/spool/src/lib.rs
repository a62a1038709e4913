// SPDX-License-Identifier: MIT OR Apache-2.0

//! The mapped files in which an application leaves its records.
//!
//! The application's side never allocates, locks or faults; the reader's side
//! trusts nothing it reads. [`layout`] is what both agree on.

pub mod layout;

pub mod settings;

mod function;
mod writer;

pub use function::Function;
pub use writer::{Host, Identity, StreamName, Writer};
