// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads a surveyed trace and hands each stream's operations to a state of its
//! own, from its first operation to its last.
//!
//! A state is given back as soon as its stream is over, so that a trace of many
//! ranks needs the memory of those only that are under way at the same time.

use std::collections::BTreeMap;

use ioracle_events::{Operation, OperationFilter, StreamId};
use ioracle_trace::Trace;

use crate::error::Error;
use crate::survey::Survey;

/// Streams that may be under way at once; each has an oracle of some hundred
/// kilobytes.
const MAX_STREAMS: usize = 1024;

/// What is done with a stream.
pub(crate) trait Follower {
    /// What one stream needs.
    type State;

    /// A stream of so many operations begins.
    fn begin(&mut self, stream: StreamId, length: u64) -> Self::State;

    /// Its next operation.
    fn observe(&mut self, state: &mut Self::State, operation: Operation);

    /// It is over.
    fn end(&mut self, stream: StreamId, state: Self::State);
}

/// The streams of a rank. `None` is one that is over: seeks may still follow its
/// operations.
type Runs<S> = BTreeMap<StreamId, Option<Run<S>>>;

struct Run<S> {
    filter: OperationFilter,
    state: S,
    left: u64,
}

/// Reads the trace once.
pub(crate) fn drive<F: Follower>(
    trace: &Trace,
    survey: &Survey,
    follower: &mut F,
) -> Result<(), Error> {
    let mut runs = Runs::new();
    let mut under_way = 0;
    for event in trace.events(survey.rank)? {
        let event = event?;
        // Rows are grouped by rank: nothing more comes of the one before.
        if runs.first_key_value().is_some_and(|(stream, _)| stream.rank != event.stream.rank) {
            finish(std::mem::take(&mut runs), follower);
            under_way = 0;
        }
        let Some(&length) = survey.streams.get(&event.stream) else { continue };
        let entry = runs.entry(event.stream).or_insert_with(|| {
            under_way += 1;
            let state = follower.begin(event.stream, length);
            Some(Run { filter: OperationFilter::default(), state, left: length })
        });
        if under_way > MAX_STREAMS {
            let trace = trace.name().to_owned();
            return Err(Error::TooManyStreams { trace, most: MAX_STREAMS });
        }
        let Some(Run { filter, state, left }) = entry else { continue };
        filter.push(&event, |operation| {
            follower.observe(state, operation);
            *left = left.saturating_sub(1);
        });
        if let Some(run) = entry.take_if(|run| run.left == 0) {
            follower.end(event.stream, run.state);
            under_way -= 1;
        }
    }
    finish(runs, follower);
    Ok(())
}

/// Ends the streams that are still under way.
fn finish<F: Follower>(runs: Runs<F::State>, follower: &mut F) {
    for (stream, entry) in runs {
        let Some(Run { mut filter, mut state, .. }) = entry else { continue };
        filter.finish(|operation| follower.observe(&mut state, operation));
        follower.end(stream, state);
    }
}
