// SPDX-License-Identifier: MIT OR Apache-2.0

//! Patterns through their C interface, called from Rust.

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use ioracle_capi::ioracle_result::{
    IORACLE_DANGLING, IORACLE_INVALID, IORACLE_MODEL, IORACLE_NONE, IORACLE_OK,
};
use ioracle_capi::*;

struct Made(*mut ioracle_pattern);

impl Drop for Made {
    fn drop(&mut self) {
        assert_eq!(ioracle_pattern_free(self.0), IORACLE_OK);
    }
}

fn new(options: &[&CStr]) -> Made {
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut pattern = null_mut();
    // SAFETY: all pointers are good.
    let result =
        unsafe { ioracle_pattern_new(null(), options.as_ptr(), options.len(), &raw mut pattern) };
    assert_eq!(result, IORACLE_OK);
    Made(pattern)
}

fn tick(pattern: &Made) -> Option<ioracle_pattern_slice> {
    let mut slice = ioracle_pattern_slice::default();
    // SAFETY: there is room.
    match unsafe { ioracle_pattern_tick(pattern.0, &raw mut slice) } {
        IORACLE_OK => Some(slice),
        result => {
            assert_eq!(result, IORACLE_NONE);
            None
        }
    }
}

fn choose(pattern: &Made) -> usize {
    let mut option = usize::MAX;
    // SAFETY: there is room.
    assert_eq!(unsafe { ioracle_pattern_choose(pattern.0, &raw mut option) }, IORACLE_OK);
    option
}

/// A second of one of two loads.
fn serve(pattern: &Made, load: u64, second: u64) {
    for n in 0..200 {
        let (offset, file) = (second * 200 * 4096 + n * 4096, 1 + n % (1 + 15 * load));
        let time_ns = second * 1_000_000_000 + n * 5_000_000;
        let op = if load == 0 { IORACLE_PATTERN_READ } else { IORACLE_PATTERN_WRITE };
        assert_eq!(ioracle_pattern_observe(pattern.0, time_ns, file, op, offset, 4096), IORACLE_OK);
        assert_eq!(ioracle_pattern_release_request(pattern.0, op, 4096), IORACLE_OK);
    }
}

#[test]
fn two_loads_get_the_option_that_suits_each_and_it_is_remembered() {
    let pattern = new(&[c"small", c"large"]);
    let mut n_right = 0;
    for second in 0..200_u64 {
        let load = second / 5 % 2;
        let option = choose(&pattern);
        serve(&pattern, load, second);
        let slice = tick(&pattern).expect("there were requests");
        assert_eq!((slice.reads + slice.writes, slice.released_bytes), (200, 200 * 4096));
        let reward = if option as u64 == load { 100.0 } else { 50.0 };
        assert_eq!(ioracle_pattern_reward(pattern.0, reward), IORACLE_OK);
        // The first slice of a load is served with the option of the other.
        n_right += u64::from(second >= 100 && second % 5 > 0 && option as u64 == load);
    }
    assert!(n_right >= 72, "{n_right} of 80");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.db");
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path ends in NUL.
    assert_eq!(unsafe { ioracle_pattern_save(pattern.0, path.as_ptr()) }, IORACLE_OK);
    let again = new(&[c"small", c"large"]);
    // SAFETY: the path ends in NUL.
    assert_eq!(unsafe { ioracle_pattern_load(again.0, path.as_ptr()) }, IORACLE_OK);
    // The first slice of a life finds its files at the beginning.
    serve(&again, 1, 1000);
    assert!(tick(&again).is_some());
    serve(&again, 1, 1001);
    assert_eq!(tick(&again).map(|slice| slice.is_match), Some(1));
    assert_eq!(choose(&again), 1);
}

#[test]
fn names_of_files_do_as_well_as_numbers() {
    let pattern = new(&[]);
    for (n, name) in [c"/a", c"/b", c"/a"].iter().enumerate() {
        let at = n as i64 * 10;
        // SAFETY: names end in NUL.
        let result =
            unsafe { ioracle_pattern_add_request(pattern.0, name.as_ptr(), 0, at, 10, n as u64) };
        assert_eq!(result, IORACLE_OK);
    }
    let slice = tick(&pattern).unwrap();
    assert_eq!((slice.files, slice.reads, slice.is_match), (2, 3, 0));
    assert!(tick(&pattern).is_none());
    assert_eq!(choose(&pattern), 0);
}

#[test]
fn wrong_arguments_are_reported_and_change_nothing() {
    let pattern = new(&[c"one"]);
    let observe = |op| ioracle_pattern_observe(pattern.0, 0, 1, op, 0, 1);
    assert_eq!(observe(2), IORACLE_INVALID);
    assert_eq!(ioracle_pattern_reward(pattern.0, f64::NAN), IORACLE_OK, "no slice yet");
    assert_eq!(observe(0), IORACLE_OK);
    assert!(tick(&pattern).is_some());
    assert_eq!(ioracle_pattern_reward(pattern.0, f64::NAN), IORACLE_INVALID);
    assert_eq!(ioracle_pattern_release_request(pattern.0, 0, -1), IORACLE_INVALID);
    // SAFETY: NULL is rejected.
    unsafe {
        assert_eq!(ioracle_pattern_tick(pattern.0, null_mut()), IORACLE_INVALID);
        assert_eq!(ioracle_pattern_choose(pattern.0, null_mut()), IORACLE_INVALID);
        assert_eq!(ioracle_pattern_load(pattern.0, null()), IORACLE_INVALID);
        assert_eq!(ioracle_pattern_add_request(pattern.0, null(), 0, 0, 1, 0), IORACLE_INVALID);
        let mut other = null_mut();
        let result = ioracle_pattern_new(c"laptop".as_ptr(), null(), 0, &raw mut other);
        assert_eq!(result, IORACLE_INVALID);
        assert_eq!(ioracle_pattern_new(null(), null(), 1, &raw mut other), IORACLE_INVALID);
    }
    let stale = new(&[]);
    let handle = stale.0;
    drop(stale);
    assert_eq!(ioracle_pattern_observe(handle, 0, 1, 0, 0, 1), IORACLE_DANGLING);
    assert_eq!(ioracle_pattern_free(handle), IORACLE_DANGLING);
    assert_eq!(ioracle_pattern_free(null_mut()), IORACLE_OK);
}

#[test]
fn a_file_of_something_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("known.db");
    std::fs::write(
        &path,
        "something else altogether, longer than the header of a database is".repeat(3),
    )
    .unwrap();
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let pattern = new(&[]);
    // SAFETY: the path ends in NUL.
    assert_eq!(unsafe { ioracle_pattern_load(pattern.0, path.as_ptr()) }, IORACLE_MODEL);
}
