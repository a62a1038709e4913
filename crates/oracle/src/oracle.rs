// SPDX-License-Identifier: MIT OR Apache-2.0

//! The oracle of one stream.

use hashbrown::HashMap;
use ioracle_events::{
    Burst, ContextId, ContextSymbol, FileId, Function, Operation, PredictedFile, Prediction,
    Spread, WithinTime,
};
use ioracle_grammar::StarSequitur;

use crate::config::Config;
use crate::error::Error;

type Symbols = HashMap<(ContextId, Function), u32, std::hash::RandomState>;

/// Learns the operations of one stream and says what comes next.
#[derive(Clone, Debug)]
pub struct Oracle {
    grammar: StarSequitur,
    symbols: Symbols,
    functions: Vec<Function>,
    predictions: Vec<Prediction>,
}

impl Oracle {
    /// An oracle that knows nothing yet.
    pub fn new(config: Config) -> Oracle {
        Oracle {
            grammar: StarSequitur::new(config.grammar),
            symbols: Symbols::default(),
            functions: Vec::new(),
            predictions: Vec::new(),
        }
    }

    /// Tells the frames of a call stack before an operation names it.
    pub fn define_context(&mut self, _context: ContextId, _frames: &str) {}

    /// Tells the path of a file before an operation names it.
    pub fn define_file(&mut self, _file: FileId, _path: &str) {}

    /// Learns from the operation that came, and prepares the next predictions.
    pub fn observe(&mut self, operation: &Operation) {
        let n_symbols = self.symbols.len() as u32;
        let symbol =
            *self.symbols.entry((operation.context, operation.function)).or_insert(n_symbols);
        if symbol == n_symbols {
            self.functions.push(operation.function);
        }
        self.grammar.push(symbol);
        self.predictions.clear();
        for candidate in self.grammar.next() {
            self.predictions.push(Prediction {
                symbol: ContextSymbol(candidate.terminal),
                function: self.functions[candidate.terminal as usize],
                file: PredictedFile::Known(operation.file),
                offset: operation.end_offset(),
                size: operation.size,
                size_spread: Spread::default(),
                offset_spread: Spread::default(),
                from_now_ns: 0,
                interarrival_ns: 0,
                interarrival_spread: Spread::default(),
                io_time_ns: 0,
                io_time_spread: Spread::default(),
                probability: candidate.probability,
            });
        }
    }

    /// The context symbol of an operation, if it was seen before.
    pub fn symbol_of(&self, operation: &Operation) -> Option<ContextSymbol> {
        self.symbols.get(&(operation.context, operation.function)).map(|&s| ContextSymbol(s))
    }

    /// What may come next, the most probable first; never empty once an
    /// operation was observed.
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
        self.functions.len()
    }

    /// Symbols that always had one size.
    pub fn one_size_symbols(&self) -> usize {
        0
    }

    /// The grammar of context symbols.
    pub fn grammar(&self) -> &StarSequitur {
        &self.grammar
    }

    /// Bytes that the whole model occupies.
    pub fn memory_bytes(&self) -> usize {
        self.grammar.memory_bytes()
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
}
