// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bytes that a replay writes: made up, and as compressible as asked for.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Accesses are made in pieces of at most this size.
pub const MAX_PIECE: usize = 256 << 20;
/// What direct accesses must be aligned to.
const PAGE: usize = 4096;

/// Made-up bytes for writing.
pub struct Data {
    bytes: Vec<u8>,
    first: usize,
    length: usize,
}

impl Data {
    /// Bytes for accesses of up to `largest`, of which a compressor makes about
    /// `ratio` times less.
    pub fn new(largest: u64, ratio: f64) -> Data {
        let length = usize::try_from(largest).unwrap_or(MAX_PIECE).clamp(PAGE, MAX_PIECE);
        let mut bytes = vec![0; length + PAGE];
        let first = aligned(&bytes);
        let random = (PAGE as f64 / ratio.max(1.0)) as usize;
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for block in bytes[first..first + length].chunks_mut(PAGE) {
            let n = random.min(block.len());
            for word in block[..n].chunks_mut(8) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
            }
        }
        Data { bytes, first, length }
    }

    /// At least one and up to `bytes` of them.
    pub fn piece(&self, bytes: u64) -> &[u8] {
        let length = usize::try_from(bytes).unwrap_or(self.length).min(self.length);
        &self.bytes[self.first..self.first + length]
    }

    /// A buffer to read into, as large.
    pub fn read_buffer(&self) -> Vec<u8> {
        vec![0; self.length + PAGE]
    }
}

/// Memory that is read to fill the processor's caches with something else.
///
/// A program that computes between its calls finds its buffers, and what the kernel needs
/// for the next call, in slower memory than one that only waits. Without this, small
/// calls that storage does not slow down were replayed in half of their time.
pub struct CacheFiller {
    lines: Vec<[u64; LINE_WORDS]>,
    next: AtomicUsize,
}

/// Words of a cache line.
const LINE_WORDS: usize = 8;
/// Cache lines that are read between two looks at the clock.
const LINES_AT_ONCE: usize = 32;

impl CacheFiller {
    /// Of this many bytes.
    pub fn new(bytes: usize) -> CacheFiller {
        CacheFiller { lines: vec![[1; LINE_WORDS]; bytes / 64], next: AtomicUsize::new(0) }
    }

    /// Reads on from where it was, for a fraction of a microsecond.
    pub fn read_some(&self) {
        let first = self.next.fetch_add(LINES_AT_ONCE, Ordering::Relaxed) % self.lines.len().max(1);
        let end = self.lines.len().min(first + LINES_AT_ONCE);
        std::hint::black_box(self.lines[first..end].iter().map(|line| line[0]).sum::<u64>());
    }

    /// Reads everything.
    pub fn read_all(&self) {
        (0..self.lines.len()).step_by(LINES_AT_ONCE).for_each(|_| self.read_some());
    }
}

/// Where a page begins in a buffer that is a page longer than needed.
pub fn aligned(buffer: &[u8]) -> usize {
    (PAGE - buffer.as_ptr().addr() % PAGE) % PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_as_compressible_as_asked_for() {
        let packed = |ratio| {
            let data = Data::new(1 << 20, ratio);
            let packed = zstd::bulk::compress(data.piece(1 << 20), 1).unwrap().len();
            (1 << 20) as f64 / packed as f64
        };
        assert!((0.9..1.1).contains(&packed(1.0)), "{}", packed(1.0));
        assert!((3.5..4.5).contains(&packed(4.0)), "{}", packed(4.0));
    }

    #[test]
    fn a_filler_reads_on_from_where_it_was() {
        let filler = CacheFiller::new(64 * 33);
        filler.read_all();
        assert_eq!(filler.next.load(Ordering::Relaxed), 64);
        filler.read_some();
        CacheFiller::new(0).read_some();
    }

    #[test]
    fn pieces_are_aligned_and_bounded() {
        let data = Data::new(10, 1.0);
        assert_eq!(data.piece(10).len(), 10);
        assert_eq!(data.piece(u64::MAX).len(), PAGE);
        assert_eq!(data.piece(1).as_ptr().addr() % PAGE, 0);
    }
}
