// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saved models, as files and as bytes.
//!
//! A model continues where it was saved; for a new run of the program,
//! `ioracle_oracle_begin_run` comes first. What is observed while a model is being
//! written waits for nothing: bytes are made from a shared model.

use std::ffi::{c_char, c_void};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ::ioracle_oracle::Oracle;

use crate::barrier::guarded;
use crate::oracle::keep;
use crate::output;
use crate::result::{ApiFailure, ioracle_result};
use crate::session::{ORACLES, ioracle_oracle};
use crate::text;

use ioracle_result::{IORACLE_IO, IORACLE_LIMIT, IORACLE_MODEL, IORACLE_OK};

/// No model is nearly this large; a larger file is something else.
const MAX_MODEL_BYTES: u64 = 1 << 28;

/// Saves what an oracle knows to a file, which is written completely or not at all.
///
/// # Safety
///
/// `path` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_save(
    oracle: *const ioracle_oracle,
    path: *const c_char,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { text::required(path, "path", text::MAX_PATH_BYTES) }?;
        let bytes = bytes_of(oracle)?;
        write_whole(Path::new(path), &bytes).map_err(|error| {
            let message = format!("could not write '{path}': {error}; name another place");
            ApiFailure::new(IORACLE_IO, message)
        })?;
        Ok(IORACLE_OK)
    })
}

/// Makes an oracle from a saved file, including those of 'ioracle model save'.
///
/// # Safety
///
/// `path` is NULL or ends in NUL; `oracle` is NULL or points to room for a
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_load(
    path: *const c_char,
    oracle: *mut *mut ioracle_oracle,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { text::required(path, "path", text::MAX_PATH_BYTES) }?;
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(oracle, "oracle") }?;
        let bytes = read_model(Path::new(path)).map_err(|error| {
            let message = format!("could not read the model '{path}': {error}; name a saved model");
            ApiFailure::new(IORACLE_IO, message)
        })?;
        room.write(keep(loaded(&bytes, path)?)?);
        Ok(IORACLE_OK)
    })
}

/// Saves what an oracle knows to memory, which ioracle_bytes_free() frees.
///
/// # Safety
///
/// `bytes` and `n_bytes` are NULL or point to room for a pointer and a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_save_bytes(
    oracle: *const ioracle_oracle,
    bytes: *mut *mut c_void,
    n_bytes: *mut usize,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let (room, n_room) =
            unsafe { (output::single(bytes, "bytes")?, output::single(n_bytes, "n_bytes")?) };
        let saved = bytes_of(oracle)?;
        // SAFETY: any size may be asked for.
        let copy = unsafe { libc::malloc(saved.len()) };
        if copy.is_null() {
            let message = format!("there is no memory for a model of {} bytes", saved.len());
            return Err(ApiFailure::new(IORACLE_LIMIT, message));
        }
        // SAFETY: there is room for that many, in memory that is new.
        unsafe { std::ptr::copy_nonoverlapping(saved.as_ptr(), copy.cast::<u8>(), saved.len()) };
        room.write(copy);
        n_room.write(saved.len());
        Ok(IORACLE_OK)
    })
}

/// Makes an oracle from saved bytes.
///
/// # Safety
///
/// `bytes` is NULL or points to `n_bytes` bytes; `oracle` is NULL or points to
/// room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_oracle_load_bytes(
    bytes: *const c_void,
    n_bytes: usize,
    oracle: *mut *mut ioracle_oracle,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(oracle, "oracle") }?;
        if bytes.is_null() || n_bytes as u64 > MAX_MODEL_BYTES {
            return Err(ApiFailure::invalid(format!(
                "bytes is NULL, or {n_bytes} are more than any model has; give what was saved"
            )));
        }
        // SAFETY: the caller promises that many.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), n_bytes) };
        room.write(keep(loaded(bytes, "the bytes")?)?);
        Ok(IORACLE_OK)
    })
}

/// Frees what ioracle_oracle_save_bytes() returned. NULL is fine.
///
/// # Safety
///
/// `bytes` is NULL or came from there and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_bytes_free(bytes: *mut c_void) {
    // SAFETY: the caller promises it; it was allocated by `malloc`.
    unsafe { libc::free(bytes) };
}

fn bytes_of(oracle: *const ioracle_oracle) -> Result<Vec<u8>, ApiFailure> {
    let model = ORACLES.with(oracle as u64, |session| Ok(session.model().clone()))?;
    Ok(model.oracle().save())
}

fn loaded(bytes: &[u8], name: &str) -> Result<Oracle, ApiFailure> {
    Oracle::load(bytes)
        .map_err(|error| ApiFailure::new(IORACLE_MODEL, format!("could not use '{name}': {error}")))
}

fn read_model(path: &Path) -> io::Result<Vec<u8>> {
    // Before it is opened: a pipe would wait for a writer that never comes.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_MODEL_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MODEL_BYTES {
        return Err(io::Error::other("it is larger than any model of ioracle"));
    }
    Ok(bytes)
}

/// Writes under a temporary name beside the place, and renames. Links are followed;
/// what is not a regular file is never replaced.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let temporary = temporary_beside(&target);
    let write = || -> io::Result<()> {
        let mut file = File::options().write(true).create_new(true).mode(0o644).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &target)
    };
    write().inspect_err(|_| {
        // It may never have been created; nothing more can be done.
        let _ = std::fs::remove_file(&temporary);
    })
}

fn temporary_beside(target: &Path) -> PathBuf {
    static N_MADE: AtomicU64 = AtomicU64::new(0);
    let number = N_MADE.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".ioracle-{}-{number}", std::process::id()))
}
