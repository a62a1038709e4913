// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the grammar does not determine of an event, column by column.
//!
//! Each column is coded relative to what is known by then: the file as that of the
//! handle, the offset from where the handle stands, what an open returned from the
//! handle, what a data call returned from what it asked for.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use ioracle_events::{Access, ContextId, Event, FileId, Function, Layer, StreamId};

use super::details::{DetailModel, DetailTemplates};
use super::number::{Magnitude, Number};
use super::range::{Chance, Coder};
use super::times::{CallClock, Precision, TimeModel};

/// Handles whose state is remembered; beyond that all are forgotten.
const MAX_HANDLES: usize = 1 << 16;

/// What the grammar is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EventSymbol {
    pub(crate) function: Function,
    pub(crate) context: u32,
    pub(crate) depth: u32,
}

/// A coder per kind of column, so that what is equal in two streams is equal
/// bytes.
#[derive(Debug)]
pub(crate) struct Coders<C> {
    pub(crate) shapes: C,
    pub(crate) offsets: C,
    pub(crate) files: C,
    pub(crate) times: C,
    pub(crate) order: C,
}

/// Whether events have numbers of their own, or follow from times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrder {
    Numbered,
    ByTime,
}

/// All that adapts.
#[derive(Debug)]
pub(crate) struct Columns {
    symbols: Vec<SymbolModel>,
    handles: HashMap<i64, Handle, RandomState>,
    files: Files,
    details: DetailTemplates,
    clock: CallClock,
    order: EventOrder,
    step: Number,
    last_sequence: u64,
    other: Others,
}

/// What is learned about one symbol.
#[derive(Clone, Debug)]
struct SymbolModel {
    handle: Number,
    requested: Number,
    result: Number,
    is_file_of_handle: Chance,
    file: Number,
    detail: DetailModel,
    offset: OffsetModel,
    time: TimeModel,
}

impl SymbolModel {
    fn new() -> SymbolModel {
        SymbolModel {
            handle: Number::new(),
            requested: Number::new(),
            result: Number::new(),
            is_file_of_handle: Chance::EVEN,
            file: Number::new(),
            detail: DetailModel::new(),
            offset: OffsetModel::new(),
            time: TimeModel::new(),
        }
    }
}

/// For numbers that nothing predicted, shared by all symbols.
#[derive(Debug)]
struct Others {
    handle: Magnitude,
    requested: Magnitude,
    result: Magnitude,
    file: Magnitude,
    offset: Magnitude,
    seek: Magnitude,
    step: Magnitude,
}

/// What the last call on a handle left.
#[derive(Clone, Copy, Debug, Default)]
struct Handle {
    /// Its place in the files of the block.
    file: usize,
    position: u64,
}

/// The files of a block, by the order in which they first came.
#[derive(Debug)]
struct Files {
    ids: Vec<u32>,
    places: HashMap<u32, usize, RandomState>,
    distance: Number,
    other: Magnitude,
}

impl Files {
    fn code<C: Coder>(&mut self, coder: &mut C, id: u32) {
        let last = self.ids.last().map_or(0, |id| i64::from(*id));
        let distance = self.distance.code(coder, &mut self.other, i64::from(id) - last);
        let id = last.wrapping_add(distance) as u32;
        self.places.insert(id, self.ids.len());
        self.ids.push(id);
    }
}

impl Columns {
    pub(crate) fn new(precision: Precision, order: EventOrder, first: First) -> Columns {
        Columns {
            symbols: Vec::new(),
            handles: HashMap::default(),
            files: Files {
                ids: Vec::new(),
                places: HashMap::default(),
                distance: Number::new(),
                other: Magnitude::new(),
            },
            details: DetailTemplates::new(),
            clock: CallClock::new(precision, first.start_ns),
            order,
            step: Number::new(),
            last_sequence: first.sequence,
            other: Others {
                handle: Magnitude::new(),
                requested: Magnitude::new(),
                result: Magnitude::new(),
                file: Magnitude::new(),
                offset: Magnitude::new(),
                seek: Magnitude::new(),
                step: Magnitude::new(),
            },
        }
    }

    /// Whether events have numbers of their own.
    pub(crate) fn is_numbered(&self) -> bool {
        self.order == EventOrder::Numbered
    }

    /// Whether the block should end.
    pub(crate) fn is_full(&self) -> bool {
        self.details.is_full()
    }

    /// Whether something was read that is impossible in an event.
    pub(crate) fn is_damaged(&self) -> bool {
        self.details.is_damaged()
    }

    /// Codes everything in an event except its symbol, which is the `number`-th of the
    /// block; its stream is left to the caller.
    pub(crate) fn code<C: Coder>(
        &mut self,
        coders: &mut Coders<C>,
        (number, symbol): (usize, EventSymbol),
        event: &Event,
    ) -> Event {
        while self.symbols.len() <= number {
            self.symbols.push(SymbolModel::new());
        }
        let Columns { symbols, handles, files, details, other, .. } = self;
        let model = &mut symbols[number];
        let shapes = &mut coders.shapes;
        let handle = model.handle.code(shapes, &mut other.handle, event.handle);
        let known = handles.get(&handle).copied();
        let place = model.code_file(coders, files, &mut other.file, known, event.file);
        let shapes = &mut coders.shapes;
        let requested = event.requested as i64;
        let requested = model.requested.code(shapes, &mut other.requested, requested) as u64;
        let detail = details.code(shapes, &mut model.detail, &event.detail);
        let position = known.unwrap_or_default().position;
        let offset =
            model.offset.code(&mut coders.offsets, &mut other.offset, position, event.offset);
        let about = Called { function: symbol.function, handle, requested, offset };
        let result = model.code_result(coders, other, about, event.result);
        let times = (event.start_ns, event.end_ns);
        let (start_ns, end_ns) =
            self.clock.code(&mut coders.times, &mut model.time, symbol.depth, times);
        let event = Event {
            stream: StreamId { rank: 0, thread: 0 },
            sequence: self.code_sequence(&mut coders.order, event.sequence),
            function: symbol.function,
            context: ContextId(symbol.context),
            file: FileId(self.files.ids[place]),
            handle,
            offset,
            requested,
            result,
            start_ns,
            end_ns,
            depth: symbol.depth,
            detail,
        };
        if self.handles.len() >= MAX_HANDLES {
            self.handles.clear();
        }
        let position = position_after(&event).unwrap_or(position);
        self.handles.insert(handle, Handle { file: place, position });
        event
    }

    fn code_sequence<C: Coder>(&mut self, coder: &mut C, sequence: u64) -> u64 {
        match self.order {
            EventOrder::Numbered => {
                let step = sequence.wrapping_sub(self.last_sequence) as i64;
                let step = self.step.code(coder, &mut self.other.step, step);
                self.last_sequence = self.last_sequence.wrapping_add(step as u64);
                self.last_sequence
            }
            EventOrder::ByTime => 0,
        }
    }
}

/// What is known about a call when its result is coded.
struct Called {
    function: Function,
    handle: i64,
    requested: u64,
    offset: Option<u64>,
}

impl SymbolModel {
    /// Codes a file; returns its index in the files of the block.
    fn code_file<C: Coder>(
        &mut self,
        coders: &mut Coders<C>,
        files: &mut Files,
        other: &mut Magnitude,
        handle: Option<Handle>,
        FileId(id): FileId,
    ) -> usize {
        let place = files.places.get(&id).copied().unwrap_or(files.ids.len());
        if let Some(Handle { file, .. }) = handle
            && coders.shapes.bit(&mut self.is_file_of_handle, place == file)
        {
            return file;
        }
        let place = self.file.code(&mut coders.shapes, other, place as i64);
        // One that is not known is the next one.
        let place = usize::try_from(place).unwrap_or(usize::MAX).min(files.ids.len());
        if place == files.ids.len() {
            files.code(&mut coders.files, id);
        }
        place
    }

    /// Codes what a call returned.
    fn code_result<C: Coder>(
        &mut self,
        coders: &mut Coders<C>,
        other: &mut Others,
        called: Called,
        result: i64,
    ) -> i64 {
        let Called { function, handle, requested, offset } = called;
        let expected = match (function.access(), function.layer()) {
            (Access::Open, Layer::Posix | Layer::Stdio) => handle,
            (Access::Read | Access::Write, Layer::Posix | Layer::Stdio) => requested as i64,
            (Access::Seek, _) => offset.unwrap_or_default() as i64,
            _ => 0,
        };
        // The target of a seek differs between ranks, like the offsets of calls.
        let (coder, other) = match function.access() {
            Access::Seek => (&mut coders.offsets, &mut other.seek),
            _ => (&mut coders.shapes, &mut other.result),
        };
        let beyond = self.result.code(coder, other, result.wrapping_sub(expected));
        expected.wrapping_add(beyond)
    }
}

/// The position of a handle after the call, if known.
fn position_after(event: &Event) -> Option<u64> {
    match event.function.access() {
        Access::Open => Some(event.offset.unwrap_or(0)),
        Access::Seek => u64::try_from(event.result).ok().or(event.offset),
        _ => event.offset.map(|offset| offset.wrapping_add(event.transferred())),
    }
}

/// What a block stores about its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct First {
    pub(crate) start_ns: u64,
    pub(crate) sequence: u64,
}

/// What is learned about the offsets of a symbol: whether a call begins where the last one
/// on the same handle ended, or at some distance from where the last one of the same
/// symbol began.
#[derive(Clone, Debug)]
struct OffsetModel {
    is_there: Chance,
    /// Whether the latest two went on where their handle stood, a bit each.
    past: usize,
    goes_on: [Chance; 4],
    distance: Number,
    last: u64,
}

impl OffsetModel {
    fn new() -> OffsetModel {
        OffsetModel {
            is_there: Chance::EVEN,
            past: 3,
            goes_on: [Chance::EVEN; 4],
            distance: Number::new(),
            last: 0,
        }
    }

    #[inline]
    fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        other: &mut Magnitude,
        position: u64,
        offset: Option<u64>,
    ) -> Option<u64> {
        if !coder.bit(&mut self.is_there, offset.is_some()) {
            return None;
        }
        let offset = offset.unwrap_or_default();
        let goes_on = coder.bit(&mut self.goes_on[self.past], offset == position);
        self.past = (self.past << 1 | usize::from(goes_on)) & 3;
        let found = if goes_on {
            position
        } else {
            let distance = offset.wrapping_sub(self.last) as i64;
            self.last.wrapping_add(self.distance.code(coder, other, distance) as u64)
        };
        self.last = found;
        Some(found)
    }
}
