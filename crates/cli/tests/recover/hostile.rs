// SPDX-License-Identifier: MIT OR Apache-2.0

//! Jobs that lie.

use std::fs;
use std::mem::offset_of;

use ioracle_spool::layout::{DefinitionKind, JobPage, PAGE};

use crate::Target;
use crate::support::ioracle;
use crate::support::spool::{NOBODY, Spool, Stream};

#[test]
fn lies_in_records_and_definitions_are_survived() {
    let (spool, target) = (Spool::new(), Target::new());
    let mut stream = Stream::writing(NOBODY, NOBODY, 3, "/out");
    stream.define(DefinitionKind::Context, 3, b"odd length");
    stream.define(DefinitionKind::Module, 6, b"\xffno such build-id");
    stream.define(DefinitionKind::File, 8, b"\xff\xfe\x00");
    for (number, call) in stream.calls.iter_mut().enumerate() {
        match number {
            1 => (call.start_ns, call.end_ns) = (u64::MAX, 0),
            2 => (call.start_ns, call.began) = (0, u64::MAX),
            3 => (call.context, call.file) = (0xdead, 0xbeef),
            4 => (call.depth, call.detail) = (255, u32::MAX),
            5 => (call.offset, call.result) = (i64::MIN, i64::MIN),
            6 => call.function = u16::MAX,
            7 => (call.requested, call.file) = (u64::MAX, 8),
            _ => {}
        }
    }
    spool.add(&stream);
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.json()["events"], 17);
    let evaluated = ioracle(["eval", &target.name(), "--json"]);
    assert_eq!(evaluated.code, Some(0), "{}", evaluated.err);
}

#[test]
fn files_cut_or_overwritten_anywhere_never_stop_the_rest() {
    let whole = Stream::writing(NOBODY, NOBODY, 20, "/out");
    let other = Stream::writing(NOBODY + 1, NOBODY + 1, 20, "/out");
    for damage in 0..24_usize {
        let (spool, target) = (Spool::new(), Target::new());
        spool.add(&other);
        let path = spool.add(&whole);
        let mut bytes = fs::read(&path).unwrap();
        match damage % 2 {
            0 => bytes.truncate(bytes.len() * damage / 24),
            _ => {
                let start = (PAGE * damage / 16).min(bytes.len());
                bytes[start..].iter_mut().take(300).for_each(|byte| *byte = 0x5a);
            }
        }
        fs::write(&path, bytes).unwrap();
        let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.json()["events"].as_u64().unwrap() >= 120, "{damage}: {}", done.out);
        let evaluated = ioracle(["eval", &target.name(), "--json"]);
        assert_eq!(evaluated.code, Some(0), "{damage}: {}", evaluated.err);
    }
}

/// A count of 128 whose bits were flipped was once reported as 18 trillion million
/// calls that were not recorded.
#[test]
fn impossible_counts_are_left_out_and_reported() {
    let (spool, target) = (Spool::new(), Target::new());
    let mut stream = Stream::writing(NOBODY, NOBODY, 3, "/out");
    stream.unrecorded[1] = !128;
    spool.add(&stream);
    let mut other = Stream::writing(NOBODY + 1, NOBODY + 1, 3, "/out");
    other.unrecorded[1] = 7;
    spool.add(&other);
    for count in [
        offset_of!(JobPage, n_processes),
        offset_of!(JobPage, n_io_uring),
        offset_of!(JobPage, unrecorded),
    ] {
        spool.set_page(&[(count, &(!128_u64).to_ne_bytes())]);
    }
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let job = &done.json()["job"];
    assert_eq!(job["not_recorded"], serde_json::json!({ "limit": 7 }), "{job}");
    assert_eq!((&job["io_uring"], &job["processes"]), (&0.into(), &2.into()), "{job}");
    let damaged = job["damaged"].as_array().expect("sentences");
    assert_eq!(damaged.len(), 2, "{job}");
    assert!(damaged.iter().all(|it| it.as_str().unwrap().ends_with("counts were overwritten")));
}
