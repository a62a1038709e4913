// SPDX-License-Identifier: MIT OR Apache-2.0

//! From a frame to its caller, by a rule. Every word that is looked at goes
//! into the trail.

use super::super::Caller;
use super::memory::Memory;
use super::rules::{Base, CallerFp, Pc, Rule};
use super::trail::Trail;

/// What is known of the frame pointer. Where it was saved is remembered without
/// looking, because most of the time no rule further out uses it.
#[derive(Clone, Copy)]
enum FramePointer {
    /// As it was when the intercepted function was entered.
    Incoming(usize),
    /// Saved at an address.
    At(usize),
    /// This value; the trail knows.
    Known(usize),
    Lost,
}

/// A frame on the way out.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// What the trail counts from.
    entry_sp: usize,
    pub(super) pc: Pc,
    sp: usize,
    fp: FramePointer,
}

impl Cursor {
    /// The frame that made the intercepted call.
    pub(super) fn new(caller: Caller, return_address: usize) -> Cursor {
        Cursor {
            entry_sp: caller.sp,
            pc: Pc { address: return_address, is_interrupted: false },
            sp: caller.sp.wrapping_add(8),
            fp: FramePointer::Incoming(caller.fp),
        }
    }

    /// The frame that called this one.
    pub(super) fn caller(
        mut self,
        rule: &Rule,
        memory: &mut Memory,
        trail: &mut Trail,
    ) -> Option<Cursor> {
        let mut cfa = self.place(rule.cfa_base, rule.cfa_offset, 0, memory, trail)?;
        if rule.cfa_is_word {
            cfa = self.read(cfa, memory, trail)?;
        }
        let return_place = self.place(rule.return_base, rule.return_offset, cfa, memory, trail)?;
        let address = self.read(return_place, memory, trail)?;
        if address == 0 {
            return None;
        }
        let saved_from = match rule.fp {
            CallerFp::AtCfa => Some(Base::Cfa),
            CallerFp::AtSp => Some(Base::Sp),
            CallerFp::AtFp => Some(Base::Fp),
            CallerFp::Same | CallerFp::Lost => None,
        };
        let fp = match saved_from {
            Some(base) => FramePointer::At(self.place(base, rule.fp_offset, cfa, memory, trail)?),
            None if rule.fp == CallerFp::Same => self.fp,
            None => FramePointer::Lost,
        };
        let pc = Pc { address, is_interrupted: rule.is_interrupted };
        Some(Cursor { pc, sp: cfa, fp, ..self })
    }

    fn place(
        &mut self,
        base: Base,
        offset: i32,
        cfa: usize,
        memory: &mut Memory,
        trail: &mut Trail,
    ) -> Option<usize> {
        let start = match base {
            Base::Cfa => cfa,
            Base::Sp => self.sp,
            Base::Fp => self.frame_pointer(memory, trail)?,
        };
        Some(start.wrapping_add_signed(offset as isize))
    }

    fn frame_pointer(&mut self, memory: &mut Memory, trail: &mut Trail) -> Option<usize> {
        let value = match self.fp {
            FramePointer::Known(value) => value,
            FramePointer::Incoming(value) => {
                trail.incoming_fp();
                value
            }
            FramePointer::At(address) => self.read(address, memory, trail)?,
            FramePointer::Lost => return None,
        };
        self.fp = FramePointer::Known(value);
        Some(value)
    }

    /// Reads a word and notes it in the trail.
    fn read(&self, address: usize, memory: &mut Memory, trail: &mut Trail) -> Option<usize> {
        let Some(value) = memory.read(address) else {
            // It may be there the next time.
            trail.unrepeatable();
            return None;
        };
        if memory.is_direct(address) {
            trail.word(address.wrapping_sub(self.entry_sp), value);
        } else {
            trail.unrepeatable();
        }
        Some(value)
    }
}
