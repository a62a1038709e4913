// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishes predictions for threads that ask, in their prediction slots.
//!
//! Nothing is done for the others. For a thread that asks, the engine keeps the path
//! ahead ([`ioracle_engine::PathAhead`]), and what is known about it is put into the
//! slot as soon as an event of the thread is learned. Where the path is short, because
//! the thread did something unexpected, it is extended while there is nothing to learn,
//! but only until a thread that asks has done something.
//!
//! Waking up takes longer than all of it, so the spool is looked at without a
//! pause for a while after each event, and before the next one is expected
//! ([`polling`]).

mod polling;
mod steps;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ioracle_engine::{Engine, PathAhead, PathStep};
use ioracle_events::{ContextId, Event, Layer, Operation, PredictedFile, StreamId};
use ioracle_spool::slot::{MAX_STEPS, OutlookBuilder, OutlookStep};
use ioracle_trace::Follower;

use self::polling::{AdaptivePolling, Arrival};
use self::steps::Steps;

/// Steps that are added between two looks at whether there is something to learn.
const STEPS_AT_ONCE: usize = 2;

/// The threads that ask, and what was published for them.
pub struct Publisher {
    asking: BTreeMap<StreamId, Asking>,
    polling: AdaptivePolling,
    steps: Steps,
    outlook: OutlookBuilder,
}

struct Asking {
    /// Events of the thread that wait to be learned.
    n_waiting: usize,
    /// The last event learned, as the thread counts those it began.
    rests_on: u64,
    /// Operations learned, in earlier runs too.
    n_operations: u64,
    sent: SentSteps,
    /// The first step of the path has been made: a call of a library has ended, of
    /// which only the next event says whether it was an operation.
    is_ahead: bool,
    /// Steps of the path in the words of a slot, and the number of the first.
    steps: VecDeque<(OutlookStep, Arc<[u8]>)>,
    first_number: u64,
    arrival: Arrival,
    /// The call stack of each context symbol, where it came in this run.
    contexts: Vec<ContextId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SentSteps {
    /// Not what was learned last.
    Outdated,
    /// The first steps of it.
    First,
    /// All of it.
    All,
}

impl Publisher {
    /// Nobody asks.
    pub fn new() -> Publisher {
        Publisher {
            asking: BTreeMap::new(),
            polling: AdaptivePolling::default(),
            steps: Steps::new(),
            outlook: OutlookBuilder::default(),
        }
    }

    /// A thread asks. `n_waiting` of its events wait to be learned; `rests_on` is the
    /// number of the last one learned.
    pub fn begin(&mut self, stream: StreamId, n_waiting: usize, rests_on: u64) {
        let asking = Asking {
            n_waiting,
            rests_on,
            n_operations: 0,
            sent: SentSteps::Outdated,
            is_ahead: false,
            steps: VecDeque::new(),
            first_number: 0,
            arrival: Arrival::default(),
            contexts: Vec::new(),
        };
        self.asking.insert(stream, asking);
        self.polling.stay_awake(Instant::now());
    }

    /// A thread asks no more.
    pub fn end(&mut self, stream: StreamId) {
        self.asking.remove(&stream);
    }

    /// Whether to learn an event at once: its thread asks, and none of its earlier
    /// events wait.
    pub fn is_urgent(&self, event: &Event) -> bool {
        !self.asking.is_empty()
            && self.asking.get(&event.stream).is_some_and(|asking| asking.n_waiting == 0)
    }

    /// An event waits.
    pub fn will_learn(&mut self, stream: StreamId) {
        if let Some(asking) = self.asking.get_mut(&stream) {
            asking.n_waiting += 1;
        }
    }

    /// An event that waited is being learned.
    pub fn waits_no_more(&mut self, stream: StreamId) {
        if let Some(asking) = self.asking.get_mut(&stream) {
            asking.n_waiting = asking.n_waiting.saturating_sub(1);
        }
    }

    /// An event was learned.
    pub fn learned(&mut self, event: &Event, is_operation: bool, engine: &Engine) {
        let Some(asking) = self.asking.get_mut(&event.stream) else { return };
        asking.rests_on = asking.rests_on.max(event.sequence);
        asking.sent = SentSteps::Outdated;
        let now = Instant::now();
        let is_library = matches!(event.function.layer(), Layer::MpiIo | Layer::HighLevel);
        // Whether a library call is an operation is known only later.
        asking.is_ahead = false;
        if is_operation || is_library && event.function.access().is_data() && !event.failed() {
            asking.follow(event, now, engine);
            asking.is_ahead = !is_operation && is_next(event, engine);
        }
        self.polling.stay_awake(now);
    }

    /// Whether anybody asks.
    pub fn is_asked(&self) -> bool {
        !self.asking.is_empty()
    }

    /// Whether threads that ask did something a moment ago, or are about to.
    pub fn is_awake(&self, now: Instant) -> bool {
        self.polling.is_awake(now)
    }

    /// Other processes had the processor while we looked for events.
    pub fn interrupted(&mut self, now: Instant) {
        self.polling.interrupted(now);
    }

    /// Sleeps at most this long, or until an operation of a thread that asks is near,
    /// by a function that may also return earlier.
    pub fn sleep(&mut self, at_most: Duration, sleep: impl FnOnce(Duration)) {
        if self.asking.is_empty() {
            return sleep(at_most);
        }
        let arrivals = self.asking.values().map(|asking| &asking.arrival);
        sleep(self.polling.plan(Instant::now(), at_most, arrivals));
        self.polling.wake(Instant::now());
    }

    /// Publishes the next steps for all threads of which something was learned.
    pub fn publish(&mut self, engine: &Engine, follower: &mut Follower) {
        let Publisher { asking, steps, outlook, .. } = self;
        asking.retain(|&stream, asking| {
            if asking.sent != SentSteps::Outdated {
                return true;
            }
            asking.sent = SentSteps::First;
            asking.publish(stream, outlook, steps, (engine, follower))
        });
    }

    /// Publishes all steps for threads that have only the first; false if there is
    /// none. If there is something to learn in the meantime, that comes first.
    pub fn complete(&mut self, engine: &mut Engine, follower: &mut Follower) -> bool {
        let Publisher { asking, steps, outlook, .. } = self;
        let mut any = false;
        asking.retain(|&stream, asking| {
            if asking.sent != SentSteps::First {
                return true;
            }
            any = true;
            while engine.path_ahead(stream).is_some_and(|path| !path.is_complete()) {
                engine.extend_path_ahead(stream, STEPS_AT_ONCE);
                if follower.asking_have_news() {
                    return true;
                }
            }
            asking.sent = SentSteps::All;
            asking.publish(stream, outlook, steps, (engine, follower))
        });
        any
    }
}

/// Whether an event is the next step of the path of its stream.
fn is_next(event: &Event, engine: &Engine) -> bool {
    let next = engine.path_ahead(event.stream).and_then(|path| path.step(0));
    let (Some(next), Some(oracle)) = (next, engine.oracle(event.stream)) else { return false };
    let operation = Operation::from(event);
    let is_file = match next.file {
        PredictedFile::Known(file) => *file == event.file,
        PredictedFile::New(name) => Some(name.as_str()) == engine.path(event.file),
    };
    is_file
        && Some(next.symbol) == oracle.symbol_of(&operation)
        && (next.offset, next.size) == (operation.offset, operation.size)
}

impl Asking {
    /// Publishes what is known for the thread; false if that is no longer possible.
    fn publish(
        &mut self,
        stream: StreamId,
        outlook: &mut OutlookBuilder,
        steps: &mut Steps,
        (engine, follower): (&Engine, &mut Follower),
    ) -> bool {
        outlook.clear();
        if let (Some(oracle), Some(path)) = (engine.oracle(stream), engine.path_ahead(stream)) {
            self.n_operations = oracle.operations();
            if path.is_complete() {
                self.sent = SentSteps::All;
            }
            self.keep_up(path, steps, (engine, follower));
            self.fill(path, outlook);
        }
        let next = outlook.steps().first().map(|step| Duration::from_nanos(step.from_now_ns));
        self.arrival.expect(next);
        outlook.header.rests_on = self.rests_on;
        outlook.header.n_operations = self.n_operations;
        outlook.header.is_whole = u32::from(self.sent == SentSteps::All);
        follower.publish(stream, outlook)
    }

    /// Puts the steps that are new into the words of a slot.
    fn keep_up(
        &mut self,
        path: &PathAhead,
        steps: &mut Steps,
        (engine, follower): (&Engine, &Follower),
    ) {
        let n_gone = usize::try_from(path.first_number().saturating_sub(self.first_number));
        self.steps.drain(..n_gone.unwrap_or(usize::MAX).min(self.steps.len()));
        self.first_number = path.first_number();
        let mut words =
            |step: PathStep<'_>| steps.of(&step.prediction(), &self.contexts, engine, follower);
        // The next operation is predicted again after every operation.
        if let (Some(first), Some(next)) = (self.steps.front_mut(), path.step(0)) {
            *first = words(next);
        }
        let new = path.steps().take(MAX_STEPS).skip(self.steps.len());
        let new: Vec<_> = new.map(words).collect();
        self.steps.extend(new);
    }

    /// Makes the outlook, as it is seen from where the thread stands.
    fn fill(&self, path: &PathAhead, outlook: &mut OutlookBuilder) {
        let made = path.step(0).filter(|_| self.is_ahead);
        let (made_ns, made_probability) = made.map_or((0, 1.0), |made| {
            (made.from_now_ns.saturating_add(made.io_time_ns), made.operation_probability)
        });
        let share = |probability: f64| (probability / made_probability.max(1e-300)).min(1.0);
        let published = path.steps().zip(&self.steps).skip(usize::from(made.is_some()));
        for (seen, (step, name)) in published {
            let step = OutlookStep {
                from_now_ns: seen.from_now_ns.saturating_sub(made_ns),
                probability: share(seen.probability),
                operation_probability: share(seen.operation_probability),
                ..*step
            };
            outlook.push(step, name);
        }
    }

    /// Notes when the thread did something, and where its symbols come from.
    fn follow(&mut self, event: &Event, now: Instant, engine: &Engine) {
        let Some(oracle) = engine.oracle(event.stream) else { return };
        self.arrival.came(now);
        let Some(symbol) = oracle.symbol_of(&Operation::from(event)) else { return };
        // The oracle bounds the number of symbols.
        let place = symbol.0 as usize;
        if place >= self.contexts.len() {
            self.contexts.resize(place + 1, steps::NO_CONTEXT);
        }
        self.contexts[place] = event.context;
    }
}
