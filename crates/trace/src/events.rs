// SPDX-License-Identifier: MIT OR Apache-2.0

//! The events of a trace, one after the other.

use std::iter::FusedIterator;

use ioracle_events::Event;

use crate::checks::Checks;
use crate::error::Error;
use crate::row;
use crate::source::Input;
use crate::tally::Tally;
use crate::trace::Trace;

/// Reads events in constant memory; ends after the first error.
pub struct Events<'trace> {
    trace: &'trace Trace,
    rank: Option<u32>,
    /// `None` at the end, or after an error.
    input: Option<Input>,
    checks: Checks<'trace>,
    tally: Tally,
    /// Whether an event of the wanted rank has come.
    any: bool,
}

impl<'trace> Events<'trace> {
    pub(crate) fn new(trace: &'trace Trace, rank: Option<u32>) -> Result<Events<'trace>, Error> {
        let input = Some(trace.source().open(row::HEADER)?);
        let checks = Checks::new(trace, rank);
        let tally = Tally::new(trace.options().lenient);
        Ok(Events { trace, rank, input, checks, tally, any: false })
    }

    /// How many rows were skipped so far, of all ranks; a cut counts as one.
    /// Always 0 unless the trace is read leniently.
    pub fn skipped(&self) -> u64 {
        self.tally.skipped()
    }

    /// Why the first of them was skipped.
    pub fn first_skipped(&self) -> Option<&Error> {
        self.tally.first()
    }

    /// Why the table ended before its end, if it did and that was let pass.
    pub fn cut_by(&self) -> Option<&Error> {
        self.tally.cut_by()
    }

    pub(crate) fn into_ranks(mut self) -> Result<Vec<u32>, Error> {
        self.try_for_each(|event| event.map(drop))?;
        let mut ranks: Vec<u32> = self.checks.order().ranks().iter().copied().collect();
        ranks.sort_unstable();
        Ok(ranks)
    }

    /// The next event of the wanted rank; `None` at the end of the table.
    fn read(&mut self) -> Result<Option<Event>, Error> {
        while let Some(input) = &mut self.input {
            let checked = match input.next_row() {
                Ok(Some(line)) => line.and_then(|line| self.checks.check(line)),
                Ok(None) => break,
                Err(error) => {
                    self.tally.cut(error)?;
                    break;
                }
            };
            match checked {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(fault) => self.tally.skip(input.row_error(fault))?,
            }
        }
        self.input = None;
        Ok(self.checks.finish())
    }

    /// What is wrong if the table ended without an event for the caller.
    fn nothing_found(&self) -> Option<Error> {
        if self.any {
            return None;
        }
        let path = self.trace.source().path().clone();
        let ranks = self.checks.order().ranks();
        Some(match (self.rank, ranks.iter().min(), ranks.iter().max()) {
            (Some(rank), Some(&lowest), Some(&highest)) => {
                Error::RankNotFound { path, rank, n_ranks: ranks.len(), lowest, highest }
            }
            _ => Error::Empty { path, skipped: self.tally.skipped() },
        })
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Result<Event, Error>> {
        self.input.as_ref()?;
        match self.read() {
            Ok(Some(event)) => {
                self.any = true;
                Some(Ok(event))
            }
            Ok(None) => self.nothing_found().map(Err),
            Err(error) => {
                self.input = None;
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for Events<'_> {}
