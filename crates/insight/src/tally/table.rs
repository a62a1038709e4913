// SPDX-License-Identifier: MIT OR Apache-2.0

//! A table of what is counted by key, which remembers the row that it gave last.
//!
//! Programs mostly go on with what they have just done, so most rows are found by one
//! comparison. Rows lie one after the other: those of files are so large that moving
//! them, as a hash table does when it grows, took longer than counting.

use std::hash::Hash;
use std::ops::Index;

use ioracle_events::FastMap;

/// Rows by key, in the order of their first use.
#[derive(Clone, Debug)]
pub struct RowTable<K, T> {
    places: FastMap<K, usize>,
    rows: Vec<(K, T)>,
    /// The row that was given last.
    last: usize,
}

impl<K, T> Default for RowTable<K, T> {
    fn default() -> RowTable<K, T> {
        RowTable { places: FastMap::default(), rows: Vec::new(), last: 0 }
    }
}

impl<K: Copy + Eq + Hash, T> RowTable<K, T> {
    /// The row of a key, a new one if it has none; `None` if there are so many rows
    /// already that there is no room for a new one.
    pub fn entry(&mut self, key: K, most: usize) -> Option<&mut T>
    where
        T: Default,
    {
        if self.rows.get(self.last).is_none_or(|(last, _)| *last != key) {
            self.last = match self.places.get(&key) {
                Some(place) => *place,
                None if self.rows.len() >= most => return None,
                None => {
                    self.places.insert(key, self.rows.len());
                    self.rows.push((key, T::default()));
                    self.rows.len() - 1
                }
            };
        }
        self.rows.get_mut(self.last).map(|(_, row)| row)
    }

    /// The row of a key.
    pub fn get(&self, key: &K) -> Option<&T> {
        self.rows.get(*self.places.get(key)?).map(|(_, row)| row)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        self.rows.get_mut(*self.places.get(key)?).map(|(_, row)| row)
    }

    /// Whether a key has a row.
    #[cfg(test)]
    pub fn contains_key(&self, key: &K) -> bool {
        self.places.contains_key(key)
    }

    /// Takes the row of a key out; the last one gets its place.
    pub fn remove(&mut self, key: &K) -> Option<T> {
        let place = self.places.remove(key)?;
        let (_, row) = self.rows.swap_remove(place);
        if let Some((moved, _)) = self.rows.get(place) {
            self.places.insert(*moved, place);
        }
        Some(row)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes all rows out.
    pub fn clear(&mut self) {
        self.places.clear();
        self.rows.clear();
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.iter().map(|(key, _)| key)
    }

    /// All rows.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().map(|(_, row)| row)
    }

    /// All keys with their rows.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.rows.iter().map(|(key, row)| (key, row))
    }
}

impl<K: Copy + Eq + Hash, T> Index<&K> for RowTable<K, T> {
    type Output = T;

    fn index(&self, key: &K) -> &T {
        &self.rows[self.places[key]].1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_holds_what_a_map_holds_whatever_comes_in_which_order() {
        let mut table = RowTable::<u32, u64>::default();
        let mut expected = BTreeMap::new();
        let mut random = 1_u32;
        for _ in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = (random >> 20) % 50;
            if random >> 28 == 0 {
                assert_eq!(table.remove(&key), expected.remove(&key));
            } else {
                *table.entry(key, usize::MAX).unwrap() += u64::from(random >> 8);
                *expected.entry(key).or_default() += u64::from(random >> 8);
            }
            assert_eq!(table.get(&key), expected.get(&key));
        }
        let held: BTreeMap<u32, u64> = table.iter().map(|(key, row)| (*key, *row)).collect();
        assert_eq!(held, expected);
        table.clear();
        assert_eq!((table.len(), table.get(&1)), (0, None));
        assert_eq!(table.entry(1, 1), Some(&mut 0));
    }

    #[test]
    fn a_full_table_gives_the_rows_that_it_has() {
        let mut table = RowTable::<u32, u64>::default();
        assert!(table.entry(1, 2).is_some() && table.entry(2, 2).is_some());
        assert!(table.entry(3, 2).is_none());
        assert!(table.entry(1, 2).is_some() && table.entry(3, 2).is_none());
        assert_eq!(table.remove(&1), Some(0));
        assert!(table.entry(3, 2).is_some() && table.entry(2, 2).is_some());
    }
}
