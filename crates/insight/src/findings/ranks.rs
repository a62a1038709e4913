// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules on ranks: one that writes for all, one that moves much more than others.

use ioracle_events::Access;

use super::files::all_data_ns;
use super::rules::{ONE_RANK, RANK_BYTES, UNEVEN};
use super::{Held, Measured, busiest, is_most, nominal_ns};
use crate::file_groups::{FileGroup, FileKind};
use crate::numbers::bytes;
use crate::rank_groups::RankBytes;
use crate::tally::TransferTally;

/// The findings on ranks. The data of collective calls is moved by the ranks that MPI
/// chooses, often one of each machine: that says nothing about the program.
pub fn held(measured: &Measured) -> Option<Held> {
    if measured.ranks.len() < 2 || is_collective(measured) {
        return None;
    }
    let held = one_writes(measured.ranks).or_else(|| uneven(measured.ranks))?;
    Some(placed(measured, held))
}

fn is_collective(measured: &Measured) -> bool {
    let groups = measured.groups.groups.iter();
    let (mut collective, mut all) = (0_u64, 0_u64);
    for tally in groups.map(|group| &group.tally) {
        let calls = [&tally.collective_reads, &tally.collective_writes];
        collective = calls.iter().fold(collective, |sum, it| sum.saturating_add(it.bytes));
        all = all.saturating_add(moved_bytes(&tally.read.moved, &tally.written.moved));
    }
    is_most(collective, all)
}

fn moved_bytes(read: &TransferTally, written: &TransferTally) -> u64 {
    read.bytes.saturating_add(written.bytes)
}

/// With the files that most of the data is in, and the functions that move it.
fn placed(measured: &Measured, held: Held) -> Held {
    let writes_alone = held.kind == "one_rank_writes";
    let size = |group: &&FileGroup| match writes_alone {
        true => group.tally.written.moved.bytes,
        false => moved_bytes(&group.tally.read.moved, &group.tally.written.moved),
    };
    let data = measured.groups.groups.iter().filter(|group| group.kind == FileKind::Data);
    let Some(group) = data.max_by_key(|group| (size(group), &group.path)) else { return held };
    let is_wanted = |access: Access| match writes_alone {
        true => access == Access::Write,
        false => access.is_data(),
    };
    // Calls of stdio that its buffers collect are counted for each rank, too.
    let nominal_ns = held.nominal_ns.min(all_data_ns(measured));
    Held {
        path: Some(group.path.clone()),
        n_files: group.n_files,
        functions: busiest(&group.tally.calls, |function| is_wanted(function.access())),
        nominal_ns,
        ..held
    }
}

fn one_writes(ranks: &[RankBytes]) -> Option<Held> {
    let all = ranks.iter().map(|rank| rank.written.bytes).fold(0, u64::saturating_add);
    let most = ranks.iter().max_by_key(|rank| rank.written.bytes)?;
    if all < RANK_BYTES || most.written.bytes / ONE_RANK < all / 100 {
        return None;
    }
    let seen = format!(
        "rank {} wrote {} of the {} that all ranks wrote",
        most.rank,
        bytes(most.written.bytes),
        bytes(all)
    );
    let remedy = "let all ranks write (collective MPI-IO, parallel HDF5 or netCDF)";
    Some(about("one_rank_writes", most.written, seen, remedy))
}

fn uneven(ranks: &[RankBytes]) -> Option<Held> {
    let moved = |rank: &RankBytes| rank.read.bytes.saturating_add(rank.written.bytes);
    let all = ranks.iter().map(moved).fold(0, u64::saturating_add);
    let most = ranks.iter().max_by_key(|rank| moved(rank))?;
    let mean = all / ranks.len() as u64;
    if all < RANK_BYTES || moved(most) < mean.saturating_mul(UNEVEN) {
        return None;
    }
    let seen = format!(
        "rank {} moved {}, {:.1} times the mean of all ranks",
        most.rank,
        bytes(moved(most)),
        moved(most) as f64 / mean.max(1) as f64
    );
    let mut both = most.read;
    both.join(&most.written);
    let remedy = "distribute the data evenly, or use collective calls, which do so";
    Some(Held { is_minor: true, ..about("uneven_ranks", both, seen, remedy) })
}

fn about(kind: &'static str, moved: TransferTally, seen: String, remedy: &str) -> Held {
    Held {
        kind,
        calls: moved.operations,
        bytes: moved.bytes,
        io_ns: moved.io_ns,
        nominal_ns: nominal_ns(&moved),
        seen,
        remedy: remedy.to_owned(),
        ..Held::default()
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::Event;

    use super::super::tests::found_in;
    use super::*;
    use crate::tally::tests::event;

    fn ranks(written: &[u64]) -> Vec<RankBytes> {
        let one = |(rank, &bytes): (u32, &u64)| {
            let written = TransferTally { operations: 1000, bytes, io_ns: bytes / 20 };
            RankBytes { rank, read: TransferTally::default(), written }
        };
        (0..).zip(written).map(one).collect()
    }

    fn said(written: &[u64]) -> Vec<String> {
        let found = found_in(std::iter::empty(), &ranks(written), &|_| String::new());
        found.into_iter().map(|it| it.sentence).collect()
    }

    #[test]
    fn one_rank_that_writes_for_all_is_reported() {
        let given = said(&[1_000_000_000, 10, 0]);
        assert!(
            given[0].starts_with("rank 0 wrote 1.0 GB of the 1.0 GB that all ranks wrote, taking"),
            "{given:?}"
        );
        assert!(said(&[1_000_000_000]).is_empty(), "a rank alone");
        assert!(said(&[9000, 10, 0]).is_empty(), "next to nothing");
    }

    /// One process of a machine writes what all ranks hand to a collective call.
    #[test]
    fn collective_calls_are_not_advised_to_who_makes_them() {
        let kinds = |function: &str| -> Vec<&str> {
            let events = (0..400).flat_map(|n| {
                let place = Some((n * 100_000, 100_000));
                let mut call = event(function, 1, place);
                call.stream.rank = n as u32 % 4;
                [call, Event { depth: 1, ..event("pwrite", 1, place) }]
            });
            let found = found_in(events, &ranks(&[40_000_000, 0, 0, 0]), &|_| "out".to_owned());
            found.into_iter().map(|it| it.kind).collect()
        };
        assert!(kinds("mpi_write_at").contains(&"one_rank_writes"));
        assert!(!kinds("mpi_write_at_all").contains(&"one_rank_writes"));
    }

    #[test]
    fn a_rank_that_moves_much_more_than_others_is_reported() {
        let even = [100_000_000; 4];
        assert!(said(&even).is_empty());
        let given = said(&[100_000_000, 100_000_000, 100_000_000, 700_000_000]);
        assert!(given[0].starts_with("rank 3 moved 700.0 MB, 2.8 times the mean"), "{given:?}");
    }
}
