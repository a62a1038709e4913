// SPDX-License-Identifier: MIT OR Apache-2.0

//! The explicit oracle through its C interface, called from Rust. What only a
//! C program can get wrong is in `crates/cli/tests/install`.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

use ioracle_capi::ioracle_access::{IORACLE_CLOSE, IORACLE_OPEN, IORACLE_READ, IORACLE_SEEK};
use ioracle_capi::ioracle_result::{
    IORACLE_DANGLING, IORACLE_INVALID, IORACLE_IO, IORACLE_MODEL, IORACLE_NONE, IORACLE_OK,
};
use ioracle_capi::*;

/// An oracle that is freed at the end.
struct Made(*mut ioracle_oracle);

impl Drop for Made {
    fn drop(&mut self) {
        assert_eq!(ioracle_oracle_free(self.0), IORACLE_OK);
    }
}

fn new() -> Made {
    let mut oracle = null_mut();
    // SAFETY: there is room for the handle.
    assert_eq!(unsafe { ioracle_oracle_new(null(), &raw mut oracle) }, IORACLE_OK);
    Made(oracle)
}

fn observation(access: ioracle_access) -> ioracle_observation {
    ioracle_observation {
        struct_size: size_of::<ioracle_observation>() as u32,
        access: access as u32,
        function: 0,
        flags: 0,
        path: null(),
        file: 0,
        handle: -1,
        offset: -1,
        size: 0,
        start_ns: 0,
        end_ns: 0,
        context: 0,
        context_text: null(),
        stack: null(),
        n_frames: 0,
        requested: 0,
    }
}

fn observe(oracle: &Made, observation: &ioracle_observation) -> ioracle_result {
    // SAFETY: all that the observations of these tests point to is alive.
    unsafe { ioracle_oracle_observe(oracle.0, observation) }
}

/// Files `step_0000.dat`… opened, read in four blocks, closed.
fn read_files(oracle: &Made, files: std::ops::Range<u64>) {
    for file in files {
        let path = CString::new(format!("step_{file:04}.dat")).unwrap();
        let start_ns = file * 1_000_000;
        let at = |access, n: u64| ioracle_observation {
            handle: 3,
            start_ns: start_ns + n * 10_000,
            end_ns: start_ns + n * 10_000 + 2_000,
            context: n.min(1),
            ..observation(access)
        };
        let open = ioracle_observation { path: path.as_ptr(), ..at(IORACLE_OPEN, 0) };
        assert_eq!(observe(oracle, &open), IORACLE_OK);
        for block in 0..4 {
            let read = at(IORACLE_READ, block + 1);
            let read = ioracle_observation { offset: block as i64 * 512, size: 512, ..read };
            assert_eq!(observe(oracle, &read), IORACLE_OK);
        }
        assert_eq!(observe(oracle, &at(IORACLE_CLOSE, 5)), IORACLE_OK);
    }
}

fn blank() -> ioracle_prediction {
    // SAFETY: all of it is numbers, for which zeroes are values.
    unsafe { std::mem::zeroed() }
}

fn ahead(oracle: &Made, first: usize, capacity: usize) -> Vec<ioracle_prediction> {
    let mut predictions = vec![blank(); capacity];
    let mut n = 0;
    let (room, n_room) = (predictions.as_mut_ptr(), &raw mut n);
    // SAFETY: there is enough room.
    let result = unsafe { ioracle_oracle_ahead(oracle.0, first, room, capacity, n_room) };
    assert_eq!(result, if n > 0 { IORACLE_OK } else { IORACLE_NONE });
    predictions.truncate(n);
    predictions
}

fn predict(oracle: &Made) -> Vec<ioracle_prediction> {
    let mut predictions = [blank(); 16];
    let mut n = 0;
    // SAFETY: there is enough room.
    let result =
        unsafe { ioracle_oracle_predict(oracle.0, predictions.as_mut_ptr(), 16, &raw mut n) };
    assert_eq!(result, IORACLE_OK);
    predictions[..n].to_vec()
}

fn text(text: *const c_char) -> String {
    // SAFETY: the library's texts end in NUL.
    unsafe { CStr::from_ptr(text) }.to_str().expect("texts are UTF-8").to_owned()
}

fn path(prediction: &ioracle_prediction) -> String {
    text(prediction.path.as_ptr())
}

fn place(prediction: &ioracle_prediction) -> (u32, String, u64, u64) {
    (prediction.access, path(prediction), prediction.offset, prediction.size)
}

#[test]
fn before_anything_was_observed_the_answer_says_so() {
    let oracle = new();
    let predictions = predict(&oracle);
    assert_eq!(predictions.len(), 1);
    assert!(predictions[0].is_unseen && predictions[0].path_bytes == 0);
    assert_eq!(predictions[0].symbol, u32::MAX);
    let mut burst = ioracle_burst::default();
    // SAFETY: there is room for it.
    assert_eq!(unsafe { ioracle_oracle_burst(oracle.0, &raw mut burst) }, IORACLE_NONE);
    assert_eq!(ahead(&oracle, 0, 5).len(), 1);
    assert_eq!(ahead(&oracle, 1, 5).len(), 0);
}

#[test]
fn a_loop_over_files_is_read_ahead_with_the_next_names() {
    let oracle = new();
    read_files(&oracle, 0..10);
    let next = ahead(&oracle, 0, 8);
    let (open, read) = (IORACLE_OPEN as u32, IORACLE_READ as u32);
    assert_eq!(place(&next[0]), (open, "step_0010.dat".into(), 0, 0));
    assert!(next[0].is_new_file && !next[0].has_offset);
    assert_eq!(place(&next[2]), (read, "step_0010.dat".into(), 512, 512));
    assert_eq!(place(&next[6]), (open, "step_0011.dat".into(), 0, 0));
    assert_eq!(next[1].interarrival_ns, 8_000);
    assert_eq!(text(ioracle_function_name(next[1].function)), "pread");
    let sum: f64 = predict(&oracle).iter().map(|prediction| prediction.probability).sum();
    assert!(sum <= 1.0 + 1e-9, "{sum}");
}

#[test]
fn an_iterator_reads_what_was_known_when_it_was_made() {
    let oracle = new();
    read_files(&oracle, 0..10);
    let expected: Vec<_> = ahead(&oracle, 0, 200).iter().map(place).collect();
    let mut iterator = null_mut();
    // SAFETY: there is room for the handle.
    assert_eq!(unsafe { ioracle_oracle_iterate(oracle.0, 0, &raw mut iterator) }, IORACLE_OK);
    let step = |iterator| {
        let mut prediction = blank();
        // SAFETY: there is room for it.
        let result = unsafe { ioracle_oracle_step(iterator, &raw mut prediction) };
        assert_eq!(result, IORACLE_OK, "{}", text(ioracle_last_error()));
        place(&prediction)
    };
    let mut read: Vec<_> = (0..20).map(|_| step(iterator)).collect();
    read_files(&oracle, 20..30);
    let mut copy = null_mut();
    // SAFETY: there is room for the handle.
    assert_eq!(unsafe { ioracle_iterator_copy(iterator, &raw mut copy) }, IORACLE_OK);
    drop(oracle);
    let copied: Vec<_> = (20..200).map(|_| step(copy)).collect();
    read.extend((20..200).map(|_| step(iterator)));
    assert_eq!(read, expected);
    assert_eq!(copied, expected[20..]);
    assert_eq!(ioracle_iterator_free(iterator), IORACLE_OK);
    assert_eq!(ioracle_iterator_free(iterator), IORACLE_DANGLING);
    assert_eq!(ioracle_iterator_free(copy), IORACLE_OK);
}

#[test]
fn files_go_by_id_by_path_or_by_both() {
    let oracle = new();
    let read = |observation: ioracle_observation| {
        for n in 0..8 {
            let read = ioracle_observation { offset: n * 64, size: 64, ..observation };
            assert_eq!(observe(&oracle, &read), IORACLE_OK);
        }
        let top = predict(&oracle)[0];
        (top.file, path(&top), top.offset)
    };
    let by_id = ioracle_observation { file: 77, ..observation(IORACLE_READ) };
    assert_eq!(read(by_id), (77, String::new(), 512));
    let by_path = ioracle_observation { path: c"a.dat".as_ptr(), ..observation(IORACLE_READ) };
    assert_eq!(read(by_path), (0, "a.dat".into(), 512));
    let by_both = ioracle_observation { file: 5, path: c"b.dat".as_ptr(), ..by_path };
    assert_eq!(read(by_both), (5, "b.dat".into(), 512));
    // SAFETY: the text is static.
    let defined = unsafe { ioracle_oracle_define_file(oracle.0, 6, c"c.dat".as_ptr()) };
    assert_eq!(defined, IORACLE_OK);
    let by_defined = ioracle_observation { file: 6, ..observation(IORACLE_READ) };
    assert_eq!(read(by_defined), (6, "c.dat".into(), 512));
}

#[test]
fn contexts_tell_apart_what_functions_do_not() {
    let oracle = new();
    let frames = [new as *const c_void, predict as *const c_void];
    let contexts = [
        ioracle_observation { context: 9, size: 1, ..observation(IORACLE_READ) },
        ioracle_observation {
            context_text: c"b.c:2".as_ptr(),
            size: 2,
            ..observation(IORACLE_READ)
        },
        ioracle_observation {
            stack: frames.as_ptr(),
            n_frames: 2,
            size: 3,
            ..observation(IORACLE_READ)
        },
        ioracle_observation {
            stack: frames[1..].as_ptr(),
            n_frames: 1,
            size: 4,
            ..observation(IORACLE_READ)
        },
    ];
    for _ in 0..6 {
        for observation in &contexts {
            assert_eq!(observe(&oracle, observation), IORACLE_OK);
        }
    }
    let mut info = ioracle_info::default();
    // SAFETY: there is room for it.
    assert_eq!(unsafe { ioracle_oracle_info(oracle.0, &raw mut info) }, IORACLE_OK);
    assert_eq!((info.symbols, info.operations), (4, 24));
    assert!(info.memory_bytes > 0 && info.grammar_size > 0);
    let sizes: Vec<u64> = ahead(&oracle, 0, 4).iter().map(|next| next.size).collect();
    assert_eq!(sizes, [1, 2, 3, 4]);
}

#[test]
fn seeks_change_nothing() {
    let oracle = new();
    read_files(&oracle, 0..4);
    let before = predict(&oracle);
    assert_eq!(observe(&oracle, &observation(IORACLE_SEEK)), IORACLE_OK);
    assert_eq!(predict(&oracle), before);
}

#[test]
fn a_saved_model_goes_on_as_if_it_had_never_been_saved() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("model");
    let file = CString::new(file.to_str().unwrap()).unwrap();
    let oracle = new();
    read_files(&oracle, 0..10);
    // In the middle of a file, whose handle is open.
    let open = ioracle_observation {
        path: c"step_0010.dat".as_ptr(),
        file: 42,
        ..observation(IORACLE_OPEN)
    };
    assert_eq!(observe(&oracle, &open), IORACLE_OK);
    // SAFETY: the path ends in NUL.
    assert_eq!(unsafe { ioracle_oracle_save(oracle.0, file.as_ptr()) }, IORACLE_OK);
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing temporary stays: {names:?}");
    let mut loaded = Made(null_mut());
    // SAFETY: the path ends in NUL, and there is room for the handle.
    let result = unsafe { ioracle_oracle_load(file.as_ptr(), &raw mut loaded.0) };
    assert_eq!(result, IORACLE_OK, "{}", text(ioracle_last_error()));
    let places = |oracle| ahead(oracle, 0, 30).iter().map(place).collect::<Vec<_>>();
    assert_eq!(places(&loaded), places(&oracle));
    read_files(&oracle, 11..13);
    read_files(&loaded, 11..13);
    assert_eq!(places(&loaded), places(&oracle));
    assert_eq!(ioracle_oracle_begin_run(loaded.0), IORACLE_OK);
    assert_eq!(predict(&loaded)[0].access, IORACLE_OPEN as u32);
}

#[test]
fn bytes_are_saved_loaded_and_merged() {
    let oracle = new();
    read_files(&oracle, 0..10);
    let (mut bytes, mut n_bytes) = (null_mut(), 0);
    // SAFETY: there is room for both.
    let saved = unsafe { ioracle_oracle_save_bytes(oracle.0, &raw mut bytes, &raw mut n_bytes) };
    assert_eq!(saved, IORACLE_OK);
    let mut loaded = Made(null_mut());
    // SAFETY: this many bytes were saved; one less is not a model.
    unsafe {
        let cut = ioracle_oracle_load_bytes(bytes, n_bytes - 1, &raw mut loaded.0);
        assert_eq!(cut, IORACLE_MODEL);
        assert!(loaded.0.is_null());
        assert!(text(ioracle_last_error()).contains("cut off"), "{}", text(ioracle_last_error()));
        assert_eq!(ioracle_oracle_load_bytes(bytes, n_bytes, &raw mut loaded.0), IORACLE_OK);
        ioracle_bytes_free(bytes);
    }
    let other = new();
    read_files(&other, 0..3);
    assert_eq!(ioracle_oracle_merge(loaded.0, other.0), IORACLE_OK);
    let mut info = ioracle_info::default();
    // SAFETY: there is room for it.
    assert_eq!(unsafe { ioracle_oracle_info(loaded.0, &raw mut info) }, IORACLE_OK);
    assert_eq!(info.operations, 13 * 6);
    assert_eq!(predict(&loaded)[0].access, IORACLE_OPEN as u32);
    assert_eq!(ioracle_oracle_merge(loaded.0, loaded.0), IORACLE_OK);
}

#[test]
fn files_that_are_no_models_are_refused_with_their_name() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| CString::new(directory.path().join(name).to_str().unwrap()).unwrap();
    std::fs::write(directory.path().join("text"), "hello, world").unwrap();
    let mut oracle = null_mut();
    let rows = [
        ("missing", IORACLE_IO, "missing"),
        (".", IORACLE_IO, "not a regular file"),
        ("text", IORACLE_MODEL, "not a model"),
    ];
    for (name, expected, words) in rows {
        // SAFETY: the path ends in NUL, and there is room for the handle.
        let result = unsafe { ioracle_oracle_load(place(name).as_ptr(), &raw mut oracle) };
        assert_eq!(result, expected);
        let message = text(ioracle_last_error());
        assert!(message.contains(words), "{message}");
        assert!(oracle.is_null());
    }
    let unwritable = place("no/such/directory");
    // SAFETY: the path ends in NUL.
    let saved = unsafe { ioracle_oracle_save(new().0, unwritable.as_ptr()) };
    assert_eq!(saved, IORACLE_IO);
}

#[test]
fn wrong_observations_are_refused_and_change_nothing() {
    let oracle = new();
    let read = observation(IORACLE_READ);
    let wrong = [
        (ioracle_observation { access: 99, ..read }, "access"),
        (ioracle_observation { function: 9999, ..read }, "function"),
        (ioracle_observation { struct_size: 0, ..read }, "struct_size"),
        (ioracle_observation { start_ns: 2, end_ns: 1, ..read }, "before"),
        (ioracle_observation { offset: -2, ..read }, "offset"),
        (ioracle_observation { size: u64::MAX, ..read }, "size"),
        (ioracle_observation { flags: 16, ..read }, "flags"),
        (ioracle_observation { path: c"".as_ptr(), ..read }, "path"),
        (ioracle_observation { path: c"a\xFF".as_ptr(), ..read }, "byte 1"),
        (ioracle_observation { context_text: c"\xC0".as_ptr(), ..read }, "UTF-8"),
        (
            ioracle_observation {
                stack: (&raw const oracle.0).cast(),
                n_frames: usize::MAX,
                ..read
            },
            "n_frames",
        ),
    ];
    for (observation, words) in &wrong {
        assert_eq!(observe(&oracle, observation), IORACLE_INVALID);
        let message = text(ioracle_last_error());
        assert!(message.contains(words), "'{words}' is not in: {message}");
    }
    let mut info = ioracle_info::default();
    // SAFETY: there is room for it.
    assert_eq!(unsafe { ioracle_oracle_info(oracle.0, &raw mut info) }, IORACLE_OK);
    assert_eq!(info.operations, 0);
}
