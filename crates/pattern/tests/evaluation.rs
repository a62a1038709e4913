// SPDX-License-Identifier: MIT OR Apache-2.0

//! Precision and recall of small loads that a generator makes.

mod support;

use ioracle_pattern::PatternConfig;
use ioracle_pattern::RequestKind::{self, Read, Write};
use ioracle_pattern::evaluation::{
    Algorithm, LabelledRun, OrderReport, feed, largest_distance, shuffled,
};
use support::{Load, runs};

fn evaluate(algorithm: Algorithm, runs: &[LabelledRun], kind: RequestKind) -> OrderReport {
    let config = PatternConfig::server();
    let largest = largest_distance(runs, kind, config.radius);
    let mut matcher = algorithm.matcher(config, kind, largest);
    feed(&mut *matcher, runs, &shuffled(runs.len(), 1), kind)
}

#[test]
fn every_algorithm_recognises_loads_that_could_not_differ_more() {
    let loads = [
        Load { n_files: 1, n_streams: 1, size: 1 << 20, per_second: 2000, ..Load::default() },
        Load { n_files: 64, n_streams: 64, size: 4096, per_second: 500, ..Load::default() },
    ];
    let runs = runs(&loads, 4);
    for algorithm in Algorithm::ALL {
        let report = evaluate(algorithm, &runs, Read);
        assert_eq!(report.counts.precision(), Some(100.0), "{algorithm:?}: {report:?}");
        assert!(report.counts.recall() > Some(90.0), "{algorithm:?}: {report:?}");
        assert_eq!(
            evaluate(algorithm, &runs, Write),
            OrderReport {
                bytes: evaluate(algorithm, &runs, Write).bytes,
                time: evaluate(algorithm, &runs, Write).time,
                ..OrderReport::default()
            }
        );
    }
}

#[test]
fn the_first_pattern_of_a_label_is_a_true_negative() {
    let loads = [Load { per_second: 1000, ..Load::default() }];
    let counts = evaluate(Algorithm::Counts, &runs(&loads, 3), Read).counts;
    assert_eq!(counts.true_negatives, 1);
    assert_eq!(counts.false_positives, 0);
    assert_eq!(counts.patterns(), counts.matches() + counts.false_negatives + 1);
}

#[test]
fn orders_are_permutations_and_the_same_for_the_same_seed() {
    let order = shuffled(100, 7);
    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(sorted, (0..100).collect::<Vec<usize>>());
    assert_eq!(order, shuffled(100, 7));
    assert_ne!(order, shuffled(100, 8));
}
