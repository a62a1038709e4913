// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules on what processes share: blocks of files, collective calls, and the
//! limit on open files.

use std::collections::HashMap;

use ioracle_events::{Access, FileId};

use super::files::{about, named};
use super::rules::{MANY, OPEN_FILES};
use super::{Held, Measured, busiest, is_most};
use crate::file_groups::{FileGroup, FileKind};
use crate::numbers::{bytes, grouped};
use crate::tally::{Accesses, LOCKED_BYTES, TransferTally};

/// The findings on shared files, and on files open at once.
pub fn held(measured: &Measured) -> Vec<Held> {
    let mut shared: HashMap<&str, TransferTally> = HashMap::new();
    let by_file: HashMap<FileId, TransferTally> = measured.tally.written_blocks.shared();
    for (file, writes) in &by_file {
        if let Some(group) = measured.groups.of(*file) {
            shared.entry(&group.path).or_default().join(writes);
        }
    }
    let groups = measured.groups.groups.iter().filter(|group| group.kind == FileKind::Data);
    let mut held: Vec<Held> = Vec::new();
    for group in groups {
        let writes = shared.get(group.path.as_str()).copied().unwrap_or_default();
        // Pieces that MPI could merge are not the writer's fault.
        let unbuffered =
            unbuffered(group, Access::Write).or_else(|| unbuffered(group, Access::Read));
        held.extend(unbuffered.or_else(|| contended(group, &writes)));
    }
    held.extend(many_open(measured));
    held
}

/// Blocks that several processes write.
fn contended(group: &FileGroup, writes: &TransferTally) -> Option<Held> {
    let all = group.tally.written.moved.operations;
    if writes.operations < MANY || !is_most(writes.operations, all) {
        return None;
    }
    let seen = format!(
        "{} of {} writes to {}, {} on average, go to blocks of 1 MiB that several processes write",
        grouped(writes.operations),
        grouped(all),
        named(group),
        bytes(writes.mean_bytes())
    );
    let remedy = "let each block be written by one rank (collective calls, or regions of ranks \
                  that are multiples of the stripe)";
    Some(Held {
        seen,
        remedy: remedy.to_owned(),
        functions: busiest(&group.tally.calls, |function| function.access() == Access::Write),
        is_minor: true,
        ..about(group, "shared_blocks", writes)
    })
}

/// Collective calls whose pieces every rank reads or writes separately.
fn unbuffered(group: &FileGroup, access: Access) -> Option<Held> {
    let tally = &group.tally;
    let (collective, done): (&TransferTally, &Accesses) = match access {
        Access::Read => (&tally.collective_reads, &tally.read),
        _ => (&tally.collective_writes, &tally.written),
    };
    let is_small = done.moved.mean_bytes() < LOCKED_BYTES;
    if collective.operations < MANY
        || done.within_library < collective.operations
        || done.processes.n() < 2
        || !is_small
    {
        return None;
    }
    let (noun, of) = if access == Access::Read { ("reads", "of") } else { ("writes", "to") };
    let seen = format!(
        "{} collective {noun} {of} {} become {} POSIX {noun} of {} on average, by several processes",
        grouped(collective.operations),
        named(group),
        grouped(done.moved.operations),
        bytes(done.moved.mean_bytes())
    );
    let remedy = "let MPI combine the pieces of the ranks (hints romio_cb_write and \
                  romio_cb_read, cb_nodes, cb_buffer_size)";
    Some(Held {
        seen,
        remedy: remedy.to_owned(),
        functions: busiest(&tally.calls, |function| function.access() == access),
        ..about(group, "no_collective_buffering", &done.moved)
    })
}

/// Files that a process has open at once.
fn many_open(measured: &Measured) -> Option<Held> {
    let most = measured.tally.open_files.most();
    if most < OPEN_FILES {
        return None;
    }
    let opened = measured.groups.groups.iter().filter(|group| group.kind == FileKind::Data);
    let largest = opened.max_by_key(|group| (group.tally.opens, &group.path))?;
    let seen = format!(
        "a process had {} files open at once, most of them {}",
        grouped(most),
        named(largest)
    );
    Some(Held {
        seen,
        remedy: "close files after use, before the program reaches its limit (ulimit -n)"
            .to_owned(),
        functions: busiest(&largest.tally.calls, |function| function.access() == Access::Open),
        is_minor: true,
        is_risk: true,
        ..about(largest, "many_open", &largest.tally.metadata)
    })
}

#[cfg(test)]
mod tests {
    use ioracle_events::Event;

    use super::super::tests::found;
    use crate::tally::tests::event;

    /// Writes of 40 KiB by four processes: in turn, or each in its own region.
    fn writes(by_turns: bool) -> impl Iterator<Item = Event> {
        (0..400).map(move |n| {
            let (process, turn) = (n % 4, n / 4);
            let offset = match by_turns {
                true => n * 40_960,
                false => (process << 26) + turn * 40_960,
            };
            let mut write = event("pwrite", 1, Some((offset, 40_960)));
            write.stream.rank = process as u32;
            write
        })
    }

    #[test]
    fn blocks_that_several_processes_write_are_told() {
        let given = found(writes(true));
        assert!(
            given[0].starts_with(
                "400 of 400 writes to 'file-b', 41.0 KB on average, go to blocks of 1 MiB that \
                 several processes write, taking"
            ),
            "{given:?}"
        );
        assert_eq!(found(writes(false)), Vec::<String>::new());
    }

    /// Collective writes of four ranks with one or four processes that write.
    fn collective(n_writers: u64, piece: u64) -> Vec<String> {
        let events = (0..400).flat_map(move |n| {
            let (process, turn) = (n % 4, n / 4);
            let place = Some(((turn * 4 + process) * piece, piece));
            let mut call = event("mpi_write_at_all", 1, place);
            call.stream.rank = process as u32;
            let mut inner = Event { depth: 1, ..event("pwrite", 1, place) };
            inner.stream.rank = process as u32;
            let is_writer = process < n_writers;
            [Some(call), is_writer.then_some(inner)].into_iter().flatten()
        });
        found(events)
    }

    #[test]
    fn collective_calls_without_collective_buffering_are_told() {
        let given = collective(4, 40_960);
        assert!(
            given[0].starts_with(
                "400 collective writes to 'file-b' become 400 POSIX writes of 41.0 KB on average"
            ),
            "{given:?}"
        );
        let is_told = |given: &[String]| given.iter().any(|it| it.contains("collective writes"));
        assert!(!is_told(&collective(1, 40_960)), "one process writes for all");
        assert!(!is_told(&collective(4, 4 << 20)), "pieces are large");
    }

    /// A process that opens many files and closes them at the end, or each before the
    /// next.
    fn opens(n: u32, is_closed_early: bool) -> Vec<String> {
        let open = |file: u32| Event { handle: file.into(), ..event("open", 10 + file, None) };
        let close = |file: u32| Event { handle: file.into(), ..event("close", 10 + file, None) };
        let events: Vec<Event> = match is_closed_early {
            true => (0..n).flat_map(|file| [open(file), close(file)]).collect(),
            false => (0..n).map(open).chain((0..n).map(close)).collect(),
        };
        let found = found(events.into_iter());
        found.into_iter().filter(|it| it.contains("open at once")).collect()
    }

    #[test]
    fn very_many_open_files_are_told() {
        let given = opens(600, false);
        assert!(
            given[0].starts_with("a process had 600 files open at once, most of them 'dump_*.dat'"),
            "{given:?}"
        );
        assert_eq!(opens(600, true), Vec::<String>::new());
        assert_eq!(opens(500, false), Vec::<String>::new());
    }
}
