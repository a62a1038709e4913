// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known about a job, and how everything that is read changes it.

use std::collections::HashMap;
use std::path::Path;

use foldhash::fast::RandomState;
use ioracle_events::StreamId;
use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Sink, StreamInfo, StreamNumber};

use crate::spooled::convert::{self, CallOrigin};
use crate::spooled::definitions::DefinitionNumbers;
use crate::spooled::nesting::{Finished, Nesting, Turn};
use crate::spooled::observer::{Observer, ProcessNumber};
use crate::spooled::processes::{Appearance, JobProcesses};

/// Everything between the spool and an observer.
#[derive(Debug)]
pub(crate) struct State {
    /// Threads that have not ended; the space of the spool bounds them.
    streams: HashMap<StreamNumber, Stream, RandomState>,
    /// Those among them that ask what comes next.
    asking: HashMap<StreamId, StreamNumber, RandomState>,
    pub(crate) known: JobTables,
}

/// A thread and its calls that are not reported yet.
#[derive(Debug)]
struct Stream {
    thread: Thread,
    nesting: Nesting,
}

/// What all events of a thread have in common.
#[derive(Clone, Copy, Debug)]
struct Thread {
    id: StreamId,
    process: ProcessNumber,
    process_start_ns: u64,
}

/// What is common to all threads.
#[derive(Debug)]
pub(crate) struct JobTables {
    pub(crate) definitions: DefinitionNumbers,
    pub(crate) processes: JobProcesses,
    pub(crate) n_events: u64,
    pub(crate) exported_names: ExportedNames,
}

/// The names of applications that programs export, once each.
#[derive(Debug, Default)]
pub(crate) struct ExportedNames {
    /// Looks into a program; the follower itself does not.
    pub(crate) read: Option<fn(&Path) -> Option<String>>,
    known: HashMap<String, Option<String>>,
}

impl ExportedNames {
    /// Programs that are remembered.
    const MAX_KNOWN: usize = 4096;

    fn of(&mut self, executable: &str) -> Option<String> {
        let read = self.read?;
        if let Some(known) = self.known.get(executable) {
            return known.clone();
        }
        let name = read(Path::new(executable));
        if self.known.len() < ExportedNames::MAX_KNOWN {
            self.known.insert(executable.to_owned(), name.clone());
        }
        name
    }
}

impl State {
    pub(crate) fn new() -> State {
        let known = JobTables {
            definitions: DefinitionNumbers::default(),
            processes: JobProcesses::default(),
            n_events: 0,
            exported_names: ExportedNames::default(),
        };
        State { streams: HashMap::default(), asking: HashMap::default(), known }
    }

    /// The number of a stream that asks.
    pub(crate) fn asking(&self, id: StreamId) -> Option<StreamNumber> {
        self.asking.get(&id).copied()
    }

    /// Whether calls wait for the one around them to end.
    pub(crate) fn has_waiting(&self) -> bool {
        self.streams.values().any(|stream| stream.nesting.has_waiting())
    }

    /// Streams that have not ended.
    pub(crate) fn n_streams(&self) -> usize {
        self.streams.len()
    }

    /// Shows calls of a stream as they end; its number.
    pub(crate) fn act_on(&mut self, id: StreamId) -> Option<StreamNumber> {
        let number = self.number_of(id)?;
        self.streams.get_mut(&number)?.nesting.is_acted_on = true;
        Some(number)
    }

    /// The number of a stream that has not ended.
    pub(crate) fn number_of(&self, id: StreamId) -> Option<StreamNumber> {
        let of_it = |(number, stream): (&StreamNumber, &Stream)| {
            (stream.thread.id == id).then_some(*number)
        };
        self.asking(id).or_else(|| self.streams.iter().find_map(of_it))
    }

    /// This state as a sink for what is read from a job.
    pub(crate) fn with<'a, O: Observer>(&'a mut self, observer: &'a mut O) -> JobSink<'a, O> {
        JobSink { state: self, observer }
    }

    /// Ends the streams that are still there, in the order of their threads, and reports
    /// the processes again, of which it is now known when they ended. Not earlier: a
    /// process with thousands of short threads would be reported each time.
    pub(crate) fn end_all(&mut self, observer: &mut impl Observer) {
        let mut left: Vec<(StreamId, StreamNumber)> =
            self.streams.iter().map(|(&number, stream)| (stream.thread.id, number)).collect();
        left.sort_unstable_by_key(|(id, _)| *id);
        for (_, number) in left {
            self.with(observer).ended(number);
        }
        for (number, process) in self.known.processes.all().iter().enumerate() {
            if process.end_ns.is_some() {
                observer.process(ProcessNumber(number as u32), process);
            }
        }
    }
}

impl JobTables {
    /// Passes on the event of a call.
    fn report(
        &mut self,
        thread: Thread,
        (finished, turn): (&Finished, Turn),
        observer: &mut impl Observer,
    ) {
        let Finished { call, selection } = finished;
        let origin = CallOrigin {
            stream: thread.id,
            context: self.definitions.context(call.context, observer),
            file: self.definitions.file(call.file),
            object: self.definitions.object(call.object),
            selection: selection.as_deref(),
            process_start_ns: thread.process_start_ns,
        };
        let Some(event) = convert::event(call, origin) else { return };
        if turn == Turn::Later {
            return observer.nested_event(&event);
        }
        if let Some(process) = self.processes.get_mut(thread.process) {
            process.n_events += 1;
            process.last_ns = process.last_ns.max(event.end_ns);
        }
        self.n_events += 1;
        observer.event(thread.process, &event);
    }
}

/// A state and the observer that is notified of its changes.
pub(crate) struct JobSink<'a, O> {
    state: &'a mut State,
    observer: &'a mut O,
}

impl<O: Observer> Sink for JobSink<'_, O> {
    fn stream(&mut self, number: StreamNumber, info: &StreamInfo) {
        let processes = &mut self.state.known.processes;
        let (process, appearance) = processes.enter(info);
        let Some(known) = processes.get_mut(process) else { return };
        if appearance == Appearance::First {
            self.observer.process(process, known);
        }
        let id = StreamId { rank: process.0, thread: known.n_threads };
        known.n_threads = known.n_threads.saturating_add(1);
        self.observer.stream_began(id, info.tid);
        let thread = Thread { id, process, process_start_ns: known.start_ns };
        self.state.streams.insert(number, Stream { thread, nesting: Nesting::default() });
    }

    fn definition(&mut self, number: StreamNumber, kind: DefinitionKind, id: u64, payload: &[u8]) {
        let State { streams, known, .. } = &mut *self.state;
        let Some(Stream { thread, .. }) = streams.get(&number) else { return };
        let JobTables { definitions, processes, exported_names, .. } = known;
        let Some(process) = processes.get_mut(thread.process) else { return };
        let is_news = match kind {
            DefinitionKind::Process => {
                let is_news = process.describe(payload);
                if is_news && let Some(name) = exported_names.of(&process.executable) {
                    process.take_exported(name);
                }
                is_news
            }
            DefinitionKind::Rank => process.take_rank(payload),
            DefinitionKind::Arguments => process.take_arguments(id, payload),
            DefinitionKind::Application => {
                process.take_variables(payload);
                false
            }
            DefinitionKind::Module => {
                definitions.define(kind, id, payload, self.observer);
                definitions.load_module(thread.process, id, payload, self.observer);
                false
            }
            _ => {
                definitions.define(kind, id, payload, self.observer);
                false
            }
        };
        if is_news {
            self.observer.process(thread.process, process);
        }
    }

    fn record(&mut self, number: StreamNumber, call: &Call) {
        let State { streams, known, .. } = &mut *self.state;
        let Some(Stream { thread, nesting }) = streams.get_mut(&number) else { return };
        nesting.push(call, |finished, turn| known.report(*thread, (finished, turn), self.observer));
    }

    fn knows(&self, call: &Call) -> bool {
        self.state.known.definitions.know(call)
    }

    fn asks(&mut self, number: StreamNumber) {
        let State { streams, asking, .. } = &mut *self.state;
        if let Some(Stream { thread, nesting }) = streams.get_mut(&number) {
            nesting.is_acted_on = true;
            asking.insert(thread.id, number);
            self.observer.stream_asks(thread.id);
        }
    }

    fn finished(&mut self, number: StreamNumber, end_ns: u64) {
        let State { streams, known, .. } = &mut *self.state;
        if let Some(Stream { thread, .. }) = streams.get(&number)
            && let Some(process) = known.processes.get_mut(thread.process)
        {
            process.thread_ended(end_ns);
        }
    }

    fn ended(&mut self, number: StreamNumber) {
        let State { streams, asking, known } = &mut *self.state;
        let Some(Stream { thread, mut nesting }) = streams.remove(&number) else { return };
        asking.remove(&thread.id);
        nesting.release(|finished, turn| known.report(thread, (finished, turn), self.observer));
        // A thread that did not end properly lived at least until its last call.
        if let Some(process) = known.processes.get_mut(thread.process) {
            process.thread_ended(process.start_ns.saturating_add(process.last_ns));
        }
        self.observer.stream_ended(thread.id);
    }

    fn keep(&mut self) {
        self.observer.keep();
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use ioracle_events::{ContextId, Event, FileId};

    use super::*;
    use crate::spooled::processes::JobProcess;

    /// Notes all that is reported, a line each.
    #[derive(Default)]
    struct Notes(String);

    impl Observer for Notes {
        fn process(&mut self, number: ProcessNumber, process: &JobProcess) {
            writeln!(self.0, "process {} is {} '{}'", number.0, process.pid, process.executable)
                .unwrap();
        }

        fn stream_began(&mut self, id: StreamId, tid: u32) {
            writeln!(self.0, "stream {}/{} is {tid}", id.rank, id.thread).unwrap();
        }

        fn context(&mut self, id: ContextId, frames: &str) {
            writeln!(self.0, "context {} is {frames}", id.0).unwrap();
        }

        fn file(&mut self, id: FileId, path: &str) {
            writeln!(self.0, "file {} is {path}", id.0).unwrap();
        }

        fn event(&mut self, process: ProcessNumber, event: &Event) {
            let StreamId { rank, thread } = event.stream;
            assert_eq!(process.0, rank);
            let (began, context, file) = (event.sequence, event.context.0, event.file.0);
            let start_ns = event.start_ns;
            writeln!(self.0, "{rank}/{thread}:{began} context {context} file {file} at {start_ns}")
                .unwrap();
        }

        fn stream_ended(&mut self, id: StreamId) {
            writeln!(self.0, "stream {}/{} ended", id.rank, id.thread).unwrap();
        }
    }

    fn info(pid: u32, tid: u32, process_start_ns: u64) -> StreamInfo {
        StreamInfo {
            pid,
            tid,
            parent_pid: 1,
            rank: None,
            world_size: 0,
            process_start_ns,
            process_start_realtime_ns: 0,
            begin_ns: 0,
            name: String::new(),
        }
    }

    fn call(began: u64, depth: u8, context: u64, file: u64) -> Call {
        Call { began, depth, context, file, start_ns: 1000 + began, ..Call::default() }
    }

    #[test]
    fn what_a_spool_tells_becomes_events_of_numbered_things() {
        let mut notes = Notes::default();
        let mut state = State::new();
        let mut sink = state.with(&mut notes);
        let [first, second, third] = [0, 1, 2].map(StreamNumber);
        sink.stream(first, &info(10, 10, 900));
        sink.definition(first, DefinitionKind::Process, 0, b"/bin/app\0app\0");
        sink.definition(first, DefinitionKind::File, 77, b"out.dat");
        sink.record(first, &call(0, 0, 0, 77));
        sink.stream(second, &info(10, 11, 900));
        sink.record(second, &call(2, 1, 5, 78));
        // A new program in the same process.
        sink.stream(third, &info(10, 10, 950));
        sink.record(third, &call(0, 0, 0, 77));
        sink.record(second, &call(1, 0, 5, 77));
        sink.ended(first);
        sink.record(first, &call(9, 0, 0, 77));
        sink.record(second, &call(3, 1, 5, 77));
        state.end_all(&mut notes);
        expect_test::expect![[r#"
            process 0 is 10 ''
            stream 0/0 is 10
            process 0 is 10 '/bin/app'
            file 1 is out.dat
            context 1 is ?
            0/0:0 context 1 file 1 at 100
            stream 0/1 is 11
            process 1 is 10 ''
            stream 1/0 is 10
            1/0:0 context 1 file 1 at 50
            context 2 is ?
            0/1:1 context 2 file 1 at 101
            0/1:2 context 2 file 0 at 102
            stream 0/0 ended
            0/1:3 context 2 file 1 at 103
            stream 0/1 ended
            stream 1/0 ended
            process 0 is 10 '/bin/app'
            process 1 is 10 ''
        "#]]
        .assert_eq(&notes.0);
        assert_eq!(state.known.n_events, 5);
        let counted: Vec<_> =
            state.known.processes.all().iter().map(|p| (p.n_events, p.n_threads)).collect();
        assert_eq!(counted, [(4, 2), (1, 1)]);
    }

    #[test]
    fn processes_beyond_the_bound_share_the_last_number() {
        use crate::spooled::MAX_PROCESSES;

        let mut notes = Notes::default();
        let mut state = State::new();
        for number in 0..MAX_PROCESSES as u32 + 2 {
            let stream = StreamNumber(number);
            let mut sink = state.with(&mut notes);
            sink.stream(stream, &info(number, number, 500 + u64::from(number)));
            sink.record(stream, &call(100_000, 0, 0, 0));
            sink.ended(stream);
        }
        let last = state.known.processes.all().last().unwrap();
        assert_eq!((last.n_events, last.n_threads), (3, 3));
        assert!(
            notes.0.ends_with("65535/2:100000 context 1 file 0 at 34965\nstream 65535/2 ended\n")
        );
    }
}
