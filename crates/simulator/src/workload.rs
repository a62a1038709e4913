// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the processes do: which bytes of which file each of them asks for, one
//! request after the other.

use std::fmt;

/// Whether bytes come from a file or go to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TransferKind {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

impl TransferKind {
    /// The letter in request traces.
    pub fn letter(self) -> char {
        match self {
            TransferKind::Read => 'r',
            TransferKind::Write => 'w',
        }
    }
}

impl fmt::Display for TransferKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransferKind::Read => "read",
            TransferKind::Write => "write",
        })
    }
}

/// Where the requests of a process lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessLayout {
    /// One file for all; each process has its own contiguous part of it.
    SharedContiguous,
    /// One file for all; the processes take turns request by request.
    SharedStrided,
    /// A file for each process, from its beginning to its end.
    FilePerProcess,
    /// One file for all; every request at a random multiple of its size.
    SharedRandom,
}

impl fmt::Display for AccessLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessLayout::SharedContiguous => "shared-contiguous",
            AccessLayout::SharedStrided => "shared-strided",
            AccessLayout::FilePerProcess => "file-per-process",
            AccessLayout::SharedRandom => "shared-random",
        })
    }
}

/// When a process makes its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// When the last one is answered, after a pause of this mean (exponential).
    Synchronous {
        /// The mean pause.
        think_ns: u64,
    },
    /// As a Poisson process that waits for no answer. Not for clusters with
    /// forwarding nodes, where a process has one request at a time.
    Poisson {
        /// The mean time between two requests.
        mean_ns: u64,
    },
}

/// One benchmark: one or more instances of the same program at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedBenchmark {
    /// Where requests lie.
    pub layout: AccessLayout,
    /// What they do.
    pub kind: TransferKind,
    /// Bytes of a request of the application.
    pub request_bytes: u64,
    /// Processes of each instance; every instance has its own files.
    pub instances: Vec<u32>,
    /// Bytes that each process reads or writes; rounded down to whole requests,
    /// at least one.
    pub bytes_per_process: u64,
    /// When they are made.
    pub pacing: Pacing,
}

impl SimulatedBenchmark {
    /// A name such as `shared-strided-read-32k-64+64`.
    pub fn label(&self) -> String {
        let mut label = format!("{}-{}-{}", self.layout, self.kind, size_name(self.request_bytes));
        if self.instances.len() > 1 {
            let counts: Vec<String> = self.instances.iter().map(u32::to_string).collect();
            label.push('-');
            label.push_str(&counts.join("+"));
        }
        label
    }

    /// Requests of each process.
    pub fn requests_per_process(&self) -> u64 {
        (self.bytes_per_process / self.request_bytes.max(1)).max(1)
    }

    /// Of all processes together.
    pub fn total_bytes(&self) -> u64 {
        self.n_processes() * self.requests_per_process() * self.request_bytes
    }

    /// Of all instances.
    pub fn n_processes(&self) -> u64 {
        self.instances.iter().map(|count| u64::from(*count)).sum()
    }

    /// Bytes of each file of an instance of so many processes.
    pub(crate) fn file_bytes(&self, n_processes: u32) -> u64 {
        let own = self.requests_per_process() * self.request_bytes;
        match self.layout {
            AccessLayout::FilePerProcess => own,
            _ => own * u64::from(n_processes),
        }
    }

    /// Where in its file request `index` of process `process` begins. A random
    /// layout draws `random` below the number of requests of the file.
    pub(crate) fn offset(
        &self,
        process: u32,
        n_processes: u32,
        index: u64,
        random: impl FnOnce(u64) -> u64,
    ) -> u64 {
        let n_requests = self.requests_per_process();
        let (process, n_processes) = (u64::from(process), u64::from(n_processes));
        let number = match self.layout {
            AccessLayout::SharedContiguous => process * n_requests + index,
            AccessLayout::SharedStrided => index * n_processes + process,
            AccessLayout::FilePerProcess => index,
            AccessLayout::SharedRandom => random(n_processes * n_requests),
        };
        number * self.request_bytes
    }
}

fn size_name(bytes: u64) -> String {
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => format!("{bytes}b"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmark(layout: AccessLayout) -> SimulatedBenchmark {
        SimulatedBenchmark {
            layout,
            kind: TransferKind::Read,
            request_bytes: 32 << 10,
            instances: vec![64, 32],
            bytes_per_process: 1 << 20,
            pacing: Pacing::Synchronous { think_ns: 0 },
        }
    }

    #[test]
    fn a_label_tells_all_parameters() {
        assert_eq!(benchmark(AccessLayout::SharedStrided).label(), "shared-strided-read-32k-64+32");
    }

    #[test]
    fn layouts_cover_each_file_once() {
        for layout in [AccessLayout::SharedContiguous, AccessLayout::SharedStrided] {
            let benchmark = benchmark(layout);
            let mut offsets: Vec<u64> = (0..32)
                .flat_map(|process| (0..32).map(move |index| (process, index)))
                .map(|(process, index)| benchmark.offset(process, 32, index, |_| 0))
                .collect();
            offsets.sort_unstable();
            let expected: Vec<u64> = (0..1024).map(|number| number * (32 << 10)).collect();
            assert_eq!(offsets, expected);
            assert_eq!(benchmark.file_bytes(32), 1024 * (32 << 10));
        }
    }
}
