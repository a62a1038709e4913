// SPDX-License-Identifier: MIT OR Apache-2.0

//! From a frame to its caller, by a rule. Every word that is looked at goes
//! into the trail.

use super::super::Caller;
use super::memory::KnownMemory;
use super::rules::{Base, Pc, SavedRegister, UnwindRule};
use super::trail::Trail;

/// What is known about a register. Where it was saved is remembered without
/// looking, because most of the time no rule further out uses it.
#[derive(Clone, Copy)]
enum Tracked {
    /// The frame pointer as it was when the intercepted function was entered.
    Incoming(usize),
    /// Saved at an address.
    At(usize),
    /// This value; it is in the trail.
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
    fp: Tracked,
    bx: Tracked,
}

impl Cursor {
    /// The frame that made the intercepted call.
    pub(super) fn new(caller: Caller, return_address: usize) -> Cursor {
        Cursor {
            entry_sp: caller.sp,
            pc: Pc { address: return_address, is_interrupted: false },
            sp: caller.sp.wrapping_add(8),
            fp: Tracked::Incoming(caller.fp),
            bx: Tracked::Lost,
        }
    }

    /// The frame that called this one.
    pub(super) fn caller(
        mut self,
        rule: &UnwindRule,
        memory: &mut KnownMemory,
        trail: &mut Trail,
    ) -> Option<Cursor> {
        let mut cfa = self.place(rule.cfa_base, rule.cfa_offset, 0, memory, trail)?;
        if rule.cfa_is_word {
            cfa = self.read(cfa, memory, trail)?;
        }
        let return_offset = rule.return_offset.into();
        let return_place = self.place(rule.return_base, return_offset, cfa, memory, trail)?;
        let address = self.read(return_place, memory, trail)?;
        if address == 0 {
            return None;
        }
        let fp = self.kept(self.fp, rule.fp, rule.fp_offset, cfa, memory, trail)?;
        let bx = self.kept(self.bx, rule.bx, rule.bx_offset.into(), cfa, memory, trail);
        let bx = bx.unwrap_or(Tracked::Lost);
        let pc = Pc { address, is_interrupted: rule.is_interrupted };
        Some(Cursor { pc, sp: cfa, fp, bx, ..self })
    }

    /// What the caller has in a register.
    fn kept(
        &mut self,
        here: Tracked,
        kept: SavedRegister,
        offset: i32,
        cfa: usize,
        memory: &mut KnownMemory,
        trail: &mut Trail,
    ) -> Option<Tracked> {
        let base = match kept {
            SavedRegister::Same => return Some(here),
            SavedRegister::Lost => return Some(Tracked::Lost),
            SavedRegister::AtCfa => Base::Cfa,
            SavedRegister::AtSp => Base::Sp,
            SavedRegister::AtFp => Base::Fp,
        };
        Some(Tracked::At(self.place(base, offset, cfa, memory, trail)?))
    }

    fn place(
        &mut self,
        base: Base,
        offset: i32,
        cfa: usize,
        memory: &mut KnownMemory,
        trail: &mut Trail,
    ) -> Option<usize> {
        let start = match base {
            Base::Cfa => cfa,
            Base::Sp => self.sp,
            Base::Fp => {
                let value = self.value(self.fp, memory, trail)?;
                self.fp = Tracked::Known(value);
                value
            }
            Base::Bx => self.value(self.bx, memory, trail)?,
        };
        Some(start.wrapping_add_signed(offset as isize))
    }

    fn value(
        &self,
        register: Tracked,
        memory: &mut KnownMemory,
        trail: &mut Trail,
    ) -> Option<usize> {
        match register {
            Tracked::Known(value) => Some(value),
            Tracked::Incoming(value) => {
                trail.incoming_fp();
                Some(value)
            }
            Tracked::At(address) => self.read(address, memory, trail),
            Tracked::Lost => None,
        }
    }

    /// Reads a word and notes it in the trail.
    fn read(&self, address: usize, memory: &mut KnownMemory, trail: &mut Trail) -> Option<usize> {
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
