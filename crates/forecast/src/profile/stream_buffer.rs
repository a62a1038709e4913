// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which calls of stdio reach the system.
//!
//! The C library makes its system calls inside of its own, where no recording sees
//! them. They follow from offsets and sizes: whole blocks are moved at once, the rest
//! waits in a buffer.

/// The usual size of a buffer: the block size that most file systems tell.
pub(super) const BLOCK: u64 = 4096;

/// The buffer of one stream.
#[derive(Clone, Copy, Default)]
pub(super) struct StreamBuffer {
    /// Where the last access ended.
    end: u64,
    /// Bytes that wait to be written.
    pending: u64,
    /// The bytes of the file that were read into it.
    held: (u64, u64),
}

impl StreamBuffer {
    /// Bytes that the system is asked to write when so many are written here; 0 if
    /// they all wait.
    pub(super) fn write(&mut self, offset: Option<u64>, bytes: u64) -> u64 {
        let start = offset.unwrap_or(self.end);
        if start != self.end {
            // The seek has written what waited.
            self.pending = 0;
        }
        self.end = start.saturating_add(bytes);
        self.held = (0, 0);
        let waiting = self.pending.saturating_add(bytes);
        self.pending = waiting % BLOCK;
        waiting - self.pending
    }

    /// Bytes that the system is asked to read when so many are read here.
    pub(super) fn read(&mut self, offset: Option<u64>, bytes: u64) -> u64 {
        let start = offset.unwrap_or(self.end);
        let end = start.saturating_add(bytes);
        self.end = end;
        self.pending = 0;
        let is_held = (self.held.0..self.held.1).contains(&start);
        let missing = end.saturating_sub(if is_held { self.held.1.min(end) } else { start });
        let whole = missing - missing % BLOCK;
        if missing == whole {
            return whole;
        }
        let first = end - missing + whole;
        self.held = (first, first.saturating_add(BLOCK));
        whole + BLOCK
    }

    /// Bytes that a flush writes.
    pub(super) fn flush(&mut self) -> u64 {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_writes_share_a_block() {
        let mut buffer = StreamBuffer::default();
        assert_eq!(buffer.write(Some(0), 4000), 0);
        assert_eq!(buffer.write(Some(4000), 100), 4096);
        assert_eq!(buffer.write(None, 10_000), 8192);
        assert_eq!(buffer.flush(), 4100 + 10_000 - 4096 - 8192);
        assert_eq!(buffer.flush(), 0);
        buffer.write(Some(0), 10);
        // Elsewhere: the ten bytes are gone before.
        assert_eq!(buffer.write(Some(9000), 4090), 0);
    }

    #[test]
    fn small_reads_are_served_by_the_block_before() {
        let mut buffer = StreamBuffer::default();
        assert_eq!(buffer.read(Some(0), 100), 4096);
        assert_eq!(buffer.read(None, 3900), 0);
        assert_eq!(buffer.read(None, 200), 4096);
        assert_eq!(buffer.read(Some(100_000), 10_000), 8192 + 4096);
        assert_eq!(buffer.read(Some(u64::MAX), 10), 0);
    }
}
