// SPDX-License-Identifier: MIT OR Apache-2.0

//! `libioracle.so`: the oracle behind a C interface.
//!
//! Every entry point runs behind a barrier (`barrier.rs`) that turns faults and
//! panics into a result code and a message. Handles are numbers with a
//! generation, looked up in a table and never followed as pointers
//! (`handle.rs`). Structures that callers fill begin with their size, those
//! that callers receive end in reserved words, so both can grow.
//!
//! `docs/c-api.md` is the reference. `include/ioracle.h` is generated from the
//! items here, in the order of `tests/header.rs`.

#![allow(non_camel_case_types, reason = "the names of types are those of the header")]

mod access;
mod barrier;
mod burst;
mod config;
mod contexts;
mod files;
mod handle;
mod in_process;
mod iterator;
mod observation;
mod omniscio;
mod oracle;
mod output;
mod pattern;
mod prediction;
mod prediction_slot;
mod result;
mod saved;
mod session;
mod text;
mod version;

pub use access::*;
pub use barrier::ioracle_last_error;
pub use burst::*;
pub use config::ioracle_config;
pub use iterator::*;
pub use observation::*;
pub use omniscio::*;
pub use oracle::*;
pub use pattern::*;
pub use prediction::*;
pub use prediction_slot::{ioracle_basis, ioracle_next};
pub use result::{ioracle_result, ioracle_result_name};
pub use saved::*;
pub use session::ioracle_oracle;
pub use version::*;
