// SPDX-License-Identifier: MIT OR Apache-2.0

//! The header of a classic netCDF file (CDF-1, CDF-2 and CDF-5), and which bytes
//! the parts of its variables take.
//!
//! The format is in the appendix of the netCDF User's Guide and in PnetCDF's
//! description of CDF-5. Only what is needed to find bytes is kept: attributes
//! are skipped, and sizes are computed from the dimensions, because the stored
//! ones do not hold large variables. A header is read from a prefix of the file;
//! if the prefix is too short, [`ClassicHeaderError::Truncated`] says so.

use std::ops::Range;

/// Maximum number of dimensions of a variable, as in the library.
const MAX_DIMENSIONS: usize = 1024;
/// The number of records of a file that is still being written.
const STREAMING_32: u64 = u32::MAX as u64;

const DIMENSIONS: u32 = 0x0a;
const VARIABLES: u32 = 0x0b;
const ATTRIBUTES: u32 = 0x0c;

/// Where the variables of a classic netCDF file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicHeader {
    /// Version: 1, 2 or 5.
    pub version: u8,
    /// Records that have been written; none if the header does not say.
    pub n_records: Option<u64>,
    /// Bytes from one record of a variable to its next.
    pub record_bytes: u64,
    /// Bytes of the header.
    pub header_bytes: u64,
    /// In the order of their definition.
    pub variables: Vec<ClassicVariable>,
}

/// A variable of a classic netCDF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicVariable {
    /// Its name.
    pub name: String,
    /// Where it, or its first record, begins.
    pub begin: u64,
    /// Length of each dimension; 0 for that of the records.
    pub shape: Vec<u64>,
    /// Bytes of one value.
    pub value_bytes: u64,
    /// Bytes of the variable, or of one record of it, without padding.
    pub bytes: u64,
    /// Whether it grows with the records.
    pub is_record: bool,
}

/// Why a header could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassicHeaderError {
    /// The file is of another format.
    NotClassic,
    /// The header is longer than these bytes.
    Truncated,
    /// It contradicts itself.
    Malformed(&'static str),
}

impl std::fmt::Display for ClassicHeaderError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClassicHeaderError::NotClassic => formatter.write_str("not a classic netCDF file"),
            ClassicHeaderError::Truncated => formatter.write_str("the header is cut off"),
            ClassicHeaderError::Malformed(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for ClassicHeaderError {}

impl ClassicHeader {
    /// Reads the header at the beginning of these bytes.
    pub fn parse(bytes: &[u8]) -> Result<ClassicHeader, ClassicHeaderError> {
        let mut input = Input::new(bytes)?;
        let n_records = match input.count()? {
            STREAMING_32 if input.version != 5 => None,
            u64::MAX => None,
            n => Some(n),
        };
        let n_dimensions = input.list(DIMENSIONS)?;
        let mut lengths = Vec::new();
        for _ in 0..n_dimensions {
            input.name()?;
            lengths.push(input.count()?);
        }
        input.attributes()?;
        let n_variables = input.list(VARIABLES)?;
        let mut variables = Vec::new();
        for _ in 0..n_variables {
            variables.push(input.variable(&lengths)?);
        }
        let record_bytes = record_bytes(&variables)?;
        let header_bytes = input.at as u64;
        Ok(ClassicHeader {
            version: input.version,
            n_records,
            record_bytes,
            header_bytes,
            variables,
        })
    }

    /// A variable by its name.
    pub fn variable(&self, name: &str) -> Option<&ClassicVariable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// The bytes of a part of a variable: from `start` on, `count` values along each
    /// dimension, as in `nc_get_vara`. Ranges are in the order of the file, neighbours
    /// joined; no more than `at_most` are found. None if the part does not fit the
    /// variable.
    pub fn extents(
        &self,
        variable: &ClassicVariable,
        start: &[u64],
        count: &[u64],
        at_most: usize,
    ) -> Option<Vec<Range<u64>>> {
        let shape = &variable.shape;
        if start.len() != shape.len() || count.len() != shape.len() {
            return None;
        }
        let fits = |place: usize| {
            let is_open = place == 0 && variable.is_record;
            let end = start[place].checked_add(count[place]);
            is_open || end.is_some_and(|end| end <= shape[place])
        };
        if !(0..shape.len()).all(fits) {
            return None;
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        if count.contains(&0) {
            return Some(ranges);
        }
        let strides = self.strides(variable)?;
        // The last dimensions that are taken whole are one piece in the file.
        let mut n_outer = shape.len();
        let mut piece = variable.value_bytes;
        while n_outer > 0 && strides[n_outer - 1] == piece {
            let place = n_outer - 1;
            piece = piece.checked_mul(count[place])?;
            n_outer -= 1;
            let is_whole = count[place] == shape[place] || place == 0;
            if !is_whole {
                break;
            }
        }
        let mut first = variable.begin;
        for (&at, &stride) in start.iter().zip(&strides) {
            first = first.checked_add(at.checked_mul(stride)?)?;
        }
        let mut index = vec![0; n_outer];
        loop {
            let mut from = first;
            for (&at, &stride) in index.iter().zip(&strides) {
                from = from.checked_add(u64::checked_mul(at, stride)?)?;
            }
            let to = from.checked_add(piece)?;
            let n_found = ranges.len();
            match ranges.last_mut() {
                Some(last) if last.end == from => last.end = to,
                _ if n_found >= at_most => return Some(ranges),
                _ => ranges.push(from..to),
            }
            let Some(place) = (0..n_outer).rev().find(|&place| index[place] + 1 < count[place])
            else {
                return Some(ranges);
            };
            index[place] += 1;
            index[place + 1..].fill(0);
        }
    }

    /// Bytes between neighbours along each dimension.
    fn strides(&self, variable: &ClassicVariable) -> Option<Vec<u64>> {
        let mut strides = vec![0; variable.shape.len()];
        let mut stride = variable.value_bytes;
        for (place, &length) in variable.shape.iter().enumerate().rev() {
            let is_record = place == 0 && variable.is_record;
            strides[place] = if is_record { self.record_bytes } else { stride };
            stride = if is_record { stride } else { stride.checked_mul(length)? };
        }
        Some(strides)
    }
}

/// Bytes of a record of all variables. Each part is padded to four bytes, except
/// where there is only one.
fn record_bytes(variables: &[ClassicVariable]) -> Result<u64, ClassicHeaderError> {
    let records: Vec<u64> =
        variables.iter().filter(|it| it.is_record).map(|variable| variable.bytes).collect();
    if let [only] = records[..] {
        return Ok(only);
    }
    records
        .into_iter()
        .try_fold(0u64, |sum, bytes| sum.checked_add(bytes.checked_next_multiple_of(4)?))
        .ok_or(ClassicHeaderError::Malformed("the records are too large"))
}

/// The bytes that are left to read.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u8,
}

impl<'a> Input<'a> {
    fn new(bytes: &'a [u8]) -> Result<Input<'a>, ClassicHeaderError> {
        match bytes {
            [b'C', b'D', b'F', version @ (1 | 2 | 5), ..] => {
                Ok(Input { bytes, at: 4, version: *version })
            }
            [b'C', b'D', b'F'] | [b'C', b'D'] | [b'C'] | [] => Err(ClassicHeaderError::Truncated),
            _ => Err(ClassicHeaderError::NotClassic),
        }
    }

    fn take(&mut self, n_bytes: u64) -> Result<&'a [u8], ClassicHeaderError> {
        let left = &self.bytes[self.at..];
        let n_bytes = usize::try_from(n_bytes).map_err(|_| ClassicHeaderError::Truncated)?;
        let taken = left.get(..n_bytes).ok_or(ClassicHeaderError::Truncated)?;
        self.at += n_bytes;
        Ok(taken)
    }

    /// Bytes that are padded to a multiple of four.
    fn padded(&mut self, n_bytes: u64) -> Result<&'a [u8], ClassicHeaderError> {
        let whole = n_bytes.checked_next_multiple_of(4).ok_or(ClassicHeaderError::Truncated)?;
        Ok(&self.take(whole)?[..n_bytes as usize])
    }

    fn word(&mut self) -> Result<u32, ClassicHeaderError> {
        let bytes = self.take(4)?.try_into().expect("four bytes");
        Ok(u32::from_be_bytes(bytes))
    }

    fn long(&mut self) -> Result<u64, ClassicHeaderError> {
        let bytes = self.take(8)?.try_into().expect("eight bytes");
        Ok(u64::from_be_bytes(bytes))
    }

    /// A count, which has eight bytes in CDF-5.
    fn count(&mut self) -> Result<u64, ClassicHeaderError> {
        if self.version == 5 { self.long() } else { Ok(self.word()?.into()) }
    }

    /// The head of a list of this kind: how many elements it has. They are read one
    /// by one, so that a wrong number ends at the end of the bytes.
    fn list(&mut self, kind: u32) -> Result<u64, ClassicHeaderError> {
        let (tag, n) = (self.word()?, self.count()?);
        match (tag, n) {
            (0, 0) => Ok(0),
            (tag, n) if tag == kind => Ok(n),
            _ => Err(ClassicHeaderError::Malformed("a list of the header has the wrong kind")),
        }
    }

    fn name(&mut self) -> Result<String, ClassicHeaderError> {
        let n_bytes = self.count()?;
        Ok(String::from_utf8_lossy(self.padded(n_bytes)?).into_owned())
    }

    fn attributes(&mut self) -> Result<(), ClassicHeaderError> {
        for _ in 0..self.list(ATTRIBUTES)? {
            self.name()?;
            let value_bytes = value_bytes(self.word()?)?;
            let n_values = self.count()?;
            let bytes = n_values.checked_mul(value_bytes).ok_or(ClassicHeaderError::Truncated)?;
            self.padded(bytes)?;
        }
        Ok(())
    }

    fn variable(&mut self, lengths: &[u64]) -> Result<ClassicVariable, ClassicHeaderError> {
        let name = self.name()?;
        let n_dimensions = self.count()?;
        if n_dimensions > MAX_DIMENSIONS as u64 {
            return Err(ClassicHeaderError::Malformed("a variable has too many dimensions"));
        }
        let mut shape = Vec::new();
        for _ in 0..n_dimensions {
            let length = usize::try_from(self.count()?).ok().and_then(|id| lengths.get(id));
            let unknown = ClassicHeaderError::Malformed("a variable has an unknown dimension");
            shape.push(*length.ok_or(unknown)?);
        }
        self.attributes()?;
        let value_bytes = value_bytes(self.word()?)?;
        self.count()?;
        let begin = if self.version == 1 { self.word()?.into() } else { self.long()? };
        let is_record = shape.first() == Some(&0);
        let bytes = shape[usize::from(is_record)..]
            .iter()
            .try_fold(value_bytes, |bytes, &length| bytes.checked_mul(length))
            .ok_or(ClassicHeaderError::Malformed("a variable is too large"))?;
        Ok(ClassicVariable { name, begin, shape, value_bytes, bytes, is_record })
    }
}

/// Bytes of a value of an external type.
fn value_bytes(kind: u32) -> Result<u64, ClassicHeaderError> {
    match kind {
        1 | 2 | 7 => Ok(1),
        3 | 8 => Ok(2),
        4 | 5 | 9 => Ok(4),
        6 | 10 | 11 => Ok(8),
        _ => Err(ClassicHeaderError::Malformed("a value has an unknown type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes headers as the format says.
    struct Output {
        bytes: Vec<u8>,
        version: u8,
    }

    impl Output {
        fn word(&mut self, word: u32) {
            self.bytes.extend(word.to_be_bytes());
        }

        fn count(&mut self, n: u64) {
            match self.version {
                5 => self.bytes.extend(n.to_be_bytes()),
                _ => self.word(n as u32),
            }
        }

        fn name(&mut self, name: &str) {
            self.count(name.len() as u64);
            self.bytes.extend(name.as_bytes());
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        }

        fn head(&mut self, kind: u32, n: u64) {
            self.word(if n == 0 { 0 } else { kind });
            self.count(n);
        }
    }

    /// Dimensions time (of records), lat = 3, lon = 4; a fixed variable of shorts and
    /// `n` record variables, of floats but for the first, which has bytes.
    fn header(version: u8, n_record_variables: u64) -> Vec<u8> {
        let mut out = Output { bytes: vec![b'C', b'D', b'F', version], version };
        out.count(10);
        out.head(DIMENSIONS, 3);
        for (name, length) in [("time", 0), ("lat", 3), ("lon", 4)] {
            out.name(name);
            out.count(length);
        }
        out.head(ATTRIBUTES, 1);
        out.name("title");
        out.word(2);
        out.count(5);
        out.bytes.extend(b"hello\0\0\0");
        out.head(VARIABLES, 1 + n_record_variables);
        for n in 0..=n_record_variables {
            out.name(&format!("v{n}"));
            let dimensions: &[u64] = if n == 0 { &[1, 2] } else { &[0, 1, 2] };
            out.count(dimensions.len() as u64);
            dimensions.iter().for_each(|&id| out.count(id));
            out.head(ATTRIBUTES, 0);
            out.word([3, 1, 5][n.min(2) as usize]);
            out.count(0);
            match version {
                1 => out.word(1000 * (n as u32 + 1)),
                _ => out.bytes.extend((1000 * (n + 1)).to_be_bytes()),
            }
        }
        out.bytes
    }

    #[test]
    fn all_three_versions_say_the_same() {
        for version in [1, 2, 5] {
            let bytes = header(version, 3);
            let header = ClassicHeader::parse(&bytes).unwrap();
            assert_eq!((header.version, header.n_records), (version, Some(10)));
            assert_eq!(header.header_bytes, bytes.len() as u64);
            // 12 bytes and two times 48.
            assert_eq!(header.record_bytes, 108);
            let v2 = header.variable("v2").unwrap();
            assert_eq!((v2.begin, v2.bytes, v2.is_record), (3000, 48, true));
            assert_eq!(header.variable("v9"), None);
        }
    }

    #[test]
    fn parts_of_variables_become_ranges_of_bytes() {
        let header = ClassicHeader::parse(&header(2, 3)).unwrap();
        let check = |name: &str, start: &[u64], count: &[u64], expected: Option<&[(u64, u64)]>| {
            let variable = header.variable(name).unwrap();
            let found = header.extents(variable, start, count, 100).map(|ranges| {
                ranges.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
            });
            assert_eq!(found.as_deref(), expected, "{name} {start:?} {count:?}");
        };
        check("v0", &[0, 0], &[3, 4], Some(&[(1000, 1024)]));
        check("v0", &[1, 0], &[2, 4], Some(&[(1008, 1024)]));
        check("v0", &[1, 1], &[2, 2], Some(&[(1010, 1014), (1018, 1022)]));
        check("v0", &[1, 1], &[1, 4], None);
        check("v0", &[0, 0], &[0, 4], Some(&[]));
        check("v0", &[0], &[1], None);
        check("v2", &[2, 0, 0], &[2, 3, 4], Some(&[(3216, 3264), (3324, 3372)]));
        check("v2", &[1, 2, 1], &[1, 1, 2], Some(&[(3144, 3152)]));
        check("v2", &[u64::MAX, 0, 0], &[1, 3, 4], None);
    }

    #[test]
    fn a_single_variable_of_records_is_not_padded() {
        let header = ClassicHeader::parse(&header(1, 1)).unwrap();
        assert_eq!(header.record_bytes, 12);
        let variable = header.variable("v1").unwrap();
        let whole = header.extents(variable, &[0, 0, 0], &[10, 3, 4], 100).unwrap();
        assert_eq!(whole, vec![Range { start: 2000, end: 2120 }]);
        let piece = header.extents(variable, &[0, 0, 0], &[u64::MAX, 1, 4], 5).unwrap();
        assert_eq!(piece.len(), 5);
    }

    #[test]
    fn every_prefix_is_cut_off_and_no_change_of_a_byte_does_harm() {
        for version in [1, 2, 5] {
            let bytes = header(version, 2);
            for n in 0..bytes.len() {
                let parsed = ClassicHeader::parse(&bytes[..n]);
                assert_eq!(parsed, Err(ClassicHeaderError::Truncated), "{n}");
                for value in [0, 1, 0x7f, 0xff] {
                    let mut changed = bytes.clone();
                    changed[n] = value;
                    let Ok(header) = ClassicHeader::parse(&changed) else { continue };
                    for variable in &header.variables {
                        let n = variable.shape.len();
                        let _ = header.extents(variable, &vec![0; n], &vec![1; n], 10);
                        let _ = header.extents(variable, &vec![1; n], &vec![u64::MAX; n], 10);
                    }
                }
            }
        }
        assert_eq!(ClassicHeader::parse(b"\x89HDF"), Err(ClassicHeaderError::NotClassic));
    }
}
