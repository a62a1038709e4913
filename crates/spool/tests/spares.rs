// SPDX-License-Identifier: MIT OR Apache-2.0

//! Streams made in advance, for threads that cannot make one when they need it.

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use ioracle_spool::layout::{
    Call, JobPage, SPARE_BYTES, SPARE_SUFFIX, StreamHeader, UnrecordedCause,
};
use ioracle_spool::{Host, Job, StreamName, Writer};
use support::{Files, Memory, Thread, identity, job, map_job, poll_until, used_bytes};

/// A host that can make no files, and has one that was made before.
struct OnSpare {
    base: NonNull<u8>,
}

// SAFETY: the base is mapped for good, and all parts lie in it.
unsafe impl Host for OnSpare {
    fn create(&mut self, _: &StreamName, _: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        Ok(self.base)
    }

    fn extend(
        &mut self,
        _: &StreamName,
        at: u64,
        n: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause> {
        let fits = at as usize + n <= SPARE_BYTES;
        // SAFETY: it lies in the mapping.
        fits.then(|| unsafe { self.base.add(at as usize) }).ok_or(UnrecordedCause::NoRoom)
    }

    fn unmap(&mut self, _: NonNull<u8>, _: usize) {}

    fn wake(&mut self, _: &AtomicU32) {}

    fn reader_is_alive(&mut self, _: u32) -> bool {
        true
    }

    fn pause(&mut self) {}
}

/// Makes one for a process, as the capture library does.
fn make(directory: &Path, pid: u32, page: &JobPage) -> NonNull<u8> {
    assert!(page.charge_spare());
    let name = StreamName::spare(pid, 0, identity(pid, 0).now_ns);
    let base = Files::new(directory).create(&name, SPARE_BYTES).expect("a file");
    let namespace = fs::metadata("/proc/self/ns/pid").expect("a namespace").ino();
    // SAFETY: a header is numbers only, and more than one is mapped.
    unsafe { &base.cast::<StreamHeader>().as_ref().pid_namespace }.store(namespace, SeqCst);
    base
}

fn spares(job: &Job) -> Vec<PathBuf> {
    let entries = fs::read_dir(job.directory()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().is_some_and(|it| it.ends_with(SPARE_SUFFIX))).collect()
}

#[test]
fn a_stream_made_in_advance_is_read_once_its_thread_begins_it() {
    let (_base, mut job) = job(1 << 20);
    let page = map_job(job.directory());
    let mut host = OnSpare { base: make(job.directory(), std::process::id(), page) };
    let mut sink = Memory::default();
    job.poll(&mut sink).unwrap();
    assert!(sink.infos.is_empty() && spares(&job).len() == 1);
    page.give_spare_back();
    let who = identity(std::process::id(), 5);
    let writer = Writer::start(&mut host, page, &who).expect("it begins");
    for round in 0..20 {
        for n in 0..200 {
            let call = Call { requested: 200 * round + n, function: 2, ..Call::default() };
            writer.append(&mut host, page, &call);
        }
        poll_until(&mut job, &mut sink, |sink| sink.n_records() as u64 == 200 * (round + 1));
    }
    assert!(sink.first().iter().copied().eq(0..4000), "in order, and none is missing");
    assert_eq!((sink.infos[0].tid, sink.infos[0].begin_ns), (who.tid, who.now_ns));
    writer.finish(&mut host);
    poll_until(&mut job, &mut sink, |sink| !sink.ended.is_empty());
    assert_eq!((spares(&job).len(), used_bytes(&job)), (0, 0));
}

#[test]
fn what_is_left_of_a_process_that_is_gone_is_deleted() {
    let (_base, mut job) = job(1 << 20);
    let page = map_job(job.directory());
    let mut child = std::process::Command::new("true").spawn().unwrap();
    make(job.directory(), child.id(), page);
    make(job.directory(), std::process::id(), page);
    child.wait().unwrap();
    let mut sink = Memory::default();
    let start = Instant::now();
    while spares(&job).len() > 1 {
        // Something begins, so that the reader looks.
        Thread::start(job.directory(), start.elapsed().as_nanos() as u64).finish();
        job.poll(&mut sink).unwrap();
        assert!(start.elapsed() < Duration::from_secs(10), "it is not deleted");
    }
    let own = spares(&job).pop().expect("that of this process stays");
    let own = own.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
    assert!(own.starts_with(&format!("{}-", std::process::id())), "{own}");
    job.remove().expect("all of it can be removed");
}
