// SPDX-License-Identifier: MIT OR Apache-2.0

//! The names under which the SC14 paper on Omnisc'IO gave its predictions, for
//! middleware that was written for it: `omniscio_next`, `omniscio_free`,
//! `omniscio_predict_from`. They answer for the calling thread, like `ioracle_next`.

use std::ffi::{c_char, c_double, c_int, c_ulong};
use std::mem::MaybeUninit;

use crate::access::ioracle_access;
use crate::barrier::guarded_value;
use crate::output;
use crate::prediction::ioracle_prediction;
use crate::prediction_slot::{ioracle_basis, ioracle_next};
use crate::result::{ApiFailure, ioracle_result};

/// A position in a file, in bytes.
pub type omniscio_offset = c_ulong;
/// A number of bytes.
pub type omniscio_size = c_ulong;
/// Seconds from now.
pub type omniscio_date = c_double;

/// What a predicted operation does.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum omniscio_op_type {
    /// Opens or creates a file.
    OMNISCIO_OPEN = 0,
    /// Closes a file.
    OMNISCIO_CLOSE = 1,
    /// Moves data from a file.
    OMNISCIO_READ = 2,
    /// Moves data to a file.
    OMNISCIO_WRITE = 3,
    /// Anything else: a sync, a truncation.
    OMNISCIO_OTHER = 4,
}

/// One predicted operation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct omniscio_req {
    /// What it does.
    pub type_: omniscio_op_type,
    /// Where it starts; 0 if that is not known.
    pub offset: omniscio_offset,
    /// Bytes it moves.
    pub size: omniscio_size,
    /// When it starts, in seconds from the end of the last operation.
    pub date: omniscio_date,
    /// The path of its file, empty if not known; freed with the array.
    pub name: *const c_char,
    /// Between 0 and 1.
    pub proba: c_double,
}

/// The call succeeded.
pub const OMNISCIO_OK: c_int = 0;
/// The call failed; ioracle_last_error() says why.
pub const OMNISCIO_ERROR: c_int = -1;

/// Returns what may come next on this thread: `n` requests in a new array, which
/// omniscio_free() frees. `n` is 0, and the array NULL, when nothing is known.
///
/// # Safety
///
/// `prediction` and `n` are NULL or point to room for a pointer and a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omniscio_next(prediction: *mut *mut omniscio_req, n: *mut c_int) -> c_int {
    guarded_value(OMNISCIO_ERROR, || {
        // SAFETY: the caller promises it.
        let (array, n) =
            unsafe { (output::single(prediction, "prediction")?, output::single(n, "n")?) };
        n.write(give(&next_of_this_thread(1), array)?);
        Ok(OMNISCIO_OK)
    })
}

/// Frees an array of requests with the names in it. NULL is fine.
///
/// # Safety
///
/// `prediction` is NULL or came from here and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omniscio_free(prediction: *mut omniscio_req) -> c_int {
    // SAFETY: the caller promises it; it was allocated by `malloc`.
    unsafe { libc::free(prediction.cast()) };
    OMNISCIO_OK
}

/// Returns up to `n` requests one after the other, starting with the `index`-th that
/// omniscio_next() returned, in a new array, which omniscio_free() frees. The result is
/// their number, or OMNISCIO_ERROR.
///
/// # Safety
///
/// `predicted` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omniscio_predict_from(
    index: c_int,
    predicted: *mut *mut omniscio_req,
    n: c_int,
) -> c_int {
    guarded_value(OMNISCIO_ERROR, || {
        // SAFETY: the caller promises it.
        let array = unsafe { output::single(predicted, "predicted") }?;
        if index != 0 || n < 1 {
            return Err(ApiFailure::invalid(format!(
                "index is {index} and n {n}; one path is known, so index is 0, and n at least 1"
            )));
        }
        give(&next_of_this_thread(n.unsigned_abs() as usize), array)
    })
}

/// The next operations of the calling thread; none where they are not known, or
/// not in time.
fn next_of_this_thread(n_wanted: usize) -> Vec<ioracle_prediction> {
    let mut predictions = Vec::with_capacity(n_wanted.min(MAX_STEPS));
    let mut basis = ioracle_basis::default();
    let (room, capacity) = (predictions.as_mut_ptr(), predictions.capacity());
    // SAFETY: there is room for that many, and for the basis.
    let result = unsafe { ioracle_next(MAX_WAIT_NS, room, capacity, &raw mut basis) };
    if result == ioracle_result::IORACLE_OK {
        // SAFETY: that many were filled in, never more than there is room for.
        unsafe { predictions.set_len((basis.n_predictions as usize).min(capacity)) };
    }
    predictions
}

/// Steps that are ever published.
const MAX_STEPS: usize = 64;
/// The original answered for the operation just finished, however long that
/// took; what is published lags by microseconds.
const MAX_WAIT_NS: u64 = 1_000_000;

/// Copies predictions into one block: the requests, then their names.
fn give(
    predictions: &[ioracle_prediction],
    array: &mut MaybeUninit<*mut omniscio_req>,
) -> Result<c_int, ApiFailure> {
    array.write(std::ptr::null_mut());
    if predictions.is_empty() {
        return Ok(0);
    }
    let requests_bytes = predictions.len() * size_of::<omniscio_req>();
    let names_bytes: usize = predictions.iter().map(|one| name_of(one).len()).sum();
    // SAFETY: any size may be asked for.
    let block = unsafe { libc::malloc(requests_bytes + names_bytes) }.cast::<u8>();
    if block.is_null() {
        let message = "there is no memory for the predictions";
        return Err(ApiFailure::new(ioracle_result::IORACLE_LIMIT, message));
    }
    let mut position = requests_bytes;
    for (i, prediction) in predictions.iter().enumerate() {
        let name = name_of(prediction);
        // SAFETY: the block has room for all requests and behind them for all
        // names, and `malloc` aligns it for both.
        unsafe {
            let place = block.add(position);
            std::ptr::copy_nonoverlapping(name.as_ptr().cast::<u8>(), place, name.len());
            block.cast::<omniscio_req>().add(i).write(request(prediction, place.cast()));
        }
        position += name.len();
    }
    array.write(block.cast());
    Ok(predictions.len() as c_int)
}

/// The path with its final NUL.
fn name_of(prediction: &ioracle_prediction) -> &[c_char] {
    let length = prediction.path.iter().position(|&byte| byte == 0);
    &prediction.path[..length.map_or(0, |length| length + 1)]
}

fn request(prediction: &ioracle_prediction, name: *const c_char) -> omniscio_req {
    const OPEN: u32 = ioracle_access::IORACLE_OPEN as u32;
    const CLOSE: u32 = ioracle_access::IORACLE_CLOSE as u32;
    const READ: u32 = ioracle_access::IORACLE_READ as u32;
    const WRITE: u32 = ioracle_access::IORACLE_WRITE as u32;
    omniscio_req {
        type_: match prediction.access {
            OPEN => omniscio_op_type::OMNISCIO_OPEN,
            CLOSE => omniscio_op_type::OMNISCIO_CLOSE,
            READ => omniscio_op_type::OMNISCIO_READ,
            WRITE => omniscio_op_type::OMNISCIO_WRITE,
            _ => omniscio_op_type::OMNISCIO_OTHER,
        },
        offset: prediction.offset,
        size: prediction.size,
        date: prediction.from_now_ns as f64 * 1e-9,
        name,
        proba: prediction.probability,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn prediction(access: ioracle_access, path: &CStr) -> ioracle_prediction {
        // SAFETY: all of it is numbers, for which zeroes are values.
        let blank = unsafe { std::mem::zeroed::<ioracle_prediction>() };
        let mut prediction = ioracle_prediction { access: access as u32, ..blank };
        for (place, byte) in prediction.path.iter_mut().zip(path.to_bytes()) {
            *place = *byte as c_char;
        }
        prediction
    }

    #[test]
    fn requests_carry_their_names_in_one_block() {
        let predictions = [
            prediction(ioracle_access::IORACLE_OPEN, c"state_0001.dat"),
            prediction(ioracle_access::IORACLE_SYNC, c""),
            ioracle_prediction {
                offset: 4096,
                size: 512,
                from_now_ns: 1_500_000_000,
                probability: 0.75,
                ..prediction(ioracle_access::IORACLE_READ, c"b")
            },
        ];
        let mut array = MaybeUninit::uninit();
        assert_eq!(give(&predictions, &mut array).unwrap(), 3);
        // SAFETY: it was written; that many requests with such names were asked for.
        unsafe {
            let requests = std::slice::from_raw_parts(array.assume_init(), 3);
            let name = |i: usize| CStr::from_ptr(requests[i].name);
            assert_eq!([name(0), name(1), name(2)], [c"state_0001.dat", c"", c"b"]);
            assert_eq!(requests[1].type_, omniscio_op_type::OMNISCIO_OTHER);
            let expected = omniscio_req {
                type_: omniscio_op_type::OMNISCIO_READ,
                offset: 4096,
                size: 512,
                date: 1.5,
                name: requests[2].name,
                proba: 0.75,
            };
            assert_eq!(requests[2], expected);
            assert_eq!(omniscio_free(array.assume_init()), OMNISCIO_OK);
        }
    }

    #[test]
    fn with_nothing_known_there_are_no_requests() {
        let (mut array, mut n) = (std::ptr::dangling_mut(), 7);
        // SAFETY: there is room for the answers, or NULL.
        unsafe {
            assert_eq!(omniscio_next(&raw mut array, &raw mut n), OMNISCIO_OK);
            assert!(array.is_null() && n == 0);
            assert_eq!(omniscio_predict_from(0, &raw mut array, 5), 0);
            assert_eq!(omniscio_predict_from(-1, &raw mut array, 5), OMNISCIO_ERROR);
            assert_eq!(omniscio_predict_from(0, &raw mut array, 0), OMNISCIO_ERROR);
            assert_eq!(omniscio_next(std::ptr::null_mut(), &raw mut n), OMNISCIO_ERROR);
            assert_eq!(omniscio_free(array), OMNISCIO_OK);
        }
    }
}
