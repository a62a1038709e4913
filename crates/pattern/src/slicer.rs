// SPDX-License-Identifier: MIT OR Apache-2.0

//! Cuts recorded requests into slices by their times.
//!
//! The first request starts the first slice. Slices follow each other without
//! gaps; those without requests are passed over, however many they are. Times
//! are not trusted: a request from before the slice is counted in it, and when a
//! clock was set back by more than a slice, a new slice starts there. A slice ends
//! early when another load begins in it.

use crate::builder::PatternBuilder;
use crate::config::PatternConfig;
use crate::pattern::Pattern;
use crate::request::Request;

/// Makes patterns of requests with times.
#[derive(Clone, Debug)]
pub struct Slicer {
    builder: PatternBuilder,
    /// When the slice began; `None` before the first request.
    start_ns: Option<u64>,
}

impl Slicer {
    /// Nothing observed yet.
    pub fn new(config: PatternConfig) -> Slicer {
        Slicer { builder: PatternBuilder::new(config), start_ns: None }
    }

    /// Takes a request in; the pattern of the slice before it if it starts a
    /// new one.
    pub fn observe(&mut self, request: &Request) -> Option<Pattern> {
        let slice_ns = self.builder.config().slice_ns.max(1);
        let time_ns = request.time_ns;
        let start_ns = *self.start_ns.get_or_insert(time_ns);
        let elapsed_ns = time_ns.saturating_sub(start_ns);
        let mut ended = None;
        if elapsed_ns >= slice_ns {
            ended = self.builder.tick();
            self.start_ns = Some(time_ns - elapsed_ns % slice_ns);
        } else if start_ns.saturating_sub(time_ns) > slice_ns {
            ended = self.builder.tick();
            self.start_ns = Some(time_ns);
        }
        self.builder.observe(request);
        if ended.is_none() && self.builder.load_has_changed() {
            ended = self.builder.cut(elapsed_ns);
            self.start_ns = Some(time_ns);
        }
        ended
    }

    /// Ends the last slice.
    pub fn finish(&mut self) -> Option<Pattern> {
        self.start_ns = None;
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestKind;

    /// How many requests the patterns have that requests at these times make.
    fn check(times_s: &[f64], expected: &[u64]) {
        let mut slicer = Slicer::new(PatternConfig::server());
        let request = |&time_s: &f64| Request {
            time_ns: (time_s * 1e9) as u64,
            file: 1,
            kind: RequestKind::Read,
            offset: 0,
            size: 1,
        };
        let mut patterns: Vec<Pattern> =
            times_s.iter().filter_map(|time| slicer.observe(&request(time))).collect();
        patterns.extend(slicer.finish());
        let found: Vec<u64> = patterns.iter().map(|pattern| pattern.counts.requests()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_slice_lasts_a_second_from_the_first_request() {
        check(&[5.0, 5.5, 5.999, 6.0, 6.1], &[3, 2]);
        check(&[], &[]);
    }

    #[test]
    fn slices_without_requests_are_passed_over() {
        check(&[0.0, 1e9, 1e9 + 0.9, 1e9 + 1.1], &[1, 2, 1]);
    }

    #[test]
    fn a_request_that_comes_late_is_counted_in_the_slice() {
        check(&[5.0, 5.5, 5.2, 4.9, 5.8], &[5]);
    }

    #[test]
    fn a_clock_that_is_set_back_starts_a_new_slice() {
        check(&[100.0, 100.5, 3.0, 3.5, 4.5], &[2, 2, 1]);
    }
}
