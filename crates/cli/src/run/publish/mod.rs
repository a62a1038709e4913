// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tells threads that ask what is expected of them, in their slots.
//!
//! Nothing is done for the others. For a thread that asks, a few steps are made
//! anew as soon as an event of it is learned, because making a step takes longer
//! than learning an event; behind them stands what was known before, if the
//! thread has done what it was told ([`path`]). All of them are made anew when
//! there is nothing newer to learn, or few are left.

mod path;
mod steps;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ioracle_engine::Engine;
use ioracle_events::{ContextId, Event, Operation, StreamId};
use ioracle_spool::slot::{MAX_STEPS, Outlook};
use ioracle_trace::Follower;

use self::path::Path;
use self::steps::Steps;

/// Steps that are made anew at once.
const FIRST_STEPS: usize = 4;
/// With fewer left all are made anew at once.
const FEW_STEPS: usize = 16;
/// How long the spool is looked at without a pause after the last event of a
/// thread that asks. Waking up takes some ten microseconds, and programs that
/// ask make their calls in bursts.
const AWAKE: Duration = Duration::from_micros(200);

/// The threads that ask, and what they were told.
pub struct Publisher {
    asking: BTreeMap<StreamId, Asking>,
    awake_until: Option<Instant>,
    steps: Steps,
    outlook: Outlook,
}

struct Asking {
    /// Events of the thread that wait to be learned.
    n_waiting: usize,
    /// The last event learned, as the thread counts those it began.
    rests_on: u64,
    told: Told,
    path: Path,
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
            awake_until: None,
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
            told: Told::Outdated,
            path: Path::default(),
            contexts: Vec::new(),
        };
        self.asking.insert(stream, asking);
        self.stay_awake();
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
    pub fn learned(&mut self, event: &Event, engine: &Engine) {
        let Some(asking) = self.asking.get_mut(&event.stream) else { return };
        asking.rests_on = asking.rests_on.max(event.sequence);
        asking.told = Told::Outdated;
        asking.follow(event, engine);
        self.stay_awake();
    }

    /// Whether threads that ask did something a moment ago.
    pub fn is_awake(&self) -> bool {
        self.awake_until.is_some_and(|until| Instant::now() < until)
    }

    /// Publishes the first steps for all threads of which something was learned.
    pub fn publish(&mut self, engine: &Engine, follower: &mut Follower) {
        self.tell(Told::Outdated, Told::First, engine, follower);
    }

    /// Publishes all steps for threads that were told the first; false if there
    /// is none.
    pub fn complete(&mut self, engine: &Engine, follower: &mut Follower) -> bool {
        self.tell(Told::First, Told::All, engine, follower)
    }

    fn tell(&mut self, from: Told, to: Told, engine: &Engine, follower: &mut Follower) -> bool {
        let Publisher { asking, steps, outlook, .. } = self;
        let mut any = false;
        asking.retain(|&stream, asking| {
            if asking.told != from {
                return true;
            }
            any = true;
            asking.told = to;
            outlook.clear();
            outlook.header.rests_on = asking.rests_on;
            if let Some(oracle) = engine.oracle(stream) {
                let is_short = (1..FEW_STEPS).contains(&asking.path.len());
                if is_short {
                    asking.told = Told::All;
                }
                let n_new = if asking.told == Told::All { MAX_STEPS } else { FIRST_STEPS };
                asking.path.renew(oracle.ahead(0).take(n_new));
                outlook.header.n_operations = oracle.operations();
                outlook.header.is_whole = u32::from(asking.told == Told::All);
            }
            for prediction in asking.path.steps() {
                steps.push(prediction, &asking.contexts, engine, follower, outlook);
            }
            follower.publish(stream, outlook)
        });
        any
    }

    fn stay_awake(&mut self) {
        self.awake_until = Some(Instant::now() + AWAKE);
    }
}

impl Asking {
    /// Follows the thread along the path, and notes where its symbols come from.
    fn follow(&mut self, event: &Event, engine: &Engine) {
        let is_operation = event.function.access().is_atomic() && !event.failed();
        let Some(oracle) = engine.oracle(event.stream).filter(|_| is_operation) else { return };
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
