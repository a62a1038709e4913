// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds the sequential streams that are interleaved in the requests.
//!
//! A request that begins where an earlier one on the same file ended continues
//! its stream, however many others came in between. The ends of recent requests
//! are in a table of buckets with four places each; the one unused for longest
//! makes room. Constant time and memory, a cache line or two per request.

const N_BUCKETS: usize = 1 << 11;
const N_WAYS: usize = 4;

/// Ends of recent requests.
#[derive(Clone, Debug)]
pub(crate) struct StreamTable {
    buckets: Box<[[StreamEnd; N_WAYS]]>,
    /// Requests so far.
    now: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamEnd {
    /// File and offset, mixed; 0 where there is none.
    key: u64,
    /// Which request ended here.
    at: u64,
    /// The slice of that request.
    slice: u32,
}

/// How a request follows earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// It begins where no recent request has ended.
    Jump,
    /// It continues the request so many before.
    After {
        /// 1 for the one just before.
        lag: u64,
        /// Whether that was in the same slice.
        same_slice: bool,
    },
}

impl StreamTable {
    pub fn new() -> StreamTable {
        let buckets = vec![[StreamEnd::default(); N_WAYS]; N_BUCKETS].into_boxed_slice();
        StreamTable { buckets, now: 0 }
    }

    /// Takes a request in: where it begins, where it ends.
    #[inline]
    pub fn observe(&mut self, file: u64, offset: u64, end: u64, slice: u32) -> Continuation {
        self.now += 1;
        let key = mix(file, offset);
        let bucket = &mut self.buckets[key as usize % N_BUCKETS];
        let mut continuation = Continuation::Jump;
        for place in bucket {
            if place.key == key {
                let lag = self.now - place.at;
                continuation = Continuation::After { lag, same_slice: place.slice == slice };
                *place = StreamEnd::default();
                break;
            }
        }
        self.insert(StreamEnd { key: mix(file, end), at: self.now, slice });
        continuation
    }

    #[inline]
    fn insert(&mut self, end: StreamEnd) {
        let bucket = &mut self.buckets[end.key as usize % N_BUCKETS];
        let mut oldest = 0;
        for way in 0..N_WAYS {
            if bucket[way].key == end.key {
                oldest = way;
                break;
            }
            if bucket[way].at < bucket[oldest].at {
                oldest = way;
            }
        }
        bucket[oldest] = end;
    }

    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}

/// Spreads both numbers over all bits; never 0.
#[inline]
pub(crate) fn mix(file: u64, offset: u64) -> u64 {
    let wide = u128::from(offset ^ 0x9E37_79B9_7F4A_7C15)
        * u128::from(file.wrapping_mul(2).wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93) | 1);
    ((wide >> 64) as u64 ^ wide as u64) | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_told_by_their_lag() {
        let mut streams = StreamTable::new();
        for step in 0..100_u64 {
            for stream in 0..50_u64 {
                let offset = (stream << 30) + step * 4096;
                let found = streams.observe(1, offset, offset + 4096, 0);
                let expected = match step {
                    0 => Continuation::Jump,
                    _ => Continuation::After { lag: 50, same_slice: true },
                };
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_same_offset_of_another_file_continues_nothing() {
        let mut streams = StreamTable::new();
        streams.observe(1, 0, 4096, 0);
        assert_eq!(streams.observe(2, 4096, 8192, 0), Continuation::Jump);
        let found = streams.observe(1, 4096, 8192, 1);
        assert_eq!(found, Continuation::After { lag: 2, same_slice: false });
    }
}
