// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading ahead and bursts.

mod common;

use common::{Program, checkpoints};
use ioracle_events::{
    Access, ContextId, ContextSymbol, FileId, Function, Layer, Operation, Prediction,
};
use ioracle_oracle::{Config, Oracle};

/// Offset and size of the next operations along the first prediction.
fn places(program: &Program, horizon: usize) -> Vec<(Option<u64>, u64)> {
    program.oracle.ahead(0).take(horizon).map(|next| (next.offset, next.size)).collect()
}

#[test]
fn the_first_item_ahead_is_the_prediction_itself() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..10);
    for (n, prediction) in program.oracle.predict().iter().enumerate() {
        let first = program.oracle.ahead(n).next().expect("an item");
        assert_eq!(first, *prediction);
    }
}

#[test]
fn positions_move_along_the_path() {
    let mut program = Program::new();
    for n in 0..20 {
        program.write(1, "data", n * 10, 10);
    }
    let expected: Vec<_> = (20..25).map(|n| (Some(n * 10), 10)).collect();
    assert_eq!(places(&program, 5), expected);
}

#[test]
fn files_opened_on_the_path_are_written_on_the_path() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..10);
    let ahead: Vec<Prediction> = program.oracle.ahead(0).take(30).collect();
    assert_eq!(program.name_of(&ahead[0]), "out_0010.dat");
    assert_eq!((ahead[1].offset, program.name_of(&ahead[1])), (Some(100), "out_0010.dat".into()));
    assert_eq!((ahead[3].offset, ahead[4].offset), (Some(612), Some(8)));
    assert_eq!(ahead[14].function.access(), Access::Close);
    assert_eq!(program.name_of(&ahead[15]), "out_0011.dat");
    assert_eq!(program.name_of(&ahead[16]), "out_0011.dat");
}

#[test]
fn time_and_doubt_grow_along_the_path() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..10);
    let ahead: Vec<Prediction> = program.oracle.ahead(0).take(40).collect();
    for pair in ahead.windows(2) {
        assert!(pair[1].from_now_ns >= pair[0].from_now_ns + pair[0].io_time_ns);
        assert!(pair[1].operation_probability <= pair[0].operation_probability);
        assert!(pair.iter().all(|step| step.probability <= step.operation_probability));
    }
    assert!(ahead[0].from_now_ns >= 45_000_000);
    assert!((90_000_000..140_000_000).contains(&ahead[15].from_now_ns));
}

#[test]
fn reading_far_ahead_stops_only_when_asked_to() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..10);
    assert_eq!(program.oracle.ahead(0).take(20_000).count(), 20_000);
}

#[test]
fn a_prediction_that_does_not_exist_leads_nowhere() {
    assert_eq!(Program::new().oracle.ahead(99).count(), 0);
}

#[test]
fn the_next_burst_is_known_before_it_starts() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    let burst = program.oracle.next_burst().expect("bursts are distinguished from quiet");
    assert!((45_000_000..60_000_000).contains(&burst.starts_in_ns), "{burst:?}");
    assert!(burst.ends_in_ns > burst.starts_in_ns && burst.ends_in_ns < 61_000_000, "{burst:?}");
    assert_eq!((burst.operations, burst.bytes), (15, 6 * (512 + 16) + 64));
    assert!(burst.confidence > 0.5, "{burst:?}");
    assert_eq!(program.oracle.operations_left_in_burst(), Some(0));
}

#[test]
fn the_bursts_after_the_next_come_a_period_apart() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    let bursts: Vec<_> = program.oracle.bursts().take(4).collect();
    for pair in bursts.windows(2) {
        let period_ns = pair[1].starts_in_ns - pair[0].starts_in_ns;
        assert!((45_000_000..62_000_000).contains(&period_ns), "{bursts:?}");
        assert_eq!(pair[0].operations, pair[1].operations);
    }
}

#[test]
fn inside_a_burst_what_is_left_of_it_is_known() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    program.compute(50_000_000).open(1, "out_0020.dat").write(2, "out_0020.dat", 100, 512);
    assert_eq!(program.oracle.operations_left_in_burst(), Some(13));
    let burst = program.oracle.next_burst().expect("bursts are distinguished from quiet");
    assert_eq!((burst.starts_in_ns, burst.operations), (0, 13));
}

#[test]
fn the_accesses_within_a_span_are_counted() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    assert_eq!(program.oracle.within(1_000_000).operations, 0);
    let one = program.oracle.within(80_000_000);
    assert_eq!((one.operations, one.bytes), (15, 6 * (512 + 16) + 64));
    assert_eq!(program.oracle.within(130_000_000).operations, 30);
}

/// As many operations as are looked ahead were once reported as a forecast.
#[test]
fn a_burst_whose_end_is_not_in_sight_is_reported_as_cut() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    assert!(!program.oracle.next_burst().expect("bursts are distinguished from quiet").is_cut);
    for n in 0..5000 {
        program.write(9, "endless", n * 10, 10);
    }
    let burst = program.oracle.next_burst().expect("bursts are distinguished from quiet");
    assert_eq!((burst.operations, burst.is_cut), (1 << 16, true));
}

/// Once `open` was certain to name a file that nobody had seen.
#[test]
fn a_name_never_seen_is_the_less_certain_the_further_away() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    let opens: Vec<f64> = program
        .oracle
        .ahead(0)
        .filter(|next| next.function.name() == "open")
        .map(|next| next.probability / next.operation_probability)
        .take(4)
        .collect();
    assert!(opens.is_sorted_by(|nearer, further| nearer > further), "{opens:?}");
    assert!(opens[0] < 1.0 && opens[3] > 0.5, "{opens:?}");
    program.open(1, "of another kind");
    let surprised = program.oracle.ahead(0).find(|next| next.function.name() == "open").unwrap();
    let there = surprised.probability / surprised.operation_probability;
    assert!(there < opens[0], "{surprised:?}");
}

/// 'At once' is a good guess for waits, but no call takes no time: beside a slow
/// first call the fast ones that followed were once predicted to take none.
#[test]
fn a_call_is_expected_to_take_some_time() {
    let mut oracle = Oracle::new(Config::default());
    for n in 0..12 {
        let took_ns = if n % 4 == 0 { 900_000 } else { 400 };
        oracle.observe(&Operation {
            function: Function::from_name(Layer::Posix, "pwrite").unwrap(),
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: Some(n * 10),
            size: 10,
            requested: None,
            append: false,
            truncated_to: None,
            start_ns: n * 2_000_000,
            end_ns: n * 2_000_000 + took_ns,
        });
        let expected = oracle.predict().iter().find(|next| next.symbol != ContextSymbol::UNSEEN);
        assert!(expected.is_none_or(|next| next.io_time_ns > 0), "after {n}: {expected:?}");
    }
}

#[test]
fn without_quiet_spells_there_are_no_bursts() {
    let mut program = Program::new();
    for n in 0..200 {
        program.write(1, "data", n * 10, 10);
    }
    assert_eq!(program.oracle.next_burst(), None);
    assert_eq!(program.oracle.operations_left_in_burst(), None);
}
