// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which file: the table of files, and the hypotheses on the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use ioracle_events::{FileId, SEPARATOR};
use serde::{Deserialize, Serialize};

use crate::file_motion::FileMotion;
use crate::hash::{self, SeedlessMap, combine};
use crate::motion::{Motions, NONE, RECENT, RealMotions};
use crate::renames::Renames;
use crate::tracker::Evidence;

/// A file that the stream has used, or that a loaded model knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownFile {
    /// Its path; `None` if the source never gave it.
    name: Option<Box<str>>,
    /// Its number in the present source; `None` once a new run begins.
    source: Option<FileId>,
    last_used: u64,
}

/// The files of a stream, by numbers of our own that survive saving.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KnownFiles {
    known: Vec<KnownFile>,
    #[serde(skip)]
    by_source: SeedlessMap<FileId, u32>,
    #[serde(skip)]
    by_name: SeedlessMap<u64, u32>,
    /// Paths given for ids that no operation has used yet.
    #[serde(skip)]
    defined: SeedlessMap<FileId, Box<str>>,
    /// When each file was used last, as far as it was looked at; the oldest first.
    #[serde(skip)]
    by_age: BinaryHeap<Reverse<(u64, u32)>>,
    /// Bytes of the file that the next operation uses for the first time.
    #[serde(skip)]
    announced: Option<(FileId, u64)>,
    clock: u64,
    /// The clock when this run began.
    run_began: u64,
    renames: Renames,
    /// Files that have another name in this run, and the one that they had.
    former: Vec<(u32, Box<str>)>,
    max_files: usize,
}

/// Files that may have another name in one run.
const MAX_FORMER: usize = 256;
/// Paths given in advance; further ones are ignored until some are used.
const MAX_DEFINED: usize = 1 << 16;
/// Longer paths are cut in the table, which only makes them unknown names.
const MAX_PATH_BYTES: usize = 4096;

impl KnownFiles {
    /// An empty table for at most so many files.
    pub fn new(max_files: usize) -> KnownFiles {
        KnownFiles {
            known: Vec::new(),
            by_source: SeedlessMap::default(),
            by_name: SeedlessMap::default(),
            defined: SeedlessMap::default(),
            by_age: BinaryHeap::new(),
            announced: None,
            clock: 0,
            run_began: 0,
            renames: Renames::default(),
            former: Vec::new(),
            max_files: max_files.clamp(RECENT, 1 << 20),
        }
    }

    /// Remembers the path of an id until an operation uses it.
    pub fn define(&mut self, source: FileId, path: &str) {
        if path.len() > MAX_PATH_BYTES {
            return;
        }
        if let Some(&file) = self.by_source.get(&source) {
            if self.name(file) == Some(path) {
                return;
            }
            self.known[file as usize].source = None;
            self.by_source.remove(&source);
        }
        if let Some(&file) = self.by_name.get(&hash::text(path)) {
            if let Some(earlier) = self.known[file as usize].source.replace(source) {
                self.by_source.remove(&earlier);
            }
            self.by_source.insert(source, file);
        } else if self.defined.len() < MAX_DEFINED {
            self.defined.insert(source, path.into());
        }
    }

    /// Remembers how long a file is until the next operation, which uses it.
    pub fn announce_size(&mut self, source: FileId, bytes: u64) {
        self.announced = Some((source, bytes));
    }

    /// Whether the id needs no definition any more.
    pub fn knows(&self, source: FileId) -> bool {
        self.by_source.contains_key(&source)
    }

    /// The number of a file that an operation uses; a new one if `known` says that
    /// it has none. At the ceiling the closed file unused for longest is forgotten.
    pub fn use_file(
        &mut self,
        known: Option<u32>,
        source: FileId,
        motions: &mut RealMotions,
    ) -> u32 {
        self.clock += 1;
        let file = known.unwrap_or_else(|| self.add(source, motions));
        self.known[file as usize].last_used = self.clock;
        if let Some((announced, bytes)) = self.announced.take()
            && announced == source
        {
            motions.file_mut(file).know_size(bytes);
        }
        file
    }

    /// The number of files known.
    pub fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// The path of a file, if the source gave it.
    pub fn name(&self, file: u32) -> Option<&str> {
        self.known.get(file as usize)?.name.as_deref()
    }

    /// The id of a file in the present source.
    pub fn source(&self, file: u32) -> Option<FileId> {
        self.known.get(file as usize)?.source
    }

    /// The file that the present source gave this id.
    pub fn by_source(&self, source: FileId) -> Option<u32> {
        self.by_source.get(&source).copied()
    }

    /// The file with this path.
    pub fn by_name(&self, name: &str) -> Option<u32> {
        let file = *self.by_name.get(&hash::text(name))?;
        (self.name(file) == Some(name)).then_some(file)
    }

    /// What a file is called in this run, as far as can be told before it is used.
    pub fn name_now(&self, name: &str) -> Option<String> {
        self.renames.now(name)
    }

    /// The file that had this name in earlier runs and has another now.
    pub fn by_former_name(&self, name: &str) -> Option<u32> {
        self.former.iter().find(|(_, former)| **former == *name).map(|(file, _)| *file)
    }

    /// What a file was called in earlier runs that has another name now.
    pub fn former_name(&self, file: u32) -> Option<&str> {
        self.former.iter().find(|(renamed, _)| *renamed == file).map(|(_, name)| &**name)
    }

    /// The file of earlier runs that this number of the source must be, by its name
    /// and by what is called otherwise in this run.
    pub fn renamed(&self, source: FileId) -> Option<u32> {
        let before = self.renames.before(self.defined.get(&source)?)?;
        self.by_name(&before).filter(|&file| self.is_of_earlier_runs(file))
    }

    /// Whether there are no earlier runs.
    pub fn is_first_run(&self) -> bool {
        self.run_began == 0
    }

    /// Whether a file is known from earlier runs, and this one has not used it.
    pub fn is_of_earlier_runs(&self, file: u32) -> bool {
        let known = self.known.get(file as usize);
        known.is_some_and(|known| known.source.is_none() && known.last_used <= self.run_began)
    }

    /// Takes in that such a file has this number now, and the name defined for it.
    /// Nothing happens where that is no name of the same kind.
    pub fn rename(&mut self, file: u32, source: FileId, motions: &mut RealMotions) {
        let known = &mut self.known[file as usize];
        let (Some(former), Some(name)) = (&known.name, self.defined.get(&source)) else { return };
        if self.former.len() >= MAX_FORMER || variable(former) != variable(name) {
            return;
        }
        self.by_name.remove(&hash::text(former));
        self.by_name.insert(hash::text(name), file);
        self.by_source.insert(source, file);
        self.renames.learn(former, name);
        // How long the other one was says nothing.
        motions.file_mut(file).size_known = false;
        known.source = Some(source);
        if let Some(former) = std::mem::replace(&mut known.name, self.defined.remove(&source)) {
            self.former.push((file, former));
        }
    }

    /// Takes in that the former name of a file is used after all: it was another file
    /// that came in its place, and gets a number of its own. `None` if there is no
    /// such file.
    pub fn restore(&mut self, source: FileId, motions: &mut RealMotions) -> Option<u32> {
        let name = self.defined.get(&source)?;
        let at = self.former.iter().position(|(_, former)| former == name)?;
        let (file, name) = self.former.swap_remove(at);
        self.defined.remove(&source);
        self.renames.clear();
        let known = &mut self.known[file as usize];
        let taken = known.name.replace(name.clone());
        let taken_source = known.source.replace(source);
        known.last_used = self.clock;
        let stands = *motions.file(file);
        *motions.file_mut(file) = FileMotion { tag: stands.tag, ..FileMotion::NEW };
        self.by_source.insert(source, file);
        self.by_name.insert(hash::text(&name), file);
        let tag = taken.as_deref().map_or(0, hash::text);
        let other = self.insert(taken, taken_source, tag, motions);
        let tag = motions.file(other).tag;
        *motions.file_mut(other) = FileMotion { tag, ..stands };
        let now = &mut motions.now;
        let last = now.opened.iter_mut().chain(&mut now.used).chain([&mut now.file]);
        last.filter(|used| **used == file).for_each(|used| *used = other);
        Some(file)
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.known.capacity() * size_of::<KnownFile>()
            + self.known.iter().filter_map(|file| file.name.as_deref()).map(str::len).sum::<usize>()
            + (self.by_source.capacity() + self.by_name.capacity() + self.by_age.capacity()) * 16
            + self.defined.values().map(|name| name.len() + 24).sum::<usize>()
            + self.former.iter().map(|(_, name)| name.len() + 24).sum::<usize>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        (RECENT..=1 << 20).contains(&self.max_files)
            && self.known.len() <= self.max_files
            && self.renames.is_valid()
            && self.former.len() <= MAX_FORMER
            && self.former.iter().all(|(file, _)| *file < self.len())
    }

    /// Forgets the numbers of the source: a new run will give its own.
    pub fn begin_run(&mut self) {
        self.known.iter_mut().for_each(|known| known.source = None);
        self.by_source.clear();
        self.defined.clear();
        self.renames.clear();
        self.former.clear();
        self.run_began = self.clock;
    }

    /// Takes in a file of another model; the one of the same name if there is
    /// one, none if it has no name by which it could be known again.
    pub fn adopt(&mut self, name: Option<&str>, motions: &mut RealMotions) -> Option<u32> {
        let name = name?;
        self.by_name(name).or_else(|| {
            let tag = hash::text(name);
            (self.known.len() < self.max_files)
                .then(|| self.insert(Some(name.into()), None, tag, motions))
        })
    }

    /// Makes the maps that are not saved.
    pub fn index(&mut self) {
        self.by_source = (0..)
            .zip(&self.known)
            .filter_map(|(file, known)| Some((known.source?, file)))
            .collect();
        self.by_name = (0..)
            .zip(&self.known)
            .filter_map(|(file, known)| Some((hash::text(known.name.as_deref()?), file)))
            .collect();
    }

    fn add(&mut self, source: FileId, motions: &mut RealMotions) -> u32 {
        let name = self.defined.remove(&source);
        let tag = name.as_deref().map_or(combine(9, u64::from(source.0)), hash::text);
        self.insert(name, Some(source), tag, motions)
    }

    fn insert(
        &mut self,
        name: Option<Box<str>>,
        source: Option<FileId>,
        tag: u64,
        motions: &mut RealMotions,
    ) -> u32 {
        let known = KnownFile { name, source, last_used: self.clock };
        let motion = FileMotion { tag: tag as u32, ..FileMotion::NEW };
        let file = if self.known.len() < self.max_files {
            self.known.push(known);
            motions.files.push(motion);
            self.len() - 1
        } else {
            let file = self.unused_for_longest(motions);
            self.forget(file);
            self.known[file as usize] = known;
            motions.files[file as usize] = motion;
            file
        };
        if let Some(source) = source {
            self.by_source.insert(source, file);
        }
        if let Some(name) = self.name(file) {
            self.by_name.insert(hash::text(name), file);
        }
        file
    }

    /// The closed file unused for longest; an open one where all are.
    fn unused_for_longest(&mut self, motions: &RealMotions) -> u32 {
        if self.by_age.len() != self.known.len() {
            let ages = (0..).zip(&self.known).map(|(file, known)| Reverse((known.last_used, file)));
            self.by_age = ages.collect();
        }
        let mut open = Vec::new();
        let found = loop {
            let Some(mut oldest) = self.by_age.peek_mut() else { break None };
            let Reverse((used, file)) = *oldest;
            let last_used = self.known[file as usize].last_used;
            if used != last_used {
                // Used since it was looked at: it takes its place among the others.
                *oldest = Reverse((last_used, file));
            } else if motions.file(file).n_open > 0 {
                open.push(PeekMut::pop(oldest));
            } else {
                break Some(file);
            }
        };
        let found = found.or_else(|| open.first().map(|&Reverse((_, file))| file)).unwrap_or(0);
        self.by_age.extend(open);
        found
    }

    fn forget(&mut self, file: u32) {
        let known = &self.known[file as usize];
        if let Some(source) = known.source {
            self.by_source.remove(&source);
        }
        if let Some(name) = &known.name {
            self.by_name.remove(&hash::text(name));
        }
        self.former.retain(|(renamed, _)| *renamed != file);
    }
}

/// How many names a file may be expected by.
pub const N_NAMES: usize = 7;

/// Number of the hypothesis that a variable follows its neighbour: programs go from
/// one file to the next with all that is in it.
pub const NEIGHBOUR: usize = 10;

/// The variable of the same name as that of `own` in the file of `last`; `None`
/// where these are no variables.
pub fn neighbour(last: &str, own: &str) -> Option<String> {
    let (path, _) = last.split_once(SEPARATOR)?;
    let (_, variable) = own.split_once(SEPARATOR)?;
    Some(format!("{path}{SEPARATOR}{variable}"))
}

/// The variable that a name stands for; `None` if it is that of a file.
fn variable(name: &str) -> Option<&str> {
    name.split_once(SEPARATOR).map(|(_, variable)| variable)
}

/// Which files an operation can work on: those that are open and those that it is
/// expected to name; any if it always names its file.
pub fn possible(
    motions: &impl Motions,
    names: bool,
    named: [Option<i64>; N_NAMES],
) -> impl Fn(i64) -> bool {
    move |file| {
        names
            || named.contains(&Some(file))
            || u32::try_from(file).is_ok_and(|file| motions.file(file).is_open())
    }
}

/// The hypotheses on the file of a symbol's next operation. `named` are the files
/// that an open is expected to name: see [`ExpectedNames`](crate::knowledge::ExpectedNames).
pub fn put_evidence(
    motions: &impl Motions,
    symbol: u32,
    named: [Option<i64>; N_NAMES],
    recalled_ranks: [Option<i64>; 2],
    evidence: &mut Evidence,
) {
    let now = motions.now();
    let own = motions.symbol(symbol);
    let seed = combine(4, u64::from(own.tag));
    let with = |x: u64| combine(seed, x);
    let tag = |file: u32| u64::from(motions.file(file).tag);
    let known = |file: u32| (file != NONE).then_some(i64::from(file));
    let at = |ranks: &[u32; RECENT], rank: Option<i64>| {
        rank.and_then(|rank| ranks.get(usize::try_from(rank).ok()?)).and_then(|&file| known(file))
    };
    evidence.computed(known(now.file));
    evidence.computed(known(own.file));
    evidence.computed(known(now.opened[0]));
    evidence.computed(at(&now.opened, recalled_ranks[0]));
    evidence.computed(at(&now.used, recalled_ranks[1]));
    evidence.computed(named[0]);
    // What the open did whose file this symbol worked on last time.
    evidence.computed(known(motions.symbol(own.opener).file));
    evidence.remembered(with(tag(now.file)), 0);
    evidence.remembered(with(tag(own.file)), 0);
    evidence.remembered(with(now.history_short), 0);
    evidence.computed(named[1]);
    // Who names files by using them goes on to the next where it left the last.
    let (end, left_at) = (motions.file(now.file).end, motions.file(now.used[1]).end);
    evidence.computed(named[0].filter(|_| end > 0 && end == left_at));
    evidence.computed(named[2].or(known(now.hinted)));
    named[3..].iter().for_each(|&name| evidence.computed(name));
}
