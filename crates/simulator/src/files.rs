// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the files of a benchmark lie.

use crate::cluster::{ClusterConfig, DeviceModel};
use crate::rng::SimulationRng;
use crate::striping::Striping;
use crate::workload::{AccessLayout, SimulatedBenchmark};

/// Every file is contiguous on each server; the files of a benchmark lie one
/// behind the other, in the random order in which they were created.
#[derive(Debug)]
pub(crate) struct Files {
    stripings: Vec<Striping>,
    /// By file, then by server.
    addresses: Vec<u64>,
    n_servers: usize,
}

impl Files {
    pub(crate) fn create(
        config: &ClusterConfig,
        benchmark: &SimulatedBenchmark,
        rng: &mut SimulationRng,
    ) -> Files {
        let sizes: Vec<u64> = benchmark
            .instances
            .iter()
            .flat_map(|&count| {
                let n_files =
                    if benchmark.layout == AccessLayout::FilePerProcess { count } else { 1 };
                (0..n_files).map(move |_| benchmark.file_bytes(count))
            })
            .collect();
        let n_servers = u64::from(config.n_servers);
        let striping =
            |first_server| Striping { n_servers, strip_bytes: config.strip_bytes, first_server };
        let stripings: Vec<Striping> =
            sizes.iter().map(|_| striping(rng.below(n_servers))).collect();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        rng.shuffle(&mut order);
        let mut addresses = vec![0; sizes.len() * config.n_servers as usize];
        for server in 0..config.n_servers as usize {
            // Every run finds another part of the disk free.
            let mut address = match config.device {
                DeviceModel::Disk(disk) => rng.below(disk.capacity_bytes / 2),
                DeviceModel::Ssd(_) => 0,
            };
            for &file in &order {
                addresses[file * config.n_servers as usize + server] = address;
                address += stripings[file].bytes_before(server as u64, sizes[file]);
            }
        }
        Files { stripings, addresses, n_servers: config.n_servers as usize }
    }

    pub(crate) fn striping(&self, file: u32) -> Striping {
        self.stripings[file as usize]
    }

    /// Of the file's first byte on a server.
    pub(crate) fn address(&self, file: u32, server: u32) -> u64 {
        self.addresses[file as usize * self.n_servers + server as usize]
    }
}
