// SPDX-License-Identifier: MIT OR Apache-2.0

//! Mapped files. What is read or written through the mapping is not seen.

use core::ffi::{c_int, c_void};

use ioracle_spool::Function;
use ioracle_spool::layout::{Call, SHARED_MAPPING};

use crate::mappings::{self, FileMapping};
use crate::observe::{call, file_of, is_on, observe};

/// Maps a file.
pub(super) fn map(
    length: usize,
    (protection, flags): (c_int, c_int),
    fd: c_int,
    offset: i64,
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if flags & libc::MAP_ANONYMOUS != 0 {
        return real();
    }
    let Some(entry) = file_of(fd) else { return real() };
    observe(real, |address| {
        let failed = address == libc::MAP_FAILED;
        if !failed {
            let mapped = FileMapping { file: entry.file(), offset: offset as u64 };
            mappings::add(address as usize, length, mapped);
        }
        let call = call(Function::Mmap, entry.file(), fd, if failed { -1 } else { 0 });
        // MAP_SHARED_VALIDATE has the bit too; MAP_PRIVATE does not.
        let shared = if flags & libc::MAP_SHARED != 0 { SHARED_MAPPING } else { 0 };
        let detail = (protection & (libc::PROT_READ | libc::PROT_WRITE)) as u32 | shared;
        Some(Call { offset, requested: length as u64, detail, ..call })
    })
}

/// Removes a mapping.
pub(super) fn unmap(address: *mut c_void, length: usize, real: impl FnOnce() -> c_int) -> c_int {
    if !is_on() {
        return real();
    }
    // Before the real call: after it another thread may be given the address.
    match mappings::remove(address as usize) {
        Some(mapped) => on_mapping(Function::Munmap, mapped, length, real),
        None => real(),
    }
}

/// Forces a mapped file to storage.
pub(super) fn sync(address: *mut c_void, length: usize, real: impl FnOnce() -> c_int) -> c_int {
    if !is_on() {
        return real();
    }
    match mappings::find(address as usize) {
        Some(mapped) => on_mapping(Function::Msync, mapped, length, real),
        None => real(),
    }
}

fn on_mapping(
    function: Function,
    mapped: FileMapping,
    length: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    observe(real, |result| {
        let call = call(function, mapped.file, -1, result.into());
        Some(Call { offset: mapped.offset as i64, requested: length as u64, ..call })
    })
}
