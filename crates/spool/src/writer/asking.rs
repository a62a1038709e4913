// SPDX-License-Identifier: MIT OR Apache-2.0

//! A thread that asks what comes next: its slot, and its own last records, which
//! show whether it did what was predicted.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::room;
use super::{Host, Writer};
use crate::layout::{Call, JobPage, UnrecordedCause};
use crate::slot::{PredictionSlot, SLOT_BYTES};

impl Writer {
    /// Makes the slot of the stream and notifies the reader, which every record wakes
    /// from now on. Call it once: it creates the file.
    pub fn ask(
        &self,
        host: &mut impl Host,
        job: &JobPage,
    ) -> Result<PredictionSlot, UnrecordedCause> {
        let made = host.uninterrupted(|host| {
            let mut slot = None;
            self.guarded(|| {
                slot = Some(self.make_slot(host, job)?);
                Ok(())
            })?;
            slot.ok_or(UnrecordedCause::NoFile)
        })?;
        self.wake_mask.store(0, Relaxed);
        job.n_asking.fetch_add(1, Release);
        self.wake(host, job);
        Ok(made)
    }

    fn make_slot(
        &self,
        host: &mut impl Host,
        job: &JobPage,
    ) -> Result<PredictionSlot, UnrecordedCause> {
        if job.open.load(Relaxed) == 0 {
            return Err(UnrecordedCause::Limit);
        }
        room::charge(job, SLOT_BYTES)?;
        self.note_charged(SLOT_BYTES);
        let base = host.create(&self.name.of_slot(), SLOT_BYTES).inspect_err(|_| {
            self.note_charged(SLOT_BYTES.wrapping_neg());
            room::give_back(job, SLOT_BYTES);
        })?;
        // SAFETY: the host has mapped that many zeroed bytes, to stay.
        Ok(unsafe { PredictionSlot::begin(base) })
    }

    /// Records appended so far: the number of the next one.
    #[inline]
    pub fn n_records(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// A record of this stream, if it was published and not overwritten since. At least
    /// the last ones are there, as many as the smallest segment holds.
    pub fn record(&self, number: u64) -> Option<Call> {
        let n_segments = self.n_segments.load(Acquire);
        self.segments.iter().take(n_segments).find_map(|segment| segment.read(number))
    }
}
