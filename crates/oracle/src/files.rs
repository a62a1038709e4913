// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which file: the table of files, and the hypotheses on the next one.

use ioracle_events::{Access, FileId};
use serde::{Deserialize, Serialize};

use crate::hash::{self, Map, combine};
use crate::motion::{FileMotion, Motions, NONE, RECENT, RealMotions};
use crate::tracker::Evidence;

/// A file that the stream has used, or that a loaded model knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownFile {
    /// Its path; `None` if the source never told.
    name: Option<Box<str>>,
    /// Its number in the present source; `None` in a model just loaded.
    #[serde(skip)]
    source: Option<FileId>,
    last_used: u64,
}

/// The files of a stream, by numbers of our own that survive saving.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Files {
    known: Vec<KnownFile>,
    #[serde(skip)]
    by_source: Map<FileId, u32>,
    #[serde(skip)]
    by_name: Map<u64, u32>,
    /// Paths told for ids that no operation has used yet.
    #[serde(skip)]
    defined: Map<FileId, Box<str>>,
    clock: u64,
    max_files: usize,
}

/// Paths told in advance; further ones are ignored until some are used.
const MAX_DEFINED: usize = 1 << 16;
/// Longer paths are cut in the table, which only makes them unknown names.
const MAX_PATH_BYTES: usize = 4096;

impl Files {
    /// An empty table for at most so many files.
    pub fn new(max_files: usize) -> Files {
        Files {
            known: Vec::new(),
            by_source: Map::default(),
            by_name: Map::default(),
            defined: Map::default(),
            clock: 0,
            max_files: max_files.clamp(RECENT, 1 << 20),
        }
    }

    /// Remembers the path of an id until an operation uses it.
    pub fn define(&mut self, source: FileId, path: &str) {
        if self.by_source.contains_key(&source) || path.len() > MAX_PATH_BYTES {
            return;
        }
        if let Some(&file) = self.by_name.get(&hash::text(path)) {
            self.known[file as usize].source = Some(source);
            self.by_source.insert(source, file);
        } else if self.defined.len() < MAX_DEFINED {
            self.defined.insert(source, path.into());
        }
    }

    /// Whether the id needs no definition any more.
    pub fn knows(&self, source: FileId) -> bool {
        self.by_source.contains_key(&source)
    }

    /// The number of a file that an operation uses; a new one if it is new. At
    /// the ceiling the closed file unused for longest is forgotten.
    pub fn use_file(&mut self, source: FileId, motions: &mut RealMotions) -> u32 {
        self.clock += 1;
        let file = match self.by_source.get(&source) {
            Some(&file) => file,
            None => self.add(source, motions),
        };
        self.known[file as usize].last_used = self.clock;
        file
    }

    /// The number of files known.
    pub fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// The path of a file, if the source told it.
    pub fn name(&self, file: u32) -> Option<&str> {
        self.known.get(file as usize)?.name.as_deref()
    }

    /// The id of a file in the present source.
    pub fn source(&self, file: u32) -> Option<FileId> {
        self.known.get(file as usize)?.source
    }

    /// The file with this path.
    pub fn by_name(&self, name: &str) -> Option<u32> {
        let file = *self.by_name.get(&hash::text(name))?;
        (self.name(file) == Some(name)).then_some(file)
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        let text = |name: &Box<str>| name.len();
        self.known.capacity() * size_of::<KnownFile>()
            + self.known.iter().filter_map(|file| file.name.as_ref()).map(text).sum::<usize>()
            + (self.by_source.capacity() + self.by_name.capacity()) * 16
            + self.defined.values().map(|name| name.len() + 24).sum::<usize>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        (RECENT..=1 << 20).contains(&self.max_files) && self.known.len() <= self.max_files
    }

    /// Makes the maps that are not saved.
    pub fn index(&mut self) {
        self.by_name = (0..)
            .zip(&self.known)
            .filter_map(|(file, known)| Some((hash::text(known.name.as_deref()?), file)))
            .collect();
    }

    fn add(&mut self, source: FileId, motions: &mut RealMotions) -> u32 {
        let name = self.defined.remove(&source);
        let known = KnownFile { name, source: Some(source), last_used: self.clock };
        let file = if self.known.len() < self.max_files {
            self.known.push(known);
            motions.files.push(FileMotion::default());
            self.len() - 1
        } else {
            let file = self.unused_for_longest(motions);
            self.forget(file);
            self.known[file as usize] = known;
            motions.files[file as usize] = FileMotion::default();
            file
        };
        self.by_source.insert(source, file);
        if let Some(name) = self.name(file) {
            self.by_name.insert(hash::text(name), file);
        }
        file
    }

    fn unused_for_longest(&self, motions: &RealMotions) -> u32 {
        let age =
            |&file: &u32| (motions.file(file).n_open > 0, self.known[file as usize].last_used);
        (0..self.len()).min_by_key(age).unwrap_or(0)
    }

    fn forget(&mut self, file: u32) {
        let known = &self.known[file as usize];
        if let Some(source) = known.source {
            self.by_source.remove(&source);
        }
        if let Some(name) = &known.name {
            self.by_name.remove(&hash::text(name));
        }
    }
}

/// Stands for a file that has no number yet.
pub const NEW_FILE: i64 = -1;

/// The hypotheses on the file of a symbol's next operation. `named` is the file
/// that an open is expected to name.
pub fn evidence(
    motions: &impl Motions,
    symbol: u32,
    access: Access,
    named: Option<i64>,
    recalled_ranks: [Option<i64>; 2],
) -> Evidence {
    let now = motions.now();
    let own = motions.symbol(symbol);
    let seed = combine(4, u64::from(symbol));
    let with = |x: u64| combine(seed, x);
    let usable = |file: u32| {
        let open = access == Access::Open || motions.file(file).is_open();
        (file != NONE && open).then_some(i64::from(file))
    };
    let at = |ranks: &[u32; RECENT], rank: Option<i64>| {
        rank.and_then(|rank| ranks.get(usize::try_from(rank).ok()?)).and_then(|&file| usable(file))
    };
    let mut evidence = Evidence::default();
    evidence.computed(usable(now.file));
    evidence.computed(usable(own.file));
    evidence.computed(usable(now.opened[0]));
    evidence.computed(at(&now.opened, recalled_ranks[0]));
    evidence.computed(at(&now.used, recalled_ranks[1]));
    evidence.computed(named);
    evidence.remembered(with(u64::from(now.symbol())), 0);
    evidence.remembered(with(u64::from(now.file)), 0);
    evidence.remembered(with(u64::from(own.file)), 0);
    evidence.remembered(with(now.history(3)), 0);
    evidence
}
