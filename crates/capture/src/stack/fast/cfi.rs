// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns a module's `.eh_frame` into rules.
//!
//! gimli reads the tables and their instructions; the instructions are carried
//! out here, because we want to know of four registers only (frame address,
//! return address, frame pointer, base register), and gimli's rows of all
//! registers are too large for the stacks that we run on. Costs about a microsecond, once per
//! program counter.
//!
//! Not understood, so that the stack ends there: frame addresses that count
//! from other registers than the stack pointer, the frame pointer and, above a
//! signal handler, the base register (the first instructions of a function that
//! realigns its stack; a few routines written in assembly), and modules without
//! unwind tables.

use gimli::{
    BaseAddresses, CallFrameInstruction, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry,
    NativeEndian, Pointer, Register, UnwindExpression, UnwindSection,
};

use super::super::object::Object;
use super::expression::{Value, evaluate};
use super::rules::{Base, Pc, SavedRegister, UnwindRule};
use crate::arch::dwarf;

type Bytes<'a> = EndianSlice<'a, NativeEndian>;

/// How to find the caller of a frame of a module; None if there is none, or it is
/// unknown.
pub(super) fn rule(object: &Object, pc: Pc) -> Option<UnwindRule> {
    let (header_address, _) = object.parts(libc::PT_GNU_EH_FRAME).next()?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_address as u64);
    let header = EhFrameHdr::new(object.bytes_from(header_address), NativeEndian);
    let header = header.parse(&bases, 8).ok()?;
    let Pointer::Direct(frames_address) = header.eh_frame_ptr() else { return None };
    let bases = bases.set_eh_frame(frames_address);
    let frames = EhFrame::new(object.bytes_from(frames_address as usize), NativeEndian);
    let instruction = pc.instruction() as u64;
    let entry = header
        .table()?
        .fde_for_address(&frames, &bases, instruction, EhFrame::cie_from_offset)
        .ok()?;
    let row = row(&entry, &frames, &bases, instruction)?;
    row.rule(&entry, &frames, pc)
}

/// Where a register of the caller is.
#[derive(Clone, Copy)]
enum Saved {
    /// Where it was: the function has not changed it.
    Unchanged,
    /// Nowhere, like the return address of the outermost frame.
    Undefined,
    /// At the frame's address plus an offset.
    AtCfa(i64),
    /// At the address that an expression gives.
    AtExpression(UnwindExpression<usize>),
    /// In some other way.
    Otherwise,
}

#[derive(Clone, Copy)]
enum Cfa {
    Sum(Register, i64),
    Expression(UnwindExpression<usize>),
}

/// What holds at one instruction.
#[derive(Clone, Copy)]
struct Row {
    cfa: Cfa,
    return_address: Saved,
    fp: Saved,
    bx: Saved,
    sp: Saved,
}

const MAX_REMEMBERED: usize = 4;

/// Carries out the instructions of an entry up to an address.
fn row(
    entry: &FrameDescriptionEntry<Bytes<'_>>,
    frames: &EhFrame<Bytes<'_>>,
    bases: &BaseAddresses,
    instruction: u64,
) -> Option<Row> {
    let cie = entry.cie();
    if cie.return_address_register() != dwarf::PC {
        return None;
    }
    let none = Row {
        cfa: Cfa::Sum(Register(u16::MAX), 0),
        return_address: Saved::Unchanged,
        fp: Saved::Unchanged,
        bx: Saved::Unchanged,
        sp: Saved::Unchanged,
    };
    let mut machine = Machine {
        row: none,
        initial: none,
        remembered: [none; MAX_REMEMBERED],
        n_remembered: 0,
        location: entry.initial_address(),
        code_factor: cie.code_alignment_factor(),
        data_factor: cie.data_alignment_factor(),
    };
    let mut instructions = cie.instructions(frames, bases);
    while let Some(next) = instructions.next().ok()? {
        machine.carry_out(next)?;
    }
    machine.initial = machine.row;
    let mut instructions = entry.instructions(frames, bases);
    while let Some(next) = instructions.next().ok()? {
        machine.carry_out(next)?;
        // What moves the location changes nothing else.
        if machine.location > instruction {
            break;
        }
    }
    Some(machine.row)
}

struct Machine {
    row: Row,
    /// State after the initial instructions that all functions of the module share.
    initial: Row,
    remembered: [Row; MAX_REMEMBERED],
    n_remembered: usize,
    location: u64,
    code_factor: u64,
    data_factor: i64,
}

impl Machine {
    fn carry_out(&mut self, instruction: CallFrameInstruction<usize>) -> Option<()> {
        use CallFrameInstruction::*;
        let factored = |offset: i64| offset.wrapping_mul(self.data_factor);
        match instruction {
            SetLoc { address } => self.location = address,
            AdvanceLoc { delta } => {
                let bytes = u64::from(delta).wrapping_mul(self.code_factor);
                self.location = self.location.wrapping_add(bytes);
            }
            DefCfa { register, offset } => self.row.cfa = Cfa::Sum(register, offset as i64),
            DefCfaSf { register, factored_offset } => {
                self.row.cfa = Cfa::Sum(register, factored(factored_offset));
            }
            DefCfaRegister { register } => match &mut self.row.cfa {
                Cfa::Sum(old, _) => *old = register,
                Cfa::Expression(_) => return None,
            },
            DefCfaOffset { offset } => self.set_cfa_offset(offset as i64)?,
            DefCfaOffsetSf { factored_offset } => self.set_cfa_offset(factored(factored_offset))?,
            DefCfaExpression { expression } => self.row.cfa = Cfa::Expression(expression),
            Undefined { register } => self.save(register, Saved::Undefined),
            SameValue { register } => self.save(register, Saved::Unchanged),
            Offset { register, factored_offset } => {
                self.save(register, Saved::AtCfa(factored(factored_offset as i64)));
            }
            OffsetExtendedSf { register, factored_offset } => {
                self.save(register, Saved::AtCfa(factored(factored_offset)));
            }
            Expression { register, expression } => {
                self.save(register, Saved::AtExpression(expression));
            }
            ValOffset { register, .. }
            | ValOffsetSf { register, .. }
            | Register { dest_register: register, .. }
            | ValExpression { register, .. } => self.save(register, Saved::Otherwise),
            Restore { register } => self.save(register, self.initial.saved(register)),
            RememberState => {
                *self.remembered.get_mut(self.n_remembered)? = self.row;
                self.n_remembered += 1;
            }
            RestoreState => {
                self.n_remembered = self.n_remembered.checked_sub(1)?;
                self.row = *self.remembered.get(self.n_remembered)?;
            }
            ArgsSize { .. } | Nop => (),
            _ => return None,
        }
        Some(())
    }

    fn set_cfa_offset(&mut self, offset: i64) -> Option<()> {
        match &mut self.row.cfa {
            Cfa::Sum(_, old) => *old = offset,
            Cfa::Expression(_) => return None,
        }
        Some(())
    }

    fn save(&mut self, register: Register, saved: Saved) {
        match register {
            dwarf::PC => self.row.return_address = saved,
            dwarf::FP => self.row.fp = saved,
            dwarf::BX => self.row.bx = saved,
            dwarf::SP => self.row.sp = saved,
            _ => (),
        }
    }
}

impl Row {
    fn saved(&self, register: Register) -> Saved {
        match register {
            dwarf::PC => self.return_address,
            dwarf::FP => self.fp,
            dwarf::BX => self.bx,
            _ => self.sp,
        }
    }

    /// The row as a rule that needs no tables.
    fn rule(
        &self,
        entry: &FrameDescriptionEntry<Bytes<'_>>,
        frames: &EhFrame<Bytes<'_>>,
        pc: Pc,
    ) -> Option<UnwindRule> {
        let encoding = entry.cie().encoding();
        let evaluate = |expression: &UnwindExpression<usize>, first| {
            evaluate(expression.get(frames).ok()?.0, encoding, pc.address, first)
        };
        let place = |saved| match saved {
            Saved::AtCfa(offset) => Some((Base::Cfa, offset)),
            Saved::AtExpression(expression) => {
                match evaluate(&expression, Some(Value::Sum(Base::Cfa, 0)))? {
                    Value::Sum(base, offset) => Some((base, offset)),
                    _ => None,
                }
            }
            _ => None,
        };
        let (cfa_base, cfa_offset, cfa_is_word) = match self.cfa {
            Cfa::Sum(dwarf::SP, offset) => (Base::Sp, offset, false),
            Cfa::Sum(dwarf::FP, offset) => (Base::Fp, offset, false),
            Cfa::Sum(dwarf::BX, offset) => (Base::Bx, offset, false),
            Cfa::Sum(..) => return None,
            Cfa::Expression(expression) => match evaluate(&expression, None)? {
                Value::Sum(base, offset) => (base, offset, false),
                Value::WordAt(base, offset) => (base, offset, true),
                Value::Constant(_) => return None,
            },
        };
        // The caller's stack pointer is the frame's address. Signal frames say
        // so in another way: the word that is the frame's address is the saved
        // stack pointer.
        let sp_is_cfa = match self.sp {
            Saved::Unchanged | Saved::Undefined => true,
            saved => cfa_is_word && place(saved) == Some((cfa_base, cfa_offset)),
        };
        if !sp_is_cfa {
            return None;
        }
        let (return_base, return_offset) = place(self.return_address)?;
        let kept = |saved| match saved {
            Saved::Unchanged | Saved::Undefined => (SavedRegister::Same, 0),
            saved => match place(saved) {
                Some((Base::Cfa, offset)) => (SavedRegister::AtCfa, offset),
                Some((Base::Sp, offset)) => (SavedRegister::AtSp, offset),
                Some((Base::Fp, offset)) => (SavedRegister::AtFp, offset),
                Some((Base::Bx, _)) | None => (SavedRegister::Lost, 0),
            },
        };
        let (fp, fp_offset) = kept(self.fp);
        let (bx, bx_offset) = match kept(self.bx) {
            (bx, offset) if i16::try_from(offset).is_ok() => (bx, offset),
            _ => (SavedRegister::Lost, 0),
        };
        Some(UnwindRule {
            cfa_base,
            cfa_offset: cfa_offset.try_into().ok()?,
            cfa_is_word,
            return_base,
            return_offset: return_offset.try_into().ok()?,
            fp,
            fp_offset: fp_offset.try_into().ok()?,
            bx,
            bx_offset: bx_offset.try_into().ok()?,
            is_interrupted: entry.is_signal_trampoline(),
        })
    }
}
