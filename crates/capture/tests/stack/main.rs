// SPDX-License-Identifier: MIT OR Apache-2.0

//! Contexts must be those of `backtrace()`, whatever stack they are found on.
#![cfg(all(target_arch = "x86_64", not(feature = "portable")))]

mod journeys;
mod stepping;

use journeys::{Shapes, compile, with_probe};
use stepping::single_step;

const OPTIMISED: &[&str] = &["-O2", "-fomit-frame-pointer"];
const FRAME_POINTERS: &[&str] = &["-O2", "-fno-omit-frame-pointer"];
const PLAIN: &[&str] = &["-O0"];

/// Runs a test with the shapes, in each of the ways they are compiled in.
fn with_shapes(test: impl Fn(&Shapes)) {
    let directory = tempfile::tempdir().expect("there is room");
    for (number, flags) in [OPTIMISED, FRAME_POINTERS, PLAIN].into_iter().enumerate() {
        let shapes = Shapes::load(&compile(directory.path(), &format!("{number}.so"), flags));
        test(&shapes);
        with_probe(|probe| assert_eq!(probe.n_different, 0, "{flags:?}"));
    }
}

/// Letters that go from frame to frame on one stack.
const LETTERS: &[u8] = b"ptlvawfrq";

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn path(&mut self, letters: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }
}

#[test]
fn every_context_is_that_of_backtrace() {
    with_shapes(|shapes| {
        let mut random = Random(1);
        for depth in [0, 1, 2, 7, 25] {
            let paths: Vec<_> = (0..20).map(|_| random.path(LETTERS, depth)).collect();
            let walks_before = with_probe(|probe| probe.walker.n_walks());
            for _ in 0..200 {
                shapes.travel(&paths[random.below(paths.len())]);
            }
            let n_walks = with_probe(|probe| probe.walker.n_walks()) - walks_before;
            assert!(n_walks <= 20, "{n_walks} walks for 20 paths of {depth}");
        }
    });
}

#[test]
fn each_path_has_its_own_context_and_keeps_it() {
    with_shapes(|shapes| {
        let mut random = Random(2);
        let mut contexts = std::collections::HashMap::new();
        for _ in 0..2000 {
            // The same stack pointer for all: only return addresses differ.
            let path = random.path(b"pt", 8);
            let context = shapes.travel(&path);
            assert_eq!(*contexts.entry(path).or_insert(context), context);
        }
        let distinct: std::collections::HashSet<_> = contexts.values().collect();
        assert_eq!(distinct.len(), contexts.len());
    });
}

#[test]
fn signal_handlers_and_coroutines_are_walked() {
    with_shapes(|shapes| {
        let mut random = Random(3);
        for special in ["s", "S", "c", "sS", "ss", "cs", "cS", "Sc"] {
            for _ in 0..20 {
                let before = random.path(LETTERS, 3);
                let after = random.path(LETTERS, 3);
                shapes.travel(&format!("{before}{special}{after}"));
            }
        }
    });
}

#[test]
fn small_alternate_stacks_are_walked_like_large_ones() {
    with_shapes(|shapes| {
        assert_ne!(shapes.travel("pm"), 0);
        assert_ne!(shapes.travel("pS"), 0);
    });
}

#[test]
fn a_signal_at_any_instruction_is_walked() {
    with_shapes(|shapes| {
        let path = std::ffi::CString::new("ptlvrq").unwrap();
        let before = with_probe(|probe| probe.contexts.len());
        single_step(|| shapes.travel_quietly(&path));
        let n_steps = with_probe(|probe| probe.contexts.len()) - before;
        assert!(n_steps > 100, "{n_steps}");
    });
}

#[test]
fn threads_have_walkers_of_their_own() {
    with_shapes(|shapes| {
        let contexts = std::thread::scope(|scope| {
            let travel = || {
                let mut random = Random(4);
                let contexts: Vec<_> =
                    (0..300).map(|_| shapes.travel(&random.path(b"ptvl", 4))).collect();
                with_probe(|probe| assert_eq!(probe.n_different, 0));
                contexts
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(travel)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(contexts.iter().all(|of_thread| *of_thread == contexts[0]));
    });
}

#[test]
fn deep_stacks_are_cut_off_at_their_outer_end() {
    with_shapes(|shapes| {
        let depths = [20, 20, 30, 200, 201, 800];
        let paths = depths.map(|depth| "p".repeat(depth));
        let contexts = shapes.travel_all(paths.iter().map(String::as_str));
        let n_frames: Vec<_> = with_probe(|probe| {
            contexts.iter().map(|context| probe.definitions.contexts[context].len()).collect()
        });
        assert_eq!(contexts[0], contexts[1]);
        assert!(n_frames[0] < n_frames[2] && n_frames[2] < 96, "{n_frames:?}");
        assert_eq!(n_frames[3..], [96, 96, 96]);
        assert!(contexts[3..].iter().all(|context| *context == contexts[3]));
    });
}

#[test]
fn a_changed_return_address_is_another_context() {
    with_shapes(|shapes| {
        let outside = Box::new(0_usize);
        let [first, changed, again] = shapes.change_a_word(1, &raw const *outside as usize);
        assert_eq!(first, again);
        assert_ne!(first, changed);
    });
}

#[test]
fn a_broken_frame_pointer_ends_the_stack() {
    with_shapes(|shapes| {
        // backtrace() would crash.
        with_probe(|probe| probe.compares = false);
        let local = [0_usize; 4];
        let on_stack = local.as_ptr() as usize;
        let heap = Box::new([usize::MAX; 4]);
        let on_heap = heap.as_ptr() as usize;
        let wild = [0, 1, 8, 0xfff, 1 << 40, 1 << 47, 1 << 63, usize::MAX, usize::MAX - 15];
        for value in wild.into_iter().chain([on_stack, on_stack + 1, on_heap, on_heap + 4]) {
            let contexts = [0; 3].map(|_| shapes.break_frame_pointer(value));
            let n_frames = with_probe(|probe| probe.definitions.contexts[&contexts[0]].len());
            assert!((1..=2).contains(&n_frames), "{n_frames} frames with {value:#x}");
            assert_eq!(contexts[0], contexts[1]);
            assert_eq!(contexts[0], contexts[2]);
        }
        with_probe(|probe| probe.compares = true);
    });
}

#[test]
fn a_changed_frame_pointer_is_another_context_where_it_is_used() {
    with_shapes(|shapes| {
        // backtrace() would crash.
        with_probe(|probe| probe.compares = false);
        let [first, changed, again] = shapes.change_a_word(0, 4711);
        assert_eq!(first, again);
        assert_ne!(first, changed);
        with_probe(|probe| probe.compares = true);
    });
}

#[test]
fn a_library_in_the_place_of_another_is_seen() {
    let directory = tempfile::tempdir().expect("there is room");
    let flags = [&["-O2"][..], &["-O1", "-fno-omit-frame-pointer"], &["-O0"]];
    let libraries: Vec<_> = (0..3)
        .map(|number| compile(directory.path(), &format!("{number}.so"), flags[number]))
        .collect();
    let mut addresses = std::collections::HashMap::new();
    let mut n_reused = 0;
    for round in 0..30 {
        let shapes = Shapes::load(&libraries[round % 3]);
        n_reused += usize::from(addresses.insert(shapes.address() & !0xfffff, round % 3).is_some());
        let mut random = Random(5);
        for _ in 0..50 {
            shapes.travel(&random.path(LETTERS, 5));
        }
        with_probe(|probe| assert_eq!(probe.n_different, 0, "round {round}"));
        shapes.unload();
        ioracle_capture::stack::modules_changed();
    }
    assert!(n_reused > 0, "no library was loaded where another had been");
}

#[test]
fn definitions_are_made_until_they_are_kept() {
    with_shapes(|shapes| {
        with_probe(|probe| probe.definitions.is_full = true);
        let n_defined = || {
            let before = with_probe(|probe| probe.definitions.n_defined);
            shapes.travel_all(["pvp"]);
            with_probe(|probe| probe.definitions.n_defined) - before
        };
        let mut defined = Vec::new();
        for turn in 0..8 {
            with_probe(|probe| {
                probe.definitions.is_full = turn < 2;
                if turn == 5 {
                    probe.walker.forget_definitions();
                }
            });
            defined.push(n_defined() > 0);
        }
        assert_eq!(defined, [true, true, true, false, false, true, false, false]);
    });
}
