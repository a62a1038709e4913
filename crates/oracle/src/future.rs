// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the whole near future holds: the next burst, the rest of this one, the
//! accesses within a span of time. All of it is read along the most probable
//! path, and the confidence is the probability of that path.

use ioracle_events::{Burst, ContextSymbol, Prediction, WithinTime};

use crate::oracle::Oracle;

/// Operations read ahead at most; what lies beyond is not counted.
const MAX_STEPS: usize = 1 << 16;

impl Oracle {
    /// The next dense group of operations; inside one, what is left of it.
    /// `None` while waits do not yet fall into short and long ones, or nothing
    /// is expected.
    pub fn next_burst(&self) -> Option<Burst> {
        self.bursts().next()
    }

    /// The next burst and those after it, as far as the path is known.
    pub fn bursts(&self) -> impl Iterator<Item = Burst> + '_ {
        self.bursts_within(MAX_STEPS)
    }

    /// The same within so many operations, for those who know how many a burst may have:
    /// a loop without long waits would be read up to the limit.
    pub fn bursts_within(&self, max_steps: usize) -> impl Iterator<Item = Burst> + '_ {
        let max_steps = max_steps.min(MAX_STEPS);
        let has_bursts = self.quiet.threshold_ns().is_some();
        let mut path = has_bursts.then(|| self.path().take(max_steps).zip(1..).peekable());
        std::iter::from_fn(move || {
            let path = path.as_mut()?;
            let (first, mut n_read) = path.next()?;
            let inside = !self.quiet.is_quiet(first.interarrival_ns);
            let mut burst = Burst {
                starts_in_ns: if inside { 0 } else { first.from_now_ns },
                ends_in_ns: end_of(&first),
                operations: 1,
                bytes: first.size,
                confidence: first.operation_probability,
                is_cut: false,
            };
            let goes_on =
                |(next, _): &(Prediction, usize)| !self.quiet.is_quiet(next.interarrival_ns);
            while let Some((next, read)) = path.next_if(goes_on) {
                burst.ends_in_ns = end_of(&next);
                burst.operations += 1;
                burst.bytes = burst.bytes.saturating_add(next.size);
                burst.confidence = next.operation_probability;
                n_read = read;
            }
            burst.is_cut = n_read == max_steps;
            Some(burst)
        })
    }

    /// From where on a wait lies between bursts, once that is known.
    pub fn quiet_threshold_ns(&self) -> Option<u64> {
        self.quiet.threshold_ns()
    }

    /// Operations still expected before the present burst ends; 0 if it just
    /// ended, `None` while bursts and quiet cannot be distinguished.
    pub fn operations_left_in_burst(&self) -> Option<u64> {
        self.quiet.threshold_ns()?;
        let left = self.path().take_while(|next| !self.quiet.is_quiet(next.interarrival_ns));
        Some(left.count() as u64)
    }

    /// The operations expected to start within the next `span_ns` nanoseconds.
    pub fn within(&self, span_ns: u64) -> WithinTime {
        let mut within = WithinTime { confidence: 1.0, ..WithinTime::default() };
        for next in self.path().take_while(|next| next.from_now_ns <= span_ns) {
            within.operations += 1;
            within.bytes = within.bytes.saturating_add(next.size);
            within.confidence = next.operation_probability;
        }
        within
    }

    /// The most probable path through known symbols. Bursts are separated by long
    /// waits, so what is expected before the first step counts here even where the
    /// prediction itself states no wait.
    fn path(&self) -> impl Iterator<Item = Prediction> + '_ {
        let best = self.predictions.iter().position(|it| it.symbol != ContextSymbol::UNSEEN);
        let mut wait = Some(self.expected_wait);
        let path = best.into_iter().flat_map(|first| self.ahead(first));
        let path = path.map(move |step| match wait.take() {
            Some(wait) => {
                let (interarrival_ns, from_now_ns) = (wait.interarrival_ns, wait.interarrival_ns);
                Prediction { interarrival_ns, from_now_ns, ..step }
            }
            None => step,
        });
        path.take(MAX_STEPS)
    }
}

fn end_of(prediction: &Prediction) -> u64 {
    prediction.from_now_ns.saturating_add(prediction.io_time_ns)
}
