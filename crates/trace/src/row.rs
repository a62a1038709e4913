// SPDX-License-Identifier: MIT OR Apache-2.0

//! A row of `events.csv`, checked as far as one row alone can be.

use std::collections::HashMap;

use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};

use crate::error::{RowFault, excerpt};
use crate::fields::Fields;
use crate::order::Position;

/// The first line of `events.csv`.
pub(crate) const HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail";
const N_COLUMNS: usize = 15;

/// An event whose `detail` still lies in the line.
#[derive(Debug)]
pub(crate) struct EventRow<'a> {
    pub(crate) position: Position,
    function: Function,
    pub(crate) context: ContextId,
    pub(crate) file: FileId,
    handle: i64,
    offset: Option<u64>,
    requested: u64,
    result: i64,
    end_ns: u64,
    depth: u32,
    detail: &'a str,
}

impl<'a> EventRow<'a> {
    pub(crate) fn parse(
        line: &'a [u8],
        functions: &FunctionNames,
    ) -> Result<EventRow<'a>, RowFault> {
        EventRow::parse_fields(line, functions).map_err(|fault| {
            // A missing field shifts all others, and what is then wrong with
            // one of those would mislead.
            let found = 1 + line.iter().filter(|&&byte| byte == b',').count();
            match found < N_COLUMNS {
                true => RowFault::FieldCount { expected: N_COLUMNS, found },
                false => fault,
            }
        })
    }

    fn parse_fields(line: &'a [u8], functions: &FunctionNames) -> Result<EventRow<'a>, RowFault> {
        let mut fields = Fields::new(line, N_COLUMNS);
        let stream = StreamId { rank: fields.small("rank")?, thread: fields.small("tid")? };
        let sequence = fields.count("seq")?;
        let function = functions.find(fields.bytes()?, fields.bytes()?)?;
        let context = ContextId(fields.small("stack")?);
        let file = FileId(fields.small("file")?);
        let handle = fields.number("handle", -i64::MAX)?;
        let offset = u64::try_from(fields.number("offset", -1)?).ok();
        let requested = size(&mut fields)?;
        let result = fields.number("ret", -i64::MAX)?;
        let start_ns = fields.count("start_ns")?;
        let end_ns = fields.count("end_ns")?;
        let depth = fields.small("depth")?;
        let detail = fields.text_to_end("detail")?;
        if end_ns < start_ns {
            return Err(RowFault::EndBeforeStart { start_ns, end_ns });
        }
        let position = Position { stream, sequence, start_ns };
        Ok(EventRow {
            position,
            function,
            context,
            file,
            handle,
            offset,
            requested,
            result,
            end_ns,
            depth,
            detail,
        })
    }

    pub(crate) fn into_event(self) -> Event {
        Event {
            stream: self.position.stream,
            sequence: self.position.sequence,
            function: self.function,
            context: self.context,
            file: self.file,
            handle: self.handle,
            offset: self.offset,
            requested: self.requested,
            result: self.result,
            start_ns: self.position.start_ns,
            end_ns: self.end_ns,
            depth: self.depth,
            detail: self.detail.into(),
        }
    }
}

fn size(fields: &mut Fields<'_>) -> Result<u64, RowFault> {
    fields.count("size").map_err(|fault| match fault {
        RowFault::OutOfRange { found, .. } if found.starts_with('-') => {
            RowFault::NegativeSize { found }
        }
        other => other,
    })
}

/// Functions by name. Asking the table of functions itself costs a walk over
/// it, which would be most of the time that a row takes.
pub(crate) struct FunctionNames {
    by_name: HashMap<(&'static [u8], &'static [u8]), Function>,
}

impl FunctionNames {
    pub(crate) fn new() -> FunctionNames {
        let names =
            |function: Function| (function.layer().name().as_bytes(), function.name().as_bytes());
        FunctionNames {
            by_name: Function::all().map(|function| (names(function), function)).collect(),
        }
    }

    fn find(&self, layer: &[u8], operation: &[u8]) -> Result<Function, RowFault> {
        if let Some(function) = self.by_name.get(&(layer, operation)) {
            return Ok(*function);
        }
        let known = std::str::from_utf8(layer).ok().and_then(Layer::from_name);
        Err(match known {
            Some(layer) => {
                RowFault::UnknownOperation { layer: layer.name(), found: excerpt(operation) }
            }
            None => RowFault::UnknownLayer { found: excerpt(layer) },
        })
    }
}
