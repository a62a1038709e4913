// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads tables of requests: CSV with the header `time_ns,file,op,offset,size`,
//! plain or compressed with zstd, in constant memory.
//!
//! A file is a number or any other text, which may hold commas: of a row the
//! first field is the time, the last three are op, offset and size, and what is
//! between them is the file. `op` is `r` or `w`.

use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use foldhash::quality::FixedState;

use crate::error::{PatternError, RequestFault, excerpt};
use crate::request::{Request, RequestKind};

/// The first line of a table of requests.
pub const REQUESTS_HEADER: &str = "time_ns,file,op,offset,size";

/// The longest line that is read; paths have 4,096 bytes at most.
const MAX_LINE_BYTES: usize = 8192;

const BUFFER_BYTES: usize = 128 * 1024;

/// 128 MiB: a hostile frame cannot demand gigabytes.
const MAX_WINDOW_LOG: u32 = 27;

/// The requests of a table, one after the other; nothing after an error.
pub struct RequestReader {
    path: Arc<str>,
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    number: u64,
    ended: bool,
}

impl RequestReader {
    /// Opens a file; one whose name ends in `.zst` is compressed.
    pub fn open(path: &Path) -> Result<RequestReader, PatternError> {
        let name: Arc<str> = path.to_string_lossy().into();
        let unreadable = |source| PatternError::Unreadable { path: name.clone(), source };
        // Opening a pipe would wait for its writer.
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(unreadable(io::Error::other("it is not a regular file")));
        }
        let file = File::open(path).map_err(unreadable)?;
        if path.extension().is_some_and(|extension| extension == "zst") {
            RequestReader::compressed(&name, file)
        } else {
            RequestReader::plain(&name, file)
        }
    }

    /// Reads a table that is not compressed; messages call it by `name`.
    pub fn plain(
        name: &str,
        bytes: impl Read + Send + 'static,
    ) -> Result<RequestReader, PatternError> {
        RequestReader::new(name, Box::new(BufReader::with_capacity(BUFFER_BYTES, bytes)))
    }

    /// Reads one that is compressed with zstd.
    pub fn compressed(
        name: &str,
        bytes: impl Read + Send + 'static,
    ) -> Result<RequestReader, PatternError> {
        let unreadable = |source| PatternError::Unreadable { path: name.into(), source };
        let mut decoder = zstd::Decoder::new(bytes).map_err(unreadable)?;
        decoder.window_log_max(MAX_WINDOW_LOG).map_err(unreadable)?;
        RequestReader::new(name, Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)))
    }

    fn new(name: &str, reader: Box<dyn BufRead + Send>) -> Result<RequestReader, PatternError> {
        let (path, line) = (Arc::from(name), Vec::new());
        let mut reader = RequestReader { path, reader, line, number: 0, ended: false };
        let found = reader.next_line()?.unwrap_or_default();
        if found != REQUESTS_HEADER.as_bytes() {
            let found = excerpt(found);
            return Err(PatternError::Header {
                path: reader.path,
                expected: REQUESTS_HEADER,
                found,
            });
        }
        Ok(reader)
    }

    /// The next line without its end.
    fn next_line(&mut self) -> Result<Option<&[u8]>, PatternError> {
        self.line.clear();
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES as u64);
        let n_read = limited.read_until(b'\n', &mut self.line);
        match n_read.map_err(|error| self.stream_error(error))? {
            0 => return Ok(None),
            _ => self.number += 1,
        }
        if self.line.len() == MAX_LINE_BYTES && !self.line.ends_with(b"\n") {
            return Err(self.row_error(RequestFault::LineTooLong { limit: MAX_LINE_BYTES }));
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    fn next_request(&mut self) -> Result<Option<Request>, PatternError> {
        // Empty lines, as some tools leave at the end, say nothing.
        loop {
            match self.next_line()? {
                None => return Ok(None),
                Some([]) => {}
                Some(line) => match parse(line) {
                    Ok(request) => return Ok(Some(request)),
                    Err(fault) => return Err(self.row_error(fault)),
                },
            }
        }
    }

    fn row_error(&self, fault: RequestFault) -> PatternError {
        PatternError::Row { path: self.path.clone(), line: self.number, fault }
    }

    fn stream_error(&self, error: io::Error) -> PatternError {
        let path = self.path.clone();
        if error.raw_os_error().is_some() {
            return PatternError::Unreadable { path, source: error };
        }
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it is cut off".into(),
            _ => error.to_string().into(),
        };
        PatternError::Damaged { path, line: self.number, reason }
    }
}

impl Iterator for RequestReader {
    type Item = Result<Request, PatternError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_request().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn parse(line: &[u8]) -> Result<Request, RequestFault> {
    let n_fields = 1 + line.iter().filter(|&&byte| byte == b',').count();
    if n_fields < 5 {
        return Err(RequestFault::FieldCount { found: n_fields });
    }
    let mut from_end = line.rsplitn(4, |&byte| byte == b',');
    let mut last = || from_end.next().unwrap_or_default();
    let (size, offset, op, rest) = (last(), last(), last(), last());
    let comma = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
    let (time_ns, file) = (&rest[..comma], rest.get(comma + 1..).unwrap_or_default());
    Ok(Request {
        time_ns: number("time_ns", time_ns)?,
        file: digits(file).unwrap_or_else(|| FixedState::default().hash_one(file)),
        kind: match op {
            b"r" => RequestKind::Read,
            b"w" => RequestKind::Write,
            _ => return Err(RequestFault::UnknownKind { found: excerpt(op) }),
        },
        offset: number("offset", offset)?,
        size: number("size", size)?,
    })
}

fn number(column: &'static str, field: &[u8]) -> Result<u64, RequestFault> {
    digits(field).ok_or_else(|| RequestFault::NotANumber { column, found: excerpt(field) })
}

fn digits(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &'static str) -> Result<Vec<Request>, String> {
        let reader = RequestReader::plain("server.csv", table.as_bytes());
        let requests = reader.and_then(Iterator::collect::<Result<Vec<Request>, PatternError>>);
        requests.map_err(|error| error.to_string())
    }

    #[test]
    fn rows_become_requests() {
        let requests =
            read("time_ns,file,op,offset,size\r\n5,7,r,0,4096\r\n6,/a,b,w,1,0\n\n").unwrap();
        let first = Request { time_ns: 5, file: 7, kind: RequestKind::Read, offset: 0, size: 4096 };
        assert_eq!(requests[0], first);
        assert_eq!(
            (requests[1].kind, requests[1].offset, requests[1].size),
            (RequestKind::Write, 1, 0)
        );
        assert_eq!(requests.len(), 2);
    }

    #[test]
    fn the_largest_numbers_are_numbers() {
        let requests = read(
            "time_ns,file,op,offset,size\n18446744073709551615,1,r,9223372036854775808,18446744073709551615",
        );
        assert_eq!(requests.unwrap()[0].end(), u64::MAX);
    }

    #[test]
    fn a_fault_is_told_with_file_and_line() {
        let check = |row: &'static str, expected: &str| {
            let table = format!("time_ns,file,op,offset,size\n1,1,r,0,1\n{row}\n").leak();
            let message = read(table).unwrap_err();
            assert!(message.starts_with("'server.csv', line 3: "), "{message}");
            assert!(message.contains(expected), "{message}");
        };
        check("1,1,r,0", "only 4 of 5 fields");
        check("x,1,r,0,1", "time_ns is 'x'");
        check("1,1,q,0,1", "op is 'q', which is neither 'r' nor 'w'");
        check("1,1,r,-1,1", "offset is '-1'");
        check("1,1,r,0,18446744073709551616", "size is '18446744073709551616'");
        check("1,1,r,,1", "offset is ''");
        check("1,1,r,1\u{7},1", "offset is '1\\u{7}'");
        check("x".repeat(9000).leak(), "longer than 8192 bytes");
    }

    #[test]
    fn another_table_is_told_by_its_header() {
        for table in ["", "a,b\n1,2\n", "\u{0}\u{1}"] {
            let message = read(table).unwrap_err();
            assert!(message.contains("line 1") && message.contains(REQUESTS_HEADER), "{message}");
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_or_not_compressed_is_told() {
        let mut table = b"time_ns,file,op,offset,size\n".to_vec();
        (0..20_000)
            .for_each(|n| table.extend(format!("{n},1,r,{},77\n", n * 7919 % 65537).bytes()));
        let packed = zstd::encode_all(table.as_slice(), 3).unwrap();
        let read = |bytes: Vec<u8>| {
            let reader = RequestReader::compressed("a.csv.zst", io::Cursor::new(bytes));
            reader.and_then(Iterator::collect::<Result<Vec<Request>, PatternError>>)
        };
        assert_eq!(read(packed.clone()).unwrap().len(), 20_000);
        let message = read(packed[..packed.len() / 2].to_vec()).unwrap_err().to_string();
        assert!(
            message.contains("'a.csv.zst' is damaged") && message.contains("cut off"),
            "{message}"
        );
        let message = read(table).unwrap_err().to_string();
        assert!(message.contains("'a.csv.zst' is damaged"), "{message}");
    }
}
