// SPDX-License-Identifier: MIT OR Apache-2.0

//! What happens on an error: reading ends, or it is counted.

use crate::error::Error;

/// Counts what was skipped, if skipping is wanted.
#[derive(Debug)]
pub(crate) struct SkippedRows {
    lenient: bool,
    skipped: u64,
    first: Option<Error>,
    cut: Option<Error>,
}

impl SkippedRows {
    pub(crate) fn new(lenient: bool) -> SkippedRows {
        SkippedRows { lenient, skipped: 0, first: None, cut: None }
    }

    /// A bad row: skipped and counted when lenient, returned when not.
    pub(crate) fn skip(&mut self, error: Error) -> Result<(), Error> {
        self.skip_many(error, 1)
    }

    /// The same for many rows lost together.
    pub(crate) fn skip_many(&mut self, error: Error, n: u64) -> Result<(), Error> {
        if !self.lenient {
            return Err(error);
        }
        self.skipped = self.skipped.saturating_add(n);
        self.first.get_or_insert(error);
        Ok(())
    }

    /// The table ends too early: that counts as one skipped row when lenient.
    pub(crate) fn cut(&mut self, error: Error) -> Result<(), Error> {
        if !self.lenient {
            return Err(error);
        }
        self.skipped = self.skipped.saturating_add(1);
        self.cut = Some(error);
        Ok(())
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The first reason for skipping; a cut only if nothing came before it.
    pub(crate) fn first(&self) -> Option<&Error> {
        self.first.as_ref().or(self.cut.as_ref())
    }

    pub(crate) fn cut_by(&self) -> Option<&Error> {
        self.cut.as_ref()
    }
}
