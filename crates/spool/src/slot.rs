// SPDX-License-Identifier: MIT OR Apache-2.0

//! The prediction slot of a thread: what it is expected to do, published by the reader
//! for the thread itself. `docs/spool.md` draws it.
//!
//! A thread that asks makes the file, with room really allocated, and maps it;
//! the reader writes into it with `pwrite` and maps nothing that the application
//! could cut short. It holds two outlooks in turn. The reader writes the one
//! that is not current, then stores its number in `current`: a thread that has
//! copied an outlook and finds the same number again has copied it whole, and
//! one whose reader died in the middle of a write still has the last one.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};

use crate::layout::{Aligned, PAGE, VERSION};

/// First bytes of a slot file.
pub const SLOT_MAGIC: u64 = u64::from_ne_bytes(*b"ioraNEXT");
/// How names of slot files end; what stands before is the name of the stream.
pub const SLOT_SUFFIX: &str = ".next";
/// Steps that an outlook can have.
pub const MAX_STEPS: usize = 64;
/// Bytes of an outlook: its header, steps, and the names of files.
pub const OUTLOOK_BYTES: usize = 4 * PAGE;
/// Bytes of a slot file.
pub const SLOT_BYTES: usize = PAGE + 2 * OUTLOOK_BYTES;
/// Bytes that the names of an outlook may take together.
pub const NAMES_BYTES: usize =
    OUTLOOK_BYTES - size_of::<OutlookHeader>() - MAX_STEPS * size_of::<OutlookStep>();

/// The first page of a slot file.
#[repr(C, align(64))]
pub struct SlotHeader {
    /// [`SLOT_MAGIC`], stored last by the thread that makes the file.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Number of the latest outlook, which lies at place `number % 2`; 0: none yet.
    pub current: Aligned<AtomicU64>,
}

/// What stands before the steps of an outlook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct OutlookHeader {
    /// [`Call::began`](crate::layout::Call::began) of the last call that is
    /// taken into account; 0: of none.
    pub rests_on: u64,
    /// Operations of the thread that were learned.
    pub n_operations: u64,
    /// When it was published, CLOCK_MONOTONIC.
    pub made_ns: u64,
    /// Steps that follow.
    pub n_steps: u32,
    /// Bytes of names behind the steps.
    pub names_bytes: u32,
    /// 1: as many steps as there will be; 0: more of them are being made.
    pub is_whole: u32,
    /// Room for later; 0.
    pub reserved: [u32; 7],
}

/// One predicted operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct OutlookStep {
    /// Identity of the call stack; 0 not known in this run.
    pub context: u64,
    /// Identity of the file; 0 unknown.
    pub file: u64,
    /// Where a data access starts; -1 none.
    pub offset: i64,
    /// Bytes it moves.
    pub size: u64,
    /// From the end of the call that the outlook is based on to its start.
    pub from_now_ns: u64,
    /// From the end of the operation before it to its start.
    pub interarrival_ns: u64,
    /// How long the call takes.
    pub io_time_ns: u64,
    /// Probability that all operations up to this step come, this one on this file at
    /// this offset.
    pub probability: f64,
    /// Probability that all operations up to this step come, on any file.
    pub operation_probability: f64,
    /// Minimum, maximum and deviation of the size.
    pub size_spread: [f64; 3],
    /// The same of the offset's error.
    pub offset_spread: [f64; 3],
    /// The same of the interarrival time.
    pub interarrival_spread: [f64; 3],
    /// The same of the I/O time.
    pub io_time_spread: [f64; 3],
    /// Context symbol of the oracle.
    pub symbol: u32,
    /// Number of the function.
    pub function: u16,
    /// Reserved, 0: so that no bytes between fields stay unwritten.
    pub reserved: u16,
    /// Where the file's name begins among the names.
    pub name_at: u32,
    /// Its bytes; 0: it is not known, or there was no room.
    pub name_bytes: u16,
    /// 1: a file never seen, by the name that is expected.
    pub is_new_file: u16,
}

const STEPS_AT: usize = size_of::<OutlookHeader>();
const WORD: usize = size_of::<u64>();

const _: () = {
    assert!(size_of::<SlotHeader>() <= PAGE);
    assert!(core::mem::offset_of!(SlotHeader, current) == 64);
    assert!(size_of::<OutlookHeader>() == 64);
    assert!(size_of::<OutlookStep>() == 184);
    assert!(NAMES_BYTES >= 4096);
};

/// A mapped slot, as the thread that asked sees it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct PredictionSlot(NonNull<u8>);

impl PredictionSlot {
    /// Begins a slot in fresh memory.
    ///
    /// # Safety
    /// [`SLOT_BYTES`] are mapped there, zeroed and aligned to 64 bytes, for as
    /// long as the value or a copy of it is used.
    pub unsafe fn begin(base: NonNull<u8>) -> PredictionSlot {
        let slot = PredictionSlot(base);
        slot.header().version.store(VERSION, Relaxed);
        slot.header().magic.store(SLOT_MAGIC, Release);
        slot
    }

    /// A slot that has been begun.
    ///
    /// # Safety
    /// As for [`begin`](PredictionSlot::begin).
    pub unsafe fn at(base: NonNull<u8>) -> PredictionSlot {
        PredictionSlot(base)
    }

    /// Where it is mapped.
    pub fn base(self) -> NonNull<u8> {
        self.0
    }

    /// Number of the latest outlook; 0: there is none.
    #[inline]
    pub fn latest(self) -> u64 {
        self.header().current.0.load(Acquire)
    }

    /// Whether an outlook is still the latest: then what was copied from it since
    /// [`latest`](PredictionSlot::latest) returned its number is complete.
    #[inline]
    pub fn is_latest(self, number: u64) -> bool {
        fence(Acquire);
        self.header().current.0.load(Relaxed) == number
    }

    /// The header of an outlook; its counts are within bounds.
    #[inline]
    pub fn outlook(self, number: u64) -> OutlookHeader {
        let mut words = [0; size_of::<OutlookHeader>() / WORD];
        self.copy(number, 0, &mut words);
        // SAFETY: both are numbers only and have the same size.
        let header: OutlookHeader = unsafe { core::mem::transmute(words) };
        OutlookHeader {
            n_steps: header.n_steps.min(MAX_STEPS as u32),
            names_bytes: header.names_bytes.min(NAMES_BYTES as u32),
            ..header
        }
    }

    /// A step of an outlook; all zero beyond the last place.
    #[inline]
    pub fn step(self, number: u64, index: usize) -> OutlookStep {
        let mut words = [0; size_of::<OutlookStep>() / WORD];
        if index < MAX_STEPS {
            self.copy(number, STEPS_AT + index * size_of::<OutlookStep>(), &mut words);
        }
        // SAFETY: both are numbers only and have the same size.
        unsafe { core::mem::transmute(words) }
    }

    /// Copies the name of a step's file; the bytes copied, 0 if the buffer is
    /// too small or the step is damaged.
    pub fn name(
        self,
        number: u64,
        outlook: &OutlookHeader,
        step: &OutlookStep,
        to: &mut [u8],
    ) -> usize {
        let n_bytes = usize::from(step.name_bytes);
        let end = (step.name_at as usize).saturating_add(n_bytes);
        let Some(to) = to.get_mut(..n_bytes) else { return 0 };
        if end > outlook.names_bytes as usize {
            return 0;
        }
        let names_at = STEPS_AT + outlook.n_steps as usize * size_of::<OutlookStep>();
        let base = self.place(number);
        for (byte, at) in to.iter_mut().zip(names_at + step.name_at as usize..) {
            // SAFETY: the name ends within the outlook. The reader may be
            // writing here, so the compiler must not look twice.
            *byte = unsafe { base.add(at).read_volatile() };
        }
        n_bytes
    }

    fn header(&self) -> &SlotHeader {
        // SAFETY: mapped, by the promise made to `begin` or `at`; atomics only.
        unsafe { self.0.cast().as_ref() }
    }

    fn place(self, number: u64) -> *const u8 {
        let at = PAGE + (number % 2) as usize * OUTLOOK_BYTES;
        // SAFETY: lies in the mapping.
        unsafe { self.0.as_ptr().add(at) }
    }

    #[inline]
    fn copy(self, number: u64, at: usize, words: &mut [u64]) {
        let base = self.place(number).cast::<AtomicU64>();
        for (word, place) in words.iter_mut().zip(at / WORD..) {
            // SAFETY: callers stay within an outlook; the reader may be writing.
            *word = unsafe { (*base.add(place)).load(Relaxed) };
        }
    }
}

#[cfg(feature = "reader")]
pub use building::OutlookBuilder;

#[cfg(feature = "reader")]
mod building {
    use super::{MAX_STEPS, NAMES_BYTES, OutlookHeader, OutlookStep, STEPS_AT};

    /// An outlook that is being put together.
    #[derive(Clone, Debug, Default)]
    pub struct OutlookBuilder {
        /// What stands before the steps; counts are filled in by `encode`.
        pub header: OutlookHeader,
        steps: Vec<OutlookStep>,
        names: Vec<u8>,
    }

    impl OutlookBuilder {
        /// Starts over with no steps, and keeps the memory.
        pub fn clear(&mut self) {
            self.header = OutlookHeader::default();
            self.steps.clear();
            self.names.clear();
        }

        /// The steps so far.
        pub fn steps(&self) -> &[OutlookStep] {
            &self.steps
        }

        /// Whether no further step fits.
        pub fn is_full(&self) -> bool {
            self.steps.len() >= MAX_STEPS
        }

        /// Adds a step. Its name is shared with an earlier step of the same
        /// file, and left out where there is no room for it.
        pub fn push(&mut self, step: OutlookStep, name: &[u8]) {
            if self.is_full() {
                return;
            }
            let same = |other: &&OutlookStep| other.file == step.file && other.file != 0;
            let known = self.steps.iter().rev().find(same);
            let (name_at, name_bytes) = match known {
                Some(known) => (known.name_at, known.name_bytes),
                None => self.add_name(name),
            };
            self.steps.push(OutlookStep { name_at, name_bytes, ..step });
        }

        fn add_name(&mut self, name: &[u8]) -> (u32, u16) {
            let at = self.names.len();
            match u16::try_from(name.len()) {
                Ok(n_bytes) if at + name.len() <= NAMES_BYTES => {
                    self.names.extend_from_slice(name);
                    (at as u32, n_bytes)
                }
                _ => (0, 0),
            }
        }

        /// The bytes of the outlook.
        pub fn encode(&self, bytes: &mut Vec<u8>) {
            let header = OutlookHeader {
                n_steps: self.steps.len() as u32,
                names_bytes: self.names.len() as u32,
                ..self.header
            };
            bytes.clear();
            bytes
                .reserve(STEPS_AT + self.steps.len() * size_of::<OutlookStep>() + self.names.len());
            bytes.extend_from_slice(bytes_of(&header));
            for step in &self.steps {
                bytes.extend_from_slice(bytes_of(step));
            }
            bytes.extend_from_slice(&self.names);
        }
    }

    fn bytes_of<T: Copy>(value: &T) -> &[u8] {
        // SAFETY: only called for the two structures above, which are numbers
        // without padding.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory like that of a slot.
    struct Memory(Box<[Aligned<[u8; 64]>]>);

    impl Memory {
        fn new() -> Memory {
            Memory((0..SLOT_BYTES / 64).map(|_| Aligned([0; 64])).collect())
        }

        fn slot(&mut self) -> PredictionSlot {
            // SAFETY: that many bytes, aligned; the tests use it while it is there.
            unsafe { PredictionSlot::begin(NonNull::new(self.0.as_mut_ptr().cast()).unwrap()) }
        }

        fn publish(&mut self, number: u64, outlook: &OutlookBuilder) {
            let mut bytes = Vec::new();
            outlook.encode(&mut bytes);
            let slot = self.slot();
            // SAFETY: an encoded outlook fits.
            unsafe {
                slot.place(number).cast_mut().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
            slot.header().current.0.store(number, Release);
        }
    }

    fn name_of(slot: PredictionSlot, number: u64, index: usize) -> Vec<u8> {
        let mut name = [0; 4096];
        let outlook = slot.outlook(number);
        let step = slot.step(number, index);
        let n_bytes = slot.name(number, &outlook, &step, &mut name);
        name[..n_bytes].to_vec()
    }

    #[test]
    fn what_was_published_is_read() {
        let mut memory = Memory::new();
        let slot = memory.slot();
        assert_eq!(slot.latest(), 0);
        let mut outlook = OutlookBuilder::default();
        outlook.header.rests_on = 7;
        for (file, name) in [(1, "one"), (2, "two"), (1, "one")] {
            outlook.push(
                OutlookStep { file, size: 10 * file, ..OutlookStep::default() },
                name.as_bytes(),
            );
        }
        memory.publish(1, &outlook);
        let header = slot.outlook(slot.latest());
        assert_eq!((header.rests_on, header.n_steps, header.names_bytes), (7, 3, 6));
        assert_eq!([0, 1, 2].map(|i| slot.step(1, i).size), [10, 20, 10]);
        assert_eq!([0, 1, 2].map(|i| name_of(slot, 1, i)), [b"one", b"two", b"one"]);
        assert!(slot.is_latest(1));
        memory.publish(2, &OutlookBuilder::default());
        assert!(!slot.is_latest(1));
        assert_eq!(slot.step(1, 2).size, 10, "the one before stays until the next but one");
    }

    #[test]
    fn steps_and_names_beyond_the_room_are_left_out() {
        let mut outlook = OutlookBuilder::default();
        let long = vec![b'x'; 4096];
        for file in 1..=MAX_STEPS as u64 + 3 {
            outlook.push(OutlookStep { file, ..OutlookStep::default() }, &long);
        }
        assert_eq!(outlook.steps().len(), MAX_STEPS);
        let mut bytes = Vec::new();
        outlook.encode(&mut bytes);
        assert!(bytes.len() <= OUTLOOK_BYTES);
        let mut memory = Memory::new();
        memory.publish(1, &outlook);
        assert_eq!(name_of(memory.slot(), 1, 0), long);
        assert_eq!(name_of(memory.slot(), 1, 1), b"");
    }

    #[test]
    fn numbers_that_lie_are_kept_within_bounds() {
        let mut memory = Memory::new();
        for block in &mut memory.0 {
            block.0.fill(0xff);
        }
        let slot = memory.slot();
        let outlook = slot.outlook(1);
        assert_eq!(outlook.n_steps as usize, MAX_STEPS);
        assert_eq!(outlook.names_bytes as usize, NAMES_BYTES);
        assert_eq!(slot.step(1, MAX_STEPS), OutlookStep::default());
        assert_eq!(name_of(slot, 1, 0), b"");
    }
}
