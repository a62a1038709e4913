// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a program waits for its storage at all: where everything is in the cache,
//! there is nothing to win.

/// Operations after which it is looked at whether a stream waits for its reads. Where
/// earlier runs tell what comes, the first time is later: interpreters make thousands of
/// calls on their modules before they read any data.
const WINDOW: u32 = 4096;
const FIRST_FOREKNOWN_WINDOW: u32 = 16_384;
/// Reads that a stream must have waited for before it is worth predicting again.
const FEW_WAITS: u32 = 4;

/// Whether the program waited for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWait {
    /// It was as fast as the cache.
    None,
    /// It was not.
    Waited,
    /// It was fast because its bytes had been read ahead.
    Avoided,
}

/// Whether to predict a stream can pay. A program that makes many calls and waits for
/// hardly any of them pays for every prediction with the time that learning takes.
#[derive(Clone, Copy, Debug)]
pub struct StreamDemand {
    /// The part of its time that a stream must wait for its reads.
    min_share: f64,
    window: u32,
    n_operations: u32,
    n_waits: u32,
    waited_ns: u64,
    has_avoided: bool,
    began_ns: Option<u64>,
    is_calm: bool,
}

impl StreamDemand {
    /// A stream that begins; it must wait for its reads for this part of its time.
    pub fn new(min_share: f64, has_foreknowledge: bool) -> StreamDemand {
        let window = if has_foreknowledge { FIRST_FOREKNOWN_WINDOW } else { WINDOW };
        StreamDemand {
            min_share,
            window,
            n_operations: 0,
            n_waits: 0,
            waited_ns: 0,
            has_avoided: false,
            began_ns: None,
            is_calm: false,
        }
    }

    /// Whether the stream waits for too little.
    pub fn is_calm(&self) -> bool {
        self.is_calm
    }

    /// An operation of the stream took from `start_ns` to `end_ns`, on the stream's clock.
    pub fn observe(&mut self, start_ns: u64, end_ns: u64, wait: ReadWait) {
        let began_ns = *self.began_ns.get_or_insert(start_ns);
        self.n_operations += 1;
        match wait {
            ReadWait::None => {}
            ReadWait::Waited => {
                self.n_waits += 1;
                self.waited_ns = self.waited_ns.saturating_add(end_ns.saturating_sub(start_ns));
            }
            ReadWait::Avoided => self.has_avoided = true,
        }
        let is_over = self.n_operations >= self.window;
        let may_wake = self.is_calm && wait == ReadWait::Waited && self.n_waits >= FEW_WAITS;
        if !is_over && !may_wake {
            return;
        }
        let elapsed_ns = end_ns.saturating_sub(began_ns);
        let pays = self.has_avoided || self.waited_ns as f64 >= self.min_share * elapsed_ns as f64;
        if is_over || pays {
            let min_share = self.min_share;
            *self = StreamDemand { is_calm: !pays, ..StreamDemand::new(min_share, false) };
        }
    }
}

/// Requests that find everything in the cache, one after the other, after which the
/// program is left alone until it waits for a read. Each time it had waited in between,
/// half as many are enough.
const MAX_RESIDENT: u32 = 8;

/// Whether there is anything to wait for on a storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Somebody has waited for it, the program or a request of ours, since everything
    /// seemed to be in the cache.
    has_waited: bool,
    /// Requests that found everything in the cache one after the other, and how many of
    /// them are enough.
    resident_in_a_row: u32,
    resident_enough: u32,
    /// The program has read from it.
    pub(crate) is_read: bool,
}

impl Default for Demand {
    fn default() -> Demand {
        Demand {
            has_waited: false,
            resident_in_a_row: 0,
            resident_enough: MAX_RESIDENT,
            is_read: false,
        }
    }
}

impl Demand {
    /// Somebody had to wait for the storage.
    pub(crate) fn wait(&mut self) {
        self.has_waited = true;
        self.resident_in_a_row = 0;
    }

    /// A request had to fetch from the storage.
    pub(crate) fn fetch(&mut self) {
        self.resident_enough = MAX_RESIDENT;
        self.wait();
    }

    /// A request has found everything in the cache.
    pub(crate) fn find_resident(&mut self) {
        self.resident_in_a_row += 1;
        if self.resident_in_a_row >= self.resident_enough && self.has_waited {
            self.has_waited = false;
            self.resident_enough = (self.resident_enough / 2).max(1);
            self.resident_in_a_row = self.resident_enough;
        }
    }

    /// Whether all seems to be in the cache. With foreknowledge it is tried out.
    pub(crate) fn is_dormant(&self, has_foreknowledge: bool) -> bool {
        let may_try = has_foreknowledge && self.resident_in_a_row < self.resident_enough;
        !self.has_waited && !may_try
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations of a microsecond, ten apart; every `every`th is a read that takes `ns`.
    fn after(mut demand: StreamDemand, n: u64, every: u64, ns: u64) -> StreamDemand {
        for i in 0..n {
            let (start_ns, is_wait) = (i * 10_000, i % every == 0);
            let (took, wait) =
                if is_wait { (ns, ReadWait::Waited) } else { (1000, ReadWait::None) };
            demand.observe(start_ns, start_ns + took, wait);
        }
        demand
    }

    #[test]
    fn a_stream_that_hardly_waits_is_calm_until_it_waits() {
        let new = StreamDemand::new(0.05, false);
        let window = u64::from(WINDOW);
        assert!(!after(new, window - 1, 1000, 100_000).is_calm());
        let calm = after(new, window, 1000, 100_000);
        assert!(calm.is_calm());
        assert!(after(calm, 2 * window, 1000, 100_000).is_calm());
        assert!(!after(calm, 100, 10, 100_000).is_calm());
        assert!(!after(new, 2 * window, 10, 100_000).is_calm());
    }

    #[test]
    fn a_stream_that_is_helped_is_not_calm_and_foreknowledge_has_more_time() {
        let mut helped = StreamDemand::new(0.05, false);
        helped.observe(0, 1000, ReadWait::Avoided);
        assert!(!after(helped, u64::from(WINDOW), u64::MAX, 0).is_calm());
        let foreknown = StreamDemand::new(0.05, true);
        let window = u64::from(FIRST_FOREKNOWN_WINDOW);
        assert!(!after(foreknown, window - 1, 1000, 100_000).is_calm());
        assert!(after(foreknown, window, 1000, 100_000).is_calm());
    }
}
