// SPDX-License-Identifier: MIT OR Apache-2.0

//! The oracle of one stream.

use ioracle_events::{
    Access, Burst, ContextId, ContextSymbol, FileId, Function, Operation, PredictedFile,
    Prediction, Spread, WithinTime,
};
use ioracle_grammar::StarSequitur;

use crate::burst::QuietLine;
use crate::config::Config;
use crate::contexts::Contexts;
use crate::error::Error;
use crate::files::Files;
use crate::knowledge::{Expected, ExpectedName, Knowledge};
use crate::motion::{Motions, Move, NONE, RealMotions, SymbolMotion};

/// Learns the operations of one stream and says what comes next.
#[derive(Clone, Debug)]
pub struct Oracle {
    config: Config,
    grammar: StarSequitur,
    contexts: Contexts,
    files: Files,
    knowledge: Knowledge,
    motions: RealMotions,
    quiet: QuietLine,
    last_end_ns: Option<u64>,
    last_data_function: Function,
    predictions: Vec<Prediction>,
}

impl Oracle {
    /// An oracle that knows nothing yet.
    pub fn new(config: Config) -> Oracle {
        let mut oracle = Oracle {
            grammar: StarSequitur::new(config.grammar.clone()),
            contexts: Contexts::new(config.max_symbols),
            files: Files::new(config.max_files),
            knowledge: Knowledge::new(&config),
            motions: RealMotions::new(config.max_contexts / 4),
            quiet: QuietLine::default(),
            last_end_ns: None,
            last_data_function: first_function(),
            predictions: Vec::new(),
            config,
        };
        oracle.prepare();
        oracle
    }

    /// Tells the frames of a call stack before an operation names it.
    pub fn define_context(&mut self, context: ContextId, frames: &str) {
        self.contexts.define(context, frames);
    }

    /// Tells the path of a file before an operation names it.
    pub fn define_file(&mut self, file: FileId, path: &str) {
        self.files.define(file, path);
    }

    /// Learns from the operation that came, and prepares the next predictions.
    pub fn observe(&mut self, operation: &Operation) {
        let symbol = self.symbol_for(operation);
        let file = self.files.use_file(operation.file, &mut self.motions);
        let interarrival_ns =
            self.last_end_ns.map(|end_ns| operation.start_ns.saturating_sub(end_ns));
        let step = Move {
            symbol,
            access: operation.access(),
            file,
            offset: operation.offset,
            size: operation.size,
            append: operation.append,
            truncated_to: operation.truncated_to,
            after_quiet: interarrival_ns.is_some_and(|ns| self.quiet.is_quiet(ns)),
        };
        if let Some(interarrival_ns) = interarrival_ns {
            self.knowledge.transitions.learn(&self.motions, symbol, interarrival_ns);
            self.quiet.learn(interarrival_ns);
        }
        let named = self.expected_name(symbol);
        self.knowledge.learn(&self.motions, &step, named.as_ref());
        self.learn_name(&step);
        let io_time_ns = operation.end_ns.saturating_sub(operation.start_ns);
        self.knowledge.symbols[symbol as usize].io_time.learn(io_time_ns, [None; 3]);
        self.motions.advance(&step);
        self.last_end_ns = Some(operation.end_ns);
        if step.access.is_data() {
            self.last_data_function = operation.function;
        }
        self.grammar.push(symbol);
        self.prepare();
    }

    /// The context symbol of an operation, if it was seen before.
    pub fn symbol_of(&self, operation: &Operation) -> Option<ContextSymbol> {
        self.contexts.get(operation.context, operation.function).map(ContextSymbol)
    }

    /// What may come next, the most probable first. Never empty: where the
    /// known symbols leave probability over, the rest goes to any new symbol
    /// ([`ContextSymbol::UNSEEN`]) in the same file, contiguous, at once.
    pub fn predict(&self) -> &[Prediction] {
        &self.predictions
    }

    /// Reads on from the `first`-th prediction, any distance ahead.
    pub fn ahead(&self, first: usize) -> impl Iterator<Item = Prediction> + '_ {
        self.predictions.get(first).cloned().into_iter()
    }

    /// The next dense group of operations, once bursts can be told from quiet.
    pub fn next_burst(&self) -> Option<Burst> {
        None
    }

    /// Operations still expected before the present burst ends.
    pub fn operations_left_in_burst(&self) -> Option<u64> {
        None
    }

    /// The accesses expected within the next `span_ns` nanoseconds.
    pub fn within(&self, _span_ns: u64) -> WithinTime {
        WithinTime::default()
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
            + self.motions.symbols.capacity() * size_of::<SymbolMotion>()
            + self.motions.roles.memory_bytes()
            + self.predictions.capacity() * size_of::<Prediction>()
    }

    /// The whole model as bytes.
    pub fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The oracle that was saved as these bytes.
    pub fn load(_bytes: &[u8]) -> Result<Oracle, Error> {
        Err(Error::NotAModel)
    }

    /// Adds what another oracle has learned.
    pub fn merge(&mut self, _other: &Oracle) {}

    fn symbol_for(&mut self, operation: &Operation) -> u32 {
        let symbol = self.contexts.get_or_add(operation.context, operation.function);
        if symbol as usize == self.knowledge.symbols.len() {
            self.knowledge.add_symbol(operation.function);
            self.motions.symbols.push(SymbolMotion::default());
        }
        symbol
    }

    /// The file that the next open by `symbol` is expected to name.
    fn expected_name(&self, symbol: u32) -> Option<ExpectedName> {
        if !self.config.improvements.name_templates {
            return None;
        }
        let opener = self.knowledge.openers.get(&symbol)?;
        let name = opener.expect(self.files.name(self.motions.now.opened[0]))?;
        let file = self.files.by_name(&name).unwrap_or(NONE);
        Some(ExpectedName { file, name })
    }

    fn learn_name(&mut self, step: &Move) {
        if step.access != Access::Open || !self.config.improvements.name_templates {
            return;
        }
        let Some(name) = self.files.name(step.file) else { return };
        let companion = self.files.name(self.motions.now.opened[0]);
        self.knowledge.openers.entry(step.symbol).or_default().learn(name, companion);
    }

    /// Makes the predictions that [`predict`](Self::predict) gives.
    fn prepare(&mut self) {
        let mut predictions = std::mem::take(&mut self.predictions);
        predictions.clear();
        let mut left = 1.0;
        for candidate in self.grammar.next().iter().take(self.config.max_predictions) {
            let named = self.expected_name(candidate.terminal);
            let expected = self.knowledge.expect(&self.motions, candidate.terminal, named);
            if let Some(expected) = expected {
                let prediction = self.prediction(candidate.terminal, expected);
                left -= candidate.probability;
                predictions.push(Prediction { probability: candidate.probability, ..prediction });
            }
        }
        if left > 1e-9 {
            let unseen = Prediction { probability: left, ..self.unseen() };
            let rank = predictions.partition_point(|known| known.probability >= left);
            predictions.insert(rank, unseen);
        }
        self.predictions = predictions;
    }

    fn prediction(&self, symbol: u32, expected: Expected) -> Prediction {
        let known = &self.knowledge.symbols[symbol as usize];
        Prediction {
            symbol: ContextSymbol(symbol),
            function: known.function,
            file: self.predicted_file(expected.file, expected.new_name),
            offset: expected.offset,
            size: expected.size,
            size_spread: known.size.spread(),
            offset_spread: known.offset.as_ref().map(|known| known.spread()).unwrap_or_default(),
            from_now_ns: expected.interarrival_ns,
            interarrival_ns: expected.interarrival_ns,
            interarrival_spread: expected.interarrival_spread,
            io_time_ns: expected.io_time_ns,
            io_time_spread: known.io_time.spread(),
            probability: 0.0,
        }
    }

    /// With nothing to go by: same file, contiguous, last size, no wait.
    fn unseen(&self) -> Prediction {
        let file = self.motions.now.file;
        Prediction {
            symbol: ContextSymbol::UNSEEN,
            function: self.last_data_function,
            file: self.predicted_file(file, None),
            offset: Some(self.motions.file(file).end),
            size: self.motions.now.size,
            size_spread: Spread::default(),
            offset_spread: Spread::default(),
            from_now_ns: 0,
            interarrival_ns: 0,
            interarrival_spread: Spread::default(),
            io_time_ns: 0,
            io_time_spread: Spread::default(),
            probability: 1.0,
        }
    }

    fn predicted_file(&self, file: u32, new_name: Option<String>) -> PredictedFile {
        match (new_name, self.files.source(file), self.files.name(file)) {
            (Some(name), _, _) => PredictedFile::New(name),
            (None, Some(source), _) => PredictedFile::Known(source),
            (None, None, Some(name)) => PredictedFile::New(name.to_string()),
            (None, None, None) => PredictedFile::Known(FileId::UNKNOWN),
        }
    }
}

/// Stands for a data access before the first was seen.
fn first_function() -> Function {
    let mut functions = Function::all();
    functions.find(|function| function.access().is_data()).expect("the table names data accesses")
}
