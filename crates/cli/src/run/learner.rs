// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learns from events, at once while that is fast enough. When the program is
//! faster they wait in a queue, so that the spool is emptied as fast as it can be
//! read: the program then writes again and again into the same few segments, which
//! are in its cache, instead of into new memory, which costs it more than all else
//! that a record does. When the queue is full, records wait in the spool.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ioracle_engine::{Config, Engine};
use ioracle_events::{Event, StreamId};
use ioracle_insight::BurstTally;
use ioracle_oracle::Model;
use ioracle_spool::slot::MAX_STEPS;
use ioracle_trace::Follower;

use super::publish::Publisher;

/// Events that may wait, some fifty megabytes.
const MAX_WAITING: usize = 1 << 18;

/// What is learned, and what waits to be.
pub struct Learner {
    pub engine: Engine,
    pub bursts: BurstTally,
    /// Events that nothing was learned from: those that were read while the queue
    /// was full, because the spool was about to be.
    pub n_not_learned: u64,
    /// The program is faster than what is learned.
    pub is_behind: bool,
    waiting: VecDeque<Waiting>,
    /// Threads that ask what comes next.
    publisher: Publisher,
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
            waiting: VecDeque::new(),
            publisher: Publisher::new(),
        }
    }

    /// Streams begin with what earlier runs have learned.
    pub fn begin_with(&mut self, model: Model) {
        self.engine = Engine::with_model(Config::default(), model);
    }

    /// Takes an event, to learn from it at once if its thread asks what comes next
    /// or none wait.
    pub fn take(&mut self, event: &Event) {
        let is_at_once = self.waiting.is_empty() && !self.is_behind;
        if is_at_once || self.publisher.is_urgent(event) {
            self.learn_from(event);
        } else if self.waiting.len() < MAX_WAITING {
            self.publisher.will_learn(event.stream);
            self.waiting.push_back(Waiting::Event(event.clone()));
        } else {
            self.n_not_learned += 1;
            self.engine.pass_over(event);
        }
    }

    /// Takes an event that has ended inside a call which has not.
    pub fn take_nested(&mut self, event: &Event) {
        if self.publisher.is_urgent(event) {
            let n_before = self.engine.operations(event.stream);
            self.engine.observe_nested(event);
            let is_operation = self.engine.operations(event.stream) > n_before;
            self.publisher.learned(event, is_operation, &self.engine);
        }
    }

    /// Whether no more events can wait.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING - MAX_WAITING / 4
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

    /// Others have had the processor while we looked for events.
    pub fn interrupted(&mut self, now: Instant) {
        self.publisher.interrupted(now);
    }

    /// Sleeps until there is something to do, or so long at most.
    pub fn sleep(&mut self, follower: &mut Follower, at_most: Duration) {
        self.publisher.sleep(at_most, |at_most| follower.wait(at_most));
    }

    /// Tells threads that ask what was learned of them.
    pub fn publish(&mut self, follower: &mut Follower) {
        self.publisher.publish(&self.engine, follower);
    }

    /// Tells them more of it; false if they know all.
    pub fn publish_more(&mut self, follower: &mut Follower) -> bool {
        self.publisher.complete(&mut self.engine, follower)
    }

    /// A stream has ended.
    pub fn end(&mut self, stream: StreamId) {
        if self.waiting.is_empty() {
            return self.forget(stream);
        }
        self.waiting.push_back(Waiting::Ended(stream));
    }

    /// Learns from at most so many of those that wait; false if none does.
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
        let n_before = self.engine.operations(event.stream);
        self.engine.observe(event);
        let is_operation = self.engine.operations(event.stream) > n_before;
        let oracle = self.engine.oracle(event.stream);
        let quiet_ns = oracle.and_then(|oracle| oracle.quiet_threshold_ns());
        if is_operation {
            self.bursts.add(event, quiet_ns);
        }
        self.publisher.learned(event, is_operation, &self.engine);
    }

    fn forget(&mut self, stream: StreamId) {
        self.publisher.end(stream);
        self.engine.drop_path_ahead(stream);
        self.engine.end_stream(stream);
        if self.engine.oracle(stream).is_none() {
            self.bursts.forget(stream);
        }
    }

    /// Learns no more.
    pub fn finish(&mut self) {
        let events = self.waiting.drain(..);
        let n_left = events.filter(|waiting| matches!(waiting, Waiting::Event(_))).count();
        self.n_not_learned += n_left as u64;
        self.engine.finish();
    }
}
