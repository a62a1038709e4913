// SPDX-License-Identifier: MIT OR Apache-2.0

//! The stack of the thread that began the program grows while it runs, so this
//! test is a program of its own: other tests run in threads.

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
#[allow(dead_code, reason = "the other tests use the rest")]
mod journeys;

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
fn main() {
    use journeys::{Shapes, compile, with_probe};

    let directory = tempfile::tempdir().expect("there is room");
    let library = compile(directory.path(), "shapes.so", &["-O2"]);
    let shapes = Shapes::load(&library);
    // Each letter takes 5000 bytes; the kernel begins with some 130 KiB. Now and
    // then a coroutine comes between, whose stack is another.
    let mut paths = Vec::new();
    for n_letters in (0..300).step_by(20) {
        paths.push("l".repeat(n_letters));
        paths.push("pcp".to_owned());
    }
    let mut walks = Vec::new();
    for _ in 0..std::hint::black_box(3) {
        let before = with_probe(|probe| probe.walker.n_walks());
        shapes.travel_all(paths.iter().map(String::as_str));
        walks.push(with_probe(|probe| probe.walker.n_walks()) - before);
    }
    with_probe(|probe| assert_eq!(probe.n_different, 0, "contexts are those of backtrace()"));
    let n_coroutines = paths.len() as u64 / 2;
    assert_eq!(walks[1..], [n_coroutines; 2], "only foreign stacks are walked again");
    println!("the stack of the first thread is followed while it grows: ok");
}

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
fn main() {}
