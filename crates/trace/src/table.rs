// SPDX-License-Identifier: MIT OR Apache-2.0

//! The two small tables, `id,text` per row: call stacks and paths.
//!
//! Ids increase from row to row but may leave gaps, so memory grows with the rows and
//! never with the largest id.

use std::marker::PhantomData;

use ioracle_events::{ContextId, FileId};

use crate::error::{Error, RowFault};
use crate::fields::Fields;
use crate::source::Source;
use crate::tally::SkippedRows;

/// The most rows that a table of stacks or files may have.
pub const MAX_TABLE_ROWS: usize = 1 << 24;

/// The most bytes of text that a table of stacks or files may hold.
pub const MAX_TABLE_BYTES: usize = 1 << 29;

/// Texts by id: the frames of contexts, or the paths of files.
#[derive(Clone, Debug)]
pub struct IdTable<Id> {
    /// Strictly increasing.
    ids: Vec<u32>,
    /// Where each row's text ends in `text`, which [`MAX_TABLE_BYTES`] keeps
    /// within 32 bits.
    ends: Vec<u32>,
    text: String,
    id: PhantomData<Id>,
}

/// An id that a table is looked up by.
pub trait TableId: Copy {
    /// The first line of the table.
    #[doc(hidden)]
    const HEADER: &'static str;
    /// What the table calls its text.
    #[doc(hidden)]
    const TEXT_COLUMN: &'static str;
    /// The least id that a row may have.
    #[doc(hidden)]
    const LOWEST: u32;

    /// The id of this number.
    fn from_number(number: u32) -> Self;
    /// The number of this id.
    fn number(self) -> u32;
}

impl TableId for ContextId {
    const HEADER: &'static str = "id,frames";
    const TEXT_COLUMN: &'static str = "frames";
    const LOWEST: u32 = 0;

    fn from_number(number: u32) -> ContextId {
        ContextId(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl TableId for FileId {
    const HEADER: &'static str = "id,path";
    const TEXT_COLUMN: &'static str = "path";
    /// 0 is [`FileId::UNKNOWN`].
    const LOWEST: u32 = 1;

    fn from_number(number: u32) -> FileId {
        FileId(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl<Id: TableId> IdTable<Id> {
    /// The text of `id`.
    pub fn get(&self, id: Id) -> Option<&str> {
        self.text_at(self.position(id)?)
    }

    /// Whether the table has a row for `id`.
    pub fn contains(&self, id: Id) -> bool {
        self.position(id).is_some()
    }

    /// All rows, by increasing id.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &str)> {
        let rows = self.ids.iter().enumerate();
        rows.filter_map(|(position, id)| Some((Id::from_number(*id), self.text_at(position)?)))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn empty() -> IdTable<Id> {
        IdTable { ids: Vec::new(), ends: Vec::new(), text: String::new(), id: PhantomData }
    }

    pub(crate) fn read(source: &Source, tally: &mut SkippedRows) -> Result<IdTable<Id>, Error> {
        let mut table = IdTable::empty();
        let mut input = source.open(Id::HEADER)?;
        loop {
            let pushed = match input.next_row() {
                Ok(Some(line)) => line.and_then(|line| table.push(line)),
                Ok(None) => return Ok(table),
                Err(error) => {
                    tally.cut(error)?;
                    return Ok(table);
                }
            };
            if let Err(fault) = pushed {
                tally.skip(input.row_error(fault))?;
            }
        }
    }

    fn push(&mut self, line: &[u8]) -> Result<(), RowFault> {
        let mut fields = Fields::new(line, 2);
        let id = fields.small_from("id", Id::LOWEST)?;
        let text = fields.text_to_end(Id::TEXT_COLUMN)?;
        self.add(id, text)
    }

    /// Adds a row, whose id must be greater than those before.
    pub(crate) fn add(&mut self, id: u32, text: &str) -> Result<(), RowFault> {
        match self.ids.last() {
            Some(&last) if last == id => return Err(RowFault::DuplicateId { id }),
            Some(&previous) if previous > id => {
                return Err(RowFault::IdOutOfOrder { id, previous });
            }
            _ => {}
        }
        let end = self.text.len() + text.len();
        let full = RowFault::TableFull { rows: MAX_TABLE_ROWS, bytes: MAX_TABLE_BYTES };
        if self.ids.len() >= MAX_TABLE_ROWS || end > MAX_TABLE_BYTES {
            return Err(full);
        }
        self.ends.push(u32::try_from(end).map_err(|_| full)?);
        self.ids.push(id);
        self.text.push_str(text);
        Ok(())
    }

    /// Ids mostly count up without gaps, so the index is usually known.
    fn position(&self, id: Id) -> Option<usize> {
        let distance = id.number().checked_sub(*self.ids.first()?)? as usize;
        if self.ids.get(distance) == Some(&id.number()) {
            return Some(distance);
        }
        self.ids.binary_search(&id.number()).ok()
    }

    fn text_at(&self, position: usize) -> Option<&str> {
        let start = match position.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(start as usize..*self.ends.get(position)? as usize)
    }
}
