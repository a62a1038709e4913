// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tables that are looked up for every event.
//!
//! The hash of the standard library took a third of the time from a record to what is
//! learned about it. This one has a random seed too, so nobody can choose file or
//! thread numbers that all collide.

use foldhash::fast::RandomState;

/// A table by small keys.
pub type FastMap<K, V> = std::collections::HashMap<K, V, RandomState>;
/// A set of small keys.
pub type FastSet<K> = std::collections::HashSet<K, RandomState>;
