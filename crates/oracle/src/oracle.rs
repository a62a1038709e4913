// SPDX-License-Identifier: MIT OR Apache-2.0

//! The oracle of one stream.

use ioracle_events::{
    Access, Clue, ContextId, ContextSymbol, FileId, Function, Operation, PredictedFile, Prediction,
    PredictionSource, Spread,
};
use ioracle_grammar::{Candidate, StarSequitur};
use serde::{Deserialize, Serialize};

use crate::burst::QuietLine;
use crate::clues::Clues;
use crate::config::{Config, Naming};
use crate::contexts::Contexts;
use crate::contiguity::Contiguity;
use crate::derivation::NameOrigin;
use crate::endings::Endings;
use crate::files::{KnownFiles, neighbour};
use crate::hash::{Seedless, combine};
use crate::knowledge::{
    ExpectationSource, Expected, ExpectedName, ExpectedNames, Knowledge, SymbolKnowledge,
};
use crate::motion::{Motions, Move, NONE, RealMotions, SymbolMotion};
use crate::names::Opener;
use crate::place_calibration::{PlaceCalibration, PlaceCell};
use crate::stacks::StackId;
use crate::supposed::Supposed;
use crate::time::{ExpectedWait, TimeClass, TimeStatistics, WaitTrust};
use crate::transitions::Transition;

/// Learns the operations of one stream and says what comes next.
#[derive(Clone, Debug)]
pub struct Oracle {
    pub(crate) config: Config,
    pub(crate) grammar: StarSequitur,
    pub(crate) contexts: Contexts,
    pub(crate) files: KnownFiles,
    pub(crate) knowledge: Knowledge,
    pub(crate) motions: RealMotions,
    pub(crate) contiguity: Contiguity,
    pub(crate) endings: Endings,
    pub(crate) clues: Clues,
    pub(crate) places: PlaceCalibration,
    pub(crate) quiet: QuietLine,
    pub(crate) wait_trust: WaitTrust,
    /// The wait that the first prediction is made from.
    pub(crate) expected_wait: ExpectedWait,
    pub(crate) clock: RunState,
    pub(crate) predictions: Vec<Prediction>,
    /// Room for the candidates of the grammar weighed anew.
    pub(crate) weighed: Vec<Candidate>,
    /// For each prediction, what its place counts for.
    pub(crate) place_cells: Vec<PlaceCell>,
    /// What is stated first, before it is corrected by how often that held.
    pub(crate) stated: f32,
    /// What the first prediction was concluded from.
    pub(crate) outlook: Box<ExpectationSource>,
    /// Room for the same of the others.
    pub(crate) other_outlook: Box<ExpectationSource>,
    /// How far a path has been read that goes on while operations come.
    pub(crate) path: Option<Box<Supposed>>,
    /// The steps that this run has made, where earlier runs are known.
    pub(crate) made_in_this_run: Option<Steps>,
}

/// Two symbols in a row.
pub(crate) type Steps = hashbrown::HashSet<(u32, u32), Seedless>;

/// Different steps of a run that are remembered; with more, all count as made.
const MAX_STEPS: usize = 1 << 16;

/// Small things that the last operation left behind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunState {
    /// Operations observed, in all runs.
    pub n_observed: u64,
    /// End of the last operation; `None` before the first of a run.
    pub last_end_ns: Option<u64>,
    /// The last function that moved data.
    pub last_data_function: Function,
}

/// Stands in the grammar for the beginning of a run, so that the first
/// operation of the next one can be predicted.
pub(crate) const START: u32 = u32::MAX;

impl Oracle {
    /// An oracle that knows nothing yet.
    pub fn new(config: Config) -> Oracle {
        let mut oracle = Oracle {
            grammar: StarSequitur::new(config.grammar.clone()),
            contexts: Contexts::new(config.max_symbols),
            files: KnownFiles::new(config.max_files),
            knowledge: Knowledge::new(&config),
            motions: RealMotions::new(config.max_contexts / 4),
            contiguity: Contiguity::default(),
            endings: Endings::new(),
            clues: Clues::new(config.max_contexts / 2),
            places: PlaceCalibration::new(),
            quiet: QuietLine::default(),
            wait_trust: WaitTrust::default(),
            expected_wait: ExpectedWait::default(),
            clock: RunState {
                n_observed: 0,
                last_end_ns: None,
                last_data_function: first_function(),
            },
            predictions: Vec::new(),
            weighed: Vec::new(),
            place_cells: Vec::new(),
            stated: 0.0,
            outlook: Box::default(),
            other_outlook: Box::default(),
            path: None,
            made_in_this_run: None,
            config,
        };
        oracle.grammar.push(START);
        oracle.prepare();
        oracle
    }

    /// Defines the frames of a call stack before an operation names it.
    pub fn define_context(&mut self, context: ContextId, frames: &str) {
        self.define_stack(context, StackId::of(frames));
    }

    /// The same, where it is known which call stack it is.
    pub fn define_stack(&mut self, context: ContextId, stack: StackId) {
        self.contexts.define(context, stack);
    }

    /// Whether the function was called with this call stack before.
    pub fn knows_stack(&self, stack: StackId, function: Function) -> bool {
        self.contexts.knows_stack(stack, function)
    }

    /// The symbol of calls of the function with this call stack, if there were any.
    pub fn symbol_at(&self, stack: StackId, function: Function) -> Option<ContextSymbol> {
        self.contexts.at_stack(stack, function).map(ContextSymbol)
    }

    /// Whether the stream has come back to a symbol after others had come.
    pub fn recurs(&self, symbol: ContextSymbol) -> bool {
        self.grammar.recurs(symbol.0)
    }

    /// Whether an operation does what has held for all operations of a symbol, if
    /// anything has: one size, contiguous, in the file of the operation before it.
    pub fn keeps_habits(&self, symbol: ContextSymbol, operation: &Operation) -> bool {
        let Some(known) = self.knowledge.symbols.get(symbol.0 as usize) else { return true };
        let file = self.files.by_source(operation.file);
        if known.file.is_none() && file != Some(self.motions.now.file) {
            return false;
        }
        if !operation.access().is_data() {
            return true;
        }
        let end = file.map_or(0, |file| self.motions.file(file).end);
        let is_cut_short = operation.requested.is_some_and(|asked| asked > operation.size);
        (known.offset.is_some() || operation.offset.is_none_or(|offset| offset == end))
            && (is_cut_short || known.size.is_usual(operation.size))
    }

    /// The call stack of a symbol.
    pub fn stack_of(&self, symbol: ContextSymbol) -> Option<StackId> {
        self.contexts.stack(symbol.0)
    }

    /// Defines the path of a file before an operation names it.
    pub fn define_file(&mut self, file: FileId, path: &str) {
        self.files.define(file, path);
    }

    /// Says how long a file is that the next operation uses for the first time, as
    /// the system says when it opens one.
    pub fn announce_size(&mut self, file: FileId, bytes: u64) {
        if self.config.improvements.sizes_at_open {
            self.files.announce_size(file, bytes);
        }
    }

    /// Whether the frames of a call stack were given.
    pub fn knows_context(&self, context: ContextId) -> bool {
        self.contexts.knows(context)
    }

    /// Whether the path of a file need not be given (again).
    pub fn knows_file(&self, file: FileId) -> bool {
        self.files.knows(file)
    }

    /// A new run of the program begins: the source numbers its contexts and
    /// files anew, nothing is open, time starts again. What was learned stays,
    /// and how the last run began is what is expected now. Where nothing came
    /// since the last beginning, that one stands.
    pub fn begin_run(&mut self) {
        self.end_path();
        self.made_in_this_run = (self.clock.n_observed > 0).then(Steps::default);
        self.contexts.begin_run();
        self.files.begin_run();
        self.motions.begin_run();
        self.contiguity.begin_run();
        self.endings.begin_run();
        self.clues.begin_run();
        self.places.begin_run();
        self.knowledge.openers.values_mut().for_each(Opener::begin_run);
        if self.clock.last_end_ns.take().is_some() {
            self.grammar.begin_anew();
            self.grammar.push(START);
        }
        self.prepare();
    }

    /// Says how many of the operations learned are to be counted, where the
    /// others are counted elsewhere: this oracle began as a copy of another.
    pub fn count_operations(&mut self, n_operations: u64) {
        self.clock.n_observed = n_operations;
    }

    /// Takes in a call that is no operation and has ended: it may tell what comes
    /// next. `stack` is its call stack, and `path` that of its file, as far as the
    /// source gave them. True if predictions have been made anew.
    pub fn notice(&mut self, clue: &Clue, stack: Option<StackId>, path: Option<&str>) -> bool {
        if !self.config.improvements.clues {
            return false;
        }
        let stack = stack.map_or(u64::from(clue.context.0), |stack| stack.0);
        let function = (u64::from(u16::from(clue.function)) << 1) | u64::from(clue.failed);
        let path = path.filter(|_| clue.by_path);
        let has_new_name = self.clues.notice(combine(stack, function), path);
        let file = self.files.by_source(clue.file);
        if let (Some(file), Some(position)) = (file, clue.position) {
            self.motions.file_mut(file).sought = Some(position);
        }
        let now = &mut self.motions.now;
        let is_other_file = has_new_name || now.hinted != file.unwrap_or(NONE);
        (now.hinted, now.opens_since_hint) = (file.unwrap_or(NONE), 0);
        // Most calls change nothing about what is predicted.
        let has_position = clue.position.is_some();
        let moves = |stated: &Prediction| match self.knowledge.symbols.get(stated.symbol.0 as usize)
        {
            Some(known) => {
                is_other_file && known.file.is_some() || has_position && known.offset.is_some()
            }
            None => has_new_name,
        };
        let is_moved = self.predictions.iter().any(moves);
        if !is_moved {
            self.weigh_by_grammar();
            if !self.clues.has_changed(&self.weighed) {
                return false;
            }
        }
        self.prepare();
        true
    }

    /// Takes back that calls have come since the last operation, for an operation that
    /// may have begun before them.
    pub fn forget_clues(&mut self) {
        if !self.clues.forget() {
            return;
        }
        if let Some(file) = self.motions.files.get_mut(self.motions.now.hinted as usize) {
            file.sought = None;
        }
        self.motions.now.forget_hints();
        self.prepare();
    }

    /// Learns from the operation that came, and prepares the next predictions.
    pub fn observe(&mut self, operation: &Operation) {
        let n_known = self.knowledge.symbols.len();
        let symbol = self.symbol_for(operation);
        let known_symbol = (n_known > symbol as usize).then_some(symbol);
        let known_file = self.files.by_source(operation.file);
        let known_file = known_file.or_else(|| self.renamed_file(known_symbol, operation.file));
        let file = self.files.use_file(known_file, operation.file, &mut self.motions);
        self.learn_place(known_symbol, file, operation);
        let interarrival_ns =
            self.clock.last_end_ns.map(|end_ns| operation.start_ns.saturating_sub(end_ns));
        let mut step = Move {
            symbol,
            access: operation.access(),
            file,
            offset: operation.offset,
            size: operation.size,
            requested: operation.requested.filter(|_| self.config.improvements.ends_of_files),
            is_cut_short: false,
            append: operation.append,
            truncated_to: operation.truncated_to,
            after_quiet: interarrival_ns.is_some_and(|ns| self.quiet.is_quiet(ns)),
        };
        step.is_cut_short = self.is_cut_short(&step);
        if let Some(interarrival_ns) = interarrival_ns {
            let stated_ns = self.predictions.first().map_or(0, |first| first.interarrival_ns);
            self.wait_trust.learn(self.expected_wait, stated_ns, interarrival_ns);
            self.knowledge.transitions.learn(&self.motions, symbol, interarrival_ns);
            self.quiet.learn(interarrival_ns);
        }
        if let Some(steps) = self.made_in_this_run.as_mut().filter(|it| it.len() < MAX_STEPS) {
            steps.insert((self.motions.now.symbol, symbol));
        }
        if known_symbol.is_none() && self.config.improvements.clues {
            let is_same = file == self.motions.now.file;
            self.clues.learn_new_file(is_same, self.named_since(), self.files.name(file));
        }
        let names = self.expected_names(symbol);
        self.knowledge.learn(&self.motions, &step, &names, &mut self.outlook);
        self.learn_name(&step);
        let io_time_ns = operation.end_ns.saturating_sub(operation.start_ns);
        self.knowledge.symbols[symbol as usize].io_time.learn(io_time_ns, [None; 3]);
        self.motions.advance(&step);
        if self.config.improvements.ends_decide {
            self.endings.learn(symbol);
            if matches!(step.access, Access::Read | Access::Open) {
                self.endings.advance(&step, self.motions.file(file));
            }
        }
        if self.config.improvements.clues {
            self.clues.learn(symbol, known_symbol.is_none());
        }
        self.contiguity.learn(operation);
        self.contiguity.advance(symbol, operation);
        self.clock.n_observed += 1;
        self.clock.last_end_ns = Some(operation.end_ns);
        if step.access.is_data() {
            self.clock.last_data_function = operation.function;
        }
        self.grammar.push(symbol);
        self.prepare();
    }

    /// The context symbol of an operation, if it was seen before.
    pub fn symbol_of(&self, operation: &Operation) -> Option<ContextSymbol> {
        self.symbol_in(operation.context, operation.function)
    }

    /// The same for a call of a function from a call stack.
    pub fn symbol_in(&self, context: ContextId, function: Function) -> Option<ContextSymbol> {
        self.contexts.get(context, function).map(ContextSymbol)
    }

    /// What may come next, the most probable first. Never empty: where the
    /// known symbols leave probability over, the rest goes to any new symbol
    /// ([`ContextSymbol::UNSEEN`]) in the same file, contiguous, at once.
    pub fn predict(&self) -> &[Prediction] {
        &self.predictions
    }

    /// Reads on from the `first`-th prediction, any distance ahead; the first
    /// item is that prediction. The probabilities of each are those of the whole
    /// path up to it. Nothing comes after an operation of an unseen symbol.
    pub fn ahead(&self, first: usize) -> impl Iterator<Item = Prediction> + '_ {
        let candidate = self.predictions.get(first).and_then(candidate_of);
        let known = candidate.into_iter().flat_map(|it| self.grammar.ahead_from(it));
        let mut supposed = Supposed::new(self);
        let path =
            known.map_while(move |step| supposed.step(self, step.terminal, step.probability));
        // The first step is what was predicted, also where it was put elsewhere.
        let stated = self.predictions.get(first).cloned();
        stated.into_iter().chain(path.skip(1))
    }

    /// Begins a path that is read on with [`read_on`](Self::read_on) while
    /// operations come, as long as they are those of the path. Its first step is
    /// what was predicted first, which this gives; `None` if there is nothing
    /// that could be read on from.
    pub fn begin_path(&mut self) -> Option<Prediction> {
        self.end_path();
        let stated = self.predictions.first()?.clone();
        let candidate = candidate_of(&stated)?;
        self.grammar.begin_reading(candidate);
        self.path = Some(Box::new(Supposed::new(self)));
        self.read_on().map(|_| stated)
    }

    /// The next step of that path, from the end of the one before it: how long
    /// after it, and how probable it is once that one has come. `None` if the
    /// path ends here.
    pub fn read_on(&mut self) -> Option<Prediction> {
        let mut path = self.path.take()?;
        path.count_from_here();
        let step = self.grammar.read_on();
        let prediction = step.and_then(|step| path.step(self, step.terminal, step.probability));
        self.path = Some(path);
        prediction
    }

    /// An operation has come that the path had predicted; false if it has to
    /// begin anew all the same.
    pub fn keep_path(&mut self) -> bool {
        let Some(mut path) = self.path.take() else { return false };
        let is_kept = path.keep_up(self);
        self.path = is_kept.then_some(path);
        is_kept
    }

    /// Ends that path.
    pub fn end_path(&mut self) {
        self.grammar.end_reading();
        self.path = None;
    }

    /// Whether `to` follows `from` at once, after a predictable time, or after
    /// one that depends on what cannot be seen; `None` if it never did.
    pub fn interarrival_class(&self, from: ContextSymbol, to: ContextSymbol) -> Option<TimeClass> {
        let transition = Transition { from: from.0, to: to.0 };
        self.knowledge.transitions.get(transition).map(TimeStatistics::class)
    }

    /// Distinct context symbols seen.
    pub fn symbols(&self) -> usize {
        self.knowledge.symbols.len()
    }

    /// Symbols that always had one size.
    pub fn one_size_symbols(&self) -> usize {
        self.knowledge.symbols.iter().filter(|symbol| symbol.size.is_constant()).count()
    }

    /// The grammar of context symbols.
    pub fn grammar(&self) -> &StarSequitur {
        &self.grammar
    }

    /// Bytes that the whole model occupies.
    pub fn memory_bytes(&self) -> usize {
        self.grammar.memory_bytes()
            + self.contexts.memory_bytes()
            + self.files.memory_bytes()
            + self.knowledge.memory_bytes()
            + self.contiguity.memory_bytes()
            + self.endings.memory_bytes()
            + self.clues.memory_bytes()
            + self.places.memory_bytes()
            + self.motions.symbols.capacity() * size_of::<SymbolMotion>()
            + self.motions.roles.memory_bytes()
            + self.predictions.capacity() * size_of::<Prediction>()
    }

    fn symbol_for(&mut self, operation: &Operation) -> u32 {
        let symbol = self.contexts.get_or_add(operation.context, operation.function);
        if symbol as usize == self.knowledge.symbols.len() {
            self.knowledge.add_symbol(operation.function);
            self.motions.add_symbol(self.contexts.tag(symbol));
        }
        symbol
    }

    /// Whether a read got less than it asked for, and nothing else can be learned
    /// from that. Where requests vary, they may follow what is left of the file.
    fn is_cut_short(&mut self, step: &Move) -> bool {
        if step.access != Access::Read {
            return false;
        }
        let known = &mut self.knowledge.symbols[step.symbol as usize];
        if let Some(requested) = step.requested {
            known.request.learn(requested);
        }
        let varies = step.requested.is_some() && known.request.varies();
        // The first read is taken as it is: its request may follow the length of the
        // file, and then the next one asks for something else.
        known.size.is_known() && !varies && self.motions.file(step.file).cuts_short(step)
    }

    /// The file of earlier runs that a new one of the source must be: the one that has
    /// its name but for what is called otherwise in this run, or the one that was
    /// expected in its place.
    #[cold]
    fn renamed_file(&mut self, symbol: Option<u32>, source: FileId) -> Option<u32> {
        if !self.config.improvements.renamed_files || self.files.is_first_run() {
            return None;
        }
        if let Some(file) = self.files.restore(source, &mut self.motions) {
            return Some(file);
        }
        let file = match (self.files.renamed(source), symbol) {
            (Some(file), _) => file,
            (None, Some(symbol)) => {
                let names = self.expected_names(symbol);
                let outlook = &mut self.other_outlook;
                let expected = self.knowledge.expect(&self.motions, symbol, names, outlook)?;
                expected.file
            }
            (None, None) => return None,
        };
        if !self.files.is_of_earlier_runs(file) {
            return None;
        }
        self.files.rename(file, source, &mut self.motions);
        self.files.by_source(source)
    }

    /// The files that the next operation of `symbol` may name.
    fn expected_names(&self, symbol: u32) -> ExpectedNames {
        if !self.may_name(symbol) {
            return ExpectedNames::default();
        }
        let opener = self.knowledge.openers.get(&symbol);
        self.names_by(opener, &self.motions, symbol, |file| self.files.name(file), |_| None)
    }

    /// Whether operations of this symbol may name a file: opens do, and whoever
    /// has used a file that nobody had opened and does not keep to one.
    pub(crate) fn may_name(&self, symbol: u32) -> bool {
        let has_named = |known: &SymbolKnowledge| known.file.is_some() && known.names_files;
        let known = self.knowledge.symbols.get(symbol as usize);
        self.config.improvements.name_templates
            && (self.always_names(symbol) || known.is_some_and(has_named))
    }

    /// Whether all operations of this symbol name a file.
    fn always_names(&self, symbol: u32) -> bool {
        let known = self.knowledge.symbols.get(symbol as usize);
        known.is_some_and(|known| self.config.naming.is_by(known.function.access()))
    }

    /// The same by what an opener has seen, where files of this path that are
    /// not known have names and numbers too.
    pub(crate) fn names_by<'a>(
        &self,
        opener: Option<&Opener>,
        motions: &impl Motions,
        symbol: u32,
        name_of: impl Fn(u32) -> Option<&'a str>,
        supposed: impl Fn(&str) -> Option<u32>,
    ) -> ExpectedNames {
        let numbered = |name: String| {
            let files = &self.files;
            let file = files.by_name(&name).or_else(|| supposed(&name));
            match file.or_else(|| files.by_former_name(&name)) {
                Some(file) => ExpectedName { file, name },
                None => ExpectedName { file: NONE, name: files.name_now(&name).unwrap_or(name) },
            }
        };
        let companion = name_of(self.companion(motions));
        let next = opener.and_then(|opener| {
            if self.always_names(symbol) {
                return opener.expect(companion);
            }
            opener.upcoming().map(str::to_string)
        });
        let neighbour = match self.config.naming {
            Naming::Opens => None,
            Naming::All => name_of(motions.now().file)
                .zip(name_of(motions.symbol(symbol).file))
                .and_then(|(last, own)| neighbour(last, own)),
        };
        let mut names = [next, neighbour, None, None, None, None, None];
        if self.config.improvements.clues && self.config.naming == Naming::Opens {
            let is_heeded = motions.now().heeds_hints();
            let mut hints = self.clues.names().filter(|name| is_heeded && !name.is_empty());
            let hint = hints.next();
            names[2] = hint.map(str::to_string);
            names[3] = hints.next().map(str::to_string);
            let last = name_of(motions.symbol(symbol).file);
            names[4] = last.and_then(|last| self.clues.name_after(last)).map(str::to_string);
            let made = |from: Option<&str>, origin| {
                let own = opener.and_then(|opener| opener.made.expect(origin, from?));
                own.or_else(|| self.knowledge.made.expect(origin, from?))
            };
            names[5] = made(hint, NameOrigin::Hint);
            names[6] = made(companion, NameOrigin::Companion);
        }
        ExpectedNames::new(names.map(|name| name.map(numbered)))
    }

    /// The file that was named last, by any symbol.
    pub(crate) fn companion(&self, motions: &impl Motions) -> u32 {
        match self.config.naming {
            Naming::Opens => motions.now().opened[0],
            Naming::All => motions.now().file,
        }
    }

    fn learn_name(&mut self, step: &Move) {
        let is_first_use = self.motions.file(step.file).n_open == 0;
        if !self.config.learns_names_of(step.access, is_first_use) {
            return;
        }
        let Some(name) = self.files.name(step.file) else { return };
        self.knowledge.symbols[step.symbol as usize].names_files = true;
        let companion = self.files.name(self.companion(&self.motions));
        let opener = self.knowledge.openers.entry(step.symbol).or_default();
        opener.learn(name, companion, self.files.former_name(step.file));
        if self.config.improvements.clues {
            let hint = self.clues.names().next();
            for (origin, from) in [(NameOrigin::Hint, hint), (NameOrigin::Companion, companion)] {
                opener.made.learn(origin, from, name);
                self.knowledge.made.learn(origin, from, name);
            }
        }
        if !self.config.naming.is_by(step.access) {
            opener.prepare();
        }
    }

    /// Takes in whether what was stated of this symbol, `None` for one never seen,
    /// named the file and offset of the operation that came.
    fn learn_place(&mut self, symbol: Option<u32>, file: u32, operation: &Operation) {
        let stated_symbol = symbol.map_or(ContextSymbol::UNSEEN, ContextSymbol);
        let mut predictions = self.predictions.iter().zip(&self.place_cells).enumerate();
        let found = predictions.find(|(_, (it, _))| it.symbol == stated_symbol);
        let Some((rank, (stated, cell))) = found else {
            return self.places.learn_stated(self.stated, false);
        };
        let is_file = match &stated.file {
            PredictedFile::Known(id) => *id == operation.file,
            PredictedFile::New(name) => self.files.name(file) == Some(name),
        };
        let is_right = is_file && stated.offset == operation.offset;
        self.places.learn_stated(self.stated, rank == 0 && is_right);
        self.places.learn(symbol, *cell, is_right);
    }

    /// Turns what the trackers claim of places into probabilities of operations
    /// and places together.
    fn calibrate_places(&mut self, predictions: &mut [Prediction]) {
        self.place_cells.clear();
        for prediction in &mut *predictions {
            let symbol = prediction.symbol;
            let symbol = (symbol != ContextSymbol::UNSEEN).then_some(symbol.0);
            let cell = self.places.cell(symbol, prediction.probability);
            let there = self.places.probability(cell);
            prediction.probability = prediction.operation_probability * there;
            self.place_cells.push(cell);
        }
        if let Some(first) = predictions.first_mut() {
            self.stated = first.probability as f32;
            if self.config.improvements.stated_together {
                let corrected = self.places.corrected(self.stated);
                first.probability = corrected.min(first.operation_probability);
            }
        }
    }

    /// What part of the probability of the first prediction was left when it was
    /// corrected by how often such statements held.
    pub(crate) fn doubt_of_first(&self) -> f64 {
        let stated = f64::from(self.stated);
        let corrected = self.predictions.first().map_or(stated, |first| first.probability);
        if corrected < stated { corrected / stated } else { 1.0 }
    }

    /// The candidates of the grammar, weighed by where the last operation has left its
    /// file.
    fn weigh_by_grammar(&mut self) {
        self.weighed.clear();
        self.weighed.extend(self.grammar.next().iter().take(self.config.max_predictions));
        self.endings.weigh(&mut self.weighed);
    }

    /// Makes the predictions that [`predict`](Self::predict) gives.
    pub(crate) fn prepare(&mut self) {
        let mut predictions = std::mem::take(&mut self.predictions);
        predictions.clear();
        let mut left = 1.0;
        self.outlook.forget();
        self.expected_wait = ExpectedWait::default();
        self.weigh_by_grammar();
        let mut weighed = std::mem::take(&mut self.weighed);
        self.clues.weigh(&mut weighed);
        for (i, &Candidate { terminal: symbol, probability }) in weighed.iter().enumerate() {
            let names = self.expected_names(symbol);
            let outlook = if i == 0 { &mut self.outlook } else { &mut self.other_outlook };
            let expected = self.knowledge.expect(&self.motions, symbol, names, outlook);
            if let Some(mut expected) = expected {
                let new_name = expected.new_name.take();
                let source = self.source(self.motions.now.symbol, symbol);
                let mut prediction = self.prediction(symbol, &expected, new_name, source);
                if self.config.improvements.trusted_waits {
                    let wait_ns = self.wait_trust.trusted(expected.wait);
                    (prediction.interarrival_ns, prediction.from_now_ns) = (wait_ns, wait_ns);
                }
                if i == 0 {
                    self.expected_wait = expected.wait;
                }
                left -= probability;
                prediction.operation_probability = probability;
                predictions.push(prediction);
            }
        }
        self.weighed = weighed;
        if left > 1e-9 {
            let unseen = Prediction { operation_probability: left, ..self.unseen() };
            let rank = predictions.partition_point(|known| known.operation_probability >= left);
            predictions.insert(rank, unseen);
        }
        self.contiguity.apply(&mut predictions);
        self.calibrate_places(&mut predictions);
        self.predictions = predictions;
    }

    /// Puts what is expected of a symbol into the words of a prediction. In the
    /// place of its probability stands what the trackers claim of its place.
    pub(crate) fn prediction(
        &self,
        symbol: u32,
        expected: &Expected,
        new_name: Option<String>,
        source: PredictionSource,
    ) -> Prediction {
        let known = &self.knowledge.symbols[symbol as usize];
        Prediction {
            symbol: ContextSymbol(symbol),
            function: known.function,
            file: self.predicted_file(expected.file, new_name),
            offset: expected.offset,
            size: expected.size,
            size_spread: known.size.spread(),
            offset_spread: known.offset.as_ref().map(|known| known.spread()).unwrap_or_default(),
            from_now_ns: expected.wait.interarrival_ns,
            interarrival_ns: expected.wait.interarrival_ns,
            interarrival_spread: expected.wait.spread,
            io_time_ns: expected.io_time_ns,
            io_time_spread: known.io_time.spread(),
            probability: expected.file_certainty * expected.offset_certainty,
            operation_probability: 0.0,
            source,
        }
    }

    /// Whose experience it is that one symbol follows another.
    pub(crate) fn source(&self, from: u32, to: u32) -> PredictionSource {
        let is_made = |steps: &Steps| steps.len() >= MAX_STEPS || steps.contains(&(from, to));
        match self.made_in_this_run.as_ref().is_none_or(is_made) {
            true => PredictionSource::ThisRun,
            false => PredictionSource::Model,
        }
    }

    /// The file named since the last operation, and the one of a name made from that.
    fn named_since(&self) -> [Option<String>; 2] {
        let named = self.clues.name_since();
        let made = named.and_then(|name| self.knowledge.made.expect(NameOrigin::Hint, name));
        [named.map(str::to_string), made]
    }

    /// With nothing to go by: same file, contiguous, last size, no wait. If a file was
    /// named since the last operation, that may be opened.
    fn unseen(&self) -> Prediction {
        let file = self.motions.now.file;
        let known_file = self.motions.file(file);
        let is_read = self.clock.last_data_function.access() == Access::Read;
        let left = known_file.size.saturating_sub(known_file.end);
        let size = match is_read && known_file.size_known && left > 0 {
            true => self.motions.now.size.min(left),
            false => self.motions.now.size,
        };
        let unseen = Prediction {
            symbol: ContextSymbol::UNSEEN,
            function: self.clock.last_data_function,
            file: self.predicted_file(file, None),
            offset: Some(known_file.end),
            size,
            size_spread: Spread::default(),
            offset_spread: Spread::default(),
            from_now_ns: 0,
            interarrival_ns: 0,
            interarrival_spread: Spread::default(),
            io_time_ns: 0,
            io_time_spread: Spread::default(),
            probability: 0.5,
            operation_probability: 1.0,
            source: PredictionSource::ThisRun,
        };
        let Some((name, rate)) = self.clues.new_file(self.named_since()) else { return unseen };
        let file = match self.files.by_name(&name) {
            Some(file) => self.predicted_file(file, None),
            None => PredictedFile::New(name),
        };
        let (function, offset, size) = (Function::Open, None, 0);
        Prediction { function, file, offset, size, probability: rate, ..unseen }
    }

    fn predicted_file(&self, file: u32, new_name: Option<String>) -> PredictedFile {
        match (new_name, self.files.source(file), self.files.name(file)) {
            (Some(name), _, _) => PredictedFile::New(name),
            (None, Some(source), _) => PredictedFile::Known(source),
            (None, None, Some(name)) => {
                let now = self.files.name_now(name);
                PredictedFile::New(now.unwrap_or_else(|| name.to_string()))
            }
            (None, None, None) => PredictedFile::Known(FileId::UNKNOWN),
        }
    }
}

/// What the grammar can read on from.
fn candidate_of(stated: &Prediction) -> Option<Candidate> {
    let is_known = stated.symbol != ContextSymbol::UNSEEN;
    let (terminal, probability) = (stated.symbol.0, stated.operation_probability);
    is_known.then_some(Candidate { terminal, probability })
}

/// Stands for a data access before the first was seen.
fn first_function() -> Function {
    let mut functions = Function::all();
    functions.find(|function| function.access().is_data()).expect("the table names data accesses")
}
