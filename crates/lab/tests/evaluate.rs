// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whole evaluations of traces so small that their numbers are known by hand.

use ioracle_lab::figures::{Figure, draw};
use ioracle_lab::{
    Error, EvaluateOptions, Evaluation, RankReport, Survey, ablate, evaluate, measure_cost,
};
use ioracle_trace::{Encoding, Trace, TraceFiles};

const HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail";

fn trace(rows: &[&str]) -> Trace {
    let parts = TraceFiles {
        encoding: Encoding::Plain,
        events: format!("{HEADER}\n{}\n", rows.join("\n")).into_bytes(),
        stacks: b"id,frames\n1,app+0x10\n2,app+0x20\n3,app+0x30\n4,app+0x40\n".to_vec(),
        files: b"id,path\n1,a.dat\n2,b.dat\n".to_vec(),
        optional: Default::default(),
        meta: None,
    };
    Trace::from_parts("tiny", parts, ioracle_trace::ReadOptions::default()).unwrap()
}

fn reports(trace: &Trace, options: &EvaluateOptions) -> Vec<RankReport> {
    let survey = Survey::of(trace, None).unwrap();
    evaluate(trace, &survey, options, |_| {}).unwrap()
}

fn evaluations(rows: &[&str]) -> Vec<Evaluation> {
    let trace = trace(rows);
    let options = EvaluateOptions { baselines: true, ..EvaluateOptions::default() };
    reports(&trace, &options).into_iter().map(|report| report.evaluation).collect()
}

const OPEN_WRITE_WRITE_CLOSE: [&str; 4] = [
    "0,0,0,posix,open,1,1,3,0,0,3,0,10,0,WRONLY|CREAT|TRUNC",
    "0,0,1,posix,write,2,1,3,0,100,100,20,30,0,",
    "0,0,2,posix,write,2,1,3,100,100,50,1030,1040,0,",
    "0,0,3,posix,close,3,1,3,0,0,0,1060,1070,0,",
];

#[test]
fn a_tiny_trace_has_the_numbers_computed_by_hand() {
    let [e] = &evaluations(&OPEN_WRITE_WRITE_CLOSE)[..] else { panic!("one rank") };
    assert_eq!((e.operations, e.symbols), (4, 3));
    // Both writes are contiguous; the second moved 50 of the 100 bytes asked.
    assert_eq!(e.contiguous_accuracy, Some(100.0));
    let contiguous = &e.baselines.as_ref().unwrap().contiguous;
    // Sizes 0 and then 100 were predicted, 100 and 50 came.
    assert_eq!(contiguous.hit_ratio, Some(25.0));
    assert_eq!(contiguous.hit_ratio_stationary, Some(50.0));
    // Three of the four are in the file of the one before.
    assert_eq!(contiguous.file_accuracy, Some(75.0));
    // Waits of 10, 1000 and 20 ns; the last value was off by 10, 990 and 980.
    assert!((e.immediate_error_s.unwrap() - 1030e-9 / 3.0).abs() < 1e-15);
    let last = e.baselines.as_ref().unwrap().last_time.time_error_s.unwrap();
    assert!((last - 1980e-9 / 3.0).abs() < 1e-15);
    // Only the second write had been seen before.
    assert!(e.context_accuracy.unwrap() <= 25.0);
    assert_eq!(e.baselines.as_ref().unwrap().markov1.context_accuracy, Some(0.0));
}

#[test]
fn failed_calls_and_seeks_are_no_operations() {
    let mut rows = OPEN_WRITE_WRITE_CLOSE.to_vec();
    rows.push("0,0,4,posix,open,1,2,-1,0,0,-1,2000,2010,0,RDONLY");
    rows.push("0,0,5,posix,lseek,4,1,3,0,0,0,2020,2030,0,SET");
    assert_eq!(evaluations(&rows)[0].operations, 4);
}

#[test]
fn a_call_that_encloses_a_data_access_is_not_counted_beside_it() {
    let rows = [
        "0,0,0,mpiio,mpi_write_at,1,1,1,0,100,0,0,100,0,",
        "0,0,1,posix,pwrite,2,1,3,0,100,100,10,90,1,",
        "0,0,2,mpiio,mpi_write_at,1,1,1,100,100,0,200,300,0,",
    ];
    let e = &evaluations(&rows)[0];
    // The first contains the pwrite, the second is itself the operation.
    assert_eq!((e.operations, e.symbols), (2, 2));
}

#[test]
fn a_rank_is_weighted_by_the_operations_of_its_threads() {
    let rows = [
        "0,0,0,posix,write,1,1,3,0,10,10,0,10,0,",
        "0,1,1,posix,write,2,2,4,0,10,10,0,10,0,",
        "0,1,2,posix,write,2,2,4,10,10,10,20,30,0,",
        "0,1,3,posix,write,2,2,4,20,10,10,40,50,0,",
    ];
    let e = &evaluations(&rows)[0];
    assert_eq!((e.operations, e.symbols), (4, 2));
    // The first access of each thread is not contiguous to anything.
    assert_eq!(e.contiguous_accuracy, Some(50.0));
    // Waits exist within the second thread only: 10 and 10 ns.
    assert!((e.immediate_error_s.unwrap() - 10e-9).abs() < 1e-15);
}

#[test]
fn ranks_that_take_turns_are_kept_apart() {
    let rows = [
        "0,0,0,posix,write,1,1,3,0,10,10,0,10,0,",
        "0,0,1,posix,write,1,1,3,10,10,10,20,30,0,",
        "1,0,0,posix,write,1,2,3,0,10,10,0,10,0,",
    ];
    let evaluations = evaluations(&rows);
    let counts: Vec<(u32, u64)> = evaluations.iter().map(|e| (e.rank, e.operations)).collect();
    assert_eq!(counts, [(0, 2), (1, 1)]);
}

#[test]
fn every_operation_has_a_cost() {
    let trace = trace(&OPEN_WRITE_WRITE_CLOSE);
    let survey = Survey::of(&trace, None).unwrap();
    let mut reports = reports(&trace, &EvaluateOptions::default());
    assert_eq!(reports[0].evaluation.observe_ns_mean, None);
    measure_cost(&trace, &survey, &ioracle_oracle::Config::default(), &mut reports).unwrap();
    // So short a trace is learned several times over.
    assert_eq!(reports[0].details.observe.count() % 4, 0);
    assert!(reports[0].details.observe.count() > 4);
    assert!(reports[0].evaluation.observe_ns_p99 >= reports[0].details.observe.mean());
}

#[test]
fn two_evaluations_of_a_trace_are_equal() {
    let looped = looped();
    let rows: Vec<&str> = looped.iter().map(String::as_str).collect();
    let first = evaluations(&rows).remove(0);
    assert_eq!(first, evaluations(&rows).remove(0));
    assert!(first.context_accuracy_stationary > Some(90.0), "{first:?}");
    assert!(first.horizon_share > Some(0.9), "{first:?}");
}

#[test]
fn all_figures_of_a_loop_are_drawn() {
    let looped = looped();
    let rows: Vec<&str> = looped.iter().map(String::as_str).collect();
    let trace = trace(&rows);
    let options = EvaluateOptions { series: true, ..EvaluateOptions::default() };
    let report = reports(&trace, &options).remove(0);
    let series = report.series.unwrap();
    for figure in Figure::ALL {
        let svg = draw(figure, "tiny", &series).unwrap().unwrap();
        assert!(svg.contains("tiny") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.len() < 60_000, "{figure:?} takes {} bytes", svg.len());
    }
}

#[test]
fn every_improvement_can_be_switched_off() {
    let trace = trace(&OPEN_WRITE_WRITE_CLOSE);
    let survey = Survey::of(&trace, Some(0)).unwrap();
    let ablations = ablate(&trace, &survey).unwrap();
    assert!(ablations.len() > 1);
    assert!(ablations.iter().all(|ablation| ablation.evaluation.operations == 4));
}

#[test]
fn a_trace_without_operations_is_refused() {
    let trace = trace(&["0,0,0,posix,lseek,1,1,3,0,0,0,0,10,0,SET"]);
    assert!(matches!(Survey::of(&trace, None), Err(Error::NoOperations { .. })));
}

#[test]
fn threads_without_number_are_refused_instead_of_filling_the_memory() {
    let row = |thread: u64, sequence: u64| {
        let at = sequence * 100;
        format!("0,{thread},{sequence},posix,write,1,1,3,0,10,10,{at},{},0,", at + 10)
    };
    let rows: Vec<String> = (0..2 * 1100).map(|sequence| row(sequence % 1100, sequence)).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let trace = trace(&rows);
    let survey = Survey::of(&trace, None).unwrap();
    let refused = evaluate(&trace, &survey, &EvaluateOptions::default(), |_| {});
    assert!(matches!(refused, Err(Error::TooManyStreams { .. })));
}

/// Thirty turns of open, four writes, close.
fn looped() -> Vec<String> {
    let mut rows = Vec::new();
    for turn in 0..30u64 {
        let at = turn * 1000;
        let first = turn * 6;
        rows.push(format!("0,0,{first},posix,open,1,1,3,0,0,3,{at},{},0,WRONLY", at + 10));
        for piece in 0..4 {
            let (sequence, offset, start) = (first + 1 + piece, piece * 64, at + 50 + piece * 50);
            rows.push(format!(
                "0,0,{sequence},posix,write,2,1,3,{offset},64,64,{start},{},0,",
                start + 10
            ));
        }
        let (sequence, start) = (first + 5, at + 400);
        rows.push(format!("0,0,{sequence},posix,close,3,1,3,0,0,0,{start},{},0,", start + 10));
    }
    rows
}
