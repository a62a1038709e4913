// SPDX-License-Identifier: MIT OR Apache-2.0

//! Looks up in `/proc/self/maps` what memory lies below an address.
//!
//! The file is read in pieces through a buffer of the caller's and taken apart byte by
//! byte, because a line may be cut by the end of a piece. Costs some 20 to 100
//! microseconds, so keep the answer.

use crate::sys;

/// Readable memory without a gap, up to the end of the mapping that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Below {
    /// Where it begins.
    pub(super) low: usize,
    /// Where the mapping before it ends: nothing lies between.
    pub(super) floor: usize,
}

/// The memory below an address that is mapped and can be read.
pub(super) fn below(address: usize, buffer: &mut [u8]) -> Option<Below> {
    let find = |maps: &sys::Descriptor| {
        let mut search = Search::new(address);
        loop {
            let n_read = sys::read(maps, buffer).ok().filter(|&n_read| n_read > 0)?;
            for &byte in buffer.get(..n_read)? {
                if let Some(answer) = search.advance(byte) {
                    return answer;
                }
            }
        }
    };
    sys::with_file(c"/proc/self/maps", libc::O_RDONLY, 0, find).ok()?
}

/// Where in a line we are.
enum Field {
    Low,
    High,
    Permissions,
    Rest,
}

struct Search {
    address: usize,
    field: Field,
    low: usize,
    high: usize,
    /// The readable mappings without a gap before this line.
    chain: Below,
    chain_end: usize,
}

impl Search {
    fn new(address: usize) -> Search {
        let chain = Below { low: 0, floor: 0 };
        Search { address, field: Field::Low, low: 0, high: 0, chain, chain_end: 0 }
    }

    /// Takes the next byte; the answer, once it is known.
    fn advance(&mut self, byte: u8) -> Option<Option<Below>> {
        match (&self.field, byte) {
            (Field::Low, b'-') => self.field = Field::High,
            (Field::Low, _) => self.low = self.low << 4 | hexadecimal(byte),
            (Field::High, b' ') => self.field = Field::Permissions,
            (Field::High, _) => self.high = self.high << 4 | hexadecimal(byte),
            (Field::Permissions, _) => {
                self.field = Field::Rest;
                return self.mapping(byte == b'r');
            }
            (Field::Rest, b'\n') => (self.field, self.low, self.high) = (Field::Low, 0, 0),
            (Field::Rest, _) => (),
        }
        None
    }

    fn mapping(&mut self, is_readable: bool) -> Option<Option<Below>> {
        if self.low != self.chain_end || !is_readable {
            self.chain = Below { low: self.low, floor: self.chain_end };
        }
        self.chain_end = self.high;
        if !is_readable {
            self.chain.low = self.high;
            self.chain.floor = self.high;
        }
        if self.address >= self.high {
            return None;
        }
        Some((is_readable && self.address >= self.low).then_some(self.chain))
    }
}

fn hexadecimal(byte: u8) -> usize {
    match byte {
        b'0'..=b'9' => usize::from(byte - b'0'),
        b'a'..=b'f' => usize::from(byte - b'a') + 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-3000 r--p 00000000 08:01 42                         /usr/bin/x y-z
3000-4000 ---p 00000000 00:00 0
4000-6000 rw-p 00000000 00:00 0
6000-7000 r--p 00000000 00:00 0
9000-a000 rw-p 00000000 00:00 0                          [stack]
";

    fn search(address: usize) -> Option<Option<Below>> {
        let mut search = Search::new(address);
        MAPS.bytes().find_map(|byte| search.advance(byte))
    }

    #[test]
    fn readable_neighbours_are_one() {
        assert_eq!(search(0x6fff), Some(Some(Below { low: 0x4000, floor: 0x4000 })));
        assert_eq!(search(0x4000), Some(Some(Below { low: 0x4000, floor: 0x4000 })));
    }

    #[test]
    fn the_gap_below_is_told() {
        assert_eq!(search(0x9000), Some(Some(Below { low: 0x9000, floor: 0x7000 })));
        assert_eq!(search(0x1008), Some(Some(Below { low: 0x1000, floor: 0 })));
    }

    #[test]
    fn what_is_not_there_or_not_readable_is_no_answer() {
        assert_eq!(search(0x3008), Some(None));
        assert_eq!(search(0x8000), Some(None));
        assert_eq!(search(0x500), Some(None));
        assert_eq!(search(0xa000), None);
    }

    #[test]
    fn the_stack_of_this_thread_is_found_however_small_the_buffer() {
        let local = 0;
        let address = &raw const local as usize;
        let small = below(address, &mut [0; 7]).expect("the stack is mapped");
        let large = below(address, &mut [0; 4096]).expect("the stack is mapped");
        assert_eq!(small.low, large.low);
        assert!(small.low <= address);
    }
}
