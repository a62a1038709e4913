// SPDX-License-Identifier: MIT OR Apache-2.0

//! From call stacks to context symbols.
//!
//! A source numbers its call stacks as it likes; what stays the same from run
//! to run is the text of the frames (module-relative addresses). So a symbol
//! belongs to the hash of the frames and the function, and the source's numbers
//! are mapped to it when they are first used. A number whose frames were never
//! given is a context of its own, known by the number.

use ioracle_events::{ContextId, Function};
use serde::{Deserialize, Serialize};

use crate::hash::{SeedlessMap, combine};
use crate::stacks::StackId;

/// The symbols of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contexts {
    /// What each symbol stands for, in order.
    identities: Vec<ContextIdentity>,
    #[serde(skip)]
    by_identity: SeedlessMap<ContextIdentity, u32>,
    #[serde(skip)]
    by_source: SeedlessMap<(ContextId, Function), u32>,
    /// Some of the same, by the lowest bits of the context: each operation asks for its
    /// symbol several times.
    #[serde(skip)]
    recent: [Option<RecentContext>; N_RECENT],
    /// Hashes of the frames given for ids.
    frames: SeedlessMap<ContextId, u64>,
    max_symbols: usize,
    /// How often a context came whose frames had not been given.
    n_anonymous: u64,
}

/// A call stack, the same in every run, and the function called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContextIdentity {
    /// Hash of the frames.
    pub frames: u64,
    /// The function.
    pub function: Function,
}

/// What was found for a context and function whose frames are known.
#[derive(Clone, Copy, Debug)]
struct RecentContext {
    context: ContextId,
    function: Function,
    symbol: u32,
}

/// Contexts that are found without the table.
const N_RECENT: usize = 16;

impl ContextIdentity {
    /// A hash that is the same in every model.
    pub fn tag(&self) -> u32 {
        combine(self.frames, u64::from(u16::from(self.function))) as u32
    }
}

/// Ids whose frames or symbols are kept; beyond, all of them are given again or
/// found again by their frames.
const MAX_IDS: usize = 1 << 17;
/// Frames of the contexts that share a symbol once there are too many.
const SHARED: u64 = 0;

impl Contexts {
    /// No symbols yet, at most so many (and one more per function beyond).
    pub fn new(max_symbols: usize) -> Contexts {
        Contexts {
            identities: Vec::new(),
            by_identity: SeedlessMap::default(),
            by_source: SeedlessMap::default(),
            recent: [None; N_RECENT],
            frames: SeedlessMap::default(),
            max_symbols: max_symbols.clamp(1, 1 << 24),
            n_anonymous: 0,
        }
    }

    /// Defines the frames of a source's call stack.
    pub fn define(&mut self, context: ContextId, StackId(frames): StackId) {
        let known = self.frames.get(&context).copied();
        if known == Some(frames) || (known.is_none() && self.frames.len() >= MAX_IDS) {
            return;
        }
        self.frames.insert(context, frames);
        self.recent = [None; N_RECENT];
        // What the number stood for before is not what it stands for now. Most
        // were never used before, and then there is nothing to look for.
        if known.is_some() || self.n_anonymous > 0 {
            self.by_source.retain(|(other, _), _| *other != context);
        }
    }

    /// Whether the frames of the id are known.
    pub fn knows(&self, context: ContextId) -> bool {
        let recent = self.recent[place_of(context)];
        recent.is_some_and(|recent| recent.context == context) || self.frames.contains_key(&context)
    }

    /// The symbol of a context and function, if it was seen before.
    pub fn get(&self, context: ContextId, function: Function) -> Option<u32> {
        self.recent(context, function).or_else(|| {
            self.by_source
                .get(&(context, function))
                .or_else(|| self.by_identity.get(&self.identity(context, function)))
                .copied()
        })
    }

    /// Whether the function was ever called with these frames.
    pub fn knows_stack(&self, StackId(frames): StackId, function: Function) -> bool {
        self.by_identity.contains_key(&ContextIdentity { frames, function })
    }

    /// The symbol of a function that is called with these frames.
    pub fn at_stack(&self, StackId(frames): StackId, function: Function) -> Option<u32> {
        self.by_identity.get(&ContextIdentity { frames, function }).copied()
    }

    /// The call stack of a symbol.
    pub fn stack(&self, symbol: u32) -> Option<StackId> {
        self.identities.get(symbol as usize).map(|identity| StackId(identity.frames))
    }

    /// The symbol of a context and function; the next free number if it is new.
    pub fn get_or_add(&mut self, context: ContextId, function: Function) -> u32 {
        if let Some(symbol) = self.recent(context, function) {
            return symbol;
        }
        if let Some(&symbol) = self.by_source.get(&(context, function)) {
            if self.frames.contains_key(&context) {
                let recent = RecentContext { context, function, symbol };
                self.recent[place_of(context)] = Some(recent);
            }
            return symbol;
        }
        self.n_anonymous += u64::from(!self.knows(context));
        let symbol = self.add(self.identity(context, function));
        if self.by_source.len() >= MAX_IDS {
            self.by_source.clear();
        }
        self.by_source.insert((context, function), symbol);
        symbol
    }

    /// The symbol of an identity; the next free number if it is new. Beyond the
    /// ceiling, contexts share one symbol per function.
    pub fn add(&mut self, identity: ContextIdentity) -> u32 {
        if let Some(&symbol) = self.by_identity.get(&identity) {
            return symbol;
        }
        if self.identities.len() >= self.max_symbols && identity.frames != SHARED {
            return self.add(ContextIdentity { frames: SHARED, ..identity });
        }
        let symbol = self.identities.len() as u32;
        self.identities.push(identity);
        self.by_identity.insert(identity, symbol);
        symbol
    }

    /// A hash of what a symbol stands for, the same in every model.
    pub fn tag(&self, symbol: u32) -> u32 {
        self.identities.get(symbol as usize).map_or(0, ContextIdentity::tag)
    }

    /// What each symbol stands for.
    pub fn identities(&self) -> &[ContextIdentity] {
        &self.identities
    }

    /// Forgets the numbers of the source: a new run will give its own.
    pub fn begin_run(&mut self) {
        self.by_source.clear();
        self.recent = [None; N_RECENT];
        self.frames.clear();
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.identities.capacity() * size_of::<ContextIdentity>()
            + self.by_identity.capacity() * (size_of::<ContextIdentity>() + 5)
            + self.by_source.capacity() * 13
            + self.frames.capacity() * 17
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        (1..=1 << 24).contains(&self.max_symbols)
            && self.identities.len() <= self.max_symbols + Function::all().count()
            && self.frames.len() <= MAX_IDS
    }

    /// Makes the map that is not saved.
    pub fn index(&mut self) {
        self.by_identity = self.identities.iter().copied().zip(0..).collect();
    }

    fn recent(&self, context: ContextId, function: Function) -> Option<u32> {
        let recent = self.recent[place_of(context)]?;
        (recent.context == context && recent.function == function).then_some(recent.symbol)
    }

    fn identity(&self, context: ContextId, function: Function) -> ContextIdentity {
        let defined = self.frames.get(&context).copied();
        let frames = defined.unwrap_or_else(|| combine(8, u64::from(context.0)).max(1));
        ContextIdentity { frames, function }
    }
}

/// Where a context is among those found last.
fn place_of(context: ContextId) -> usize {
    context.0 as usize % N_RECENT
}
