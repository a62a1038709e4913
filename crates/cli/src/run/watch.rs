// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the job on a thread of its own: counts, learns, records.
//!
//! With a recording, records come from raw files ([`keep`](super::keep)), which have
//! room for all of them; otherwise from the spool. The thread has the priority of the
//! program: with a lower one it would get nearly nothing where all processors are busy,
//! the spool would fill, and the end of the program would be seen late. Instead it
//! leaves records for later where reading them would take much from the program
//! ([`pace`](super::pace)). When it falls behind and the spool fills up, reading comes
//! before learning: a record that is lost is worse than one that nothing is learned
//! from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_insight::{Finding, Insight};
use ioracle_oracle::Model;
use ioracle_trace::{
    Follower, JobProcess, ModuleLoaded, Observer, OpenedFile, ProcessNumber, TraceRecorder,
};

use super::learner::{Learner, MAX_SHARE_WAITING};
use super::model::RunRecognition;
use super::pace::{LearnWhen, LearningPace};
use super::signals::Signals;
use super::status::StatusPublisher;
use crate::pattern::request_of;
use crate::prefetch::Attention;
use crate::shared::output::say;
use crate::shared::request_feed::RequestFeed;
use crate::shared::source_lines::{SourceLookup, frame_source};

/// Sleep between looks while the job is active, and after nothing was found for long.
/// Writers wake us earlier when a batch is full.
const SHORT_SLEEP: Duration = Duration::from_millis(20);
const LONG_SLEEP: Duration = Duration::from_millis(250);
/// Pause after a look that found few records, if nothing acts on them: a multiple of the
/// time that the look took, with a minimum and a maximum. Looking at few costs about as
/// much as at many, so looks take only a small part of the time.
const PAUSE_PER_LOOK: u32 = 10;
const PAUSE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(20));
/// The same where no processor is idle. There every look interrupts the program, and ranks
/// that wait for each other are all interrupted by one, so that few long looks slow it down
/// less than many short ones.
const PAUSE_IF_BUSY: Duration = Duration::from_millis(60);
/// Records come no faster than this; the share of their room that a
/// pause may fill is [`PAUSE_ROOM`].
const MAX_BYTES_PER_S: f64 = 500e6;
const PAUSE_ROOM: f64 = 0.125;
/// Events that are learned from between two looks at the spool, which takes a
/// fraction of a millisecond.
const LEARNED_AT_ONCE: usize = 512;
/// How long threads that ask come before all others, and events of others that
/// are learned when they do nothing for a moment.
const SERVED_AT_ONCE: Duration = Duration::from_millis(10);
const LEARNED_BETWEEN: usize = 1;
/// Events that are learned between two plans of what to read ahead.
const LEARNED_BETWEEN_PLANS: usize = 64;
/// If polling without result is interrupted for this long, others share the processor.
const INTERRUPTED: Duration = Duration::from_micros(500);
/// Sleep between looks at whether records can go on waiting.
const LATER_SLEEP: Duration = Duration::from_millis(50);
/// Records found by one look from which on the program is faster than learning.
const MANY_RECORDS: usize = 4096;
/// The part of the spool's limit that records may take before they are read although
/// learning is left for later.
const MAX_LATER: f64 = 0.5;
/// How long, and for how many records, what a program has recorded is read after its
/// end, if the rest can stay in the recording's directory.
const MAX_AFTER_END: Duration = Duration::from_millis(50);
const MAX_FEW: u64 = 50_000;
/// Events between two checks whether the user still wants to wait for learning.
const LOOK_FOR_SIGNALS: u64 = 1024;
/// How long learning may take after the program's end without a message.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a recording is handed to the system.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Modules that are looked into for the summary.
const MAX_MODULES: usize = 256;

/// Everything known about a job.
pub struct RunObserver<'a> {
    pub learner: Learner,
    pub insight: Insight,
    /// Files of programs and libraries that made calls, and the build of each.
    pub modules: BTreeMap<PathBuf, Vec<u8>>,
    /// The same files by the names that frames give them.
    module_names: BTreeMap<String, PathBuf>,
    /// Only if a model is learned.
    pub recognition: Option<RunRecognition>,
    recorder: Option<TraceRecorder>,
    /// Looks up functions and source lines for the recording.
    source_lookup: Option<SourceLookup>,
    not_recorded: Option<anyhow::Error>,
    pub ended: Arc<AtomicBool>,
    signals: &'a Signals,
    pace: LearningPace,
    /// Records that were left for later are being read.
    catches_up: bool,
    /// Slots that were made when all streams were looked at last.
    n_slots: u64,
    /// Events since the program has ended.
    n_after_end: u64,
    /// A user at a terminal should see what takes long.
    pub is_attended: bool,
    /// When that is, once the program has ended.
    tell_after: Option<Instant>,
    /// Records that stay in raw form, which nothing was learned from.
    pub n_left_raw: u64,
    /// Reports how the job is doing.
    status: Option<StatusPublisher>,
    is_looked_at: bool,
    /// Hands requests to a `pattern watch` that has joined the job.
    feed: Option<RequestFeed>,
    /// Streams that have begun, and that someone is going to act on.
    to_act_on: Vec<StreamId>,
}

impl<'a> RunObserver<'a> {
    /// Nothing seen yet. `ended` is set by the thread that sees the program end, which
    /// reads no signals from then on.
    pub fn new(
        recorder: Option<TraceRecorder>,
        ended: Arc<AtomicBool>,
        signals: &'a Signals,
        learn: LearnWhen,
    ) -> RunObserver<'a> {
        RunObserver {
            learner: Learner::new(),
            insight: Insight::default(),
            modules: BTreeMap::new(),
            module_names: BTreeMap::new(),
            recognition: None,
            recorder,
            source_lookup: None,
            not_recorded: None,
            ended,
            signals,
            pace: LearningPace::new(learn),
            catches_up: false,
            n_slots: 0,
            n_after_end: 0,
            is_attended: false,
            tell_after: None,
            n_left_raw: 0,
            status: None,
            is_looked_at: false,
            feed: None,
            to_act_on: Vec::new(),
        }
    }

    /// Reports how the job is doing.
    pub fn tell_status(&mut self, status: Option<StatusPublisher>) {
        self.status = status;
    }

    /// Hands requests to processes that join the job.
    pub fn feed(&mut self, feed: RequestFeed) {
        self.feed = Some(feed);
    }

    /// The recording will contain functions and source lines.
    pub fn look_up_sources(&mut self) {
        self.source_lookup = SourceLookup::begin();
    }

    /// Whether records are left for later now.
    pub fn learns_later(&self) -> bool {
        self.pace.is_later()
    }

    /// Streams begin with what earlier ones of their role have learned.
    pub fn begin_with(&mut self, model: Model, recognition: RunRecognition) {
        self.learner.begin_with(model);
        self.recognition = Some(recognition);
    }

    /// Follows the job until the program has ended and all is read.
    pub fn follow(&mut self, follower: &mut Follower) -> Result<()> {
        // For this thread only: its sleeps must not be delayed to coincide with others.
        let _ = nix::sys::prctl::set_timerslack(1);
        self.learner.follow(follower.waker());
        let mut sleep = SHORT_SLEEP;
        let mut flushed = Instant::now();
        let mut attention: Option<Attention> = None;
        let mut had_records = false;
        let max_pause =
            Duration::from_secs_f64(follower.limit_bytes() as f64 * PAUSE_ROOM / MAX_BYTES_PER_S);
        loop {
            let look_began = Instant::now();
            // Before all others, of which there may be thousands.
            if self.learner.is_asked() && follower.poll_asking(self) > 0 {
                self.learner.publish(follower);
            }
            for stream in self.to_act_on.drain(..) {
                follower.act_on(stream);
            }
            let (n_records, at_once) = if self.learner.is_awake(Instant::now()) {
                (follower.poll_awake(self), LEARNED_BETWEEN)
            } else if self.leaves_records(follower) {
                (Ok(0), LEARNED_AT_ONCE)
            } else if attention.is_some() {
                // Reading ahead cannot wait until a paused stream is looked at again, and
                // is woken by the next record. While records keep coming it looks again
                // after a pause, which does not cost the program anything.
                let n_records = match follower.poll_awake(self) {
                    Ok(0) if !had_records => follower.poll(self),
                    polled => polled,
                };
                (n_records, LEARNED_BETWEEN_PLANS)
            } else {
                (follower.poll(self), LEARNED_AT_ONCE)
            };
            let n_records = n_records.context(NOT_FOLLOWED)?;
            self.catches_up &= n_records > 0;
            let is_later = self.pace.is_later() && !self.catches_up;
            let has_to_hurry = n_records >= MANY_RECORDS && !follower.reads_raw();
            self.learner.is_behind = is_later || has_to_hurry || self.learner.is_asked();
            let has_learned = !is_later && self.learner.learn(at_once);
            self.learner.publish(follower);
            if let Some(mut status) = self.status.take() {
                self.is_looked_at = status.look(Instant::now(), self, follower);
                self.status = Some(status);
            }
            if let Some(feed) = &mut self.feed {
                self.is_looked_at |= feed.look(Instant::now());
            }
            if flushed.elapsed() >= FLUSH_EVERY {
                flushed = Instant::now();
                self.flush();
            }
            if self.ended.load(Ordering::Acquire) {
                break;
            }
            let has_served = self.serve(follower) || self.learner.publish_more(follower);
            self.learner.look_into_files();
            attention = self.learner.prefetch(follower);
            let may_pause = had_records && !has_learned && !has_served;
            if let Some(Attention { pause, .. }) = attention.filter(|_| may_pause) {
                std::thread::park_timeout(pause);
                had_records = n_records > 0;
                sleep = SHORT_SLEEP;
            } else if n_records > 0 || has_learned || has_served {
                had_records = n_records > 0;
                sleep = SHORT_SLEEP;
                let is_idle = n_records < MANY_RECORDS && !self.learner.has_waiting();
                if is_idle && !has_served && !self.learner.is_acted_on() {
                    let pause = match self.pace.is_busy() {
                        true => PAUSE_IF_BUSY,
                        false => (look_began.elapsed() * PAUSE_PER_LOOK).clamp(PAUSE.0, PAUSE.1),
                    };
                    // Ended early when the program ends.
                    std::thread::park_timeout(pause.min(max_pause));
                }
            } else if is_later {
                // Writers do not wake a reader that has not announced its sleep, but the
                // thread that sees the program end does.
                std::thread::park_timeout(LATER_SLEEP);
            } else {
                let at_most = attention.and_then(|attention| attention.at_most);
                self.learner.sleep(follower, at_most.unwrap_or(sleep).min(sleep));
                sleep = (sleep * 2).min(LONG_SLEEP);
            }
        }
        Ok(())
    }

    /// Reads and learns all that is left, when the program has ended; or only what
    /// takes little time, if the rest is in the recording and neither a model nor
    /// knowledge waits for it.
    pub fn finish(&mut self, follower: &mut Follower, ended_at: Instant) -> Result<()> {
        follower.close();
        self.learner.program_ended();
        self.tell_after = self.is_attended.then(|| ended_at + PATIENCE);
        self.learn_what_waits();
        self.learner.is_behind = false;
        self.n_after_end = 1;
        let is_wanted = self.recognition.is_some() || self.learner.accumulates();
        let may_stay = self.recorder.is_some() && !is_wanted;
        let mut read = Ok(0);
        while may_stay && follower.reads_raw() && read.is_ok() {
            let n_waiting = follower.n_waiting();
            if n_waiting > MAX_FEW && ended_at.elapsed() > MAX_AFTER_END {
                self.n_left_raw = n_waiting;
                break;
            }
            read = follower.poll(self);
        }
        if read.is_ok() && self.n_left_raw == 0 {
            read = follower.finish(self);
        }
        if let Some(feed) = &mut self.feed {
            feed.flush();
        }
        self.insight.finish();
        self.learn_what_waits();
        self.learner.finish();
        read.map(|_| ()).context(NOT_FOLLOWED)
    }

    /// Whether records are left in the spool for now.
    fn leaves_records(&mut self, follower: &mut Follower) -> bool {
        let now = Instant::now();
        let is_acted_on = self.learner.is_acted_on() || self.is_looked_at;
        self.pace.look(now, is_acted_on, follower.processes());
        let is_later = self.pace.is_later() && !self.catches_up;
        if !is_later && !self.learner.is_full() {
            return false;
        }
        // Threads that begin to ask are found by looking at all streams.
        let n_slots = std::mem::replace(&mut self.n_slots, follower.n_slots());
        if n_slots != self.n_slots {
            return false;
        }
        let share = follower.waiting_share();
        self.catches_up |= is_later && share >= MAX_LATER;
        if self.learner.is_full() { share < MAX_SHARE_WAITING } else { !self.catches_up }
    }

    /// Follows threads that ask what comes next as closely as can be, while they
    /// do something; others have their turn in between. False if none does.
    fn serve(&mut self, follower: &mut Follower) -> bool {
        let started = Instant::now();
        if !self.learner.is_awake(started) {
            return false;
        }
        follower.stay_awake();
        let mut idle_since = None;
        loop {
            let now = Instant::now();
            if idle_since.is_some_and(|since| now.duration_since(since) >= INTERRUPTED) {
                self.learner.interrupted(now);
            }
            let is_over = now.duration_since(started) >= SERVED_AT_ONCE;
            if is_over || !self.learner.is_awake(now) || self.ended.load(Ordering::Acquire) {
                return true;
            }
            idle_since = None;
            if follower.poll_asking(self) > 0 {
                self.learner.publish(follower);
            } else if !self.learner.publish_more(follower) && !self.learner.learn(LEARNED_BETWEEN) {
                std::hint::spin_loop();
                idle_since = Some(now);
            }
        }
    }

    /// Learns from what waits, unless the user does not want to wait for that.
    fn learn_what_waits(&mut self) {
        while !self.learner.is_given_up && self.learner.learn(LEARNED_AT_ONCE) {
            self.look_at_the_time();
        }
    }

    /// Notices if the user does not want to wait for learning, and says once what takes
    /// time.
    fn look_at_the_time(&mut self) {
        self.learner.is_given_up |= self.signals.ask_to_end();
        if self.tell_after.take_if(|after| Instant::now() >= *after).is_some() {
            say("the program has ended; learning the rest of its I/O (ctrl-C leaves that out)");
        }
    }

    /// Looks up functions and source lines, for at most this long: the remaining ones for a
    /// recording, or else those of `lookup`, which was begun for advice. They are added to
    /// the advice.
    pub fn look_up_places(
        &mut self,
        at_most: Duration,
        lookup: Option<SourceLookup>,
        advice: &mut [Finding],
    ) {
        let Some(lookup) = self.source_lookup.take().or(lookup) else { return };
        let is_recorded = self.not_recorded.is_none();
        lookup.finish(at_most, |frame, places| {
            if let Some(recorder) = self.recorder.as_mut().filter(|_| is_recorded) {
                recorder.symbol(frame, places);
            }
            if let Some(place) = places.first() {
                self.insight.define_source(frame, frame_source(place));
            }
        });
        self.insight.locate(advice);
    }

    /// A lookup of the frames that advice is about, unless those of all calls are looked
    /// up for a recording.
    pub fn lookup_for(&self, advice: &[Finding]) -> Option<SourceLookup> {
        let is_needed = self.source_lookup.is_none() && !advice.is_empty();
        let mut lookup = is_needed.then(SourceLookup::begin)??;
        for (name, path) in &self.module_names {
            let build_id = self.modules.get(path).map(Vec::as_slice).unwrap_or_default();
            lookup.module(name, build_id, path);
        }
        let frames = advice.iter().flat_map(|finding| &finding.stack);
        frames.for_each(|frame| lookup.context(&frame.frame));
        Some(lookup)
    }

    /// The recording to finish, or why there is none.
    pub fn take_recording(&mut self) -> Option<Result<TraceRecorder>> {
        self.flush();
        let recorder = self.recorder.take()?;
        Some(self.not_recorded.take().map_or(Ok(recorder), Err))
    }

    fn flush(&mut self) {
        if let (Some(recorder), None) = (&mut self.recorder, &self.not_recorded) {
            self.not_recorded = recorder.flush().err().map(anyhow::Error::from);
        }
    }
}

const NOT_FOLLOWED: &str = "the records of the program could not be read completely";

impl Observer for RunObserver<'_> {
    fn process(&mut self, number: ProcessNumber, process: &JobProcess) {
        self.learner.begin_process(number.0, process);
        if let Some(recognition) = &mut self.recognition {
            recognition.process(number, process);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.process(number, process);
        }
    }

    fn module(&mut self, name: &str, build_id: &[u8], path: &Path) {
        if self.modules.len() < MAX_MODULES {
            self.modules.insert(path.to_owned(), build_id.to_owned());
            // The first of several modules with the same name counts.
            self.module_names.entry(name.to_owned()).or_insert_with(|| path.to_owned());
        }
        if let Some(recognition) = &mut self.recognition {
            recognition.module(name, build_id, path);
        }
        if let Some(lookup) = &mut self.source_lookup {
            lookup.module(name, build_id, path);
        }
    }

    fn module_loaded(&mut self, process: ProcessNumber, module: &ModuleLoaded<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.module_loaded(process, module);
        }
    }

    fn file_opened(&mut self, id: FileId, file: &OpenedFile<'_>) {
        self.learner.engine.define_size(id, file.size);
        if let Some(recorder) = &mut self.recorder {
            recorder.file_opened(id, file);
        }
    }

    fn context(&mut self, id: ContextId, frames: &str) {
        self.insight.define_context(id, frames);
        match &mut self.recognition {
            Some(recognition) => recognition.context(id, frames, &mut self.learner.engine),
            None => self.learner.engine.define_context(id, frames),
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.context(id, frames);
        }
        if let Some(lookup) = &mut self.source_lookup {
            lookup.context(frames);
        }
    }

    fn file(&mut self, id: FileId, path: &str) {
        self.learner.engine.define_file(id, path);
        self.insight.define_file(id, path);
        if let Some(recorder) = &mut self.recorder {
            recorder.file(id, path);
        }
    }

    fn stream_began(&mut self, id: StreamId, tid: u32) {
        if self.learner.acts_on_all() {
            self.to_act_on.push(id);
        }
        if let Some(recognition) = &mut self.recognition {
            recognition.stream_began(id, tid);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.stream_began(id, tid);
        }
    }

    fn event(&mut self, process: ProcessNumber, event: &Event) {
        if let Some(status) = &mut self.status {
            status.count(process, event);
        }
        if let Some(feed) = self.feed.as_mut().filter(|feed| feed.is_joined())
            && let Some(request) = request_of(event)
        {
            feed.take(&request, event.file, |file| self.learner.engine.path(file));
        }
        self.insight.observe(event);
        if let Some(recognition) = &mut self.recognition {
            recognition.event(process, event.stream, &mut self.learner.engine);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(process, event);
        }
        if self.n_after_end > 0 {
            self.n_after_end += 1;
            if self.n_after_end.is_multiple_of(LOOK_FOR_SIGNALS) {
                self.look_at_the_time();
            }
        }
        self.learner.take(event);
    }

    fn nested_event(&mut self, event: &Event) {
        self.learner.take_nested(event);
    }

    fn stream_asks(&mut self, id: StreamId) {
        // The stream receives what earlier runs learned before it does anything.
        if let Some(recognition) = &mut self.recognition {
            recognition.event(ProcessNumber(id.rank), id, &mut self.learner.engine);
        }
        self.learner.stream_asks(id);
    }

    fn stream_ended(&mut self, id: StreamId) {
        self.learner.end(id);
        self.insight.end_stream(id);
        if let Some(recorder) = &mut self.recorder {
            recorder.stream_ended(id);
        }
    }

    fn keep(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.keep();
        }
    }
}
