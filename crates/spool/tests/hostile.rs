// SPDX-License-Identifier: MIT OR Apache-2.0

//! Job directories that are not what they seem.

mod support;

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ioracle_spool::layout::{DefinitionHeader, PAGE, Record, SegmentEntry, StreamHeader};
use ioracle_spool::{Error, Job, SpoolTotals};
use support::{Memory, Thread, job, stream_files};

/// A job with one stream of 300 records and a definition, as a reader finds it
/// after `change` was made to the stream's file.
fn check_changed(change: impl FnOnce(&Path)) -> (Memory, SpoolTotals) {
    let (_base, first) = job(1 << 30);
    let mut thread = Thread::start(first.directory(), 0);
    assert!(thread.define(1, b"/tmp/x"));
    (0..300).for_each(|number| thread.append(number));
    thread.finish();
    change(&stream_files(&first)[0]);
    let mut job = Job::open(first.directory()).unwrap();
    let mut sink = Memory::default();
    job.drain(&mut sink).unwrap();
    (sink, job.totals())
}

fn put(path: &Path, offset: usize, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset as u64).unwrap();
}

/// Place of a field in a row of the segment table.
fn in_row(row: usize, field: usize) -> usize {
    offset_of!(StreamHeader, segments) + row * size_of::<SegmentEntry>() + field
}

fn check_refused(change: impl FnOnce(&Path), sentence: &str) {
    let (sink, totals) = check_changed(change);
    assert_eq!((sink.n_records(), totals.n_streams), (0, 0));
    assert!(totals.damaged[0].ends_with(sentence), "{:?}", totals.damaged);
}

#[test]
fn a_file_that_is_no_stream_is_refused_with_a_sentence() {
    check_refused(|path| put(path, 0, b"GIF89a.."), "it does not begin as a stream");
    let version = offset_of!(StreamHeader, version);
    check_refused(|path| put(path, version, &[9]), "it was made by another version");
    let pid = offset_of!(StreamHeader, pid);
    let message = "its header and its name belong to different threads";
    check_refused(|path| put(path, pid, &[0; 4]), message);
    let cut =
        |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap();
    check_refused(cut, "it is cut short");
}

#[test]
fn a_table_that_lies_costs_the_segments_it_lies_about() {
    let lies: [(usize, &[u8], &str); 6] = [
        (in_row(1, offset_of!(SegmentEntry, offset)), &[1], "lies where none can be"),
        (in_row(1, offset_of!(SegmentEntry, offset)), &[0, 16], "segments overlap"),
        (in_row(1, offset_of!(SegmentEntry, bytes)), &[0; 4], "lies where none can be"),
        (in_row(1, offset_of!(SegmentEntry, bytes)), &[0xff; 4], "lies where none can be"),
        (in_row(1, offset_of!(SegmentEntry, kind)), &[7], "of no known kind"),
        (in_row(1, offset_of!(SegmentEntry, first)), &[0xff; 8], "lies where none can be"),
    ];
    for (offset, bytes, sentence) in lies {
        let (sink, totals) = check_changed(|path| put(path, offset, bytes));
        assert!(totals.damaged[0].contains(sentence), "{:?} for {sentence}", totals.damaged);
        assert!(sink.first().iter().copied().eq(85..300), "the others are read");
    }
}

#[test]
fn too_long_a_table_is_cut() {
    let count = offset_of!(StreamHeader, n_segments);
    let (sink, totals) = check_changed(|path| put(path, count, &[0xff; 4]));
    assert_eq!(sink.first().len(), 300);
    assert_eq!(totals.n_damaged, 1);
}

#[test]
fn a_file_cut_short_gives_what_is_left() {
    let cut = |path: &Path| {
        OpenOptions::new().write(true).open(path).unwrap().set_len(17_000).unwrap();
    };
    let (sink, totals) = check_changed(cut);
    assert!(sink.first().iter().copied().eq(0..85));
    assert!(totals.damaged[0].ends_with("it is cut short"));
}

#[test]
fn a_record_of_a_function_that_does_not_exist_is_left_out() {
    let function = offset_of!(Record, call) + offset_of!(ioracle_spool::layout::Call, function);
    let at = 2 * PAGE + 10 * size_of::<Record>() + function;
    let (sink, totals) = check_changed(|path| put(path, at, &[0xfe, 0xff]));
    assert_eq!(sink.first().len(), 299);
    assert!(totals.damaged[0].ends_with("a record names a function that does not exist"));
}

#[test]
fn definitions_that_lie_about_their_length_or_kind_are_left_out() {
    let (sink, totals) = check_changed(|path| put(path, PAGE, &[0xff; 4]));
    assert_eq!((sink.definitions.len(), sink.first().len()), (0, 300));
    assert!(totals.damaged[0].ends_with("a definition is longer than its segment"));
    let kind = PAGE + offset_of!(DefinitionHeader, kind);
    let (sink, totals) = check_changed(|path| put(path, kind, &[99]));
    assert_eq!((sink.definitions.len(), sink.first().len()), (0, 300));
    assert!(totals.damaged[0].ends_with("a definition is of no known kind"));
}

#[test]
fn links_fifos_and_directories_named_like_streams_are_refused() {
    let (_base, mut job) = job(1 << 30);
    let mut sink = Memory::default();
    let path = |name: &str| job.directory().join(name);
    symlink("/etc/passwd", path("1-1-1.stream")).unwrap();
    fs::create_dir(path("2-2-2.stream")).unwrap();
    let fifo = CString::new(path("3-3-3.stream").as_os_str().as_bytes()).unwrap();
    // SAFETY: a name that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    fs::write(path("4-4-4.stream"), b"").unwrap();
    fs::write(path("notes.txt"), b"").unwrap();
    for _ in 0..3 {
        assert_eq!(job.poll(&mut sink).unwrap(), 0);
    }
    job.drain(&mut sink).unwrap();
    assert_eq!(job.totals().n_damaged, 3, "{:?}", job.totals().damaged);
    let directory = job.directory().to_path_buf();
    assert!(matches!(job.remove(), Err(Error::Remove { .. })), "others' files stay");
    assert!(directory.join("notes.txt").exists() && directory.join("2-2-2.stream").exists());
    assert!(Path::new("/etc/passwd").exists() && !directory.join("1-1-1.stream").exists());
}

#[test]
fn a_file_cut_under_a_live_reader_does_not_end_it() {
    let (_base, mut job) = job(1 << 30);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    (0..300).for_each(|number| thread.append(number));
    job.poll(&mut sink).unwrap();
    for path in [stream_files(&job)[0].clone(), job.directory().join("job")] {
        OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
        for _ in 0..3 {
            job.poll(&mut sink).unwrap();
        }
    }
    job.sleep(std::time::Duration::from_millis(1));
    job.drain(&mut sink).unwrap();
    assert_eq!(sink.first().len(), 300);
    assert_eq!(job.totals().n_damaged, 1);
    job.close();
    job.remove().unwrap();
}

/// The reader once looked at the length of the job's file before it touched the
/// mapping: a process that cut the file in between ended it with a SIGBUS.
#[test]
fn a_job_file_cut_again_and_again_does_not_end_its_reader() {
    let (_base, mut job) = job(1 << 30);
    let path = job.directory().join("job");
    let waker = job.waker();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                file.set_len(0).unwrap();
                file.set_len(PAGE as u64).unwrap();
            }
        });
        for _ in 0..5000 {
            job.poll(&mut Memory::default()).unwrap();
            job.sleep(std::time::Duration::from_nanos(1));
            job.totals();
            waker.wake();
        }
        job.close();
        is_over.store(true, Ordering::Relaxed);
    });
    job.remove().unwrap();
}

fn check_not_a_job(make: impl FnOnce(&Path), sentence: &str) {
    let base = tempfile::tempdir().unwrap();
    make(base.path());
    let Err(error) = Job::open(base.path()) else { panic!("it was opened") };
    assert!(error.to_string().contains(sentence), "{error}");
}

#[test]
fn a_directory_that_is_no_job_is_refused_with_a_sentence() {
    let job = |path: &Path| path.join("job");
    check_not_a_job(|_| (), "it has no file 'job'");
    check_not_a_job(|path| fs::write(job(path), b"x").unwrap(), "is cut short");
    check_not_a_job(|path| fs::write(job(path), [1; PAGE]).unwrap(), "does not begin as one");
    check_not_a_job(|path| fs::create_dir(job(path)).unwrap(), "not a regular file");
    check_not_a_job(|path| symlink("/etc/passwd", job(path)).unwrap(), "could not open the job");
    assert!(Job::open(Path::new("/nonexistent/job")).is_err());
    assert!(Job::open(Path::new("/etc/passwd")).is_err());
}

#[test]
fn a_job_cannot_be_made_where_there_is_nothing() {
    let Err(error) = Job::create(Path::new("/nonexistent"), 1, 0) else { panic!("it was made") };
    assert!(error.to_string().contains("/nonexistent"), "{error}");
}
