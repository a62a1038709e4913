// SPDX-License-Identifier: MIT OR Apache-2.0

//! From the rows of `events.csv` to events: each row is checked alone, against the
//! tables, and against the rows around it.

use ioracle_events::{Event, FileId};

use crate::error::RowFault;
use crate::order::{Position, RowOrder, Undo};
use crate::row::{EventRow, FunctionNames};
use crate::trace::Trace;

/// Everything that a row is checked against.
///
/// When reading leniently, an event is returned only when the next row is known to fit
/// after it. Otherwise one row with a number far too large would make all later rows
/// seem late, so that they would be skipped instead of it.
pub(crate) struct Checks<'trace> {
    trace: &'trace Trace,
    /// The only rank whose events are returned, if there is one.
    rank: Option<u32>,
    functions: FunctionNames,
    order: RowOrder,
    /// The last good row, while its successor decides on it.
    held: Option<Held>,
}

struct Held {
    position: Position,
    /// `None` if another rank is wanted.
    event: Option<Event>,
    undo: Undo,
}

impl<'trace> Checks<'trace> {
    pub(crate) fn new(trace: &'trace Trace, rank: Option<u32>) -> Checks<'trace> {
        Checks {
            trace,
            rank,
            functions: FunctionNames::new(),
            order: RowOrder::default(),
            held: None,
        }
    }

    /// Takes the next row and gives the event that is now known to be good, if
    /// it is of the wanted rank. A fault costs exactly one row: this one or,
    /// when reading leniently, the one before it.
    pub(crate) fn check(&mut self, line: &[u8]) -> Result<Option<Event>, RowFault> {
        let row = EventRow::parse(line, &self.functions)?;
        if !self.trace.contexts().contains(row.context) {
            return Err(RowFault::UnknownStack { id: row.context.0 });
        }
        if row.file != FileId::UNKNOWN && !self.trace.files().contains(row.file) {
            return Err(RowFault::UnknownFile { id: row.file.0 });
        }
        let position = row.position;
        let is_wanted = self.rank.is_none_or(|rank| rank == position.stream.rank);
        let event = is_wanted.then(|| row.into_event());
        if self.trace.options().lenient {
            self.hold(position, event)
        } else {
            self.order.advance(position).map(|_| event)
        }
    }

    /// The event still held at the end of the table.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        self.held.take().and_then(|held| held.event)
    }

    /// The order of all rows so far.
    pub(crate) fn order(&self) -> &RowOrder {
        &self.order
    }

    /// Holds this event and returns the one held before. If they do not fit together,
    /// the one that fits after the row before both is kept.
    fn hold(
        &mut self,
        position: Position,
        event: Option<Event>,
    ) -> Result<Option<Event>, RowFault> {
        let fault = match self.order.advance(position) {
            Ok(undo) => {
                let held = self.held.replace(Held { position, event, undo });
                return Ok(held.and_then(|held| held.event));
            }
            Err(fault) => fault,
        };
        let Some(held) = self.held.take() else { return Err(fault) };
        self.order.undo(held.undo);
        if let Ok(undo) = self.order.advance(position) {
            self.held = Some(Held { position, event, undo });
        } else if let Ok(undo) = self.order.advance(held.position) {
            self.held = Some(Held { undo, ..held });
        }
        Err(fault)
    }
}
