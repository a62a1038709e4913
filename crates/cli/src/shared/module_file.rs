// SPDX-License-Identifier: MIT OR Apache-2.0

//! The file of a program or library, read in blocks.
//!
//! `object` asks for the names of symbols one by one, 256 bytes at a time. Without
//! blocks, a C library's symbol table takes two system calls per function, some
//! 8,000 in all. The file is read and not mapped, because it may be replaced or cut
//! short meanwhile.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use object::ReadCache;

const BLOCK_BYTES: usize = 64 << 10;
/// Blocks that are kept; beyond that all are forgotten.
const MAX_BLOCKS: usize = 128;

/// What `object` reads a module from.
pub type ModuleCache = ReadCache<ModuleFile>;

/// A file with a position and the blocks of it that were read.
#[derive(Debug)]
pub struct ModuleFile {
    file: File,
    at: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

impl ModuleFile {
    /// Reads a file through a cache of its own.
    pub fn cache(file: File) -> ModuleCache {
        ReadCache::new(ModuleFile { file, at: 0, blocks: HashMap::new() })
    }

    /// The bytes of a block; fewer at the end of the file.
    fn block(&mut self, number: u64) -> io::Result<&[u8]> {
        if !self.blocks.contains_key(&number) {
            let start = number * BLOCK_BYTES as u64;
            let mut bytes = vec![0; BLOCK_BYTES];
            let mut n_read = 0;
            while n_read < BLOCK_BYTES {
                match self.file.read_at(&mut bytes[n_read..], start + n_read as u64) {
                    Ok(0) => break,
                    Ok(n) => n_read += n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            bytes.truncate(n_read);
            if self.blocks.len() >= MAX_BLOCKS {
                self.blocks.clear();
            }
            self.blocks.insert(number, bytes.into());
        }
        Ok(&self.blocks[&number])
    }
}

impl Read for ModuleFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Whole tables, which the caller keeps.
        let n_read = if buffer.len() >= BLOCK_BYTES {
            self.file.read_at(buffer, self.at)?
        } else {
            let within = (self.at % BLOCK_BYTES as u64) as usize;
            let block = self.block(self.at / BLOCK_BYTES as u64)?;
            let rest = block.get(within..).unwrap_or_default();
            let n_read = rest.len().min(buffer.len());
            buffer[..n_read].copy_from_slice(&rest[..n_read]);
            n_read
        };
        self.at += n_read as u64;
        Ok(n_read)
    }
}

impl Seek for ModuleFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.file.metadata()?.len(), by),
        };
        self.at = from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn it_reads_as_a_file_does() {
        const N_BYTES: usize = 3 * BLOCK_BYTES + 1000;
        let bytes: Vec<u8> = (0..N_BYTES).map(|at| (at * 7 / 3) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut module = ModuleFile { file, at: 0, blocks: HashMap::new() };
        assert_eq!(module.seek(SeekFrom::End(0)).unwrap(), N_BYTES as u64);
        for (start, length) in [
            (0, 4),
            (BLOCK_BYTES - 2, 4),
            (BLOCK_BYTES + 1, 2 * BLOCK_BYTES),
            (N_BYTES - 3, 3),
            (5, 256),
        ] {
            let mut part = vec![0; length];
            module.seek(SeekFrom::Start(start as u64)).unwrap();
            module.read_exact(&mut part).unwrap();
            assert!(part == bytes[start..start + length], "{start}, {length}");
        }
        module.seek(SeekFrom::Start(N_BYTES as u64 - 3)).unwrap();
        assert_eq!(module.read(&mut [0; 256]).unwrap(), 3);
        assert_eq!(module.read(&mut [0; 256]).unwrap(), 0);
    }
}
