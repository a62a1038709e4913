// SPDX-License-Identifier: MIT OR Apache-2.0

//! How to get from a frame to its caller, by program counter.
//!
//! The table holds up to 4096 rules in sets of four. It begins small, because a short
//! process pays for every page that it touches, and grows when a set is full; rules
//! that then belong to another set are made again when needed. Once all of it is in
//! use, the oldest rule of a full set makes room.

use super::super::modules::ModuleId;

/// What an offset counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Base {
    /// The frame's address: the stack pointer of the caller once the function
    /// has returned.
    Cfa,
    /// The stack pointer in the function.
    Sp,
    /// The frame pointer in the function.
    Fp,
    /// The base register in the function, which the dynamic linker's own code
    /// uses where it binds a function at its first call.
    Bx,
}

/// What becomes of a register that a function has to give back unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SavedRegister {
    /// The function has not changed it.
    Same,
    /// It was saved at the frame's address plus an offset.
    AtCfa,
    /// It was saved at the stack pointer plus the offset.
    AtSp,
    /// It was saved at the frame pointer plus the offset.
    AtFp,
    /// Unknown.
    Lost,
}

/// How to find the caller of a function at one of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnwindRule {
    /// The frame's address: a register plus an offset…
    pub(super) cfa_base: Base,
    pub(super) cfa_offset: i32,
    /// …or the word there.
    pub(super) cfa_is_word: bool,
    /// Where the return address lies.
    pub(super) return_base: Base,
    pub(super) return_offset: i16,
    /// Where the caller's frame pointer lies.
    pub(super) fp: SavedRegister,
    pub(super) fp_offset: i32,
    /// Where the caller's base register lies.
    pub(super) bx: SavedRegister,
    pub(super) bx_offset: i16,
    /// The "return address" is the instruction that a signal interrupted, not
    /// the one after a call.
    pub(super) is_interrupted: bool,
}

/// What is known about a program counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownCode<'a> {
    pub(super) module: ModuleId,
    /// None: the outermost frame, or one whose caller cannot be found.
    pub(super) rule: Option<&'a UnwindRule>,
}

/// A program counter: whether it stands after a call, or where a signal came,
/// decides which instruction's rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pc {
    pub(super) address: usize,
    pub(super) is_interrupted: bool,
}

impl Pc {
    /// An address in the instruction that is being executed. A call may be the
    /// last one of its function, so the return address may belong to the next.
    pub(super) fn instruction(self) -> usize {
        self.address.wrapping_sub(usize::from(!self.is_interrupted))
    }

    /// Never 0 for an address of code.
    fn key(self) -> u64 {
        (self.address as u64) << 1 | u64::from(self.is_interrupted)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    /// 0: free.
    key: u64,
    rule: UnwindRule,
    module: ModuleId,
    has_caller: bool,
}

const WAYS: usize = 4;
const SETS: usize = 1024;
/// Sets that are used at first: a page.
const FIRST_SETS: usize = 32;

/// The table; empty when all zero.
pub(super) struct UnwindRules {
    sets: [[Entry; WAYS]; SETS],
    /// The entry of a full set that makes room next.
    oldest: u8,
    has_entries: bool,
    /// How often the number of sets in use was doubled.
    n_doublings: u8,
}

impl UnwindRules {
    /// What is known about a program counter.
    #[inline]
    pub(super) fn get(&self, pc: Pc) -> Option<KnownCode<'_>> {
        let key = pc.key();
        let set = self.sets.get(self.set_of(key))?;
        let entry = set.iter().find(|entry| entry.key == key)?;
        Some(KnownCode { module: entry.module, rule: entry.has_caller.then_some(&entry.rule) })
    }

    /// Keeps what was found out.
    pub(super) fn insert(&mut self, pc: Pc, module: ModuleId, rule: Option<UnwindRule>) {
        let key = pc.key();
        let is_full = |set: &[Entry; WAYS]| set.iter().all(|entry| entry.key != 0);
        if self.n_sets() < SETS && self.sets.get(self.set_of(key)).is_some_and(is_full) {
            self.n_doublings += 1;
        }
        let place = self.set_of(key);
        let Some(set) = self.sets.get_mut(place) else { return };
        let free = set.iter().position(|entry| entry.key == 0);
        let way = free.unwrap_or_else(|| {
            self.oldest = self.oldest.wrapping_add(1);
            usize::from(self.oldest) % WAYS
        });
        if let Some(entry) = set.get_mut(way) {
            self.has_entries = true;
            (entry.key, entry.module, entry.has_caller) = (key, module, rule.is_some());
            if let Some(rule) = rule {
                entry.rule = rule;
            }
        }
    }

    /// Starts over. An empty table is not written to, see `Paths::clear`.
    pub(super) fn clear(&mut self) {
        if !core::mem::take(&mut self.has_entries) {
            return;
        }
        let n_sets = self.n_sets();
        for set in self.sets.iter_mut().take(n_sets) {
            for entry in set {
                entry.key = 0;
            }
        }
    }

    fn n_sets(&self) -> usize {
        (FIRST_SETS << self.n_doublings).min(SETS)
    }

    #[inline]
    fn set_of(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.n_sets() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::zeroed;
    use super::*;

    #[test]
    fn a_rule_is_found_under_its_program_counter_and_kind() {
        // SAFETY: all zero is the empty table.
        let mut rules: Box<UnwindRules> = unsafe { zeroed() };
        let called = Pc { address: 0x1234, is_interrupted: false };
        let interrupted = Pc { is_interrupted: true, ..called };
        rules.insert(called, ModuleId::OUTSIDE, None);
        assert!(rules.get(called).is_some());
        assert!(rules.get(interrupted).is_none());
        rules.clear();
        assert!(rules.get(called).is_none());
    }

    #[test]
    fn a_full_table_keeps_what_is_new() {
        // SAFETY: all zero is the empty table.
        let mut rules: Box<UnwindRules> = unsafe { zeroed() };
        for address in 1..100_000 {
            let pc = Pc { address, is_interrupted: false };
            rules.insert(pc, ModuleId::OUTSIDE, None);
            assert!(rules.get(pc).is_some());
        }
    }

    #[test]
    fn an_entry_is_half_a_cache_line() {
        assert_eq!(size_of::<Entry>(), 32);
    }
}
