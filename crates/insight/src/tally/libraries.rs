// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls of the libraries above POSIX, each library separately. What happens inside
//! them is counted as what it is: MPI-IO inside HDF5 is both.

use ioracle_events::{Access, Event, FastMap, Function, Layer, StreamId};

use super::{MAX_STREAMS, TransferTally, calls_of, duration_ns, entry};

/// A library whose calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedLibrary {
    MpiIo,
    Hdf5,
    NetCdf,
    PnetCdf,
}

impl CountedLibrary {
    /// The one that a function belongs to.
    pub fn of(function: Function) -> Option<CountedLibrary> {
        match function.layer() {
            Layer::Posix | Layer::Stdio => None,
            Layer::MpiIo => Some(CountedLibrary::MpiIo),
            Layer::HighLevel if function.name().starts_with("H5") => Some(CountedLibrary::Hdf5),
            Layer::HighLevel if function.name().starts_with("ncmpi_") => {
                Some(CountedLibrary::PnetCdf)
            }
            Layer::HighLevel => Some(CountedLibrary::NetCdf),
        }
    }
}

/// Calls of one library that succeeded, and the time of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryTally {
    pub calls: u64,
    /// Those that all ranks of a group make together.
    pub collective: u64,
    pub read: TransferTally,
    pub written: TransferTally,
    /// Including failed calls, like all times in I/O.
    pub io_ns: u64,
    /// Calls that move no data, by function.
    pub others: Vec<(Function, TransferTally)>,
}

/// Calls of all of them.
#[derive(Debug, Default)]
pub struct Libraries {
    tallies: [LibraryTally; 4],
    /// Calls of each thread that may enclose its next one, outermost first.
    enclosing: FastMap<StreamId, Vec<Enclosing>>,
}

#[derive(Debug)]
struct Enclosing {
    depth: u32,
    library: CountedLibrary,
    is_collective: bool,
}

impl Libraries {
    /// The calls of one library.
    pub fn of(&self, library: CountedLibrary) -> &LibraryTally {
        &self.tallies[library as usize]
    }

    /// Counts an event, if it is a library's.
    pub fn add(&mut self, event: &Event) {
        let Some(library) = CountedLibrary::of(event.function) else { return self.leave(event) };
        if event.is_further_part() {
            return self.add_part(event);
        }
        let is_collective = event.function.is_collective() && !event.failed();
        self.enclose(event, library, is_collective);
        let tally = &mut self.tallies[library as usize];
        let io_ns = duration_ns(event);
        tally.io_ns = tally.io_ns.saturating_add(io_ns);
        if event.failed() {
            return;
        }
        tally.calls += 1;
        tally.collective += u64::from(is_collective);
        match self.moved(event.function) {
            Some(moved) => moved.add(event.transferred(), io_ns),
            None => {
                let others = &mut self.tallies[library as usize].others;
                calls_of(others, event.function).add(0, io_ns);
            }
        }
    }

    /// Counts what a further part of a call has moved.
    fn add_part(&mut self, event: &Event) {
        if let Some(moved) = self.moved(event.function) {
            moved.bytes = moved.bytes.saturating_add(event.transferred());
        }
    }

    /// A submitted access of this many bytes will not be made.
    pub fn give_up(&mut self, submitted: Function, bytes: u64) {
        if let Some(moved) = self.moved(submitted) {
            moved.take_back(bytes);
        }
    }

    /// What a function adds its data to.
    fn moved(&mut self, function: Function) -> Option<&mut TransferTally> {
        let tally = &mut self.tallies[CountedLibrary::of(function)? as usize];
        match function.access() {
            Access::Read => Some(&mut tally.read),
            Access::Write => Some(&mut tally.written),
            _ => None,
        }
    }

    /// The names of HDF5's and netCDF's functions do not say what is
    /// collective; what they ask of MPI-IO does.
    fn enclose(&mut self, event: &Event, library: CountedLibrary, is_collective: bool) {
        let Some(calls) = entry(&mut self.enclosing, event.stream, MAX_STREAMS) else { return };
        while calls.pop_if(|call| call.depth >= event.depth).is_some() {}
        if is_collective {
            let untold = |call: &&mut Enclosing| {
                !call.is_collective
                    && matches!(call.library, CountedLibrary::Hdf5 | CountedLibrary::NetCdf)
            };
            for call in calls.iter_mut().filter(untold) {
                call.is_collective = true;
                self.tallies[call.library as usize].collective += 1;
            }
        }
        // One that failed is not counted, whatever it encloses.
        let is_collective = is_collective || event.failed();
        calls.push(Enclosing { depth: event.depth, library, is_collective });
    }

    /// Removes the calls that do not enclose an event: they are over.
    fn leave(&mut self, event: &Event) {
        if let Some(calls) = self.enclosing.get_mut(&event.stream) {
            while calls.pop_if(|call| call.depth >= event.depth).is_some() {}
        }
    }

    /// Whether a call of another layer that was just counted stands directly in one
    /// of a library, or in none.
    pub fn is_outermost_below(&self, event: &Event) -> bool {
        let innermost = || self.enclosing.get(&event.stream)?.last();
        event.depth == 0 || innermost().is_some_and(|call| call.depth + 1 == event.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::event;
    use super::*;

    #[test]
    fn calls_are_counted_for_each_library_that_takes_part() {
        let mut libraries = Libraries::default();
        libraries.add(&event("write", 1, Some((0, 9))));
        libraries.add(&event("nc_put_vara", 1, Some((0, 800))));
        libraries.add(&Event { depth: 1, ..event("H5Dwrite", 1, Some((0, 800))) });
        libraries.add(&Event { depth: 2, ..event("mpi_write_at_all", 1, Some((0, 800))) });
        libraries.add(&Event { depth: 2, ..event("mpi_write_at_all", 1, Some((0, 800))) });
        libraries.add(&event("H5Dwrite", 1, Some((0, 300))));
        libraries.add(&Event { depth: 1, ..event("mpi_write_at", 1, Some((0, 300))) });
        libraries.add(&event("ncmpi_get_vara_all", 1, Some((0, 70))));
        // A view is also set for what one rank does alone.
        libraries.add(&event("ncmpi_put_vara", 1, Some((0, 70))));
        libraries.add(&Event { depth: 1, ..event("mpi_set_view", 1, None) });
        libraries.add(&Event { result: -1, ..event("H5Fopen", 1, None) });
        libraries.add(&Event { depth: 1, ..event("mpi_open", 1, None) });
        let counted = |library| {
            let of: &LibraryTally = libraries.of(library);
            (of.calls, of.collective, of.read.bytes, of.written.bytes, of.io_ns)
        };
        assert_eq!(counted(CountedLibrary::NetCdf), (1, 1, 0, 800, 10_000));
        // With the time of the call that failed.
        assert_eq!(counted(CountedLibrary::Hdf5), (2, 1, 0, 1100, 30_000));
        assert_eq!(counted(CountedLibrary::MpiIo), (5, 4, 0, 1900, 50_000));
        assert_eq!(counted(CountedLibrary::PnetCdf), (2, 1, 70, 70, 20_000));
    }

    /// One `ncmpi_wait_all` for 100 requests was once reported as 100 collective calls.
    #[test]
    fn a_call_of_several_parts_is_one_that_has_moved_all_of_them() {
        let mut libraries = Libraries::default();
        let part = |name, bytes, detail: &str| Event {
            detail: detail.into(),
            ..event(name, 1, Some((0, bytes)))
        };
        libraries.add(&part("ncmpi_wait_all", 8, "a request=1"));
        libraries.add(&part("ncmpi_wait_all", 8, "b request=2 part=2"));
        libraries.add(&part("ncmpi_mput_vara_all", 8, "a"));
        libraries.add(&part("ncmpi_mput_vara_all", 80, "b part=2"));
        libraries.add(&part("H5Dread", 10, "/a"));
        libraries.add(&Event { depth: 1, ..event("mpi_read_at_all", 1, Some((0, 30))) });
        libraries.add(&part("H5Dread", 20, "/b part=2"));
        libraries.add(&Event { result: -1, ..part("H5Dread", 20, "/b part=2") });
        let pnetcdf = libraries.of(CountedLibrary::PnetCdf);
        assert_eq!((pnetcdf.calls, pnetcdf.collective), (2, 2));
        assert_eq!((pnetcdf.written.operations, pnetcdf.written.bytes), (1, 88));
        let hdf5 = libraries.of(CountedLibrary::Hdf5);
        assert_eq!((hdf5.calls, hdf5.collective), (1, 1));
        assert_eq!((hdf5.read.operations, hdf5.read.bytes), (1, 30));
    }
}
