// SPDX-License-Identifier: MIT OR Apache-2.0

//! Datasets and variables: what the files of libraries are made of.

use ioracle_spool::identity;

use crate::thread;

/// The identity of an object by its name in the file; the reader is told, once
/// per stream. Behind a zero byte there may be more to tell of it, as
/// `chunk=100:10`. 0 for a call that cannot be asked for (see [`thread`]).
pub(crate) fn identity(text: &[u8]) -> u64 {
    let id = identity::of(text);
    thread::with_state(|state| state.define_object(id, text)).map_or(0, |()| id)
}
