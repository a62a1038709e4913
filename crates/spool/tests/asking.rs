// SPDX-License-Identifier: MIT OR Apache-2.0

//! Threads that ask what comes next, and the reader that answers them.

mod support;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ioracle_spool::in_process::KEPT_RECORDS;
use ioracle_spool::layout::UnrecordedCause;
use ioracle_spool::slot::{
    MAX_STEPS, OutlookBuilder, OutlookStep, PredictionSlot, SLOT_BYTES, SLOT_SUFFIX,
};
use ioracle_spool::{Job, StreamNumber};
use support::{Memory, Thread, job, poll_until, stream_files, used_bytes};

const ROOMY: u64 = 1 << 30;
const FIRST: StreamNumber = StreamNumber(0);

/// A thread that has asked, and been heard.
fn asking(job: &mut Job, sink: &mut Memory) -> (Thread, PredictionSlot) {
    let mut thread = Thread::start(job.directory(), 0);
    let slot = thread.writer.ask(&mut thread.host, thread.job).unwrap();
    poll_until(job, sink, |sink| sink.asking == [FIRST]);
    (thread, slot)
}

/// An outlook all of whose numbers are the same.
fn outlook(number: u64, n_steps: usize) -> OutlookBuilder {
    let mut outlook = OutlookBuilder::default();
    outlook.header.rests_on = number;
    for _ in 0..n_steps {
        let step = OutlookStep {
            file: number,
            size: number,
            io_time_ns: number,
            ..OutlookStep::default()
        };
        outlook.push(step, number.to_string().as_bytes());
    }
    outlook
}

#[test]
fn what_is_published_is_found_in_the_slot() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let (_thread, slot) = asking(&mut job, &mut sink);
    assert_eq!(slot.latest(), 0);
    for number in 1..10 {
        assert!(job.publish(FIRST, &outlook(1000 + number, MAX_STEPS)));
        assert_eq!(slot.latest(), number);
        let outlook = slot.outlook(number);
        assert_eq!((outlook.rests_on, outlook.n_steps as usize), (1000 + number, MAX_STEPS));
        let step = slot.step(number, MAX_STEPS - 1);
        let mut name = [0; 16];
        let n_bytes = slot.name(number, &outlook, &step, &mut name);
        assert_eq!(name[..n_bytes], *(1000 + number).to_string().as_bytes());
    }
    assert!(!job.publish(StreamNumber(1), &outlook(1, 1)), "nobody asks there");
}

/// Also of a thread that is found only now, and of one that has no records.
#[test]
fn what_a_thread_has_defined_comes_before_its_question() {
    for is_known in [false, true] {
        let (_base, mut job) = job(ROOMY);
        let mut sink = Memory::default();
        let mut thread = Thread::start(job.directory(), 0);
        if is_known {
            poll_until(&mut job, &mut sink, |sink| sink.infos.len() == 1);
        }
        assert!(thread.define(1, b"/bin/app"));
        let _slot = thread.writer.ask(&mut thread.host, thread.job).unwrap();
        poll_until(&mut job, &mut sink, |sink| sink.asking == [FIRST]);
        assert_eq!(sink.n_defined_at_asking, 1, "known before: {is_known}");
        assert_eq!(sink.definitions, [(1, b"/bin/app".to_vec())], "it is reported once");
    }
}

#[test]
fn an_outlook_is_whole_or_not_the_latest() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let (_thread, slot) = asking(&mut job, &mut sink);
    let stop = AtomicBool::new(false);
    let slot_address = slot.base().as_ptr() as usize;
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let base = std::ptr::NonNull::new(slot_address as *mut u8).unwrap();
            // SAFETY: mapped for as long as the test runs.
            let slot = unsafe { PredictionSlot::at(base) };
            let mut n_whole = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let number = slot.latest();
                if number == 0 {
                    continue;
                }
                let header = slot.outlook(number);
                let steps: Vec<OutlookStep> =
                    (0..header.n_steps as usize).map(|place| slot.step(number, place)).collect();
                if slot.is_latest(number) {
                    n_whole += 1;
                    let rests_on = header.rests_on;
                    let same = |step: &OutlookStep| {
                        [step.file, step.size, step.io_time_ns] == [rests_on; 3]
                    };
                    assert!(steps.iter().all(same), "{rests_on}: {steps:?}");
                }
            }
            n_whole
        });
        for number in 1..20_000 {
            assert!(job.publish(FIRST, &outlook(number, number as usize % MAX_STEPS + 1)));
        }
        // On one processor the other thread may not have had its turn yet.
        std::thread::sleep(Duration::from_millis(20));
        stop.store(true, Ordering::Relaxed);
        assert!(reading.join().unwrap() > 0);
    });
}

#[test]
fn every_record_of_a_thread_that_asks_wakes_the_reader() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let (mut thread, _) = asking(&mut job, &mut sink);
    while job.poll(&mut sink).unwrap() > 0 {}
    assert_eq!(thread.job.sleeping.0.load(Ordering::SeqCst), 1);
    thread.append(7);
    assert_eq!(thread.job.sleeping.0.load(Ordering::SeqCst), 0);
    assert_eq!(job.poll_asking(&mut sink), 1);
    assert_eq!(sink.first(), [7]);
}

#[test]
fn the_last_records_can_be_read_again_whatever_was_recycled() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let (mut thread, _) = asking(&mut job, &mut sink);
    for number in 0..5000_u64 {
        thread.append(number);
        assert_eq!(thread.writer.n_records(), number + 1);
        for earlier in number.saturating_sub(KEPT_RECORDS - 1)..=number {
            let call = thread.writer.record(earlier);
            assert_eq!(call.map(|call| call.requested), Some(earlier));
        }
        assert_eq!(thread.writer.record(number + 1), None);
        // Sometimes at once, sometimes after several segments.
        if number % 7 == 0 || number % 2000 > 1500 {
            while job.poll_asking(&mut sink) > 0 {}
        }
    }
    assert_eq!(thread.writer.record(0), None, "written over long ago");
}

#[test]
fn a_slot_goes_with_its_stream() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let (thread, _) = asking(&mut job, &mut sink);
    assert!(used_bytes(&job) > SLOT_BYTES as u64);
    let slot = stream_files(&job)[0].with_extension(&SLOT_SUFFIX[1..]);
    assert!(slot.exists());
    thread.finish();
    poll_until(&mut job, &mut sink, |sink| sink.ended == [FIRST]);
    assert!(!slot.exists());
    assert_eq!(used_bytes(&job), 0);
    assert!(!job.publish(FIRST, &outlook(1, 1)));
}

#[test]
fn without_room_there_is_no_slot_and_recording_goes_on() {
    let (_base, mut job) = job(20 * 1024);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    let refused = thread.writer.ask(&mut thread.host, thread.job);
    assert_eq!(refused.err(), Some(UnrecordedCause::Limit));
    thread.append(3);
    poll_until(&mut job, &mut sink, |sink| sink.first() == [3]);
    assert!(sink.asking.is_empty());
}

#[test]
fn what_is_no_slot_is_left_alone() {
    let (base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let thread = Thread::start(job.directory(), 0);
    let stream = stream_files(&job)[0].clone();
    let target = base.path().join("target");
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, stream.with_extension("next")).unwrap();
    fs::create_dir(stream.with_file_name("1-1-1.next")).unwrap();
    thread.job.n_asking.fetch_add(2, Ordering::SeqCst);
    poll_until(&mut job, &mut sink, |sink| !sink.infos.is_empty());
    assert!(!job.publish(FIRST, &outlook(1, 1)));
    assert_eq!(fs::read_to_string(target).unwrap(), "mine");
}
