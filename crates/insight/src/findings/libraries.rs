// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules on calls of libraries: variables accessed in tiny pieces, chunks that do not
//! fit the accesses, ranks that write in small pieces independently.

use ioracle_events::{Access, readable};

use super::files::named;
use super::rules::{EXCESS, MANY, PIECE, SEVERAL, TINY};
use super::{Held, Measured, busiest, nominal_ns};
use crate::file_groups::{FileGroup, FileKind};
use crate::numbers::{bytes, grouped};
use crate::tally::{CountedLibrary, Independent, TransferTally};
use crate::variables::VariableGroup;

/// The findings on variables, and on accesses of MPI-IO.
pub fn held(measured: &Measured) -> Vec<Held> {
    let of_variables =
        measured.series.iter().filter_map(|series| chunks(series).or_else(|| tiny(series)));
    let is_data = |group: &&FileGroup| group.kind == FileKind::Data;
    let of_files = measured.groups.groups.iter().filter(is_data).flat_map(|group| {
        let (reads, writes) = (&group.tally.independent_reads, &group.tally.independent_writes);
        let found = [independent(group, writes, &WRITES), independent(group, reads, &READS)];
        found.into_iter().flatten()
    });
    of_variables.chain(of_files).collect()
}

/// A rule that applies to a variable, about some of its calls.
fn about(variable: &VariableGroup, kind: &'static str, moved: &TransferTally) -> Held {
    Held {
        kind,
        path: Some(variable.path.clone()),
        n_files: variable.files,
        variable: Some(variable.name.clone()),
        calls: moved.operations,
        bytes: moved.bytes,
        functions: busiest(&variable.calls, |function| function.access().is_data()),
        io_ns: moved.io_ns,
        nominal_ns: nominal_ns(moved),
        ..Held::default()
    }
}

/// Many calls that each move next to nothing.
fn tiny(variable: &VariableGroup) -> Option<Held> {
    let accesses = variable.calls.iter().filter(|(function, _)| function.access().is_data());
    let (function, moved) = accesses.max_by_key(|(f, moved)| (moved.operations, *f))?;
    // What is written once in each of many files cannot be merged.
    let again = moved.operations / variable.variables.max(1) as u64;
    if moved.operations < MANY || again < SEVERAL || moved.mean_bytes() >= TINY {
        return None;
    }
    let verb = if function.access() == Access::Read { "read" } else { "write" };
    let seen = format!(
        "{} calls of {} {verb} {} of '{}' in '{}' at a time on average",
        grouped(moved.operations),
        function.name(),
        bytes(moved.mean_bytes()),
        variable.name,
        readable(&variable.path)
    );
    let remedy = match CountedLibrary::of(*function) {
        Some(CountedLibrary::Hdf5) => "larger hyperslabs at once",
        Some(CountedLibrary::PnetCdf) => {
            "larger slabs, or put them together (ncmpi_iput…, ncmpi_wait_all)"
        }
        _ if function.name().contains("var1") => "larger slabs at once (the vara functions)",
        _ => "larger slabs at once",
    };
    let remedy = format!("{verb} {remedy}");
    Some(Held { seen, remedy, ..about(variable, "tiny_variable_accesses", moved) })
}

/// Accesses that touch many chunks but need little of each.
fn chunks(variable: &VariableGroup) -> Option<Held> {
    let (touched, chunk) = (variable.touched, variable.chunk.as_ref()?);
    if touched.accesses < MANY || touched.excess() < EXCESS || touched.chunks < 2 * touched.accesses
    {
        return None;
    }
    let shape = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("×");
    let seen = format!(
        "{} accesses to '{}' in '{}' touch {:.0} chunks of {} each, which hold {:.1} times the \
         requested data",
        grouped(touched.accesses),
        variable.name,
        readable(&variable.path),
        touched.chunks as f64 / touched.accesses as f64,
        shape(chunk),
        touched.excess()
    );
    let remedy = match &variable.counts {
        Some(counts) => format!("choose chunks in the shape of the accesses, {}", shape(counts)),
        None => "choose chunks in the shape of the accesses".to_owned(),
    };
    let mut moved = variable.read;
    moved.join(&variable.written);
    let moved = TransferTally { operations: touched.accesses, io_ns: touched.io_ns, ..moved };
    // Every chunk is an access of its own.
    let nominal = nominal_ns(&TransferTally { operations: touched.chunks, ..moved });
    Some(Held { seen, remedy, nominal_ns: nominal, ..about(variable, "chunk_shape", &moved) })
}

/// Words for one direction of data.
struct Way {
    kind: &'static str,
    noun: &'static str,
    call: &'static str,
    access: Access,
}

const READS: Way = Way {
    kind: "independent_reads",
    noun: "reads of",
    call: "MPI_File_read_at_all",
    access: Access::Read,
};
const WRITES: Way = Way {
    kind: "independent_writes",
    noun: "writes to",
    call: "MPI_File_write_at_all",
    access: Access::Write,
};

/// Small independent accesses of several ranks through MPI-IO.
fn independent(group: &FileGroup, done: &Independent, way: &Way) -> Option<Held> {
    let moved = &done.moved;
    if done.processes.n() < 2 || moved.operations < MANY || moved.mean_bytes() >= PIECE {
        return None;
    }
    let seen = format!(
        "several ranks make {} independent MPI-IO {} {}, {} on average",
        grouped(moved.operations),
        way.noun,
        named(group),
        bytes(moved.mean_bytes())
    );
    let remedy = if done.within_library * 2 > moved.operations {
        "let the library access it collectively (H5Pset_dxpl_mpio, nc_var_par_access, the _all \
         functions of PnetCDF)"
            .to_owned()
    } else {
        format!("use the collective calls ({}), which put them together", way.call)
    };
    Some(Held {
        kind: way.kind,
        path: Some(group.path.clone()),
        n_files: group.n_files,
        calls: moved.operations,
        bytes: moved.bytes,
        functions: busiest(&group.tally.library_calls, |it| it.access() == way.access),
        io_ns: moved.io_ns,
        nominal_ns: nominal_ns(moved),
        seen,
        remedy,
        ..Held::default()
    })
}

#[cfg(test)]
mod tests {
    use ioracle_events::Event;

    use super::super::tests::found;
    use crate::tally::tests::event;

    fn on_variable(name: &str, bytes: u64, detail: String) -> Event {
        Event { detail: detail.into(), ..event(name, 1, Some((0, bytes))) }
    }

    #[test]
    fn tiny_accesses_to_a_variable_are_reported_with_the_function_and_what_to_do() {
        let point = |n| on_variable("nc_put_var1", 8, format!("T start={n}:0"));
        assert_eq!(
            found((0..200).map(point)),
            ["200 calls of nc_put_var1 write 8 B of 'T' in 'file-b' at a time on average, taking \
                 2.0 ms (2 % of the run): write larger slabs at once (the vara functions)"]
        );
        assert_eq!(found((0..99).map(point)), Vec::<String>::new());
        let steps = |n: u64| on_variable("nc_put_var1", 8, format!("T{} start={n}:0", n % 20));
        let given = found((0..400).map(steps));
        assert!(given[0].contains("400 calls of nc_put_var1") && given.len() == 1, "{given:?}");
        assert!(given[0].contains("'T*' in 'file-b'"), "{given:?}");
        let once = |n: u64| on_variable("nc_put_var1", 8, format!("T{n} start={n}:0"));
        assert_eq!(found((0..400).map(once)), Vec::<String>::new());
        let large = |n| on_variable("nc_put_vara", 8192, format!("T start={n}:0 count=1:1024"));
        assert_eq!(found((0..200).map(large)), Vec::<String>::new());
        let row = |n| on_variable("nc_put_vara", 800, format!("T start={n}:0 count=1:100"));
        assert!(found((0..200).map(row))[0].ends_with(": write larger slabs at once"));
        let read = |_| on_variable("H5Dread", 8, "/T".to_owned());
        assert!(found((0..200).map(read))[0].ends_with("read larger hyperslabs at once"));
    }

    #[test]
    fn chunks_that_do_not_fit_are_reported_with_what_is_too_much() {
        let opened = on_variable("H5Dopen", 0, "/T chunk=100:10".to_owned());
        let row = |n| on_variable("H5Dread", 80_000, format!("/T start={n}:0 count=1:1000"));
        let events = std::iter::once(opened.clone()).chain((0..200).map(row));
        assert_eq!(
            found(events),
            ["200 accesses to '/T' in 'file-b' touch 100 chunks of 100×10 each, which hold 100.0 \
                 times the requested data, taking 2.0 ms (2 % of the run): choose chunks in the \
                 shape of the accesses, 1×1000"]
        );
        let fitting =
            |n| on_variable("H5Dread", 80_000, format!("/T start={}:0 count=100:100", n * 100));
        let events = std::iter::once(opened).chain((0..200).map(fitting));
        assert_eq!(found(events), Vec::<String>::new());
    }

    #[test]
    fn small_writes_of_ranks_on_their_own_want_collective_calls() {
        let write = |depth: u32| {
            move |n: u64| {
                let mut write = event("mpi_write_at", 1, Some((n * 1000, 1000)));
                (write.stream.rank, write.depth) = (n as u32 % 4, depth);
                write
            }
        };
        assert_eq!(
            found((0..1000).map(write(0))),
            ["several ranks make 1,000 independent MPI-IO writes to 'file-b', 1.0 KB on average, \
                 taking 10.0 ms (2 % of the run per thread): use the collective calls \
                 (MPI_File_write_at_all), which put them together"]
        );
        let inside = |n| [event("H5Dwrite", 1, Some((0, 9000))), write(1)(n)];
        let given = found((0..1000).flat_map(inside));
        assert!(given[0].contains("let the library access it collectively"), "{given:?}");
        let alone = (0..200).map(|n| event("mpi_write_at", 1, Some((n * 1000, 1000))));
        assert_eq!(found(alone), Vec::<String>::new());
    }
}
