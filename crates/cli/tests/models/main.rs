// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run --model`: what a run has learned helps the next one, and never
//! harms it.

#[path = "../support/mod.rs"]
mod support;

mod asking;
mod at_once;
mod job;
mod rebuilt;
mod refused;
mod roles;
mod runs;
