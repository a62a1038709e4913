// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a program waits for its storage at all: where everything is in the cache,
//! there is nothing to win.

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
