// SPDX-License-Identifier: MIT OR Apache-2.0

//! Requests of PnetCDF: which call submitted what another one completes, or cancels. An
//! access counts when it is submitted, so a cancelled one has to be subtracted again.
//! Beyond [`MAX_UNDER_WAY`], requests are not tracked.

use ioracle_events::{Event, FastMap, Function};

use super::{CountedLibrary, entry};

/// Requests under way of all processes.
const MAX_UNDER_WAY: usize = 1 << 18;

/// The requests that are under way, by process and number.
#[derive(Debug, Default)]
pub struct PendingRequests {
    under_way: FastMap<(u32, u32), Option<Function>>,
}

/// The outcome of a request, and the function that had submitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    Completed(Function),
    /// Or it has failed.
    GivenUp(Function),
}

impl PendingRequests {
    /// Takes in an event, and returns the outcome of the request that it ends.
    pub fn add(&mut self, event: &Event) -> Option<RequestOutcome> {
        if CountedLibrary::of(event.function) != Some(CountedLibrary::PnetCdf) {
            return None;
        }
        let key = (event.stream.rank, event.request()?);
        if event.function.access().is_data() {
            if let Some(submitted) = entry(&mut self.under_way, key, MAX_UNDER_WAY) {
                *submitted = Some(event.function);
            }
            return None;
        }
        let submitted = self.under_way.remove(&key)??;
        let is_given_up = event.failed() || event.function.name() == "ncmpi_cancel";
        let outcome = if is_given_up { RequestOutcome::GivenUp } else { RequestOutcome::Completed };
        Some(outcome(submitted))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::event;
    use super::*;

    #[test]
    fn a_request_ends_once_and_in_its_own_process() {
        let mut requests = PendingRequests::default();
        let mut ends = |name: &str, rank: u32, detail: &str| {
            let mut event = event(name, 1, Some((0, 8)));
            (event.detail, event.stream.rank) = (detail.into(), rank);
            requests.add(&event)
        };
        for (rank, detail) in [(0, "T start=1 count=2 request=1"), (1, "U request=1")] {
            assert_eq!(ends("ncmpi_iput_vara", rank, detail), None);
        }
        assert_eq!(ends("ncmpi_bput_var", 0, "U request=2"), None);
        assert_eq!(ends("ncmpi_iget_var", 0, "U request=3"), None);
        let named = |outcome| match outcome {
            Some(RequestOutcome::Completed(function)) => function.name().to_owned(),
            Some(RequestOutcome::GivenUp(function)) => format!("no {}", function.name()),
            None => String::new(),
        };
        assert_eq!(named(ends("ncmpi_wait_all", 0, "T request=1")), "ncmpi_iput_vara");
        assert_eq!(named(ends("ncmpi_wait_all", 0, "U request=2 part=2")), "ncmpi_bput_var");
        assert_eq!(named(ends("ncmpi_wait_all", 0, "T request=1")), "");
        assert_eq!(named(ends("ncmpi_wait_all", 0, "")), "");
        assert_eq!(named(ends("ncmpi_cancel", 0, "U request=3")), "no ncmpi_iget_var");
        assert_eq!(named(ends("ncmpi_cancel", 1, "U request=1")), "no ncmpi_iput_vara");
    }

    #[test]
    fn a_request_that_failed_has_moved_nothing() {
        let mut requests = PendingRequests::default();
        let submitted = Event { detail: "T request=1".into(), ..event("ncmpi_iput_var", 1, None) };
        let waited = Event {
            detail: submitted.detail.clone(),
            result: -1,
            ..event("ncmpi_wait_all", 1, None)
        };
        assert_eq!(requests.add(&submitted), None);
        assert_eq!(requests.add(&waited), Some(RequestOutcome::GivenUp(submitted.function)));
    }
}
