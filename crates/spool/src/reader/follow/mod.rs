// SPDX-License-Identifier: MIT OR Apache-2.0

//! All streams of a job: finding them, reading them in passes, letting them go.
//!
//! The order of a pass is what makes definitions come first: how far records
//! are published is looked at, then new streams are searched, then definitions
//! are read as they are needed, then the records that were seen. A pass that a writer
//! has woken costs one read per stream; while nobody does, streams that have
//! been quiet are looked at less and less often, down to every ten seconds. The
//! directory is listed when the number of streams changed.

mod discover;
mod files;
mod polling_backoff;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use self::files::{FileState, StreamFiles};
use self::polling_backoff::PollingBackoff;
use super::error::Error;
use super::page::JobPageAccess;
use super::process;
use super::read::BUFFER_BYTES;
use super::sink::{Sink, StreamNumber};
use super::stream::{ReadMode, StreamReader};
use super::totals::SpoolTotals;
use crate::slot::OutlookBuilder;

/// First and longest time between two looks at a quiet stream.
const LOOK: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));
/// The same for a look behind the first record that is not published.
const LOOK_PAST_HOLE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(100));
/// The same for the question whether a quiet stream is over. `/proc`, which
/// also knows threads that have ended and were not waited for, is asked once the waits
/// are the longest.
const CHECK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(100));
/// How long a thread must be gone before its file is deleted: a thread of another PID
/// namespace looks gone, and shows by writing that it is not gone.
const GONE_PATIENCE: Duration = Duration::from_secs(1);

/// The streams of a job.
pub(super) struct FollowedStreams {
    files: StreamFiles,
    /// In the order of their numbers.
    followed: Vec<Followed>,
    /// Indices of those whose threads ask, so that the others need not be visited.
    asking: Vec<usize>,
    /// Names of followed streams, and of files that were refused or could not be deleted.
    known: HashSet<String>,
    /// Latest start of an image per process, and its streams: an exec ends the
    /// streams of the image before.
    images: HashMap<u32, (u64, usize)>,
    next_number: u32,
    /// Streams begun and slots made when the directory was listed last.
    counts_seen: Option<(u64, u64)>,
    listed: Option<Instant>,
    /// Not all that was listed could be taken up.
    left_for_later: bool,
    directory_is_gone: bool,
    buffer: Vec<u8>,
    /// Does not include calls that streams still running did not record.
    totals: SpoolTotals,
}

/// Which streams a pass looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// All of them.
    All,
    /// Those whose time has come: nobody has woken the reader.
    Due,
}

/// A stream, and when to look at it and to ask whether it is over.
struct Followed {
    stream: StreamReader,
    look: PollingBackoff,
    look_past_hole: PollingBackoff,
    check: PollingBackoff,
    /// The last look has found nothing: all that was there has been read.
    is_read: bool,
    gone_since: Option<Instant>,
    /// It has written after its thread seemed to be gone.
    only_seemed_gone: bool,
    /// The look of this pass has found records; there may be more after them.
    had_ready: bool,
    /// Someone acts on it, though its thread does not ask.
    is_acted_on: bool,
    is_over: bool,
    /// Found to be over before this pass, which has read what there was.
    was_over: bool,
    /// The last look at the end of the job has been taken.
    is_drained: bool,
}

impl Followed {
    fn new(stream: StreamReader) -> Followed {
        Followed {
            stream,
            look: PollingBackoff::new(LOOK),
            look_past_hole: PollingBackoff::new(LOOK_PAST_HOLE),
            check: PollingBackoff::new(CHECK),
            is_read: false,
            gone_since: None,
            only_seemed_gone: false,
            had_ready: false,
            is_acted_on: false,
            is_over: false,
            was_over: false,
            is_drained: false,
        }
    }
}

impl FollowedStreams {
    pub(super) fn new(directory: &Path) -> FollowedStreams {
        FollowedStreams {
            files: StreamFiles::new(directory),
            followed: Vec::new(),
            asking: Vec::new(),
            known: HashSet::new(),
            images: HashMap::new(),
            next_number: 0,
            counts_seen: None,
            listed: None,
            left_for_later: false,
            directory_is_gone: false,
            buffer: vec![0; BUFFER_BYTES],
            totals: SpoolTotals::default(),
        }
    }

    /// Counts of all streams.
    pub(super) fn totals(&self) -> SpoolTotals {
        let mut totals = self.totals.clone();
        for followed in &self.followed {
            add(&mut totals.unrecorded, &followed.stream.unrecorded);
        }
        totals
    }

    /// Reads a bounded part of what is new in each stream.
    pub(super) fn pass(
        &mut self,
        page: &JobPageAccess,
        look: Look,
        sink: &mut impl Sink,
    ) -> Result<usize, Error> {
        let now = Instant::now();
        let mode = if page.is_shared() { ReadMode::Live } else { ReadMode::Final };
        self.look(look, mode, now);
        let listed = self.list_if_changed(page, now, sink);
        let n_records = self.deliver(mode, sink);
        self.check(now, sink);
        if mode == ReadMode::Live {
            self.end_those_over(page, sink);
        }
        match listed {
            Err(error) if n_records == 0 => Err(error),
            _ => Ok(n_records),
        }
    }

    /// Reads what is new in the streams whose threads ask, and nothing else: the
    /// shortest way from a record to what is learned from it. A stream defines
    /// all that its own records name.
    pub(super) fn pass_over_asking(&mut self, sink: &mut impl Sink) -> usize {
        let mut n_records = 0;
        self.with_asking(|stream, file, buffer, totals| {
            if stream.find_ready(file, buffer, totals) {
                n_records += stream.deliver_with_definitions(file, buffer, sink, totals);
            }
        });
        n_records
    }

    /// Whether there is anything new in those streams; reads nothing else.
    pub(super) fn asking_have_news(&mut self) -> bool {
        let mut any = false;
        self.with_asking(|stream, file, buffer, totals| {
            any |= stream.find_ready(file, buffer, totals);
        });
        any
    }

    fn with_asking(
        &mut self,
        mut work: impl FnMut(&mut StreamReader, &File, &mut [u8], &mut SpoolTotals),
    ) {
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        for &place in &self.asking {
            let Some(followed) = self.followed.get_mut(place).filter(|it| !it.is_over) else {
                continue;
            };
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                work(stream, file, buffer, totals);
            });
        }
    }

    /// Bytes of the files whose content was all handed over.
    pub(super) fn consumed_bytes(&mut self) -> u64 {
        let mut n_bytes = 0_u64;
        let totals = &mut self.totals;
        for followed in &mut self.followed {
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.refresh(file, totals);
                n_bytes = n_bytes.saturating_add(stream.consumed_bytes());
            });
        }
        n_bytes
    }

    /// Someone acts on a stream: its thread wakes the reader with each record.
    pub(super) fn act_on(&mut self, number: StreamNumber) {
        let place = self.followed.binary_search_by_key(&number, |it| it.stream.number);
        let Ok(place) = place else { return };
        let followed = &mut self.followed[place];
        if !followed.is_acted_on {
            followed.is_acted_on = true;
            self.files.with(&mut followed.stream, &mut self.totals, |stream, file, _| {
                stream.be_woken_by_each(file);
            });
            self.note_asking();
        }
    }

    /// Updates which threads ask, after streams have come or gone.
    fn note_asking(&mut self) {
        let asks = |(place, it): (usize, &Followed)| {
            (it.is_acted_on || it.stream.slot.is_some()).then_some(place)
        };
        self.asking = self.followed.iter().enumerate().filter_map(asks).collect();
    }

    /// Since when the thread of a stream is inside a call, if it is.
    pub(super) fn inside_since_ns(&mut self, number: StreamNumber) -> Option<u64> {
        let place = self.followed.binary_search_by_key(&number, |it| it.stream.number).ok()?;
        let mut since_ns = None;
        let stream = &mut self.followed[place].stream;
        self.files.with(stream, &mut self.totals, |stream, file, _| {
            since_ns = stream.inside_since_ns(file);
        });
        since_ns
    }

    /// Gives a thread its predictions; false if that is no longer possible.
    pub(super) fn publish(&mut self, number: StreamNumber, outlook: &OutlookBuilder) -> bool {
        let place = self.followed.binary_search_by_key(&number, |it| it.stream.number);
        let Ok(place) = place else { return false };
        let slot = &mut self.followed[place].stream.slot;
        let is_told = slot.as_mut().is_some_and(|slot| slot.publish(outlook).is_ok());
        if !is_told {
            // For example if its file system is full: the thread's answer stays stale.
            *slot = None;
            self.note_asking();
        }
        is_told
    }

    /// Reads everything, and ends all streams.
    pub(super) fn drain(
        &mut self,
        page: &JobPageAccess,
        sink: &mut impl Sink,
    ) -> Result<usize, Error> {
        let now = Instant::now();
        let mut n_records = 0_usize;
        let listed = self.list(page, sink);
        while self.look(Look::All, ReadMode::Final, now) {
            n_records = n_records.saturating_add(self.deliver(ReadMode::Final, sink));
        }
        for followed in &mut self.followed {
            followed.was_over = true;
        }
        self.end_those_over(page, sink);
        listed.map(|()| n_records)
    }

    /// Looks how far streams are published; whether there is anything.
    fn look(&mut self, look: Look, mode: ReadMode, now: Instant) -> bool {
        let mut any = false;
        let drains = mode == ReadMode::Final;
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        for followed in self.followed.iter_mut().filter(|it| !it.is_drained) {
            followed.was_over = followed.is_over;
            let is_waited_for = followed.is_over || followed.stream.waits_for_hole();
            // The threads of many short processes would otherwise be looked at in every
            // pass for a second after their end.
            let is_due = if followed.gone_since.is_some() && !followed.only_seemed_gone {
                followed.check.is_due(now)
            } else {
                look == Look::All || followed.look.is_due(now)
            };
            if !is_due && !is_waited_for && mode == ReadMode::Live {
                continue;
            }
            let past_hole = is_waited_for || followed.look_past_hole.is_due(now);
            let mode = if followed.is_over { ReadMode::Final } else { mode };
            let state = self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.look(file, buffer, totals);
                if !stream.has_ready() && (past_hole || mode == ReadMode::Final) {
                    stream.look_past_hole(file, buffer, mode, now, totals);
                }
            });
            followed.had_ready = followed.stream.has_ready();
            followed.is_read = !followed.had_ready && !matches!(state, FileState::NotNow);
            if followed.had_ready {
                any = true;
                followed.only_seemed_gone |= followed.gone_since.take().is_some();
                followed.look = PollingBackoff::new(LOOK);
                followed.look_past_hole = PollingBackoff::new(LOOK_PAST_HOLE);
                // The next record is rarely a hole; more often nothing was written yet.
                followed.look_past_hole.advance(now);
                followed.check.hasten();
            } else if drains {
                followed.is_drained = true;
            } else {
                followed.look.advance(now);
                if past_hole {
                    followed.look_past_hole.advance(now);
                }
            }
        }
        any
    }

    /// Hands over what the look has found. Most streams define themselves what
    /// their records name; the definitions of all the others are read only for a
    /// record that names something else: a file that another thread has opened.
    fn deliver(&mut self, mode: ReadMode, sink: &mut impl Sink) -> usize {
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        let before = totals.n_records;
        let mut any_left = false;
        for followed in self.followed.iter_mut().filter(|it| it.stream.has_ready()) {
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.deliver_definitions(file, buffer, sink, totals);
                stream.deliver_known(file, buffer, mode, sink, totals);
            });
            any_left |= followed.stream.has_ready();
        }
        if any_left {
            for followed in &mut self.followed {
                self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                    stream.deliver_definitions(file, buffer, sink, totals);
                });
            }
            for followed in self.followed.iter_mut().filter(|it| it.stream.has_ready()) {
                self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                    stream.deliver(file, buffer, mode, sink, totals);
                });
            }
        }
        usize::try_from(totals.n_records - before).unwrap_or(usize::MAX)
    }

    /// Asks, not too often, whether quiet streams are over.
    fn check(&mut self, now: Instant, sink: &mut impl Sink) {
        let (files, totals) = (&mut self.files, &mut self.totals);
        for followed in &mut self.followed {
            // A process may be gone before its stream is found. What it wrote has to be
            // read first; otherwise it would look as if it was written after its end.
            if followed.is_over || !followed.is_read || !followed.check.is_due(now) {
                continue;
            }
            followed.check.advance(now);
            let is_there = files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.refresh(file, totals);
                stream.release(file, now, sink);
            });
            let info = &followed.stream.info;
            let image = self.images.get(&info.pid);
            let was_replaced = image.is_some_and(|(start_ns, _)| *start_ns > info.process_start_ns);
            let is_gone = match process::thread_is_there(info.pid, info.tid) {
                Some(false) => true,
                Some(true) if !followed.check.is_slow() => false,
                _ => process::thread_is_gone(info.pid, info.tid, info.begin_ns),
            };
            if !is_gone {
                followed.gone_since = None;
            } else if followed.gone_since.is_none() {
                followed.gone_since = Some(now);
                followed.check.postpone(now + GONE_PATIENCE);
            }
            let is_gone =
                followed.gone_since.is_some_and(|since| now.duration_since(since) >= GONE_PATIENCE);
            let is_lost = matches!(is_there, FileState::Lost);
            followed.is_over = followed.stream.finished || was_replaced || is_gone || is_lost;
        }
    }

    /// Lets streams go that are over and read.
    fn end_those_over(&mut self, page: &JobPageAccess, sink: &mut impl Sink) {
        let is_read = |followed: &Followed| followed.was_over && !followed.had_ready;
        if !self.followed.iter().any(is_read) {
            return;
        }
        let mut kept = Vec::with_capacity(self.followed.len());
        for mut followed in std::mem::take(&mut self.followed) {
            if !is_read(&followed) {
                kept.push(followed);
                continue;
            }
            let (buffer, totals) = (&mut self.buffer, &mut self.totals);
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.deliver_definitions(file, buffer, sink, totals);
                stream.refresh(file, totals);
            });
            self.end(page, followed.stream, sink);
        }
        self.followed = kept;
        self.note_asking();
    }

    fn end(&mut self, page: &JobPageAccess, mut stream: StreamReader, sink: &mut impl Sink) {
        if stream.finished && stream.end_ns > 0 {
            sink.finished(stream.number, stream.end_ns);
        }
        sink.ended(stream.number);
        add(&mut self.totals.unrecorded, &stream.unrecorded);
        if let Some((_, n_streams)) = self.images.get_mut(&stream.info.pid) {
            *n_streams = n_streams.saturating_sub(1);
            if *n_streams == 0 {
                self.images.remove(&stream.info.pid);
            }
        }
        self.files.close(&mut stream);
        let Some(page) = page.shared() else { return };
        sink.keep();
        if stream.slot.is_some() {
            let _ = fs::remove_file(self.files.path(&discover::slot_of(&stream.info.name)));
        }
        let is_gone = match fs::remove_file(self.files.path(&stream.info.name)) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        // A name that could not be deleted stays known, or it would be read again.
        if is_gone {
            self.known.remove(&stream.info.name);
            page.give_back(stream.charged_bytes);
        }
    }
}

fn add<const N: usize>(sums: &mut [u64; N], counts: &[u64; N]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum = sum.saturating_add(*count);
    }
}
