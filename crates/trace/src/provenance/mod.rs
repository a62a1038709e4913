// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a trace says besides its events: which processes ran, which functions
//! and source lines the frames of its call stacks are, and where its files lie.
//!
//! All of it is optional. A trace that was imported from three CSV tables has
//! none, and one of an older version has little; readers of events need none.
//! What is kept in memory is bounded like the other tables: [`MAX_TABLE_ROWS`]
//! rows of each kind, [`MAX_TABLE_BYTES`] of text in all.

mod tables;

use std::collections::{BTreeMap, HashMap, HashSet};

use ioracle_events::{FileId, StreamId};

use crate::table::{MAX_TABLE_BYTES, MAX_TABLE_ROWS};

pub(crate) use self::tables::{OptionalTables, TABLES, export};

/// The longest command line that is kept, in bytes of the program's arguments.
pub const MAX_COMMAND_BYTES: usize = 128 * 1024;

/// The same as text: every byte may be escaped.
pub(crate) const MAX_COMMAND_TEXT: usize = 3 * MAX_COMMAND_BYTES;

/// What is known about a run besides its events.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    pub(crate) processes: Vec<TraceProcess>,
    /// The process of each stream, by rank and thread as events have them; only
    /// where one rank may be several processes.
    threads: BTreeMap<StreamId, ThreadOrigin>,
    n_threads: HashMap<u32, u32>,
    modules: Vec<LoadedModule>,
    known_modules: HashSet<(u32, Box<str>, u64)>,
    source_places: Vec<SourcePlace>,
    /// By frame, the places of its rows.
    frames: HashMap<Box<str>, std::ops::Range<usize>>,
    /// By number, from 1 on.
    mounts: Vec<Mount>,
    known_mounts: HashSet<Mount>,
    file_places: BTreeMap<FileId, FilePlace>,
    n_bytes: usize,
}

/// A process of the run. A program that replaced itself by another is two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceProcess {
    /// Its number in the system; 0 if it is not known.
    pub pid: u32,
    /// The process that started it; 0 if it is not known.
    pub parent_pid: u32,
    /// Its MPI rank, if it has one.
    pub rank: Option<u32>,
    /// When it began, on the monotonic clock of its machine.
    pub start_ns: u64,
    /// Until when it is known to have run, on the same clock: the end of its last
    /// recorded call, or of the last thread that ended in order.
    pub end_ns: Option<u64>,
    /// When it began, since 1970.
    pub start_realtime_ns: u64,
    /// The application it belongs to.
    pub application: Box<str>,
    /// Path of the executable, escaped like all paths of a trace.
    pub executable: Box<str>,
    /// Its arguments, separated by blanks; blanks inside an argument, and what a
    /// table cannot hold, are escaped.
    pub command: Box<str>,
}

/// Which thread of which process a stream of events was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadOrigin {
    /// The number of the process.
    pub process: u32,
    /// Counts the threads of the process, as far as they are in the trace.
    pub thread: u32,
}

/// A program or shared library as a process had loaded it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedModule {
    /// The number of the process.
    pub process: u32,
    /// The name that frames give it.
    pub name: Box<str>,
    /// Where it was loaded: the offset of a frame counts from here.
    pub address: u64,
    /// The identity of its build; empty if it has none.
    pub build_id: Vec<u8>,
    /// Its file, escaped like all paths of a trace.
    pub path: Box<str>,
}

/// Where in the source code a frame is. One whose function was inlined into
/// others has several, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePlace {
    /// The function, as a person would write its name.
    pub function: Box<str>,
    /// The source file, escaped; empty if it is not known.
    pub source: Box<str>,
    /// The line, counted from 1; 0 if it is not known.
    pub line: u32,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mount {
    /// Its type as the system names it: `ext4`, `lustre`, `nfs4`.
    pub kind: Box<str>,
    /// The device or server it comes from, escaped.
    pub device: Box<str>,
    /// Where it is mounted, escaped.
    pub point: Box<str>,
}

/// The number of a mount in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MountId(pub u32);

/// What is known about a file besides its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePlace {
    /// The file system it is on.
    pub mount: Option<MountId>,
    /// Its size when it was first opened, after the open itself has truncated it.
    pub size_at_open: Option<u64>,
}

/// Why something was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// There are too many rows, or too much text.
    Full,
    /// It exists already, or comes too late.
    OutOfOrder,
    /// It refers to something that does not exist.
    Dangling,
}

impl Provenance {
    /// The processes, by their numbers.
    pub fn processes(&self) -> &[TraceProcess] {
        &self.processes
    }

    /// Which thread of which process a stream was, where that differs from its numbers.
    pub fn origin(&self, stream: StreamId) -> Option<ThreadOrigin> {
        self.threads.get(&stream).copied()
    }

    /// The process of each stream, where one rank may be several processes.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (StreamId, u32)> + '_ {
        self.threads.iter().map(|(stream, origin)| (*stream, origin.process))
    }

    /// Whether it says which streams are of which process.
    pub(crate) fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Every frame that is known with its places, in the order they were added.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (&str, &[SourcePlace])> {
        let mut frames: Vec<_> = self.frames.iter().collect();
        frames.sort_unstable_by_key(|(_, places)| places.start);
        frames.into_iter().map(|(frame, places)| {
            (&**frame, self.source_places.get(places.clone()).unwrap_or_default())
        })
    }

    /// Every file of which something is known, in order.
    pub(crate) fn file_places(&self) -> impl Iterator<Item = (FileId, FilePlace)> + '_ {
        self.file_places.iter().map(|(file, place)| (*file, *place))
    }

    /// The modules of all processes, in the order they were added.
    pub fn modules(&self) -> &[LoadedModule] {
        &self.modules
    }

    /// Where a frame (`module+0xoffset`) is in the source code, innermost first;
    /// empty if that is not known.
    pub fn source_places(&self, frame: &str) -> &[SourcePlace] {
        let places = self.frames.get(frame).cloned().unwrap_or_default();
        self.source_places.get(places).unwrap_or_default()
    }

    /// How many frames are known.
    pub fn n_frames(&self) -> usize {
        self.frames.len()
    }

    /// The mounted file systems, numbered from 1 on.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// A mount by its number.
    pub fn mount(&self, MountId(number): MountId) -> Option<&Mount> {
        self.mounts.get((number as usize).checked_sub(1)?)
    }

    /// What is known about a file.
    pub fn file_place(&self, file: FileId) -> FilePlace {
        self.file_places.get(&file).copied().unwrap_or_default()
    }

    pub(crate) fn add_process(&mut self, process: TraceProcess) -> Result<(), NotTaken> {
        if self.processes.len() >= MAX_TABLE_ROWS {
            return Err(NotTaken::Full);
        }
        self.take_text(
            process.application.len() + process.executable.len() + process.command.len(),
        )?;
        self.processes.push(process);
        Ok(())
    }

    /// Changes what is known about a process; text counts again each time.
    pub(crate) fn change_process(
        &mut self,
        number: u32,
        n_text: usize,
        change: impl FnOnce(&mut TraceProcess),
    ) -> Result<(), NotTaken> {
        self.take_text(n_text)?;
        let process = self.processes.get_mut(number as usize).ok_or(NotTaken::Dangling)?;
        change(process);
        Ok(())
    }

    /// Continues the command of a process, of which `at` bytes are there.
    pub(crate) fn add_command(
        &mut self,
        number: u32,
        at: usize,
        text: &str,
    ) -> Result<(), NotTaken> {
        let process = self.processes.get(number as usize).ok_or(NotTaken::Dangling)?;
        let known = process.command.get(..at).ok_or(NotTaken::OutOfOrder)?;
        if at.saturating_add(text.len()) > MAX_COMMAND_TEXT {
            return Err(NotTaken::Full);
        }
        let command = format!("{known}{text}").into();
        self.change_process(number, text.len(), |process| process.command = command)
    }

    /// Streams come in order.
    pub(crate) fn add_thread(&mut self, stream: StreamId, process: u32) -> Result<(), NotTaken> {
        if process as usize >= self.processes.len() {
            return Err(NotTaken::Dangling);
        }
        if self.threads.last_key_value().is_some_and(|(last, _)| *last >= stream) {
            return Err(NotTaken::OutOfOrder);
        }
        if self.threads.len() >= MAX_TABLE_ROWS {
            return Err(NotTaken::Full);
        }
        let n_threads = self.n_threads.entry(process).or_default();
        self.threads.insert(stream, ThreadOrigin { process, thread: *n_threads });
        *n_threads += 1;
        Ok(())
    }

    pub(crate) fn add_module(&mut self, module: LoadedModule) -> Result<(), NotTaken> {
        if module.process as usize >= self.processes.len() {
            return Err(NotTaken::Dangling);
        }
        if self.modules.len() >= MAX_TABLE_ROWS {
            return Err(NotTaken::Full);
        }
        if !self.known_modules.insert((module.process, module.name.clone(), module.address)) {
            return Err(NotTaken::OutOfOrder);
        }
        self.take_text(2 * module.name.len() + module.path.len() + module.build_id.len())?;
        self.modules.push(module);
        Ok(())
    }

    /// Places of a frame come one after the other, the innermost first.
    pub(crate) fn add_source_place(
        &mut self,
        frame: &str,
        inlined: u32,
        place: SourcePlace,
    ) -> Result<(), NotTaken> {
        if self.source_places.len() >= MAX_TABLE_ROWS {
            return Err(NotTaken::Full);
        }
        let next = self.source_places.len();
        let known = self.frames.get(frame).cloned();
        let is_next = match &known {
            Some(known) => known.end == next && known.len() == inlined as usize,
            None => inlined == 0,
        };
        if !is_next {
            return Err(NotTaken::OutOfOrder);
        }
        self.take_text(frame.len() + place.function.len() + place.source.len())?;
        self.source_places.push(place);
        let first = known.map_or(next, |known| known.start);
        self.frames.insert(frame.into(), first..next + 1);
        Ok(())
    }

    /// Each one is there once.
    pub(crate) fn add_mount(&mut self, mount: Mount) -> Result<MountId, NotTaken> {
        if !self.known_mounts.insert(mount.clone()) {
            return Err(NotTaken::OutOfOrder);
        }
        if self.mounts.len() >= MAX_TABLE_ROWS {
            return Err(NotTaken::Full);
        }
        self.take_text(2 * (mount.kind.len() + mount.device.len() + mount.point.len()))?;
        self.mounts.push(mount);
        Ok(MountId(self.mounts.len() as u32))
    }

    /// The first place of a file counts.
    pub(crate) fn add_file_place(
        &mut self,
        file: FileId,
        place: FilePlace,
    ) -> Result<(), NotTaken> {
        if place.mount.is_some_and(|mount| self.mount(mount).is_none()) {
            return Err(NotTaken::Dangling);
        }
        if self.file_places.contains_key(&file) {
            return Err(NotTaken::OutOfOrder);
        }
        if self.file_places.len() >= MAX_TABLE_ROWS {
            return Err(NotTaken::Full);
        }
        self.file_places.insert(file, place);
        Ok(())
    }

    fn take_text(&mut self, n_bytes: usize) -> Result<(), NotTaken> {
        let sum = self.n_bytes.saturating_add(n_bytes);
        if sum > MAX_TABLE_BYTES {
            return Err(NotTaken::Full);
        }
        self.n_bytes = sum;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: &str) -> SourcePlace {
        SourcePlace { function: function.into(), ..SourcePlace::default() }
    }

    #[test]
    fn inlined_functions_of_a_frame_come_one_after_the_other() {
        let mut known = Provenance::default();
        let mut add = |frame, inlined, function| {
            known.add_source_place(frame, inlined, place(function)).is_ok()
        };
        assert!(add("app+0x1", 0, "inner") && add("app+0x1", 1, "outer"));
        assert!(add("app+0x2", 0, "main"));
        assert!(!add("app+0x1", 2, "too late") && !add("app+0x2", 0, "again"));
        assert!(!add("app+0x3", 1, "without the first"));
        let names = |frame| {
            let places = known.source_places(frame);
            places.iter().map(|place| place.function.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("app+0x1"), ["inner", "outer"]);
        assert_eq!(names("app+0x2"), ["main"]);
        assert!(names("app+0x3").is_empty());
    }

    #[test]
    fn what_refers_to_nothing_is_not_taken() {
        let mut known = Provenance::default();
        let stream = StreamId { rank: 0, thread: 0 };
        assert_eq!(known.add_thread(stream, 0), Err(NotTaken::Dangling));
        assert_eq!(known.add_module(LoadedModule::default()), Err(NotTaken::Dangling));
        let place = FilePlace { mount: Some(MountId(1)), size_at_open: None };
        assert_eq!(known.add_file_place(FileId(1), place), Err(NotTaken::Dangling));
        assert_eq!(known.add_command(0, 0, "app"), Err(NotTaken::Dangling));
        known.add_process(TraceProcess::default()).unwrap();
        known.add_thread(stream, 0).unwrap();
        assert_eq!(known.add_thread(stream, 0), Err(NotTaken::OutOfOrder));
        assert_eq!(known.origin(stream), Some(ThreadOrigin { process: 0, thread: 0 }));
    }

    #[test]
    fn a_command_is_put_together_and_can_begin_anew() {
        let mut known = Provenance::default();
        known.add_process(TraceProcess::default()).unwrap();
        known.add_command(0, 0, "ncra a").unwrap();
        known.add_command(0, 6, ".nc b.nc").unwrap();
        assert_eq!(&*known.processes()[0].command, "ncra a.nc b.nc");
        assert_eq!(known.add_command(0, 99, "x"), Err(NotTaken::OutOfOrder));
        let long = "x".repeat(MAX_COMMAND_TEXT);
        assert_eq!(known.add_command(0, 1, &long), Err(NotTaken::Full));
        known.add_command(0, 0, "cp").unwrap();
        assert_eq!(&*known.processes()[0].command, "cp");
    }
}
