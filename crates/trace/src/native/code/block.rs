// SPDX-License-Identifier: MIT OR Apache-2.0

//! A stretch of one stream, on its way to bytes and back.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use ioracle_events::{ContextId, Event, FileId, Function, StreamId};

use super::columns::{Coders, Columns, EventOrder, EventSymbol, First};
use super::number::{Magnitude, Number};
use super::range::{Coder, Decoder, Encoder};
use super::rules::{StoredExpansion, StoredRules};
use super::times::Precision;

/// The most events of a block. What models have learned ends with a block, so larger
/// blocks make smaller traces but need more memory.
pub(crate) const MAX_BLOCK_EVENTS: usize = 1 << 17;

/// Parts of a block whose bytes may be those of another block.
pub(crate) const N_SECTIONS: usize = 6;

/// The grammar; what calls were like; offsets; files; times; numbers.
pub(crate) type Sections = [Vec<u8>; N_SECTIONS];

/// Functions by the numbers that a trace gives them.
pub(crate) type Functions = HashMap<u16, Function>;

/// Takes the events of a block.
#[derive(Debug)]
pub(crate) struct BlockEncoder {
    numbers: HashMap<EventSymbol, u32, RandomState>,
    symbols: Vec<EventSymbol>,
    sequence: Vec<u32>,
    columns: Columns,
    coders: Coders<Encoder>,
}

impl BlockEncoder {
    pub(crate) fn new(precision: Precision, order: EventOrder, first: First) -> BlockEncoder {
        let coder = Encoder::new;
        BlockEncoder {
            numbers: HashMap::default(),
            symbols: Vec::new(),
            sequence: Vec::new(),
            columns: Columns::new(precision, order, first),
            coders: Coders {
                shapes: coder(),
                offsets: coder(),
                files: coder(),
                times: coder(),
                order: coder(),
            },
        }
    }

    pub(crate) fn n_events(&self) -> usize {
        self.sequence.len()
    }

    /// Whether no more events fit.
    pub(crate) fn is_full(&self) -> bool {
        self.sequence.len() >= MAX_BLOCK_EVENTS || self.columns.is_full()
    }

    /// Adds an event that begins no earlier than the one before.
    pub(crate) fn push(&mut self, event: &Event) {
        let symbol =
            EventSymbol { function: event.function, context: event.context.0, depth: event.depth };
        let next = self.symbols.len() as u32;
        let number = *self.numbers.entry(symbol).or_insert(next);
        if number == next {
            self.symbols.push(symbol);
        }
        self.sequence.push(number);
        self.columns.code(&mut self.coders, (number as usize, symbol), event);
    }

    pub(crate) fn finish(self) -> Sections {
        let mut grammar = Encoder::new();
        let number = |symbol: &EventSymbol| StoredSymbol {
            function: u16::from(symbol.function).into(),
            context: symbol.context.into(),
            depth: symbol.depth.into(),
        };
        let symbols: Vec<StoredSymbol> = self.symbols.iter().map(number).collect();
        code_symbols(&mut grammar, &symbols, symbols.len());
        StoredRules::learn(&self.sequence).code(&mut grammar, symbols.len(), self.sequence.len());
        let Coders { shapes, offsets, files, times, order } = self.coders;
        [grammar, shapes, offsets, files, times, order].map(Encoder::finish)
    }
}

/// A symbol as the numbers that are stored of it.
#[derive(Clone, Copy, Debug, Default)]
struct StoredSymbol {
    function: i64,
    context: i64,
    depth: i64,
}

/// Codes the table of symbols; `None` if there would be more than `at_most`.
fn code_symbols<C: Coder>(
    coder: &mut C,
    symbols: &[StoredSymbol],
    at_most: usize,
) -> Option<Vec<StoredSymbol>> {
    let (mut function, mut context, mut depth) = (Number::new(), Number::new(), Number::new());
    let mut others = [Magnitude::new(), Magnitude::new(), Magnitude::new()];
    let n_symbols = Magnitude::new().code(coder, symbols.len() as u64, 64);
    let n_symbols = usize::try_from(n_symbols).ok().filter(|&n| n <= at_most)?;
    let mut found = Vec::new();
    for place in 0..n_symbols {
        let said = symbols.get(place).copied().unwrap_or_default();
        found.push(StoredSymbol {
            function: function.code(coder, &mut others[0], said.function),
            context: context.code(coder, &mut others[1], said.context),
            depth: depth.code(coder, &mut others[2], said.depth),
        });
    }
    Some(found)
}

/// Why a block is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockFault(pub(crate) &'static str);

/// Gives the events of a block.
#[derive(Debug)]
pub(crate) struct BlockEvents {
    symbols: Vec<EventSymbol>,
    expansion: StoredExpansion,
    columns: Columns,
    coders: Coders<Decoder>,
    /// The value passed where a writer would pass a real one.
    nothing: Event,
    previous_start_ns: u64,
    is_cut: bool,
}

impl BlockEvents {
    /// The events of a block whose end was cut off, up to the first that
    /// depends on what is missing. `is_whole` says which sections are all there.
    pub(crate) fn of_cut(
        sections: Sections,
        is_whole: [bool; N_SECTIONS],
        n_events: usize,
        about: (Precision, EventOrder, First),
        functions: &Arc<Functions>,
    ) -> Result<BlockEvents, BlockFault> {
        // Without its grammar nothing is known about a block.
        if !is_whole[0] {
            return Err(BlockFault("it is cut off within its grammar"));
        }
        let mut whole = is_whole.into_iter();
        let decoders = sections.map(|bytes| match whole.next() {
            Some(true) => Decoder::new(bytes),
            _ => Decoder::cut(bytes),
        });
        let block = BlockEvents::read(decoders, n_events, about, functions)?;
        Ok(BlockEvents { is_cut: true, ..block })
    }

    /// The events of a block of `n_events`, which is not trusted until the grammar
    /// agrees.
    pub(crate) fn new(
        sections: Sections,
        n_events: usize,
        about: (Precision, EventOrder, First),
        functions: &Arc<Functions>,
    ) -> Result<BlockEvents, BlockFault> {
        BlockEvents::read(sections.map(Decoder::new), n_events, about, functions)
    }

    fn read(
        decoders: [Decoder; N_SECTIONS],
        n_events: usize,
        (precision, order, first): (Precision, EventOrder, First),
        functions: &Arc<Functions>,
    ) -> Result<BlockEvents, BlockFault> {
        let [mut grammar, shapes, offsets, files, times, order_bytes] = decoders;
        if n_events > MAX_BLOCK_EVENTS {
            return Err(BlockFault("it says that it holds more events than a block can"));
        }
        let stored = code_symbols(&mut grammar, &[], n_events)
            .ok_or(BlockFault("it has more symbols than events"))?;
        let symbol = |stored: &StoredSymbol| {
            Some(EventSymbol {
                function: *functions.get(&u16::try_from(stored.function).ok()?)?,
                context: stored.context.try_into().ok()?,
                depth: stored.depth.try_into().ok()?,
            })
        };
        let symbols: Vec<EventSymbol> = stored
            .iter()
            .map(symbol)
            .collect::<Option<_>>()
            .ok_or(BlockFault("it names a function that is not defined"))?;
        let rules = StoredRules::default()
            .code(&mut grammar, symbols.len(), n_events)
            .ok_or(BlockFault("its grammar does not derive its events"))?;
        Ok(BlockEvents {
            symbols,
            expansion: StoredExpansion::new(rules),
            columns: Columns::new(precision, order, first),
            coders: Coders { shapes, offsets, files, times, order: order_bytes },
            nothing: nothing(functions)?,
            previous_start_ns: 0,
            is_cut: false,
        })
    }

    /// Whether what was read last may depend on bytes that were cut off.
    fn is_beyond_cut(&self) -> bool {
        let Coders { shapes, offsets, files, times, order } = &self.coders;
        // Numbers are read only where events have some of their own.
        let order = Some(order).filter(|_| self.columns.is_numbered());
        self.is_cut
            && [shapes, offsets, files, times].into_iter().chain(order).any(Decoder::is_beyond_cut)
    }

    fn check(&mut self, event: &Event) -> Result<(), BlockFault> {
        const MOST: u64 = i64::MAX as u64;
        let is_number = |number: u64| number <= MOST;
        let are_numbers = event.offset.is_none_or(is_number)
            && [event.requested, event.end_ns, event.sequence].into_iter().all(is_number)
            && event.handle > i64::MIN
            && event.result > i64::MIN;
        if !are_numbers {
            return Err(BlockFault("a number in it is out of range"));
        }
        if event.end_ns < event.start_ns || event.start_ns < self.previous_start_ns {
            return Err(BlockFault("time runs backwards in it"));
        }
        if self.columns.is_damaged() {
            return Err(BlockFault("a text in it is none"));
        }
        self.previous_start_ns = event.start_ns;
        Ok(())
    }
}

fn nothing(functions: &Functions) -> Result<Event, BlockFault> {
    let function = functions.values().next().ok_or(BlockFault("no functions are defined"))?;
    Ok(Event {
        stream: StreamId { rank: 0, thread: 0 },
        sequence: 0,
        function: *function,
        context: ContextId(0),
        file: FileId(0),
        handle: 0,
        offset: None,
        requested: 0,
        result: 0,
        start_ns: 0,
        end_ns: 0,
        depth: 0,
        detail: "".into(),
    })
}

impl Iterator for BlockEvents {
    type Item = Result<Event, BlockFault>;

    fn next(&mut self) -> Option<Result<Event, BlockFault>> {
        let number = self.expansion.next()? as usize;
        let symbol = self.symbols[number];
        let event = self.columns.code(&mut self.coders, (number, symbol), &self.nothing);
        if self.is_beyond_cut() {
            return None;
        }
        Some(self.check(&event).map(|()| event))
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::Layer;
    use proptest::prelude::*;

    use super::*;

    const EXACT: Precision = Precision { unit_ns: 1, n_kept: 64 };
    const MICROSECOND: Precision = Precision { unit_ns: 1000, n_kept: 64 };
    const PERCENT: Precision = Precision { unit_ns: 1, n_kept: 7 };

    fn functions() -> Arc<Functions> {
        Arc::new(Function::all().map(|function| (function.into(), function)).collect())
    }

    fn first(precision: Precision, events: &[Event]) -> First {
        let Event { start_ns, sequence, .. } = events[0];
        First { start_ns: start_ns / precision.unit_ns * precision.unit_ns, sequence }
    }

    fn encode(precision: Precision, events: &[Event]) -> Sections {
        let mut block =
            BlockEncoder::new(precision, EventOrder::Numbered, first(precision, events));
        events.iter().for_each(|event| block.push(event));
        block.finish()
    }

    fn decode(precision: Precision, events: &[Event]) -> Vec<Event> {
        let sections = encode(precision, events);
        let head = (precision, EventOrder::Numbered, first(precision, events));
        let block = BlockEvents::new(sections, events.len(), head, &functions()).unwrap();
        block.collect::<Result<_, _>>().unwrap()
    }

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![Just(0), 0..5_i64, 0..100_000_i64, 0..=i64::MAX]
    }

    /// Levels may be skipped, for example if the enclosing call was not recorded.
    fn depth() -> impl Strategy<Value = u32> {
        prop_oneof![0..4_u32, 0..4_u32, Just(9999)]
    }

    /// Short and long ones mixed, so that what is cut off of a long one is more
    /// than a short one.
    fn span_ns() -> impl Strategy<Value = u64> {
        prop_oneof![0..3_u64, 0..3_000_000_u64, 0..10_000_000_000_000_u64]
    }

    prop_compose! {
        fn event()(
            function in prop::sample::select(Function::all().collect::<Vec<_>>()),
            (context, file, depth) in (0..4_u32, 0..5_u32, depth()),
            handle in prop_oneof![3..6_i64, -i64::MAX..=i64::MAX],
            offset in prop::option::of(number()),
            (requested, result) in (number(), prop_oneof![number(), Just(-1), Just(-i64::MAX)]),
            (gap, duration) in (span_ns(), span_ns()),
            detail in prop_oneof!["", "[a-c]{0,3}", "v start=[0-9]{1,4}:0 [0-9]{0,25}", "\\PC{0,9}"],
        ) -> Event {
            Event {
                stream: StreamId { rank: 0, thread: 0 },
                sequence: gap % 3 + 1,
                function,
                context: ContextId(context),
                file: FileId(file),
                handle,
                offset: offset.map(i64::unsigned_abs),
                requested: requested.unsigned_abs(),
                result,
                start_ns: gap,
                end_ns: duration,
                depth,
                detail: detail.into(),
            }
        }
    }

    /// Events whose gaps and durations have become times, those of nested calls
    /// too, which may or may not end within the ones around them.
    fn events() -> impl Strategy<Value = Vec<Event>> {
        prop::collection::vec(event(), 1..60).prop_map(|mut events| {
            let (mut now, mut sequence) = (5_000_000, 0);
            for event in &mut events {
                now += event.start_ns;
                sequence += event.sequence;
                event.sequence = sequence;
                event.start_ns = now;
                event.end_ns += now;
            }
            events
        })
    }

    proptest! {
        #[test]
        fn events_come_back_exactly(events in events()) {
            prop_assert_eq!(decode(EXACT, &events), events);
        }

        #[test]
        fn times_come_back_to_the_microsecond(mut events in events()) {
            let read = decode(MICROSECOND, &events);
            for event in &mut events {
                event.start_ns -= event.start_ns % 1000;
                event.end_ns -= event.end_ns % 1000;
            }
            prop_assert_eq!(read, events);
        }

        #[test]
        fn a_percent_off_in_any_trace_is_no_other_order(events in events()) {
            let read = decode(PERCENT, &events);
            let mut last_start_ns = 0;
            let mut around: Vec<(&Event, &Event)> = Vec::new();
            for (event, read) in events.iter().zip(&read) {
                prop_assert!(last_start_ns <= read.start_ns && read.start_ns <= read.end_ns);
                prop_assert!(read.start_ns <= event.start_ns && read.end_ns <= event.end_ns);
                around.retain(|(outer, _)| outer.depth <= event.depth);
                let sibling = around.pop_if(|(outer, _)| outer.depth == event.depth);
                let from = match (sibling, around.last()) {
                    (Some((_, sibling)), _) => sibling.end_ns,
                    (None, Some((_, outer))) => outer.start_ns,
                    (None, None) => last_start_ns,
                };
                // A percent of the distance, and of the calls that it is kept within.
                let cut_around = |time_ns| -> u64 {
                    let within = around.iter().filter(|(outer, _)| outer.end_ns >= time_ns);
                    within.map(|(outer, read)| (outer.end_ns - read.start_ns) / 100).sum()
                };
                let wait = event.start_ns.saturating_sub(from);
                let duration = event.end_ns - read.start_ns;
                let early = event.start_ns - read.start_ns;
                prop_assert!(early <= wait / 100 + cut_around(event.start_ns));
                let short = event.end_ns - read.end_ns;
                prop_assert!(short <= duration / 100 + cut_around(event.end_ns));
                for (outer, outer_read) in &around {
                    prop_assert!(event.start_ns > outer.end_ns || read.start_ns <= outer_read.end_ns);
                    prop_assert!(event.end_ns > outer.end_ns || read.end_ns <= outer_read.end_ns);
                }
                let Event { start_ns, end_ns, .. } = *event;
                prop_assert_eq!(&Event { start_ns, end_ns, ..read.clone() }, event);
                last_start_ns = read.start_ns;
                around.push((event, read));
            }
        }

        /// Calls one after the other, as those of a thread are that makes none
        /// inside another.
        #[test]
        fn waits_and_durations_come_back_to_a_percent(
            spans in prop::collection::vec((0..9_000_000_000_u64, 0..9_000_000_u64), 1..60)
        ) {
            let mut now = 0;
            let mut events = Vec::new();
            for (n, &(wait, duration)) in spans.iter().enumerate() {
                let start_ns = now + wait;
                now = start_ns + duration;
                events.push(simple(n as u64, start_ns, now));
            }
            let mut end_ns = 0;
            for (n, read) in decode(PERCENT, &events).iter().enumerate() {
                let Event { start_ns, end_ns: true_end, .. } = events[n];
                // A percent of the wait and the duration as a reader knows them.
                let wait = start_ns.saturating_sub(end_ns);
                prop_assert!(read.start_ns <= start_ns.max(end_ns));
                prop_assert!(start_ns.saturating_sub(read.start_ns) <= wait / 100 || n == 0);
                let duration = true_end - read.start_ns.min(true_end);
                prop_assert!(read.end_ns <= true_end.max(read.start_ns));
                prop_assert!(true_end.saturating_sub(read.end_ns) <= duration / 100);
                end_ns = read.end_ns;
            }
        }

        #[test]
        fn nested_calls_stay_nested_whatever_is_cut_off(
            depths in prop::collection::vec(0..3_u32, 1..60)
        ) {
            // Every call ends before the one that encloses it.
            let events: Vec<Event> = depths.iter().enumerate().map(|(n, &depth)| {
                let start_ns = 1_000_003 * n as u64;
                let inner = depths[n + 1..].iter().take_while(|inner| **inner > depth).count();
                let end_ns = start_ns + 1_000_003 * inner as u64 + 900_001 - 1000 * u64::from(depth);
                Event { depth, ..simple(n as u64, start_ns, end_ns) }
            }).collect();
            for precision in [PERCENT, MICROSECOND] {
                let mut around: Vec<Event> = Vec::new();
                for event in decode(precision, &events) {
                    around.retain(|outer| outer.depth < event.depth);
                    for outer in &around {
                        prop_assert!(outer.start_ns <= event.start_ns && event.end_ns <= outer.end_ns);
                    }
                    around.push(event);
                }
            }
        }

        #[test]
        fn any_bytes_are_events_or_a_fault(
            bytes in prop::collection::vec(any::<u8>(), 0..200), n_events in 0..500_usize
        ) {
            let mut parts = bytes.chunks(1 + bytes.len() / N_SECTIONS).map(<[u8]>::to_vec);
            let sections: Sections = std::array::from_fn(|_| parts.next().unwrap_or_default());
            let head = (EXACT, EventOrder::Numbered, First::default());
            if let Ok(block) = BlockEvents::new(sections, n_events, head, &functions()) {
                prop_assert!(block.count() <= n_events);
            }
        }
    }

    fn simple(sequence: u64, start_ns: u64, end_ns: u64) -> Event {
        Event {
            stream: StreamId { rank: 0, thread: 0 },
            sequence,
            function: Function::from_name(Layer::Posix, "write").unwrap(),
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: Some(4096 * sequence),
            requested: 4096,
            result: 4096,
            start_ns,
            end_ns,
            depth: 0,
            detail: "".into(),
        }
    }

    #[test]
    fn a_loop_of_writes_is_its_times_and_little_else() {
        let events: Vec<Event> =
            (0..20_000).map(|n| simple(n, 50_000 * n, 50_000 * n + 2000)).collect();
        let [grammar, shapes, offsets, files, _, order] =
            encode(EXACT, &events).map(|section| section.len());
        assert!(grammar + shapes + offsets + files + order < 100);
    }
}
