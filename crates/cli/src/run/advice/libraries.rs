// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rules on calls of libraries: variables accessed in tiny pieces, chunks in
//! the way of the accesses, ranks that write in small pieces each on its own.

use ioracle_events::Access;

use super::super::summary::Advice;
use super::super::tally::{FileTally, Library};
use super::super::variables::Series;
use super::{MANY, Measured};
use crate::shared::numbers::{bytes, grouped};

/// Bytes below which a call of a library is mostly its own cost.
const TINY: u64 = 4096;
/// Calls for each variable from which on they could be put together.
const SEVERAL: u64 = 10;
/// Bytes below which ranks gain from having their pieces put together.
const PIECE: u64 = 64 * 1024;
/// How much more chunks hold than what is asked for, from which on they are in
/// the way.
const EXCESS: f64 = 4.0;

/// Kind, time, what was seen and what to do.
type Finding = (&'static str, u64, String, String);

/// What the rules say that matters.
pub fn advise(measured: &Measured) -> Vec<Advice> {
    let of_series = measured.series.iter().filter_map(|series| {
        let finding = chunks(series).or_else(|| tiny(series))?;
        Some((series.path.clone(), finding))
    });
    let of_files = measured.tally.files.iter().filter_map(|(&file, tally)| {
        let finding = independent(tally)?;
        Some(((measured.path)(file), finding))
    });
    let that_matter =
        of_series.chain(of_files).filter(|(_, (_, io_ns, ..))| measured.matters(*io_ns));
    that_matter
        .map(|(path, (kind, io_ns, seen, remedy))| {
            let sentence = format!("{seen} '{path}' took {}: {remedy}", measured.time(io_ns));
            Advice { kind, path: Some(path), io_time_s: io_ns as f64 * 1e-9, sentence }
        })
        .collect()
}

/// Many calls that each move next to nothing.
fn tiny(variable: &Series) -> Option<Finding> {
    let accesses = variable.calls.iter().filter(|(function, _)| function.access().is_data());
    let (function, moved) = accesses.max_by_key(|(_, moved)| moved.io_ns)?;
    // What is written once in each of many files cannot be put together.
    let again = moved.operations / variable.variables.max(1) as u64;
    if moved.operations < MANY || again < SEVERAL || moved.mean_bytes() >= TINY {
        return None;
    }
    let seen = format!(
        "{} calls of {} with {} each on average for '{}' of",
        grouped(moved.operations),
        function.name(),
        bytes(moved.mean_bytes()),
        variable.name
    );
    let verb = if function.access() == Access::Read { "read" } else { "write" };
    let remedy = match Library::of(*function) {
        Some(Library::Hdf5) => "larger hyperslabs at once",
        Some(Library::PnetCdf) => {
            "larger slabs, or put them together (ncmpi_iput…, ncmpi_wait_all)"
        }
        _ if function.name().contains("var1") => "larger slabs at once (the vara functions)",
        _ => "larger slabs at once",
    };
    Some(("tiny_variable_accesses", moved.io_ns, seen, format!("{verb} {remedy}")))
}

/// Accesses that touch many chunks and want little of each.
fn chunks(variable: &Series) -> Option<Finding> {
    let (touched, chunk) = (variable.touched, variable.chunk.as_ref()?);
    if touched.accesses < MANY || touched.excess() < EXCESS || touched.chunks < 2 * touched.accesses
    {
        return None;
    }
    let shape = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("×");
    let seen = format!(
        "{} accesses to '{}', each to {:.0} chunks of {} that hold {:.1} times what is asked for, in",
        grouped(touched.accesses),
        variable.name,
        touched.chunks as f64 / touched.accesses as f64,
        shape(chunk),
        touched.excess()
    );
    let remedy = match &variable.counts {
        Some(counts) => format!("choose chunks in the shape of the accesses, {}", shape(counts)),
        None => "choose chunks in the shape of the accesses".to_owned(),
    };
    Some(("chunk_shape", touched.io_ns, seen, remedy))
}

/// Small writes of MPI-IO that several ranks make on their own.
fn independent(file: &FileTally) -> Option<Finding> {
    let writes = &file.independent;
    if !writes.by_several || writes.moved.operations < MANY || writes.moved.mean_bytes() >= PIECE {
        return None;
    }
    let seen = format!(
        "{} independent MPI-IO writes of {} on average, by several ranks, to",
        grouped(writes.moved.operations),
        bytes(writes.moved.mean_bytes())
    );
    let remedy = if writes.within_library * 2 > writes.moved.operations {
        "let the library write collectively (H5Pset_dxpl_mpio, nc_var_par_access, the _all functions)"
    } else {
        "use the collective calls (MPI_File_write_at_all), which put them together"
    };
    Some(("independent_writes", writes.moved.io_ns, seen, remedy.to_owned()))
}

#[cfg(test)]
mod tests {
    use ioracle_events::Event;

    use super::super::super::tally::tests::event;
    use super::super::tests::advice;

    fn on_variable(name: &str, bytes: u64, detail: String) -> Event {
        Event { detail: detail.into(), ..event(name, 1, Some((0, bytes))) }
    }

    #[test]
    fn tiny_accesses_to_a_variable_are_told_with_the_function_and_what_to_do() {
        let point = |n| on_variable("nc_put_var1", 8, format!("T start={n}:0"));
        assert_eq!(
            advice((0..200).map(point), &[]),
            [
                "200 calls of nc_put_var1 with 8 B each on average for 'T' of 'file1' took 2.0 ms (2 % \
              of the run): write larger slabs at once (the vara functions)"
            ]
        );
        assert_eq!(advice((0..99).map(point), &[]), Vec::<String>::new());
        let steps = |n: u64| on_variable("nc_put_var1", 8, format!("T{} start={n}:0", n % 20));
        let given = advice((0..400).map(steps), &[]);
        assert!(given[0].contains("400 calls of nc_put_var1") && given.len() == 1, "{given:?}");
        assert!(given[0].contains("for 'T*' of 'file1'"), "{given:?}");
        let once = |n: u64| on_variable("nc_put_var1", 8, format!("T{n} start={n}:0"));
        assert_eq!(advice((0..400).map(once), &[]), Vec::<String>::new());
        let large = |n| on_variable("nc_put_vara", 8192, format!("T start={n}:0 count=1:1024"));
        assert_eq!(advice((0..200).map(large), &[]), Vec::<String>::new());
        let row = |n| on_variable("nc_put_vara", 800, format!("T start={n}:0 count=1:100"));
        assert!(advice((0..200).map(row), &[])[0].ends_with(": write larger slabs at once"));
        let read = |_| on_variable("H5Dread", 8, "/T".to_owned());
        assert!(advice((0..200).map(read), &[])[0].ends_with("read larger hyperslabs at once"));
    }

    #[test]
    fn chunks_that_do_not_fit_are_told_with_what_is_too_much() {
        let opened = on_variable("H5Dopen", 0, "/T chunk=100:10".to_owned());
        let row = |n| on_variable("H5Dread", 80_000, format!("/T start={n}:0 count=1:1000"));
        let events = std::iter::once(opened.clone()).chain((0..200).map(row));
        assert_eq!(
            advice(events, &[]),
            [
                "200 accesses to '/T', each to 100 chunks of 100×10 that hold 100.0 times what is asked \
              for, in 'file1' took 2.0 ms (2 % of the run): choose chunks in the shape of the \
              accesses, 1×1000"
            ]
        );
        let fitting =
            |n| on_variable("H5Dread", 80_000, format!("/T start={}:0 count=100:100", n * 100));
        let events = std::iter::once(opened).chain((0..200).map(fitting));
        assert_eq!(advice(events, &[]), Vec::<String>::new());
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
            advice((0..200).map(write(0)), &[]),
            [
                "200 independent MPI-IO writes of 1000 B on average, by several ranks, to 'file1' took \
              2.0 ms (100 % of all time in I/O): use the collective calls (MPI_File_write_at_all), which put \
              them together"
            ]
        );
        let inside = |n| [event("H5Dwrite", 1, Some((0, 9000))), write(1)(n)];
        let given = advice((0..200).flat_map(inside), &[]);
        assert!(given[0].contains("let the library write collectively"), "{given:?}");
        let alone = (0..200).map(|n| event("mpi_write_at", 1, Some((n * 1000, 1000))));
        assert_eq!(advice(alone, &[]), Vec::<String>::new());
    }
}
