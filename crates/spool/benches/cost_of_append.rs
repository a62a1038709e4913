// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does a record cost the application's thread? The writer over plain
//! memory, with a reader that has consumed everything at once; the system's
//! part (faults, allocation) is the host's and is not in it.

use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use ioracle_spool::layout::{Call, JobPage, StreamHeader, UnrecordedCause};
use ioracle_spool::{Host, StreamIdentity, StreamName, Writer};

/// A mapping's alignment.
#[repr(align(4096))]
#[derive(Clone)]
struct Page {
    _bytes: [u8; 4096],
}

/// Hands out memory; remembers the first, where the header lies.
#[derive(Default)]
struct Memory {
    mappings: Vec<Box<[Page]>>,
}

impl Memory {
    fn map(&mut self, bytes: usize) -> NonNull<u8> {
        let mut mapping = vec![Page { _bytes: [0; 4096] }; bytes / 4096].into_boxed_slice();
        let base = NonNull::from(&mut *mapping).cast();
        self.mappings.push(mapping);
        base
    }

    /// Consumes every full segment, as a reader that keeps up does.
    fn consume(&self) {
        // SAFETY: the first mapping begins with the header.
        let header: &StreamHeader = unsafe { &*self.mappings[0].as_ptr().cast() };
        for entry in &header.segments[..header.n_segments.load(SeqCst) as usize] {
            entry.consumed.store(entry.first.load(SeqCst) + u64::from(entry.bytes) / 96, SeqCst);
        }
    }
}

// SAFETY: boxes of pages are aligned, zeroed, and live as long as the host.
unsafe impl Host for Memory {
    fn create(&mut self, _: &StreamName, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        Ok(self.map(bytes))
    }

    fn extend(&mut self, _: &StreamName, _: u64, n: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        Ok(self.map(n))
    }

    fn unmap(&mut self, _: NonNull<u8>, _: usize) {}

    fn wake(&mut self, _: &AtomicU32) {}

    fn reader_is_alive(&mut self, _: u32) -> bool {
        true
    }

    fn pause(&mut self) {}
}

fn main() {
    const N_RECORDS: u64 = 20_000_000;
    // SAFETY: a job page is numbers only.
    let job: JobPage = unsafe { std::mem::zeroed() };
    job.open.store(1, SeqCst);
    job.limit_bytes.store(u64::MAX, SeqCst);
    let mut memory = Memory::default();
    let Ok(writer) = Writer::start(&mut memory, &job, &StreamIdentity::default()) else { return };
    // Grown to the largest segment, then recycled.
    let mut call = Call::default();
    for number in 0..100_000 {
        call.start_ns = number;
        writer.append(&mut memory, &job, black_box(&call));
    }
    let mut best = f64::INFINITY;
    let rounds = 200;
    for _ in 0..rounds {
        memory.consume();
        let start = Instant::now();
        for number in 0..N_RECORDS / rounds {
            call.start_ns = number;
            writer.append(&mut memory, &job, black_box(&call));
        }
        let cost = start.elapsed().as_nanos() as f64 / (N_RECORDS / rounds) as f64;
        best = best.min(cost);
    }
    println!("{best:.1} ns per record (best of {rounds} rounds)");
}
