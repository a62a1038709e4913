// SPDX-License-Identifier: MIT OR Apache-2.0

//! The events of a trace, one after the other.

use std::iter::FusedIterator;

use ioracle_events::{Event, StreamId};

use crate::checks::Checks;
use crate::error::Error;
use crate::native::{Grouping, NativeEvents};
use crate::row;
use crate::source::Input;
use crate::tally::SkippedRows;
use crate::trace::{Form, Trace};

/// Reads events in constant memory; ends after the first error.
pub struct Events<'trace> {
    trace: &'trace Trace,
    rank: Option<u32>,
    grouping: Grouping,
    /// `None` at the end, or after an error.
    reading: Option<Reading<'trace>>,
    tally: SkippedRows,
    /// Ranks of which there are events.
    ranks: Vec<u32>,
    /// Whether an event of the wanted rank has come.
    any: bool,
    /// Of a recording, at its end: the process of each stream.
    origins: Vec<(StreamId, u32)>,
}

/// What the events come from.
enum Reading<'trace> {
    Rows(Box<Rows<'trace>>),
    Native(Box<NativeEvents<'trace>>),
}

/// The rows of `events.csv`.
struct Rows<'trace> {
    input: Input,
    checks: Checks<'trace>,
    /// Whether the table has ended; one event may still be held then.
    is_over: bool,
}

impl<'trace> Events<'trace> {
    pub(crate) fn new(
        trace: &'trace Trace,
        rank: Option<u32>,
        grouping: Grouping,
    ) -> Result<Events<'trace>, Error> {
        let mut tally = SkippedRows::new(trace.options().lenient);
        let mut ranks = Vec::new();
        let reading = match trace.form() {
            Form::Csv(source) => {
                let input = source.open(row::HEADER)?;
                Reading::Rows(Box::new(Rows {
                    input,
                    checks: Checks::new(trace, rank),
                    is_over: false,
                }))
            }
            Form::Native(native) => {
                let lanes = native.ranks(&mut SkippedRows::new(true), grouping)?;
                ranks = lanes.iter().map(|lanes| lanes.rank).collect();
                let events = NativeEvents::new(trace, native, (rank, grouping), &mut tally)?;
                Reading::Native(Box::new(events))
            }
        };
        let (any, origins) = (false, Vec::new());
        Ok(Events { trace, rank, grouping, reading: Some(reading), tally, ranks, any, origins })
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

    /// Why the table was cut off, if it was and reading is lenient.
    pub fn cut_by(&self) -> Option<&Error> {
        self.tally.cut_by()
    }

    /// The process of each stream that had events, in order, once all were read.
    pub(crate) fn into_origins(self) -> Vec<(StreamId, u32)> {
        if !self.origins.is_empty() {
            return self.origins;
        }
        let is_read = |stream: &StreamId| self.rank.is_none_or(|rank| rank == stream.rank);
        self.trace.provenance().threads().filter(|(stream, _)| is_read(stream)).collect()
    }

    pub(crate) fn into_ranks(mut self) -> Result<Vec<u32>, Error> {
        if let Some(Reading::Rows(_)) = self.reading {
            self.try_for_each(|event| event.map(drop))?;
        }
        self.ranks.sort_unstable();
        Ok(self.ranks)
    }

    /// The next event of the wanted rank; `None` at the end.
    fn read(&mut self) -> Result<Option<Event>, Error> {
        match &mut self.reading {
            Some(Reading::Rows(rows)) => {
                let event = rows.next(&mut self.tally)?;
                if event.is_none() {
                    self.ranks = rows.checks.order().ranks().iter().copied().collect();
                }
                Ok(event)
            }
            Some(Reading::Native(events)) => {
                let event = events.next(&mut self.tally)?;
                if event.is_none() {
                    self.origins = events.take_origins();
                }
                Ok(event)
            }
            None => Ok(None),
        }
    }

    /// What is wrong if the table ended without an event for the caller.
    fn nothing_found(&self) -> Option<Error> {
        if self.any {
            return None;
        }
        let path = self.trace.path().clone();
        Some(match (self.rank, self.ranks.iter().min(), self.ranks.iter().max()) {
            (Some(rank), Some(&lowest), Some(&highest)) => {
                Error::RankNotFound { path, rank, n_ranks: self.ranks.len(), lowest, highest }
            }
            _ if self.trace.is_being_recorded() => Error::EmptyYet { path },
            _ => Error::Empty { path, skipped: self.tally.skipped() },
        })
    }
}

impl Rows<'_> {
    /// The next event of the wanted rank; `None` at the end of the table.
    fn next(&mut self, tally: &mut SkippedRows) -> Result<Option<Event>, Error> {
        while !self.is_over {
            let checked = match self.input.next_row() {
                Ok(Some(line)) => line.and_then(|line| self.checks.check(line)),
                Ok(None) => break,
                Err(error) => {
                    tally.cut(error)?;
                    break;
                }
            };
            match checked {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(fault) => tally.skip(self.input.row_error(fault))?,
            }
        }
        self.is_over = true;
        Ok(self.checks.finish())
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Result<Event, Error>> {
        self.reading.as_ref()?;
        match self.read() {
            Ok(Some(mut event)) => {
                self.any = true;
                if self.grouping == Grouping::Processes
                    && let Some(origin) = self.trace.provenance().origin(event.stream)
                {
                    event.stream = StreamId { rank: origin.process, thread: origin.thread };
                }
                Some(Ok(event))
            }
            Ok(None) => {
                self.reading = None;
                self.nothing_found().map(Err)
            }
            Err(error) => {
                self.reading = None;
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for Events<'_> {}
