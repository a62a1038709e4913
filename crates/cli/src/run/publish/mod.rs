// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tells threads that ask what is expected of them, in their slots.
//!
//! Nothing is done for the others. For a thread that asks, the next step is told
//! as soon as an event of it is learned, because learning makes it anyway; behind
//! it stands what was known before, if the thread has done what it was told
//! ([`path`]), else a few steps more. Making a step takes a third of the time of
//! learning an event, so all of them are made anew only while there is nothing
//! to learn: that is left off as soon as a thread that asks has done something,
//! and what was made until then is kept.
//!
//! Waking up takes longer than all of it, so the spool is looked at without a
//! pause for a while after each event, and before the next one is expected
//! ([`polling`]).

mod path;
mod polling;
mod steps;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ioracle_engine::Engine;
use ioracle_events::{ContextId, Event, Layer, Operation, Prediction, StreamId};
use ioracle_oracle::Oracle;
use ioracle_spool::slot::{MAX_STEPS, Outlook};
use ioracle_trace::Follower;

use self::path::{ExpectedPath, SlotStep};
use self::polling::{AdaptivePolling, Arrival};
use self::steps::Steps;

/// Steps that are made at once where nothing is left of what was told before.
const FIRST_STEPS: usize = 4;
/// Steps that are made between two looks at whether there is something to learn.
const STEPS_AT_ONCE: usize = 2;

/// The threads that ask, and what they were told.
pub struct Publisher {
    asking: BTreeMap<StreamId, Asking>,
    polling: AdaptivePolling,
    steps: Steps,
    outlook: Outlook,
}

struct Asking {
    /// Events of the thread that wait to be learned.
    n_waiting: usize,
    /// The last event learned, as the thread counts those it began.
    rests_on: u64,
    /// Operations learned, in earlier runs too.
    n_operations: u64,
    told: Told,
    path: ExpectedPath,
    arrival: Arrival,
    /// The call stack of each context symbol, where it came in this run.
    contexts: Vec<ContextId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
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
            outlook: Outlook::default(),
        }
    }

    /// A thread asks, of which so many events wait to be learned, and that of
    /// this number was the last one learned.
    pub fn begin(&mut self, stream: StreamId, n_waiting: usize, rests_on: u64) {
        let asking = Asking {
            n_waiting,
            rests_on,
            n_operations: 0,
            told: Told::Outdated,
            path: ExpectedPath::default(),
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

    /// Whether an event is to be learned at once: its thread asks, and none of
    /// its earlier events wait.
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
        asking.told = Told::Outdated;
        let now = Instant::now();
        let is_library = matches!(event.function.layer(), Layer::MpiIo | Layer::HighLevel);
        // Whether a call of a library is one comes out later.
        if is_operation || is_library && event.function.access().is_data() && !event.failed() {
            asking.follow(event, now, engine);
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

    /// Others have had the processor while we looked for events.
    pub fn interrupted(&mut self, now: Instant) {
        self.polling.interrupted(now);
    }

    /// Sleeps at most so long, or until an operation of a thread that asks is
    /// near, by a function that may also return earlier.
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
            if asking.told != Told::Outdated {
                return true;
            }
            asking.told = Told::First;
            if let Some(oracle) = engine.oracle(stream) {
                asking.n_operations = oracle.operations();
                asking.renew(oracle.ahead(0).take(1), steps, (engine, follower));
                if asking.path.len() == 1 {
                    asking.renew(oracle.ahead(0).take(FIRST_STEPS), steps, (engine, follower));
                }
            }
            asking.arrival.expect(asking.path.next_ns().map(Duration::from_nanos));
            asking.fill(outlook);
            follower.publish(stream, outlook)
        });
    }

    /// Publishes all steps for threads that were told the first; false if there
    /// is none. When something is to be learned meanwhile, that comes first.
    pub fn complete(&mut self, engine: &Engine, follower: &mut Follower) -> bool {
        let Publisher { asking, steps, outlook, .. } = self;
        let mut any = false;
        asking.retain(|&stream, asking| {
            if asking.told != Told::First {
                return true;
            }
            any = true;
            if let Some(oracle) = engine.oracle(stream) {
                let (made, is_all) = made_in_peace(oracle, || follower.asking_have_news());
                // There is no time to say again what was said before.
                if is_all || made.len() > asking.path.len() {
                    asking.renew(made.into_iter(), steps, (engine, follower));
                }
                if !is_all {
                    return true;
                }
            }
            asking.told = Told::All;
            asking.fill(outlook);
            follower.publish(stream, outlook)
        });
        any
    }
}

/// All steps, or those that were made until there was something else to do.
fn made_in_peace(oracle: &Oracle, mut has_news: impl FnMut() -> bool) -> (Vec<Prediction>, bool) {
    let mut made = Vec::with_capacity(MAX_STEPS);
    let mut ahead = oracle.ahead(0);
    while made.len() < MAX_STEPS {
        let n_before = made.len();
        made.extend(ahead.by_ref().take(STEPS_AT_ONCE));
        if made.len() < n_before + STEPS_AT_ONCE {
            break;
        }
        if has_news() {
            return (made, false);
        }
    }
    (made, true)
}

impl Asking {
    /// Puts new steps in the place of the first ones.
    fn renew(
        &mut self,
        made: impl Iterator<Item = Prediction>,
        steps: &mut Steps,
        (engine, follower): (&Engine, &Follower),
    ) {
        let contexts = &self.contexts;
        self.path.renew(made.map(|prediction| {
            let step = steps.of(&prediction, contexts, engine, follower);
            SlotStep::new(prediction, step)
        }));
    }

    /// Makes the outlook that the thread is to be told.
    fn fill(&self, outlook: &mut Outlook) {
        outlook.clear();
        outlook.header.rests_on = self.rests_on;
        outlook.header.n_operations = self.n_operations;
        outlook.header.is_whole = u32::from(self.told == Told::All);
        for told in self.path.steps() {
            let (step, name) = told.step();
            outlook.push(step, name);
        }
    }

    /// Follows the thread along the path, and notes where its symbols come from.
    fn follow(&mut self, event: &Event, now: Instant, engine: &Engine) {
        let Some(oracle) = engine.oracle(event.stream) else { return };
        self.arrival.came(now);
        let operation = Operation::from(event);
        let symbol = oracle.symbol_of(&operation);
        self.path.advance(&operation, symbol, engine.path(operation.file));
        let Some(symbol) = symbol else { return };
        // The oracle bounds the number of symbols.
        let place = symbol.0 as usize;
        if place >= self.contexts.len() {
            self.contexts.resize(place + 1, steps::NO_CONTEXT);
        }
        self.contexts[place] = event.context;
    }
}
