// SPDX-License-Identifier: MIT OR Apache-2.0

//! Patterns of a server's requests: which load it is under, and what to choose.

use std::ffi::c_char;
use std::hash::BuildHasher;

use ::ioracle_pattern::{PatternConfig, PatternWatcher, RecognisedSlice, Request, RequestKind};

use crate::barrier::guarded;
use crate::handle::HandleTable;
use crate::output;
use crate::result::{ApiFailure, ioracle_result};
use crate::text;

use ioracle_result::{IORACLE_INVALID, IORACLE_NONE, IORACLE_OK};

/// The requests of a server, and what was learned about them; opaque.
pub struct ioracle_pattern {
    _private: [u8; 0],
}

/// Whether a request reads or writes.
pub const IORACLE_PATTERN_READ: u32 = 0;
/// Whether a request reads or writes.
pub const IORACLE_PATTERN_WRITE: u32 = 1;

/// What a slice of time was.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ioracle_pattern_slice {
    /// The known pattern that the server is under.
    pub pattern: u32,
    /// 1 if it was known before, 0 if it is new.
    pub is_match: u32,
    /// How sure that is, from 0 to 1.
    pub score: f64,
    /// IORACLE_PATTERN_READ or IORACLE_PATTERN_WRITE, what most requests did.
    pub kind: u32,
    /// 1 if next_pattern, next_slices and next_probability say something.
    pub has_next: u32,
    /// Files that were accessed in the slice.
    pub files: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that write.
    pub writes: u64,
    /// For how many slices the pattern has lasted.
    pub since_slices: u64,
    /// The pattern expected after this one.
    pub next_pattern: u32,
    /// Reserved, 0.
    pub reserved_a: u32,
    /// After how many slices it comes.
    pub next_slices: u64,
    /// How probable that is.
    pub next_probability: f64,
    /// Bytes of requests released in the slice: a reward, if nothing better is
    /// measured.
    pub released_bytes: u64,
    /// Reserved, 0.
    pub reserved: [u64; 4],
}

/// The object of a handle.
struct Watched {
    watcher: PatternWatcher,
    released_bytes: u64,
}

static PATTERNS: HandleTable<Watched> = HandleTable::new(7, "ioracle_pattern");

const MAX_OPTIONS: usize = 4096;
const MAX_NAME_BYTES: usize = 256;

/// Makes one that knows nothing yet. `preset` is "server", "io-node" or NULL for
/// the first. `options` names `n_options` options to choose from (scheduling
/// policies, windows…); 0 if nothing is chosen.
///
/// It may be used by any number of threads: each call holds its lock.
///
/// # Safety
///
/// `preset` is NULL or ends in NUL; `options` points to `n_options` texts that
/// end in NUL; `pattern` is NULL or points to room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_pattern_new(
    preset: *const c_char,
    options: *const *const c_char,
    n_options: usize,
    pattern: *mut *mut ioracle_pattern,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let preset = unsafe { text::optional(preset, "preset", MAX_NAME_BYTES) }?;
        let preset = preset.unwrap_or("server");
        let config = PatternConfig::preset(preset).ok_or_else(|| {
            ApiFailure::invalid(format!("there is no preset '{preset}', only server and io-node"))
        })?;
        // SAFETY: the caller promises it.
        let options = unsafe { names(options, n_options) }?;
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(pattern, "pattern") }?;
        let mut watcher = PatternWatcher::new(config);
        watcher.set_options(options);
        let handle = PATTERNS.insert(Watched { watcher, released_bytes: 0 })?;
        room.write(handle as *mut ioracle_pattern);
        Ok(IORACLE_OK)
    })
}

/// Frees one. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_pattern_free(pattern: *mut ioracle_pattern) -> ioracle_result {
    guarded(|| {
        if !pattern.is_null() {
            drop(PATTERNS.remove(pattern as u64)?);
        }
        Ok(IORACLE_OK)
    })
}

/// Takes a request in when it arrives, in constant time. `file` is any number
/// that is the same for the same file, `op` IORACLE_PATTERN_READ or
/// IORACLE_PATTERN_WRITE.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_pattern_observe(
    pattern: *mut ioracle_pattern,
    time_ns: u64,
    file: u64,
    op: u32,
    offset: u64,
    size: u64,
) -> ioracle_result {
    guarded(|| {
        let request = Request { time_ns, file, kind: kind(op)?, offset, size };
        PATTERNS.with(pattern as u64, |watched| {
            watched.watcher.observe(&request);
            Ok(IORACLE_OK)
        })
    })
}

/// The same for servers that know files by name, with the arguments of AGIOS'
/// agios_add_request(): call it where that was called.
///
/// # Safety
///
/// `file_id` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_pattern_add_request(
    pattern: *mut ioracle_pattern,
    file_id: *const c_char,
    op: u32,
    offset: i64,
    len: i64,
    time_ns: u64,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let file = unsafe { text::required(file_id, "file_id", text::MAX_PATH_BYTES) }?;
        let file = foldhash::fast::FixedState::default().hash_one(file);
        let (offset, size) = (positive(offset, "offset")?, positive(len, "len")?);
        let request = Request { time_ns, file, kind: kind(op)?, offset, size };
        PATTERNS.with(pattern as u64, |watched| {
            watched.watcher.observe(&request);
            Ok(IORACLE_OK)
        })
    })
}

/// A request was served: its bytes count for the slice, as the measure of what
/// an option is worth. With the arguments of agios_release_request().
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_pattern_release_request(
    pattern: *mut ioracle_pattern,
    op: u32,
    len: i64,
) -> ioracle_result {
    guarded(|| {
        let (_, size) = (kind(op)?, positive(len, "len")?);
        PATTERNS.with(pattern as u64, |watched| {
            watched.released_bytes = watched.released_bytes.saturating_add(size);
            Ok(IORACLE_OK)
        })
    })
}

/// Ends the slice; call it once a second. IORACLE_NONE if there were no requests.
///
/// # Safety
///
/// `slice` is NULL or points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_pattern_tick(
    pattern: *mut ioracle_pattern,
    slice: *mut ioracle_pattern_slice,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(slice, "slice") }?;
        PATTERNS.with(pattern as u64, |watched| {
            let released_bytes = std::mem::take(&mut watched.released_bytes);
            match watched.watcher.tick() {
                Some(found) => {
                    room.write(slice_of(&found, released_bytes));
                    Ok(IORACLE_OK)
                }
                None => Ok(IORACLE_NONE),
            }
        })
    })
}

/// The option to set for the next slice: its number among those that
/// ioracle_pattern_new() was given.
///
/// # Safety
///
/// `option` is NULL or points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_pattern_choose(
    pattern: *mut ioracle_pattern,
    option: *mut usize,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let room = unsafe { output::single(option, "option") }?;
        PATTERNS.with(pattern as u64, |watched| {
            room.write(watched.watcher.choose());
            Ok(IORACLE_OK)
        })
    })
}

/// How good the last slice was, such as its bytes per second: it counts for the option
/// chosen before the slice and the pattern that the slice turned out to be. A reward
/// that is not a finite number changes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn ioracle_pattern_reward(
    pattern: *mut ioracle_pattern,
    reward: f64,
) -> ioracle_result {
    guarded(|| {
        PATTERNS.with(pattern as u64, |watched| {
            let learned = watched.watcher.reward(reward);
            learned.map_err(|error| ApiFailure::new(IORACLE_INVALID, error.to_string()))?;
            Ok(IORACLE_OK)
        })
    })
}

/// Starts from what was saved before. The file is created if it does not exist.
///
/// # Safety
///
/// `path` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_pattern_load(
    pattern: *mut ioracle_pattern,
    path: *const c_char,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { text::required(path, "path", text::MAX_PATH_BYTES) }?;
        PATTERNS.with(pattern as u64, |watched| {
            files::load(&mut watched.watcher, path)?;
            Ok(IORACLE_OK)
        })
    })
}

/// Saves known patterns, what was chosen under them and how it went.
///
/// # Safety
///
/// `path` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_pattern_save(
    pattern: *const ioracle_pattern,
    path: *const c_char,
) -> ioracle_result {
    guarded(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { text::required(path, "path", text::MAX_PATH_BYTES) }?;
        PATTERNS.with(pattern as u64, |watched| {
            files::save(&watched.watcher, path)?;
            Ok(IORACLE_OK)
        })
    })
}

/// # Safety
///
/// `options` points to `n_options` texts that end in NUL, or is NULL.
unsafe fn names(
    options: *const *const c_char,
    n_options: usize,
) -> Result<Vec<String>, ApiFailure> {
    if n_options == 0 {
        return Ok(Vec::new());
    }
    if options.is_null() || n_options > MAX_OPTIONS {
        let message = format!("options is NULL, or there are more than {MAX_OPTIONS} of them");
        return Err(ApiFailure::invalid(message));
    }
    // SAFETY: the caller promises it.
    let options = unsafe { std::slice::from_raw_parts(options, n_options) };
    let name = |&option: &*const c_char| {
        // SAFETY: the caller promises it.
        unsafe { text::required(option, "option", MAX_NAME_BYTES) }.map(str::to_owned)
    };
    options.iter().map(name).collect()
}

fn kind(op: u32) -> Result<RequestKind, ApiFailure> {
    match op {
        IORACLE_PATTERN_READ => Ok(RequestKind::Read),
        IORACLE_PATTERN_WRITE => Ok(RequestKind::Write),
        _ => Err(ApiFailure::invalid(format!("op is {op}; it is 0 for a read and 1 for a write"))),
    }
}

fn positive(number: i64, name: &str) -> Result<u64, ApiFailure> {
    u64::try_from(number).map_err(|_| ApiFailure::invalid(format!("{name} is {number}, below 0")))
}

fn slice_of(found: &RecognisedSlice, released_bytes: u64) -> ioracle_pattern_slice {
    ioracle_pattern_slice {
        pattern: found.id.0,
        is_match: found.is_match.into(),
        score: found.score,
        kind: if found.kind == RequestKind::Read {
            IORACLE_PATTERN_READ
        } else {
            IORACLE_PATTERN_WRITE
        },
        has_next: found.next.is_some().into(),
        files: found.counts.files,
        reads: found.counts.reads,
        writes: found.counts.writes,
        since_slices: found.since,
        next_pattern: found.next.map_or(0, |next| next.id.0),
        next_slices: found.next.map_or(0, |next| next.slices),
        next_probability: found.next.map_or(0.0, |next| next.probability),
        released_bytes,
        ..ioracle_pattern_slice::default()
    }
}

#[cfg(feature = "pattern-files")]
mod files {
    use std::path::Path;

    use ::ioracle_pattern::{PatternWatcher, StoreError};

    use super::ApiFailure;
    use crate::result::ioracle_result::{IORACLE_IO, IORACLE_MODEL};

    pub fn load(watcher: &mut PatternWatcher, path: &str) -> Result<(), ApiFailure> {
        watcher.load(Path::new(path)).map_err(|error| fault(&error))
    }

    pub fn save(watcher: &PatternWatcher, path: &str) -> Result<(), ApiFailure> {
        watcher.save(Path::new(path)).map_err(|error| fault(&error))
    }

    fn fault(error: &StoreError) -> ApiFailure {
        let code = match error {
            StoreError::Foreign { .. } | StoreError::Damaged { .. } => IORACLE_MODEL,
            _ => IORACLE_IO,
        };
        ApiFailure::new(code, error.to_string())
    }
}

#[cfg(not(feature = "pattern-files"))]
mod files {
    use ::ioracle_pattern::PatternWatcher;

    use super::ApiFailure;

    pub fn load(_: &mut PatternWatcher, _: &str) -> Result<(), ApiFailure> {
        Err(fault())
    }

    pub fn save(_: &PatternWatcher, _: &str) -> Result<(), ApiFailure> {
        Err(fault())
    }

    fn fault() -> ApiFailure {
        let message = "this libioracle was built without files of known patterns; build it with the \
                       feature pattern-files";
        ApiFailure::invalid(message.to_owned())
    }
}
