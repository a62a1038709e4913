// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the subcommands share.

pub mod converted;
mod elf;
pub mod executable;
pub mod failure;
pub mod find;
pub mod jobs;
pub mod learn;
pub mod library;
pub mod linked;
pub mod lock;
pub mod memory;
pub mod models;
mod module_file;
pub mod numbers;
pub mod output;
pub mod png;
pub mod process;
pub mod progress;
pub mod request_feed;
pub mod source_lines;
pub mod status;
pub mod summary;
pub mod symbols;
pub mod table;
pub mod text;
pub mod whole_trace;

pub use ioracle_insight::loops;
