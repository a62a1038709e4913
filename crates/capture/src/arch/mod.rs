// SPDX-License-Identifier: MIT OR Apache-2.0

//! All processor-specific code.
//!
//! On x86-64 an intercepted function begins with three instructions that keep the
//! caller's registers for the stack walk, and system calls are made without libc.
//! Elsewhere, and with the feature `portable`, slower methods are used that every Linux
//! has.

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub(crate) use x86_64::*;

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
mod portable;
#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
pub(crate) use portable::*;
