// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does the context of a call cost?
//!
//! Calls are reached on 1 to 1024 paths of random functions, in random order.
//! Printed is the time of looking up the context at their end, by known paths,
//! by rules alone and by `backtrace()`, less the time of looking at the clock.
//! The clock waits for all instructions before it, so what would overlap with
//! the program's own work counts in full.

use std::alloc::{Layout, alloc_zeroed};
use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use ioracle_capture::stack::{Caller, ContextDefiner, UnwoundFrame, Walker};

/// Functions that a path chooses from.
const WAYS: usize = 8;
const DEPTHS: [usize; 3] = [5, 20, 60];
const N_PATHS: [usize; 5] = [1, 16, 64, 256, 1024];

struct Kept;

impl ContextDefiner for Kept {
    fn module(&mut self, _: u64, _: &[u8], _: &[u8], _: u64) -> bool {
        true
    }

    fn context(&mut self, _: u64, _: &[UnwoundFrame]) -> bool {
        true
    }
}

/// What is done at the end of a path.
#[derive(Clone, Copy)]
enum End {
    Nothing,
    Context,
    Rules,
    Backtrace,
    CountFrames,
}

struct Probe {
    walker: Box<Walker>,
    end: End,
    result: usize,
    ticks: u64,
}

thread_local! {
    static PROBE: UnsafeCell<Probe> = UnsafeCell::new(Probe {
        // SAFETY: all zero is the walker that knows nothing.
        walker: unsafe { Box::from_raw(alloc_zeroed(Layout::new::<Walker>()).cast()) },
        end: End::Nothing,
        result: 0,
        ticks: 0,
    });
}

unsafe extern "C" {
    fn backtrace(room: *mut *mut c_void, n: c_int) -> c_int;
}

/// An intercepted function.
#[unsafe(naked)]
extern "C" fn intercepted() {
    core::arch::naked_asm!("mov rdi, rsp", "mov rsi, rbp", "jmp {}", sym look)
}

extern "C" fn look(sp: usize, fp: usize) {
    PROBE.with(|probe| {
        // SAFETY: this thread's own, and nothing below looks at it again.
        let probe = unsafe { &mut *probe.get() };
        let caller = Caller { sp, fp };
        let start = ticks();
        probe.result = match probe.end {
            End::Nothing => black_box(sp),
            End::Context => probe.walker.context(caller, &mut Kept) as usize,
            End::Rules => probe.walker.addresses(caller).0 as usize,
            End::CountFrames => probe.walker.addresses(caller).1.len(),
            End::Backtrace => n_found_by_backtrace(),
        };
        probe.ticks += ticks() - start;
    });
}

#[inline(never)]
fn n_found_by_backtrace() -> usize {
    let mut room = [std::ptr::null_mut(); 96];
    // SAFETY: the buffer is as long as the call says.
    unsafe { backtrace(room.as_mut_ptr(), 96) as usize }
}

/// The processor's clock, once all before is done.
fn ticks() -> u64 {
    // SAFETY: all processors have these instructions.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

type Way = fn(&[u8]) -> usize;

const FUNCTIONS: [Way; WAYS] =
    [step::<0>, step::<1>, step::<2>, step::<3>, step::<4>, step::<5>, step::<6>, step::<7>];

/// One frame of a path.
#[inline(never)]
fn step<const WAY: usize>(path: &[u8]) -> usize {
    let result = match path {
        [] => {
            intercepted();
            0
        }
        [next, rest @ ..] => black_box(FUNCTIONS)[usize::from(*next) % WAYS](rest),
    };
    black_box(result) + WAY
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize
    }
}

fn set(end: End) {
    // SAFETY: no path is under way.
    PROBE.with(|probe| unsafe { (*probe.get()).end = end });
}

/// Nanoseconds per look, the best of some rounds. Each round has an order of
/// its own, or the processor would learn it.
fn time(paths: &[Vec<u8>], random: &mut Random, end: End, n_rounds: usize) -> f64 {
    set(end);
    let mut best = f64::MAX;
    for _ in 0..n_rounds {
        let order: Vec<_> = (0..5000).map(|_| random.next() % paths.len()).collect();
        let (start, start_ticks) = (Instant::now(), ticks());
        travel(paths, &order);
        let tick_ns = start.elapsed().as_nanos() as f64 / (ticks() - start_ticks) as f64;
        // SAFETY: no path is under way.
        let ticks = PROBE.with(|probe| unsafe { std::mem::take(&mut (*probe.get()).ticks) });
        best = best.min(ticks as f64 * tick_ns / order.len() as f64);
    }
    best
}

#[inline(never)]
fn travel(paths: &[Vec<u8>], order: &[usize]) {
    for &number in order {
        black_box(step::<0>(&paths[number]));
    }
}

fn main() {
    // A thread of the C library has few frames around ours.
    let mut thread = 0;
    // SAFETY: the function takes no argument and is waited for.
    unsafe {
        libc::pthread_create(&raw mut thread, std::ptr::null(), measure, std::ptr::null_mut());
        libc::pthread_join(thread, std::ptr::null_mut());
    }
}

const ROOM: usize = 32 * 1024;
const PAINT: u8 = 0xa5;

/// Bytes of stack that a look takes, with all that is around it here.
fn stack_use() -> usize {
    paint();
    travel(&[Vec::new()], &[0]);
    n_overwritten()
}

#[inline(never)]
fn paint() {
    black_box(&mut [PAINT; ROOM]);
}

#[inline(never)]
fn n_overwritten() -> usize {
    let room = [const { MaybeUninit::<u8>::uninit() }; ROOM];
    let start = black_box(&room).as_ptr().cast::<u8>();
    // SAFETY: stack that was painted, and then used or not.
    let is_painted = |place: usize| unsafe { start.add(place).read_volatile() } == PAINT;
    // Large frames touch each of their pages once, so a single word says nothing.
    let is_used = |place: usize| (place..ROOM).take(256).filter(|&at| !is_painted(at)).count() > 32;
    ROOM - (256..ROOM).find(|&place| is_used(place)).unwrap_or(ROOM)
}

extern "C" fn measure(_: *mut c_void) -> *mut c_void {
    let mut random = Random(7);
    set(End::CountFrames);
    travel(&[Vec::new()], &[0]);
    // SAFETY: no path is under way.
    let n_around = PROBE.with(|probe| unsafe { (*probe.get()).result });
    set(End::Nothing);
    let nothing = stack_use();
    set(End::Context);
    // SAFETY: no path is under way.
    PROBE.with(|probe| unsafe { (*probe.get()).walker.forget_code() });
    let mut uses = [0; 2];
    for bytes in black_box(&mut uses[..]) {
        *bytes = stack_use() - nothing;
    }
    println!("stack used: {} bytes by new code, {} by a known path\n", uses[0], uses[1]);
    assert!(n_around <= DEPTHS[0], "{n_around} frames around");
    println!("| frames | live paths | known paths, ns | rules, ns | backtrace(), ns |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for depth in DEPTHS {
        for n_paths in N_PATHS {
            let length = depth - n_around;
            let paths: Vec<Vec<u8>> =
                (0..n_paths).map(|_| (0..length).map(|_| random.next() as u8).collect()).collect();
            let mut time = |end, n_rounds| time(&paths, &mut random, end, n_rounds);
            let nothing = time(End::Nothing, 200);
            let known = time(End::Context, 200) - nothing;
            let rules = time(End::Rules, 40) - nothing;
            let backtrace = time(End::Backtrace, 3) - nothing;
            println!("| {depth} | {n_paths} | {known:.0} | {rules:.0} | {backtrace:.0} |");
        }
    }
    std::ptr::null_mut()
}
