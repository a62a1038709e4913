// SPDX-License-Identifier: MIT OR Apache-2.0

//! DWARF expressions of unwind tables, evaluated once per address.
//!
//! Compilers use them where a register and an offset are not enough: realigned stacks,
//! signal frames, procedure linkage tables. Since the result is kept for one program
//! counter, that one is a number here; the stack and frame pointers stay unknown. So an
//! expression becomes "register plus offset", or the word at that place, or it is not
//! understood.

use gimli::{Encoding, EndianSlice, NativeEndian, Operation, Reader, Register};

use super::rules::Base;
use crate::arch::dwarf;

/// What an expression stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number.
    Constant(u64),
    /// A register plus an offset.
    Sum(Base, i64),
    /// The word at such a place.
    WordAt(Base, i64),
}

const MAX_OPERANDS: usize = 8;

struct Stack {
    values: [Value; MAX_OPERANDS],
    n_values: usize,
}

impl Stack {
    fn push(&mut self, value: Value) -> Option<()> {
        *self.values.get_mut(self.n_values)? = value;
        self.n_values += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<Value> {
        self.n_values = self.n_values.checked_sub(1)?;
        self.values.get(self.n_values).copied()
    }

    fn combine(&mut self, operation: impl FnOnce(u64, u64) -> u64) -> Option<()> {
        match (self.pop()?, self.pop()?) {
            (Value::Constant(right), Value::Constant(left)) => {
                self.push(Value::Constant(operation(left, right)))
            }
            _ => None,
        }
    }
}

/// Evaluates an expression for a program counter. `first` is what the stack of
/// operands begins with: rules for registers begin with the frame's address.
pub(super) fn evaluate(
    mut bytes: EndianSlice<'_, NativeEndian>,
    encoding: Encoding,
    pc: usize,
    first: Option<Value>,
) -> Option<Value> {
    let mut stack = Stack { values: [Value::Constant(0); MAX_OPERANDS], n_values: 0 };
    if let Some(first) = first {
        stack.push(first)?;
    }
    while !bytes.is_empty() {
        match Operation::parse(&mut bytes, encoding).ok()? {
            Operation::RegisterOffset { register, offset, .. } => {
                stack.push(register_plus(register, offset, pc)?)?;
            }
            Operation::UnsignedConstant { value } => stack.push(Value::Constant(value))?,
            Operation::SignedConstant { value } => stack.push(Value::Constant(value as u64))?,
            Operation::PlusConstant { value } => {
                let sum = add(stack.pop()?, Value::Constant(value))?;
                stack.push(sum)?;
            }
            Operation::Plus => {
                let sum = add(stack.pop()?, stack.pop()?)?;
                stack.push(sum)?;
            }
            Operation::Deref { size: 8, space: false, .. } => match stack.pop()? {
                Value::Sum(base, offset) => stack.push(Value::WordAt(base, offset))?,
                _ => return None,
            },
            Operation::And => stack.combine(|left, right| left & right)?,
            Operation::Minus => stack.combine(u64::wrapping_sub)?,
            Operation::Shl => stack.combine(|left, right| left.wrapping_shl(right as u32))?,
            Operation::Ge => stack.combine(|left, right| u64::from(left as i64 >= right as i64))?,
            Operation::Nop => (),
            _ => return None,
        }
    }
    stack.pop()
}

fn register_plus(register: Register, offset: i64, pc: usize) -> Option<Value> {
    match register {
        dwarf::SP => Some(Value::Sum(Base::Sp, offset)),
        dwarf::FP => Some(Value::Sum(Base::Fp, offset)),
        dwarf::PC => Some(Value::Constant((pc as u64).wrapping_add_signed(offset))),
        _ => None,
    }
}

fn add(left: Value, right: Value) -> Option<Value> {
    match (left, right) {
        (Value::Constant(left), Value::Constant(right)) => {
            Some(Value::Constant(left.wrapping_add(right)))
        }
        (Value::Sum(base, offset), Value::Constant(constant))
        | (Value::Constant(constant), Value::Sum(base, offset)) => {
            Some(Value::Sum(base, offset.wrapping_add_unsigned(constant)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], pc: usize, expected: Option<Value>) {
        let encoding = Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
        let first = Some(Value::Sum(Base::Cfa, 0));
        assert_eq!(evaluate(EndianSlice::new(bytes, NativeEndian), encoding, pc, first), expected);
    }

    #[test]
    fn the_frame_of_a_realigned_function_is_a_word_on_its_stack() {
        // breg6 -16; deref
        check(&[0x76, 0x70, 0x06], 0, Some(Value::WordAt(Base::Fp, -16)));
    }

    #[test]
    fn a_linkage_table_entry_is_decided_by_the_program_counter() {
        // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
        let plt = [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        check(&plt, 0x1000, Some(Value::Sum(Base::Sp, 8)));
        check(&plt, 0x100b, Some(Value::Sum(Base::Sp, 16)));
    }

    #[test]
    fn what_is_not_understood_is_no_value() {
        check(&[0x73, 0x00], 0, None); // breg3
        check(&[0x06, 0x06], 0, None); // a word at a word
        check(&[0x22], 0, None); // an operand is missing
        check(&[0x76], 0, None); // cut off
        check(&[0x31; 20], 0, None); // too many operands
    }
}
