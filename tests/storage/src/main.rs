// SPDX-License-Identifier: MIT OR Apache-2.0

//! Slow storage for tests: a FUSE file system that passes everything through to a
//! directory, each read and write after a set latency, all of them together at a
//! set bandwidth.
//!
//! Latencies of several requests overlap, their transfers do not: so many
//! requests at a time hide latency but bring no bandwidth, as on a network file
//! system. SIGSTOP makes it a dead mount. It unmounts when it gets SIGTERM or
//! SIGINT, and by itself after `--seconds`.

#![forbid(unsafe_code)]

mod pace;
mod pass_through;

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use fuser::{Config, MountOption};

use pace::Pace;
use pass_through::{Caching, PassThrough};

/// Requests that are served at a time.
const THREADS: usize = 32;

/// Mounts a slow view of a directory and serves it until it is ended.
#[derive(Parser)]
#[command(name = "slow-storage")]
struct Arguments {
    /// The directory that holds the data.
    source: PathBuf,
    /// Where to mount the slow view of it.
    mount_point: PathBuf,
    /// Latency of each read and write, in microseconds.
    #[arg(long, default_value_t = 1000)]
    latency_us: u64,
    /// Bandwidth of all reads and writes together, in MB/s; 0 for no limit.
    #[arg(long, default_value_t = 200)]
    bandwidth: u64,
    /// Latencies vary by this share.
    #[arg(long, default_value_t = 0.0)]
    jitter: f64,
    /// Opening a file keeps what the kernel has cached of it.
    #[arg(long)]
    keep_cache: bool,
    /// The kernel caches nothing.
    #[arg(long, conflicts_with = "keep_cache")]
    direct_io: bool,
    /// Unmount after so long at the latest.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let latency = Duration::from_micros(arguments.latency_us);
    let pace = Pace::new(latency, arguments.bandwidth * 1_000_000, arguments.jitter);
    let caching = match (arguments.keep_cache, arguments.direct_io) {
        (_, true) => Caching::None,
        (true, _) => Caching::Kept,
        _ => Caching::WhileOpen,
    };
    let source = arguments.source.canonicalize();
    let source = source.with_context(|| format!("no directory {:?}", arguments.source))?;
    let file_system = PassThrough::new(source, pace, caching);
    let mut options = Config::default();
    options.mount_options =
        vec![MountOption::FSName("slow-storage".to_owned()), MountOption::DefaultPermissions];
    options.n_threads = Some(THREADS);
    options.clone_fd = true;
    let (end, ended) = mpsc::channel();
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
    ])?;
    thread::spawn(move || signals.forever().next().map(|_| end.send(())));
    let session = fuser::spawn_mount(file_system, &arguments.mount_point, &options)
        .with_context(|| format!("could not mount at {:?}", arguments.mount_point))?;
    // Whoever started us waits for this line.
    println!("mounted");
    let _ = ended.recv_timeout(Duration::from_secs(arguments.seconds));
    match session.umount_and_join() {
        // Somebody else has unmounted it.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
        ended => ended.context("could not unmount"),
    }
}
