// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bytes of stream files. A file that ends early or fails gives fewer bytes,
//! never an error: what is missing was not published.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::table::{self, CheckedSegment, FirstPage, u64_at};
use crate::layout::{Call, PAGE, Record};

/// Bytes that are read at once; a longest definition fits.
pub(super) const BUFFER_BYTES: usize = 128 * 1024;

const RECORD_BYTES: usize = size_of::<Record>();

/// The records at the beginning of some bytes.
pub(super) fn records(bytes: &[u8], n_records: usize) -> impl Iterator<Item = &[u8]> {
    bytes.chunks_exact(RECORD_BYTES).take(n_records)
}

/// Reads and takes apart the first page of a file.
pub(super) fn read_first_page(file: &File) -> FirstPage {
    let mut page = [0; PAGE];
    if read(file, 0, &mut page) < PAGE {
        return if u64_at(&page, 0) == 0 {
            FirstPage::Empty
        } else {
            FirstPage::Foreign("it is cut short")
        };
    }
    // After the page: a file grows before its table does, and a length from
    // before would make new segments look cut off.
    let Ok(metadata) = file.metadata() else { return FirstPage::Foreign("it cannot be read") };
    table::parse(&page, metadata.len())
}

/// Reads as much as there is; an error counts as the end.
pub(super) fn read(file: &File, offset: u64, buffer: &mut [u8]) -> usize {
    let mut n_bytes = 0;
    while let Some(rest) = buffer.get_mut(n_bytes..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(n_bytes as u64)) {
            Ok(0) => break,
            Ok(more) => n_bytes += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    n_bytes
}

/// Reads records from `number` on into the buffer, at most to the segment's end.
pub(super) fn read_records(
    file: &File,
    segment: &CheckedSegment,
    number: u64,
    n_records: usize,
    buffer: &mut [u8],
) -> usize {
    let left = usize::try_from(segment.end().saturating_sub(number)).unwrap_or(usize::MAX);
    let n_records = n_records.min(left).min(buffer.len() / RECORD_BYTES);
    let offset = segment.offset + (number - segment.first) * RECORD_BYTES as u64;
    read(file, offset, &mut buffer[..n_records * RECORD_BYTES]) / RECORD_BYTES
}

/// Whether the bytes are those of a record that was published with a number.
pub(super) fn is_published(record: &[u8], number: u64) -> bool {
    u64_at(record, 0) == number + 1
}

/// The content of a record.
pub(super) fn call_of(record: &[u8]) -> Option<Call> {
    record.get(size_of::<u64>()..)?.first_chunk().map(Call::from_bytes)
}

/// Lets the writer take a segment again. If that fails, only space is lost.
pub(super) fn tell_consumed(file: &File, segment: &CheckedSegment) {
    let offset = table::consumed_offset(segment.place);
    let _ = file.write_all_at(&segment.end().to_ne_bytes(), offset);
}
