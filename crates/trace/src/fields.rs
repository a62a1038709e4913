// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fields of a row: bytes between commas, and the numbers they spell.

use crate::error::{RowFault, excerpt};

/// Takes the fields of a row from left to right, without copying.
pub(crate) struct Fields<'a> {
    /// `None` once the last field is taken.
    rest: Option<&'a [u8]>,
    taken: usize,
    n_columns: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(line: &'a [u8], n_columns: usize) -> Fields<'a> {
        Fields { rest: Some(line), taken: 0, n_columns }
    }

    /// The bytes up to the next comma, or to the end of the line.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], RowFault> {
        let rest = self.rest.ok_or(self.too_few())?;
        self.taken += 1;
        match rest.iter().position(|&byte| byte == b',') {
            Some(comma) => {
                let (field, rest) = rest.split_at(comma);
                self.rest = rest.get(1..);
                Ok(field)
            }
            None => {
                self.rest = None;
                Ok(rest)
            }
        }
    }

    /// The rest of the line, commas included: the last column.
    pub(crate) fn text_to_end(&mut self, column: &'static str) -> Result<&'a str, RowFault> {
        let rest = self.rest.take().ok_or(self.too_few())?;
        std::str::from_utf8(rest).map_err(|_| RowFault::InvalidUtf8 { column })
    }

    /// The text up to the next comma.
    pub(crate) fn text(&mut self, column: &'static str) -> Result<&'a str, RowFault> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| RowFault::InvalidUtf8 { column })
    }

    /// The number of the last column: nothing may follow it.
    pub(crate) fn last_number(
        &mut self,
        column: &'static str,
        lowest: i64,
    ) -> Result<i64, RowFault> {
        let number = self.number(column, lowest)?;
        match self.rest {
            None => Ok(number),
            Some(rest) => Err(RowFault::NotANumber { column, found: excerpt(rest) }),
        }
    }

    /// The same for a number that names something.
    pub(crate) fn last_small(&mut self, column: &'static str) -> Result<u32, RowFault> {
        let number = self.small(column)?;
        match self.rest {
            None => Ok(number),
            Some(rest) => Err(RowFault::NotANumber { column, found: excerpt(rest) }),
        }
    }

    /// A whole number from `lowest` up, as large as a file offset may be.
    pub(crate) fn number(&mut self, column: &'static str, lowest: i64) -> Result<i64, RowFault> {
        self.number_within(column, lowest, i64::MAX)
    }

    /// A number that is never negative.
    pub(crate) fn count(&mut self, column: &'static str) -> Result<u64, RowFault> {
        self.number(column, 0).map(i64::unsigned_abs)
    }

    /// A number that names something: a rank, a thread, a row of a table.
    pub(crate) fn small(&mut self, column: &'static str) -> Result<u32, RowFault> {
        self.small_from(column, 0)
    }

    /// The same, from `lowest` up.
    pub(crate) fn small_from(
        &mut self,
        column: &'static str,
        lowest: u32,
    ) -> Result<u32, RowFault> {
        let number = self.number_within(column, i64::from(lowest), i64::from(u32::MAX))?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn number_within(
        &mut self,
        column: &'static str,
        lowest: i64,
        highest: i64,
    ) -> Result<i64, RowFault> {
        let field = self.bytes()?;
        match parse(field) {
            Parsed::Number(number) if (lowest..=highest).contains(&number) => Ok(number),
            Parsed::Number(_) | Parsed::TooLarge => {
                Err(RowFault::OutOfRange { column, found: excerpt(field), lowest, highest })
            }
            Parsed::Other => Err(RowFault::NotANumber { column, found: excerpt(field) }),
        }
    }

    fn too_few(&self) -> RowFault {
        RowFault::FieldCount { expected: self.n_columns, found: self.taken }
    }
}

enum Parsed {
    Number(i64),
    TooLarge,
    Other,
}

fn parse(field: &[u8]) -> Parsed {
    let (negative, digits) = match field.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, field),
    };
    if digits.is_empty() {
        return Parsed::Other;
    }
    let mut number = Some(0_i64);
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Parsed::Other;
        }
        let digit = i64::from(byte - b'0');
        number = number.and_then(|number| number.checked_mul(10)?.checked_add(digit));
    }
    match number {
        Some(number) => Parsed::Number(if negative { -number } else { number }),
        None => Parsed::TooLarge,
    }
}
