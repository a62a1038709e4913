// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long requests take.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A latency for each request, and one bandwidth for all.
pub struct Pace {
    latency: Duration,
    /// 0 for no limit.
    bytes_per_s: u64,
    jitter: f64,
    state: Mutex<State>,
}

struct State {
    /// When the transfers that were accepted will have ended.
    free_at: Instant,
    random: u64,
}

impl Pace {
    /// Latencies vary by the share `jitter`, evenly to both sides.
    pub fn new(latency: Duration, bytes_per_s: u64, jitter: f64) -> Pace {
        let state = State { free_at: Instant::now(), random: 0x9e37_79b9_7f4a_7c15 };
        Pace { latency, bytes_per_s, jitter: jitter.clamp(0.0, 1.0), state: Mutex::new(state) }
    }

    /// Waits for as long as a request of so many bytes takes.
    pub fn wait(&self, bytes: u64) {
        let done_at = {
            let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let arrives_at = Instant::now() + self.latency.mul_f64(state.vary(self.jitter));
            let transfer = match self.bytes_per_s {
                0 => Duration::ZERO,
                rate => Duration::from_secs_f64(bytes as f64 / rate as f64),
            };
            state.free_at = state.free_at.max(arrives_at) + transfer;
            state.free_at
        };
        thread::sleep(done_at.saturating_duration_since(Instant::now()));
    }
}

impl State {
    /// A factor between 1 - share and 1 + share (xorshift, the same in every run).
    fn vary(&mut self, share: f64) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        1.0 + share * ((self.random >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    }
}
