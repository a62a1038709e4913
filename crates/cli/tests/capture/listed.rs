// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether what was recorded of a library is what the program has listed of its
//! own calls (`listed.h`): function, file, bytes, result, object and selection.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ioracle_events::{Event, Layer};
use ioracle_trace::{ReadOptions, Trace};

use crate::agree::behaves_the_same;
use crate::run::{Done, Program};

/// Runs the program both ways and demands the same behaviour, and a trace that
/// agrees call for call with the lists of its threads or ranks, on the files that
/// these name. `of_library` is how the names of the functions begin.
pub fn check_listed(program: &Program, of_library: &str) -> Done {
    let done = behaves_the_same(program);
    let listed = lists(&done);
    let file_of = |call: &String| call.split(' ').nth(1).unwrap_or_default().to_owned();
    let files: BTreeSet<String> = listed.iter().flatten().map(file_of).collect();
    let is_wanted = |file: &str| file.is_empty() || files.contains(file);
    let mut recorded = recorded(&done, of_library, is_wanted);
    assert!(!listed.is_empty(), "the program has listed nothing: {}", done.err);
    for calls in &listed {
        let same =
            |other: &Vec<String>| calls.iter().zip(other).take_while(|(a, b)| a == b).count();
        let Some(nearest) = (0..recorded.len()).max_by_key(|&n| same(&recorded[n])) else {
            panic!("{} calls were not recorded; {}", calls.len(), done.err);
        };
        let nearest = recorded.swap_remove(nearest);
        if nearest != *calls {
            let at = same(&nearest);
            panic!(
                "call {at} of {} ({} recorded) is\n{:?}, recorded as\n{:?}\n{}",
                calls.len(),
                nearest.len(),
                calls.get(at),
                nearest.get(at),
                done.err
            );
        }
    }
    assert!(recorded.is_empty(), "not listed: {recorded:?}");
    done
}

/// The events of a recording.
pub fn events(done: &Done) -> Vec<Event> {
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
    trace.events(None).unwrap().map(Result::unwrap).collect()
}

fn lists(done: &Done) -> Vec<Vec<String>> {
    let list = |number| fs::read_to_string(done.work().join(format!("calls.{number}"))).ok();
    (0..).map_while(list).map(|text| text.lines().map(str::to_owned).collect()).collect()
}

fn recorded(done: &Done, of_library: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
    let mut threads = BTreeMap::<_, Vec<String>>::new();
    for event in trace.events(None).unwrap().map(Result::unwrap) {
        let function = event.function;
        if function.layer() != Layer::HighLevel || !function.name().starts_with(of_library) {
            continue;
        }
        let path = trace.files().get(event.file).unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or(path);
        if !is_wanted(file) {
            continue;
        }
        threads.entry(event.stream).or_default().push(format!(
            "{} {file} {} {} {}",
            function.name(),
            event.requested,
            event.result,
            event.detail
        ));
    }
    threads.into_values().collect()
}
