// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copies inside the kernel, from one descriptor to another.
//!
//! Such a call is recorded as the write it is, with the read nested inside it. If only
//! one side is a recorded file, only that side is recorded.

use core::ffi::c_int;

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::descriptors::DescriptorEntry;
use crate::observe::{call, file_of, observe_with};
use crate::sys;

/// Functions that a copy is recorded as: its write and its read.
#[derive(Clone, Copy)]
pub(super) struct Copying {
    write: Function,
    read: Function,
}

pub(super) const COPY_FILE_RANGE: Copying =
    Copying { write: Function::CopyFileRange, read: Function::CopyFileRangeRead };
pub(super) const SENDFILE: Copying =
    Copying { write: Function::Sendfile, read: Function::SendfileRead };
pub(super) const SPLICE: Copying = Copying { write: Function::Splice, read: Function::SpliceRead };

/// A descriptor, and where the program keeps the offset (null: its position).
#[derive(Clone, Copy)]
pub(super) struct CopySide(pub(super) c_int, pub(super) *mut i64);

impl CopySide {
    /// At the position of the descriptor.
    pub(super) fn at_position(fd: c_int) -> CopySide {
        CopySide(fd, core::ptr::null_mut())
    }

    /// Describes this side after the copy.
    fn call(
        self,
        function: Function,
        entry: &DescriptorEntry,
        requested: usize,
        moved: isize,
    ) -> Call {
        let CopySide(fd, offset) = self;
        let started = if offset.is_null() {
            entry.advance(fd, moved as i64)
        } else if moved > 0 {
            // SAFETY: the kernel has just stored the new offset there.
            unsafe { offset.read_unaligned() }.saturating_sub(moved as i64)
        } else if moved == 0 {
            // `splice` of no bytes does not look at the offset.
            let mut bytes = [0; size_of::<i64>()];
            let is_there = sys::copy_memory(offset as usize, &mut bytes) == Ok(bytes.len());
            if is_there { i64::from_ne_bytes(bytes) } else { -1 }
        } else {
            -1
        };
        let call = call(function, entry.file(), fd, moved as i64);
        Call { offset: started, requested: requested as u64, ..call }
    }
}

/// Copies.
pub(super) fn copy(
    copying: Copying,
    from: CopySide,
    to: CopySide,
    requested: usize,
    real: impl FnOnce() -> isize,
) -> isize {
    let (from_entry, to_entry) = (file_of(from.0), file_of(to.0));
    if from_entry.is_none() && to_entry.is_none() {
        return real();
    }
    observe_with(real, |moved, begun, end_ns| {
        let read = from_entry.map(|entry| from.call(copying.read, entry, requested, moved));
        let write = to_entry.map(|entry| to.call(copying.write, entry, requested, moved));
        if let (Some(read), Some(begun), true) = (read, begun, write.is_some()) {
            begun.append_within(end_ns, read);
        }
        write.or(read)
    })
}
