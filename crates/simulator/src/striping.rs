// SPDX-License-Identifier: MIT OR Apache-2.0

//! Round robin striping: which bytes of each server's part of a file a range of
//! the file is.
//!
//! Consecutive strips of one server lie one behind the other in its part, so a
//! contiguous range of the file is one contiguous range on each server.

use std::ops::Range;

/// How one file is spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Striping {
    pub n_servers: u64,
    pub strip_bytes: u64,
    /// The server of the first strip.
    pub first_server: u64,
}

impl Striping {
    /// The server's part of the range; empty if it has none.
    pub(crate) fn part(&self, server: u64, range: Range<u64>) -> Range<u64> {
        self.bytes_before(server, range.start)..self.bytes_before(server, range.end)
    }

    /// How many of the first `offset` bytes of the file the server has.
    pub(crate) fn bytes_before(&self, server: u64, offset: u64) -> u64 {
        let turn = self.n_servers * self.strip_bytes;
        let place = (server + self.n_servers - self.first_server) % self.n_servers;
        let rest = (offset % turn).saturating_sub(place * self.strip_bytes);
        offset / turn * self.strip_bytes + rest.min(self.strip_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPING: Striping = Striping { n_servers: 4, strip_bytes: 64, first_server: 1 };

    #[test]
    fn a_small_request_goes_to_one_server() {
        assert_eq!(STRIPING.part(1, 0..32), 0..32);
        assert_eq!(STRIPING.part(2, 0..32), 0..0);
        assert_eq!(STRIPING.part(2, 64..96), 0..32);
        assert_eq!(STRIPING.part(1, 256 + 16..256 + 48), 80..112);
    }

    #[test]
    fn the_parts_of_any_range_add_up() {
        for (start, end) in [(0, 1024), (10, 11), (63, 65), (100, 999), (512, 512)] {
            let parts = (0..4).map(|server| STRIPING.part(server, start..end));
            assert_eq!(parts.map(|part| part.end - part.start).sum::<u64>(), end - start);
        }
    }
}
