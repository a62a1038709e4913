// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learns from events, at once while that is fast enough. When the program is faster,
//! they wait in a queue, so that the spool is emptied as fast as it can be read: the
//! program then writes again and again into the same few segments, which are in its
//! cache, instead of into new memory, which costs it more than everything else about a
//! record. When the queue is full, records wait in the spool.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ioracle_engine::{Config, Engine};
use ioracle_events::{Event, StreamId};
use ioracle_insight::BurstTally;
use ioracle_oracle::Model;
use ioracle_spool::slot::MAX_STEPS;
use ioracle_trace::{Follower, JobProcess, Waker};

use super::knowledge::{KnowledgeRun, RunKnowledge};
use super::publish::Publisher;
use crate::prefetch::{Attention, Prefetched, Prefetcher};
use crate::shared::status::PrefetchStatus;
use crate::shared::summary::KnowledgeUse;

/// Events that may wait, some fifty megabytes.
const MAX_WAITING: usize = 1 << 18;
/// The part of the spool's limit that records may take before they are read although the
/// queue is full.
pub const MAX_SHARE_WAITING: f64 = 0.75;
/// Events that are learned before it is planned again what to read ahead: one look at a
/// program that is faster than learning may find thousands of them.
const LEARNED_BETWEEN_PLANS: usize = 64;
/// Events that find no room between two looks at how full the spool is.
const LOOK_AT_SPOOL: usize = 1 << 12;

/// What is learned, and what waits to be.
pub struct Learner {
    pub engine: Engine,
    pub bursts: BurstTally,
    /// Events that nothing was learned from: they were read when the queue was full,
    /// because the spool was about to be.
    pub n_not_learned: u64,
    /// The program is faster than learning, so that events go into the queue.
    pub is_behind: bool,
    /// How full the spool is, once a job is followed.
    spool: Option<Waker>,
    /// Events that found no room in the queue, and whether the oldest make room.
    n_without_room: usize,
    makes_room: bool,
    /// The user does not want to wait until everything is learned.
    pub is_given_up: bool,
    waiting: VecDeque<Waiting>,
    /// Threads that ask what comes next.
    publisher: Publisher,
    /// Reads ahead of the program, if that is wanted.
    prefetcher: Option<Prefetcher>,
    n_since_plan: usize,
    /// What is known over runs, if that is wanted.
    knowledge: Option<RunKnowledge>,
}

enum Waiting {
    Event(Event),
    /// A stream will have no more events.
    Ended(StreamId),
}

impl Learner {
    /// Has learned nothing yet.
    pub fn new() -> Learner {
        Learner {
            engine: Engine::new(Config::default()),
            bursts: BurstTally::default(),
            n_not_learned: 0,
            is_behind: false,
            spool: None,
            n_without_room: 0,
            makes_room: true,
            is_given_up: false,
            waiting: VecDeque::new(),
            publisher: Publisher::new(),
            prefetcher: None,
            n_since_plan: 0,
            knowledge: None,
        }
    }

    /// From now on the run is followed in what is known over runs. `ended` is set when
    /// the program has ended.
    pub fn know_from(&mut self, run: Option<KnowledgeRun>, ended: &Arc<AtomicBool>) {
        self.knowledge = run.map(|run| RunKnowledge::begin(run, &mut self.engine, ended));
        let is_known = self.engine.graph().is_some_and(|source| source.graph().runs() > 0);
        if let (true, Some(prefetcher)) = (is_known, &mut self.prefetcher) {
            prefetcher.begin_with_foreknowledge();
        }
    }

    /// Whether the run is added to the knowledge repository.
    pub fn accumulates(&self) -> bool {
        self.knowledge.is_some()
    }

    /// Looks into the files that are ahead, if that helps.
    pub fn look_into_files(&mut self) {
        if let Some(knowledge) = &self.knowledge {
            knowledge.look_into_files(&mut self.engine);
        }
    }

    /// Adds the run to what is known. `build` identifies the build of the program.
    pub fn finish_knowing(&mut self, build: Option<&str>) -> Option<KnowledgeUse> {
        let source = self.engine.take_graph();
        self.knowledge.take().map(|knowledge| knowledge.finish(source, build))
    }

    /// From now on the program's reads are read ahead of it.
    pub fn prefetch_with(&mut self, prefetcher: Prefetcher) {
        self.prefetcher = Some(prefetcher);
    }

    /// A process has begun.
    pub fn begin_process(&mut self, number: u32, process: &JobProcess) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.begin_process(number, process.pid, process.start_ns);
        }
    }

    /// Reads ahead, if that is wanted; returns how closely the program has to be
    /// followed.
    pub fn prefetch(&mut self, follower: &mut Follower) -> Option<Attention> {
        let is_inside_call = |stream| follower.inside_since_ns(stream).is_some();
        Some(self.prefetcher.as_mut()?.act(&mut self.engine, is_inside_call))
    }

    /// Whether someone acts on all streams, though their threads do not ask.
    pub fn acts_on_all(&self) -> bool {
        self.prefetcher.is_some()
    }

    /// How reading ahead is doing.
    pub fn prefetch_status(&self) -> Option<PrefetchStatus> {
        self.prefetcher.as_ref().map(Prefetcher::status)
    }

    /// What reading ahead achieved.
    pub fn finish_prefetching(&mut self) -> Option<Prefetched> {
        self.prefetcher.take().map(Prefetcher::finish)
    }

    /// Streams begin with what earlier runs have learned.
    pub fn begin_with(&mut self, model: Model) {
        self.engine = Engine::with_model(Config::default(), model);
    }

    /// Takes an event, to learn from it at once if its thread asks what comes next
    /// or none waits.
    pub fn take(&mut self, event: &Event) {
        let has_time = !self.is_behind || self.prefetcher.is_some();
        let is_next = self.waiting.is_empty() && has_time && !self.is_given_up;
        if is_next || self.publisher.is_urgent(event) {
            self.learn_from(event);
        } else if !self.is_given_up && self.has_room() {
            self.publisher.will_learn(event.stream);
            self.waiting.push_back(Waiting::Event(event.clone()));
        } else {
            self.n_not_learned += 1;
            self.engine.pass_over(event);
        }
    }

    /// The events to come are read from this spool.
    pub fn follow(&mut self, spool: Waker) {
        self.spool = Some(spool);
    }

    /// Whether an event can wait. One look at all threads may find more events than there
    /// is room for in the queue. Then it takes longer, so that the oldest make room,
    /// unless the spool is about to be full.
    fn has_room(&mut self) -> bool {
        if self.waiting.len() < MAX_WAITING {
            return true;
        }
        if self.n_without_room.is_multiple_of(LOOK_AT_SPOOL) {
            let is_full = |spool: &Waker| spool.taken_share() >= MAX_SHARE_WAITING;
            self.makes_room = !self.spool.as_ref().is_some_and(is_full);
        }
        self.n_without_room += 1;
        self.makes_room && self.learn(1)
    }

    /// Whether events wait to be learned.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether hardly any more events can wait.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING - MAX_WAITING / 4
    }

    /// Whether somebody acts on what is predicted.
    pub fn is_acted_on(&self) -> bool {
        self.is_asked() || self.prefetcher.as_ref().is_some_and(|it| !it.is_stopped())
    }

    /// Takes an event that has ended inside a call which has not. It comes again when
    /// it is its turn, and is not learned again then.
    pub fn take_nested(&mut self, event: &Event) {
        let acts_at_once = self.prefetcher.is_some() && self.waiting.is_empty();
        if acts_at_once || self.publisher.is_urgent(event) {
            let n_before = self.engine.operations(event.stream);
            self.engine.observe_nested(event);
            self.learned(event, self.engine.operations(event.stream) > n_before);
        }
    }

    /// The thread of a stream asks what comes next.
    pub fn stream_asks(&mut self, stream: StreamId) {
        let its =
            |waiting: &&Waiting| matches!(waiting, Waiting::Event(event) if event.stream == stream);
        let n_waiting = self.waiting.iter().filter(its).count();
        // What was learned before the thread asked counts: there may be no more.
        self.publisher.begin(stream, n_waiting, self.engine.last_sequence(stream));
        self.engine.keep_path_ahead(stream, MAX_STEPS);
    }

    /// Whether any thread asks.
    pub fn is_asked(&self) -> bool {
        self.publisher.is_asked()
    }

    /// Whether threads that ask did something a moment ago, or are about to.
    pub fn is_awake(&self, now: Instant) -> bool {
        self.publisher.is_awake(now)
    }

    /// Other processes had the processor while we looked for events.
    pub fn interrupted(&mut self, now: Instant) {
        self.publisher.interrupted(now);
    }

    /// Sleeps until there is something to do, or at most this long.
    pub fn sleep(&mut self, follower: &mut Follower, at_most: Duration) {
        self.publisher.sleep(at_most, |at_most| follower.wait(at_most));
    }

    /// Publishes what was learned for the threads that ask.
    pub fn publish(&mut self, follower: &mut Follower) {
        self.publisher.publish(&self.engine, follower);
    }

    /// Publishes more of it; false if all is published.
    pub fn publish_more(&mut self, follower: &mut Follower) -> bool {
        self.publisher.complete(&mut self.engine, follower)
    }

    /// A stream has ended.
    pub fn end(&mut self, stream: StreamId) {
        match self.waiting.is_empty() {
            true => self.forget(stream),
            false => self.waiting.push_back(Waiting::Ended(stream)),
        }
    }

    /// Learns from at most this many waiting events; false if none is waiting.
    pub fn learn(&mut self, at_most: usize) -> bool {
        let n = self.waiting.len().min(at_most);
        for _ in 0..n {
            match self.waiting.pop_front() {
                Some(Waiting::Event(event)) => {
                    self.publisher.waits_no_more(event.stream);
                    self.learn_from(&event);
                }
                Some(Waiting::Ended(stream)) => self.forget(stream),
                None => {}
            }
        }
        n > 0
    }

    fn learn_from(&mut self, event: &Event) {
        let may_be_known = self.publisher.is_asked() || self.prefetcher.is_some();
        let is_known = may_be_known && self.engine.has_observed(event);
        let is_operation = self.engine.observe_with(event, &mut ());
        if !is_known {
            self.learned(event, is_operation);
        }
    }

    /// An event was learned, which made an operation known or not.
    fn learned(&mut self, event: &Event, is_operation: bool) {
        if is_operation {
            self.bursts.add(event);
        }
        self.publisher.learned(event, is_operation, &self.engine);
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.observe(event, &mut self.engine);
            self.n_since_plan += 1;
            if self.n_since_plan >= LEARNED_BETWEEN_PLANS {
                self.n_since_plan = 0;
                // Nobody can be asked here; what is not trusted waits.
                prefetcher.act(&mut self.engine, |_| true);
            }
        }
    }

    /// The program has ended: nobody acts on predictions any more.
    pub fn program_ended(&mut self) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.program_ended(&mut self.engine);
        }
    }

    fn forget(&mut self, stream: StreamId) {
        self.publisher.end(stream);
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.end(stream);
        }
        self.engine.drop_path_ahead(stream);
        self.engine.end_stream(stream);
        if self.engine.oracle(stream).is_none() {
            self.bursts.forget(stream);
        }
    }

    /// Stops learning.
    pub fn finish(&mut self) {
        let events = self.waiting.drain(..);
        let n_left = events.filter(|waiting| matches!(waiting, Waiting::Event(_))).count();
        self.n_not_learned += n_left as u64;
        self.engine.finish();
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::{ContextId, FileId, Function};

    use super::*;

    /// One look at many threads may find far more than there is room for, though the spool
    /// is nearly empty.
    #[test]
    fn what_finds_no_room_is_learned_unless_the_spool_is_about_to_be_full() {
        let mut learner = Learner::new();
        learner.is_behind = true;
        for n in 0..3 * MAX_WAITING {
            learner.take(&write(n as u64));
        }
        assert_eq!((learner.n_not_learned, learner.waiting.len()), (0, MAX_WAITING));
        assert_eq!(learner.engine.operations(STREAM), 2 * MAX_WAITING as u64);
        learner.makes_room = false;
        learner.n_without_room = 1;
        learner.take(&write(3 * MAX_WAITING as u64));
        assert_eq!((learner.n_not_learned, learner.waiting.len()), (1, MAX_WAITING));
    }

    const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

    fn write(n: u64) -> Event {
        Event {
            stream: STREAM,
            sequence: n,
            function: Function::Pwrite,
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: Some(0),
            requested: 8,
            result: 8,
            start_ns: n * 100,
            end_ns: n * 100 + 10,
            depth: 0,
            detail: "".into(),
        }
    }
}
