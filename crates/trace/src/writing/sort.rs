// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sorts the events of a log into the order of the trace.
//!
//! An external merge sort: chunks of [`CHUNK_ROWS`] events are sorted in memory
//! and written one behind the other into a file without a name; then all of
//! these runs are read side by side and merged. Memory is one chunk (about
//! 40 MiB) and [`BUFFER_BYTES`] per run, so a billion events take another
//! 64 MiB. A log of one chunk needs no file.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::vec;

use crate::writing::log::{LogReader, LogWriter, Row};
use crate::writing::ranks::{Place, Ranks};

const CHUNK_ROWS: usize = 1 << 18;
const BUFFER_BYTES: usize = 1 << 14;

/// Takes events in any order.
pub(crate) struct Sorter<'a> {
    ranks: &'a Ranks,
    directory: &'a Path,
    chunk_rows: usize,
    chunk: Vec<(Place, Row)>,
    runs: Option<Runs>,
}

/// Runs that are written already.
struct Runs {
    file: Arc<File>,
    out: LogWriter<Arc<File>>,
    /// Where each run ends.
    ends: Vec<u64>,
}

impl<'a> Sorter<'a> {
    /// A sorter that keeps what memory does not hold on the file system of
    /// `directory`.
    pub(crate) fn new(ranks: &'a Ranks, directory: &'a Path) -> Sorter<'a> {
        Sorter { ranks, directory, chunk_rows: CHUNK_ROWS, chunk: Vec::new(), runs: None }
    }

    pub(crate) fn push(&mut self, row: Row) -> io::Result<()> {
        if self.chunk.len() >= self.chunk_rows {
            self.write_run()?;
        }
        self.chunk.push((self.ranks.place(&row), row));
        Ok(())
    }

    /// All events in order.
    pub(crate) fn finish(mut self) -> io::Result<Sorted<'a>> {
        self.chunk.sort_unstable_by_key(|(place, _)| *place);
        let mut sources = vec![Source::Memory(self.chunk.into_iter())];
        if let Some(Runs { file, mut out, ends }) = self.runs {
            out.flush()?;
            let mut start = 0;
            for end in ends {
                let section = Section { file: file.clone(), at: start, end };
                let reader = LogReader::new(BufReader::with_capacity(BUFFER_BYTES, section));
                sources.push(Source::Run { reader, n_bytes: end - start });
                start = end;
            }
        }
        let mut sorted = Sorted { ranks: self.ranks, sources, heads: BinaryHeap::new() };
        for index in 0..sorted.sources.len() {
            let head = sorted.read(index)?;
            sorted.heads.extend(head);
        }
        Ok(sorted)
    }

    fn write_run(&mut self) -> io::Result<()> {
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => {
                let file = Arc::new(tempfile::tempfile_in(self.directory)?);
                let out = LogWriter::new(file.clone());
                self.runs.insert(Runs { file, out, ends: Vec::new() })
            }
        };
        self.chunk.sort_unstable_by_key(|(place, _)| *place);
        for (_, row) in self.chunk.drain(..) {
            runs.out.push(&row)?;
        }
        runs.ends.push(runs.out.n_bytes());
        Ok(())
    }
}

/// Gives events in the order of the trace.
pub(crate) struct Sorted<'a> {
    ranks: &'a Ranks,
    sources: Vec<Source>,
    /// The next event of each source that has one.
    heads: BinaryHeap<Head>,
}

enum Source {
    Memory(vec::IntoIter<(Place, Row)>),
    Run { reader: LogReader<BufReader<Section>>, n_bytes: u64 },
}

impl Sorted<'_> {
    pub(crate) fn next(&mut self) -> io::Result<Option<(Place, Row)>> {
        let Some(index) = self.heads.peek().map(|head| head.index) else { return Ok(None) };
        let next = self.read(index)?;
        let Some(mut top) = self.heads.peek_mut() else { return Ok(None) };
        let head = match next {
            Some(next) => std::mem::replace(&mut *top, next),
            None => PeekMut::pop(top),
        };
        Ok(Some((head.place, head.row)))
    }

    fn read(&mut self, index: usize) -> io::Result<Option<Head>> {
        match &mut self.sources[index] {
            Source::Memory(rows) => Ok(rows.next().map(|(place, row)| Head { place, index, row })),
            Source::Run { reader, n_bytes } => match reader.next()? {
                Some(row) => Ok(Some(Head { place: self.ranks.place(&row), index, row })),
                None if reader.n_bytes() == *n_bytes => Ok(None),
                None => Err(io::ErrorKind::InvalidData.into()),
            },
        }
    }
}

/// Compares the other way round: the heap gives the greatest.
struct Head {
    place: Place,
    index: usize,
    row: Row,
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> std::cmp::Ordering {
        (other.place, other.index).cmp(&(self.place, self.index))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// A part of a file that others read too.
struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let n_bytes = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::{Function, Layer};

    use super::*;
    use crate::writing::log::Seen;

    fn row(process: u32, thread: u32, start_ns: u64) -> Row {
        Row {
            process,
            thread,
            sequence: start_ns,
            function: Function::from_name(Layer::Posix, "write").unwrap(),
            context: 1,
            file: 1,
            handle: 3,
            offset: Some(start_ns),
            requested: 1,
            result: 1,
            start_ns,
            io_time_ns: 1,
            depth: 0,
            detail: "".into(),
        }
    }

    /// Some thousand events of three processes in a mixed but fixed order.
    fn rows() -> Vec<Row> {
        let mut number = 12345_u64;
        let mut random = || {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            number >> 33
        };
        (0..5000).map(|_| row(random() as u32 % 3, random() as u32 % 4, random())).collect()
    }

    #[test]
    fn runs_of_any_length_give_what_sorting_in_memory_gives() {
        let processes = [(Some(2), 50), (Some(0), 7), (Some(2), 90)];
        let seen = processes.map(|(rank, start_ns)| Seen { rank, start_ns, ..Seen::default() });
        let ranks = Ranks::new(&seen);
        let mut expected: Vec<(Place, Row)> =
            rows().into_iter().map(|row| (ranks.place(&row), row)).collect();
        expected.sort_by_key(|(place, _)| *place);
        let directory = tempfile::tempdir().unwrap();
        for chunk_rows in [1, 7, 4999, 5000, 5001] {
            let mut sorter = Sorter { chunk_rows, ..Sorter::new(&ranks, directory.path()) };
            for row in rows() {
                sorter.push(row).unwrap();
            }
            let mut sorted = sorter.finish().unwrap();
            for expected in &expected {
                assert_eq!(sorted.next().unwrap().as_ref(), Some(expected));
            }
            assert!(sorted.next().unwrap().is_none());
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
