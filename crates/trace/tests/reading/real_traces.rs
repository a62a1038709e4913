// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads every event of the traces in the tree.

use std::path::PathBuf;

use ioracle_events::{ContextId, FileId};
use ioracle_trace::{ReadOptions, Trace};

fn open(name: &str) -> Trace {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces").join(name);
    Trace::open(&directory, ReadOptions::default()).unwrap()
}

/// Events per rank, stacks and files are those that the description counts.
fn check(name: &str, events_per_rank: &[usize], stacks: usize, files: usize) {
    let trace = open(name);
    assert_eq!(trace.name(), name);
    assert_eq!(trace.contexts().len(), stacks);
    assert_eq!(trace.files().len(), files);
    assert_eq!(trace.meta().ranks, Some(events_per_rank.len() as u32));
    assert_eq!(trace.ranks().unwrap(), (0..events_per_rank.len() as u32).collect::<Vec<_>>());
    for (rank, n_events) in events_per_rank.iter().enumerate() {
        let rank = rank as u32;
        let mut events = trace.events(Some(rank)).unwrap();
        let read: Vec<_> = events.by_ref().collect::<Result<_, _>>().unwrap();
        assert_eq!(read.len(), *n_events);
        assert!(read.iter().all(|event| event.stream.rank == rank));
        assert_eq!(events.skipped(), 0);
    }
    let n_all = trace.events(None).unwrap().map(Result::unwrap).count();
    assert_eq!(n_all as u64, trace.meta().events.unwrap());
}

#[test]
fn every_event_of_cm1_is_read() {
    check("cm1-grads", &[6884, 3], 99, 45);
}

#[test]
fn every_event_of_h5bench_is_read() {
    check("h5bench-write", &[8411, 8388], 73, 3);
}

#[test]
fn the_first_event_of_cm1_has_all_its_fields() {
    let trace = open("cm1-grads");
    let event = trace.events(Some(0)).unwrap().next().unwrap().unwrap();
    assert_eq!(event.function.name(), "open");
    assert_eq!((event.context, event.file), (ContextId(1), FileId(1)));
    assert_eq!((event.handle, event.offset, event.requested, event.result), (28, Some(0), 0, 28));
    assert_eq!((event.start_ns, event.end_ns, event.depth), (146376657, 146381434, 0));
    assert_eq!(&*event.detail, "RDWR");
    assert_eq!(trace.files().get(event.file), Some("namelist.input"));
    let frames = trace.contexts().get(event.context).unwrap();
    assert!(frames.starts_with("libgfortran.so.5+0x26e687;libgfortran.so.5+0x2638cc;"));
    assert_eq!(trace.meta().rank_start_offset_ns.get(&1), Some(&3504732));
}
