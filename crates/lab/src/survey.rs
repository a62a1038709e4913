// SPDX-License-Identifier: MIT OR Apache-2.0

//! The first reading of a trace: how long each stream is.

use std::collections::BTreeMap;

use ioracle_engine::OperationStreams;
use ioracle_events::{Level, StreamId};
use ioracle_trace::Trace;

use crate::error::Error;

/// What a trace holds, known before anything is predicted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The rank that was asked for; `None` is all of them.
    pub rank: Option<u32>,
    /// Operations of each stream that has any.
    pub streams: BTreeMap<StreamId, u64>,
    /// Rows that were skipped because they were bad.
    pub skipped: u64,
    /// Why the first of them was.
    pub first_skipped: Option<String>,
}

impl Survey {
    /// Reads the events of one rank, or of all.
    pub fn of(trace: &Trace, rank: Option<u32>) -> Result<Survey, Error> {
        Survey::at(Level::Bytes, trace, rank)
    }

    /// The same, at a level.
    pub fn at(level: Level, trace: &Trace, rank: Option<u32>) -> Result<Survey, Error> {
        let mut operations = OperationStreams::new(level);
        trace.contexts().iter().for_each(|(id, frames)| operations.define_context(id, frames));
        let mut streams: BTreeMap<StreamId, u64> = BTreeMap::new();
        let mut events = trace.events(rank)?;
        for event in events.by_ref() {
            let event = event?;
            let count = streams.entry(event.stream).or_default();
            operations.push(&event, |_| *count += 1);
        }
        operations.finish(|stream, _| *streams.entry(stream).or_default() += 1);
        streams.retain(|_, operations| *operations > 0);
        if streams.is_empty() {
            return Err(nothing_there(level, trace, rank));
        }
        let first = trace.first_skipped().or(events.first_skipped());
        Ok(Survey {
            rank,
            streams,
            skipped: trace.skipped() + events.skipped(),
            first_skipped: first.map(ToString::to_string),
        })
    }

    /// Operations of all streams.
    pub fn operations(&self) -> u64 {
        self.streams.values().sum()
    }

    /// The longest stream of a rank; the one its figures show.
    pub fn main_stream(&self, rank: u32) -> Option<StreamId> {
        let of_rank = StreamId { rank, thread: 0 }..=StreamId { rank, thread: u32::MAX };
        self.streams
            .range(of_rank)
            .max_by_key(|(stream, operations)| (**operations, u32::MAX - stream.thread))
            .map(|(stream, _)| *stream)
    }
}

/// Why nothing was found; where another rank was meant, which ones there are.
fn nothing_there(level: Level, trace: &Trace, rank: Option<u32>) -> Error {
    let name = trace.name().to_owned();
    match (level, rank) {
        (Level::Bytes, _) => Error::NoOperations { trace: name },
        (Level::Variables, None) => Error::NoVariables { trace: name },
        (Level::Variables, Some(rank)) => match Survey::at(level, trace, None) {
            Ok(all) => {
                let mut ranks: Vec<u32> = all.streams.keys().map(|stream| stream.rank).collect();
                ranks.dedup();
                Error::NoVariablesOfRank { trace: name, rank, others: listed(&ranks) }
            }
            Err(error) => error,
        },
    }
}

/// Ranks in order as people write them: `0, 2–5 and 9`.
fn listed(ranks: &[u32]) -> String {
    let runs: Vec<String> = ranks
        .chunk_by(|one, next| one + 1 == *next)
        .filter_map(|run| Some((run.first()?, run.last()?)))
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}–{last}"),
        })
        .collect();
    match runs.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        runs => runs.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_by_their_runs() {
        let check = |ranks: &[u32], text: &str| assert_eq!(listed(ranks), text);
        check(&[], "");
        check(&[3], "3");
        check(&[0, 1], "0, 1");
        check(&[0, 2, 3, 4, 5, 9], "0, 2–5 and 9");
    }
}
