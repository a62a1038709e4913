// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long a device takes for a batch of requests that lie one behind the
//! other.

use crate::cluster::{DeviceModel, DiskModel};
use crate::rng::SimulationRng;
use crate::workload::TransferKind;

/// A device with its state between requests.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    model: DeviceModel,
    /// Where the head is: behind the last byte.
    pub head: u64,
    /// 1 for a run at nominal speed; larger is slower.
    slowness: f64,
}

impl Device {
    pub(crate) fn new(model: DeviceModel, slowness: f64) -> Device {
        Device { model, head: 0, slowness }
    }

    /// Serves `bytes` from `address`, of which `joined_bytes` are those of
    /// requests that were joined, and says how long that takes.
    pub(crate) fn serve_ns(
        &mut self,
        address: u64,
        bytes: u64,
        joined_bytes: u64,
        kind: TransferKind,
        rng: &mut SimulationRng,
    ) -> u64 {
        let nominal_ns = match &self.model {
            DeviceModel::Ssd(ssd) => {
                let start_ns = match kind {
                    TransferKind::Read => ssd.read_ns,
                    TransferKind::Write => ssd.write_ns,
                };
                start_ns + transfer_ns(bytes, ssd.bytes_per_s)
            }
            DeviceModel::Disk(disk) => {
                let sync_ns = if kind == TransferKind::Write { disk.sync_ns } else { 0 };
                position_ns(disk, self.head, address, rng)
                    + transfer_ns(bytes, disk.bytes_per_s)
                    + disk.access_ns
                    + transfer_ns(joined_bytes, disk.copy_bytes_per_s)
                    + sync_ns
            }
        };
        self.head = address + bytes;
        (nominal_ns as f64 * self.slowness) as u64
    }
}

/// From the head's place to an address.
fn position_ns(disk: &DiskModel, head: u64, address: u64, rng: &mut SimulationRng) -> u64 {
    if address == head {
        return 0;
    }
    let track = disk.rotation_ns as f64 * 1e-9 * disk.bytes_per_s;
    let ahead = address.checked_sub(head).filter(|gap| (*gap as f64) < track);
    if let Some(gap) = ahead {
        return transfer_ns(gap, disk.bytes_per_s);
    }
    seek_ns(disk, head.abs_diff(address)) + rng.below(disk.rotation_ns)
}

fn seek_ns(disk: &DiskModel, distance: u64) -> u64 {
    let share = (distance as f64 / disk.capacity_bytes.max(1) as f64).min(1.0);
    let range = disk.full_seek_ns.saturating_sub(disk.settle_ns) as f64;
    disk.settle_ns + (range * share.sqrt()) as u64
}

/// At a constant rate.
pub(crate) fn transfer_ns(bytes: u64, bytes_per_s: f64) -> u64 {
    (bytes as f64 / bytes_per_s * 1e9) as u64
}
