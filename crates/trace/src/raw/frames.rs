// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bytes of raw files: a head, then frames, each with a CRC.
//!
//! ```text
//!  0  14  "ioracle raw 1\n"
//! 14   2  zero
//! 16   4  0x01020304, as the machine stores it: records are in its byte order
//! 20   4  version of the spool's records
//! 24   …  frames
//!
//! a frame
//!  0   4  kind
//!  4   4  stream
//!  8   4  bytes of the content
//! 12   4  CRC of the 12 bytes before and the content
//! 16   …  content
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use ioracle_spool::layout::VERSION;

/// Bytes of a file before its frames.
pub(super) const HEAD_BYTES: usize = 24;
/// Bytes of a frame before its content.
pub(super) const FRAME_BYTES: usize = 16;
/// The most that a frame holds.
pub(super) const MAX_CONTENT: usize = 1 << 18;
/// Bytes that are read at once; a frame fits.
const READ_BYTES: usize = 1 << 19;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum FrameKind {
    /// Calls as they lie in memory, 88 bytes each.
    Records = 1,
    /// Nothing more comes from the stream.
    Ended = 2,
    /// Who writes the stream.
    Stream = 3,
    /// Kind, identity and payload of a definition.
    Definition = 4,
    /// The working directory of the job; paths in it are reported relative to it.
    WorkingDirectory = 5,
    /// All that the job has recorded is here.
    Complete = 6,
}

impl FrameKind {
    fn of(number: u32) -> Option<FrameKind> {
        use FrameKind::*;
        let all = [Records, Ended, Stream, Definition, WorkingDirectory, Complete];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// The first bytes of a file.
pub(super) fn head() -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..14].copy_from_slice(b"ioracle raw 1\n");
    head[16..20].copy_from_slice(&0x0102_0304_u32.to_ne_bytes());
    head[20..].copy_from_slice(&VERSION.to_ne_bytes());
    head
}

/// Fills in the head of a frame whose content is there.
pub(super) fn seal(frame: &mut [u8], kind: FrameKind, stream: u32) {
    let length = (frame.len() - FRAME_BYTES) as u32;
    frame[..4].copy_from_slice(&(kind as u32).to_le_bytes());
    frame[4..8].copy_from_slice(&stream.to_le_bytes());
    frame[8..12].copy_from_slice(&length.to_le_bytes());
    let crc = check(frame).to_le_bytes();
    frame[12..FRAME_BYTES].copy_from_slice(&crc);
}

fn check(frame: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&frame[..12]);
    crc.update(&frame[FRAME_BYTES..]);
    crc.finalize()
}

/// A frame of a file.
pub(super) struct Frame<'a> {
    /// None for one that a later version may know.
    pub(super) kind: Option<FrameKind>,
    pub(super) stream: u32,
    pub(super) content: &'a [u8],
}

/// A file that is read frame by frame, also while it grows.
pub(super) struct FrameReader {
    source: Source,
    /// Bytes of the file that are in the buffer or were.
    n_read: u64,
    buffer: Vec<u8>,
    used: usize,
    pub(super) is_damaged: bool,
}

enum Source {
    File(File),
    /// What could not be written to a file.
    Memory(Vec<u8>),
}

impl Source {
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::File(file) => file.read_at(bytes, at),
            Source::Memory(all) => {
                let begin = usize::try_from(at).unwrap_or(usize::MAX);
                let rest = all.get(begin..).unwrap_or_default();
                let n_bytes = rest.len().min(bytes.len());
                bytes[..n_bytes].copy_from_slice(&rest[..n_bytes]);
                Ok(n_bytes)
            }
        }
    }
}

impl FrameReader {
    /// Reads a file; `None` if it is not a raw file, or from another machine or
    /// version.
    pub(super) fn open(file: File) -> io::Result<Option<FrameReader>> {
        let mut found = [0; HEAD_BYTES];
        let n_read = file.read_at(&mut found, 0)?;
        // One that was cut off before that holds nothing.
        let is_ours = found[..n_read] == head()[..n_read];
        Ok(is_ours.then(|| FrameReader::new(Source::File(file), HEAD_BYTES as u64)))
    }

    /// Reads frames in memory.
    pub(super) fn in_memory(frames: Vec<u8>) -> FrameReader {
        FrameReader::new(Source::Memory(frames), 0)
    }

    fn new(source: Source, n_read: u64) -> FrameReader {
        FrameReader { source, n_read, buffer: Vec::new(), used: 0, is_damaged: false }
    }

    /// The next frame that lies wholly before `limit`. `None` also at a damaged one,
    /// after which it is not known where the next one begins.
    pub(super) fn next(&mut self, limit: u64) -> io::Result<Option<Frame<'_>>> {
        if self.is_damaged {
            return Ok(None);
        }
        let mut length = self.next_length();
        while length.is_none_or(|length| self.buffer.len() - self.used < length) {
            if !self.read_more(limit)? {
                return Ok(None);
            }
            length = self.next_length();
        }
        let Some(length) = length.filter(|length| *length <= FRAME_BYTES + MAX_CONTENT) else {
            self.is_damaged = true;
            return Ok(None);
        };
        let frame = &self.buffer[self.used..self.used + length];
        if word(frame, 12) != check(frame) {
            self.is_damaged = true;
            return Ok(None);
        }
        self.used += length;
        Ok(Some(Frame {
            kind: FrameKind::of(word(frame, 0)),
            stream: word(frame, 4),
            content: &frame[FRAME_BYTES..],
        }))
    }

    /// Bytes of the next frame, at most one more than there can be; `None` if its head
    /// is not there yet.
    fn next_length(&self) -> Option<usize> {
        let rest = &self.buffer[self.used..];
        let length = (rest.len() >= FRAME_BYTES).then(|| word(rest, 8) as usize)?;
        // A wrong length must not make us wait for something that never comes.
        Some(FRAME_BYTES + length.min(MAX_CONTENT + 1))
    }

    fn read_more(&mut self, limit: u64) -> io::Result<bool> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let old = self.buffer.len();
        let left = usize::try_from(limit.saturating_sub(self.n_read)).unwrap_or(usize::MAX);
        self.buffer.resize(old + left.min(READ_BYTES), 0);
        let read = self.source.read(self.n_read, &mut self.buffer[old..]);
        let n_bytes = *read.as_ref().unwrap_or(&0);
        self.buffer.truncate(old + n_bytes);
        self.n_read += n_bytes as u64;
        read.map(|n_bytes| n_bytes > 0)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: FrameKind, stream: u32, content: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; FRAME_BYTES];
        frame.extend_from_slice(content);
        seal(&mut frame, kind, stream);
        frame
    }

    fn read(bytes: Vec<u8>, limit: u64) -> (Vec<(u32, Vec<u8>)>, bool) {
        let mut reader = FrameReader::in_memory(bytes);
        let mut found = Vec::new();
        while let Some(frame) = reader.next(limit).unwrap() {
            found.push((frame.stream, frame.content.to_vec()));
        }
        (found, reader.is_damaged)
    }

    #[test]
    fn frames_are_read_up_to_a_limit() {
        let mut bytes = frame(FrameKind::Records, 7, &[1; 88]);
        let end = bytes.len() as u64;
        bytes.extend(frame(FrameKind::Ended, 8, &[]));
        let (first, second) = ((7, vec![1; 88]), (8, vec![]));
        assert_eq!(read(bytes.clone(), u64::MAX), (vec![first.clone(), second], false));
        assert_eq!(read(bytes.clone(), end), (vec![first.clone()], false));
        assert_eq!(read(bytes.clone(), end + 3), (vec![first], false));
        assert_eq!(read(bytes, end - 1), (vec![], false));
    }

    #[test]
    fn what_was_cut_off_is_no_damage_and_what_was_changed_is() {
        let bytes = [frame(FrameKind::Records, 1, &[5; 100]), frame(FrameKind::Ended, 1, &[])];
        let whole = bytes.concat();
        for end in 0..whole.len() {
            let (found, is_damaged) = read(whole[..end].to_vec(), u64::MAX);
            assert_eq!((found.len(), is_damaged), (usize::from(end >= bytes[0].len()), false));
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x80;
            let (found, is_damaged) = read(changed, u64::MAX);
            assert!(found.len() < 2, "byte {place}");
            // A length that is too large may look like the end.
            assert!(is_damaged || (8..12).contains(&(place % bytes[0].len())), "byte {place}");
        }
    }
}
