// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules on groups of files.

use std::collections::HashSet;

use ioracle_events::{Access, Function, readable};

use super::rules::{
    AGAIN_BYTES, AGAIN_TIMES, JUMP_BYTES, LIBRARY_OPENS, MANY, METADATA_CALLS, METADATA_SHARE,
    REOPENS, SEVERAL_IN_FILE, SEVERAL_SYNCS, STDIO_BYTES, STDIO_PIECE, STDIO_SHARE, nominal,
};
use super::{Held, Measured, busiest, is_most, nominal_ns};
use crate::file_groups::{FileGroup, FileKind};
use crate::numbers::{bytes, counted, grouped};
use crate::tally::{Accesses, CountedLibrary, SMALL, TransferTally};

/// The findings on files. If something was found about the variables of a file, the
/// calls that its library makes are not reported separately.
pub fn held(measured: &Measured, by_variable: &HashSet<String>) -> Vec<Held> {
    let is_data = |group: &&FileGroup| group.kind == FileKind::Data;
    let groups = measured.groups.groups.iter().filter(is_data);
    let of_groups = groups.flat_map(|group| {
        let is_explained = by_variable.contains(&group.path);
        let found = [
            accesses(group, Access::Write, is_explained),
            accesses(group, Access::Read, is_explained),
            stdio_bulk(measured, group),
            syncs(group),
            reopened(group),
            read_again(group),
            library_opens(group),
            misaligned(group),
        ];
        found.into_iter().flatten()
    });
    of_groups.chain(many_files(measured)).chain(metadata_storm(measured)).collect()
}

/// Thousands of queries to the file system, for any files.
fn metadata_storm(measured: &Measured) -> Option<Held> {
    let metadata = &measured.tally.metadata;
    let requests = metadata.requests();
    if requests.operations < METADATA_CALLS {
        return None;
    }
    let functions = busiest(&metadata.calls, |function| function != Function::Readdir);
    let failed = match metadata.failed {
        0 => String::new(),
        n => format!(", {} of which found nothing", grouped(n)),
    };
    let seen = format!(
        "{} calls asked the file system for metadata ({}){failed}",
        grouped(requests.operations),
        functions.join(", ")
    );
    let remedy = "ask once and keep the answer, open files instead of testing for them first, and \
                  in a parallel job let one rank ask for all";
    Some(Held {
        kind: "metadata_storm",
        calls: requests.operations,
        io_ns: requests.io_ns,
        nominal_ns: requests.operations.saturating_mul(nominal::METADATA_NS),
        functions,
        seen,
        remedy: remedy.to_owned(),
        ..Held::default()
    })
}

/// `'dump_*.sdf' (21 files)`.
pub fn named(group: &FileGroup) -> String {
    let path = readable(&group.path);
    match group.n_files {
        1 => format!("'{path}'"),
        n => format!("'{path}' ({} files)", grouped(n as u64)),
    }
}

/// A rule that applies to a group, about some of its calls.
pub fn about(group: &FileGroup, kind: &'static str, moved: &TransferTally) -> Held {
    Held {
        kind,
        path: Some(group.path.clone()),
        n_files: group.n_files,
        calls: moved.operations,
        bytes: moved.bytes,
        io_ns: moved.io_ns,
        nominal_ns: nominal_ns(moved),
        ..Held::default()
    }
}

/// Words for one direction of data.
struct Way {
    kinds: [&'static str; 2],
    noun: &'static str,
    preposition: &'static str,
    verb: &'static str,
}

const READS: Way = Way {
    kinds: ["small_reads", "scattered_reads"],
    noun: "reads",
    preposition: "of",
    verb: "get",
};
const WRITES: Way = Way {
    kinds: ["small_writes", "scattered_writes"],
    noun: "writes",
    preposition: "to",
    verb: "move",
};

/// The first of these that applies: a buffer does not help with jumps.
fn accesses(group: &FileGroup, access: Access, is_explained: bool) -> Option<Held> {
    let (done, way) = match access {
        Access::Read => (&group.tally.read, READS),
        _ => (&group.tally.written, WRITES),
    };
    let by_library = is_most(done.within_library, done.moved.operations);
    if by_library && is_explained {
        return None;
    }
    let library =
        group.tally.library_calls.first().and_then(|(function, _)| CountedLibrary::of(*function));
    let library = library.filter(|_| by_library);
    let held = scattered(group, done, &way).or_else(|| small(group, done, &way))?;
    let functions = busiest(&group.tally.calls, |function| function.access() == access);
    let remedy = remedy(held.kind, library);
    Some(Held { functions, library, remedy: remedy.to_owned(), ..held })
}

fn small(group: &FileGroup, done: &Accesses, way: &Way) -> Option<Held> {
    let small = done.small();
    // Files that are small themselves are a matter of the rule on many files.
    let many = MANY.max(SEVERAL_IN_FILE * group.n_files as u64);
    if small.operations < many || !is_most(small.operations, done.moved.operations) {
        return None;
    }
    let seen = format!(
        "{} {} {} {} {} {} on average",
        grouped(small.operations),
        way.noun,
        way.preposition,
        named(group),
        way.verb,
        bytes(small.mean_bytes())
    );
    Some(Held { seen, ..about(group, way.kinds[0], &small) })
}

fn scattered(group: &FileGroup, done: &Accesses, way: &Way) -> Option<Held> {
    let jumps = done.jumps;
    let at_most = if way.noun == READS.noun { JUMP_BYTES } else { SMALL };
    if jumps.operations < MANY
        || !is_most(jumps.operations, done.moved.operations)
        || jumps.mean_bytes() >= at_most
    {
        return None;
    }
    let seen = format!(
        "{} of {} {} {} {} jump to another place and {} {} on average",
        grouped(jumps.operations),
        grouped(done.moved.operations),
        way.noun,
        way.preposition,
        named(group),
        way.verb,
        bytes(jumps.mean_bytes())
    );
    Some(Held { seen, ..about(group, way.kinds[1], &jumps) })
}

/// What to do depends on who makes the calls.
fn remedy(kind: &str, library: Option<CountedLibrary>) -> &'static str {
    match (kind, library) {
        ("small_writes", None) => {
            "collect them in a buffer of some 100 KB or more (setvbuf, or a buffered writer)"
        }
        ("small_reads", None) => {
            "read larger pieces at once (a buffer of some 100 KB: setvbuf, or a buffered reader)"
        }
        ("scattered_writes", None) => "write in order, or collect the data and sort it first",
        ("scattered_reads", None) => "read in order, or in one piece if it fits into memory",
        (_, Some(CountedLibrary::Hdf5)) => {
            "HDF5 makes them: access larger parts of datasets, or enlarge its buffers \
             (H5Pset_sieve_buf_size, H5Pset_chunk_cache, H5Pset_meta_block_size)"
        }
        (_, Some(CountedLibrary::NetCdf)) => {
            "netCDF makes them: access larger parts of variables, or give it a larger buffer \
             (nc__open with bufrsizehintp, nc_set_chunk_cache)"
        }
        (_, Some(CountedLibrary::PnetCdf | CountedLibrary::MpiIo)) => {
            "MPI-IO makes them: use collective calls, or larger buffers (hints cb_buffer_size, \
             ind_rd_buffer_size, ind_wr_buffer_size)"
        }
        (_, None) => "access larger pieces at once",
    }
}

/// Much data through the small buffer of a stream.
fn stdio_bulk(measured: &Measured, group: &FileGroup) -> Option<Held> {
    let mut moved = group.tally.read.stdio;
    moved.join(&group.tally.written.stdio);
    let all = measured.tally.read.bytes.saturating_add(measured.tally.written.bytes);
    if moved.bytes < STDIO_BYTES
        || moved.bytes / STDIO_SHARE < all / 100
        || moved.mean_bytes() >= STDIO_PIECE
    {
        return None;
    }
    let seen = format!(
        "{} of {} went through the small buffer of stdio, {} per call",
        bytes(moved.bytes),
        named(group),
        bytes(moved.mean_bytes())
    );
    let remedy = "give the stream a buffer of 1 MB or more (setvbuf), or use read and write";
    let functions = busiest(&group.tally.calls, |function| function.access().is_data());
    Some(Held { seen, remedy: remedy.to_owned(), functions, ..about(group, "stdio_bulk", &moved) })
}

fn syncs(group: &FileGroup) -> Option<Held> {
    let syncs = group.tally.syncs;
    if syncs.operations < SEVERAL_SYNCS {
        return None;
    }
    let was = if group.n_files == 1 { "was" } else { "were" };
    let seen = format!("{} {was} synced {} times", named(group), grouped(syncs.operations));
    let remedy = "sync once, after the last write of a step, unless each sync is needed for crash \
                  safety (as in a database)";
    let functions = busiest(&group.tally.calls, |function| function.access() == Access::Sync);
    let nominal_ns = syncs.operations.saturating_mul(nominal::SYNC_NS);
    Some(Held {
        seen,
        remedy: remedy.to_owned(),
        functions,
        nominal_ns,
        ..about(group, "syncs", &syncs)
    })
}

fn reopened(group: &FileGroup) -> Option<Held> {
    let tally = &group.tally;
    if tally.opens < MANY || tally.opens < REOPENS * group.n_files as u64 {
        return None;
    }
    let was = if group.n_files == 1 { "was" } else { "were" };
    let seen = format!("{} {was} opened and closed {} times", named(group), grouped(tally.opens));
    let functions = busiest(&tally.calls, |function| function.access() == Access::Open);
    let nominal_ns = tally.metadata.operations.saturating_mul(nominal::METADATA_NS);
    Some(Held {
        seen,
        remedy: "keep files open between uses".to_owned(),
        functions,
        nominal_ns,
        ..about(group, "reopened", &tally.metadata)
    })
}

/// The same bytes again and again, by one process or by each of several.
fn read_again(group: &FileGroup) -> Option<Held> {
    let done = &group.tally.read;
    let (read, extent) = (done.moved.bytes, done.extent.bytes());
    if read < AGAIN_BYTES || extent == 0 || read < AGAIN_TIMES * extent {
        return None;
    }
    let again = 1.0 - extent as f64 / read as f64;
    let part = |n: u64| (n as f64 * again) as u64;
    let moved = TransferTally { io_ns: part(done.moved.io_ns), bytes: read - extent, ..done.moved };
    let n_processes = done.processes.n() as u64;
    let is_by_all = n_processes >= AGAIN_TIMES && read / n_processes <= extent;
    let times = read as f64 / extent as f64;
    let (kind, seen, remedy) = if is_by_all {
        let seen = format!(
            "{} read {} from the same {} of {}, {times:.1} times as much",
            counted(n_processes, "process"),
            bytes(read),
            bytes(extent),
            named(group)
        );
        let remedy = "let one rank read and send the data to the others (MPI_Bcast), or read \
                      collectively (MPI_File_read_all)";
        ("read_by_all", seen, remedy)
    } else {
        let seen = format!(
            "{} were read from {} of {}, each byte {times:.1} times on average",
            bytes(read),
            bytes(extent),
            named(group)
        );
        ("read_again", seen, "keep what was read in memory")
    };
    let functions = busiest(&group.tally.calls, |function| function.access() == Access::Read);
    let nominal_ns = part(nominal_ns(&done.moved));
    Some(Held {
        seen,
        remedy: remedy.to_owned(),
        functions,
        nominal_ns,
        ..about(group, kind, &moved)
    })
}

/// Opens and closes that are expensive in a library.
fn library_opens(group: &FileGroup) -> Option<Held> {
    let is_open = |function: Function| {
        let is_file = matches!(function.access(), Access::Open | Access::Close);
        is_file && !matches!(CountedLibrary::of(function), None | Some(CountedLibrary::MpiIo))
    };
    let calls = group.tally.library_calls.iter().filter(|(function, _)| is_open(*function));
    let mut moved = TransferTally::default();
    calls.for_each(|(_, calls)| moved.join(calls));
    if moved.operations < LIBRARY_OPENS {
        return None;
    }
    let functions = busiest(&group.tally.library_calls, is_open);
    let seen = format!(
        "{} called {} times on {}",
        match functions.as_slice() {
            [only] => format!("{only} was"),
            [first, .., last] => format!("{first} and {last} were"),
            [] => String::new(),
        },
        grouped(moved.operations),
        named(group)
    );
    let remedy = "keep files open between uses, or put the data into fewer files";
    let nominal_ns = moved.operations.saturating_mul(nominal::LIBRARY_OPEN_NS);
    Some(Held {
        seen,
        remedy: remedy.to_owned(),
        functions,
        nominal_ns,
        ..about(group, "library_opens", &moved)
    })
}

/// Writes of several processes that share blocks.
fn misaligned(group: &FileGroup) -> Option<Held> {
    let done = &group.tally.written;
    if done.processes.n() < 2
        || done.misaligned < MANY
        || !is_most(done.misaligned, done.moved.operations)
    {
        return None;
    }
    let seen = format!(
        "{} of {} writes to {}, by several processes, do not begin at a multiple of 4 KiB",
        grouped(done.misaligned),
        grouped(done.moved.operations),
        named(group)
    );
    let remedy = "align what each rank writes (H5Pset_alignment, nc_def_var_chunking, hint \
                  striping_unit)";
    let functions = busiest(&group.tally.calls, |function| function.access() == Access::Write);
    Some(Held {
        seen,
        remedy: remedy.to_owned(),
        functions,
        calls: done.misaligned,
        is_minor: true,
        ..about(group, "misaligned_writes", &done.moved)
    })
}

/// Opening and closing are much of all I/O, spread over many data files.
fn many_files(measured: &Measured) -> Option<Held> {
    let data = measured.groups.groups.iter().filter(|group| group.kind == FileKind::Data);
    let opened: Vec<&FileGroup> = data
        .filter(|group| group.tally.opens > 0 && group.tally.opens < REOPENS * group.n_files as u64)
        .collect();
    let n_files: usize = opened.iter().map(|group| group.n_files).sum();
    let mut moved = TransferTally::default();
    opened.iter().for_each(|group| moved.join(&group.tally.metadata));
    let nominal_ns = moved.operations.saturating_mul(nominal::METADATA_NS);
    if (n_files as u64) < MANY
        || nominal_ns.saturating_mul(100) < all_data_ns(measured).saturating_mul(METADATA_SHARE)
    {
        return None;
    }
    let largest = opened.iter().max_by_key(|group| group.n_files)?;
    let seen = match opened.len() {
        1 => format!("{} were opened and closed", named(largest)),
        _ => format!(
            "{} were opened and closed, most of them {}",
            counted(n_files as u64, "file"),
            named(largest)
        ),
    };
    Some(Held {
        n_files,
        nominal_ns,
        seen,
        remedy: "put the data into fewer, larger files".to_owned(),
        functions: busiest(&largest.tally.calls, |function| function.access() == Access::Open),
        ..about(largest, "many_files", &moved)
    })
}

/// The nominal cost of all I/O of data files.
pub fn all_data_ns(measured: &Measured) -> u64 {
    all_nominal_ns(measured, |group| group.kind == FileKind::Data)
}

/// The nominal cost of all I/O of these files.
pub fn all_nominal_ns(measured: &Measured, wanted: impl Fn(&FileGroup) -> bool) -> u64 {
    let data = measured.groups.groups.iter().filter(|group| wanted(group));
    let of = |group: &FileGroup| {
        let tally = &group.tally;
        nominal_ns(&tally.read.system_calls())
            .saturating_add(nominal_ns(&tally.written.system_calls()))
            .saturating_add(tally.metadata.operations.saturating_mul(nominal::METADATA_NS))
            .saturating_add(tally.syncs.operations.saturating_mul(nominal::SYNC_NS))
    };
    data.map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
