// SPDX-License-Identifier: MIT OR Apache-2.0

//! A small generator of loads: streams that read or write in turn, with jitter.

#![allow(dead_code, reason = "each test file uses a part of it")]

use ioracle_pattern::evaluation::LabelledRun;
use ioracle_pattern::{PatternConfig, Request, RequestKind, Slicer};

/// A load on a server.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub kind: RequestKind,
    pub n_files: u64,
    pub n_streams: u64,
    pub size: u64,
    /// From the start of a request of a stream to that of its next one.
    pub stride: Option<u64>,
    pub per_second: u64,
    pub n_slices: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            kind: RequestKind::Read,
            n_files: 1,
            n_streams: 1,
            size: 4096,
            stride: None,
            per_second: 1000,
            n_slices: 5,
        }
    }
}

/// The least one needs for reproducible noise.
pub struct Noise(pub u64);

impl Noise {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

impl Load {
    /// The requests of one run.
    pub fn requests(&self, seed: u64) -> Vec<Request> {
        let mut noise = Noise(seed.wrapping_mul(77).wrapping_add(13));
        let mut positions = vec![0_u64; self.n_streams as usize];
        let first_file = 1000 * seed;
        let period_ns = 1_000_000_000 / self.per_second;
        let request = |index: u64| {
            let stream = (index + noise.below(3)) % self.n_streams;
            let position = &mut positions[stream as usize];
            let offset = (stream << 32) / self.n_files + *position;
            *position += self.stride.unwrap_or(self.size);
            Request {
                time_ns: index * period_ns + noise.below(period_ns),
                file: first_file + stream % self.n_files,
                kind: self.kind,
                offset,
                size: self.size,
            }
        };
        (0..self.per_second * self.n_slices).map(request).collect()
    }

    /// The same cut into patterns.
    pub fn run(&self, label: u32, seed: u64) -> LabelledRun {
        let mut slicer = Slicer::new(PatternConfig::server());
        let requests = self.requests(seed);
        let mut patterns: Vec<_> =
            requests.iter().filter_map(|request| slicer.observe(request)).collect();
        patterns.extend(slicer.finish());
        LabelledRun { label, patterns }
    }
}

/// So many runs of each load, which is their label.
pub fn runs(loads: &[Load], n_repetitions: u64) -> Vec<LabelledRun> {
    let labelled = loads.iter().enumerate();
    labelled
        .flat_map(|(label, load)| {
            (0..n_repetitions).map(move |seed| load.run(label as u32, seed + 100 * label as u64))
        })
        .collect()
}
