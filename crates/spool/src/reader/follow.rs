// SPDX-License-Identifier: MIT OR Apache-2.0

//! All streams of a job: finding them, reading them in passes, letting them go.
//!
//! The order of a pass is what makes definitions come first: how far records
//! are published is looked at, then new streams are searched, then all
//! definitions are read, then the records that were seen. A pass costs one read
//! per idle stream; the directory is listed when the number of streams changed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use super::error::Error;
use super::page::{Page, effective_uid, open_distrustfully};
use super::process;
use super::sink::{Sink, StreamInfo, StreamNumber};
use super::stream::{BUFFER_BYTES, Mode, Stream, read_first_page};
use super::table::{FirstPage, Header};
use super::totals::Totals;
use crate::layout::{FIRST_BYTES, STREAM_SUFFIX};

/// Streams followed at once; more wait in the directory until some have ended.
const MAX_STREAMS: usize = 65_536;
/// Files kept open; those of more streams are opened for each look.
const MAX_OPEN: usize = 256;
/// Names of files that are not streams, remembered so as to tell them once.
const MAX_REFUSED: usize = 65_536;
/// The directory is listed so often even if nobody said that it changed.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// First and longest time between two questions whether a quiet stream is over.
const CHECK_EVERY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1600));
/// How long a thread must be gone before its file is deleted: a thread of
/// another PID namespace looks gone, and shows by writing that it is not.
const GONE_PATIENCE: Duration = Duration::from_secs(1);

/// The streams of a job.
pub(super) struct Streams {
    files: Files,
    followed: Vec<Followed>,
    /// Names of followed streams, and of files that were refused or could not be deleted.
    known: HashSet<String>,
    /// Latest start of an image per process, and its streams: an exec ends the
    /// streams of the image before.
    images: HashMap<u32, (u64, usize)>,
    next_number: u32,
    n_streams_seen: Option<u64>,
    listed: Option<Instant>,
    directory_is_gone: bool,
    buffer: Vec<u8>,
    /// Without what streams not yet ended have not recorded.
    totals: Totals,
}

/// A stream, and when to ask whether it is over.
struct Followed {
    stream: Stream,
    check_at: Instant,
    check_after: Duration,
    gone_since: Option<Instant>,
    is_over: bool,
    /// Found over before this pass, which has read what there is.
    was_over: bool,
    /// The last look at the end of the job has been taken.
    is_drained: bool,
}

impl Streams {
    pub(super) fn new(directory: &Path) -> Streams {
        Streams {
            files: Files { directory: directory.to_path_buf(), n_kept: 0, max_kept: MAX_OPEN },
            followed: Vec::new(),
            known: HashSet::new(),
            images: HashMap::new(),
            next_number: 0,
            n_streams_seen: None,
            listed: None,
            directory_is_gone: false,
            buffer: vec![0; BUFFER_BYTES],
            totals: Totals::default(),
        }
    }

    /// Counts of all streams.
    pub(super) fn totals(&self) -> Totals {
        let mut totals = self.totals.clone();
        for followed in &self.followed {
            add(&mut totals.unrecorded, &followed.stream.unrecorded);
        }
        totals
    }

    /// Reads a bounded part of what is new in each stream.
    pub(super) fn pass(&mut self, page: &Page, sink: &mut impl Sink) -> Result<usize, Error> {
        let now = Instant::now();
        let mode = if page.is_shared() { Mode::Live } else { Mode::Final };
        let any = self.look(mode, now);
        let n_before = self.followed.len();
        let listed = self.list_if_changed(page, now, sink);
        if any || self.followed.len() > n_before {
            self.deliver_definitions(sink);
        }
        let n_records = self.deliver(mode, sink);
        self.check(now);
        if mode == Mode::Live {
            self.end_those_over(page, sink);
        }
        match listed {
            Err(error) if n_records == 0 => Err(error),
            _ => Ok(n_records),
        }
    }

    /// Reads everything, and ends all streams.
    pub(super) fn drain(&mut self, page: &Page, sink: &mut impl Sink) -> Result<usize, Error> {
        let now = Instant::now();
        let mut n_records = 0_usize;
        let listed = self.list(sink);
        while self.look(Mode::Final, now) {
            self.deliver_definitions(sink);
            n_records = n_records.saturating_add(self.deliver(Mode::Final, sink));
        }
        for followed in &mut self.followed {
            followed.was_over = true;
        }
        self.end_those_over(page, sink);
        listed.map(|()| n_records)
    }

    /// Looks how far all streams are published; whether there is anything.
    fn look(&mut self, mode: Mode, now: Instant) -> bool {
        let mut any = false;
        let drains = mode == Mode::Final;
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        for followed in self.followed.iter_mut().filter(|it| !it.is_drained) {
            followed.was_over = followed.is_over;
            let check_is_due = now >= followed.check_at;
            let mode = if followed.is_over { Mode::Final } else { mode };
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.look(file, buffer, totals);
                if !stream.has_ready() && (check_is_due || mode == Mode::Final) {
                    stream.look_past_hole(file, buffer, mode, now, totals);
                }
            });
            if followed.stream.has_ready() {
                any = true;
                followed.gone_since = None;
                followed.check_after = CHECK_EVERY.0;
            } else if drains {
                followed.is_drained = true;
            }
        }
        any
    }

    fn deliver_definitions(&mut self, sink: &mut impl Sink) {
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        for followed in &mut self.followed {
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.deliver_definitions(file, buffer, sink, totals);
            });
        }
    }

    fn deliver(&mut self, mode: Mode, sink: &mut impl Sink) -> usize {
        let mut n_records = 0;
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        for followed in self.followed.iter_mut().filter(|it| it.stream.has_ready()) {
            self.files.with(&mut followed.stream, totals, |stream, file, totals| {
                n_records += stream.deliver(file, buffer, mode, sink, totals);
            });
        }
        n_records
    }

    /// Asks, not too often, whether quiet streams are over.
    fn check(&mut self, now: Instant) {
        let (files, totals) = (&mut self.files, &mut self.totals);
        for followed in &mut self.followed {
            if followed.is_over || now < followed.check_at || followed.stream.has_ready() {
                continue;
            }
            followed.check_at = now + followed.check_after;
            followed.check_after = (followed.check_after * 2).min(CHECK_EVERY.1);
            let is_there = files.with(&mut followed.stream, totals, |stream, file, totals| {
                stream.refresh(file, totals);
                stream.release(file, now);
            });
            let info = &followed.stream.info;
            let image = self.images.get(&info.pid);
            let was_replaced = image.is_some_and(|(start_ns, _)| *start_ns > info.process_start_ns);
            if !process::thread_is_gone(info.pid, info.tid, info.begin_ns) {
                followed.gone_since = None;
            } else if followed.gone_since.is_none() {
                followed.gone_since = Some(now);
            }
            let is_gone =
                followed.gone_since.is_some_and(|since| now.duration_since(since) >= GONE_PATIENCE);
            let is_lost = matches!(is_there, Access::Lost);
            followed.is_over = followed.stream.finished || was_replaced || is_gone || is_lost;
        }
    }

    /// Lets streams go that are over and read.
    fn end_those_over(&mut self, page: &Page, sink: &mut impl Sink) {
        if !self.followed.iter().any(|it| it.was_over && !it.stream.has_ready()) {
            return;
        }
        let mut kept = Vec::with_capacity(self.followed.len());
        for mut followed in std::mem::take(&mut self.followed) {
            if !followed.was_over || followed.stream.has_ready() {
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
    }

    fn end(&mut self, page: &Page, stream: Stream, sink: &mut impl Sink) {
        sink.ended(stream.number);
        add(&mut self.totals.unrecorded, &stream.unrecorded);
        if let Some((_, n_streams)) = self.images.get_mut(&stream.info.pid) {
            *n_streams = n_streams.saturating_sub(1);
            if *n_streams == 0 {
                self.images.remove(&stream.info.pid);
            }
        }
        self.files.n_kept -= usize::from(stream.file.is_some());
        let Some(page) = page.get().filter(|_| page.is_shared()) else { return };
        let bytes = stream.file_bytes().max(FIRST_BYTES as u64);
        let deleted = fs::remove_file(self.files.directory.join(&stream.info.name));
        // A name that could not be deleted stays known, or it would be read again.
        if deleted.is_ok() {
            self.known.remove(&stream.info.name);
            let give_back = |used: u64| Some(used.saturating_sub(bytes));
            let _ = page.used_bytes.fetch_update(Relaxed, Relaxed, give_back);
        }
    }

    fn list_if_changed(
        &mut self,
        page: &Page,
        now: Instant,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let n_streams = page.get().map(|page| page.n_streams.load(Acquire));
        let is_fresh = self.listed.is_some_and(|listed| now.duration_since(listed) < LIST_EVERY);
        if is_fresh && n_streams == self.n_streams_seen {
            return Ok(());
        }
        self.n_streams_seen = n_streams;
        self.listed = Some(now);
        self.list(sink)
    }

    /// Begins to follow the streams in the directory that are not known.
    fn list(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        let failed = |source| Error::List { path: self.files.directory.clone(), source };
        let entries = match fs::read_dir(&self.files.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !std::mem::replace(&mut self.directory_is_gone, true) {
                    let name = self.files.directory.display().to_string();
                    self.totals.damage(&name, "the job directory was removed");
                }
                return Ok(());
            }
            entries => entries.map_err(failed)?,
        };
        let mut new = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let Some(name) = name.to_str().filter(|name| name.ends_with(STREAM_SUFFIX)) else {
                continue;
            };
            if !self.known.contains(name) && new.len() < MAX_STREAMS {
                new.push((begin_of(name), name.to_owned()));
            }
        }
        // In the order in which they began, so that numbers tell it.
        new.sort_unstable();
        for (_, name) in new {
            if self.followed.len() < MAX_STREAMS {
                self.begin(name, sink);
            }
        }
        Ok(())
    }

    /// Begins to follow a stream, if the file is one.
    fn begin(&mut self, name: String, sink: &mut impl Sink) {
        let opened = self.files.open(&name).map_err(|fault| (name.clone(), fault));
        let header = opened.and_then(|file| match read_first_page(&file) {
            FirstPage::Header(header) => Ok((header, file)),
            FirstPage::Empty => Err((name.clone(), Fault::NotNow)),
            FirstPage::Foreign(why) => Err((name.clone(), Fault::Refused(why.to_owned()))),
        });
        let (header, file) = match header {
            Ok(found) => found,
            Err((_, Fault::NotNow)) => return,
            Err((name, Fault::Refused(why))) => return self.refuse(name, &why),
        };
        let Some(begin_ns) = begin_of(&name)
            .filter(|_| name.starts_with(&format!("{}-{}-", header.pid, header.tid)))
        else {
            return self.refuse(name, "its header and its name tell different threads");
        };
        let info = info(&header, begin_ns, name.clone());
        let (start_ns, n_streams) = self.images.entry(info.pid).or_insert((0, 0));
        *start_ns = info.process_start_ns.max(*start_ns);
        *n_streams += 1;
        let number = StreamNumber(self.next_number);
        self.next_number = self.next_number.saturating_add(1);
        self.totals.n_streams += 1;
        let fault = header.fault;
        let mut stream = Stream::new(number, info, header);
        if let Some(fault) = fault {
            stream.damage(fault, &mut self.totals);
        }
        self.totals.n_consumed_before =
            self.totals.n_consumed_before.saturating_add(stream.position());
        self.files.keep(&mut stream, file);
        self.known.insert(name);
        sink.stream(number, &stream.info);
        self.followed.push(Followed {
            stream,
            check_at: Instant::now(),
            check_after: CHECK_EVERY.0,
            gone_since: None,
            is_over: false,
            was_over: false,
            is_drained: false,
        });
    }

    fn refuse(&mut self, name: String, why: &str) {
        self.totals.damage(&name, why);
        if self.known.len() < MAX_REFUSED + MAX_STREAMS {
            self.known.insert(name);
        }
    }
}

/// Opens stream files and keeps some of them open.
struct Files {
    directory: PathBuf,
    n_kept: usize,
    max_kept: usize,
}

/// Why a file is not read.
enum Fault {
    /// It may be, later.
    NotNow,
    /// Never, and why.
    Refused(String),
}

/// What came of opening a stream's file.
enum Access {
    Done,
    NotNow,
    /// It is gone or has become something else.
    Lost,
}

impl Files {
    /// Works on a stream's file.
    fn with(
        &mut self,
        stream: &mut Stream,
        totals: &mut Totals,
        work: impl FnOnce(&mut Stream, &File, &mut Totals),
    ) -> Access {
        let file = match stream.file.take() {
            Some(file) => {
                self.n_kept -= 1;
                file
            }
            None => match self.open(&stream.info.name) {
                Ok(file) => file,
                Err(Fault::NotNow) => return Access::NotNow,
                Err(Fault::Refused(why)) => {
                    stream.damage(&why, totals);
                    return Access::Lost;
                }
            },
        };
        work(stream, &file, totals);
        self.keep(stream, file);
        Access::Done
    }

    /// Keeps a file open, unless too many are: then those that came first have
    /// the advantage, because a round over all would miss in any cache.
    fn keep(&mut self, stream: &mut Stream, file: File) {
        if self.n_kept < self.max_kept {
            self.n_kept += 1;
            stream.file = Some(file);
        }
    }

    /// Opens a regular file of ours, for writing too if that is allowed.
    fn open(&mut self, name: &str) -> Result<File, Fault> {
        let path = self.directory.join(name);
        let opened = open_distrustfully(&path, OpenOptions::new().read(true).write(true))
            .or_else(|_| open_distrustfully(&path, OpenOptions::new().read(true)));
        let file = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                self.max_kept = self.n_kept / 2;
                Fault::NotNow
            }
            Some(libc::ELOOP) => Fault::Refused("it is a symbolic link".to_owned()),
            _ => Fault::Refused(format!("it cannot be opened: {error}")),
        })?;
        let metadata = file.metadata().map_err(|_| Fault::NotNow)?;
        if !metadata.is_file() {
            return Err(Fault::Refused("it is not a regular file".to_owned()));
        }
        if metadata.uid() != effective_uid() {
            return Err(Fault::Refused("it belongs to another user".to_owned()));
        }
        Ok(file)
    }
}

fn info(header: &Header, begin_ns: u64, name: String) -> StreamInfo {
    StreamInfo {
        pid: header.pid,
        tid: header.tid,
        parent_pid: header.parent_pid,
        rank: header.rank,
        world_size: header.world_size,
        process_start_ns: header.process_start_ns,
        process_start_realtime_ns: header.process_start_realtime_ns,
        begin_ns,
        name,
    }
}

/// When a stream began, as its name tells.
fn begin_of(name: &str) -> Option<u64> {
    let time = name.strip_suffix(STREAM_SUFFIX)?.rsplit('-').next()?;
    u64::from_str_radix(time, 16).ok()
}

fn add<const N: usize>(sums: &mut [u64; N], counts: &[u64; N]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum = sum.saturating_add(*count);
    }
}
