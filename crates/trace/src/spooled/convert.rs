// SPDX-License-Identifier: MIT OR Apache-2.0

//! A record's call as an event: numbers brought into the ranges that events
//! have, times made relative to the start of the process.

use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};
use ioracle_spool::layout::Call;
use ioracle_spool::selection::Selection;

use crate::spooled::detail::{detail, library_detail, with_part};

/// The event of a call; `None` if its function has no number in our table.
pub(crate) fn event(call: &Call, of: CallOrigin<'_>) -> Option<Event> {
    let function = Function::try_from(call.function).ok()?;
    // A clock cannot run backwards, a damaged record can.
    let start_ns = fit(call.start_ns.saturating_sub(of.process_start_ns));
    let end_ns = fit(call.end_ns.saturating_sub(of.process_start_ns)).max(start_ns);
    Some(Event {
        stream: of.stream,
        sequence: fit(call.began),
        function,
        context: of.context,
        file: of.file,
        handle: call.handle.into(),
        offset: u64::try_from(call.offset).ok(),
        requested: fit(call.requested),
        result: call.result.max(-i64::MAX),
        start_ns,
        end_ns,
        depth: call.depth.into(),
        detail: match function.layer() {
            Layer::HighLevel => {
                let text = library_detail(of.object, of.selection, call.detail);
                with_part(text, call.part)
            }
            Layer::MpiIo => with_part(detail(function, call.detail), call.part),
            // A call that closes many descriptors becomes one close for each.
            Layer::Posix | Layer::Stdio => detail(function, call.detail),
        },
    })
}

/// What the call itself does not contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOrigin<'a> {
    pub(crate) stream: StreamId,
    pub(crate) context: ContextId,
    pub(crate) file: FileId,
    pub(crate) object: Option<&'a str>,
    pub(crate) selection: Option<&'a Selection>,
    pub(crate) process_start_ns: u64,
}

/// Traces hold no number above this one.
fn fit(number: u64) -> u64 {
    number.min(i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: CallOrigin<'_> = CallOrigin {
        stream: StreamId { rank: 3, thread: 1 },
        context: ContextId(4),
        file: FileId(5),
        object: None,
        selection: None,
        process_start_ns: 1000,
    };

    #[test]
    fn a_record_becomes_the_event_it_tells_of() {
        let call = Call {
            offset: 4096,
            requested: 100,
            result: 70,
            start_ns: 1500,
            end_ns: 1700,
            began: 9,
            handle: 3,
            depth: 2,
            function: Function::Pread as u16,
            ..Call::default()
        };
        let expected = Event {
            stream: ORIGIN.stream,
            sequence: 9,
            function: Function::Pread,
            context: ORIGIN.context,
            file: ORIGIN.file,
            handle: 3,
            offset: Some(4096),
            requested: 100,
            result: 70,
            start_ns: 500,
            end_ns: 700,
            depth: 2,
            detail: "".into(),
        };
        assert_eq!(event(&call, ORIGIN), Some(expected));
    }

    /// Traces keep only the text.
    #[test]
    fn a_further_part_of_a_call_is_known_as_one() {
        let is_part = |function: Function, part| {
            let call = Call { function: function as u16, part, ..Call::default() };
            event(&call, ORIGIN).unwrap().is_further_part()
        };
        use Function::{Close, H5Dwrite, MpiWait, NcmpiWaitAll};
        for function in [MpiWait, H5Dwrite, NcmpiWaitAll] {
            assert!(is_part(function, 1) && !is_part(function, 0), "{}", function.name());
        }
        assert!(!is_part(Close, 1));
    }

    #[test]
    fn numbers_that_lie_are_brought_into_range() {
        let check = |start_ns, end_ns, expected| {
            let call = Call { start_ns, end_ns, ..Call::default() };
            let event = super::event(&call, ORIGIN).unwrap();
            assert_eq!((event.start_ns, event.end_ns), expected);
        };
        check(2000, 1500, (1000, 1000));
        check(0, 1500, (0, 500));
        check(0, 0, (0, 0));
        check(u64::MAX, u64::MAX, (i64::MAX as u64, i64::MAX as u64));
        let call = Call {
            offset: i64::MIN,
            requested: u64::MAX,
            result: i64::MIN,
            began: u64::MAX,
            ..Call::default()
        };
        let event = super::event(&call, ORIGIN).unwrap();
        assert_eq!((event.offset, event.requested), (None, i64::MAX as u64));
        assert_eq!((event.result, event.sequence), (-i64::MAX, i64::MAX as u64));
    }

    #[test]
    fn an_unknown_function_is_no_event() {
        let call = Call { function: u16::MAX, ..Call::default() };
        assert_eq!(event(&call, ORIGIN), None);
    }
}
