// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done to the variables and datasets of files.
//!
//! Only calls of the program itself count: a netCDF variable that HDF5 stores as a
//! dataset is one. What HDF5 knows about the dataset, its chunks, is taken from the
//! calls inside.

mod part;
mod shared;

use ioracle_events::{Access, Event, FastMap, FileId, Function, Layer, LibraryAccess, StreamId};

use self::part::Selected;
pub use self::part::{SelectionPattern, SelectionTally};
use self::shared::{Counted, LastCall};
use super::requests::RequestOutcome;
use super::{MAX_STREAMS, TransferTally, calls_of, duration_ns, entry};

/// Variables counted separately, and bytes of their names.
const MAX_VARIABLES: usize = 1 << 16;
const MAX_NAME_BYTES: usize = 1 << 24;

/// Stands for what had no name when it was accessed: h5py writes `f['x'] = values`
/// into a dataset that gets its name afterwards.
const NAMELESS: &str = "(no name yet)";

/// All variables that were seen.
#[derive(Debug, Default)]
pub struct VariableTallies {
    /// Numbers by file, and name without the slash before it, which only HDF5 writes.
    files: FastMap<FileId, FastMap<Box<str>, usize>>,
    known: Vec<(FileId, VariableTally)>,
    n_name_bytes: usize,
    /// Of each thread, to share its time when its parts are known.
    last_calls: FastMap<StreamId, LastCall>,
}

/// What was done to one variable.
#[derive(Clone, Debug, Default)]
pub struct VariableTally {
    /// As the program calls it.
    pub name: Box<str>,
    pub read: TransferTally,
    pub written: TransferTally,
    /// By function. A call of several parts counts once, however many of them access
    /// the variable.
    pub calls: Vec<(Function, TransferTally)>,
    /// What parts of it are accessed.
    pub parts: SelectionTally,
    /// Elements of a chunk along each dimension, where there are chunks.
    pub chunk: Option<Box<[u64]>>,
    pub touched: Touched,
    /// Bytes of files that its accesses turned into, read and written: none where the
    /// library had them in memory, more where it moves whole chunks.
    pub from_file: u64,
    pub to_file: u64,
}

/// Chunks that accesses have touched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touched {
    pub accesses: u64,
    pub chunks: u64,
    /// Elements of these chunks, and how many of them were requested.
    pub elements: f64,
    pub selected: f64,
    pub io_ns: u64,
}

impl VariableTallies {
    /// Takes an event in, if it is of a variable, or is the end of a request that
    /// is.
    pub fn add(&mut self, event: &Event, outcome: Option<RequestOutcome>) {
        let is_of_attribute = event.function.name().starts_with("H5A");
        let is_nothing = event.failed() && outcome.is_none();
        if event.function.layer() != Layer::HighLevel || is_nothing || is_of_attribute {
            return;
        }
        if event.depth == 0 && !event.is_further_part() {
            self.begin_call(event);
        }
        let Some(name) = event.object().filter(|name| !name.is_empty()) else { return };
        let name = if name == "?" { NAMELESS } else { name };
        let selection = event.selection().unwrap_or_default();
        let access = event.function.access();
        if event.depth == 0 && (access.is_data() || outcome.is_some()) {
            let Some(variable) = self.number(event.file, name) else { return };
            let is_new_call = match self.last_calls.get_mut(&event.stream) {
                Some(call) => call.is_first_of(variable),
                None => !event.is_further_part(),
            };
            let (_, tally) = &mut self.known[variable];
            if tally.name.is_empty() {
                tally.name = name.into();
            }
            calls_of(&mut tally.calls, event.function).operations += u64::from(is_new_call);
            let way = match outcome {
                None => tally.add(event, selection),
                Some(outcome) => tally.add_outcome(event, outcome),
            };
            if let Some(call) = self.last_calls.get_mut(&event.stream) {
                let (function, bytes) = (event.function, event.requested);
                call.push(Counted { variable, function, way, bytes });
            }
        } else if access == Access::Define
            && let Some(chunk) = part::numbers(selection, "chunk")
            && let Some(variable) = self.number(event.file, name)
        {
            self.known[variable].1.chunk = Some(chunk.into());
        }
    }

    /// Takes in which bytes of files an access to a variable turned into.
    pub fn add_extents(&mut self, access: &LibraryAccess) {
        let names = self.files.get(&access.event.file);
        let number = access
            .event
            .variable()
            .and_then(|name| names?.get(name.trim_start_matches('/')).copied());
        if let Some((_, variable)) = number.and_then(|number| self.known.get_mut(number)) {
            variable.from_file = variable.from_file.saturating_add(access.read.n_bytes());
            variable.to_file = variable.to_file.saturating_add(access.written.n_bytes());
        }
    }

    /// All with their files, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &VariableTally)> {
        let known = self.known.iter().map(|(file, variable)| (*file, variable));
        known.filter(|(_, variable)| !variable.calls.is_empty())
    }

    /// A thread makes no more calls.
    pub fn end(&mut self, stream: StreamId) {
        self.share(stream);
        self.last_calls.remove(&stream);
    }

    /// A thread begins a call: the one before has no more parts.
    fn begin_call(&mut self, event: &Event) {
        self.share(event.stream);
        if let Some(call) = entry(&mut self.last_calls, event.stream, MAX_STREAMS) {
            call.begin(duration_ns(event));
        }
    }

    /// Shares the time of a thread's last call by the variables of its parts.
    fn share(&mut self, stream: StreamId) {
        let Some(call) = self.last_calls.get(&stream) else { return };
        let Some(first) = call.first() else { return };
        for (part, io_ns) in call.shares() {
            let time = |moved: &mut TransferTally| moved.io_ns = moved.io_ns.saturating_add(io_ns);
            self.known[part.variable].1.change(part, time);
            let time = |moved: &mut TransferTally| moved.io_ns = moved.io_ns.saturating_sub(io_ns);
            self.known[first.variable].1.change(first, time);
        }
    }

    /// The number of a variable; None if there is no room for a new one.
    fn number(&mut self, file: FileId, name: &str) -> Option<usize> {
        let key = name.trim_start_matches('/');
        if let Some(number) = self.files.get(&file).and_then(|names| names.get(key)) {
            return Some(*number);
        }
        let number = self.known.len();
        if number >= MAX_VARIABLES || self.n_name_bytes + key.len() > MAX_NAME_BYTES {
            return None;
        }
        self.n_name_bytes += key.len();
        self.known.push((file, VariableTally::default()));
        self.files.entry(file).or_default().insert(key.into(), number);
        Some(number)
    }
}

impl VariableTally {
    /// Counts an access, and returns which way its data goes.
    fn add(&mut self, event: &Event, selection: &str) -> Access {
        let (bytes, io_ns) = (event.transferred(), duration_ns(event));
        let way = event.function.access();
        self.moved(way).add(bytes, io_ns);
        calls_of(&mut self.calls, event.function).join(&TransferTally {
            operations: 0,
            bytes,
            io_ns,
        });
        let selected = self.parts.add(selection);
        if let (Some(selected), Some(chunk)) = (&selected, &self.chunk) {
            self.touched.add(selected, chunk, io_ns);
        }
        way
    }

    /// Counts a call that ends a request. Its data was counted when it was
    /// submitted.
    fn add_outcome(&mut self, event: &Event, outcome: RequestOutcome) -> Access {
        let (RequestOutcome::Completed(submitted) | RequestOutcome::GivenUp(submitted)) = outcome;
        let io_ns = duration_ns(event);
        let way = submitted.access();
        let moved = self.moved(way);
        moved.io_ns = moved.io_ns.saturating_add(io_ns);
        if let RequestOutcome::GivenUp(_) = outcome {
            moved.take_back(event.requested);
            let calls = calls_of(&mut self.calls, submitted);
            calls.bytes = calls.bytes.saturating_sub(event.requested);
        }
        let calls = calls_of(&mut self.calls, event.function);
        calls.io_ns = calls.io_ns.saturating_add(io_ns);
        way
    }

    /// Changes everything that a part of a call was added to.
    fn change(&mut self, part: &Counted, change: impl Fn(&mut TransferTally)) {
        change(self.moved(part.way));
        change(calls_of(&mut self.calls, part.function));
    }

    fn moved(&mut self, way: Access) -> &mut TransferTally {
        if way == Access::Read { &mut self.read } else { &mut self.written }
    }
}

impl Touched {
    fn add(&mut self, selected: &Selected, chunk: &[u64], io_ns: u64) {
        let Some((chunks, elements)) = selected.chunks(chunk) else { return };
        self.accesses += 1;
        self.chunks = self.chunks.saturating_add(chunks);
        self.elements += elements;
        self.selected += selected.n_elements();
        self.io_ns = self.io_ns.saturating_add(io_ns);
    }

    /// Adds what was touched of another variable.
    pub fn join(&mut self, other: &Touched) {
        self.accesses += other.accesses;
        self.chunks = self.chunks.saturating_add(other.chunks);
        self.elements += other.elements;
        self.selected += other.selected;
        self.io_ns = self.io_ns.saturating_add(other.io_ns);
    }

    /// How many times the requested data the chunks contain.
    pub fn excess(&self) -> f64 {
        if self.selected > 0.0 { self.elements / self.selected } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::event;
    use super::super::{CountedLibrary, JobTally};
    use super::*;

    fn call(name: &str, file: u32, bytes: u64, detail: &str) -> Event {
        Event { detail: detail.into(), ..event(name, file, Some((0, bytes))) }
    }

    #[test]
    fn calls_are_counted_by_file_and_variable_and_only_the_programs_own() {
        let mut variables = VariableTallies::default();
        for step in 0..4 {
            let detail = format!("T start={step}:0 count=1:100");
            variables.add(&call("nc_put_vara", 1, 800, &detail), None);
            let inner = call("H5Dwrite", 1, 800, &format!("/{detail}"));
            variables.add(&Event { depth: 1, ..inner }, None);
        }
        variables.add(&call("nc_get_var", 2, 30, "T"), None);
        variables.add(&Event { result: -1, ..call("nc_get_var", 2, 30, "T") }, None);
        variables.add(&call("ncmpi_wait_all", 1, 0, "request=3"), None);
        variables.add(&call("H5Aread", 2, 8, "/T@units"), None);
        variables.add(&call("nc_get_vara", 2, 30, "? start=0 count=1"), None);
        let mut rows: Vec<_> =
            variables.iter().map(|(file, it)| (file.0, &*it.name, it.read, it.written)).collect();
        rows.sort_unstable_by_key(|row| (row.0, row.1));
        let moved =
            |operations, bytes| TransferTally { operations, bytes, io_ns: operations * 10_000 };
        let none = TransferTally::default();
        let of_second = moved(1, 30);
        let expected = [
            (1, "T", none, moved(4, 3200)),
            (2, NAMELESS, of_second, none),
            (2, "T", of_second, none),
        ];
        assert_eq!(rows, expected);
    }

    /// netCDF names a variable `T` and HDF5 the dataset that it is `/T`.
    #[test]
    fn chunks_that_hdf5_tells_are_those_of_the_variable() {
        let mut variables = VariableTallies::default();
        let inner = call("H5Dopen", 1, 0, "/T chunk=10:10 filters=deflate");
        variables.add(&Event { depth: 1, ..inner }, None);
        assert_eq!(variables.iter().count(), 0);
        for row in 0..5 {
            let detail = format!("T start={row}:0 count=1:100");
            variables.add(&call("nc_get_vara", 1, 400, &detail), None);
        }
        let (_, variable) = variables.iter().next().unwrap();
        let touched = variable.touched;
        assert_eq!((touched.accesses, touched.chunks, touched.excess()), (5, 50, 10.0));
    }

    #[test]
    fn names_beyond_the_bound_are_not_kept() {
        let mut variables = VariableTallies::default();
        let long = "x".repeat(MAX_NAME_BYTES - 1);
        variables.add(&call("nc_get_var", 1, 8, &long), None);
        variables.add(&call("nc_get_var", 1, 8, "ab"), None);
        variables.add(&call("nc_get_var", 1, 8, "a"), None);
        variables.add(&call("nc_get_var", 1, 8, "a"), None);
        let names: Vec<_> = variables.iter().map(|(_, it)| it.calls[0].1.operations).collect();
        assert_eq!(names.iter().sum::<u64>(), 3);
    }

    /// What the tables of a variable say.
    fn rows(tally: &JobTally) -> Vec<(&str, TransferTally, TransferTally)> {
        let all = tally.variables.iter();
        let mut rows: Vec<_> = all.map(|(_, it)| (&*it.name, it.read, it.written)).collect();
        rows.sort_unstable_by_key(|(name, ..)| *name);
        rows
    }

    /// Waits were once attributed to no variable, and cancelled writes counted as
    /// written.
    #[test]
    fn requests_belong_to_their_variables_to_the_end() {
        let mut tally = JobTally::default();
        tally.add(&call("ncmpi_iput_vara", 1, 100, "T start=0 count=1 request=1"));
        tally.add(&call("ncmpi_bput_vara", 1, 60, "U start=0 count=1 request=2"));
        tally.add(&call("ncmpi_iget_var", 1, 30, "T request=3"));
        tally.add(&call("ncmpi_cancel", 1, 60, "U request=2"));
        tally.add(&call("ncmpi_wait_all", 1, 100, "T request=1"));
        // It is complete, and has failed.
        tally.add(&Event { result: -1, ..call("ncmpi_wait", 1, 30, "T request=3") });
        let moved = |operations, bytes, io_ns| TransferTally { operations, bytes, io_ns };
        let of_t = ("T", moved(0, 0, 20_000), moved(1, 100, 20_000));
        assert_eq!(rows(&tally), [of_t, ("U", TransferTally::default(), moved(0, 0, 20_000))]);
        let library = tally.libraries.of(CountedLibrary::PnetCdf);
        assert_eq!((library.calls, library.read.bytes, library.written.bytes), (5, 0, 100));
        assert_eq!((library.read.operations, library.written.operations), (0, 1));
    }

    /// Ten waits for ten requests each were once reported as 100 calls.
    #[test]
    fn a_call_of_several_parts_is_one_call_of_each_of_its_variables() {
        let mut tally = JobTally::default();
        for wait in 0..10 {
            for n in 0..10 {
                let name = if n < 7 { "T" } else { "U" };
                let submitted = format!("{name} request={}", wait * 10 + n);
                tally.add(&call("ncmpi_iput_var", 1, 8, &submitted));
            }
            for n in 0..10 {
                let name = if n < 7 { "T" } else { "U" };
                let part = if n == 0 { String::new() } else { format!(" part={}", n + 1) };
                let completed = format!("{name} request={}{part}", wait * 10 + n);
                tally.add(&call("ncmpi_wait_all", 1, 8, &completed));
            }
        }
        let mut rows: Vec<_> = tally
            .variables
            .iter()
            .flat_map(|(_, it)| it.calls.iter().map(|(f, calls)| (&*it.name, f.name(), calls)))
            .map(|(name, function, calls)| (name, function, calls.operations, calls.bytes))
            .collect();
        rows.sort_unstable();
        assert_eq!(
            rows,
            [
                ("T", "ncmpi_iput_var", 70, 560),
                ("T", "ncmpi_wait_all", 10, 0),
                ("U", "ncmpi_iput_var", 30, 240),
                ("U", "ncmpi_wait_all", 10, 0)
            ]
        );
    }

    #[test]
    fn the_time_of_one_wait_is_shared_by_what_it_waits_for() {
        let mut tally = JobTally::default();
        let at_once = |call: Event| Event { start_ns: 500, end_ns: 500, ..call };
        for (n, (name, bytes)) in [("T", 599), ("U", 299), ("V", 99)].into_iter().enumerate() {
            let submitted = call("ncmpi_iput_var", 1, bytes, &format!("{name} request={n}"));
            tally.add(&at_once(submitted));
        }
        tally.add(&call("ncmpi_wait_all", 1, 599, "T request=0"));
        // What happens inside comes between the parts.
        tally.add(&Event { depth: 1, ..event("mpi_write_at_all", 1, Some((0, 997))) });
        tally.add(&Event { depth: 1, ..call("H5Dwrite", 1, 8, "/other") });
        tally.add(&at_once(call("ncmpi_wait_all", 1, 299, "U request=1 part=2")));
        tally.add(&at_once(call("ncmpi_wait_all", 1, 99, "V request=2 part=3")));
        let times = |tally: &JobTally| -> Vec<u64> {
            rows(tally).iter().map(|(_, _, written)| written.io_ns).collect()
        };
        assert_eq!(times(&tally), [10_000, 0, 0]);
        tally.end(event("open", 1, None).stream);
        assert_eq!(times(&tally), [6000, 3000, 1000]);
        // The same where another call follows.
        tally.add(&at_once(call("ncmpi_iput_var", 1, 9, "U request=7")));
        tally.add(&at_once(call("ncmpi_iput_var", 1, 9, "V request=8")));
        tally.add(&call("ncmpi_wait_all", 1, 9, "U request=7"));
        tally.add(&at_once(call("ncmpi_wait_all", 1, 9, "V request=8 part=2")));
        tally.add(&at_once(call("ncmpi_close", 1, 0, "")));
        assert_eq!(times(&tally), [6000, 8000, 6000]);
        let waits = |(_, it): (_, &VariableTally)| {
            let of_wait = it.calls.iter().find(|(call, _)| call.name() == "ncmpi_wait_all");
            of_wait.map_or(0, |(_, moved)| moved.io_ns)
        };
        assert_eq!(tally.variables.iter().map(waits).sum::<u64>(), 20_000);
    }
}
