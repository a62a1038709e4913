// SPDX-License-Identifier: MIT OR Apache-2.0

//! All trackers together: what a symbol's next operation will look like, given
//! where everything stands.

use ioracle_events::{Access, Function};
use serde::{Deserialize, Serialize};

use crate::choice::Rates;
use crate::config::{Config, Improvements, Naming};
use crate::derivation::Derivations;
use crate::files::{self, N_NAMES};
use crate::hash::{SeedlessMap, combine};
use crate::motion::{Motions, Move, NONE, reserve_some};
use crate::names::Opener;
use crate::offset::{OffsetContext, OffsetKnowledge, Offsets};
use crate::recall::Recall;
use crate::size::{SizeContext, SizeKnowledge, VaryingSize};
use crate::time::{ExpectedWait, TimeStatistics};
use crate::tracker::{Looked, Tracker};
use crate::transitions::{Transition, Transitions};

/// What is known about one context symbol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SymbolKnowledge {
    /// The function that it calls.
    pub function: Function,
    /// Its sizes.
    pub size: SizeKnowledge,
    /// What its reads ask for.
    pub request: RequestSize,
    /// Its offsets, unless it has always been contiguous.
    pub offset: Option<Box<OffsetKnowledge>>,
    /// Which hypotheses on its file were right, unless it has always been the
    /// file of the operation before.
    pub file: Option<Box<Rates>>,
    /// Whether it has named a file: opened it, or used it before anyone had.
    pub names_files: bool,
    /// How long its calls take.
    pub io_time: TimeStatistics,
}

/// What the reads of a symbol ask for: most ask for a whole buffer each time,
/// and get less only where the file ends.
///
/// One more than the bytes they always asked for, so that it takes the room that
/// is left in a symbol; 0 before the first read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSize(u32);

impl RequestSize {
    const VARIES: RequestSize = RequestSize(u32::MAX);

    /// Takes in what a read asked for.
    pub fn learn(&mut self, requested: u64) {
        let asked =
            u32::try_from(requested.saturating_add(1)).map_or(RequestSize::VARIES, RequestSize);
        self.merge(asked);
    }

    /// Whether reads ask now for this, now for that.
    pub fn varies(self) -> bool {
        self == RequestSize::VARIES
    }

    /// What they have always asked for.
    pub fn always(self) -> Option<u64> {
        (!self.varies()).then_some(u64::from(self.0)).and_then(|more| more.checked_sub(1))
    }

    /// Adds what another model knows.
    fn merge(&mut self, other: RequestSize) {
        let unknown = RequestSize::default();
        if *self == unknown {
            *self = other;
        } else if other != unknown && other != *self {
            *self = RequestSize::VARIES;
        }
    }
}

/// What the next operation of a symbol is expected to be.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Its file; [`NONE`] for a new one.
    pub file: u32,
    /// The name of a new file.
    pub new_name: Option<String>,
    /// Where it starts.
    pub offset: Option<u64>,
    /// How many bytes.
    pub size: u64,
    /// Wait before it.
    pub wait: ExpectedWait,
    /// How long it takes.
    pub io_time_ns: u64,
    /// How often what predicts the file was right lately.
    pub file_certainty: f64,
    /// The same of the offset; 1 where there is none.
    pub offset_certainty: f64,
}

/// What an expectation was concluded from. Kept until the operation comes: if
/// it is the expected one, learning need not look everything up again.
#[derive(Clone, Debug)]
pub struct ExpectationSource {
    symbol: u32,
    expected_file: u32,
    expected_size: u64,
    /// The files that it could name, as they were numbered then.
    named: [Option<i64>; N_NAMES],
    file: Looked,
    size: Looked,
    offset: Looked,
}

impl ExpectationSource {
    /// Nothing is expected any more.
    pub fn forget(&mut self) {
        self.symbol = NONE;
    }
}

impl Default for ExpectationSource {
    fn default() -> ExpectationSource {
        ExpectationSource {
            symbol: NONE,
            expected_file: NONE,
            expected_size: 0,
            named: [None; N_NAMES],
            file: Looked::default(),
            size: Looked::default(),
            offset: Looked::default(),
        }
    }
}

/// A name that an operation is expected to use, and its number if it has one.
#[derive(Clone, Debug)]
pub struct ExpectedName {
    /// The file of that name, [`NONE`] if it is new.
    pub file: u32,
    /// The name.
    pub name: String,
}

/// The files that an operation may name, in this order: as the names before it go on;
/// where variables take the place of files, the same variable as last time in the file
/// of the operation before; the names that other calls have used last and before that;
/// the one that they used after the file opened last; and two made from the first of
/// these and from the file opened last.
#[derive(Clone, Debug, Default)]
pub struct ExpectedNames(Vec<Option<ExpectedName>>);

impl ExpectedNames {
    /// All of them; where an operation names none, nothing is stored.
    pub fn new(names: [Option<ExpectedName>; N_NAMES]) -> ExpectedNames {
        ExpectedNames(names.into())
    }

    /// Their numbers; those that have none get one below 0, equal names the same.
    fn files(&self) -> [Option<i64>; N_NAMES] {
        std::array::from_fn(|at| {
            let expected = self.0.get(at)?.as_ref()?;
            if expected.file != NONE {
                return Some(i64::from(expected.file));
            }
            let is_same =
                |it: &Option<ExpectedName>| it.as_ref().is_some_and(|it| it.name == expected.name);
            let first = self.0.iter().position(is_same).unwrap_or(at);
            Some(-1 - first as i64)
        })
    }

    /// Takes out the name that such a number stands for.
    fn take(mut self, number: i64) -> Option<String> {
        let at = usize::try_from(-1 - number).ok()?;
        self.0.get_mut(at)?.take().map(|expected| expected.name)
    }
}

/// The trackers of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Knowledge {
    /// By symbol.
    pub symbols: Vec<SymbolKnowledge>,
    /// Waits by transition.
    pub transitions: Transitions,
    /// Names by the symbol that opens them.
    pub openers: SeedlessMap<u32, Opener>,
    /// Names that were made from others, by any symbol.
    pub made: Derivations,
    sizes: Tracker,
    offsets: Offsets,
    files: Tracker,
    /// Which of the files opened or used lately a symbol went for.
    ranks: Recall,
    improvements: Improvements,
    #[serde(skip)]
    naming: Naming,
}

impl Knowledge {
    /// Knows nothing yet.
    pub fn new(config: &Config) -> Knowledge {
        Knowledge {
            symbols: Vec::new(),
            transitions: Transitions::new(config.max_transitions),
            openers: SeedlessMap::default(),
            made: Derivations::default(),
            sizes: Tracker::new(config.max_contexts / 2),
            offsets: Offsets::new(config.max_contexts),
            files: Tracker::new(config.max_contexts / 4),
            ranks: Recall::new(config.max_contexts / 8),
            improvements: config.improvements,
            naming: config.naming,
        }
    }

    /// Adds a symbol for calls of this function.
    pub fn add_symbol(&mut self, function: Function) {
        reserve_some(&mut self.symbols);
        self.symbols.push(SymbolKnowledge {
            function,
            size: SizeKnowledge::default(),
            request: RequestSize::default(),
            offset: None,
            file: None,
            names_files: false,
            io_time: TimeStatistics::default(),
        });
    }

    /// Learns from an operation that is about to be taken into `motions`.
    /// `outlook` is what was expected.
    pub fn learn(
        &mut self,
        motions: &impl Motions,
        step: &Move,
        names: &ExpectedNames,
        outlook: &mut ExpectationSource,
    ) {
        let same_symbol = outlook.symbol == step.symbol;
        let same_file = same_symbol && outlook.expected_file == step.file;
        let same_size = same_file && outlook.expected_size == step.size;
        // A file that was new when it was expected has its number by now.
        let named = names.files();
        let is_fresh = same_symbol && outlook.named == named;
        self.learn_file(motions, step, named, &mut outlook.file, is_fresh);
        let Some(known) = self.symbols.get_mut(step.symbol as usize) else { return };
        let (symbol, file, size) = (step.symbol, step.file, step.size);
        if step.access.is_data() && step.is_cut_short {
            known.size.learn_cut_short(size);
        } else if step.access.is_data() {
            let context = self.improvements.size_context(symbol, file);
            let looked = &mut outlook.size;
            known.size.learn(&mut self.sizes, motions, context, size, looked, same_file);
        }
        if let Some(offset) = step.offset {
            let improvements = self.improvements;
            let context = OffsetContext { symbol, file, size, improvements };
            let looked = &mut outlook.offset;
            self.offsets.learn(&mut known.offset, motions, context, offset, looked, same_size);
        }
    }

    /// What the next operation of `symbol` will be if it is the next of all.
    /// `names` are the files it may name. What it was concluded from is left in
    /// `outlook`.
    pub fn expect(
        &self,
        motions: &impl Motions,
        symbol: u32,
        names: ExpectedNames,
        outlook: &mut ExpectationSource,
    ) -> Option<Expected> {
        let known = self.symbols.get(symbol as usize)?;
        outlook.symbol = symbol;
        let same_file = motions.now().file;
        outlook.named = names.files();
        let expected_file = known.file.as_ref().and_then(|rates| {
            self.look_for_file(motions, symbol, outlook.named, &mut outlook.file);
            outlook.file.choose_before(files::NEIGHBOUR, rates)
        });
        let (file, new_name) = match expected_file {
            Some(new) if new < 0 => (NONE, names.take(new)),
            Some(file) => (u32::try_from(file).unwrap_or(same_file), None),
            None => (same_file, None),
        };
        let always = after_all_of(known.io_time.count());
        let file_certainty = match &known.file {
            Some(_) => f64::from(outlook.file.certainty()),
            None => always,
        };
        let (offset, size) = self.expect_data(motions, known, file, outlook);
        let offset_certainty = match (offset, &known.offset) {
            (None, _) => 1.0,
            (Some(_), Some(_)) => f64::from(outlook.offset.certainty()),
            (Some(_), None) => always,
        };
        let wait = self.expect_wait(motions, symbol).unwrap_or_default();
        Some(Expected {
            file,
            new_name,
            offset,
            size,
            wait,
            io_time_ns: known.io_time.best_of_call(),
            file_certainty,
            offset_certainty,
        })
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        let boxed = |known: &SymbolKnowledge| {
            let size = if known.size.is_varying() { size_of::<VaryingSize>() } else { 0 };
            let offset = if known.offset.is_none() { 0 } else { size_of::<OffsetKnowledge>() };
            let file = if known.file.is_none() { 0 } else { size_of::<Rates>() };
            size + offset + file
        };
        self.symbols.capacity() * size_of::<SymbolKnowledge>()
            + self.symbols.iter().map(boxed).sum::<usize>()
            + self.openers.values().map(Opener::memory_bytes).sum::<usize>()
            + self.made.memory_bytes()
            + self.transitions.memory_bytes()
            + self.sizes.memory_bytes()
            + self.offsets.memory_bytes()
            + self.files.memory_bytes()
            + self.ranks.memory_bytes()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.transitions.is_valid()
            && self.openers.values().all(Opener::is_valid)
            && self.made.is_valid()
            && self.sizes.is_valid()
            && self.offsets.is_valid()
            && self.files.is_valid()
            && self.ranks.is_valid()
            && self.symbols.iter().all(|it| it.io_time.is_valid() && it.size.is_valid())
    }

    /// Takes in a symbol of another model as number `own`.
    pub fn adopt_symbol(&mut self, own: u32, other: &SymbolKnowledge) {
        match self.symbols.get_mut(own as usize) {
            None => self.symbols.push(other.clone()),
            Some(known) => {
                known.size.merge(&other.size, &self.sizes);
                known.request.merge(other.request);
                known.io_time.merge(&other.io_time);
                if known.offset.is_none() {
                    known.offset = other.offset.clone();
                }
                if known.file.is_none() {
                    known.file = other.file.clone();
                }
                known.names_files |= other.names_files;
            }
        }
    }

    /// Joins what another model remembers; its symbols and files have the
    /// numbers that the two functions give.
    pub fn merge(
        &mut self,
        other: &Knowledge,
        symbol_of: impl Fn(u32) -> Option<u32>,
        file_of: impl Fn(u32) -> Option<u32>,
    ) {
        for (transition, times) in other.transitions.iter() {
            if let (Some(from), Some(to)) = (symbol_of(transition.from), symbol_of(transition.to)) {
                self.transitions.merge_one(Transition { from, to }, times);
            }
        }
        for (&symbol, opener) in &other.openers {
            if let Some(symbol) = symbol_of(symbol) {
                self.openers.entry(symbol).or_insert_with(|| opener.clone());
            }
        }
        self.transitions.merge_contexts(&other.transitions);
        self.sizes.merge(&other.sizes, Some);
        self.offsets.merge(&other.offsets);
        self.files.merge(&other.files, |file| file_of(u32::try_from(file).ok()?).map(i64::from));
        self.ranks.merge(&other.ranks, Some);
    }

    fn expect_data(
        &self,
        motions: &impl Motions,
        known: &SymbolKnowledge,
        file: u32,
        outlook: &mut ExpectationSource,
    ) -> (Option<u64>, u64) {
        outlook.expected_file = file;
        if !known.function.access().is_data() {
            return (None, 0);
        }
        let symbol = outlook.symbol;
        let context = self.improvements.size_context(symbol, file);
        let size = known.size.expect(&self.sizes, motions, context, &mut outlook.size);
        let size = size.unwrap_or(motions.now().size);
        let size = match known.request.always() {
            Some(requested) if motions.file(file).size_known => requested,
            Some(requested) => size.min(requested),
            None => size,
        };
        outlook.expected_size = size;
        if !motions.symbol(symbol).positioned {
            return (None, size);
        }
        let improvements = self.improvements;
        let context = OffsetContext { symbol, file, size, improvements };
        let offset = known.offset.as_deref();
        let offset = self.offsets.expect(offset, motions, context, &mut outlook.offset);
        let known_file = motions.file(file);
        if known.function.access() == Access::Read && known_file.size_known {
            return (Some(offset), size.min(known_file.size.saturating_sub(offset)));
        }
        (Some(offset), size)
    }

    fn expect_wait(&self, motions: &impl Motions, symbol: u32) -> Option<ExpectedWait> {
        if self.improvements.competing_times {
            return self.transitions.expect(motions, symbol);
        }
        let transition = Transition { from: motions.now().symbol, to: symbol };
        let times = self.transitions.get(transition)?;
        Some(ExpectedWait::new(times.halving_mean(), times))
    }

    fn look_for_file(
        &self,
        motions: &impl Motions,
        symbol: u32,
        named: [Option<i64>; N_NAMES],
        looked: &mut Looked,
    ) {
        let known = self.symbols.get(symbol as usize);
        let access = known.map_or(Access::Open, |known| known.function.access());
        let ranks = self.ranks_for(motions, symbol);
        files::put_evidence(motions, symbol, named, ranks, looked.begin());
        let names = self.naming.is_by(access);
        self.files.look(looked, files::possible(motions, names, named));
    }

    fn learn_file(
        &mut self,
        motions: &impl Motions,
        step: &Move,
        named: [Option<i64>; N_NAMES],
        looked: &mut Looked,
        is_fresh: bool,
    ) {
        let Some(known) = self.symbols.get(step.symbol as usize) else { return };
        let follows = self.naming == Naming::Opens && step.file == motions.now().file;
        if known.file.is_none() && follows {
            return;
        }
        if !is_fresh || known.file.is_none() {
            self.look_for_file(motions, step.symbol, named, looked);
        }
        if let Some(known) = self.symbols.get_mut(step.symbol as usize) {
            let prior = || Box::new(self.files.overall());
            let rates = known.file.get_or_insert_with(prior);
            self.files.learn(looked, rates, i64::from(step.file), true);
        }
        let now = motions.now();
        let contexts = rank_contexts(motions, step.symbol);
        for (context, files) in contexts.into_iter().zip([&now.opened, &now.used]) {
            if let Some(rank) = files.iter().position(|&file| file == step.file) {
                self.ranks.learn(context, rank as i64);
            }
        }
    }

    fn ranks_for(&self, motions: &impl Motions, symbol: u32) -> [Option<i64>; 2] {
        rank_contexts(motions, symbol).map(|context| self.ranks.get(context).map(|rank| rank.value))
    }
}

impl Improvements {
    fn size_context(&self, symbol: u32, file: u32) -> SizeContext {
        let (following, middle) = (self.following_sizes, self.middle_sizes);
        SizeContext { symbol, file, following, middle }
    }
}

/// How certain it is that what has always held, so many times, holds once more:
/// Laplace's rule of succession.
fn after_all_of(times: u32) -> f64 {
    (f64::from(times) + 1.0) / (f64::from(times) + 2.0)
}

fn rank_contexts(motions: &impl Motions, symbol: u32) -> [u64; 2] {
    let tag = u64::from(motions.symbol(symbol).tag);
    [combine(combine(6, motions.now().last_tag()), tag), combine(7, tag)]
}
