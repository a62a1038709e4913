// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the variables of a classic netCDF file lie, from its header.
//!
//! CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit data). The header is at the
//! beginning of the file and holds the dimensions, attributes and variables;
//! record variables interleave, one record of each after the other. Reading takes
//! as long as the header and believes nothing: a count never sizes an allocation
//! beyond what the bytes can hold.

use std::ops::Range;

use crate::part::Part;

/// The longest header that is looked at.
pub const MAX_HEADER_BYTES: usize = 1 << 20;
/// Ranges that one part is turned into at most; beyond, the bytes around all of it.
const MAX_RANGES: usize = 4096;

/// The variables of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicLayout {
    /// Bytes of the header.
    pub header_bytes: u64,
    variables: Vec<ClassicVariable>,
    record_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ClassicVariable {
    name: Box<str>,
    /// Lengths of its dimensions; the first of a record variable is the number of
    /// records.
    shape: Vec<u64>,
    is_record: bool,
    element_bytes: u64,
    begin: u64,
}

/// What reading a header came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderRead {
    /// All of it was there.
    Complete(ClassicLayout),
    /// It is longer than the bytes given.
    Truncated,
    /// It is no header of a classic file.
    Foreign,
}

impl ClassicLayout {
    /// Reads a header. `file_bytes` tells the number of records where the header
    /// does not.
    pub fn read(bytes: &[u8], file_bytes: u64) -> HeaderRead {
        let width = match bytes.get(..4) {
            Some([b'C', b'D', b'F', 1]) => Width { count: 4, offset: 4 },
            Some([b'C', b'D', b'F', 2]) => Width { count: 4, offset: 8 },
            Some([b'C', b'D', b'F', 5]) => Width { count: 8, offset: 8 },
            None if bytes.is_empty() || b"CDF".starts_with(&bytes[..bytes.len().min(3)]) => {
                return HeaderRead::Truncated;
            }
            _ => return HeaderRead::Foreign,
        };
        let mut reader = Reader { bytes, at: 4, width, fault: None };
        let layout = reader.layout(file_bytes);
        match (layout, reader.fault) {
            (Some(layout), _) => HeaderRead::Complete(layout),
            (None, Some(Fault::Nonsense)) => HeaderRead::Foreign,
            (None, _) => HeaderRead::Truncated,
        }
    }

    /// How long a variable is along its dimensions.
    pub fn shape(&self, variable: &str) -> Option<&[u64]> {
        self.variable(variable).map(|variable| variable.shape.as_slice())
    }

    /// The names of the variables, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| &*variable.name)
    }

    /// The bytes that a part of a variable takes in the file, in the order in which
    /// they lie there.
    pub fn extents(&self, variable: &str, part: &Part) -> Vec<Range<u64>> {
        let Some(variable) = self.variable(variable) else { return Vec::new() };
        let ClassicVariable { shape, is_record, element_bytes, begin, .. } = variable;
        let whole = Part { starts: vec![0; shape.len()], counts: shape.clone(), strides: vec![] };
        let part = match part.starts.len() == shape.len() && !part.is_unbounded() {
            true => part,
            false => &whole,
        };
        let end = |d: usize| part.end(d).min(shape[d]);
        if (0..shape.len()).any(|d| part.starts[d] >= end(d)) {
            return Vec::new();
        }
        // Bytes from one element to the next, along each dimension.
        let mut steps = vec![*element_bytes; shape.len()];
        for d in (0..shape.len().saturating_sub(1)).rev() {
            steps[d] = steps[d + 1].saturating_mul(shape[d + 1]);
        }
        if *is_record {
            steps[0] = self.record_bytes;
        }
        // Where a part is whole along its inner dimensions, it is one run of bytes for
        // each place along the outer ones. Records never adjoin.
        let fixed = usize::from(*is_record);
        let mut outer = shape.len().saturating_sub(1).max(fixed);
        while outer > fixed && part.starts[outer] == 0 && end(outer) == shape[outer] {
            outer -= 1;
        }
        let run_bytes = match shape.get(outer) {
            Some(_) => (end(outer) - part.starts[outer]).saturating_mul(steps[outer]),
            None => *element_bytes,
        };
        let n_runs = (0..outer).fold(1_u64, |n, d| n.saturating_mul(end(d) - part.starts[d]));
        let first = (0..shape.len())
            .fold(*begin, |at, d| at.saturating_add(part.starts[d].saturating_mul(steps[d])));
        if n_runs > MAX_RANGES as u64 {
            let last = (0..outer).fold(first, |at, d| {
                at.saturating_add((end(d) - 1 - part.starts[d]).saturating_mul(steps[d]))
            });
            return std::iter::once(first..last.saturating_add(run_bytes)).collect();
        }
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut place: Vec<u64> = part.starts[..outer].to_vec();
        for _ in 0..n_runs {
            let at = (0..outer).fold(first, |at, d| {
                at.saturating_add((place[d] - part.starts[d]).saturating_mul(steps[d]))
            });
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end = at.saturating_add(run_bytes),
                _ => ranges.push(at..at.saturating_add(run_bytes)),
            }
            for d in (0..outer).rev() {
                place[d] += 1;
                if place[d] < end(d) {
                    break;
                }
                place[d] = part.starts[d];
            }
        }
        ranges
    }

    fn variable(&self, name: &str) -> Option<&ClassicVariable> {
        self.variables.iter().find(|variable| &*variable.name == name)
    }
}

#[derive(Clone, Copy)]
struct Width {
    count: usize,
    offset: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Truncated,
    Nonsense,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    width: Width,
    fault: Option<Fault>,
}

const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

impl Reader<'_> {
    fn layout(&mut self, file_bytes: u64) -> Option<ClassicLayout> {
        let n_records = self.count()?;
        let n_dimensions = self.list(DIMENSIONS)?;
        let mut lengths = Vec::new();
        for _ in 0..n_dimensions {
            self.name()?;
            lengths.push(self.count()?);
        }
        self.attributes()?;
        let n_variables = self.list(VARIABLES)?;
        let mut variables = Vec::new();
        for _ in 0..n_variables {
            let name = self.name()?;
            let n_dimensions = self.count()?;
            let mut shape = Vec::new();
            for _ in 0..n_dimensions {
                let id = usize::try_from(self.count()?).ok();
                let length = id.and_then(|id| lengths.get(id).copied());
                shape.push(length.or_else(|| self.nonsense())?);
            }
            self.attributes()?;
            let kind = self.number()?;
            let element_bytes = element_bytes(kind).or_else(|| self.nonsense())?;
            self.count()?;
            let begin = self.unsigned(self.width.offset)?;
            let is_record = shape.first() == Some(&0);
            variables.push(ClassicVariable { name, shape, is_record, element_bytes, begin });
        }
        let header_bytes = self.at as u64;
        Some(assemble(variables, n_records, header_bytes, file_bytes))
    }

    fn attributes(&mut self) -> Option<()> {
        for _ in 0..self.list(ATTRIBUTES)? {
            self.name()?;
            let kind = self.number()?;
            let size = element_bytes(kind).or_else(|| self.nonsense())?;
            let n = self.count()?;
            self.skip_padded(n.saturating_mul(size))?;
        }
        Some(())
    }

    /// How many a list has; an absent one is two zeros.
    fn list(&mut self, tag: u32) -> Option<u64> {
        let found = self.number()?;
        let n = self.count()?;
        match (found == tag, found == 0 && n == 0) {
            (true, _) => Some(n),
            (_, true) => Some(0),
            _ => self.nonsense(),
        }
    }

    fn name(&mut self) -> Option<Box<str>> {
        let length = self.count()?;
        let start = self.at;
        self.skip_padded(length)?;
        let bytes = &self.bytes[start..start + length as usize];
        Some(String::from_utf8_lossy(bytes).into())
    }

    fn skip_padded(&mut self, bytes: u64) -> Option<()> {
        let padded = bytes.checked_next_multiple_of(4).or_else(|| self.nonsense())?;
        let end = usize::try_from(padded).ok().and_then(|padded| self.at.checked_add(padded));
        match end.filter(|end| *end <= self.bytes.len()) {
            Some(end) => {
                self.at = end;
                Some(())
            }
            None if bytes > MAX_HEADER_BYTES as u64 => self.nonsense(),
            None => self.truncated(),
        }
    }

    fn count(&mut self) -> Option<u64> {
        self.unsigned(self.width.count)
    }

    fn number(&mut self) -> Option<u32> {
        self.unsigned(4).map(|number| number as u32)
    }

    fn unsigned(&mut self, width: usize) -> Option<u64> {
        let Some(bytes) = self.bytes.get(self.at..self.at + width) else {
            return self.truncated();
        };
        self.at += width;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn nonsense<T>(&mut self) -> Option<T> {
        self.fault.get_or_insert(Fault::Nonsense);
        None
    }

    fn truncated<T>(&mut self) -> Option<T> {
        self.fault.get_or_insert(Fault::Truncated);
        None
    }
}

/// Bytes of an element of a type of netCDF.
fn element_bytes(kind: u32) -> Option<u64> {
    match kind {
        1 | 2 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 5 | 9 => Some(4),
        6 | 10 | 11 => Some(8),
        _ => None,
    }
}

fn assemble(
    mut variables: Vec<ClassicVariable>,
    n_records: u64,
    header_bytes: u64,
    file_bytes: u64,
) -> ClassicLayout {
    let one_record = |variable: &ClassicVariable| {
        variable.shape[1..]
            .iter()
            .fold(variable.element_bytes, |n, length| n.saturating_mul(*length))
    };
    let records: Vec<u64> =
        variables.iter().filter(|variable| variable.is_record).map(one_record).collect();
    // The records of a single variable are not padded.
    let record_bytes = match records.as_slice() {
        [one] => *one,
        all => all.iter().fold(0, |sum: u64, bytes| {
            sum.saturating_add(bytes.checked_next_multiple_of(4).unwrap_or(u64::MAX))
        }),
    };
    let first = variables.iter().filter(|variable| variable.is_record).map(|it| it.begin).min();
    let behind = file_bytes.saturating_sub(first.unwrap_or(file_bytes));
    // All ones: the file was streamed, and its length tells.
    let is_streamed = n_records == u64::from(u32::MAX) || n_records == u64::MAX;
    let n_records = match is_streamed {
        true => behind.checked_div(record_bytes).unwrap_or(0),
        false => n_records,
    };
    for variable in variables.iter_mut().filter(|variable| variable.is_record) {
        variable.shape[0] = n_records;
    }
    ClassicLayout { header_bytes, variables, record_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header in the making, of any of the three formats.
    struct Writer {
        bytes: Vec<u8>,
        version: u8,
    }

    impl Writer {
        fn count(&mut self, n: u64) {
            let width = if self.version == 5 { 8 } else { 4 };
            self.bytes.extend(&n.to_be_bytes()[8 - width..]);
        }

        fn offset(&mut self, n: u64) {
            let width = if self.version == 1 { 4 } else { 8 };
            self.bytes.extend(&n.to_be_bytes()[8 - width..]);
        }

        fn tag(&mut self, n: u32) {
            self.bytes.extend(n.to_be_bytes());
        }

        fn name(&mut self, name: &str) {
            self.count(name.len() as u64);
            self.bytes.extend(name.as_bytes());
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        }
    }

    /// time (records), x of 3 and y of 5; a(time, x) of bytes, b(x, y) of floats,
    /// c(time, y) of doubles.
    fn header(version: u8) -> Vec<u8> {
        let mut writer = Writer { bytes: vec![b'C', b'D', b'F', version], version };
        writer.count(7);
        writer.tag(DIMENSIONS);
        writer.count(3);
        for (name, length) in [("time", 0), ("x", 3), ("y", 5)] {
            writer.name(name);
            writer.count(length);
        }
        writer.tag(ATTRIBUTES);
        writer.count(1);
        writer.name("title");
        writer.tag(2);
        writer.count(5);
        writer.bytes.extend(b"hello\0\0\0");
        writer.tag(VARIABLES);
        writer.count(3);
        for (name, dimensions, kind, begin) in
            [("a", [0, 1], 1, 1060), ("b", [1, 2], 5, 1000), ("c", [0, 2], 6, 1064)]
        {
            writer.name(name);
            writer.count(2);
            dimensions.into_iter().for_each(|id| writer.count(id));
            writer.tag(0);
            writer.count(0);
            writer.tag(kind);
            writer.count(0);
            writer.offset(begin);
        }
        writer.bytes
    }

    fn layout(version: u8) -> ClassicLayout {
        match ClassicLayout::read(&header(version), 5000) {
            HeaderRead::Complete(layout) => layout,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn variables_lie_where_the_header_says() {
        for version in [1, 2, 5] {
            let layout = layout(version);
            assert_eq!(layout.header_bytes, header(version).len() as u64);
            assert_eq!(layout.names().collect::<Vec<_>>(), ["a", "b", "c"]);
            assert_eq!(layout.shape("a"), Some([7, 3].as_slice()));
            assert_eq!(layout.shape("nothing"), None);
            // A record is 3 bytes of a, one of padding, and 40 of c.
            let check = |variable: &str, selection: &str, expected: &[Range<u64>]| {
                let extents = layout.extents(variable, &Part::of_selection(selection));
                assert_eq!(extents, expected, "{variable} {selection}");
            };
            check("b", "", std::slice::from_ref(&(1000..1060)));
            check("b", "start=1:0 count=2:5", std::slice::from_ref(&(1020..1060)));
            check("b", "start=0:1 count=2:2", &[1004..1012, 1024..1032]);
            check("a", "start=2:0 count=1:3", std::slice::from_ref(&(1148..1151)));
            check("c", "start=5:0 count=2:5", &[1284..1324, 1328..1368]);
            check("c", "start=5:1 count=1:2", std::slice::from_ref(&(1292..1308)));
            check("c", "start=7:0 count=1:5", &[]);
            assert_eq!(layout.extents("c", &Part::default()).len(), 7);
        }
    }

    #[test]
    fn extents_are_the_bytes_of_the_elements() {
        // The naive twin: element by element.
        let layout = layout(2);
        for selection in ["start=0:0 count=3:5", "start=1:2 count=2:3", "start=2:0 count=1:1"] {
            let part = Part::of_selection(selection);
            let mut naive = std::collections::BTreeSet::new();
            for x in part.starts[0]..part.end(0) {
                for y in part.starts[1]..part.end(1) {
                    naive.extend((0..4).map(|byte| 1000 + (x * 5 + y) * 4 + byte));
                }
            }
            let extents = layout.extents("b", &part);
            let fast: std::collections::BTreeSet<u64> = extents.into_iter().flatten().collect();
            assert_eq!(fast, naive, "{selection}");
        }
    }

    #[test]
    fn damaged_headers_are_no_layout() {
        for version in [1, 2, 5] {
            let whole = header(version);
            for length in 0..whole.len() {
                let read = ClassicLayout::read(&whole[..length], 5000);
                assert_eq!(read, HeaderRead::Truncated, "{length} bytes");
            }
            // No byte may make it panic or take for ever.
            for place in 4..whole.len() {
                for value in [0, 1, 0x7f, 0xff] {
                    let mut damaged = whole.clone();
                    damaged[place] = value;
                    if let HeaderRead::Complete(layout) = ClassicLayout::read(&damaged, 5000) {
                        let names: Vec<String> = layout.names().map(str::to_owned).collect();
                        for name in names {
                            layout.extents(&name, &Part::default());
                        }
                    }
                }
            }
        }
        assert_eq!(ClassicLayout::read(b"\x89HDF\r\n", 100), HeaderRead::Foreign);
        assert_eq!(ClassicLayout::read(b"CDF\x03", 100), HeaderRead::Foreign);
    }
}
