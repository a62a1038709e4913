// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the command and the processes of a replay say to each other, over pipes.
//!
//! A process is sent its orders, then lines: `go NS` (begin at this time of the
//! monotonic clock), `release N` (signal N was given often enough). It answers with
//! lines: `ready`, `signal N`, `calls N` (so many more are done), and at the end
//! `result JSON` or `failed SENTENCE`.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use ioracle_bench::CallTimes;
use ioracle_forecast::{PlannedFile, PlannedProcess};
use serde::{Deserialize, Serialize};

/// Orders are no larger.
const MAX_ORDER_BYTES: u64 = 1 << 32;

/// What one process does.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplayOrders {
    /// The directory.
    #[serde(with = "ioracle_bench::path_bytes")]
    pub place: PathBuf,
    /// All files.
    pub files: Vec<PlannedFile>,
    /// Its part.
    pub process: PlannedProcess,
    /// Number of classes.
    pub n_classes: usize,
    /// Pauses are multiplied by it; 0 for none.
    pub think_scale: f64,
    /// The end of each pause that is spent busily, as the program itself did, nanoseconds.
    pub busy_ns: u64,
    /// How much smaller a compressor could make the data.
    pub compress_ratio: f64,
    /// When to end, after the beginning, nanoseconds.
    pub time_limit_ns: Option<u64>,
}

/// What it did.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ReplayResult {
    /// Times of the calls by class.
    pub classes: Vec<CallTimes>,
    /// How long collective calls waited for each other.
    pub waiting: CallTimes,
    /// Waits for another process that were given up.
    pub order_lost: u64,
    /// Calls that failed although the recorded ones did not.
    pub failures: u64,
    /// The first of them, in words.
    pub first_failure: Option<String>,
}

/// Sends orders.
pub fn send_orders(to: &mut impl Write, orders: &ReplayOrders) -> io::Result<()> {
    let bytes = postcard::to_stdvec(orders).map_err(io::Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Receives orders.
pub fn receive_orders(from: &mut impl Read) -> io::Result<ReplayOrders> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_ORDER_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

/// The monotonic clock, which all processes of a machine share.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
