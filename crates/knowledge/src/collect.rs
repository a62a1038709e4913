// SPDX-License-Identifier: MIT OR Apache-2.0

//! From events to visits of data objects.
//!
//! Only calls of the program itself are visits. A data call of netCDF, PnetCDF or
//! HDF5 visits a variable, and the reads and writes inside it are the bytes that it
//! turned into; what a library reads when it opens a file, or looks for something
//! in it, belongs to the header of the file. Reads and writes of files that no
//! library manages visit their bytes; small ones that follow one another in a file, like
//! those of a program that reads it line by line, are one visit. Files of the system are
//! left out, and so are the standard streams that the program was given.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ioracle_events::{
    Access, ContextId, Event, FastMap, FileId, Layer, MpiInternals, StreamId, plain, readable,
};

use crate::graph::{Content, DataObject, KnowledgeGraph, RunVisit, VisitKind, hash_of, united};
use crate::layouts::RunLayouts;
use crate::netcdf::ClassicLayout;
use crate::part::Part;
use crate::role::{FileRole, RoleFile, RunFiles, without_numbers};

/// Visits of one stream that are kept until the run ends; what comes after is left
/// out.
const MAX_VISITS: usize = 1 << 18;
/// Streams that are followed.
const MAX_STREAMS: usize = 1024;
/// Files that are followed.
const MAX_FILES: usize = 1 << 16;
/// Parts of which it was learned where they lie, after which paths are derived anew.
const MUCH_LEARNED: usize = 16;
/// Ranges of one visit.
const MAX_RANGES: usize = 64;
/// Reads or writes of fewer bytes than this are small.
pub(crate) const SMALL_BYTES: u64 = 4096;
/// Small ones that follow one another are one visit as long as they begin between the same
/// two multiples of this. So the visits are the same whatever the lengths of lines are.
const BLOCK_BYTES: u64 = 1 << 20;

/// Where things lie in a file.
#[derive(Clone, Debug, Default)]
pub struct KnownFileLayout {
    /// Bytes of the file.
    pub bytes: u64,
    /// The variables of a classic netCDF file.
    pub classic: Option<ClassicLayout>,
}

/// Turns the events of a run into visits.
#[derive(Clone, Debug)]
pub struct VisitCollector {
    files: RunFiles,
    known: FastMap<FileId, Arc<RunFile>>,
    paths: HashMap<FileId, Box<str>>,
    /// Bytes of files when they were opened, by their paths.
    sizes: HashMap<u64, u64>,
    layouts: HashMap<u64, KnownFileLayout>,
    /// Files whose layout would make predictions more exact, and those that were named so.
    wanted: Vec<String>,
    asked: HashSet<u64>,
    /// Files that a library manages, by their paths.
    managed: HashSet<u64>,
    /// Files that the run has opened itself.
    opened: HashSet<FileId>,
    streams: BTreeMap<StreamId, StreamVisits>,
    mpi: MpiInternals,
    n_left_out: u64,
    /// Where things lie in files whose headers are not understood.
    learned: RunLayouts,
    /// Parts that were learned since paths were derived.
    n_learned: usize,
}

#[derive(Clone, Debug)]
struct RunFile {
    found: RoleFile,
    path_hash: u64,
    is_system: bool,
}

#[derive(Clone, Debug, Default)]
struct StreamVisits {
    visits: Vec<RunVisit>,
    /// The visit that nested calls belong to.
    open: Option<usize>,
    /// The last visit to the header of each file.
    headers: HashMap<u64, usize>,
    /// Visits of small accesses, to which those that follow in the file are added.
    small: FastMap<FileId, SmallAccesses>,
}

/// A visit of small accesses that follow one another.
#[derive(Clone, Copy, Debug)]
struct SmallAccesses {
    visit: usize,
    kind: VisitKind,
    /// Where the next one begins.
    next: u64,
    /// Those that begin from here on are another visit.
    end: u64,
}

impl VisitCollector {
    /// Nothing seen yet of a run with these files.
    pub fn new(files: RunFiles) -> VisitCollector {
        VisitCollector {
            files,
            known: FastMap::default(),
            paths: HashMap::new(),
            sizes: HashMap::new(),
            layouts: HashMap::new(),
            wanted: Vec::new(),
            asked: HashSet::new(),
            managed: HashSet::new(),
            opened: HashSet::new(),
            streams: BTreeMap::new(),
            mpi: MpiInternals::default(),
            n_left_out: 0,
            learned: RunLayouts::default(),
            n_learned: 0,
        }
    }

    /// The path of a file, as traces have it, before an event names it.
    pub fn define_file(&mut self, id: FileId, path: &str) {
        if self.paths.len() < MAX_FILES {
            self.paths.insert(id, plain(path).into());
        }
    }

    /// Bytes of a file when it was opened; whether that was not known before.
    pub fn define_size(&mut self, id: FileId, bytes: u64) -> bool {
        let Some(path) = self.path(id).filter(|_| self.sizes.len() < MAX_FILES) else {
            return false;
        };
        let is_known = self.file_bytes(&path) == Some(bytes);
        self.sizes.insert(hash_of(&path), bytes);
        !is_known
    }

    /// Bytes of the file at a whole path, as far as that is known.
    pub fn file_bytes(&self, path: &str) -> Option<u64> {
        let hash = hash_of(path);
        self.sizes.get(&hash).copied().or_else(|| Some(self.layouts.get(&hash)?.bytes))
    }

    /// The frames of a call stack, before an event names it.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        self.mpi.define_context(id, frames);
    }

    /// Where things lie in the file at a path.
    pub fn define_layout(&mut self, path: &str, layout: KnownFileLayout) {
        if self.layouts.len() < MAX_FILES {
            self.layouts.insert(hash_of(&self.files.absolute(path)), layout);
        }
    }

    /// The layout of the file at a whole path would make predictions more exact.
    pub(crate) fn want_layout(&mut self, path: &str) {
        if self.asked.len() < MAX_FILES && self.asked.insert(hash_of(path)) {
            self.wanted.push(path.to_owned());
        }
    }

    /// Files that are ahead and whose layout is not known; each is named once.
    pub fn take_wanted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted)
    }

    /// What is known about where things lie in a file.
    pub fn layout(&self, path: &str) -> Option<&KnownFileLayout> {
        self.layouts.get(&hash_of(path))
    }

    /// Where things lie in files whose headers are not understood, as far as this run tells.
    pub(crate) fn learned(&self) -> &RunLayouts {
        &self.learned
    }

    /// Whether so much was learned about where things lie since the last time that a path
    /// derived anew would be longer.
    pub fn take_learned(&mut self) -> bool {
        let is_much = self.n_learned >= MUCH_LEARNED;
        if is_much {
            self.n_learned = 0;
        }
        is_much
    }

    /// The files of the run.
    pub fn files(&mut self) -> &mut RunFiles {
        &mut self.files
    }

    /// The path that events name a file by.
    pub fn path(&self, id: FileId) -> Option<String> {
        self.paths.get(&id).map(|path| self.files.absolute(path))
    }

    /// Visits that were left out because there were too many.
    pub fn n_left_out(&self) -> u64 {
        self.n_left_out
    }

    /// Takes in the next event of its stream; the visit that begins with it, if one does.
    pub fn observe(&mut self, event: &Event) -> Option<RunVisit> {
        let is_internal = self.mpi.observe(event);
        if event.failed() || event.file == FileId::UNKNOWN || is_internal {
            return None;
        }
        if event.function.access() == Access::Open && self.opened.len() < MAX_FILES {
            self.opened.insert(event.file);
        }
        if event.depth > 0 {
            self.add_extent(event);
            return None;
        }
        if self.continue_visit(event) {
            return None;
        }
        let file = self.file(event)?;
        if file.is_system {
            return None;
        }
        let path_hash = file.path_hash;
        let layer = event.function.layer();
        let access = event.function.access();
        if layer == Layer::HighLevel {
            self.managed.insert(path_hash);
        }
        let kind = kind_of(event);
        let (content, part) = match (layer, access) {
            (Layer::HighLevel, Access::Read | Access::Write) => {
                let (name, counters) = variable_name(&readable(event.variable()?));
                let selection = Part::of_selection(event.selection().unwrap_or_default());
                (Content::Variable(name), with_counters(counters, selection))
            }
            (Layer::HighLevel, Access::Open) if !is_writing_open(event) => {
                (Content::Header, Part::default())
            }
            (Layer::HighLevel, _) => {
                let stream = self.stream(event.stream)?;
                stream.open = stream.headers.get(&path_hash).copied();
                return None;
            }
            (_, Access::Read | Access::Write)
                if !self.managed.contains(&path_hash) && !self.is_standard_stream(event) =>
            {
                let bytes = event.transferred();
                let offset = event.offset.filter(|_| bytes > 0)?;
                (Content::Bytes, Part::of_bytes(offset, bytes))
            }
            _ => {
                self.stream(event.stream)?.open = None;
                return None;
            }
        };
        let mut visit = RunVisit {
            object: DataObject { role: file.found.role.clone(), content },
            kind,
            index: file.found.index,
            is_last_file: file.found.is_last,
            path_hash,
            part,
            shape: None,
            file_bytes: self.sizes.get(&path_hash).copied().unwrap_or(0),
            bytes: if access.is_data() { event.transferred() } else { 0 },
            extents: Vec::new(),
            start_ns: event.start_ns,
            end_ns: event.end_ns,
        };
        visit.shape = self.shape(&visit);
        let is_header = visit.object.content == Content::Header;
        if self.stream(event.stream)?.visits.len() >= MAX_VISITS {
            self.stream(event.stream)?.open = None;
            self.n_left_out += 1;
            return None;
        }
        self.learn_last(event.stream, path_hash);
        let stream = self.stream(event.stream)?;
        let number = stream.visits.len();
        let expected = match small_access(event) {
            Some(bytes) => stream.begin_small(event.file, &mut visit, bytes),
            None => {
                stream.small.remove(&event.file);
                None
            }
        };
        stream.visits.push(visit.clone());
        stream.open = Some(number);
        if is_header {
            stream.headers.insert(path_hash, number);
        }
        if let Some(part) = expected {
            visit.part = part;
            visit.shape = self.shape(&visit);
        }
        Some(visit)
    }

    /// Adds a small access to the visit that it continues; false if it continues none.
    fn continue_visit(&mut self, event: &Event) -> bool {
        let Some(bytes) = small_access(event) else { return false };
        let Some(stream) = self.streams.get_mut(&event.stream) else { return false };
        let Some(small) = stream.small.get_mut(&event.file) else { return false };
        let follows = small.next == bytes.start && bytes.start < small.end;
        let Some(visit) = stream.visits.get_mut(small.visit) else { return false };
        if !follows || small.kind != kind_of(event) {
            return false;
        }
        small.next = bytes.end;
        let start = visit.part.starts.first().copied().unwrap_or(0);
        if let Some(count) = visit.part.counts.first_mut() {
            *count = bytes.end.min(small.end).saturating_sub(start);
        }
        visit.bytes = visit.bytes.saturating_add(bytes.end - bytes.start);
        visit.end_ns = visit.end_ns.max(event.end_ns);
        if stream.open.is_some_and(|open| open != small.visit) {
            let path_hash = visit.path_hash;
            self.learn_last(event.stream, path_hash);
            if let Some(stream) = self.streams.get_mut(&event.stream) {
                stream.open = None;
            }
        }
        true
    }

    /// Learns from the last visit of a stream, which is over; the next one is to the file
    /// `path_hash`.
    fn learn_last(&mut self, id: StreamId, path_hash: u64) {
        let Some(stream) = self.streams.get(&id) else { return };
        let Some(visit) = stream.open.and_then(|number| stream.visits.get(number)) else { return };
        self.n_learned += usize::from(self.learned.learn(visit));
        if visit.path_hash != path_hash && self.n_learned > 0 {
            // The next file may be laid out like this one.
            self.n_learned = MUCH_LEARNED;
        }
    }

    /// Whether a call is on standard input, output or error as the program was given
    /// them: the logs of a batch system are no data of the program.
    fn is_standard_stream(&self, event: &Event) -> bool {
        (0..=2).contains(&event.handle) && !self.opened.contains(&event.file)
    }

    /// How many visits a stream has made.
    pub fn n_visits(&self) -> usize {
        self.streams.values().map(|stream| stream.visits.len()).sum()
    }

    /// The graph of the run.
    pub fn finish(mut self) -> KnowledgeGraph {
        let mut streams = Vec::new();
        for stream in std::mem::take(&mut self.streams).into_values() {
            let mut visits = stream.visits;
            for visit in &mut visits {
                visit.shape = self.shape(visit);
                if let Some(layout) = self.layouts.get(&visit.path_hash) {
                    visit.file_bytes = layout.bytes;
                }
            }
            streams.push(visits);
        }
        KnowledgeGraph::of_run(&streams)
    }

    /// How long an object is, as far as its file tells.
    fn shape(&self, visit: &RunVisit) -> Option<Vec<u64>> {
        match &visit.object.content {
            Content::Variable(name) => {
                let layout = self.layouts.get(&visit.path_hash)?.classic.as_ref()?;
                layout.shape(name).map(<[u64]>::to_vec)
            }
            Content::Bytes if visit.kind == VisitKind::Read => {
                let told = self.layouts.get(&visit.path_hash).map(|layout| layout.bytes);
                let bytes = told.unwrap_or(visit.file_bytes);
                // One that has grown since is longer than it was.
                (bytes > 0 && visit.part.end(0) <= bytes).then(|| vec![bytes])
            }
            Content::Bytes | Content::Header => None,
        }
    }

    fn stream(&mut self, id: StreamId) -> Option<&mut StreamVisits> {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&id) {
            self.n_left_out += 1;
            return None;
        }
        Some(self.streams.entry(id).or_default())
    }

    fn file(&mut self, event: &Event) -> Option<Arc<RunFile>> {
        if let Some(known) = self.known.get(&event.file) {
            return Some(Arc::clone(known));
        }
        let path = self.paths.get(&event.file)?;
        // Pipes and sockets have such names.
        if path.is_empty() || path.contains(":[") || self.known.len() >= MAX_FILES {
            return None;
        }
        let is_written = is_writing_open(event) || event.function.access() == Access::Write;
        let path = path.clone();
        let is_system = self.files.is_system(&path);
        let found = match is_system {
            true => RoleFile { role: FileRole::Fixed(path.clone()), index: 0, is_last: true },
            false => self.files.role_of(&path, is_written),
        };
        let path_hash = hash_of(&self.files.absolute(&path));
        let file = Arc::new(RunFile { found, path_hash, is_system });
        self.known.insert(event.file, Arc::clone(&file));
        Some(file)
    }

    /// Adds the bytes of a call inside the visit that is open.
    fn add_extent(&mut self, event: &Event) {
        let is_bytes = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
        let bytes = event.transferred();
        let Some(offset) = event.offset.filter(|_| is_bytes && bytes > 0) else { return };
        let path_hash = self.paths.get(&event.file).map(|path| hash_of(&self.files.absolute(path)));
        let Some(stream) = self.streams.get_mut(&event.stream) else { return };
        let Some(visit) = stream.open.and_then(|number| stream.visits.get_mut(number)) else {
            return;
        };
        let reads = event.function.access() == Access::Read;
        if Some(visit.path_hash) != path_hash || reads != (visit.kind == VisitKind::Read) {
            return;
        }
        let range: Range<u64> = offset..offset.saturating_add(bytes);
        match visit.extents.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => visit.extents.push(range),
        }
        if visit.extents.len() > 2 * MAX_RANGES {
            visit.extents = united(std::mem::take(&mut visit.extents), MAX_RANGES);
        }
    }
}

impl StreamVisits {
    /// A visit begins with a small access. Where it continues the one before, it begins at
    /// a multiple of [`BLOCK_BYTES`], and is expected to go on to the next one: that part.
    fn begin_small(
        &mut self,
        file: FileId,
        visit: &mut RunVisit,
        bytes: Range<u64>,
    ) -> Option<Part> {
        let start = bytes.start - bytes.start % BLOCK_BYTES;
        let end = start.saturating_add(BLOCK_BYTES);
        let continues = |last: &SmallAccesses| {
            (last.next, last.kind, last.end) == (bytes.start, visit.kind, start)
        };
        let continues = self.small.get(&file).is_some_and(continues);
        if continues {
            visit.part = Part::of_bytes(start, bytes.end.min(end) - start);
        }
        let (number, kind, next) = (self.visits.len(), visit.kind, bytes.end);
        self.small.insert(file, SmallAccesses { visit: number, kind, next, end });
        let file_bytes = Some(visit.file_bytes).filter(|known| *known >= bytes.end);
        continues.then(|| Part::of_bytes(start, end.min(file_bytes.unwrap_or(end)) - start))
    }
}

/// The bytes of a small read or write.
fn small_access(event: &Event) -> Option<Range<u64>> {
    let is_bytes = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
    let bytes = event.transferred();
    let is_small =
        is_bytes && event.function.access().is_data() && (1..SMALL_BYTES).contains(&bytes);
    let start = event.offset.filter(|_| is_small)?;
    Some(start..start.checked_add(bytes)?)
}

fn kind_of(event: &Event) -> VisitKind {
    match event.function.access() {
        Access::Write => VisitKind::Write,
        _ => VisitKind::Read,
    }
}

/// Whether a call opens a file to write it anew.
fn is_writing_open(event: &Event) -> bool {
    let has = |flag: &str| event.detail.split('|').any(|other| other == flag);
    match event.function.layer() {
        _ if event.function.access() != Access::Open => false,
        Layer::Posix | Layer::MpiIo => has("CREAT") || has("TRUNC") || has("WRONLY"),
        Layer::Stdio => event.detail.starts_with(['w', 'a']),
        Layer::HighLevel => event.function.name().contains("create"),
    }
}

/// The name of a variable with `#` for numbers in the names of its groups, and these
/// numbers: `/step_12/T2` is `/step_#/T2` at 12.
pub(crate) fn variable_name(name: &str) -> (Box<str>, Vec<u64>) {
    match name.rsplit_once('/') {
        Some((groups, last)) if groups.bytes().any(|byte| byte.is_ascii_digit()) => {
            let numbers = groups.split(|c: char| !c.is_ascii_digit());
            let numbers = numbers.filter_map(|number| number.parse().ok()).take(8);
            (format!("{}/{last}", without_numbers(groups)).into(), numbers.collect())
        }
        _ => (name.into(), Vec::new()),
    }
}

/// A part of a variable that is one of many by the numbers in its name.
fn with_counters(counters: Vec<u64>, part: Part) -> Part {
    if counters.is_empty() {
        return part;
    }
    let ones = vec![1; counters.len()];
    let strides = match part.strides.is_empty() {
        true => Vec::new(),
        false => [ones.clone(), part.strides].concat(),
    };
    Part { starts: [counters, part.starts].concat(), counts: [ones, part.counts].concat(), strides }
}
