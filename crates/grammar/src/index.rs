// SPDX-License-Identifier: MIT OR Apache-2.0

//! A hash table of occurrences that never stops to reorganise itself.
//!
//! An ordinary table of digrams is rebuilt whole when it grows, and again and again
//! when entries come and go, which makes one push in a hundred thousand take half a
//! millisecond. This one is linear hashing (Litwin, 1980): it grows by one bucket at a
//! time, and chains leave nothing behind. It stores only ids; the caller knows what
//! they stand for.

use crate::symbol::OccurrenceId;

/// Initial number of buckets.
const FEWEST: usize = 8;

/// A set of occurrences, found by the hash of what they stand for.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The first occurrence of each bucket.
    buckets: Vec<OccurrenceId>,
    /// The occurrence after each one in its bucket.
    links: Vec<OccurrenceId>,
    length: usize,
}

impl Index {
    pub fn new() -> Index {
        Index { buckets: vec![OccurrenceId::NONE; FEWEST], links: Vec::new(), length: 0 }
    }

    /// The occurrence with this hash for which `is_it` holds.
    pub fn find(
        &self,
        hash: u64,
        mut is_it: impl FnMut(OccurrenceId) -> bool,
    ) -> Option<OccurrenceId> {
        let mut id = self.buckets[self.bucket_of(hash)];
        while !id.is_none() {
            if is_it(id) {
                return Some(id);
            }
            id = self.links[id.at()];
        }
        None
    }

    /// Adds an occurrence that is not there yet. Another bucket may be opened,
    /// so the hash of others is asked for.
    pub fn insert(&mut self, hash: u64, id: OccurrenceId, hash_of: impl Fn(OccurrenceId) -> u64) {
        if self.links.len() <= id.at() {
            self.links.resize(id.at() + 1, OccurrenceId::NONE);
        }
        self.length += 1;
        if self.length > self.buckets.len() {
            self.open_bucket(hash_of);
        }
        self.put(self.bucket_of(hash), id);
    }

    /// Takes an occurrence out, if it is there.
    pub fn remove(&mut self, hash: u64, id: OccurrenceId) {
        let bucket = self.bucket_of(hash);
        let mut before = OccurrenceId::NONE;
        let mut here = self.buckets[bucket];
        while !here.is_none() {
            let after = self.links[here.at()];
            if here == id {
                match before {
                    OccurrenceId::NONE => self.buckets[bucket] = after,
                    _ => self.links[before.at()] = after,
                }
                self.length -= 1;
                return;
            }
            before = here;
            here = after;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = OccurrenceId> + '_ {
        let present = |id: OccurrenceId| (!id.is_none()).then_some(id);
        self.buckets.iter().flat_map(move |&first| {
            std::iter::successors(present(first), move |id| present(self.links[id.at()]))
        })
    }

    pub fn memory_bytes(&self) -> usize {
        (self.buckets.capacity() + self.links.capacity()) * size_of::<OccurrenceId>()
    }

    /// Opens one more bucket and moves entries to it from the bucket that it is
    /// split from.
    fn open_bucket(&mut self, hash_of: impl Fn(OccurrenceId) -> u64) {
        let opened = self.buckets.len();
        self.buckets.push(OccurrenceId::NONE);
        let split = opened & (self.buckets.len().next_power_of_two() / 2 - 1);
        let mut id = std::mem::replace(&mut self.buckets[split], OccurrenceId::NONE);
        while !id.is_none() {
            let after = self.links[id.at()];
            self.put(self.bucket_of(hash_of(id)), id);
            id = after;
        }
    }

    fn put(&mut self, bucket: usize, id: OccurrenceId) {
        self.links[id.at()] = std::mem::replace(&mut self.buckets[bucket], id);
    }

    /// The low bits of the hash; one bit less where that bucket is not open.
    fn bucket_of(&self, hash: u64) -> usize {
        let open = self.buckets.len();
        let mask = open.next_power_of_two() - 1;
        let bucket = hash as usize & mask;
        if bucket < open { bucket } else { bucket & (mask >> 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn it_is_a_set_while_it_grows_and_shrinks() {
        // Hashes that collide often.
        let hash = |id: OccurrenceId| u64::from(id.0).wrapping_mul(0x9E37_79B9) >> 3;
        let mut index = Index::new();
        let mut naive = HashSet::new();
        for step in 0..20_000u32 {
            let id = OccurrenceId(step.wrapping_mul(2_654_435_761) % 3000);
            if naive.remove(&id) {
                index.remove(hash(id), id);
            } else {
                naive.insert(id);
                index.insert(hash(id), id, hash);
            }
            assert_eq!(index.find(hash(id), |found| found == id).is_some(), naive.contains(&id));
        }
        assert_eq!(index.iter().collect::<HashSet<_>>(), naive);
        assert_eq!(index.iter().count(), naive.len());
    }
}
